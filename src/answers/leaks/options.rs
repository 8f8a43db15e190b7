//! Options of a search for leaks.

use crate::analysis::threshold::{Percent, Threshold};
use crate::analysis::type_patterns::TypePattern;
use crate::answers::{CommandLine, ScopeOptions};

/// Options of a search for leaks.
#[derive(Debug, Clone)]
pub struct LeaksOptions {
    /// Least retained size of a suspect; a share is of what strong roots reach in the section. Default: 10 %.
    pub threshold: Threshold,
    /// Types of libraries, besides those of the runtime: they give way to the types that own them.
    pub libraries: Vec<TypePattern>,
    /// Types that are the program's own, though the lists of libraries have them.
    pub mine: Vec<TypePattern>,
    /// With an older dump: those that did not grow too.
    pub with_unchanged: bool,
    /// The section; suspects of these types alone, groups and objects.
    pub scope: ScopeOptions,
    /// Number of suspects at most. Default: all.
    pub rows: Option<usize>,
    /// Words of a command line that say how the dump is read: those that look further need them.
    pub read_words: Vec<String>,
    /// Sizes in paragraphs are whole numbers of bytes. Default: for people, `1.2 MiB`.
    pub shows_exact_bytes: bool,
    /// Paragraphs name every step of paths. Default: of long ones the first and the last.
    pub with_all_steps: bool,
}

impl Default for LeaksOptions {
    fn default() -> Self {
        LeaksOptions {
            threshold: Threshold::Share(Percent::TEN_PERCENT),
            libraries: Vec::new(),
            mine: Vec::new(),
            with_unchanged: false,
            scope: ScopeOptions::default(),
            rows: None,
            read_words: Vec::new(),
            shows_exact_bytes: false,
            with_all_steps: false,
        }
    }
}

impl LeaksOptions {
    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("leaks");
        if self.threshold != LeaksOptions::default().threshold {
            line.add_option("--threshold", Some(&self.threshold.to_string()));
        }
        line.add_repeated_option("--library", self.libraries.iter().map(TypePattern::text));
        line.add_repeated_option("--mine", self.mine.iter().map(TypePattern::text))
            .add_switch("--all", self.with_unchanged)
            .add_switch("--all-steps", self.with_all_steps);
        line.add_option("-n", Some(&self.rows.unwrap_or(0).to_string())).add_switch("--bytes", self.shows_exact_bytes);
        self.scope.add_to(&mut line);
        line
    }
}
