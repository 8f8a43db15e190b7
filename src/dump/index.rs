//! The index of a dump: when it is used, what it holds, and how it is written.
//!
//! An index is believed as far as its checks go: its head and tail when it is opened, every block of columns when it is
//! first touched. A block that is not as written gives zeros and is remembered; whoever asked looks at
//! [`OpenDump::index_check`](super::OpenDump::index_check) before the answer is printed, and asks the dump again.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::OpenError;
use super::options::{IndexUse, OpenOptions};
use crate::analysis::dominators::{Dominators, StoredDominators};
use crate::analysis::retained::RetainedSizes;
use crate::analysis::shortest_parents::ShortestParents;
use crate::files::{Inputs, is_trusted_owner};
use crate::graph::{Column, ColumnSink, ColumnSource, HeapGraph, NodeSet, StoredGraph};
use crate::index::{self, EXTENSION, Index, IndexCheck, IndexColumns, IndexError, SourceKey};
use crate::input::{
    Diagnostics, FormatInfo, ObjectDetails, READERS, ReadOptions, RereadableFile, Rules, SizeRadix, SnapshotChoice,
};

/// Results that follow from a graph and its strong roots, ready in an index.
pub(super) struct DerivedResults {
    pub(super) dominators: Dominators,
    pub(super) retained: RetainedSizes,
    pub(super) reachable: NodeSet,
    pub(super) shortest_parents: ShortestParents,
}

impl DerivedResults {
    /// All of it, on two threads. O(references x log objects).
    pub(super) fn compute(graph: &HeapGraph) -> Self {
        let mut reachable = NodeSet::default();
        let ((dominators, retained), parents) = rayon::join(
            || RetainedSizes::with_dominators(graph, &mut |reached| reachable = reached.clone()),
            || ShortestParents::compute(graph),
        );
        DerivedResults { dominators, retained, reachable, shortest_parents: parents }
    }

    pub(super) fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<StoredDominators> {
        Column::from(self.reachable.words().to_vec()).store(sink, "reachable")?;
        self.shortest_parents.store(sink)?;
        self.dominators.store(&self.retained, sink)
    }

    fn from_stored(stored: StoredDominators, graph: &HeapGraph, source: &dyn ColumnSource) -> Option<Self> {
        let (dominators, retained) = Dominators::from_stored(stored, graph, source)?;
        let reachable: Column<u64> = Column::from_stored(source, "reachable", u64::MAX)?;
        let reachable = NodeSet::from_words(reachable.all_values().to_vec(), graph.node_count())?;
        let parents = ShortestParents::from_stored(graph, source)?;
        Some(DerivedResults { dominators, retained, reachable, shortest_parents: parents })
    }
}

/// Results from an index, and the columns they lie in.
pub(super) struct IndexedResults {
    pub(super) derived: DerivedResults,
    columns: IndexColumns,
}

impl IndexedResults {
    pub(super) fn index_check(&self) -> IndexCheck {
        self.columns.index_check()
    }
}

/// The part of an index that is stored as JSON: options, metadata, problems.
#[derive(Serialize, Deserialize)]
pub(super) struct IndexMeta {
    pub(super) options: ReadKey,
    pub(super) graph: StoredGraph,
    pub(super) dominators: StoredDominators,
    pub(super) info: FormatInfo,
    pub(super) diagnostics: Diagnostics,
}

/// The options that change what a reader reads.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadKey {
    input_format: Option<String>,
    raw_types: bool,
    #[serde(default)]
    rules: Rules,
    snapshot: SnapshotChoice,
    size_radix: SizeRadix,
}

impl ReadKey {
    pub(super) fn of(options: &ReadOptions) -> Self {
        ReadKey {
            input_format: options.input_format.clone(),
            raw_types: options.raw_types,
            rules: options.rules,
            snapshot: options.snapshot,
            size_radix: options.xna_cf.size_radix,
        }
    }

    /// Returns true if reading with `asked` would give what was read with these.
    fn serves(&self, asked: &ReadKey, format: &str) -> bool {
        let format_is_known = asked.input_format.as_deref() == Some(format);
        let same_format = self.input_format == asked.input_format || format_is_known;
        let rest = ReadKey { input_format: asked.input_format.clone(), ..*self };
        same_format && *asked == rest
    }

