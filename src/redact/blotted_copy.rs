//! Formats that have no values of objects: copied but for what tells of the process and its user, in place.

use std::io::Write;

use super::names::hide_user_names;
use super::options::{LostBytes, RedactError};
use crate::input::{BlottedPart, ReadError, Source};

/// Bytes that are copied at a time.
const COPY_BUFFER_BYTES: usize = 1 << 20;
/// Bytes at the end of these that are looked at again with the next: a folder and a name may go on there.
const OVERLAP_BYTES: usize = 512;
/// Copies a dump: other bytes in place of parts (ascending), zeros in place of all from `unread_from` on; and, where a format has paths, letters in
/// place of users' names in them.
pub(super) fn copy_with_blots(
    mut source: Source,
    (parts, unread_from): (&[BlottedPart], Option<u64>),
    has_paths: bool,
    out: &mut dyn Write,
) -> Result<(u64, LostBytes), RedactError> {
    let (mut bytes, mut kept, mut offset) = (vec![0; COPY_BUFFER_BYTES], 0, 0u64);
    let mut lost = LostBytes::default();
    loop {
        let got = source.fill(&mut bytes[kept..]).map_err(ReadError::from)?;
        let (end, is_last) = (kept + got, kept + got < bytes.len());
        let window = offset..offset + end as u64;
        let from = parts.partition_point(|(part, _)| part.end <= window.start);
        let here = parts[from..].iter().take_while(|(part, _)| part.start < window.end);
        let at = |place: u64| (place.clamp(window.start, window.end) - window.start) as usize;
        for (part, instead) in here {
            bytes[at(part.start)..at(part.end)].fill(0);
            let end = part.end.min(part.start + instead.len() as u64);
            let there = &mut bytes[at(part.start)..at(end)];
            let first = (window.start.max(part.start) - part.start).min(instead.len() as u64) as usize;
            let instead = &instead[first..];
            let count = there.len().min(instead.len());
            there[..count].copy_from_slice(&instead[..count]);
        }
        if let Some(from) = unread_from {
            bytes[at(from)..end].fill(0);
        }
        if has_paths {
            hide_user_names(&mut bytes[..end]);
        }
        let done = if is_last { end } else { end - OVERLAP_BYTES };
        out.write_all(&bytes[..done])?;
        offset += done as u64;
        if is_last {
            break;
        }
        bytes.copy_within(done..end, 0);
        kept = end - done;
    }
    if let Some(first_at) = unread_from.filter(|&from| from < offset) {
        lost = LostBytes { bytes: offset - first_at, first_offset: first_at, is_cut: false };
    }
    Ok((offset, lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_go_over_ends_of_windows_and_parts_are_zero() {
        let mut file = vec![b'.'; 3 * COPY_BUFFER_BYTES];
        file.splice(COPY_BUFFER_BYTES - 9..COPY_BUFFER_BYTES, *b"/home/ali");
        let source = Source::from_reader(std::io::Cursor::new(file)).expect("bytes");
        let mut out = Vec::new();
        let (bytes, lost) =
            copy_with_blots(source, (&[(1..3, Vec::new()), (9..12, vec![7, 8])], Some(3_000_000)), true, &mut out)
                .expect("copied");
        assert_eq!((bytes, lost.bytes), (3 * COPY_BUFFER_BYTES as u64, 3 * COPY_BUFFER_BYTES as u64 - 3_000_000));
        assert_eq!(&out[..13], b".\0\0......\x07\x08\0.");
        assert_eq!(&out[COPY_BUFFER_BYTES - 9..COPY_BUFFER_BYTES + 3], b"/home/xxxxxx");
        assert!(out[3_000_000..].iter().all(|byte| *byte == 0));
    }
}
