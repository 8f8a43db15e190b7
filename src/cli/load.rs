//! Opening the dump that a command works on, with everything the common options ask for.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::common::Common;
use super::progress::Progress;
use crate::analysis::root_inference;
use crate::graph::HeapGraph;
use crate::input::{self, Diagnostics, Dump, Facts, Source};
use crate::report::escape_controls;

/// A dump ready to be asked.
pub(super) struct Opened {
    /// Never freed: the program ends with its one answer, and giving a large graph back piece by piece takes longer than
    /// letting the system take all of it.
    pub(super) graph: &'static HeapGraph,
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

/// Reads the dump, gives it the roots that were asked for, and warns of its problems.
pub(super) fn open_graph(file: Option<&Path>, common: &Common) -> Result<Opened> {
    let opened = open_without_warnings(file, common)?;
    warn(&opened.diagnostics, common.output.quiet);
    Ok(opened)
}

/// The same for a command whose answer lists the problems.
pub(super) fn open_without_warnings(file: Option<&Path>, common: &Common) -> Result<Opened> {
    let place = Place::find(file)?;
    let progress = Progress::start(common.output.quiet);
    let options = common.input.read_options()?;
    set_threads(options.threads)?;
    let source = place.open(&progress)?;
    let loaded = input::read(source, &options).with_context(|| place.name())?;
    common.input.check_snapshot(&loaded.facts)?;
    let Dump::Graph(mut graph) = loaded.dump;
    if !common.input.exclude_roots.is_empty() {
        graph.exclude_roots(&common.input.exclude_roots);
    }
    if loaded.facts.has_no_roots {
        progress.phase("inferring roots");
        root_inference::infer_roots(&mut graph);
        graph.exclude_roots(&common.input.exclude_roots);
    }
    if common.input.keep_unreachable {
        progress.phase("finding unreachable objects");
        root_inference::keep_unreachable(&mut graph);
    }
    Ok(Opened { graph: Box::leak(Box::new(graph)), facts: loaded.facts, diagnostics: loaded.diagnostics, progress })
}

/// Analyses run on as many threads as parsing does.
pub(super) fn set_threads(threads: usize) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().context("cannot start threads")
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
