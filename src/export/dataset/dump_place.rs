//! Paths of the files of a dump, its id, and a check of what is there already.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use parquet::file::metadata::ParquetMetaDataReader;
use twox_hash::XxHash3_64;

use super::{DatasetError, TableName};
use crate::files::{
    Inputs, Output, OutputTarget, create_folders, hash_file, remove_created_empty_folders, remove_leftover,
};

/// Bytes of a file's stem that go into its dump's id.
const MAX_STEM_BYTES: usize = 120;
/// Bytes of an id: names of files end at 255.
const MAX_ID_BYTES: usize = 200;

/// A dump that is in the dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingDump {
    /// Its id.
    pub id: String,
    /// Tables that are asked for and that it does not have.
    pub missing_tables: Vec<&'static str>,
    /// Labels are given, which are not written: those of what is there stay.
    pub ignores_new_labels: bool,
}

impl ExistingDump {
    /// The same in words.
    pub fn statement(&self) -> String {
        let labels = if self.ignores_new_labels { "; its labels stay as they are" } else { "" };
        match self.missing_tables.join(", ") {
            missing if missing.is_empty() => format!("is in the dataset as {}{labels}", self.id),
            missing => format!("is in the dataset as {}, without {missing}{labels}", self.id),
        }
    }
}

/// Dumps that this process is writing, each by the path of its file in `dumps`.
static PATHS_BEING_WRITTEN: (Mutex<BTreeSet<PathBuf>>, Condvar) = (Mutex::new(BTreeSet::new()), Condvar::new());

/// An id that is being written: the same dump twice in one command waits for itself, and is there then.
#[derive(Debug)]
pub(super) struct WritingGuard(PathBuf);

impl WritingGuard {
    /// Waits until nobody else of this process writes the id.
    pub(super) fn wait_for(place: &DumpPlace<'_>) -> Self {
        let path = place.path_of(TableName::Dumps);
        let writing = PATHS_BEING_WRITTEN.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut writing = PATHS_BEING_WRITTEN
            .1
            .wait_while(writing, |writing| writing.contains(&path))
            .unwrap_or_else(PoisonError::into_inner);
        writing.insert(path.clone());
        WritingGuard(path)
    }
}

impl Drop for WritingGuard {
    fn drop(&mut self) {
        let mut writing = PATHS_BEING_WRITTEN.0.lock().unwrap_or_else(PoisonError::into_inner);
        writing.remove(&self.0);
        if writing.is_empty() {
            remove_created_empty_folders();
        }
        drop(writing);
        PATHS_BEING_WRITTEN.1.notify_all();
    }
}

/// Where a dump's files are: the dataset's folder, and the dump's id.
#[derive(Debug)]
pub(super) struct DumpPlace<'p> {
    pub(super) folder: &'p Path,
    pub(super) id: &'p str,
}

impl DumpPlace<'_> {
    fn folder_of(&self, table: TableName) -> PathBuf {
        let folder = self.folder.join(table.name());
        if table.is_large() { folder.join(format!("dump={}", self.id)) } else { folder }
    }

    pub(super) fn path_of(&self, table: TableName) -> PathBuf {
        let name = if table.is_large() { "part-0.parquet".to_string() } else { format!("{}.parquet", self.id) };
        self.folder_of(table).join(name)
    }

    /// The name of a file that is not whole: no ending of Parquet files, for some engines read hidden files too.
    fn unfinished_name(&self) -> String {
        format!(".{}.tmp", self.id)
    }

    /// Begins the file of a table, in a folder that is made where it is not there.
    pub(super) fn begin_table_file(&self, table: TableName, inputs: &Inputs) -> Result<Output, DatasetError> {
        let (folder, path) = (self.folder_of(table), self.path_of(table));
        create_folders(&folder).map_err(|error| DatasetError::Unwritable(folder.clone(), error))?;
        let find = |path: &Path| {
            OutputTarget::find_without_links(path, inputs)
                .map_err(|error| DatasetError::UnusableTarget(path.to_path_buf(), error))
        };
        let name = self.unfinished_name();
        find(&folder.join(&name))?;
        find(&path)?.begin_locked(&name).map_err(|error| DatasetError::Unwritable(path, error))
    }

    /// Takes away a table that the dump had and has no more, and what a run that was killed has left of it.
    pub(super) fn remove_table_file(&self, table: TableName) -> Result<(), DatasetError> {
        let path = self.path_of(table);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(DatasetError::Unwritable(path, error)),
            _ => {}
        }
        let folder = self.folder_of(table);
        if table.is_large() {
            // What another run is writing stays, and with it the folder; so does what others put there.
            let _ = remove_leftover(&folder.join(self.unfinished_name()));
            let _ = std::fs::remove_dir(folder);
        } else {
            // So that a loss of power does not bring it back; not every file system can do that.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }

    /// The checksum of the dump that is there under this id; `None` when none is there.
    pub(super) fn existing_checksum(&self) -> Result<Option<String>, DatasetError> {
        let path = self.path_of(TableName::Dumps);
        let foreign =
            || DatasetError::Unwritable(path.clone(), io::Error::other("what is there is no table of a dataset"));
        let facts = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            facts => facts.map_err(|error| DatasetError::Unwritable(path.clone(), error))?,
        };
        if !facts.is_file() {
            return Err(foreign());
        }
        let file = File::open(&path).map_err(|error| DatasetError::Unwritable(path.clone(), error))?;
        let parsed = ParquetMetaDataReader::new().parse_and_finish(&file);
        let parsed = parsed.map_err(|_| foreign())?;
        let notes = parsed.file_metadata().key_value_metadata().into_iter().flatten();
        let checksum = notes.filter(|note| note.key == CHECKSUM_NOTE_KEY).find_map(|note| note.value.clone());
        checksum.map(Some).ok_or_else(foreign)
    }
}