    /// As the user writes them.
    fn option_text(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.input_format.iter().map(|format| format!("--input-format {format}")));
        words.extend(self.raw_types.then(|| "--raw-types".to_string()));
        words.extend((self.rules != Rules::Heapdump).then(|| format!("--rules {}", self.rules.name())));
        words.extend((self.size_radix == SizeRadix::Dec).then(|| "--size-radix dec".to_string()));
        words.extend(match self.snapshot {
            SnapshotChoice::FirstComplete => None,
            SnapshotChoice::Number(number) => Some(format!("--snapshot {number}")),
            SnapshotChoice::Last => Some("--snapshot last".to_string()),
        });
        if words.is_empty() { "none".into() } else { words.join(" ") }
    }
}

/// An index that serves in place of its dump.
pub(super) struct LoadedIndex {
    pub(super) graph: HeapGraph,
    pub(super) results: IndexedResults,
    pub(super) info: FormatInfo,
    pub(super) diagnostics: Diagnostics,
    pub(super) details: Option<Box<dyn ObjectDetails>>,
    pub(super) index_file_bytes: u64,
}

/// Where an open dump comes from: its index, or the dump itself.
pub(super) enum DumpSource {
    Indexed(Box<LoadedIndex>),
    /// From this file.
    Dump(PathBuf),
}

/// Path at which a dump's index is looked for: beside it.
pub fn path_of_index(dump: &Path) -> PathBuf {
    let mut name: OsString = dump.as_os_str().to_owned();
    name.push(".");
    name.push(EXTENSION);
    PathBuf::from(name)
}

/// The file that lies where the dump of an index of this name is looked for.
fn dump_of_index(index: &Path) -> Option<PathBuf> {
    let dump = index.with_extension("");
    (index.extension().is_some_and(|own| own == EXTENSION) && dump.is_file()).then_some(dump)
}

/// The file of a dump that is named by its index; else what is named.
pub fn dump_of_index_or_path(path: &Path) -> PathBuf {
    dump_of_index(path).unwrap_or_else(|| path.to_path_buf())
}

/// Files that an output made of dumps must not replace: the dumps, `None` for standard input; the indexes that may answer for
/// them; the dumps behind indexes, wherever they are.
pub fn inputs_of<'p>(dumps: impl IntoIterator<Item = Option<&'p Path>>, output: Option<&Path>) -> Inputs {
    let mut inputs = Inputs::new();
    for dump in dumps {
        inputs.add_dump(dump);
        let Some(dump) = dump else { continue };
        let index = Some(path_of_index(dump)).filter(|index| index::is_index(index));
        index.into_iter().chain(dump_of_index(dump)).for_each(|path| inputs.add_file(&path));
        output.into_iter().filter(|output| is_index_file_of(dump, output)).for_each(|output| inputs.add_file(output));
    }
    inputs
}

/// Returns true if one is the index of the other, whatever they are called.
fn is_index_file_of(index: &Path, dump: &Path) -> bool {
    index::is_index(index)
        && dump.is_file()
        && Index::open(index).is_ok_and(|index| is_index_of_dump(&index, dump).unwrap_or(false))
}

/// The dump behind an index that is to be read record by record; `None` for what is not an index.
pub(super) fn dump_behind_index(path: &Path) -> Result<Option<PathBuf>, OpenError> {
    if !index::is_index(path) {
        return Ok(None);
    }
    match dump_of_index(path) {
        None => Err(OpenError::OnlyAnIndex(path.to_path_buf())),
        dump => Ok(dump),
    }
}

/// The index that serves for `path`: `path` itself when it is one, else the one beside it; else the dump. The observer
/// is told why an index was not used.
pub(super) fn choose_source(path: &Path, options: &OpenOptions) -> Result<DumpSource, OpenError> {
    let as_dump = || Ok(DumpSource::Dump(path.to_path_buf()));
    // A pipe with a name must not lose its first bytes to a look.
    if !path.is_file() {
        return as_dump();
    }
    let dump = dump_of_index(path);
    if index::is_index(path) || dump.is_some() {
        return choose_named_index(path, dump, options);
    }
    let candidate = path_of_index(path);
    if options.index == IndexUse::Never || !candidate.is_file() {
        return as_dump();
    }
    let opened = Index::open(&candidate).map_err(IndexRejection::from).and_then(|index| {
        is_index_of_dump(&index, path)?.then_some(()).ok_or(IndexRejection::Stale)?;
        load_index(index, &candidate, Some(path), options, Some(&ReadKey::of(&options.read)))
    });
    match opened {
        Ok(indexed) => Ok(DumpSource::Indexed(Box::new(indexed))),
        Err(why) => {
            options.observer.note_for_user(&format!("{} {why}; reading the dump", candidate.display()));
            as_dump()
        }
    }
}

