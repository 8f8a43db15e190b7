//! HPROF: byte by byte in place. Ids, lengths, names and times stay where they are; every number and every character that
//! is no part of the structure becomes zero, or a keyed hash.
//!
//! HotSpot writes all symbols of the virtual machine as texts, literals of the program among them: a text that names
//! nothing in the dump goes like any other.

mod facts;
mod left;
mod rewrite;
mod scan;
mod walk;

use std::io::Write;

use super::{DumpFile, RedactError, RedactOptions, Redacted};
use crate::input::hprof::records::{BadHeader, Header};
use crate::input::{ReadError, ReadErrorKind, Source};
pub(super) use left::find_left;
use rewrite::Rewrite;
use scan::Scan;
pub use walk::LostBytes;
use walk::Walk;

/// Walks to find out what must be known, at most: classes may stand behind their objects, and texts before their holders.
const MOST_SCANS: usize = 3;

/// Writes a copy without values. Walks through the file two to four times; memory grows with its texts and classes, not
/// with its objects.
pub(super) fn redact(
    source: Source,
    file: &DumpFile,
    options: &RedactOptions,
    out: &mut dyn Write,
) -> Result<Redacted, RedactError> {
    let header = header_of(&source)?;
    let mut scan = Scan::new(header.id_bytes, &options.keep, options.hash());
    let (mut next, mut known_total, mut lost) = (Some(source), None, LostBytes::default());
    for _ in 0..MOST_SCANS {
        let source = match next.take() {
            Some(source) => source,
            None => file.open()?,
        };
        let mut walk = Walk::new(source, &header, known_total, scan, None);
        known_total = Some(walk.run(&header)?);
        (scan, lost) = (walk.work, walk.lost);
        if !scan.is_to_repeat() {
            break;
        }
    }
    if options.is_strict && (lost.bytes > 0 || lost.is_cut) {
        return Err(RedactError::Damaged(lost));
    }
    let facts = scan.facts;
    let work = Rewrite::new(&facts, &options.keep, options.hash(), &options.names);
    let mut walk = Walk::new(file.open()?, &header, known_total, work, Some(out));
    let bytes = walk.run(&header)?;
    Ok(Redacted { format: "hprof", bytes, lost: walk.lost, has_values: true })
}

fn header_of(source: &Source) -> Result<Header, ReadError> {
    let wrong = |why: BadHeader| {
        ReadError::new(ReadErrorKind::NotSupported(format!(
            "a Java profile with a header that makes no sense: {why:?}"
        )))
    };
    Header::parse(source.start()).map_err(wrong)
}
