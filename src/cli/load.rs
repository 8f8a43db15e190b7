//! Opening the dump that a command works on, with everything the common options ask for.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Once;

use anyhow::{Context, Result, bail};

use super::common::Common;
use super::output::print_sentence;
use super::progress::Progress;
use crate::allocations::AllocationDump;
use crate::analysis::root_inference;
use crate::graph::{HeapGraph, RootKind};
use crate::input::{self, Diagnostics, Dump, Facts, Loaded, Source};

/// A dump ready to be asked.
pub(super) struct Opened<'d> {
    pub(super) graph: &'d HeapGraph,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
    pub(super) progress: Progress,
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
pub(super) struct OpenedAllocations<'d> {
    pub(super) dump: &'d AllocationDump,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
    pub(super) progress: Progress,
}

/// A dump of either model.
pub(super) enum OpenedDump<'d> {
    Graph(Opened<'d>),
    Allocations(OpenedAllocations<'d>),
}

/// A dump as it was read, with the roots that were asked for.
pub(super) struct ReadDump {
    dump: Dump,
    facts: Facts,
    diagnostics: Diagnostics,
    progress: Progress,
}

impl ReadDump {
    /// The one dump of a command. Never freed: the program ends with its one answer, and giving a large graph back
    /// piece by piece takes longer than letting the system take all of it.
    fn keep(self) -> OpenedDump<'static> {
        let dump: &'static Dump = Box::leak(Box::new(self.dump));
        opened(dump, self.facts, self.diagnostics, self.progress)
    }

    /// One dump of many: freed after the answer, so that there is memory for the next.
    pub(super) fn lend<T>(self, answer: impl FnOnce(OpenedDump<'_>) -> Result<T>) -> Result<T> {
        answer(opened(&self.dump, self.facts, self.diagnostics, self.progress))
    }
}

fn opened(dump: &Dump, facts: Facts, diagnostics: Diagnostics, progress: Progress) -> OpenedDump<'_> {
    match dump {
        Dump::Graph(graph) => OpenedDump::Graph(Opened { graph, facts, diagnostics, progress }),
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
    let options = common.input.read_options()?;
    set_threads(options.threads)?;
    let source = place.open(&progress)?;
    let Loaded { mut dump, facts, diagnostics } = input::read(source, &options).with_context(|| place.name())?;
    if let Dump::Graph(graph) = &mut dump {
        common.input.check_snapshot(&facts)?;
        if !excluded.is_empty() {
            graph.exclude_roots(&excluded);
        }
        if facts.has_no_roots {
            progress.phase("inferring roots");
            root_inference::infer_roots(graph);
            graph.exclude_roots(&excluded);
        }
        if common.input.keep_unreachable {
            progress.phase("finding unreachable objects");
            root_inference::keep_unreachable(graph);
        }
    }
    Ok(ReadDump { dump, facts, diagnostics, progress })
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
fn set_threads(threads: usize) -> Result<()> {
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
