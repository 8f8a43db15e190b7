//! Opening the dump that a command works on, with everything the options of input ask for.

use std::fs::File;
use std::io::IsTerminal;
#[cfg(target_os = "linux")]
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Error, Result, anyhow, bail};
use sysinfo::System;

use crate::cli::args::object_and_heap_args::{URL_ADVICE, is_url};
use crate::cli::args::options::{InputArgs, ReadArgs};
use crate::cli::terminal::memory_watch;
use crate::cli::terminal::progress::ProgressWatch;
use crate::cli::terminal::session::Session;
use crate::dump::{
    CountedTypes, IndexUse, MemoryError, MemoryLimit, MemoryPurpose, NoValues, OpenDump, OpenError, OpenOptions,
    RootPolicy, parse_excluded_root_kind,
};
use crate::files::end_program;
use crate::files::free_temporary_bytes;
use crate::input::{ReadError, ReadErrorKind};
use crate::report::{format_bytes, parse_size};

/// The memory limit, and whose it is.
#[derive(Debug, Clone)]
pub(crate) struct CommandMemoryLimit {
    limit: MemoryLimit,
    /// It is that of `--max-memory`.
    is_asked_for: bool,
}

impl CommandMemoryLimit {
    /// `--max-memory`, else what the machine (or the container) has free. The first limit of a session is held from then on.
    pub(crate) fn find_and_watch(session: &Session, most: Option<&str>) -> Result<Self> {
        let asked_for = most.map(parse_size).transpose();
        let asked_for = asked_for.map_err(|error| anyhow!("--max-memory: {error}"))?;
        let is_asked_for = asked_for.is_some();
        let limit = session.memory_limit.get_or_init(|| {
            let limit = match asked_for {
                Some(bytes) => MemoryLimit::of(bytes),
                None => free_memory_bytes().map_or_else(MemoryLimit::default, MemoryLimit::of_free_memory),
            };
            let memory = CommandMemoryLimit { limit: limit.clone(), is_asked_for };
            let progress = Arc::clone(&session.progress);
            memory_watch::start_memory_watch(&limit, move || {
                let what = MemoryPurpose::HeldWhileAnswering;
                let limit_bytes = memory.limit.bytes().unwrap_or_default();
                let error = memory.explain(MemoryError { purpose: what, needed_bytes: None, limit_bytes });
                end_program(|| progress.print_error(&error, ""), 2);
            });
            limit
        });
        Ok(CommandMemoryLimit { limit: limit.clone(), is_asked_for })
    }

    /// A library error in words that name the options.
    pub(crate) fn explain(&self, error: MemoryError) -> Error {
        anyhow!("{}. `heapdump stats --shallow` takes memory for types alone", self.explain_error_of_counting(error))
    }

    /// The same for types alone.
    fn explain_error_of_counting(&self, error: MemoryError) -> Error {
        let limit = format_bytes(error.limit_bytes);
        let whose = match self.is_asked_for {
            true => format!("and --max-memory allows {limit}"),
            false => format!("and {limit} are free; --max-memory SIZE allows more"),
        };
        anyhow!("{}, {whose}", error.statement())
    }

    fn explain_open_error(&self, error: OpenError) -> Error {
        match error {
            OpenError::Memory(error) => self.explain(error),
            OpenError::Read(error) => explain_read_error(error),
            OpenError::NoSuchSnapshot(_) => anyhow!("--snapshot: {error}"),
            OpenError::OnlyAnIndex(path) => anyhow!("{} is an index, and --no-index says to use none", path.display()),
            _ => error.into(),
        }
    }
}

fn explain_read_error(error: ReadError) -> Error {
    match error.kind() {
        ReadErrorKind::UnknownFormat(names) => {
            anyhow!("{error}; if you know better, say --input-format {}", names.join("|"))
        }
        ReadErrorKind::AmbiguousFormat(_) => anyhow!("{error}; say which with --input-format"),
        ReadErrorKind::NoSuchSnapshot(..) => anyhow!("--snapshot: {error}"),
        ReadErrorKind::NoSuchRules(rules, format, known) => {
            anyhow!("--rules {rules}: not for {format}, which has {}", known.join(", "))
        }
        ReadErrorKind::StrictProblem(code, _) => {
            let text = error.to_string();
            anyhow!("{} ({code}; an error because of --strict)", text.trim_end_matches(&format!(" ({code})")))
        }
        _ => error.into(),
    }
}

