//! Answers on standard output in the form the options ask for, sentences on standard error.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::cli::Outcome;
use crate::cli::args::options::{ColorArg, FormatArg, LimitArgs, OutputArgs, TypeArgs};
use crate::cli::terminal::indexes::AnswerOutput;
use crate::cli::terminal::progress;
use crate::graph::{HeapGraph, Root, SectionId};
use crate::input::Diagnostics;
use crate::report::{Format, Report, Style, escape_controls};

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

    /// Prints a report.
    pub(crate) fn print(&self, report: &Report<'_>) -> Result<()> {
        progress::end();
        let mut out = AnswerOutput::begin();
        report.write(&mut out, &self.style())?;
        Ok(out.finish()?)
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

    /// How many of `rows` to print.
    pub(crate) fn rows(&self, rows: usize) -> usize {
        match self.limit {
            Some(0) => rows,
            Some(limit) => rows.min(limit),
            None if io::stdout().is_terminal() => rows.min(ROWS_ON_A_TERMINAL),
            None => rows,
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

/// What stands behind "reachable", so that it is true: roots that were given on request, one section of several.
pub(crate) fn reach_words(graph: &HeapGraph, section: Option<SectionId>) -> String {
    let given = if graph.roots().iter().any(Root::is_requested) { " or given roots on request" } else { "" };
    match section_words(graph, section) {
        Some(section) => format!("{given} in {section}"),
        None => given.to_string(),
    }
}

/// `section 2 (BubbleGame.exe)`, where one of several was asked for.
pub(crate) fn section_words(graph: &HeapGraph, section: Option<SectionId>) -> Option<String> {
    let section = section.filter(|_| graph.sections().len() > 1)?;
    let name = &graph.sections()[section.index()].name;
    let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
    Some(format!("section {}{name}", section.number()))
}

/// Bold where colours are on.
pub(crate) fn bold(text: &str, style: &Style) -> String {
    if style.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
}

/// Problems as JSON has them.
pub(crate) fn problems_json(diagnostics: &Diagnostics) -> Value {
    diagnostics
        .sorted()
        .iter()
        .map(|problem| {
            json!({"code": problem.code.name, "count": problem.count, "first_at": problem.first_at.to_string()})
        })
        .collect()
}

/// An object's fields in order, from `json!({...})`.
pub(crate) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
