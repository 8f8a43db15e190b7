//! Facts about a file, gathered in as many walks as it takes.

use super::fact_scan::FactScan;
use super::facts::HprofFacts;
use super::walk::HprofWalk;
use crate::input::hprof::records::{BadHeader, Header};
use crate::input::{ReadError, ReadErrorKind, Source};
use crate::redact::dump_file::DumpFile;
use crate::redact::kept_fields::KeptFields;
use crate::redact::keyed_hash::KeyedHash;
use crate::redact::options::LostBytes;

/// Walks to find out what must be known, at most: classes may stand behind their objects, and texts before their holders.
const MAX_SCANS: usize = 3;

/// A file that was walked through.
pub(super) struct GatheredFacts {
    pub(super) header: Header,
    pub(super) facts: HprofFacts,
    /// Unpacked bytes.
    pub(super) unpacked_bytes: u64,
    pub(super) lost: LostBytes,
}

/// Walks through a file one to three times.
pub(super) fn gather_facts(
    file: &DumpFile,
    keep: &KeptFields,
    hash: Option<&KeyedHash>,
) -> Result<GatheredFacts, ReadError> {
    let mut source = file.open()?;
    let header = header_of(&source)?;
    let mut scan = FactScan::new(header.id_bytes, keep, hash);
    let (mut known_total, mut walks) = (None, 0);
    loop {
        let mut walk = HprofWalk::new(source, &header, known_total, scan, None);
        let bytes = walk.run(&header)?;
        known_total = Some(bytes);
        let lost = walk.lost;
        scan = walk.visitor;
        walks += 1;
        if !scan.end_scan(lost.bytes > 0) || walks == MAX_SCANS {
            return Ok(GatheredFacts { header, facts: scan.facts, unpacked_bytes: bytes, lost });
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
