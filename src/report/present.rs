//! One answer in every output form.

use std::io::{self, Write};

use serde::Serialize;

use super::ascii::AsciiWriter;
use super::fit::{with_breaks, wrap_options};
use super::{
    Format, Outline, Style, Table, escape_controls, forms, joined_tables, plain_columns, terminal_table, tree,
};
use crate::names::{display_columns, fit_name};

/// An answer that can be shown. Its serde form is its JSON; the other forms follow from the table and the text.
pub trait Present: Serialize {
    /// The command whose answer this is: JSON begins with `"schema": "heapdump.<command>/1"`.
    const COMMAND: &'static str;

    /// The answer is told in sentences, in a pipe too: its table is for CSV, TSV and JSON lines.
    const IS_PROSE: bool = false;

    /// The main table: the whole answer in a pipe, as CSV, TSV, JSON lines and Markdown.
    fn table(&self, style: &Style) -> Table<'_>;

    /// The answer for people on a terminal. Default: the table.
    fn write_text(&self, page: &mut TextPage<'_>) {
        let table = self.table(page.style());
        page.draw_table(&table);
    }

    /// The answer for a ticket. Default: the table as Markdown.
    fn write_markdown(&self, page: &mut TextPage<'_>) {
        let table = self.table(page.style());
        page.write_unless_failed(|out, style| forms::write_markdown(&table, out, style));
    }

    /// The answer as a thread dump. Default: as for people.
    fn write_thread_dump(&self, page: &mut TextPage<'_>) {
        self.write_text(page);
    }
}

/// The page that an answer's text is written on, line by line. Once the output fails, the rest is dropped and the error kept.
pub struct TextPage<'w> {
    out: &'w mut dyn Write,
    style: Style,
    write_result: io::Result<()>,
}

impl<'w> TextPage<'w> {
    /// A page on `out`.
    pub fn new(out: &'w mut dyn Write, style: Style) -> Self {
        TextPage { out, style, write_result: Ok(()) }
    }

    /// The way to print.
    pub fn style(&self) -> &Style {
        &self.style
    }

    /// The first error of the output, if there was one. Error: that one.
    pub fn finish(self) -> io::Result<()> {
        self.write_result
    }

    fn write_unless_failed(&mut self, write: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>) {
        if self.write_result.is_ok() {
            self.write_result = write(&mut *self.out, &self.style);
        }
    }

    /// A line as it is: parts that come from a dump must be escaped.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.write_unless_failed(|out, _| writeln!(out, "{}", text.as_ref()));
    }

    /// A paragraph, broken at blanks so that it fits the width, every line as far in as the first; in a pipe one line.
    pub fn paragraph(&mut self, text: impl AsRef<str>) {
        self.write_wrapped(text.as_ref(), false);
    }

    /// A paragraph of which nothing is copied: words that are longer than a line are broken whatever they are.
    pub fn paragraph_breaking_words(&mut self, text: impl AsRef<str>) {
        self.write_wrapped(text.as_ref(), true);
    }

    fn write_wrapped(&mut self, text: &str, breaks_all: bool) {
        if !self.style.is_terminal {
            return self.line(text);
        }
        let start = text.trim_start_matches('\n');
        (start.len()..text.len()).for_each(|_| self.line(""));
        let indent = &start[..start.len() - start.trim_start_matches(' ').len()];
        let words = with_breaks(&start[indent.len()..], self.style.width.saturating_sub(indent.len()), breaks_all);
        for line in textwrap::wrap(&words, self.wrap_options().initial_indent(indent).subsequent_indent(indent)) {
            self.line(line.trim_end());
        }
    }

    /// A command behind some words: each of its lines but the last ends with the sign by which a shell goes on.
    pub fn command(&mut self, text: impl AsRef<str>) {
        let (text, width) = (text.as_ref(), self.style.width);
        if !self.style.is_terminal || display_columns(text) <= width {
            return self.line(text);
        }
        let indent = &text[..text.len() - text.trim_start().len()];
        let mut line = indent.to_string();
        for word in shell_words(&text[indent.len()..]) {
            if line.len() > indent.len() && display_columns(&line) + display_columns(word) + 2 > width {
                self.line(format!("{} \\", line.trim_end()));
                line = format!("{indent}  ");
            }
            line += word;
        }
        self.line(line);
    }

    /// A field and its value, which may take several lines; both are escaped.
    pub fn label_and_value(&mut self, field: &str, value: &str) {
        const INDENT: usize = 13;
        let first = format!("{:<width$} ", escape_controls(field), width = INDENT - 1);
        let options = self.wrap_options().initial_indent(&first).subsequent_indent("             ");
        let value = with_breaks(&escape_controls(value), self.style.width.saturating_sub(INDENT), true);
        for line in textwrap::wrap(&value, options) {
            self.line(line);
        }
    }

    fn wrap_options<'o>(&self) -> textwrap::Options<'o> {
        wrap_options(self.style.width)
    }

    /// A table drawn for the terminal.
    pub fn draw_table(&mut self, table: &Table<'_>) {
        self.write_unless_failed(|out, style| terminal_table::write_drawn_table(table, out, style));
    }

    /// A tree drawn for the terminal.
    pub fn draw_tree(&mut self, outline: &Outline<'_>) {
        self.write_unless_failed(|out, style| tree::write_outline(outline, out, style));
    }
}

