//! Facts about a file, gathered in as many walks as it takes.

use super::facts::Facts;
use super::scan::Scan;
use super::walk::Walk;
use crate::input::hprof::records::{BadHeader, Header};
use crate::input::{ReadError, ReadErrorKind, Source};
use crate::redact::dump_file::DumpFile;
use crate::redact::keep::KeptFields;
use crate::redact::keyed::KeyedHash;
use crate::redact::options::LostBytes;

/// Walks to find out what must be known, at most: classes may stand behind their objects, and texts before their holders.
const MAX_SCANS: usize = 3;

/// A file that was walked through.
pub(super) struct Gathered {
    pub(super) header: Header,
    pub(super) facts: Facts,
    /// Unpacked bytes.
    pub(super) bytes: u64,
    pub(super) lost: LostBytes,
}

/// Walks through a file one to three times.
pub(super) fn gather(file: &DumpFile, keep: &KeptFields, hash: Option<&KeyedHash>) -> Result<Gathered, ReadError> {
    let mut source = file.open()?;
    let header = header_of(&source)?;
    let mut scan = Scan::new(header.id_bytes, keep, hash);
    let (mut known_total, mut walks) = (None, 0);
    loop {
        let mut walk = Walk::new(source, &header, known_total, scan, None);
        let bytes = walk.run(&header)?;
        known_total = Some(bytes);
        let lost = walk.lost;
        scan = walk.work;
        walks += 1;
        if !scan.is_to_repeat(lost.bytes > 0) || walks == MAX_SCANS {
            return Ok(Gathered { header, facts: scan.facts, bytes, lost });
        }
        source = file.open()?;
    }
}

/// The header of a file.
pub(super) fn header_of(source: &Source) -> Result<Header, ReadError> {
    let wrong = |why: BadHeader| {
        ReadError::new(ReadErrorKind::NotSupported(format!(
            "a Java profile with a header that makes no sense: {why:?}"
        )))
    };
    Header::parse(source.start()).map_err(wrong)
}
