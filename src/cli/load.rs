//! Opening the dump that a command works on, with everything the common options ask for.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, anyhow, bail};

use super::common::Common;
use super::indexed::{self, Derived, Found, Indexed};
use super::memory::MemoryLimit;
use super::progress::Progress;
use crate::allocations::AllocationDump;
use crate::analysis::dominators::Dominators;
use crate::analysis::reachability::compute_reachable;
use crate::analysis::retained::Retained;
use crate::analysis::root_inference;
use crate::analysis::shortest_parents::ShortestParents;
use crate::graph::{BuildError, HeapGraph, NodeSet, RootKind};
use crate::input::{self, Diagnostics, Dump, Facts, Loaded, ReadErrorKind, ReadOptions, Source};
use crate::report::escape_controls;

/// A dump ready to be asked.
pub(super) struct Opened {
    /// Never freed: the program ends with its one answer, and giving a large graph back piece by piece takes longer than
    /// letting the system take all of it.
    pub(super) graph: &'static HeapGraph,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
    pub(super) progress: Progress,
    /// From an index, while the roots are those it was made with.
    derived: Option<&'static Derived>,
    memory: MemoryLimit,
}

impl Opened {
    /// The dominator tree, computed unless an index has it. As long-lived as the graph.
    ///
    /// # Errors
    /// When there is not the memory for it.
    pub(super) fn dominators(&self) -> Result<&'static Dominators> {
        if let Some(derived) = self.derived {
            return Ok(&derived.dominators);
        }
        self.memory.check_dominators(self.graph)?;
        self.progress.phase("computing dominators");
        Ok(Box::leak(Box::new(Dominators::compute(self.graph))))
    }

    /// Retained sizes by that tree.
    pub(super) fn retained(&self, dominators: &Dominators) -> &'static Retained {
        match self.derived {
            Some(derived) => &derived.retained,
            None => Box::leak(Box::new(Retained::compute(self.graph, dominators))),
        }
    }

    /// What strong roots reach.
    pub(super) fn reachable(&self) -> Cow<'static, NodeSet> {
        if let Some(derived) = self.derived {
            return Cow::Borrowed(&derived.reachable);
        }
        self.progress.phase("marking reachable objects");
        Cow::Owned(compute_reachable(self.graph))
    }

    /// Shortest paths from strong roots, where an index has them.
    pub(super) fn shortest_parents(&self) -> Option<&'static ShortestParents> {
        self.derived.map(|derived| &derived.parents)
    }
}

/// Where a dump comes from.
pub(super) enum Place {
    Path(PathBuf),
    Stdin,
}

impl Place {
    /// FILE, else HEAPDUMP_FILE, else standard input when it is no terminal.
    pub(super) fn find(file: Option<&Path>) -> Result<Self> {
        let named = match file {
            Some(file) => Some(file.to_path_buf()),
            None => std::env::var_os("HEAPDUMP_FILE").filter(|value| !value.is_empty()).map(PathBuf::from),
        };
        match named {
            Some(path) if path.as_os_str() == "-" => Ok(Place::Stdin),
            Some(path) => Ok(Place::Path(path)),
            None if !std::io::stdin().is_terminal() => Ok(Place::Stdin),
            None => bail!("no dump: name a FILE, set HEAPDUMP_FILE, or pipe the dump to standard input"),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Place::Path(path) => path.display().to_string(),
            Place::Stdin => "standard input".into(),
        }
    }

    pub(super) fn open(&self, progress: &Progress) -> Result<Source> {
        match self {
            Place::Path(path) => Source::open(path, progress.read.clone()),
            Place::Stdin => Source::from_reader(std::io::stdin(), progress.read.clone()),
        }
        .with_context(|| self.name())
    }
}

/// A dump of allocation totals, ready to be asked.
pub(super) struct OpenedAllocations {
    /// Never freed, as the graph.
    pub(super) dump: &'static AllocationDump,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
    pub(super) progress: Progress,
}

/// A dump of either model.
pub(super) enum OpenedDump {
    Graph(Opened),
    Allocations(OpenedAllocations),
}

/// Reads the dump, gives it the roots that were asked for, and warns of its problems. For commands that need objects.
pub(super) fn open_graph(file: Option<&Path>, common: &Common) -> Result<Opened> {
    match open_dump(file, common)? {
        OpenedDump::Graph(opened) => Ok(opened),
        OpenedDump::Allocations(_) => bail!(
            "the dump holds allocation totals by backtrace and type, no objects: use `heapdump breakdown`, or `stats`"
        ),
    }
}

