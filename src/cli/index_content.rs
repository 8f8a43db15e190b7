//! What is in the index of a dump: its graph, what follows from it, what the reader said of it, and how it was read.

use std::io;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::memory::MemoryLimit;
use super::progress::Progress;
use crate::analysis::dominators::{Dominators, StoredDominators};
use crate::analysis::reachability::compute_reachable;
use crate::analysis::retained::Retained;
use crate::analysis::root_inference;
use crate::analysis::shortest_parents::ShortestParents;
use crate::files::Target;
use crate::graph::{Column, ColumnSink, ColumnSource, HeapGraph, NodeSet, StoredGraph};
use crate::index::{self, IndexColumns, SourceKey};
use crate::input::{Diagnostics, Dump, Facts, Loaded, ReadOptions, SizeRadix, SnapshotChoice};

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
pub(super) struct Content {
    pub(super) options: ReadKey,
    pub(super) graph: StoredGraph,
    pub(super) dominators: StoredDominators,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
}

/// The options that change what a reader reads.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadKey {
    input_format: Option<String>,
    raw_types: bool,
    snapshot: SnapshotChoice,
    size_radix: SizeRadix,
}

impl ReadKey {
    pub(super) fn of(options: &ReadOptions) -> Self {
        ReadKey {
            input_format: options.input_format.clone(),
            raw_types: options.raw_types,
            snapshot: options.snapshot,
            size_radix: options.xna_cf.size_radix,
        }
    }

    /// Would reading with `asked` give what was read with these?
    pub(super) fn serves(&self, asked: &ReadKey, format: &str) -> bool {
        let format_is_known = asked.input_format.as_deref() == Some(format);
        let same_format = self.input_format == asked.input_format || format_is_known;
        same_format && *asked == ReadKey { input_format: asked.input_format.clone(), ..self.rest() }
    }

    /// As the user writes them.
    pub(super) fn words(&self) -> String {
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
    pub(super) fn apply(&self, options: &ReadOptions) -> ReadOptions {
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

/// The graph and what follows from it; `None` when the columns are not theirs.
pub(super) fn graph_and_derived(content: &Content, columns: &IndexColumns) -> Option<(HeapGraph, Derived)> {
    let graph = HeapGraph::from_stored(&content.graph, columns)?;
    let derived = Derived::from_stored(content.dominators, &graph, columns)?;
    Some((graph, derived))
}

/// Writes the graph and what follows from it.
pub(super) fn store(
    graph: &HeapGraph,
    derived: &Derived,
    sink: &mut dyn ColumnSink,
) -> io::Result<(StoredGraph, StoredDominators)> {
    Ok((graph.store(sink)?, derived.store(sink)?))
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
    target: &Target,
    progress: &Progress,
    memory: MemoryLimit,
) -> Result<u64> {
    let Loaded { dump, facts, diagnostics } = loaded;
    let Dump::Graph(mut graph) = dump else {
        bail!("the dump holds allocation totals, no objects: it is read as quickly without an index")
    };
    with_roots(&mut graph, &facts);
    memory.check_index(&graph)?;
    progress.phase("computing dominators");
    let derived = Derived::compute(&graph);
    progress.phase("writing the index");
    index::write(target, source, |sink| {
        let (graph, dominators) = store(&graph, &derived, sink)?;
        Ok(Content { options: ReadKey::of(options), graph, dominators, facts, diagnostics })
    })
    .with_context(|| format!("cannot write {}", target.name()))
}
