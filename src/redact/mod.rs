//! Copies of dumps that may be shared: the graph, its types, names and sizes stay, values go.
//!
//! A copy has the format of its dump. Of each format with values there is a writer that walks through the file and
//! replaces what is a value; what it cannot parse it does not copy.

mod compare;
mod hprof;
mod keep;
mod keyed;
mod names;
mod packed;
mod runs;

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::files::nameless_file;
use crate::input::{Observer, ReadError, ReadOptions, Source, detect};
use crate::units::{count_of, format_count};
pub use compare::{Check, compare};
pub use hprof::LostBytes;
pub use keep::KeptFields;
pub use keyed::KeyedHash;
pub use names::NameMap;
pub use packed::{OutputPacking, PackedOutput};

/// What becomes of values.
#[derive(Debug, Default)]
pub struct RedactOptions {
    /// The reader of the dump, as for reading it.
    pub read: ReadOptions,
    /// Fields whose values stay. Default: none; [`KeptFields::known`] has those that say how much there is.
    pub keep: KeptFields,
    /// Equal values stay equal, by a hash with this key. Default: all become zero.
    pub equality: Option<KeyedHash>,
    /// Other names for classes and fields. Default: names stay.
    pub names: NameMap,
    /// What cannot be parsed is an error.
    pub is_strict: bool,
}

impl RedactOptions {
    fn hash(&self) -> Option<&KeyedHash> {
        self.equality.as_ref()
    }
}

/// A copy that was written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Redacted {
    /// The reader's name of its format.
    pub format: &'static str,
    /// Unpacked bytes.
    pub bytes: u64,
    /// Bytes that could not be parsed, and are zero.
    pub lost: LostBytes,
    /// The format has values.
    pub has_values: bool,
}

/// A reason for which there is no copy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactError {
    /// The dump cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The copy cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The dump is damaged, and that is an error.
    #[error("{}", lost_text(.0))]
    Damaged(LostBytes),
    /// There is no writer for the format.
    #[error("redact writes copies of Java heap dumps (HPROF, PHD and IBM's text); this is {0}")]
    Format(&'static str),
}

/// What is lost, in words.
pub fn lost_text(lost: &LostBytes) -> String {
    let bytes = count_of(lost.bytes, "bytes");
    let at = format!("{bytes} cannot be parsed (first at byte {})", lost.first_at);
    match (lost.bytes, lost.is_cut) {
        (0, _) => "the dump is cut off".to_string(),
        (_, true) => format!("the dump is cut off, and {at}"),
        (_, false) => at,
    }
}

/// A dump that is read more than once.
pub struct DumpFile {
    place: Place,
    observer: Arc<dyn Observer>,
}

enum Place {
    Path(PathBuf),
    /// What came through a pipe.
    Copy(File),
}

impl DumpFile {
    /// A dump in a file. A pipe with a name is read to its end now.
    ///
    /// # Errors
    /// When a pipe cannot be read, or kept in a temporary file.
    pub fn of_path(path: PathBuf, observer: Arc<dyn Observer>) -> io::Result<Self> {
        match path.metadata() {
            Ok(facts) if !facts.is_file() && !facts.is_dir() => Self::of_reader(File::open(path)?, observer),
            _ => Ok(DumpFile { place: Place::Path(path), observer }),
        }
    }

    /// A dump that comes through a pipe: it is kept in a temporary file without a name.
    ///
    /// # Errors
    /// When it cannot be read or kept.
    pub fn of_reader(mut reader: impl Read, observer: Arc<dyn Observer>) -> io::Result<Self> {
        let mut copy = nameless_file()?;
        io::copy(&mut reader, &mut copy)?;
        Ok(DumpFile { place: Place::Copy(copy), observer })
    }

    /// The dump from its start.
    fn open(&self) -> Result<Source, ReadError> {
        let observer = Arc::clone(&self.observer);
        match &self.place {
            Place::Path(path) => Source::open_observed(path, observer),
            Place::Copy(copy) => {
                let mut copy = copy.try_clone()?;
                copy.rewind()?;
                Source::from_reader_observed(copy, observer)
            }
        }
    }
}

/// Writes a copy of a dump without its values.
///
/// # Errors
/// When the dump cannot be read, is of a format without a writer, or (if that is asked for) is damaged; when the copy cannot
/// be written.
pub fn redact(file: &DumpFile, options: &RedactOptions, out: &mut dyn Write) -> Result<Redacted, RedactError> {
    let source = file.open()?;
    let reader = detect(&source, &options.read)?;
    match reader.name() {
        "hprof" => hprof::redact(source, file, options, out),
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
    if reader.name() != "hprof" {
        return Ok(Vec::new());
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
