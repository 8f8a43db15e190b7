//! Opening the dump that a command works on, with everything the common options ask for.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};

use super::common::Common;
use super::index_content::{self, Derived};
use super::indexed::{self, Found, Indexed};
use super::memory::MemoryLimit;
use super::output::print_sentence;
use super::progress::Progress;
use crate::allocations::AllocationDump;
use crate::analysis::dominators::Dominators;
use crate::analysis::reachability::compute_reachable;
use crate::analysis::retained::Retained;
use crate::analysis::root_inference;
use crate::analysis::shortest_parents::ShortestParents;
use crate::graph::{HeapGraph, NodeSet, RootKind};
use crate::input::{self, Diagnostics, Dump, Facts, Loaded, ReadOptions, Source};

/// A dump ready to be asked.
pub(super) struct Opened<'d> {
    pub(super) graph: &'d HeapGraph,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
    pub(super) progress: Progress,
    /// From an index, while the roots are those it was made with.
    derived: Option<&'d Derived>,
    memory: MemoryLimit,
    dominators: OnceCell<Dominators>,
    retained: OnceCell<Retained>,
}

impl<'d> Opened<'d> {
    /// The dominator tree and retained sizes, computed unless an index has them.
    ///
    /// # Errors
    /// When there is not the memory for them.
    pub(super) fn dominators(&self) -> Result<(&Dominators, &Retained)> {
        if let Some(derived) = self.derived {
            return Ok((&derived.dominators, &derived.retained));
        }
        let dominators = self.only_dominators()?;
        Ok((dominators, self.retained.get_or_init(|| Retained::compute(self.graph, dominators))))
    }

    /// The dominator tree without the sizes.
    ///
    /// # Errors
    /// When there is not the memory for it.
    pub(super) fn only_dominators(&self) -> Result<&Dominators> {
        if let Some(derived) = self.derived {
            return Ok(&derived.dominators);
        }
        self.memory.check_dominators(self.graph)?;
        self.progress.phase("computing dominators");
        Ok(self.dominators.get_or_init(|| Dominators::compute(self.graph)))
    }

    /// Makes sure that there is room for what refers to each object.
    ///
    /// # Errors
    /// When there is not.
    pub(super) fn check_referrers(&self) -> Result<()> {
        if self.derived.is_some() { Ok(()) } else { self.memory.check_referrers(self.graph) }
    }

    /// Makes sure that there is room for markings without each of some sets.
    ///
    /// # Errors
    /// When there is not.
    pub(super) fn check_exact(&self) -> Result<()> {
        self.memory.check_exact(self.graph)
    }

    /// What strong roots reach.
    pub(super) fn reachable(&self) -> Cow<'d, NodeSet> {
        if let Some(derived) = self.derived {
            return Cow::Borrowed(&derived.reachable);
        }
        self.progress.phase("marking reachable objects");
        Cow::Owned(compute_reachable(self.graph))
    }

    /// Shortest paths from strong roots, where an index has them.
    pub(super) fn shortest_parents(&self) -> Option<&'d ShortestParents> {
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

/// An output that is the dump itself would destroy it.
pub(super) fn refuse_to_overwrite(dump: &Place, output: &Path) -> Result<()> {
    let Place::Path(dump) = dump else { return Ok(()) };
    // What cannot be resolved is not there, so it is not the dump.
    let (Ok(dump), Ok(output)) = (dump.canonicalize(), output.canonicalize()) else { return Ok(()) };
    if dump == output {
        bail!("-o: {} is the dump itself", output.display());
    }
    Ok(())
}

/// A dump of allocation totals, ready to be asked.
pub(super) struct OpenedAllocations<'d> {
    pub(super) dump: &'d AllocationDump,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
    pub(super) progress: Progress,
}

