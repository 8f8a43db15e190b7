//! One question to several files: they are read one after the other, with memory for one at a time.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::cli::Outcome;
use crate::cli::args::options::InputArgs;
use crate::cli::terminal::load::{self, Input};
use crate::cli::terminal::session::Session;

/// What the files answered, in the order of the command line.
pub(crate) struct Answers<T> {
    /// Each with the name of its file.
    pub(crate) of_files: Vec<(String, T)>,
    /// At least one file could not be read (already reported).
    pub(crate) failed: bool,
}

impl<T> Answers<T> {
    /// How a command ends that would end like this if all files had been read.
    pub(crate) fn outcome(&self, outcome: Outcome) -> Outcome {
        if self.failed { Outcome::Failed } else { outcome }
    }
}

/// Asks every file. A file that cannot be read is reported on standard error, and the next one is asked.
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
    let mut answers = Answers { of_files: Vec::new(), failed: false };
    for file in files {
        let place = Input::find(Some(file))?;
        let name = file.display().to_string();
        match answer(&place, &name) {
            Ok(answer) => answers.of_files.push((name, answer)),
            Err(error) => {
                answers.failed = true;
                let (text, name) = (format!("{error:#}"), place.name());
                session.print_sentence(&if text.starts_with(&name) { text } else { format!("{name}: {text}") });
            }
        }
    }
    Ok(answers)
}
