//! The index of a dump: what is put into it, when it is believed, and what follows when it is damaged.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::common::Common;
use super::memory::MemoryLimit;
use super::output::print_sentence;
use super::progress::Progress;
use crate::analysis::dominators::{Dominators, StoredDominators};
use crate::analysis::reachability::compute_reachable;
use crate::analysis::retained::Retained;
use crate::analysis::root_inference;
use crate::analysis::shortest_parents::ShortestParents;
use crate::graph::{Column, ColumnSink, ColumnSource, HeapGraph, NodeSet, StoredGraph};
use crate::index::{self, EXTENSION, Index, IndexColumns, IndexError, MemoryImage, SourceKey};
use crate::input::{self, Diagnostics, Dump, Facts, Loaded, ReadOptions, SizeRadix, SnapshotChoice, Source};

/// What follows from a graph and its strong roots, ready in an index.
pub(super) struct Derived {
    pub(super) dominators: Dominators,
    pub(super) retained: Retained,
    pub(super) reachable: NodeSet,
    pub(super) parents: ShortestParents,
}

impl Derived {
    /// All of it, on two threads. O(references x log objects).
    pub(super) fn compute(graph: &HeapGraph) -> Self {
        let ((dominators, retained), (reachable, parents)) = rayon::join(
            || {
                let dominators = Dominators::compute(graph);
                let retained = Retained::compute(graph, &dominators);
                (dominators, retained)
            },
            || (compute_reachable(graph), ShortestParents::compute(graph)),
        );
        Derived { dominators, retained, reachable, parents }
    }

    fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<StoredDominators> {
        Column::from(self.reachable.words().to_vec()).store(sink, "reachable")?;
        self.parents.store(sink)?;
        self.dominators.store(&self.retained, sink)
    }

    fn from_stored(stored: StoredDominators, graph: &HeapGraph, source: &dyn ColumnSource) -> Option<Self> {
        let (dominators, retained) = Dominators::from_stored(stored, graph, source)?;
        let reachable: Column<u64> = Column::stored(source, "reachable", u64::MAX)?;
        let reachable = NodeSet::from_words(reachable.all().to_vec(), graph.node_count())?;
        let parents = ShortestParents::from_stored(graph, source)?;
        Some(Derived { dominators, retained, reachable, parents })
    }
}

/// What of an index is no column.
#[derive(Serialize, Deserialize)]
struct Content {
    options: ReadKey,
    graph: StoredGraph,
    dominators: StoredDominators,
    facts: Facts,
    diagnostics: Diagnostics,
}

/// The options that change what a reader reads.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct ReadKey {
    input_format: Option<String>,
    raw_types: bool,
    snapshot: SnapshotChoice,
    size_radix: SizeRadix,
}

impl ReadKey {
    fn of(options: &ReadOptions) -> Self {
        ReadKey {
            input_format: options.input_format.clone(),
            raw_types: options.raw_types,
            snapshot: options.snapshot,
            size_radix: options.xna_cf.size_radix,
        }
    }

    /// Would reading with `asked` give what was read with these?
    fn serves(&self, asked: &ReadKey, format: &str) -> bool {
        let format_is_known = asked.input_format.as_deref() == Some(format);
        let same_format = self.input_format == asked.input_format || format_is_known;
        same_format && *asked == ReadKey { input_format: asked.input_format.clone(), ..self.rest() }
    }

    /// As the user writes them.
    fn words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.input_format.iter().map(|format| format!("--input-format {format}")));
        words.extend(self.raw_types.then(|| "--raw-types".to_string()));
        words.extend((self.size_radix == SizeRadix::Dec).then(|| "--size-radix dec".to_string()));
        words.extend(match self.snapshot {
            SnapshotChoice::FirstComplete => None,
            SnapshotChoice::Number(number) => Some(format!("--snapshot {number}")),
            SnapshotChoice::Last => Some("--snapshot last".to_string()),
        });
        if words.is_empty() { "none".into() } else { words.join(" ") }
    }

    /// Reading as the index was read.
    fn apply(&self, options: &ReadOptions) -> ReadOptions {
        let mut own = options.clone();
        own.input_format = self.input_format.clone();
        own.raw_types = self.raw_types;
        own.snapshot = self.snapshot;
        own.xna_cf.size_radix = self.size_radix;
        own
    }

    fn rest(&self) -> Self {
        ReadKey { input_format: None, ..*self }
    }
}

