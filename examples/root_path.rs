//! What keeps the largest object alive: `cargo run --example root_path -- FILE`.

use heapdump::analysis::root_paths::find_root_paths;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dump = heapdump::open(std::env::args().nth(1).ok_or("name a dump")?)?;
    let graph = dump.graph().ok_or("no objects")?;
    let largest = graph.nodes().max_by_key(|&node| graph.shallow_bytes(node)).ok_or("empty")?;
    for path in find_root_paths(graph, largest, 1, false, |_| false).iter() {
        println!("{} root", path.root.kind.name());
        path.nodes().for_each(|node| println!("{} {}", graph.display_id(node), graph.type_name(graph.type_of(node))));
    }
    Ok(())
}
