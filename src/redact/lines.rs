//! Formats of lines: what is no line of the format goes.

use std::io::Write;

use super::options::{LostBytes, RedactError};
use crate::input::{ReadError, Source};

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// Copies lines one by one. `copy` appends what may stay of a line, or says that it is none of the format: then only its end stays.
/// Memory: that of the longest line.
pub(super) fn copy_lines(
    source: &mut Source,
    out: &mut dyn Write,
    mut copy: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
) -> Result<(u64, LostBytes), RedactError> {
    let (mut bytes, mut kept, mut offset, mut total, mut lost) =
        (vec![0; READ_BYTES], 0, 0u64, 0, LostBytes::default());
    let mut copied = Vec::new();
    loop {
        if kept == bytes.len() {
            bytes.resize(2 * kept, 0);
        }
        let got = source.fill(&mut bytes[kept..]).map_err(ReadError::from)?;
        let (end, is_last) = (kept + got, kept + got < bytes.len());
        let done = if is_last { end } else { memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |at| at + 1) };
        for line in bytes[..done].split_inclusive(|&byte| byte == b'\n') {
            let before = copied.len();
            if line.trim_ascii().is_empty() {
                copied.extend_from_slice(line);
            } else if !copy(line, &mut copied) {
                copied.truncate(before);
                copied.extend(line.iter().filter(|byte| matches!(byte, b'\r' | b'\n')));
                let first_at = if lost.bytes == 0 { offset } else { lost.first_offset };
                let is_cut = is_last && !line.ends_with(b"\n");
                lost = LostBytes { bytes: lost.bytes + line.len() as u64, first_offset: first_at, is_cut };
            }
            offset += line.len() as u64;
        }
        out.write_all(&copied)?;
        total += copied.len() as u64;
        copied.clear();
        if is_last {
            return Ok((total, lost));
        }
        bytes.copy_within(done..end, 0);
        kept = end - done;
    }
}
