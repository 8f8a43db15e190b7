//! Opening the dump that a command works on, with everything the options of input ask for.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use anyhow::{Context, Error, Result, anyhow, bail};
use sysinfo::System;

use crate::cli::args::options::{InputArgs, ReadArgs};
use crate::cli::terminal::indexes;
use crate::cli::terminal::output::print_sentence;
use crate::cli::terminal::progress::{Progress, Watch};
use crate::dump::{
    Counted, IndexUse, MemoryError, MemoryLimit, MemoryUse, OpenDump, OpenError, OpenOptions, RootPolicy,
};
use crate::graph::{HeapGraph, RootKind};
use crate::input::{Code, Diagnostics, FormatInfo, Problem, Severity};
use crate::report::{format_bytes, parse_size};

/// All dumps of a command share one account.
static LIMIT: OnceLock<MemoryLimit> = OnceLock::new();

/// The memory limit, and whose it is.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub(crate) limit: MemoryLimit,
    is_asked_for: bool,
}

impl Memory {
    /// `--max-memory`, else what the machine (or the container) has free.
    pub(crate) fn find(args: &ReadArgs) -> Result<Self> {
        if let Some(text) = &args.max_memory {
            let bytes = parse_size(text).map_err(|error| anyhow!("--max-memory: {error}"))?;
            let limit = LIMIT.get_or_init(|| MemoryLimit::of(bytes)).clone();
            return Ok(Memory { limit, is_asked_for: true });
        }
        let limit = LIMIT.get_or_init(|| free_bytes().map_or_else(MemoryLimit::default, MemoryLimit::free)).clone();
        Ok(Memory { limit, is_asked_for: false })
    }

    /// A library error in words that name the options.
    pub(crate) fn explain(&self, error: MemoryError) -> Error {
        anyhow!("{}. `heapdump stats --shallow` takes memory for types alone", self.explain_counting(error))
    }

    /// The same for types alone.
    fn explain_counting(&self, error: MemoryError) -> Error {
        let limit = format_bytes(error.limit_bytes);
        let whose = match self.is_asked_for {
            true => format!("and --max-memory allows {limit}"),
            false => format!("and {limit} are free; --max-memory SIZE allows more"),
        };
        let needed = error.needed_bytes.map_or(String::new(), format_bytes);
        let what = match error.what {
            MemoryUse::Graph => format!("its graph takes at least {needed} of memory"),
            MemoryUse::Dominators => format!("the dominator tree takes {needed} of memory with the graph"),
            MemoryUse::Referrers => format!("the references to each object take {needed} of memory with the graph"),
            MemoryUse::ExactRetained => format!("exact retained sizes take {needed} of memory with the graph"),
            MemoryUse::Answer => format!("the answer takes {needed} of memory with the graph"),
            MemoryUse::Index => format!("an index takes {needed} of memory with the graph"),
            _ => "the dump takes more memory than it may".to_string(),
        };
        anyhow!("{what}, {whose}")
    }

    pub(crate) fn explain_open(&self, error: OpenError) -> Error {
        match error {
            OpenError::Memory(error) => self.explain(error),
            OpenError::NoSuchSnapshot(_) => anyhow!("--snapshot: {error}"),
            OpenError::OnlyAnIndex(path) => {
                anyhow!("{} is an index, and --no-index says to use none", path.display())
            }
            _ => error.into(),
        }
    }
}

/// Memory that is available without swapping; less in a container. `None` if the system does not report it.
fn free_bytes() -> Option<u64> {
    let mut system = System::new();
    system.refresh_memory();
    if system.total_memory() == 0 {
        return None;
    }
    // Of what a container has used, cached files are given back when somebody asks.
    let container = system.cgroup_limits().map(|limits| limits.total_memory.saturating_sub(limits.rss));
    Some(system.available_memory()).into_iter().chain(container).min()
}

/// What a command reads.
pub(crate) enum Input {
    Path(PathBuf),
    Stdin,
}

impl Input {
    /// FILE, else HEAPDUMP_FILE, else standard input when it is no terminal.
    pub(crate) fn find(file: Option<&Path>) -> Result<Self> {
        let named = match file {
            Some(file) => Some(file.to_path_buf()),
            None => std::env::var_os("HEAPDUMP_FILE").filter(|value| !value.is_empty()).map(PathBuf::from),
        };
        match named {
            Some(path) if path.as_os_str() == "-" => Ok(Input::Stdin),
            Some(path) => Ok(Input::Path(path)),
            None if !std::io::stdin().is_terminal() => Ok(Input::Stdin),
            None => bail!("no dump: name a FILE, set HEAPDUMP_FILE, or pipe the dump to standard input"),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "standard input".into(),
        }
    }
}

/// A dump as it was read, with the roots that were asked for.
pub(crate) struct ReadDump {
    pub(crate) dump: OpenDump,
    pub(crate) memory: Memory,
}

/// Reads a dump and gives it the roots that were asked for. `file` is its name where there are several.
pub(crate) fn read_dump(place: &Input, file: Option<&str>, input: &InputArgs) -> Result<ReadDump> {
    let without = excluded_roots(input)?;
    let (options, _progress, memory) = open_options(file, &input.read)?;
    let options = OpenOptions {
        roots: RootPolicy { without, keep_unreachable: input.keep_unreachable },
        index: if input.no_index || indexes::are_ignored() { IndexUse::Never } else { IndexUse::WhereFresh },
        ..options
    };
    let opened = match place {
        Input::Path(path) => options.open(path),
        Input::Stdin => options.open_reader(std::io::stdin()),
    };
    let dump = opened.map_err(|error| memory.explain_open(error)).with_context(|| place.name())?;
    indexes::remember(&dump, input.read.quiet);
    Ok(ReadDump { dump, memory })
}

