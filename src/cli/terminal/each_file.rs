//! One question to several files: they are read one after the other, with memory for one at a time.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::cli::CommandOutcome;
use crate::cli::args::options::InputArgs;
use crate::cli::terminal::load::{self, DumpInput};
use crate::cli::terminal::session::Session;
use crate::files::for_each_file;

/// The answer of each file, with its name, and the end of the command if one could not be read.
type Answers<T> = (Vec<(String, T)>, Option<CommandOutcome>);

/// Asks every file, in the order of the command line; those of `together` small ones several at a time. One that cannot
/// be read is reported on standard error, and the next one is asked.
///
/// # Errors
/// When the options are wrong, whatever the files.
pub(crate) fn ask_each<T: Send>(
    session: &Session,
    files: &[PathBuf],
    together: bool,
    input: &InputArgs,
    answer: impl Fn(&DumpInput, &str) -> Result<T> + Sync,
) -> Result<Answers<T>> {
    if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        bail!("- stands for standard input, which can be read once");
    }
    input.read.read_options()?;
    load::excluded_roots(input)?;
    let ask = |at: usize| {
        session.progress.at_file(at + 1, files.len());
        let (place, name) = (DumpInput::of(&files[at]), files[at].display().to_string());
        let answer = answer(&place, &name).map_err(|error| session.progress.print_error(&error, &place.name()));
        Some((name, answer.ok()?))
    };
    let answers = if together { for_each_file(files, ask) } else { (0..files.len()).map(ask).collect() };
    let failed = answers.iter().any(Option::is_none).then_some(CommandOutcome::Failed);
    Ok((answers.into_iter().flatten().collect(), failed))
}
