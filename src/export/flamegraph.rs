//! The merged dominator tree as a flame graph: an SVG of what [`write_folded`](super::write_folded) writes.

use std::io::{self, Write};

use super::folded::TypePaths;
use super::{ExportError, FoldedOptions, MAX_FLAMEGRAPH_BYTES};
use crate::dump::OpenDump;

/// Draws the paths from the largest structures down to single types. As [`write_folded`](super::write_folded), and at
/// most [`MAX_FLAMEGRAPH_BYTES`] of paths in memory.
///
/// # Errors
/// As [`write_folded`](super::write_folded), and when there is nothing to draw or too much.
pub fn write_flamegraph(dump: &OpenDump, options: &FoldedOptions, out: &mut dyn Write) -> Result<bool, ExportError> {
    let mut lines = Bounded(Vec::new());
    let paths = TypePaths::new(dump, options)?;
    if paths.is_of_nothing {
        return Ok(false);
    }
    paths.write(&mut lines).map_err(|_| ExportError::FlamegraphTooLarge)?;
    let mut drawing = inferno::flamegraph::Options::default();
    drawing.title = "Retained heap by dominator path".into();
    drawing.count_name = "bytes".into();
    drawing.name_type = "Type:".into();
    let mut svg = Vec::new();
    inferno::flamegraph::from_lines(&mut drawing, String::from_utf8_lossy(&lines.0).lines(), &mut svg)
        .map_err(|error| ExportError::NothingToDraw(error.to_string()))?;
    out.write_all(&svg)?;
    Ok(true)
}

/// Takes [`MAX_FLAMEGRAPH_BYTES`] and no more.
struct Bounded(Vec<u8>);

impl Write for Bounded {
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