/// Counts a dump's types.
pub(crate) fn count_types(place: &Input, file: Option<&str>, read: &ReadArgs) -> Result<Counted> {
    let (options, _progress, memory) = open_options(file, read)?;
    let counted = match place {
        Input::Path(path) => options.count_types(path),
        Input::Stdin => options.count_types_of_reader(std::io::stdin()),
    };
    counted
        .map_err(|error| match error {
            OpenError::OnlyAnIndex(path) => {
                anyhow!("{} is an index: it answers as quickly without --shallow", path.display())
            }
            OpenError::Memory(error) => memory.explain_counting(error),
            error => memory.explain_open(error),
        })
        .with_context(|| place.name())
}

/// What the options of reading say of opening, and the progress that is shown meanwhile.
pub(crate) fn open_options(file: Option<&str>, args: &ReadArgs) -> Result<(OpenOptions, Arc<Progress>, Memory)> {
    let progress = Arc::new(Progress::start(args.quiet, file));
    let memory = Memory::find(args)?;
    let read = args.read_options()?;
    set_threads(read.threads)?;
    let observer = Arc::new(Watch { progress: Arc::clone(&progress), quiet: args.quiet });
    Ok((OpenOptions { read, memory: memory.limit.clone(), observer, ..OpenOptions::default() }, progress, memory))
}

/// Kinds of roots that are left out, as the graph names them.
pub(crate) fn excluded_roots(input: &InputArgs) -> Result<Vec<String>> {
    let mut kinds = Vec::new();
    for kind in &input.exclude_roots {
        // As info prints it, with or without the dash; weak roots hold nothing, so leaving them out is no mistake.
        let spaced = kind.to_lowercase().replace('-', " ");
        let (weak, name) = spaced.strip_prefix("weak ").map_or(("", &*spaced), |name| ("weak ", name));
        let mut named = RootKind::ALL.iter().copied();
        let known = RootKind::from_name(name).or_else(|| named.find(|kind| kind.name().replace('-', " ") == name));
        let Some(known) = known else {
            bail!("--exclude-roots: no kind of roots is called \"{kind}\"; `heapdump info` lists those of a dump");
        };
        kinds.push(format!("{weak}{}", known.name()));
    }
    Ok(kinds)
}

/// Analyses run on as many threads as parsing does. A command that opens two dumps sets this once.
pub(crate) fn set_threads(threads: usize) -> Result<()> {
    static SET: Once = Once::new();
    let mut result = Ok(());
    SET.call_once(|| result = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global());
    result.context("cannot start threads")
}

/// Notes on an object graph besides its problems.
pub(crate) fn note_of_graph(graph: &HeapGraph, facts: &FormatInfo, file: Option<&str>) {
    let snapshots = &facts.snapshots;
    if let (true, Some(chosen)) = (snapshots.len() > 1, snapshots.iter().position(|snapshot| snapshot.chosen)) {
        let all = snapshots.len();
        print_line(
            "note",
            file,
            &format!("snapshot {} of {all}; --snapshot N reads another, info lists them", chosen + 1),
        );
    }
    if graph.node_count() > 0 && graph.strong_roots().next().is_none() {
        let left_out = graph.roots().iter().any(|root| root.excluded);
        let which = if left_out { "no root that --exclude-roots leaves" } else { "no root" };
        let hint = "--keep-unreachable makes roots of what is left";
        print_line("note", file, &format!("{which} holds anything, so nothing is reachable; {hint}"));
    }
    if graph.roots_inferred() {
        print_line("note", file, "roots are inferred, for the dump has no root records");
    }
}

/// One line on standard error for each kind of problem.
pub(crate) fn warn(diagnostics: &Diagnostics, file: Option<&str>, quiet: bool) {
    if quiet {
        return;
    }
    for problem in diagnostics.sorted() {
        if problem.code.severity == Severity::Warning {
            print_line("warning", file, &line_of(problem));
        }
    }
}

/// The same for one problem whose severity is a note.
pub(crate) fn note_problem(diagnostics: &Diagnostics, code: &Code, file: Option<&str>, quiet: bool) {
    if let Some(problem) = diagnostics.sorted().into_iter().find(|problem| problem.code == code && !quiet) {
        print_line("note", file, &line_of(problem));
    }
}

fn line_of(problem: &Problem) -> String {
    let text = if problem.first_text.is_empty() { String::new() } else { format!(": {}", problem.first_text) };
    let count = if problem.count == 1 { String::new() } else { format!("{} times, first ", problem.count) };
    let (name, at, meaning) = (problem.code.name, problem.first_at, problem.code.meaning);
    format!("{name} ({count}at {at}{text}): {meaning}")
}

/// Lines printed so far.
static PRINTED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Prints `warning: file: text` on standard error.
fn print_line(what: &str, file: Option<&str>, text: &str) {
    let file = file.map_or(String::new(), |file| format!("{file}: "));
    let line = format!("{what}: {file}{text}");
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    // A command that answers again, without a damaged index, does not repeat it.
    if indexes::are_ignored() && printed.contains(&line) {
        return;
    }
    print_sentence(&line);
    printed.push(line);
}
