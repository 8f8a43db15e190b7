//! The files that may be read: those named when the server was started, and those below folders.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;
use serde_json::json;

use super::answer_page::CommandAnswer;
use crate::dump::{dump_of_index_or_path, path_of_index};
use crate::escape::escape_controls;
use crate::files;
use crate::index::is_index;
use crate::input::{FormatMatch, ReadOptions, Source, detect};

/// Folders below each other that are looked into, and files that are opened to list them, at most.
const MAX_FOLDER_LEVELS: usize = 8;
const MAX_FILES_OPENED: usize = 2000;
/// Bytes of a file in a folder that are read to list it: more than a packed block takes.
const DETECTION_BYTES: u64 = 144 << 10;

/// One text for what is not there and what may not be read: it does not say which.
const REFUSAL_TEXT: &str = "is no dump that this server may read; list_dumps names those";

/// Files and folders, as they were named and as they are without links.
#[derive(Debug)]
pub struct Allowlist {
    files: Vec<(PathBuf, PathBuf)>,
    folders: Vec<(PathBuf, PathBuf)>,
    /// Formats that were recognised; of other files none.
    formats: Mutex<HashMap<FileKey, Option<&'static str>>>,
}

/// A file, with its bytes and time.
type FileKey = (PathBuf, u64, Option<SystemTime>);

/// A dump that may be read.
#[derive(Debug, Serialize)]
struct ListedDump {
    file: String,
    format: &'static str,
    bytes: u64,
}

/// The dumps that may be read.
pub(super) struct ListedDumps {
    dumps: Vec<ListedDump>,
    /// Dumps that no call can name.
    non_unicode_count: u64,
    /// Not all files of the folders were looked at.
    has_more_files: bool,
}

impl Allowlist {
    /// The allowlist of these.
    ///
    /// # Errors
    /// When one of them is not there; with its name.
    pub fn new(files: &[PathBuf], folders: &[PathBuf]) -> io::Result<Self> {
        let real = |named: &PathBuf| {
            let named_error = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", named.display()));
            Ok((named.clone(), named.canonicalize().map_err(named_error)?))
        };
        let all = |named: &[PathBuf]| named.iter().map(real).collect::<io::Result<Vec<_>>>();
        Ok(Allowlist { files: all(files)?, folders: all(folders)?, formats: Mutex::default() })
    }

    /// The file of a dump, by the name that [`listed_dumps`](Self::listed_dumps) gives it or any other; without a name the only one.
    ///
    /// # Errors
    /// When it may not be read, in a sentence.
    pub(super) fn find_dump(&self, name: Option<&str>) -> Result<PathBuf, String> {
        let refused = |name: &str| format!("\"{name}\" {REFUSAL_TEXT}");
        let Some(name) = name else {
            return match (&self.files[..], &self.folders[..]) {
                ([(_, real)], []) => self.allowed_path(real).ok_or_else(|| refused("dump")),
                _ => Err("which dump? list_dumps names them".into()),
            };
        };
        let named = self.files.iter().find(|(named, _)| named.to_string_lossy() == name).map(|(_, real)| real.clone());
        let below = self.folders.iter().map(|(_, folder)| folder.join(name));
        let mut places = named.into_iter().chain([PathBuf::from(name)]).chain(below);
        places.find_map(|place| self.allowed_path(&place)).ok_or_else(|| refused(name))
    }

    /// The path without links, when it is a regular file inside, and so is what is read beside it.
    fn allowed_path(&self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        let is_named = self.files.iter().any(|(_, file)| *file == real);
        let is_inside = is_named || self.folders.iter().any(|(_, folder)| real.starts_with(folder));
        // Its index, or the dump of an index, is read too: it must not be a link to elsewhere.
        let beside = [path_of_index(&real), dump_of_index_or_path(&real)];
        let is_no_link = |beside: &PathBuf| beside.canonicalize().map_or(true, |behind| behind == *beside);
        (is_inside && real.is_file() && beside.iter().all(is_no_link)).then_some(real)
    }

    /// The dumps by name, those below folders recognised by their content, until `is_cancelled`.
    pub(super) fn listed_dumps(&self, is_cancelled: &dyn Fn() -> bool) -> ListedDumps {
        let mut left = MAX_FILES_OPENED;
        let mut files: BTreeSet<PathBuf> = self.files.iter().map(|(named, _)| named.clone()).collect();
        self.folders.iter().for_each(|(folder, _)| add_files_below(folder, MAX_FOLDER_LEVELS, &mut left, &mut files));
        let mut non_unicode_count = 0;
        let mut formats = self.formats.lock().unwrap_or_else(PoisonError::into_inner);
        let known = std::mem::take(&mut *formats);
        let dumps = files.iter().take_while(|_| !is_cancelled()).filter_map(|file| {
            let real = self.allowed_path(file)?;
            let opened = files::open(&real).ok()?;
            let facts = opened.metadata().ok()?;
            let is_named = self.files.iter().any(|(named, _)| named == file);
            let key = (file.clone(), facts.len(), facts.modified().ok());
            let look =
                || recognised_format(opened, is_named).or_else(|| (is_named && is_index(&real)).then_some("index"));
            let format = known.get(&key).copied().unwrap_or_else(look);
            formats.insert(key, format);
            // Only Unicode can be said in a call.
            non_unicode_count += u64::from(format.is_some() && file.to_str().is_none());
            Some(ListedDump { file: file.to_str()?.into(), format: format?, bytes: facts.len() })
        });
        let files = dumps.collect();
        ListedDumps { dumps: files, non_unicode_count, has_more_files: left == 0 }
    }
}

/// The format of a dump by its start, as far as detection looks. Of a file that nobody named by its first bytes, and for certain
/// alone: many a JSON file may be one.
fn recognised_format(file: impl Read + Send + 'static, is_named: bool) -> Option<&'static str> {
    let limit = if is_named { u64::MAX } else { DETECTION_BYTES };
    let mut source = Source::from_reader(file.take(limit)).ok()?;
    let reader = detect(&mut source, &ReadOptions::default()).ok()?;
    (is_named || reader.detect(source.start()) == FormatMatch::Yes).then_some(reader.name())
}

impl ListedDumps {
    /// The first of them, as an answer.
    pub(super) fn as_answer(&self, rows: usize) -> CommandAnswer {
        let dumps = &self.dumps[..rows.min(self.dumps.len())];
        let line =
            |dump: &ListedDump| format!("{:<14} {:>12} {}\n", dump.format, dump.bytes, escape_controls(&dump.file));
        let text = format!("{:<14} {:>12} file\n", "format", "bytes") + &dumps.iter().map(line).collect::<String>();
        let json = json!({"schema": "heapdump.list_dumps/1", "dumps": dumps}).to_string();
        let mut sentences = Vec::new();
        if self.dumps.is_empty() {
            sentences.push("no file here is a dump by its content".to_string());
        }
        if self.non_unicode_count > 0 {
            sentences.push(format!(
                "dumps whose names are not Unicode, so that no call can name them: {}",
                self.non_unicode_count
            ));
        }
        if self.has_more_files {
            sentences.push("there are more files than are looked at".to_string());
        }
        CommandAnswer { text, json, sentences }
    }
}

/// Adds the files below a folder, without following links.
fn add_files_below(folder: &Path, levels: usize, left: &mut usize, files: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            _ if *left == 0 => return,
            Ok(kind) if kind.is_dir() && levels > 0 => add_files_below(&entry.path(), levels - 1, left, files),
            Ok(kind) if kind.is_file() => {
                *left -= 1;
                files.insert(entry.path());
            }
            _ => {}
        }
    }
}