/// The same for commands that know both models.
pub(super) fn open_dump(file: Option<&Path>, common: &Common) -> Result<OpenedDump> {
    let opened = open_without_warnings(file, common)?;
    let diagnostics = match &opened {
        OpenedDump::Graph(opened) => &opened.diagnostics,
        OpenedDump::Allocations(opened) => &opened.diagnostics,
    };
    warn(diagnostics, common.output.quiet);
    if let OpenedDump::Graph(opened) = &opened
        && !common.output.quiet
        && opened.graph.node_count() > 0
        && opened.graph.strong_roots().next().is_none()
    {
        // A closed standard error must not keep the answer back.
        let _ = writeln!(
            std::io::stderr(),
            "heapdump: note: no root holds anything, so nothing is reachable; --keep-unreachable makes roots of what is left"
        );
    }
    let is_inferred = matches!(&opened, OpenedDump::Graph(opened) if opened.graph.roots_inferred());
    if is_inferred && !common.output.quiet {
        // A closed standard error must not keep the answer back.
        let _ = writeln!(std::io::stderr(), "heapdump: note: roots are inferred, for the dump has no root records");
    }
    Ok(opened)
}

/// The same for a command whose answer lists the problems.
pub(super) fn open_without_warnings(file: Option<&Path>, common: &Common) -> Result<OpenedDump> {
    for kind in &common.input.exclude_roots {
        // As info prints it, with or without the dash; weak roots hold nothing, so leaving them out is no mistake.
        let name = kind.to_lowercase().replace('-', " ");
        if !RootKind::is_name(name.trim_start_matches("weak ")) {
            bail!("--exclude-roots: no kind of roots is called \"{kind}\"; `heapdump info` lists those of a dump");
        }
    }
    let mut place = Place::find(file)?;
    let progress = Progress::start(common.output.quiet);
    let memory = MemoryLimit::find(&common.input)?;
    let options = ReadOptions { max_memory_bytes: memory.bytes(), ..common.input.read_options()? };
    set_threads(options.threads)?;
    let found = match &place {
        Place::Path(path) => Some(indexed::find(path, &options, common)?),
        Place::Stdin => None,
    };
    let (mut graph, facts, diagnostics, mut derived) = match found {
        Some(Found::Indexed(indexed)) => {
            let Indexed { graph, derived, facts, diagnostics } = *indexed;
            (graph, facts, diagnostics, Some(derived))
        }
        other => {
            if let Some(Found::Dump(path)) = other {
                place = Place::Path(path);
            }
            let Loaded { dump, facts, diagnostics } = read(&place, &progress, &options, memory)?;
            match dump {
                Dump::Graph(mut graph) => {
                    if facts.has_no_roots {
                        progress.phase("inferring roots");
                    }
                    indexed::with_roots(&mut graph, &facts);
                    (graph, facts, diagnostics, None)
                }
                Dump::Allocations(dump) => {
                    let dump = Box::leak(Box::new(dump));
                    return Ok(OpenedDump::Allocations(OpenedAllocations { dump, facts, diagnostics, progress }));
                }
            }
        }
    };
    common.input.check_snapshot(&facts)?;
    let excluded: Vec<String> =
        common.input.exclude_roots.iter().map(|kind| kind.to_lowercase().replace('-', " ")).collect();
    if !excluded.is_empty() {
        graph.exclude_roots(&excluded);
        derived = None;
    }
    if common.input.keep_unreachable {
        progress.phase("finding unreachable objects");
        root_inference::keep_unreachable(&mut graph);
        derived = None;
    }
    let derived = derived.map(|derived| &*Box::leak(Box::new(derived)));
    Ok(OpenedDump::Graph(Opened { graph: Box::leak(Box::new(graph)), facts, diagnostics, progress, derived, memory }))
}

/// Reads a dump, unless it takes more memory than there is.
pub(super) fn read(place: &Place, progress: &Progress, options: &ReadOptions, memory: MemoryLimit) -> Result<Loaded> {
    let source = place.open(progress)?;
    let file_bytes = progress.read.bytes_total.load(Ordering::Relaxed);
    memory.check_source(&source, file_bytes, options).with_context(|| place.name())?;
    input::read(source, options).map_err(|error| {
        let is_too_large = matches!(error.kind(), ReadErrorKind::TooLarge(BuildError::TooMuchMemory(_)));
        let error = anyhow::Error::new(error);
        let error = if is_too_large { anyhow!("{error:#}, {}", memory.explain()) } else { error };
        error.context(place.name())
    })
}

/// Analyses run on as many threads as parsing does. A command that opens two dumps sets this once.
pub(super) fn set_threads(threads: usize) -> Result<()> {
    static SET: Once = Once::new();
    let mut result = Ok(());
    SET.call_once(|| result = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global());
    result.context("cannot start threads")
}

/// One line on standard error for each kind of problem.
pub(super) fn warn(diagnostics: &Diagnostics, quiet: bool) {
    if quiet {
        return;
    }
    let mut stderr = std::io::stderr();
    for problem in diagnostics.sorted() {
        if problem.code.quiet {
            continue;
        }
        let text = if problem.first_text.is_empty() { String::new() } else { format!(": {}", problem.first_text) };
        let count = if problem.count == 1 { String::new() } else { format!("{} times, first ", problem.count) };
        // A closed standard error must not keep the answer back.
        let _ = writeln!(
            stderr,
            "heapdump: warning: {} ({count}at {}{}): {}",
            problem.code.name,
            problem.first_at,
            escape_controls(&text),
            problem.code.meaning,
        );
    }
}