/// A dump as an index had it.
pub(super) struct Indexed {
    pub(super) graph: HeapGraph,
    pub(super) derived: Derived,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
}

/// Where a dump's index is looked for.
pub(super) fn beside(dump: &Path) -> PathBuf {
    let mut name: OsString = dump.as_os_str().to_owned();
    name.push(".");
    name.push(EXTENSION);
    PathBuf::from(name)
}

/// What an index is good for.
pub(super) enum Found {
    /// It has the dump.
    Indexed(Box<Indexed>),
    /// It was asked for by its own name and does not serve; this is its dump.
    Behind(PathBuf),
    /// There is none that serves.
    Nothing,
}

/// The index that serves for `path`: `path` itself when it is one, else the one beside it. When there is none to be
/// believed, the dump; the user is told why.
pub(super) fn find(path: &Path, options: &ReadOptions, common: &Common) -> Result<Found> {
    if index::is_index(path) {
        let dump = path.with_extension("");
        let dump = (path.extension().is_some_and(|own| own == EXTENSION) && dump.is_file()).then_some(dump);
        // Asked for by its name and for nothing else, it serves as it was made.
        let is_plain = ReadKey::of(options) == ReadKey::of(&ReadOptions::default());
        let asked = (!is_plain).then(|| ReadKey::of(options));
        return match (open(path, dump.as_deref(), options, asked.as_ref()), dump) {
            (Ok(indexed), _) if !common.input.no_index => Ok(Found::Indexed(Box::new(indexed))),
            (Ok(_), None) => bail!("{}: is an index, and --no-index says to use none", path.display()),
            (Ok(_), Some(dump)) => Ok(Found::Behind(dump)),
            (Err(why), Some(dump)) => {
                tell(common.output.quiet, &format!("{} {why}; reading {}", path.display(), dump.display()));
                Ok(Found::Behind(dump))
            }
            (Err(why), None) => bail!("{} {why}, and the dump is not beside it", path.display()),
        };
    }
    let candidate = beside(path);
    if common.input.no_index || !candidate.is_file() {
        return Ok(Found::Nothing);
    }
    match open(&candidate, Some(path), options, Some(&ReadKey::of(options))) {
        Ok(indexed) => Ok(Found::Indexed(Box::new(indexed))),
        Err(why) => {
            tell(common.output.quiet, &format!("{} {why}; reading the dump", candidate.display()));
            Ok(Found::Nothing)
        }
    }
}

fn tell(quiet: bool, text: &str) {
    if !quiet {
        print_sentence(&format!("note: {text}"));
    }
}

/// Why an index does not serve, in words behind its name.
#[derive(Debug)]
enum Refusal {
    Unusable(IndexError),
    Stale,
    /// The options it was made with, in words.
    Options(String),
    /// Problems, which `--strict` asks to be told as the reader tells them.
    Strict,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Unusable(error) => write!(f, "{error}"),
            Refusal::Stale => f.write_str("is older than the dump or of another one (heapdump index makes it anew)"),
            Refusal::Options(words) => write!(f, "was made with other reading options ({words})"),
            Refusal::Strict => f.write_str("cannot tell how --strict ends"),
        }
    }
}

impl From<IndexError> for Refusal {
    fn from(error: IndexError) -> Self {
        Refusal::Unusable(error)
    }
}

