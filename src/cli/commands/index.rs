//! `heapdump index`: parse once, ask again at once.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};

use crate::cli::CommandOutcome;
use crate::cli::args::options::ReadArgs;
use crate::cli::terminal::ask_dump::print_problems;
use crate::cli::terminal::dump_input::{DumpInput, open_options};
use crate::cli::terminal::output_target::{find_index_target_beside, find_target_of_index};
use crate::cli::terminal::session::Session;
use crate::dump::{
    IndexMatch, IndexUse, OpenOptions, WriteIndexError, compare_index, dump_of_index_or_path, path_of_index,
    write_index,
};
use crate::index::{SourceKey, is_index};
use crate::report::format_bytes;

/// Parse once, ask again at once: writes an index beside the dump
///
/// Commands find FILE.hdx by themselves while it belongs to FILE as it is now, and take the .hdx itself as well; they
/// ignore it under --no-index. A stale or damaged index is never believed: commands say so and read the dump. They compare
/// length, time and both ends of the dump; --check compares all of it.
///
/// Example: heapdump index dump.txt && heapdump roots 7fe45 dump.txt
///
/// Example: zcat dump.txt.gz | heapdump index - -o dump.hdx
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Where to write; - for standard output [default: FILE.hdx]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing: compare all bytes of the dump, and of its index, with what they were when the index was written
    #[arg(long, conflicts_with = "output")]
    check: bool,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let input = DumpInput::find(args.file.as_deref())?;
    // A pipe with a name is read as standard input is; what is not there is no pipe.
    let file = match &input {
        DumpInput::Path(path) if path.is_file() || !path.exists() => Some(path.as_path()),
        _ => None,
    };
    if args.check {
        return check_index(file, args, session);
    }
    if let Some(path) = file.filter(|path| is_index(path)) {
        bail!("{} is an index already; name its dump to make it anew", path.display());
    }
    let target = match (&args.output, file) {
        (Some(output), _) => find_target_of_index(&input, output)?,
        (None, Some(path)) if !path.exists() => {
            return Err(input.explain_if_url(anyhow!("no such file")).context(input.name()));
        }
        (None, Some(path)) => find_index_target_beside(&input, path)?,
        (None, None) => bail!("the dump comes through a pipe: say with -o where the index shall be"),
    };
    if target.is_standard_output() && std::io::stdout().is_terminal() {
        bail!("-o -: an index is nothing for a terminal to show");
    }
    let (options, memory) = open_options(session, None, &args.read)?;
    let options = OpenOptions { index: IndexUse::Never, ..options };
    // Before it is read: what is written to it meanwhile makes the index stale.
    let key = file.map(SourceKey::of).transpose().with_context(|| input.name())?;
    let dump = input.open(&options, &memory)?;
    if !args.read.quiet {
        print_problems(session, dump.diagnostics(), None);
    }
    let bytes = write_index(&dump, &target, key, &options).map_err(|error| match error {
        WriteIndexError::NotObjects => {
            anyhow!("the dump holds allocation totals, no objects: it is read as quickly without an index")
        }
        WriteIndexError::Memory(error) => memory.explain(error),
        WriteIndexError::Io(error) => Error::from(error).context(format!("cannot write {}", target.name())),
    })?;
    session.progress.clear();
    if !args.read.quiet {
        session.print_sentence(&format!("wrote {} ({})", target.name(), format_bytes(bytes)));
    }
    Ok(CommandOutcome::Answered)
}

fn check_index(file: Option<&Path>, args: &Args, session: &Session) -> Result<CommandOutcome> {
    let Some(file) = file else { bail!("--check: of a dump that comes through a pipe there is no index") };
    let dump = dump_of_index_or_path(file);
    if is_index(&dump) {
        bail!("--check: the dump of {} is not beside it", file.display());
    }
    let index = if is_index(file) { file.to_path_buf() } else { path_of_index(&dump) };
    let unread = || format!("cannot compare {} with {}", index.display(), dump.display());
    if dump.exists() && !index.exists() {
        bail!("{} has no index: {} is not there; `heapdump index` writes it", dump.display(), index.display());
    }
    let same = || format!("is of {}: all bytes of both are as they were", dump.display());
    let (words, outcome) = match compare_index(&index, &dump).with_context(unread)? {
        IndexMatch::Same => (same(), CommandOutcome::Answered),
        IndexMatch::OnlyTimeDiffers => {
            let unused = "the time of the dump is another, though, so commands do not use the index";
            (format!("{}; {unused} (heapdump index makes it anew)", same()), CommandOutcome::Answered)
        }
        IndexMatch::Mismatch(why) => (why, CommandOutcome::NegativeAnswer),
    };
    session.progress.clear();
    if !args.read.quiet {
        session.print_sentence(&format!("{} {words}", index.display()));
    }
    Ok(outcome)
}
