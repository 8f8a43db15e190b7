//! Options of the page.

use crate::analysis::threshold::Threshold;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::{CommandLine, LeaksOptions};

/// Options of the page.
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// The dump's name, without its folder; `None` for standard input.
    pub dump_name: Option<String>,
    /// The name of the dump it is compared with.
    pub old_dump_name: Option<String>,
    /// One section of the dump, by its name or its number from 1. Default: all.
    pub dump_section: Option<String>,
    /// Retained size of a suspect at least.
    pub suspect_threshold: Threshold,
    /// Types of libraries, besides those of the runtime.
    pub library_types: Vec<TypePattern>,
    /// Bytes of the page at most, as far as its rows can be left out. Default: 1.5 MB.
    pub max_page_bytes: u64,
    /// Options that the dump was opened with, for the commands on the page: `--keep-unreachable`.
    pub read_option_words: Vec<String>,
}

impl Default for PageOptions {
    fn default() -> Self {
        PageOptions {
            dump_name: None,
            old_dump_name: None,
            dump_section: None,
            suspect_threshold: LeaksOptions::default().threshold,
            library_types: Vec::new(),
            max_page_bytes: 1_500_000,
            read_option_words: Vec::new(),
        }
    }
}

impl PageOptions {
    pub(super) fn file_argument(&self) -> &str {
        self.dump_name.as_deref().unwrap_or("FILE")
    }

    /// The name for people.
    pub(super) fn dump_title(&self) -> &str {
        self.dump_name.as_deref().unwrap_or("standard input")
    }

    /// A command as it is pasted into a shell in the dump's folder.
    pub(super) fn shell_command(&self, line: &CommandLine) -> String {
        let mut line = line.clone();
        self.read_option_words.iter().for_each(|word| _ = line.add_word(word.as_str()));
        line.for_shell(Some(std::path::Path::new(self.file_argument())))
    }
}
