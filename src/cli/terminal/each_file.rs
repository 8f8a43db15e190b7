//! One question to several files: they are read one after the other, with memory for one at a time.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::cli::Outcome;
use crate::cli::args::options::InputArgs;
use crate::cli::terminal::load::{self, Input};
use crate::cli::terminal::session::Session;

/// What each file answered, with its name, and how the command ends if one could not be read.
type Answers<T> = (Vec<(String, T)>, Option<Outcome>);

/// Asks every file, in the order of the command line. One that cannot be read is reported on standard error, and the
/// next one is asked.
///
/// # Errors
/// When the options are wrong, whatever the files.
pub(crate) fn ask_each<T>(
    session: &Session,
    files: &[PathBuf],
    input: &InputArgs,
    answer: impl Fn(&Input, &str) -> Result<T>,
) -> Result<Answers<T>> {
    if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        bail!("- stands for standard input, which can be read once");
    }
    input.read.read_options()?;
    load::excluded_roots(input)?;
    let (mut answers, mut failed) = (Vec::new(), None);
    for (at, file) in files.iter().enumerate() {
        session.progress.at_file(at + 1, files.len());
        let place = Input::find(Some(file))?;
        let name = file.display().to_string();
        match answer(&place, &name) {
            Ok(answer) => answers.push((name, answer)),
            Err(error) => {
                failed = Some(Outcome::Failed);
                session.progress.print_error(&error, &place.name());
            }
        }
    }
    Ok((answers, failed))
}
