//! Options of the page.

use crate::analysis::threshold::Threshold;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::{CommandLine, LeaksOptions};

/// Options of the page.
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// The dump's name, without its folder; `None` for standard input.
    pub file: Option<String>,
    /// The name of the dump it is compared with.
    pub old_file: Option<String>,
    /// One section, by its name or its number from 1. Default: all.
    pub section: Option<String>,
    /// Retained size of a suspect at least.
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

impl PageOptions {
    pub(super) fn file_argument(&self) -> &str {
        self.file.as_deref().unwrap_or("FILE")
    }

    /// The name for people.
    pub(super) fn title(&self) -> &str {
        self.file.as_deref().unwrap_or("standard input")
    }

    /// A command as it is pasted into a shell in the dump's folder.
    pub(super) fn command(&self, line: &CommandLine) -> String {
        let mut line = line.clone();
        self.read_words.iter().for_each(|word| _ = line.word(word.as_str()));
        line.for_shell(Some(std::path::Path::new(self.file_argument())))
    }
}