/// An index that was asked for by its own name; `dump` is what lies beside it under the name of its dump.
fn choose_named_index(path: &Path, dump: Option<PathBuf>, options: &OpenOptions) -> Result<DumpSource, OpenError> {
    if options.index == IndexUse::Never {
        return dump.map(DumpSource::Dump).ok_or_else(|| OpenError::OnlyAnIndex(path.to_path_buf()));
    }
    // Asked for by its name and with no reading option, it serves as it was made.
    let key = ReadKey::of(&options.read);
    let asked = (key != ReadKey::of(&ReadOptions::default())).then_some(&key);
    let mut own_dump = dump.as_deref();
    let opened = Index::open(path).map_err(IndexRejection::from).and_then(|index| {
        if let Some(dump) = own_dump
            && !is_index_of_dump(&index, dump)?
        {
            // A file with another name than the dump had is some other file.
            let name = dump.file_name().map(|name| name.to_string_lossy());
            if index.source().is_none_or(|source| Some(source.name()) == name.as_deref()) {
                return Err(IndexRejection::Stale);
            }
            own_dump = None;
        }
        load_index(index, path, own_dump, options, asked)
    });
    match (opened, own_dump) {
        (Ok(indexed), _) => Ok(DumpSource::Indexed(Box::new(indexed))),
        (Err(why), Some(dump)) => {
            options.observer.note_for_user(&format!("{} {why}; reading {}", path.display(), dump.display()));
            Ok(DumpSource::Dump(dump.to_path_buf()))
        }
        (Err(why), None) => Err(OpenError::UnusableIndex(path.to_path_buf(), why.to_string())),
    }
}

fn is_index_of_dump(index: &Index, dump: &Path) -> Result<bool, IndexRejection> {
    let key = SourceKey::of(dump).map_err(IndexError::Io)?;
    Ok(index.source().is_some_and(|source| source.is_same(&key)))
}

/// Result of comparing all bytes of a dump and of its index with what they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexMatch {
    /// All is as it was.
    Same,
    /// All bytes are as they were, the time of the dump is another: commands do not use the index.
    OnlyTimeDiffers,
    /// The reason for which it is not to be believed, in words that follow its name.
    Mismatch(String),
}

/// Compares all bytes of a dump and of its index with what they were when the index was written. O(bytes of both).
///
/// # Errors
/// When the dump or the index cannot be read.
pub fn compare_index(index: &Path, dump: &Path) -> io::Result<IndexMatch> {
    let mismatch = |why: &str| Ok(IndexMatch::Mismatch(why.to_string()));
    let opened = match Index::open(index) {
        Err(IndexError::Io(error)) => return Err(error),
        Err(why) => return mismatch(&why.to_string()),
        Ok(opened) => opened,
    };
    let Some((source, is_same)) =
        opened.source().and_then(|source| Some((source, source.has_content_of(dump).transpose()?)))
    else {
        return mismatch("has no check of the whole dump (heapdump index makes it anew)");
    };
    if !is_same? {
        return mismatch(&IndexRejection::Stale.to_string());
    }
    let is_used = source.is_same(&SourceKey::of(dump)?);
    let check = opened.into_columns().index_check();
    check.verify_all();
    match check.damage() {
        Some(_) => mismatch(&IndexError::Damaged.to_string()),
        None => Ok(if is_used { IndexMatch::Same } else { IndexMatch::OnlyTimeDiffers }),
    }
}