/// Opens an index, of `dump` where that is known, when it serves for the reading options that are asked for.
fn open(path: &Path, dump: Option<&Path>, options: &ReadOptions, asked: Option<&ReadKey>) -> Result<Indexed, Refusal> {
    let index = Index::open(path)?;
    if let Some(dump) = dump {
        let key = SourceKey::of(dump).map_err(IndexError::Io)?;
        if index.source() != Some(&key) {
            return Err(Refusal::Stale);
        }
    }
    let content: Content = index.content()?;
    if asked.is_some_and(|asked| !content.options.serves(asked, content.facts.format)) {
        return Err(Refusal::Options(content.options.words()));
    }
    if content.diagnostics.check(options.strict).is_err() {
        return Err(Refusal::Strict);
    }
    let rebuild = Rebuild {
        path: path.to_path_buf(),
        dump: dump.map(Path::to_path_buf),
        options: ReadOptions { strict: false, ..content.options.apply(options) },
        layout: index.layout(),
    };
    let columns = index.into_columns(Box::new(move |reason| rebuild.run(reason)));
    let parts = graph_and_derived(&content, &columns);
    let (graph, derived) = parts.ok_or(Refusal::Unusable(IndexError::Damaged))?;
    Ok(Indexed { graph, derived, facts: content.facts, diagnostics: content.diagnostics })
}

fn graph_and_derived(content: &Content, columns: &IndexColumns) -> Option<(HeapGraph, Derived)> {
    let graph = HeapGraph::from_stored(&content.graph, columns)?;
    let derived = Derived::from_stored(content.dominators, &graph, columns)?;
    Some((graph, derived))
}

fn store(
    graph: &HeapGraph,
    derived: &Derived,
    sink: &mut dyn ColumnSink,
) -> io::Result<(StoredGraph, StoredDominators)> {
    Ok((graph.store(sink)?, derived.store(sink)?))
}

/// What is needed to do without an index in the middle of an answer.
struct Rebuild {
    path: PathBuf,
    dump: Option<PathBuf>,
    options: ReadOptions,
    layout: index::Layout,
}

impl Rebuild {
    /// The columns made anew from the dump. There is no way back from here, so without a dump the process ends.
    fn run(&self, reason: &str) -> MemoryImage {
        let made = match &self.dump {
            Some(dump) => {
                tell(false, &format!("{} is damaged ({reason}); reading the dump", self.path.display()));
                self.read(dump)
            }
            None => Err(anyhow::anyhow!("is damaged ({reason}), and the dump is not beside it")),
        };
        made.unwrap_or_else(|error| {
            // Standard error may be closed; there is nobody else to tell.
            let _ = writeln!(io::stderr(), "heapdump: {}: {error:#}", self.path.display());
            std::process::exit(2)
        })
    }

    /// On a thread and a pool of its own: those that wait for this may be all the threads of the other.
    fn read(&self, dump: &Path) -> Result<MemoryImage> {
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(self.options.threads).build()?;
                pool.install(|| {
                    let source = Source::open(dump, std::sync::Arc::default())?;
                    let Loaded { dump, facts, .. } = input::read(source, &self.options)?;
                    let Dump::Graph(mut graph) = dump else { bail!("the dump has changed") };
                    with_roots(&mut graph, &facts);
                    let derived = Derived::compute(&graph);
                    let image = index::image_in_memory(&self.layout, |sink| store(&graph, &derived, sink))?;
                    image.context("the dump has changed")
                })
            });
            reading.join().unwrap_or_else(|_| bail!("the dump could not be read"))
        })
    }
}

/// The roots that a graph is asked with when nobody says otherwise.
pub(super) fn with_roots(graph: &mut HeapGraph, facts: &Facts) {
    if facts.has_no_roots {
        root_inference::infer_roots(graph);
    }
}

/// Reads a dump and writes its index; gives the bytes written. `source` is none for a dump from a pipe.
pub(super) fn make(
    loaded: Loaded,
    options: &ReadOptions,
    source: Option<SourceKey>,
    path: &Path,
    progress: &Progress,
    memory: MemoryLimit,
) -> Result<u64> {
    let Loaded { dump, facts, diagnostics } = loaded;
    let Dump::Graph(mut graph) = dump else {
        bail!("the dump holds allocation totals, no objects: it is read as quickly without an index")
    };
    with_roots(&mut graph, &facts);
    memory.check_dominators(&graph)?;
    progress.phase("computing dominators");
    let derived = Derived::compute(&graph);
    progress.phase("writing the index");
    index::write(path, source, |sink| {
        let (graph, dominators) = store(&graph, &derived, sink)?;
        Ok(Content { options: ReadKey::of(options), graph, dominators, facts, diagnostics })
    })
    .with_context(|| format!("cannot write {}", path.display()))
}
