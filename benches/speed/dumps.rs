//! Writes synthetic heaps as text dumps of both formats, once, under target/.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::synthetic::{Synthetic, TYPES};

/// The dump of a mixture of so many objects in a format, written if it is not there yet.
pub fn dump(format: &str, objects: usize) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-dumps");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{format}-{objects}.txt"));
    if !path.exists() {
        eprintln!("writing {}", path.display());
        let heap = Synthetic::mixture(objects, 1);
        let partial = path.with_extension("partial");
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
        match format {
            "xna-cf" => xna_cf(&heap, &mut out)?,
            _ => ibm_classic(&heap, &mut out)?,
        }
        out.flush()?;
        std::fs::rename(partial, &path)?;
    }
    Ok(path)
}

fn xna_cf(heap: &Synthetic, out: &mut impl Write) -> io::Result<()> {
    // Device addresses in units of 8 bytes, as the format's examples look.
    let ids: Vec<u64> = heap.addresses(0x0080_0000).iter().map(|address| address / 8).collect();
    writeln!(out, "a 2 Synthetic.exe 763f9d2")?;
    for (number, name) in TYPES.iter().enumerate() {
        writeln!(out, "t {:x} {name}", number + 1)?;
    }
    for (object, id) in ids.iter().enumerate() {
        write!(out, "o {id:x} {:x} {:x}", heap.types[object] + 1, heap.bytes[object])?;
        for &target in heap.references(object) {
            write!(out, " {:x}", ids[target as usize])?;
        }
        writeln!(out)?;
    }
    writeln!(out, "r {:x} 4 0 {:x}\nc Synthetic.exe 763fbef", ids[0], 12)
}

fn ibm_classic(heap: &Synthetic, out: &mut impl Write) -> io::Result<()> {
    let addresses = heap.addresses(0x7_0000_0000);
    write!(out, "// Version: JRE 1.8.0 Linux amd64-64 synthetic")?;
    for (object, address) in addresses.iter().enumerate() {
        let name = TYPES[heap.types[object] as usize].replace('.', "/");
        write!(out, "\n0x{address:016X} [{}] OBJ {name}\n\t", heap.bytes[object].div_ceil(8) * 8)?;
        for &target in heap.references(object) {
            write!(out, "0x{:016X} ", addresses[target as usize])?;
        }
    }
    for (number, name) in TYPES.iter().enumerate() {
        write!(out, "\n0x{:016X} [112] CLS {}\n\t", 0x6_0000_0000u64 + 112 * number as u64, name.replace('.', "/"))?;
    }
    let (objects, classes, references) = (heap.len(), TYPES.len(), heap.targets.len());
    writeln!(out, "\n// Breakdown - Classes: {classes}, Objects: {objects}, ObjectArrays: 0, PrimitiveArrays: 0")?;
    writeln!(out, "// EOF:  Total 'Objects',Refs(null) : {},{references}(0)", objects + classes)
}
