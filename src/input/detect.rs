//! The choice of the reader for a dump.

use super::error::{ReadError, ReadErrorKind};
use super::options::ReadOptions;
use super::reader::{Detected, Reader};
use super::runtime::Runtime;
use super::source::Source;
use super::{READERS, foreign, text};

/// Finds the reader for a source.
///
/// # Errors
/// If `input_format` names no reader, when no reader recognises the content, or when several may.
pub fn detect(source: &Source, options: &ReadOptions) -> Result<&'static dyn Reader, ReadError> {
    if source.start().iter().all(|&byte| text::is_blank(byte)) && source.is_whole() {
        return Err(ReadError::new(ReadErrorKind::Empty));
    }
    if let Some(name) = &options.input_format {
        let reader = READERS.iter().find(|reader| reader.name() == name).copied();
        return reader.ok_or_else(|| ReadError::new(ReadErrorKind::NoSuchFormat(name.clone(), names(READERS))));
    }
    let saying = |wanted: Detected| -> Vec<&'static dyn Reader> {
        READERS.iter().filter(|reader| reader.detect(source.start()) == wanted).copied().collect()
    };
    let certain = saying(Detected::Yes);
    if let Some(sentence) = foreign::name(source.start()).filter(|_| certain.is_empty()) {
        return Err(ReadError::new(ReadErrorKind::NotSupported(sentence)));
    }
    let candidates = if certain.is_empty() { saying(Detected::Maybe) } else { certain };
    match candidates[..] {
        [] => Err(ReadError::new(match foreign::name_of_text(source.start(), &names(READERS)) {
            Some(sentence) => ReadErrorKind::NotSupported(sentence),
            None => ReadErrorKind::UnknownFormat(names(READERS)),
        })),
        [reader] => Ok(reader),
        _ => Err(ReadError::new(ReadErrorKind::AmbiguousFormat(names(&candidates)))),
    }
}

/// Bytes of an array without an element in the heaps of a format, by the width of addresses; none where other arrays
/// are as small, or the format does not tell.
pub fn empty_array_bytes(name: &str) -> &'static [u64] {
    READERS.iter().find(|reader| reader.name() == name).map_or(&[], |reader| reader.empty_array_bytes())
}

impl Runtime {
    /// The runtime of a reader's format; `None` when no reader has this name.
    pub fn of_format(name: &str) -> Option<Self> {
        READERS.iter().find(|reader| reader.name() == name).map(|reader| reader.runtime())
    }
}

fn names(readers: &[&'static dyn Reader]) -> Vec<&'static str> {
    readers.iter().map(|reader| reader.name()).collect()
}
