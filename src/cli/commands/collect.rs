//! `heapdump collect`: a heap dump or a class histogram of a live process, once or many times.

use std::fs::File;
use std::io::{self, IsTerminal, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::redact::{cannot_write, write_redacted_copy};

use crate::cli::CommandOutcome;
use crate::cli::args::options::{OutputArgs, word_parser};
use crate::cli::terminal::output_target::find_target;
use crate::cli::terminal::session::Session;
use crate::collect::{
    CollectOptions, CollectPlan, CollectSupervisor, Collected, Condition, SeriesEnd, SeriesObserver, SeriesOptions,
    TargetRuntime, collect, collect_series, default_file_name, list_inspector_targets, list_processes,
};
use crate::files::{ExitAction, folder_of, free_bytes, nameless_file_in};
use crate::input::NoObserver;
use crate::redact::{DumpFile, KeptFields, RedactOptions};
use crate::report::Format;
use crate::units::{parse_duration, parse_size};

/// A heap dump of a live process, from outside
///
/// Takes it over the runtime's own socket: nothing is installed, and the file arrives here, though the process is in a
/// container. All threads of the process stop meanwhile. The file is there when it is whole, and only its owner may
/// read it: a heap dump holds passwords and keys.
///
/// Example: heapdump collect --list
///
/// Example: heapdump collect 4711 -o app.hprof && heapdump leaks app.hprof
///
/// Example: heapdump collect http://127.0.0.1:6060/debug/pprof/heap -o app.pb.gz
///
/// Example: heapdump collect 4711 --redact -o shared.hprof.gz
///
/// Example: heapdump collect 4711 --histogram --every 60s --when 'memory > 75%' -o watched
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("series").args(["every", "when"]).multiple(true).conflicts_with_all(["url", "list", "redact"]))]
pub(crate) struct Args {
    /// The process, or the address of a heap profile that a program serves
    #[arg(required_unless_present_any = ["url", "list"], value_name = "PID|URL", value_parser = parse_target)]
    pid: Option<DumpTarget>,
    /// List what can be dumped on this machine, or behind --url
    #[arg(long, conflicts_with_all = ["pid", "output"])]
    list: bool,
    /// Where to write; - for standard output, a name in .gz is compressed; of a series a folder [default: heap-PID-TIME]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace FILE
    #[arg(long)]
    force: bool,
    /// What runs in the process, where it is not found out
    #[arg(long, value_parser = word_parser(TargetRuntime::RUNTIME_NAMES), value_name = "NAME", hide_short_help = true)]
    runtime: Option<TargetRuntime>,
    /// Objects and bytes by class in place of a dump: a shorter stop, and no content (Java; .NET counts a snapshot, Node.js tells
    /// bytes by heap space) [default output: -]
    #[arg(long, conflicts_with_all = ["list", "redact"])]
    histogram: bool,
    /// What is allocated in this time and kept, by stack, in place of a dump, with a garbage collection at its end (Node.js, Chromium)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with_all = ["list", "redact", "histogram"])]
    profile: Option<Duration>,
    /// One after another, from one to the next so long (60s, 10min, 1h)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    every: Option<Duration>,
    /// A dump when it holds: 'memory > 75%', 'heap > 90%', 'growth > 10MiB/min for 5min', 'gc-time > 20% for 1min', joined
    /// by or
    #[arg(long, value_name = "CONDITION")]
    when: Option<Condition>,
    /// End a series after N; with --when after N dumps [default of --when: 1]
    #[arg(long, value_name = "N", requires = "series", value_parser = clap::value_parser!(u32).range(1..))]
    times: Option<u32>,
    /// End a series after this time
    #[arg(long = "for", value_name = "DURATION", requires = "series", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Of a series the newest N dumps or profiles stay; histograms all do
    #[arg(long, value_name = "N", requires = "series", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Free disk that a series leaves alone [default: a tenth of all]
    #[arg(long, value_name = "SIZE", requires = "series", value_parser = parse_size, hide_short_help = true)]
    min_free: Option<u64>,
    /// From one dump of --when to the next
    #[arg(long, value_name = "DURATION", requires = "when", value_parser = parse_duration, default_value = "10min", hide_short_help = true)]
    at_least_apart: Duration,
    /// Unreachable objects too, no collection first (Java, histograms of Node.js)
    #[arg(long)]
    all: bool,
    /// Let a signal open the inspector of a Node.js that has none open, for the time of the dump or series
    #[arg(long)]
    open_inspector: bool,
    /// An inspector or remote debugging port in place of PID, as http://127.0.0.1:9229
    #[arg(long, conflicts_with = "pid", hide_short_help = true)]
    url: Option<String>,
    /// Which page or worker: a number from 1, or a part of its title
    #[arg(long, value_name = "N|TEXT", hide_short_help = true)]
    target: Option<String>,
    /// Buffer of a .NET runtime, an upper bound [default: by its memory]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    buffer: Option<u64>,
    /// No names of modules and methods: a smaller file (.NET)
    #[arg(long, hide_short_help = true)]
    no_names: bool,
    /// End when nothing comes for so long (2s, 5m) [default: 30s without CPU time]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, hide_short_help = true)]
    timeout: Option<Duration>,
    /// End when more comes [default: the free disk less a tenth, ten times that in .gz]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    max_size: Option<u64>,
    /// Without values, as `heapdump redact` writes it: the dump itself is overwritten and removed, whatever happens
    #[arg(long, conflicts_with = "list")]
    redact: bool,
    /// Do not ask before a long pause; go on even if memory or disk may run out
    #[arg(long)]
    yes: bool,
    /// No lines about it
    #[arg(short, long)]
    quiet: bool,
    #[arg(long, hide = true)]
    socket: Option<PathBuf>,
    #[command(flatten)]
    answer_form: OutputArgs,
}

