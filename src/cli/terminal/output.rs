//! Answers on standard output in the form the options ask for, sentences on standard error.

use std::io::{self, IsTerminal, Write};

use crate::cli::Outcome;
use crate::cli::args::options::{ColorArg, FormatArg, LimitArgs, OutputArgs, TypeArgs};
use crate::cli::terminal::progress;
use crate::report::{Format, Style, escape_controls};

const ROWS_ON_A_TERMINAL: usize = 30;
const WIDTH_UNKNOWN: usize = 80;

impl OutputArgs {
    /// How to print, here and now.
    pub(crate) fn style(&self) -> Style {
        let terminal = io::stdout().is_terminal();
        let format = match self.format {
            FormatArg::Table => Format::Table,
            FormatArg::Markdown => Format::Markdown,
            FormatArg::Csv => Format::Csv,
            FormatArg::Tsv => Format::Tsv,
            FormatArg::Json => Format::Json,
            FormatArg::Jsonl => Format::JsonLines,
        };
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Style {
            format,
            terminal,
            width: terminal_size::terminal_size().map_or(WIDTH_UNKNOWN, |(width, _)| usize::from(width.0)),
            human: self.human || (!self.bytes && terminal && format == Format::Table),
            header: !self.no_header,
            color: match self.color {
                ColorArg::Always => true,
                ColorArg::Never => false,
                ColorArg::Auto => terminal && !no_color,
            },
        }
    }
}

impl LimitArgs {
    /// Rows at most, here and now; `None` for all.
    pub(crate) fn limit_here(&self) -> Option<usize> {
        match self.limit {
            Some(0) => None,
            Some(limit) => Some(limit),
            None => io::stdout().is_terminal().then_some(ROWS_ON_A_TERMINAL),
        }
    }
}

/// Prints a sentence beside the answer, on standard error: why the exit code is 1, what is wrong with a dump.
pub(crate) fn print_sentence(text: &str) {
    // A closed standard error must not change the answer.
    progress::print_aside(|| drop(writeln!(io::stderr(), "heapdump: {}", escape_controls(text))));
}

impl TypeArgs {
    /// The outcome of a command that shows what `--type` matches.
    pub(crate) fn outcome(&self, nothing_matches: bool, is_quiet: bool) -> Outcome {
        if !nothing_matches {
            return Outcome::Done;
        }
        if let (Some(pattern), false) = (&self.type_pattern, is_quiet) {
            print_sentence(&format!("no type matches --type {pattern} (capitals matter)"));
        }
        Outcome::No
    }
}