/// A dump of either model.
#[expect(clippy::large_enum_variant, reason = "there is one, and it is moved once")]
pub(super) enum OpenedDump<'d> {
    Graph(Opened<'d>),
    Allocations(OpenedAllocations<'d>),
}

/// A dump as it was read, with the roots that were asked for.
pub(super) struct ReadDump {
    content: Content,
    facts: Facts,
    diagnostics: Diagnostics,
    progress: Progress,
    memory: MemoryLimit,
}

struct Content {
    dump: Dump,
    derived: Option<Derived>,
}

impl ReadDump {
    /// The one dump of a command. Never freed: the program ends with its one answer, and giving a large graph back
    /// piece by piece takes longer than letting the system take all of it.
    fn keep(self) -> OpenedDump<'static> {
        let content: &'static Content = Box::leak(Box::new(self.content));
        // What comes from an index stays on the disk.
        if let (Dump::Graph(graph), None) = (&content.dump, &content.derived) {
            MemoryLimit::hold(graph);
        }
        opened(content, self.facts, self.diagnostics, self.progress, self.memory)
    }

    /// One dump of many: freed after the answer, so that there is memory for the next.
    pub(super) fn lend<T>(self, answer: impl FnOnce(OpenedDump<'_>) -> Result<T>) -> Result<T> {
        answer(opened(&self.content, self.facts, self.diagnostics, self.progress, self.memory))
    }
}

fn opened(
    content: &Content,
    facts: Facts,
    diagnostics: Diagnostics,
    progress: Progress,
    memory: MemoryLimit,
) -> OpenedDump<'_> {
    match &content.dump {
        Dump::Graph(graph) => OpenedDump::Graph(Opened {
            graph,
            facts,
            diagnostics,
            progress,
            derived: content.derived.as_ref(),
            memory,
            dominators: OnceCell::new(),
            retained: OnceCell::new(),
        }),
        Dump::Allocations(dump) => OpenedDump::Allocations(OpenedAllocations { dump, facts, diagnostics, progress }),
    }
}

/// Reads the dump, gives it the roots that were asked for, and warns of its problems. For commands that need objects.
pub(super) fn open_graph(file: Option<&Path>, common: &Common) -> Result<Opened<'static>> {
    match open_dump(file, common)? {
        OpenedDump::Graph(opened) => Ok(opened),
        OpenedDump::Allocations(_) => bail!(
            "the dump holds allocation totals by backtrace and type, no objects: use `heapdump breakdown`, or `stats`"
        ),
    }
}

/// The same for commands that know both models.
pub(super) fn open_dump(file: Option<&Path>, common: &Common) -> Result<OpenedDump<'static>> {
    let opened = open_without_warnings(file, common)?;
    warn_of_dump(&opened, None, common.output.quiet);
    Ok(opened)
}

/// The same for a command whose answer lists the problems.
pub(super) fn open_without_warnings(file: Option<&Path>, common: &Common) -> Result<OpenedDump<'static>> {
    Ok(read_dump(&Place::find(file)?, None, common)?.keep())
}

/// Reads a dump and gives it the roots that were asked for. `file` is its name where there are several.
pub(super) fn read_dump(place: &Place, file: Option<&str>, common: &Common) -> Result<ReadDump> {
    let excluded = excluded_roots(common)?;
    let progress = Progress::start(common.output.quiet, file);
    let memory = MemoryLimit::find(&common.input)?;
    let options = ReadOptions { max_memory_bytes: memory.bytes(), ..common.input.read_options()? };
    set_threads(options.threads)?;
    let found = match place {
        Place::Path(path) => indexed::find(path, &options, common, memory)?,
        Place::Stdin => Found::Nothing,
    };
    let (mut content, facts, diagnostics) = match found {
        Found::Indexed(indexed) => {
            let Indexed { graph, derived, facts, diagnostics } = *indexed;
            (Content { dump: Dump::Graph(graph), derived: Some(derived) }, facts, diagnostics)
        }
        other => {
            let behind;
            let place = match other {
                Found::Behind(path) => {
                    behind = Place::Path(path);
                    &behind
                }
                _ => place,
            };
            let Loaded { mut dump, facts, diagnostics } = read(place, &progress, &options, memory)?;
            if let Dump::Graph(graph) = &mut dump {
                if facts.has_no_roots {
                    progress.phase("inferring roots");
                }
                index_content::with_roots(graph, &facts);
            }
            (Content { dump, derived: None }, facts, diagnostics)
        }
    };
    if let Dump::Graph(graph) = &mut content.dump {
        common.input.check_snapshot(&facts)?;
        if !excluded.is_empty() {
            graph.exclude_roots(&excluded);
            content.derived = None;
        }
        if common.input.keep_unreachable {
            progress.phase("finding unreachable objects");
            root_inference::keep_unreachable(graph);
            content.derived = None;
        }
    }
    Ok(ReadDump { content, facts, diagnostics, progress, memory })
}

