//! The copy of a file.

use std::io::Write;

use super::gathered_facts::{GatheredFacts, gather_facts};
use super::rewrite::ValueRemover;
use super::walk::HprofWalk;
use crate::redact::dump_file::DumpFile;
use crate::redact::options::{RedactError, RedactOptions, Redacted};

/// Writes a copy without values. Walks through the file two to four times; memory grows with its texts and classes, not
/// with its objects.
pub(in crate::redact) fn redact(
    file: &DumpFile,
    options: &RedactOptions,
    out: &mut dyn Write,
) -> Result<Redacted, RedactError> {
    let GatheredFacts { header, facts, bytes, lost } = gather_facts(file, &options.keep, options.hash())?;
    if options.is_strict && (lost.bytes > 0 || lost.is_cut) {
        return Err(RedactError::Damaged(lost));
    }
    let work = ValueRemover::new(&facts, &options.keep, options.hash(), &options.names);
    let mut walk = HprofWalk::new(file.open()?, &header, Some(bytes), work, Some(out));
    let bytes = walk.run(&header)?;
    if let Some(error) = walk.write_error {
        return Err(RedactError::Write(error));
    }
    Ok(Redacted { format: "hprof", bytes, lost: walk.lost, has_values: true, has_names: true })
}