/// Loads an index, when it serves for the reading options that are asked for.
fn load_index(
    index: Index,
    path: &Path,
    dump: Option<&Path>,
    options: &OpenOptions,
    asked: Option<&ReadKey>,
) -> Result<LoadedIndex, IndexRejection> {
    if !is_trusted_owner(index.owner(), dump) {
        return Err(IndexRejection::OtherUser);
    }
    let bytes = std::fs::metadata(path).map_err(IndexError::Io)?.len();
    options.memory.check_mapped_memory(bytes).map_err(IndexRejection::TooLarge)?;
    let meta: IndexMeta = index.json_content()?;
    if asked.is_some_and(|asked| !meta.options.serves(asked, &meta.info.format)) {
        return Err(IndexRejection::OtherReadOptions(meta.options.option_text()));
    }
    let reader = READERS.iter().find(|reader| reader.name() == meta.info.format);
    let sees_more = options.read.strict && reader.is_some_and(|reader| reader.sees_more_under_strict());
    if sees_more || meta.diagnostics.fail_if_strict(options.read.strict).is_err() {
        return Err(IndexRejection::StrictRequested);
    }
    let columns = index.into_columns();
    let parts = HeapGraph::from_stored(&meta.graph, &columns).and_then(|mut graph| {
        graph.set_types_apart(meta.options.raw_types);
        let derived = DerivedResults::from_stored(meta.dominators, &graph, &columns)?;
        Some((graph, derived))
    });
    // What is read whole when it is opened (names, roots) was checked just now.
    let is_packed = !meta.info.compression.is_empty();
    let input = dump.map(|dump| RereadableFile::new(dump, is_packed).with_memory_limit(options.memory.left_bytes()));
    let details = reader.zip(input).and_then(|(reader, input)| reader.details(&columns, input));
    match parts {
        Some((graph, derived)) if columns.index_check().damage().is_none() => Ok(LoadedIndex {
            graph,
            results: IndexedResults { derived, columns },
            info: meta.info,
            diagnostics: meta.diagnostics,
            details,
            index_file_bytes: bytes,
        }),
        _ => Err(IndexRejection::Unusable(IndexError::Damaged)),
    }
}

/// The reason for which an index does not serve, in words that follow its name.
#[derive(Debug, thiserror::Error)]
enum IndexRejection {
    /// It is damaged, or no index that this program reads.
    #[error(transparent)]
    Unusable(#[from] IndexError),
    /// The dump was changed since, or is another.
    #[error("does not belong to this dump as it is now (heapdump index makes it anew)")]
    Stale,
    /// Somebody else wrote it than who owns the dump, or asks.
    #[error("belongs to another user, who does not own the dump either")]
    OtherUser,
    /// The options it was made with, in words.
    #[error("was made with other reading options ({0})")]
    OtherReadOptions(String),
    /// It takes more memory than it may.
    #[error(transparent)]
    TooLarge(super::MemoryError),
    /// It holds problems, and under strict reading these are to be reported as the reader reports them.
    #[error("cannot tell how --strict ends")]
    StrictRequested,
}

/// The reason for which an index was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteIndexError {
    /// The dump holds allocation totals, no objects.
    #[error("the dump holds allocation totals, no objects")]
    NotObjects,
    /// There is not the memory to compute it.
    #[error(transparent)]
    Memory(super::MemoryError),
    /// The file could not be written.
    #[error(transparent)]
    Io(io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(change: impl Fn(&mut ReadOptions)) -> ReadKey {
        let mut options = ReadOptions::default();
        change(&mut options);
        ReadKey::of(&options)
    }

    #[test]
    fn an_index_serves_for_the_options_it_was_made_with() {
        let format = |name: &str| key(|options| options.input_format = Some(name.into()));
        for (own, asked, serves) in [
            (key(|_| {}), key(|_| {}), true),
            (key(|_| {}), format("hprof"), true),
            (key(|_| {}), format("phd"), false),
            (format("phd"), key(|_| {}), false),
            (format("phd"), format("phd"), true),
            (key(|_| {}), key(|options| options.raw_types = true), false),
            (key(|_| {}), key(|options| options.snapshot = SnapshotChoice::Last), false),
        ] {
            assert_eq!(own.serves(&asked, "hprof"), serves, "{own:?} {asked:?}");
        }
    }

    #[test]
    fn options_are_told_as_users_write_them() {
        let all = key(|options| {
            options.input_format = Some("phd".into());
            options.raw_types = true;
            options.snapshot = SnapshotChoice::Number(3);
        });
        assert_eq!(
            (key(|_| {}).option_text(), all.option_text().as_str()),
            ("none".into(), "--input-format phd --raw-types --snapshot 3")
        );
    }

    #[test]
    fn an_index_lies_beside_its_dump() {
        let folder = tempfile::tempdir().expect("a folder");
        let dump = folder.path().join("a.hprof");
        let index = path_of_index(&dump);
        assert_eq!(index, folder.path().join("a.hprof.hdx"));
        assert_eq!(dump_of_index_or_path(&index), index);
        std::fs::write(&dump, "").expect("written");
        assert_eq!((dump_of_index_or_path(&index), dump_of_index_or_path(&dump)), (dump.clone(), dump));
    }
}