/// Reads a dump, unless it takes more memory than there is.
pub(super) fn read(place: &Place, progress: &Progress, options: &ReadOptions, memory: MemoryLimit) -> Result<Loaded> {
    let source = place.open(progress)?;
    let file_bytes = progress.read.bytes_total.load(Ordering::Relaxed);
    memory.check_source(&source, file_bytes, options).with_context(|| place.name())?;
    memory.explained(input::read(source, options)).with_context(|| place.name())
}

/// Kinds of roots that are left out, as the graph names them.
pub(super) fn excluded_roots(common: &Common) -> Result<Vec<String>> {
    let mut kinds = Vec::new();
    for kind in &common.input.exclude_roots {
        // As info prints it, with or without the dash; weak roots hold nothing, so leaving them out is no mistake.
        let name = kind.to_lowercase().replace('-', " ");
        if !RootKind::is_name(name.trim_start_matches("weak ")) {
            bail!("--exclude-roots: no kind of roots is called \"{kind}\"; `heapdump info` lists those of a dump");
        }
        kinds.push(name);
    }
    Ok(kinds)
}

/// Analyses run on as many threads as parsing does. A command that opens two dumps sets this once.
pub(super) fn set_threads(threads: usize) -> Result<()> {
    static SET: Once = Once::new();
    let mut result = Ok(());
    SET.call_once(|| result = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global());
    result.context("cannot start threads")
}

/// Says on standard error what is wrong with a dump, and what to know of it. `file` is its name where there are several.
pub(super) fn warn_of_dump(opened: &OpenedDump<'_>, file: Option<&str>, quiet: bool) {
    match opened {
        OpenedDump::Allocations(opened) => warn(&opened.diagnostics, file, quiet),
        OpenedDump::Graph(opened) => {
            warn(&opened.diagnostics, file, quiet);
            if quiet {
                return;
            }
            let snapshots = &opened.facts.snapshots;
            if let (true, Some(chosen)) = (snapshots.len() > 1, snapshots.iter().position(|snapshot| snapshot.chosen)) {
                let all = snapshots.len();
                say(
                    "note",
                    file,
                    &format!("snapshot {} of {all}; --snapshot N reads another, info lists them", chosen + 1),
                );
            }
            if opened.graph.node_count() > 0 && opened.graph.strong_roots().next().is_none() {
                say(
                    "note",
                    file,
                    "no root holds anything, so nothing is reachable; --keep-unreachable makes roots of what is left",
                );
            }
            if opened.graph.roots_inferred() {
                say("note", file, "roots are inferred, for the dump has no root records");
            }
        }
    }
}

/// One line on standard error for each kind of problem.
pub(super) fn warn(diagnostics: &Diagnostics, file: Option<&str>, quiet: bool) {
    if quiet {
        return;
    }
    for problem in diagnostics.sorted() {
        if problem.code.quiet {
            continue;
        }
        let text = if problem.first_text.is_empty() { String::new() } else { format!(": {}", problem.first_text) };
        let count = if problem.count == 1 { String::new() } else { format!("{} times, first ", problem.count) };
        let (name, at, meaning) = (problem.code.name, problem.first_at, problem.code.meaning);
        say("warning", file, &format!("{name} ({count}at {at}{text}): {meaning}"));
    }
}

fn say(what: &str, file: Option<&str>, text: &str) {
    let file = file.map_or(String::new(), |file| format!("{file}: "));
    print_sentence(&format!("{what}: {file}{text}"));
}
