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
    #[error("redact writes copies of Java heap dumps (HPROF); this is {0}")]
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
        _ => Err(RedactError::Format(reader.format().title)),
    }
}

/// Looks for texts of a dump in its copy: no run of six bytes that reads as a text may be in both, unless it is part of a name
/// of the copy or of a text that `options` keep. `None` for formats without values.
///
/// # Errors
/// When one of them cannot be read.
pub fn find_left_texts(
    dump: &DumpFile,
    copy: &DumpFile,
    options: &RedactOptions,
) -> Result<Option<Check>, RedactError> {
    let reader = detect(&dump.open()?, &options.read)?;
    if reader.name() != "hprof" {
        return Ok(None);
    }
    let (runs, bytes) = hprof::find_left(dump, copy, &options.keep)?;
    let what = format!(
        "no text is left: {} runs of six bytes looked for in {} of the copy",
        format_count(runs.asked),
        count_of(bytes, "bytes")
    );
    let difference = runs
        .first_left
        .map(|at| format!("{} runs are left, the first from byte {at} of the dump", format_count(runs.left)));
    Ok(Some(Check { what, is_same: difference.is_none(), difference }))
}
