//! A copy by the writer of its format, and the search for what is left in it.

use std::io::Write;

use super::compare::Check;
use super::dump_file::DumpFile;
use super::hprof;
use super::options::{LostBytes, RedactError, RedactOptions, Redacted};
use crate::input::{ReadError, Source, detect};
use crate::units::{count_of, format_count};

/// Writes a copy of a dump without its values.
///
/// # Errors
/// When the dump cannot be read, is of a format without a writer, or (if that is asked for) is damaged; when the copy cannot
/// be written.
pub fn redact(file: &DumpFile, options: &RedactOptions, out: &mut dyn Write) -> Result<Redacted, RedactError> {
    let source = file.open()?;
    let reader = detect(&source, &options.read)?;
    match reader.name() {
        "hprof" => hprof::redact(file, options, out),
        name @ ("phd" | "ibm-classic") => copy(source, name, out),
        _ => Err(RedactError::Format(reader.format().title)),
    }
}

/// Copies a dump of a format that has ids, classes and sizes alone.
fn copy(mut source: Source, format: &'static str, out: &mut dyn Write) -> Result<Redacted, RedactError> {
    let (mut bytes, mut total) = (vec![0; COPIED_BYTES], 0);
    loop {
        let got = source.fill(&mut bytes).map_err(ReadError::from)?;
        out.write_all(&bytes[..got])?;
        total += got as u64;
        if got < bytes.len() {
            return Ok(Redacted { format, bytes: total, lost: LostBytes::default(), has_values: false });
        }
    }
}

/// Bytes that are copied at a time.
const COPIED_BYTES: usize = 1 << 20;

/// Looks for what is left of a dump in its copy: no run of six bytes that reads as a text may be in both, unless it is part of a
/// name or of a text that `options` keep, and no number that is not zero may be the same. Nothing for formats without values.
///
/// # Errors
/// When one of them cannot be read.
pub fn find_left(dump: &DumpFile, copy: &DumpFile, options: &RedactOptions) -> Result<Vec<Check>, RedactError> {
    let reader = detect(&dump.open()?, &options.read)?;
    match reader.name() {
        "hprof" => {}
        "phd" | "ibm-classic" => return Ok(Vec::new()),
        _ => return Err(RedactError::Format(reader.format().title)),
    }
    let left = hprof::find_left(dump, copy, &options.keep, &options.names)?;
    let runs = &left.runs;
    let what = format!(
        "no text is left: {} runs of six bytes looked for in {} of the copy",
        format_count(runs.asked),
        count_of(left.bytes, "bytes")
    );
    let found = format!(
        "{} runs are left, the first from byte {} of the dump",
        format_count(runs.left),
        runs.first_left.unwrap_or(0)
    );
    let texts = Check { what, is_same: runs.left == 0, difference: (runs.left > 0).then_some(found) };
    // Of very many one may become itself.
    let is_gone = left.same_numbers <= left.numbers >> 24;
    let what = format!("no number is left: {} that are not zero compared", format_count(left.numbers));
    let found = format!("{} are the same in the copy", format_count(left.same_numbers));
    Ok(vec![texts, Check { what, is_same: is_gone, difference: (!is_gone).then_some(found) }])
}
