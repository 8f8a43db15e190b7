//! The words behind a command with `OBJID [FILE]`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

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

/// Ids, and FILE if the last word is one.
pub(crate) fn split_objects_and_file(words: &[String]) -> (Vec<String>, Option<PathBuf>) {
    match words {
        [objects @ .., word] if word == "-" || Path::new(word).exists() => {
            (objects.to_vec(), Some(PathBuf::from(word)))
        }
        // As ever, the second of two is FILE, which may not be there.
        [object, file] if parse_object_id(file).is_err() => (vec![object.clone()], Some(PathBuf::from(file))),
        _ => (words.to_vec(), None),
    }
}

/// Lines of a file, or of standard input (`-`): an id in each, as `list --ids` prints them.
pub(crate) fn read_object_ids(file: &Path) -> Result<Vec<String>> {
    let text = match file.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.with_context(|| format!("--ids-from {}", file.display()))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_string).collect())
}

/// Reads an object id as users type it: hexadecimal, with or without 0x, after `SECTION#` where there are several.
pub(crate) fn parse_object_id(text: &str) -> Result<ObjectId> {
    text.parse().map_err(|_| match Path::new(text).exists() {
        true => anyhow!("\"{text}\" is a file, not an object id: the id comes first, then FILE"),
        false => anyhow!("\"{text}\" is neither a file nor an object id (hexadecimal, as the dump writes it)"),
    })
}
