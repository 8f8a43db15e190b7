//! What fills a heap: `cargo run --example histogram -- FILE`.

use heapdump::answers::{HistogramOptions, Limits, histogram};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dump = heapdump::open(std::env::args().nth(1).ok_or("name a dump")?)?;
    let limits = Limits { rows: Some(10), ..Limits::default() };
    for row in histogram(&dump, &HistogramOptions { limits, ..HistogramOptions::default() })?.rows.as_slice() {
        println!("{:>12} bytes  {}", row.bytes(), row.name());
    }
    Ok(())
}
