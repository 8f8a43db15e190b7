//! Writes synthetic pprof profiles of a million stacks of 50 frames, packed by gzip, once, under target/.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

const FUNCTIONS: u64 = 5_000;
const FRAMES: usize = 50;

/// How stacks share frames: most go on from another's, 40 of 50 frames are the same in all, or none are.
pub const SHARINGS: [&str; 3] = ["callers", "40 of 50", "none"];

/// The profile of so many stacks, written if it is not there yet.
pub fn profile(sharing: &str, stacks: usize) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-dumps");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("profile-{}-{stacks}.pb.gz", sharing.replace(' ', "-")));
    if !path.exists() {
        eprintln!("writing {}", path.display());
        let partial = path.with_extension("partial");
        let mut out = GzEncoder::new(BufWriter::new(File::create(&partial)?), Compression::fast());
        write_profile(sharing, stacks, &mut out)?;
        out.finish()?.flush()?;
        std::fs::rename(partial, &path)?;
    }
    Ok(path)
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn message(field: u64, content: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2), &varint(content.len() as u64), content].concat()
}

fn write_profile(sharing: &str, stacks: usize, out: &mut impl Write) -> io::Result<()> {
    let mut state = 1u64;
    // xorshift64.
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    // Outermost first.
    let mut known: Vec<Vec<u64>> = Vec::new();
    for _ in 0..100 {
        known.push((0..FRAMES).map(|_| random(FUNCTIONS) + 1).collect());
    }
    for (kind, unit) in [(1, 2), (3, 4)] {
        out.write_all(&message(1, &[number(1, kind), number(2, unit)].concat()))?;
    }
    for at in 0..stacks {
        let new_frames = match sharing {
            "callers" if random(5) > 0 => 1,
            "callers" => 2 + random(6) as usize,
            "40 of 50" => 10,
            _ => FRAMES,
        };
        let place = if sharing == "callers" { random(known.len() as u64) as usize } else { 0 };
        let mut stack = known[place].clone();
        stack[FRAMES - new_frames..].iter_mut().for_each(|frame| *frame = random(FUNCTIONS) + 1);
        let locations: Vec<u8> = stack.iter().rev().flat_map(|&frame| varint(frame)).collect();
        let values = [varint(at as u64 % 99 + 1), varint((at as u64 % 99 + 1) * 112)].concat();
        out.write_all(&message(2, &[message(1, &locations), message(2, &values)].concat()))?;
        if sharing == "callers" && known.len() < 200_000 {
            known.push(stack);
        }
    }
    let mut texts = ["", "inuse_objects", "count", "inuse_space", "bytes"].map(String::from).to_vec();
    for id in 1..=FUNCTIONS {
        out.write_all(&message(4, &[number(1, id), message(4, &number(1, id))].concat()))?;
        out.write_all(&message(5, &[number(1, id), number(2, texts.len() as u64)].concat()))?;
        texts.push(format!("package{}.function{id}", id % 50));
    }
    texts.iter().try_for_each(|text| out.write_all(&message(6, text.as_bytes())))
}
