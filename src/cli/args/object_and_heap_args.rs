//! Words and options of single commands that several have: `OBJID [FILE]`, or `OBJID... [FILE]`, and the heaps of allocation totals.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use crate::answers::allocation_heaps::FullerDump;
use crate::answers::{AllocationHeapChoice, ObjectId};
use crate::cli::args::options::{ReadArgs, SectionArgs};

/// Tells an object from a file: a lone word is FILE when such a file exists or it is `-`.
pub(crate) fn split_object_and_file(words: &[OsString]) -> (Option<String>, Option<PathBuf>) {
    match words {
        [] => (None, None),
        [word] if is_file_argument(word) => (None, Some(PathBuf::from(word))),
        [word] => (Some(lossy_text(word)), None),
        [object, file, ..] => (Some(lossy_text(object)), Some(PathBuf::from(file))),
    }
}

fn is_file_argument(word: &OsStr) -> bool {
    word == "-" || Path::new(word).exists()
}

/// An id or a name. What is not Unicode is neither.
fn lossy_text(word: &OsString) -> String {
    word.to_string_lossy().into_owned()
}

/// The same of any number of objects: the last word is FILE when it is `-`, such a file exists, or it is no id behind ids.
pub(crate) fn split_objects_and_file(words: &[OsString]) -> (Vec<String>, Option<PathBuf>) {
    let texts = |words: &[OsString]| words.iter().map(lossy_text).collect();
    match words.split_last() {
        Some((last, ids))
            if is_file_argument(last) || !ids.is_empty() && lossy_text(last).parse::<ObjectId>().is_err() =>
        {
            (texts(ids), Some(last.into()))
        }
        _ => (texts(words), None),
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

/// Reads an object id as users type it: as the dump writes it, hexadecimal with or without 0x, after `SECTION#` where there are several.
pub(crate) fn parse_object_id(text: &str) -> Result<ObjectId> {
    text.parse().map_err(|_| match Path::new(text).exists() {
        true => anyhow!("\"{text}\" is a file, not an object id: the id comes first, then FILE"),
        false if is_url(text) => anyhow!("{URL_ADVICE}"),
        false => anyhow!("\"{text}\" is neither a file nor an object id (as the dump writes it: hexadecimal, of a V8 snapshot @ and decimal); \
             all objects of a type are chosen with --type {text}, by list, roots, referrers and dominators"),
    })
}

/// Advice for an address in place of a file.
pub(crate) const URL_ADVICE: &str = "heapdump reads files and fetches nothing: curl -sS URL | heapdump stats -";

/// Returns true for the address of something elsewhere.
pub(crate) fn is_url(word: &str) -> bool {
    ["http://", "https://", "ftp://", "s3://", "gs://", "file://"].iter().any(|scheme| word.starts_with(scheme))
}

/// Options that choose heaps of allocation totals.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Allocation totals")]
pub(crate) struct AllocationHeapArgs {
    /// Which of several memory dumps [default: the last with heaps]
    #[arg(long, value_name = "N|all|last", hide_short_help = true)]
    pub(crate) dump: Option<String>,
    /// Heaps of one process
    #[arg(long, value_name = "PID|NAME", hide_short_help = true)]
    pub(crate) process: Option<String>,
    /// Heaps of one allocator
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) allocator: Option<String>,
}

impl AllocationHeapArgs {
    /// As the library takes it; `--snapshot` and `--domain` choose too.
    pub(crate) fn heap_choice(&self, section: &SectionArgs, read: &ReadArgs) -> AllocationHeapChoice {
        AllocationHeapChoice {
            memory_dump: self.dump.clone(),
            snapshot: read.snapshot.clone(),
            process: self.process.clone(),
            allocator: self.allocator.clone(),
            section: section.domain.clone(),
        }
    }
}

/// Says that an earlier memory dump has more heaps than the one that was chosen by default.
pub(crate) fn fuller_dump_note(found: &FullerDump) -> String {
    format!("note: {}; --dump {} shows those", found.statement(), found.fullest_dump)
}
