//! Options of a copy, what comes of it, and why there is none.

use std::io;

use super::kept_fields::KeptFields;
use super::keyed_hash::KeyedHash;
use super::names::NameMap;
use super::text_runs::TextRuns;
use crate::input::{ReadError, ReadOptions};
use crate::units::count_with_noun;

/// Options of a copy: what becomes of values and names.
#[derive(Debug, Default)]
pub struct RedactOptions {
    /// The reader of the dump, as for reading it.
    pub read: ReadOptions,
    /// Fields whose values stay. Default: none; [`KeptFields::known`] has those that say how much there is.
    pub kept_fields: KeptFields,
    /// Equal values stay equal, by a hash with this key. Default: all become zero.
    pub equality_hash: Option<KeyedHash>,
    /// Other names for classes and fields. Default: names stay.
    pub names: NameMap,
    /// What cannot be parsed is an error.
    pub is_strict: bool,
}

impl RedactOptions {
    pub(super) fn keyed_hash(&self) -> Option<&KeyedHash> {
        self.equality_hash.as_ref()
    }
}

/// A copy that was written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RedactedCopy {
    /// The reader's name of its format.
    pub format: &'static str,
    /// Unpacked bytes.
    pub bytes: u64,
    /// Bytes that could not be parsed, and are zero.
    pub lost: LostBytes,
    /// The format has values.
    pub has_values: bool,
    /// Names are in the copy; those of a damaged V8 snapshot are not.
    pub has_names: bool,
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
    #[error("redact writes no copies of this format: {0}")]
    UnsupportedFormat(&'static str),
    /// The dump is a part of something that may hold anything.
    #[error("{0}")]
    CannotSeparateValues(&'static str),
}

/// What is lost, in words.
pub fn lost_text(lost: &LostBytes) -> String {
    let bytes = count_with_noun(lost.bytes, "bytes");
    let at = format!("{bytes} cannot be parsed (first at byte {})", lost.first_offset);
    match (lost.bytes, lost.is_cut) {
        (0, _) => "the dump is cut off".to_string(),
        (_, true) => format!("the dump is cut off, and {at}"),
        (_, false) => at,
    }
}

/// What is left of a dump in its copy.
#[derive(Debug, Default)]
pub(super) struct RemainingContent {
    /// Runs of texts that were asked for, and those that are left.
    pub(super) runs: TextRuns,
    /// Bytes of the copy.
    pub(super) copy_bytes: u64,
    /// Numbers and arrays that are not zero, and those of them that are the same in the copy.
    pub(super) compared_number_count: u64,
    pub(super) unchanged_number_count: u64,
}

/// Bytes that could not be parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LostBytes {
    /// How many.
    pub bytes: u64,
    /// Offset of the first.
    pub first_offset: u64,
    /// The file ends before what it says it has.
    pub is_cut: bool,
}
