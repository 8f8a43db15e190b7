//! The words behind a command with `OBJID [FILE]`, or `OBJID... [FILE]`.

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

/// The same of any number of objects: the last word is FILE when it is `-`, such a file exists, or it is no id behind ids.
pub(crate) fn split_objects_and_file(words: &[String]) -> (Vec<String>, Option<PathBuf>) {
    let is_file = |last: &str| last == "-" || Path::new(last).exists();
    match words.split_last() {
        Some((last, ids)) if is_file(last) || !ids.is_empty() && last.parse::<ObjectId>().is_err() => {
            (ids.to_vec(), Some(last.into()))
        }
        _ => (words.to_vec(), None),
    }
}

/// The ids in a file, or on standard input: the first word of each line.
pub(crate) fn read_object_ids(from: &Path) -> Result<Vec<String>> {
    let text = match from.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(from),
    };
    let text = text.with_context(|| format!("--ids-from {}", from.display()))?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_string).collect())
}

/// Reads an object id as users type it: hexadecimal, with or without 0x, after `SECTION#` where there are several.
pub(crate) fn parse_object_id(text: &str) -> Result<ObjectId> {
    text.parse().map_err(|_| match Path::new(text).exists() {
        true => anyhow!("\"{text}\" is a file, not an object id: the id comes first, then FILE"),
        false => anyhow!("\"{text}\" is neither a file nor an object id (hexadecimal, as the dump writes it); all objects of a type are \
             chosen with --type {text}, by list, roots, referrers and dominators"),
    })
}
