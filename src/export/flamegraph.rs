//! The merged dominator tree, or the stacks of allocation totals, as a flame graph: an SVG of what [`write_folded`](super::write_folded) writes.

use std::io::{self, Write};

use inferno::flamegraph::color::{Color, PaletteMap};

use super::folded::TypePaths;
use super::{ExportError, FoldedOptions, MAX_FLAMEGRAPH_BYTES};
use crate::answers::libraries::LibraryNames;
use crate::dump::{Content, OpenDump};
use crate::escape::escape_controls;
use crate::units::format_bytes;

/// Draws the paths from the largest structures down to single types. As [`write_folded`](super::write_folded), and at
/// most [`MAX_FLAMEGRAPH_BYTES`] of paths in memory.
///
/// # Errors
/// As [`write_folded`](super::write_folded), and when there is nothing to draw or too much.
pub fn write_flamegraph(dump: &OpenDump, options: &FoldedOptions, out: &mut dyn Write) -> Result<bool, ExportError> {
    let mut lines = BoundedWriter(Vec::new());
    let mut drawing = inferno::flamegraph::Options::default();
    let (written, names);
    if let Content::Allocations(allocations) = dump.content() {
        let paths = options.stack_paths(dump, allocations)?;
        (written, names) = (paths.write(&mut lines), paths.frame_names());
        drawing.title = title(dump, paths.total_bytes, "stack");
        drawing.subtitle = Some("Width: bytes allocated there and by all that it called.".into());
        drawing.name_type = "Function:".into();
    } else {
        let paths = TypePaths::new(dump, options)?;
        if paths.filter_matches_nothing {
            return Ok(false);
        }
        (written, names) = (paths.write(&mut lines), paths.frame_names());
        drawing.title = title(dump, paths.total_bytes, "what retains what");
        drawing.subtitle = Some("Width: bytes retained. Orange: types of the program, blue: of its libraries.".into());
        drawing.name_type = "Type:".into();
    }
    written.map_err(|_| ExportError::FlamegraphTooLarge)?;
    let mut colors = colors_of(dump, names);
    drawing.palette_map = Some(&mut colors);
    drawing.count_name = "bytes".into();
    let mut svg = Vec::new();
    inferno::flamegraph::from_lines(&mut drawing, String::from_utf8_lossy(&lines.0).lines(), &mut svg)
        .map_err(|error| ExportError::NothingToDraw(error.to_string()))?;
    out.write_all(&svg)?;
    Ok(true)
}

/// `Heap of app.hprof: 12.3 MiB by what retains what`.
fn title(dump: &OpenDump, bytes: u64, by: &str) -> String {
    let file = dump.path().and_then(|path| path.file_name());
    let file = file.map_or(String::new(), |name| format!(" of {}", name.to_string_lossy()));
    escape_controls(&format!("Heap{file}: {} by {by}", format_bytes(bytes))).into_owned()
}

/// The program's own types in shades of orange, those of libraries in shades of blue: the same for every drawing.
fn colors_of(dump: &OpenDump, names: Vec<String>) -> PaletteMap {
    let libraries = LibraryNames::of(dump.info().runtime(), &[]);
    let mut colors = PaletteMap::default();
    for name in names {
        // Neighbours differ, most of the time.
        let shade = name.bytes().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte)) % 40;
        let color = match libraries.contains(&name) {
            true => Color { r: 130 + shade, g: 160 + shade, b: 215 },
            false => Color { r: 240, g: 120 + 2 * shade, b: 50 + shade },
        };
        colors.insert(name, color);
    }
    colors
}

/// Takes [`MAX_FLAMEGRAPH_BYTES`] and no more.
struct BoundedWriter(Vec<u8>);

impl Write for BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MAX_FLAMEGRAPH_BYTES - self.0.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