/// Memory that is available without swapping; less in a container. `None` if the system does not report it.
fn free_memory_bytes() -> Option<u64> {
    let mut system = System::new();
    system.refresh_memory();
    if system.total_memory() == 0 {
        return None;
    }
    // Of what a container has used, cached files are given back when somebody asks.
    let container = system.cgroup_limits().map(|limits| limits.total_memory.saturating_sub(limits.rss));
    Some(system.available_memory()).into_iter().chain(container).min()
}

/// Where a dump is read from.
pub(crate) enum DumpInput {
    Path(PathBuf),
    Stdin,
}

impl DumpInput {
    /// FILE, else HEAPDUMP_FILE, else standard input when it is no terminal.
    pub(crate) fn find(file: Option<&Path>) -> Result<Self> {
        let named = match file {
            Some(file) => Some(file.to_path_buf()),
            None => std::env::var_os("HEAPDUMP_FILE").filter(|value| !value.is_empty()).map(PathBuf::from),
        };
        match named {
            Some(path) => Ok(DumpInput::of(&path)),
            None if !std::io::stdin().is_terminal() => Ok(DumpInput::Stdin),
            None => bail!("no dump: name a FILE, set HEAPDUMP_FILE, or pipe the dump to standard input"),
        }
    }

    /// The input that a name on the command line stands for.
    pub(crate) fn of(file: &Path) -> Self {
        if file.as_os_str() == "-" { DumpInput::Stdin } else { DumpInput::Path(file.to_path_buf()) }
    }

    /// `None` for standard input.
    pub(crate) fn path(&self) -> Option<&Path> {
        if let DumpInput::Path(path) = self { Some(path) } else { None }
    }

    pub(crate) fn name(&self) -> String {
        self.path().map_or("standard input".into(), |path| path.display().to_string())
    }

    pub(crate) fn open(&self, options: &OpenOptions, memory: &CommandMemoryLimit) -> Result<OpenDump> {
        let opened = match self {
            DumpInput::Path(path) => options.open(path),
            DumpInput::Stdin => match standard_input_again() {
                Some(again) => options.open_rereadable(std::io::stdin(), again),
                None => options.open_reader(std::io::stdin()),
            },
        };
        opened.map_err(|error| self.explain_if_url(memory.explain_open_error(error))).with_context(|| self.name())
    }

    /// An address in place of a file says more than that there is none of that name.
    pub(crate) fn explain_if_url(&self, error: Error) -> Error {
        match self.path() {
            Some(path) if !path.exists() && is_url(&path.to_string_lossy()) => anyhow!(URL_ADVICE),
            _ => error,
        }
    }
}

/// Standard input once more, where it is a file that is read from its start; nothing of it needs to be kept then.
#[cfg(target_os = "linux")]
fn standard_input_again() -> Option<File> {
    use std::os::fd::AsFd;
    let mut own = File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    let is_file = own.metadata().is_ok_and(|facts| facts.is_file());
    // Another open file, at a place of its own.
    let again = (is_file && own.stream_position().ok()? == 0).then(|| File::open("/dev/stdin"));
    again?.ok()
}

#[cfg(not(target_os = "linux"))]
fn standard_input_again() -> Option<File> {
    None
}

/// Options to open a dump with the roots that were asked for. `file` is its name where there are several.
pub(crate) fn open_options_with_roots(
    session: &Session,
    file: Option<&str>,
    args: &InputArgs,
) -> Result<(OpenOptions, CommandMemoryLimit)> {
    let excluded_kinds = excluded_root_kinds(args)?;
    let (options, memory) = open_options(session, file, &args.read)?;
    let options = OpenOptions {
        roots: RootPolicy { excluded_kinds, keep_unreachable: args.keep_unreachable },
        index: if args.no_index || session.indexes.are_ignored() { IndexUse::Never } else { IndexUse::WhereFresh },
        hides_values: session.hides_values.load(Ordering::Relaxed),
        spool_bytes: spool_bytes(args),
        ..options
    };
    Ok((options, memory))
}

