//! The words behind a command with `OBJID [FILE]`.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use crate::answers::ObjectId;

/// What the words mean: a lone one is FILE when such a file exists or it is `-`.
pub(crate) fn split_object_and_file(words: &[String]) -> (Option<String>, Option<PathBuf>) {
    match words {
        [] => (None, None),
        [word] if word == "-" || Path::new(word).exists() => (None, Some(PathBuf::from(word))),
        [word] => (Some(word.clone()), None),
        [object, file, ..] => (Some(object.clone()), Some(PathBuf::from(file))),
    }
}

/// Reads an object id as users type it: hexadecimal, with or without 0x, after `SECTION#` where there are several.
pub(crate) fn parse_object_id(text: &str) -> Result<ObjectId> {
    text.parse().map_err(|_| match Path::new(text).exists() {
        true => anyhow!("\"{text}\" is a file, not an object id: the id comes first, then FILE"),
        false => anyhow!("\"{text}\" is neither a file nor an object id (hexadecimal, as the dump writes it)"),
    })
}
