//! The command line in four rooms: `args` (shared options), `commands` (one file a command), `render` (answers as tables
//! and texts), `terminal` (the process: dumps that are asked, progress, standard output).
//!
//! clap only fills plain structs; files are opened by a command's `run`. A command gives a `CommandOutcome` or an error;
//! `main` turns them into exit codes: 0 done, 1 the answer is no, 2 an error.

mod args;
mod commands;
mod outcome;
mod render;
mod terminal;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::answers::{
    BreakdownOptions, DiffBy, DominatorTreeOptions, Figure, HistogramOptions, InfoOfFiles, ObjectsOptions,
    ReferrersOptions, RetainedBy, StringsOptions, ThreadsOptions, WasteOptions,
};
use outcome::CommandOutcome;
use terminal::help;
pub use terminal::memory_watch::WatchedAllocator;
pub use terminal::session::Session;

/// Heap dump analyzer: what fills a heap, what keeps an object alive, what would be freed.
#[derive(Debug, Parser)]
#[command(name = "heapdump", version, max_term_width = 100, propagate_version = true)]
#[command(
    after_help = "FILE may be left out: then HEAPDUMP_FILE names it, or the dump comes from standard input. .gz \
                        and .zst are unpacked on the way.\n\n\
                        `heapdump COMMAND --help` shows examples."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The commands: a name, the file of `commands` with its arguments and its `run`, other names for it, and the columns
/// that its `--sort` takes.
macro_rules! commands {
    ($($(#[$condition:meta])* $name:ident $file:ident $([$($alias:literal),+])? $(by $orders:expr)?,)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$condition])* $(#[command(visible_aliases = [$($alias),+])])? $name(commands::$file::Args),)*
            Mcp(commands::mcp::Args),
            Completions(commands::completions::Args),
            Man(commands::man::Args),
            /// A heap dump of a live process; not on this system
            #[cfg(not(all(feature = "collect", target_os = "linux")))]
            Collect {
                /// Whatever it would be
                #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
                words: Vec<OsString>,
            },
        }

        /// The columns of each `--sort`, by command.
        fn sort_columns_by_command() -> Vec<(&'static str, Vec<Figure>)> {
            vec![$($((stringify!($file), $orders.to_vec()),)?)*]
        }

        impl Command {
            fn run(&self, session: &Session) -> anyhow::Result<CommandOutcome> {
                match self {
                    $($(#[$condition])* Command::$name(args) => commands::$file::run(args, session),)*
                    Command::Mcp(args) => commands::mcp::run(args, session, &command_line(), &run_server_line),
                    Command::Completions(args) => commands::completions::run(args, command_line(), &sort_columns_by_command()),
                    Command::Man(args) => commands::man::run(args, command_line()),
                    #[cfg(not(all(feature = "collect", target_os = "linux")))]
                    Command::Collect { .. } => anyhow::bail!(
                        "heapdump takes dumps of live processes on Linux alone; it reads those that jcmd, \
                         dotnet-gcdump and Node.js write here [not-supported-here]"
                    ),
                }
            }
        }
    };
}

commands! {
    Info info by InfoOfFiles::ORDERS,
    Stats stats ["histogram", "top"] by HistogramOptions { retained: Some(RetainedBy::Minimum), ..Default::default() }.orders(true, false),
    List list by ObjectsOptions::ORDERS,
    Show show,
    Roots roots,
    Referrers referrers by ReferrersOptions::ORDERS,
    Dominators dominators by DominatorTreeOptions::ORDERS,
    Breakdown breakdown by BreakdownOptions::ORDERS,
    Leaks leaks,
    Threads threads by ThreadsOptions::ORDERS,
    Diff diff by DiffBy::default().orders(true, true),
    Trend trend,
    Strings strings by StringsOptions::ORDERS,
    Waste waste by WasteOptions::ORDERS,
    Report report,
    Redact redact,
    #[cfg(feature = "explore")]
    Explore explore,
    Export export,
    Index index,
    #[cfg(all(feature = "collect", target_os = "linux"))]
    Collect collect,
}

/// The command line that every run parses, and that completions and man pages describe.
fn command_line() -> clap::Command {
    help::with_command_groups(Cli::command())
}

/// Runs a command line, the program's name first, and says how it went. Wrong usage and `--help` end the process.
pub fn run<T: Into<OsString> + Clone>(words: impl IntoIterator<Item = T>, session: &Session) -> ExitCode {
    let words = with_joined_retained_values(words.into_iter().map(Into::into));
    let parsed = command_line().try_get_matches_from(&words).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.unwrap_or_else(|error| help::exit_with_message(&error, &words, command_line()));
    let result = cli.run_with_index_retry(session);
    session.progress.clear();
    crate::files::wait_if_signalled();
    match result {
        Ok(CommandOutcome::Answered) => ExitCode::SUCCESS,
        Ok(CommandOutcome::NegativeAnswer) => ExitCode::from(1),
        Ok(CommandOutcome::Failed) => ExitCode::from(2),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            session.progress.print_error(&error, "");
            ExitCode::from(2)
        }
    }
}

impl Cli {
    /// Answers, and once more without the indexes when one of them is damaged.
    fn run_with_index_retry(&self, session: &Session) -> anyhow::Result<CommandOutcome> {
        let result = self.command.run(session);
        match session.indexes.ignore_all_if_damaged(|note| session.print_sentence(note)) {
            true => self.command.run(session),
            false => result,
        }
    }
}

/// Answers a line of a server, in a session of its own. Error: wrong usage too, in its first lines.
fn run_server_line(words: Vec<OsString>, session: &Session) -> anyhow::Result<CommandOutcome> {
    let parsed = command_line().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    let usage = |error: clap::Error| {
        let text = error.render().to_string();
        anyhow::anyhow!("{}", text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: "))
    };
    parsed.map_err(usage)?.run_with_index_retry(session)
}

/// `--retained exact` as `--retained=exact`: its value may be left out, so clap cannot tell one from FILE.
fn with_joined_retained_values(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for word in words {
        let is_value = word == "exact" || word == "minimum";
        match joined.last_mut() {
            Some(last) if is_value && last == "--retained" => {
                last.push("=");
                last.push(word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// `| head -1` is not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    // What Windows says of a named pipe, which some shells use: ERROR_PIPE_NOT_CONNECTED.
    let is_unconnected = |error: &io::Error| cfg!(windows) && error.raw_os_error() == Some(233);
    let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe || is_unconnected(error);
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_closed))
}
