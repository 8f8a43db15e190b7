//! The copy of a file.

use std::io::Write;

use super::gathered_facts::{GatheredFacts, gather_facts};
use super::value_remover::ValueRemover;
use super::walk::HprofWalk;
use crate::redact::dump_file::DumpFile;
use crate::redact::options::{RedactError, RedactOptions, RedactedCopy};

/// Writes a copy without values. Walks through the file two to four times; memory grows with its texts and classes, not
/// with its objects.
pub(in crate::redact) fn redact(
    file: &DumpFile,
    options: &RedactOptions,
    out: &mut dyn Write,
) -> Result<RedactedCopy, RedactError> {
    let GatheredFacts { header, facts, unpacked_bytes: bytes, lost } =
        gather_facts(file, &options.kept_fields, options.keyed_hash())?;
    if options.is_strict && (lost.bytes > 0 || lost.is_cut) {
        return Err(RedactError::Damaged(lost));
    }
    let work =
        ValueRemover::new(&facts, &facts.object_addresses, &options.kept_fields, options.keyed_hash(), &options.names);
    let mut walk = HprofWalk::new(file.open()?, &header, Some(bytes), work, Some(out));
    let bytes = walk.run(&header)?;
    if let Some(error) = walk.write_error {
        return Err(RedactError::Write(error));
    }
    Ok(RedactedCopy { format: "hprof", bytes, lost: walk.lost, has_values: true, has_names: true })
}
