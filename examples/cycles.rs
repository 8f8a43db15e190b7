//! The largest group of objects that hold each other, by an algorithm of petgraph: `cargo run --example cycles -- FILE`.

use petgraph::algo::kosaraju_scc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dump = heapdump::open(std::env::args().nth(1).ok_or("name a dump")?)?;
    let graph = dump.graph().ok_or("no objects")?;
    let largest = kosaraju_scc(graph).into_iter().max_by_key(Vec::len).unwrap_or_default();
    let bytes: u64 = largest.iter().map(|&node| graph.shallow_bytes(node)).sum();
    println!("{} objects of {bytes} bytes hold each other", largest.len());
    Ok(())
}
