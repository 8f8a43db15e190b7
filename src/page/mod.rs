//! The page of `heapdump report`: one file that a team can look at, without a server, a script from elsewhere, or a
//! network.
//!
//! `ask` asks the answers, `prune` takes the largest rows, `data` makes the `columns` that the page's script reads,
//! `sections` writes what stands there without a script, `html` is the only way by which text gets in. Not here: opening
//! dumps, options.

mod advice;
mod ask;
mod columns;
mod data;
mod growth;
mod growth_section;
mod head;
mod html;
mod names;
mod prune;
mod sections;
mod suspects;
mod tables;
mod thread_section;
mod trees;
mod waste;
mod whole;

use std::io::{self, Write};

use crate::analysis::selection::TypePattern;
use crate::analysis::threshold::Threshold;
use crate::answers::{AnswerError, CommandLine, LeaksOptions};
use crate::dump::OpenDump;
use ask::Page;
use columns::Budgets;

/// What the page is of.
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// The dump's name, without its folder; `None` for standard input.
    pub file: Option<String>,
    /// The name of the dump it is compared with.
    pub old_file: Option<String>,
    /// One section, by its name or its number from 1. Default: all.
    pub section: Option<String>,
    /// What a suspect retains at least.
    pub threshold: Threshold,
    /// Types of libraries, besides those of the runtime.
    pub libraries: Vec<TypePattern>,
    /// Bytes of the page at most, as far as its rows can be left out. Default: 1.5 MB.
    pub max_bytes: u64,
    /// Options that the dump was opened with, for the commands on the page: `--keep-unreachable`.
    pub read_words: Vec<String>,
}

impl Default for PageOptions {
    fn default() -> Self {
        PageOptions {
            file: None,
            old_file: None,
            section: None,
            threshold: LeaksOptions::default().threshold,
            libraries: Vec::new(),
            max_bytes: 1_500_000,
            read_words: Vec::new(),
        }
    }
}

/// Writes the page of a dump, compared with an older one if that is given. The same dumps give the same bytes.
/// O(objects + references), the dominator trees, and memory for the page.
///
/// # Errors
/// When a dump does not have what is asked for or takes more memory than it may, or `out` cannot be written to.
pub fn write_page(
    old: Option<&OpenDump>,
    dump: &OpenDump,
    options: &PageOptions,
    out: &mut dyn Write,
) -> Result<(), PageError> {
    let mut page = Page::ask(old, dump, options)?;
    let mut budgets = Budgets::default();
    let text = loop {
        let text = whole::page(&mut page, &budgets, options)?;
        match budgets.smaller() {
            Some(smaller) if text.len() as u64 > options.max_bytes => budgets = smaller,
            _ => break text,
        }
    };
    Ok(out.write_all(text.as_bytes())?)
}

/// Why there is no page.
#[derive(Debug)]
#[non_exhaustive]
pub enum PageError {
    /// A question could not be answered.
    Answer(AnswerError),
    /// The page could not be written.
    Write(io::Error),
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PageError::Answer(error) => error.fmt(f),
            PageError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PageError {}

impl From<AnswerError> for PageError {
    fn from(error: AnswerError) -> Self {
        PageError::Answer(error)
    }
}

impl From<io::Error> for PageError {
    fn from(error: io::Error) -> Self {
        PageError::Write(error)
    }
}

impl PageOptions {
    fn file_word(&self) -> &str {
        self.file.as_deref().unwrap_or("FILE")
    }

    /// The name for people.
    fn title(&self) -> &str {
        self.file.as_deref().unwrap_or("standard input")
    }

    /// A command as it is pasted into a shell in the dump's folder.
    fn command(&self, line: &CommandLine) -> String {
        let mut line = line.clone();
        self.read_words.iter().for_each(|word| _ = line.word(word.as_str()));
        line.for_shell(Some(std::path::Path::new(self.file_word())))
    }
}