/// The process, or an address.
#[derive(Debug, Clone)]
enum DumpTarget {
    Process(u32),
    Address(String),
}

fn parse_target(text: &str) -> Result<DumpTarget, String> {
    match text.parse() {
        Ok(pid) => Ok(DumpTarget::Process(pid)),
        Err(_) if text.contains("://") => Ok(DumpTarget::Address(text.to_string())),
        Err(_) => Err("neither the number of a process nor http://HOST:PORT/PATH".into()),
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    if args.list {
        return print_dump_targets(args, session);
    }
    let to_output = match &args.output {
        Some(output) => output.as_os_str() == "-",
        None => args.histogram,
    };
    if args.profile.is_some_and(|duration| duration.is_zero()) {
        bail!("--profile: in no time nothing is allocated");
    }
    let is_series = args.every.is_some() || args.when.is_some();
    match (args.answer_form.format, is_series) {
        (Format::Table, _) => {}
        (Format::Json, false) | (Format::JsonLines, true) if to_output => {
            bail!("-o -: standard output cannot take the dump and -f")
        }
        (Format::Json, false) | (Format::JsonLines, true) => {}
        (_, false) => bail!("-f: of a dump there is json alone"),
        (_, true) => bail!("-f: of a series there is jsonl alone"),
    }
    if is_series {
        return run_series(args, to_output, session);
    }
    if to_output && !args.histogram && io::stdout().is_terminal() {
        bail!("-o -: a dump is nothing for a terminal to show");
    }
    let collected = match args.redact {
        true => collect_redacted(args, session)?,
        false => collect(&args.options(), &mut TerminalCollectSupervisor::new(session, args)),
    };
    // What the end by a signal has broken off is no answer.
    crate::files::wait_if_signalled();
    if args.answer_form.format == Format::Json {
        session.print_answer(&collected, &args.answer_form)?;
    }
    let is_quiet = args.quiet && collected.refusal.is_none();
    collected.result_lines().iter().filter(|_| !is_quiet).for_each(|line| session.print_sentence(line));
    Ok(if collected.refusal.is_some() { CommandOutcome::Failed } else { CommandOutcome::Answered })
}

fn run_series(args: &Args, to_output: bool, session: &Session) -> Result<CommandOutcome> {
    const LEAST_INTERVAL: Duration = Duration::from_secs(1);
    if args.every.is_some_and(|every| every < LEAST_INTERVAL) {
        bail!("--every: 1s or more");
    }
    if matches!(args.pid, Some(DumpTarget::Address(_))) {
        bail!("a series is of a process: of an address there is one dump at a time");
    }
    let has_dumps = !args.histogram || args.every.is_some() && args.when.is_some();
    if args.every.is_some() && args.when.is_some() && !args.histogram {
        bail!(
            "--every and --when together are of --histogram: histograms at intervals, a dump when the condition holds"
        );
    }
    if to_output && has_dumps || args.output.is_none() && !to_output {
        bail!("where to? -o FOLDER");
    }
    let options = match to_output {
        true => args.options(),
        false => CollectOptions { output_folder: args.output.clone(), output: None, ..args.options() },
    };
    let series = SeriesOptions {
        interval: args.every,
        max_count: args.times.or(args.when.as_ref().map(|_| 1)).map(|times| times as usize),
        max_duration: args.duration,
        max_kept_dumps: args.keep.map(|kept| kept as usize),
        min_free_bytes: args.min_free,
        condition: args.when.clone(),
        min_condition_dump_interval: args.at_least_apart,
    };
    let ended = collect_series(
        &options,
        &series,
        &mut TerminalCollectSupervisor { is_series: true, ..TerminalCollectSupervisor::new(session, args) },
    );
    crate::files::wait_if_signalled();
    let is_refused = matches!(ended.end, SeriesEnd::Refused(_));
    if is_refused || !args.quiet {
        ended.end_lines().iter().for_each(|line| session.print_sentence(line));
    }
    let has_never_held =
        args.when.is_some() && ended.condition_dump_count == 0 && matches!(ended.end, SeriesEnd::Complete);
    Ok(match is_refused || ended.failed_count > 0 {
        true => CommandOutcome::Failed,
        false if has_never_held => CommandOutcome::NegativeAnswer,
        false => CommandOutcome::Answered,
    })
}

/// Lets the dump be written into a file without a name, which is gone however the program ends, and makes the copy of it.
fn collect_redacted(args: &Args, session: &Session) -> Result<Collected> {
    let output = args.output.clone();
    if let Some(output) = output.as_ref().filter(|output| output.is_file() && !args.force) {
        bail!("{} exists (--force replaces it)", output.display());
    }
    let folder = match &output {
        Some(output) if output.as_os_str() == "-" => std::env::temp_dir(),
        output => folder_of(output.as_deref().unwrap_or(Path::new("."))).to_path_buf(),
    };
    let dump = nameless_file_in(&folder).with_context(|| format!("no file can be made in {}", folder.display()))?;
    let own = dump.try_clone()?;
    let overwritten = ExitAction::new(move || overwrite_with_zeros(own))?;
    // Less a tenth.
    let most = args.max_size.or_else(|| free_bytes(&dump).map(|free| free - free / 10));
    let path = PathBuf::from(format!("/proc/self/fd/{}", dump.as_raw_fd()));
    let options =
        CollectOptions { output: Some(path), max_dump_bytes: most, discard_incomplete: true, ..args.options() };
    let mut collected = collect(&options, &mut TerminalCollectSupervisor::new(session, args));
    collected.file = None;
    if let (None, Some(runtime)) = (&collected.refusal, collected.runtime) {
        let output = output.unwrap_or_else(|| default_file_name(&args.options(), runtime));
        let target = find_target(&[], Some(&output))?;
        let options = RedactOptions { kept_fields: KeptFields::known(), ..RedactOptions::default() };
        let dump = DumpFile::of_file(dump, Arc::new(NoObserver));
        let (redacted, complete) =
            write_redacted_copy(&dump, "the dump", (&target, &output), &options, (session, args.quiet), |error| error)?;
        // Before there is a copy: a run that is interrupted meanwhile leaves none.
        drop((dump, overwritten));
        complete.publish().with_context(|| cannot_write(&target))?;
        (collected.bytes, collected.file) = (redacted.bytes, Some(target.name().to_string()));
    }
    Ok(collected)
}

/// Puts zeros in place of what is in a file, as far as that can be done.
fn overwrite_with_zeros(mut file: File) {
    let zeros = vec![0; 1 << 16];
    let mut left = file.metadata().map_or(0, |facts| facts.len());
    let _ = file.rewind();
    while left > 0 && file.write_all(&zeros[..left.min(zeros.len() as u64) as usize]).is_ok() {
        left -= left.min(zeros.len() as u64);
    }
    // Otherwise the zeros might never reach the disk.
    let _ = file.sync_data();
}

fn print_dump_targets(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let listed = args.url.as_deref().map_or_else(|| Ok(list_processes()), list_inspector_targets)?;
    listed.unreadable_note().iter().filter(|_| !args.quiet).for_each(|note| session.print_sentence(note));
    session.print_answer(&listed, &args.answer_form)?;
    Ok(if listed.is_empty() { CommandOutcome::NegativeAnswer } else { CommandOutcome::Answered })
}

/// Asks before a long pause, and says on standard error what a dump or a series comes to.
struct TerminalCollectSupervisor<'a> {
    session: &'a Session,
    args: &'a Args,
    is_series: bool,
    /// Of a series what is done is said once, and asked once.
    is_approved: bool,
}

