//! `heapdump index`: parse once, ask again at once.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, anyhow, bail};

use crate::cli::Outcome;
use crate::cli::args::options::ReadArgs;
use crate::cli::terminal::load::{Input, open_options};
use crate::cli::terminal::notes::warn;
use crate::cli::terminal::session::Session;
use crate::cli::terminal::target::find_target_of_index;
use crate::dump::{IndexUse, OpenOptions, WriteIndexError, path_of_index, write_index};
use crate::index::{SourceKey, is_index};
use crate::report::format_bytes;

/// Parse once, ask again at once: writes an index beside the dump
///
/// Commands find FILE.hdx by themselves while it belongs to FILE as it is now, and take the .hdx itself as well; they
/// ignore it under --no-index. A stale or damaged index is never believed: commands say so and read the dump.
///
/// Example: heapdump index dump.txt && heapdump roots 7fe45 dump.txt
///
/// Example: zcat dump.txt.gz | heapdump index - -o dump.hdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Where to write; - for standard output [default: FILE.hdx]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    let input = Input::find(args.file.as_deref())?;
    // A pipe with a name is read as standard input is; what is not there is no pipe.
    let file = match &input {
        Input::Path(path) if path.is_file() || !path.exists() => Some(path.as_path()),
        _ => None,
    };
    if let Some(path) = file.filter(|path| is_index(path)) {
        bail!("{} is an index already; name its dump to make it anew", path.display());
    }
    let target = match (&args.output, file) {
        (Some(output), _) => find_target_of_index(&input, output)?,
        (None, Some(path)) if !path.exists() => bail!("{}: no such file", path.display()),
        (None, Some(path)) => find_target_of_index(&input, &path_of_index(path))?,
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
        warn(session, dump.diagnostics(), None);
    }
    let bytes = write_index(&dump, &target, key, &options).map_err(|error| match error {
        WriteIndexError::NotObjects => {
            anyhow!("the dump holds allocation totals, no objects: it is read as quickly without an index")
        }
        WriteIndexError::Memory(error) => memory.explain(error),
        WriteIndexError::Io(error) => Error::from(error).context(format!("cannot write {}", target.name())),
    })?;
    session.progress.end();
    if !args.read.quiet {
        session.print_sentence(&format!("wrote {} ({})", target.name(), format_bytes(bytes)));
    }
    Ok(Outcome::Done)
}