/// The note of a file of `dumps` that has the checksum of the dump.
pub(super) const CHECKSUM_NOTE_KEY: &str = "heapdump.content";

/// The checksum of a dump: its bytes, and what was asked of reading them.
pub(super) fn checksum_of(file: &Path, reading_options: &[String]) -> io::Result<String> {
    let mut hasher = XxHash3_64::new();
    hash_file(file, &mut hasher)?;
    for word in reading_options {
        hasher.write(word.as_bytes());
        hasher.write(&[0]);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// The id of a dump by the name of its file and its checksum: what follows the stem is never taken for a number.
pub(super) fn dump_id_of(file: &Path, checksum: &str) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let stem = Path::new(name).file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
    let mut stem: String = stem.chars().map(|c| if is_id_character(c) { c } else { '_' }).collect();
    stem.truncate(MAX_STEM_BYTES);
    let front = if stem.starts_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "d-" };
    format!("{front}{stem}-{}", &checksum[checksum.len().saturating_sub(8)..])
}

fn is_id_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".-_".contains(c)
}

/// Checks an id that the user chose.
pub(super) fn check_id(id: &str) -> Result<(), DatasetError> {
    let is_name = id.starts_with(|c: char| c.is_ascii_alphabetic())
        && id.chars().all(is_id_character)
        && id.len() <= MAX_ID_BYTES;
    // `NaN` and `Infinity` are numbers, and `epoch` is a date, to engines that guess kinds from names of folders.
    let is_guessed = id.parse::<f64>().is_ok() || id.eq_ignore_ascii_case("epoch");
    if is_name && !is_guessed { Ok(()) } else { Err(DatasetError::InvalidId(id.to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_names_to_every_engine() {
        let id = |name: &str| dump_id_of(Path::new(name), "0123456789abcdef");
        assert_eq!(id("dumps/web-3.gcdump"), "web-3-89abcdef");
        assert_eq!(id("app.hprof.zst"), "app-89abcdef");
        assert_eq!(id("0012.txt"), "d-0012-89abcdef");
        assert_eq!(id("1e5"), "d-1e5-89abcdef");
        assert_eq!(id("\u{e4} b=c/../x y.txt"), "x_y-89abcdef");
        assert_eq!(id("\u{e4}.txt"), "d-_-89abcdef");
        assert_eq!(id(&format!("{}.txt", "x".repeat(300))).len(), MAX_STEM_BYTES + 9);
        for name in ["a", "nightly-2026.11.22_3", "e5"] {
            check_id(name).expect(name);
        }
        for name in ["", "1", "12", ".a", "a b", "a/b", "NaN", "infinity", "inf", "Epoch", "\u{e4}", &"a".repeat(201)] {
            check_id(name).expect_err(name);
        }
    }

    #[test]
    fn checksums_have_what_was_asked_of_reading() {
        let file = Path::new("fixtures/xna_cf/pair_after.txt");
        let plain = checksum_of(file, &[]).expect("readable");
        assert_eq!(plain.len(), 16);
        let asked = |words: &[&str]| {
            checksum_of(file, &words.iter().map(|word| word.to_string()).collect::<Vec<_>>()).expect("readable")
        };
        assert_ne!(asked(&["--snapshot", "2"]), plain);
        assert_ne!(asked(&["--snapshot", "2"]), asked(&["--snapshot2"]));
    }
}
