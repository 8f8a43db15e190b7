//! Texts of a snapshot that are left in its copy.

use std::sync::Arc;

use super::facts::SnapshotFacts;
use super::pieces::{SnapshotPart, SnapshotPieces, walk_snapshot};
use super::write::copy_numbers;
use crate::input::ReadError;
use crate::input::v8_snapshot::layout::SnapshotHeader;
use crate::input::v8_snapshot::scan::SnapshotArray;
use crate::redact::dump_file::DumpFile;
use crate::redact::filler::is_filler;
use crate::redact::names::{NameMap, without_program_data};
use crate::redact::options::RemainingContent;
use crate::redact::text_runs::RUN_BYTES;

/// Looks through the strings of a copy for runs of texts of its dump that name nothing there, and through the rest of it for what is no
/// number and no word of the header.
pub(in crate::redact) fn find_remaining_content(
    dump: &DumpFile,
    copy: &DumpFile,
    names: &NameMap,
) -> Result<RemainingContent, ReadError> {
    let facts = SnapshotFacts::gather(dump)?;
    let mut left = RemainingContent::default();
    for_each_string(dump, |at, _, text| {
        if facts.is_kept_string(at) {
            let renamed = names.rename(text.as_bytes()).map(|name| String::from_utf8_lossy(&name).into_owned());
            left.runs.allow_runs_of(without_program_data(renamed.as_deref().unwrap_or(text)).as_bytes());
        }
    })?;
    let layout = for_each_string(copy, |_, _, text| {
        if !text.as_bytes().windows(RUN_BYTES).all(is_filler) {
            left.runs.add_copy_bytes(text.as_bytes());
        }
    })?;
    let lost = walk_snapshot(copy, &layout, |part| -> Result<(), ReadError> {
        let mut stays = Vec::new();
        let (bytes, stays) = match part {
            SnapshotPart::BetweenPieces(bytes, stays) => (bytes, stays),
            SnapshotPart::Piece(SnapshotArray::Strings, bytes) => (bytes, bytes),
            SnapshotPart::Piece(_, bytes) => {
                copy_numbers(bytes, &mut stays, |_, _, _| {});
                (bytes, &stays[..])
            }
            SnapshotPart::EndOfStrings => return Ok(()),
        };
        left.copy_bytes += bytes.len() as u64;
        left.runs.remaining_count += u64::from(bytes != stays);
        Ok(())
    })?;
    left.runs.remaining_count += lost.bytes;
    for_each_string(dump, |at, offset, text| {
        if !facts.is_kept_string(at) {
            left.runs.look_for_runs(text.as_bytes(), offset);
        }
    })?;
    Ok(left)
}

/// Shows each string: its number, about where it stands, its text. Returns the header.
fn for_each_string(file: &DumpFile, mut see: impl FnMut(u32, u64, &str)) -> Result<Arc<SnapshotHeader>, ReadError> {
    let (mut pieces, mut number) = (SnapshotPieces::open(file, None)?, 0);
    while pieces.next_piece_of(SnapshotArray::Strings)? {
        let (block, mut start) = (&pieces.block, 0);
        for &end in &block.string_ends {
            see(number, block.offset, &String::from_utf8_lossy(&block.string_text[start..end as usize]));
            (number, start) = (number + 1, end as usize);
        }
    }
    Ok(pieces.scanner.layout.unwrap_or_default())
}