impl<'a> TerminalCollectSupervisor<'a> {
    fn new(session: &'a Session, args: &'a Args) -> Self {
        TerminalCollectSupervisor { session, args, is_series: false, is_approved: false }
    }
}

impl SeriesObserver for TerminalCollectSupervisor<'_> {
    fn report_collected(&mut self, collected: &Collected) {
        let is_quiet = self.args.quiet && collected.refusal.is_none();
        let lines = collected.result_lines().into_iter().filter(|_| !is_quiet);
        lines.for_each(|line| self.session.print_sentence(&format!("{} {line}", collected.taken_at)));
        if self.args.answer_form.format == Format::JsonLines {
            // Nobody may read it any more; the files are what is wanted.
            let _ = self.session.print_answer(collected, &self.args.answer_form);
        }
    }

    fn report_condition_holds(&mut self, sentence: &str) {
        self.session.print_sentence(sentence);
    }
}

impl CollectSupervisor for TerminalCollectSupervisor<'_> {
    fn approve(&mut self, plan: &CollectPlan) -> bool {
        if self.is_series && std::mem::replace(&mut self.is_approved, true) {
            return true;
        }
        if !self.args.quiet {
            self.session.print_sentence(&plan.text);
        }
        let asks = plan.is_pause_long() && !self.args.yes && io::stderr().is_terminal() && io::stdin().is_terminal();
        self.is_approved = !asks || ask_for_confirmation();
        self.is_approved
    }

    fn report_progress(&mut self, text: &str) {
        if !self.args.quiet && io::stderr().is_terminal() {
            self.session.print_sentence(text);
        }
    }
}

/// The user's answer to a question, which is no unless it is yes.
fn ask_for_confirmation() -> bool {
    // Where there is nobody to ask the answer is no.
    let _ = write!(io::stderr(), "go on? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().read_line(&mut answer);
    ["y", "yes"].contains(&answer.trim())
}

impl Args {
    /// As the library takes them.
    fn options(&self) -> CollectOptions {
        CollectOptions {
            pid: if let Some(DumpTarget::Process(pid)) = self.pid { Some(pid) } else { None },
            inspector_url: match &self.pid {
                Some(DumpTarget::Address(address)) => Some(address.clone()),
                _ => self.url.clone(),
            },
            inspector_target: self.target.clone(),
            take_histogram: self.histogram,
            profile_duration: self.profile,
            open_inspector: self.open_inspector,
            output: self.output.clone(),
            output_folder: None,
            replace_existing: self.force,
            runtime: self.runtime,
            include_unreachable: self.all,
            max_buffer_bytes: self.buffer,
            omit_method_names: self.no_names,
            silence_limit: self.timeout,
            max_dump_bytes: self.max_size,
            accept_risk: self.yes,
            discard_incomplete: false,
            runtime_socket: self.socket.clone(),
        }
    }
}