/// Bytes of standard input that are kept, to be read again.
fn spool_bytes(args: &InputArgs) -> u64 {
    args.spool.unwrap_or_else(|| free_temporary_bytes().unwrap_or(0) / 10)
}

/// Reads a dump and gives it the roots that were asked for. `file` is its name where there are several; `with_values` keeps of
/// standard input what is read again.
pub(crate) fn read_dump(
    session: &Session,
    input: &DumpInput,
    file: Option<&str>,
    args: &InputArgs,
    with_values: bool,
) -> Result<(Arc<OpenDump>, CommandMemoryLimit)> {
    let (mut options, memory) = open_options_with_roots(session, file, args)?;
    if !with_values {
        options.spool_bytes = 0;
    }
    let open = |options: &OpenOptions| input.open(options, &memory);
    let dump = match (&session.kept_dumps, input.path()) {
        (Some(kept), Some(path)) => {
            kept.find_or_open(path, args, options, |options| {
                let writer = kept.make_write_index.filter(|_| options.roots.is_as_dumped());
                let write_index = writer.and_then(|writer| writer(path, options));
                let dump = open(options)?;
                if let Some(write) = write_index.as_ref().filter(|_| !dump.is_indexed() && dump.graph().is_some()) {
                    // The question is answered all the same.
                    let said = write(&dump).unwrap_or_else(|why| format!("no index is written: {why}"));
                    session.print_note("note", file, &said);
                }
                Ok(dump)
            })?
        }
        _ => Arc::new(open(&options)?),
    };
    args.read.check_frames_option(&dump)?;
    session.indexes.remember_index_of(&dump, args.read.quiet);
    Ok((dump, memory))
}

/// Counts objects and bytes by type in one pass, for `--shallow`. `file` is the dump's name where there are several;
/// `with_values` keeps of standard input what is read again.
pub(crate) fn count_types(
    session: &Session,
    input: &DumpInput,
    file: Option<&str>,
    args: &InputArgs,
    with_values: bool,
) -> Result<CountedTypes> {
    let hides_values = session.hides_values.load(Ordering::Relaxed);
    if with_values && (hides_values || session.kept_dumps.as_ref().is_some_and(|kept| kept.hides_values)) {
        return Err(NoValues::Hidden.into());
    }
    let (mut options, memory) = open_options(session, file, &args.read)?;
    options.spool_bytes = if with_values { spool_bytes(args) } else { 0 };
    let counted = match input {
        DumpInput::Path(path) => options.count_types(path),
        DumpInput::Stdin => options.count_types_of_reader(std::io::stdin()),
    };
    counted
        .map_err(|error| match error {
            OpenError::OnlyAnIndex(path) => {
                anyhow!("{} is an index: it answers as quickly without --shallow", path.display())
            }
            OpenError::Read(error) if matches!(error.kind(), ReadErrorKind::NoObjects(_)) => {
                anyhow!("{error}; `heapdump stats` without --shallow shows them")
            }
            OpenError::Memory(error) => memory.explain_error_of_counting(error),
            error => input.explain_if_url(memory.explain_open_error(error)),
        })
        .with_context(|| input.name())
}

/// Options to open a dump, from those of reading. Progress is shown as long as they are there.
pub(crate) fn open_options(
    session: &Session,
    file: Option<&str>,
    args: &ReadArgs,
) -> Result<(OpenOptions, CommandMemoryLimit)> {
    let observer = ProgressWatch::observer(&session.progress, args.quiet, file);
    let memory = CommandMemoryLimit::find_and_watch(session, args.max_memory.as_deref())?;
    let read = args.read_options()?;
    session.set_thread_count(read.threads)?;
    Ok((OpenOptions { read, memory: memory.limit.clone(), observer, ..OpenOptions::default() }, memory))
}

/// Kinds of roots that are left out, as the graph names them.
pub(crate) fn excluded_root_kinds(input: &InputArgs) -> Result<Vec<String>> {
    let unknown =
        |kind: &String| anyhow!("no kind of roots is called \"{kind}\"; `heapdump info` lists those of a dump");
    let named = |kind: &String| parse_excluded_root_kind(kind).ok_or_else(|| unknown(kind)).context("--exclude-roots");
    input.exclude_roots.iter().map(named).collect()
}
