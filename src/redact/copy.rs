//! A copy by the writer of its format, and the search for what is left in it.

use std::io::{self, Seek, Write};

use super::compare::CopyCheck;
use super::dump_file::DumpFile;
use super::lines::copy_lines;
use super::names::hide_user_names;
use super::options::{RedactError, RedactOptions, RedactedCopy};
use super::{blotted_copy, hprof, json, v8};
use crate::input::{ReadError, ReadOptions, Source, count_types, detect, gcdump, ibm_classic, nettrace, xna_cf};
use crate::units::{count_with_noun, format_count};

/// Writes a copy of a dump without its values.
///
/// # Errors
/// When the dump cannot be read, is of a format without a writer, or (if that is asked for) is damaged; when the copy cannot
/// be written.
pub fn redact(file: &DumpFile, options: &RedactOptions, out: &mut dyn Write) -> Result<RedactedCopy, RedactError> {
    let mut source = file.open()?;
    let format = detect(&mut source, &options.read)?.format();
    let (bytes, lost) = match format.name {
        "hprof" => return hprof::redact(file, options, out),
        "v8-snapshot" => return v8::redact(file, options, out),
        // Names of classes have slashes, and there are no paths.
        "phd" => {
            let counted = count_types(source, &ReadOptions { strict: false, ..options.read.clone() })?;
            let lost = ["bad-record", "data-after-end", "truncated"];
            let unread_from = counted.diagnostics.first_offset_of(&lost);
            blotted_copy::copy_with_blots(file.open()?, (&[], unread_from), false, out)
        }
        "xna-cf" | "ibm-classic" => copy_lines(&mut source, out, |line, out| {
            let (start, is_xna) = (out.len(), format.name == "xna-cf");
            out.extend_from_slice(line);
            if is_xna {
                hide_user_names(&mut out[start..]);
                xna_cf::is_dump_line(line)
            } else {
                ibm_classic::is_dump_line(line)
            }
        }),
        "gcdump" | "nettrace" => {
            let parts = if format.name == "gcdump" { gcdump::private_parts } else { nettrace::private_parts };
            let (parts, unread_from) = parts(source)?;
            blotted_copy::copy_with_blots(file.open()?, (&parts, unread_from), true, out)
        }
        _ => json::copy_json(&mut source, format.name, options.equality_hash.is_some(), out)
            .unwrap_or(Err(RedactError::UnsupportedFormat(format.title))),
    }?;
    if options.is_strict && (lost.bytes > 0 || lost.is_cut) {
        return Err(RedactError::Damaged(lost));
    }
    let has_values = matches!(format.name, "heapgraph" | "ruby-objspace");
    Ok(RedactedCopy { format: format.name, bytes, lost, has_values, has_names: true })
}

/// Writes the copy that [`redact`] writes, and reads the dump once: of an HPROF file that is not packed, with names and classes before
/// its objects, as HotSpot writes it. `None` where that does not work: then what was written is to be thrown away.
///
/// # Errors
/// When the dump cannot be read, or the copy cannot be written.
pub fn redact_in_one_walk(
    file: &DumpFile,
    options: &RedactOptions,
    out: &mut (impl Write + Seek),
) -> Result<Option<RedactedCopy>, RedactError> {
    match detect(&mut file.open()?, &options.read)?.format().name {
        "hprof" => hprof::redact_in_one_walk(file, options, out),
        _ => Ok(None),
    }
}

/// Looks for what is left of a dump in its copy: no run of six bytes that reads as a text may be in both, unless it is part of a
/// name or of a text that `options` keep, and no number that is not zero may be the same. A copy of a format other than HPROF and
/// V8 is compared with another one as well.
///
/// # Errors
/// When one of them cannot be read.
pub fn check_redacted_copy(
    dump: &DumpFile,
    copy: &DumpFile,
    options: &RedactOptions,
) -> Result<Vec<CopyCheck>, RedactError> {
    let reader = detect(&mut dump.open()?, &options.read)?;
    let mut checks = Vec::new();
    let left = match reader.name() {
        "hprof" => hprof::find_remaining_content(dump, copy, &options.kept_fields, &options.names)?,
        "v8-snapshot" => v8::find_remaining_content(dump, copy, &options.names)?,
        name => {
            checks.push(compare_with_new_copy(dump, copy, options)?);
            match json::find_remaining_content(dump, copy, name) {
                Some(left) => left?,
                None => return Ok(checks),
            }
        }
    };
    let runs = &left.runs;
    let what = format!(
        "no text is left: {} runs of six bytes looked for in {} of the copy",
        format_count(runs.looked_for_count),
        count_with_noun(left.copy_bytes, "bytes")
    );
    let found = format!(
        "{} runs are left, the first from byte {} of the dump",
        format_count(runs.remaining_count),
        runs.first_remaining_offset.unwrap_or(0)
    );
    checks.push(CopyCheck::new(what, (runs.remaining_count > 0).then_some(found)));
    if left.compared_number_count > 0 {
        // Of very many one may become itself.
        let is_left = left.unchanged_number_count > left.compared_number_count >> 24;
        let what =
            format!("no number is left: {} that are not zero compared", format_count(left.compared_number_count));
        let found = format!("{} are the same in the copy", format_count(left.unchanged_number_count));
        checks.push(CopyCheck::new(what, is_left.then_some(found)));
    }
    Ok(checks)
}

/// Makes the copy again and compares the bytes.
fn compare_with_new_copy(dump: &DumpFile, copy: &DumpFile, options: &RedactOptions) -> Result<CopyCheck, RedactError> {
    let mut compared = ComparingWriter { source: copy.open()?, bytes: Vec::new(), position: 0, differs_at: None };
    redact(dump, options, &mut compared)?;
    let has_more = compared.source.fill(&mut [0]).map_err(ReadError::from)? > 0;
    let differs_at = compared.differs_at.or(has_more.then_some(compared.position));
    let what = format!("all {} are those that redact writes", count_with_noun(compared.position, "bytes"));
    Ok(CopyCheck::new(what, differs_at.map(|at| format!("other bytes from {at} on"))))
}

/// Compares what is written with a file.
struct ComparingWriter {
    source: Source,
    /// Bytes of the file that are compared.
    bytes: Vec<u8>,
    position: u64,
    differs_at: Option<u64>,
}

impl Write for ComparingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.resize(bytes.len(), 0);
        let got = self.source.fill(&mut self.bytes)?;
        let same = self.bytes[..got].iter().zip(bytes).take_while(|(a, b)| a == b).count();
        if same < bytes.len() {
            self.differs_at.get_or_insert(self.position + same as u64);
        }
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
