//! The files that may be read: those named when the server was started, and those below folders.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::dump::{dump_named, path_of_index};
use crate::input::{ReadOptions, Source, detect};

/// Folders below each other that are looked into, and files that are opened to list them, at most.
const MAX_LEVELS: usize = 8;
const MAX_FILES: usize = 2000;

/// One text for what is not there and what may not be read: it does not say which.
const REFUSED: &str = "is no dump that this server may read; list_dumps names those";

/// Files and folders, as they were named and as they are without links.
#[derive(Debug)]
pub struct Fence {
    files: Vec<(PathBuf, PathBuf)>,
    folders: Vec<(PathBuf, PathBuf)>,
}

/// A dump that may be read.
#[derive(Debug, Serialize)]
pub(super) struct DumpFile {
    pub(super) file: String,
    pub(super) format: &'static str,
    pub(super) bytes: u64,
}

impl Fence {
    /// The fence around these.
    ///
    /// # Errors
    /// When one of them is not there; with its name.
    pub fn new(files: &[PathBuf], folders: &[PathBuf]) -> io::Result<Self> {
        let real = |named: &PathBuf| {
            let named_error = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", named.display()));
            Ok((named.clone(), named.canonicalize().map_err(named_error)?))
        };
        let all = |named: &[PathBuf]| named.iter().map(real).collect::<io::Result<Vec<_>>>();
        Ok(Fence { files: all(files)?, folders: all(folders)? })
    }

    /// The file of a dump, by the name that [`dumps`](Self::dumps) gives it or any other; without a name the only one.
    ///
    /// # Errors
    /// When it may not be read, in a sentence.
    pub(super) fn find(&self, name: Option<&str>) -> Result<PathBuf, String> {
        let refused = |name: &str| format!("\"{name}\" {REFUSED}");
        let Some(name) = name else {
            return match (&self.files[..], &self.folders[..]) {
                ([(_, real)], []) => self.checked(real).ok_or_else(|| refused("dump")),
                _ => Err("which dump? list_dumps names them".into()),
            };
        };
        let named = self.files.iter().find(|(named, _)| named.to_string_lossy() == name).map(|(_, real)| real.clone());
        let below = self.folders.iter().map(|(_, folder)| folder.join(name));
        let mut places = named.into_iter().chain([PathBuf::from(name)]).chain(below);
        places.find_map(|place| self.checked(&place)).ok_or_else(|| refused(name))
    }

    /// The path without links, when it is a regular file inside, and so is what is read beside it.
    fn checked(&self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        let is_named = self.files.iter().any(|(_, file)| *file == real);
        let is_inside = is_named || self.folders.iter().any(|(_, folder)| real.starts_with(folder));
        // Its index, or the dump of an index, is read too: it must not be a link to elsewhere.
        let beside = [path_of_index(&real), dump_named(&real)];
        let is_no_link = |beside: &PathBuf| beside.canonicalize().map_or(true, |behind| behind == *beside);
        (is_inside && real.is_file() && beside.iter().all(is_no_link)).then_some(real)
    }

    /// The dumps by name, those below folders recognised by their content; and whether there may be more.
    pub(super) fn dumps(&self) -> (Vec<DumpFile>, bool) {
        let mut left = MAX_FILES;
        let mut files: BTreeSet<PathBuf> = self.files.iter().map(|(named, _)| named.clone()).collect();
        self.folders.iter().for_each(|(folder, _)| add_files(folder, MAX_LEVELS, &mut left, &mut files));
        let dumps = files.iter().filter_map(|file| {
            let source = Source::open(&self.checked(file)?).ok()?;
            let format = detect(&source, &ReadOptions::default()).ok()?.name();
            Some(DumpFile { file: file.to_string_lossy().into(), format, bytes: file.metadata().ok()?.len() })
        });
        (dumps.collect(), left == 0)
    }
}

/// Adds the files below a folder, without following links.
fn add_files(folder: &Path, levels: usize, left: &mut usize, files: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            _ if *left == 0 => return,
            Ok(kind) if kind.is_dir() && levels > 0 => add_files(&entry.path(), levels - 1, left, files),
            Ok(kind) if kind.is_file() => {
                *left -= 1;
                files.insert(entry.path());
            }
            _ => {}
        }
    }
}