impl Style {
    /// Bold where colours are on.
    pub fn bold(&self, text: &str) -> String {
        if self.has_color && !text.is_empty() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// Prints an answer. Error: when `out` cannot be written to.
pub fn write_answer<A: Present>(answer: &A, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    if style.is_ascii_only {
        return write_answer(answer, &mut AsciiWriter(out), &Style { is_ascii_only: false, ..*style });
    }
    let write_text = match style.format {
        Format::Table if style.is_terminal || A::IS_PROSE => A::write_text,
        Format::Markdown => A::write_markdown,
        Format::Jstack => A::write_thread_dump,
        Format::Json => {
            forms::write_json(out, &AnswerWithSchema { schema: schema_name(A::COMMAND), answer })?;
            return writeln!(out);
        }
        _ => return write_rows(&answer.table(style), out, style),
    };
    let mut page = TextPage::new(out, *style);
    write_text(answer, &mut page);
    page.finish()
}

/// Words of a line for a shell, each with the blank behind it; blanks in quotes end none.
fn shell_words(line: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    let mut is_escaped = false;
    line.split_inclusive(move |letter| {
        let is_blank = letter == ' ' && quote.is_none();
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        is_blank
    })
}

/// Prints the answers of one command to several files, each with the name of its file: one below the other for people,
/// one table with a column for the file in every other form. Error: when `out` cannot be written to.
pub fn write_each_answer<A: Present>(answers: &[(String, A)], out: &mut dyn Write, style: &Style) -> io::Result<()> {
    if style.is_ascii_only {
        return write_each_answer(answers, &mut AsciiWriter(out), &Style { is_ascii_only: false, ..*style });
    }
    match style.format {
        Format::Table if style.is_terminal => {
            for (place, (file, answer)) in answers.iter().enumerate() {
                let name = style.bold(&fit_name(&escape_controls(file), style.width));
                writeln!(out, "{}{name}", if place > 0 { "\n" } else { "" })?;
                write_answer(answer, out, style)?;
            }
            Ok(())
        }
        Format::Json => {
            let files: Vec<_> = answers.iter().map(|(file, answer)| AnswerOfFile { file, answer }).collect();
            forms::write_json(out, &AnswersWithSchema { schema: schema_name(A::COMMAND), files })?;
            writeln!(out)
        }
        _ => {
            let tables = answers.iter().map(|(file, answer)| (file.as_str(), answer.table(style))).collect();
            write_rows(&joined_tables::join_tables(tables), out, style)
        }
    }
}

/// A table in the forms that are rows alone.
fn write_rows(table: &Table<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    match style.format {
        Format::Table | Format::Json | Format::Jstack => plain_columns::write_plain_table(table, out, style),
        Format::Markdown => forms::write_markdown(table, out, style),
        Format::Csv => forms::write_delimited(table, out, style, b','),
        Format::Tsv => forms::write_delimited(table, out, style, b'\t'),
        Format::JsonLines => forms::write_json_lines(table, out),
    }
}

fn schema_name(command: &str) -> String {
    format!("heapdump.{command}/1")
}

#[derive(Serialize)]
struct AnswerWithSchema<'a, A> {
    schema: String,
    #[serde(flatten)]
    answer: &'a A,
}

#[derive(Serialize)]
struct AnswerOfFile<'a, A> {
    file: &'a str,
    #[serde(flatten)]
    answer: &'a A,
}

#[derive(Serialize)]
struct AnswersWithSchema<'a, A> {
    schema: String,
    files: Vec<AnswerOfFile<'a, A>>,
}
