//! From typed rows to text: tables for people, plain columns for pipes, CSV, TSV, JSON, JSON lines, Markdown.
//!
//! Knows nothing of heaps. A command says what its columns are and gives rows on demand; the form is chosen here, once.
//! Rows are streamed in every form but the table for people, so that millions of them need no memory.

mod ascii;
mod columns;
mod fit;
mod forms;
mod joined_tables;
mod plain_columns;
mod present;
mod progress_line;
mod terminal_table;
mod tree;

use std::borrow::Cow;

use crate::units;
pub use crate::units::{ColumnUnit, count_with_noun, format_bytes, format_count, parse_size};

pub use crate::escape::{
    escape_controls, escape_dot_label_text, escape_folded_frame, escape_markdown, is_control_like, json_text,
};
pub use ascii::locale_has_unicode;
pub use columns::Columns;
pub use fit::wrap_sentence;
pub use present::{Present, TextPage, write_answer, write_each_answer};
pub use progress_line::{progress_line, progress_prefix};
pub use tree::{Indent, Outline, OutlineRow, indents_of};

/// The output form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people on a terminal, plain columns in a pipe.
    Table,
    /// A Markdown table.
    Markdown,
    /// Comma separated values.
    Csv,
    /// Tab separated values.
    Tsv,
    /// One JSON object.
    Json,
    /// One JSON object per row.
    JsonLines,
    /// A thread dump as the JDK's jstack prints it; of threads alone.
    Jstack,
}

impl Format {
    /// The forms, by the words for them.
    pub const WORDS: &[(&str, Format)] = Format::WORDS_OF_THREADS.split_at(Format::WORDS_OF_THREADS.len() - 1).0;

    /// The same, and the form that threads alone have.
    pub const WORDS_OF_THREADS: &[(&str, Format)] = &[
        ("table", Format::Table),
        ("markdown", Format::Markdown),
        ("csv", Format::Csv),
        ("tsv", Format::Tsv),
        ("json", Format::Json),
        ("jsonl", Format::JsonLines),
        ("jstack", Format::Jstack),
    ];
}

/// The way an answer is printed.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// The output form.
    pub format: Format,
    /// Standard output is a terminal: tables are drawn for people.
    pub is_terminal: bool,
    /// Columns of that terminal.
    pub width: usize,
    /// Byte counts as 1.2 MiB.
    pub has_human_sizes: bool,
    /// A header line, where the form has one.
    pub has_header: bool,
    /// Bold and colours.
    pub has_color: bool,
    /// Frames and marks in ASCII: the terminal shows nothing else.
    pub is_ascii_only: bool,
    /// Texts that a spreadsheet would run as formulas get a mark, in CSV and TSV.
    pub is_csv_safe: bool,
}

impl Style {
    /// Returns true if courses may be drawn as bars: of characters that not every terminal has, and of no use where
    /// colours are unwanted.
    pub fn draws_bars(&self) -> bool {
        self.is_terminal && self.has_color && !self.is_ascii_only
    }

    /// Tables are drawn on a terminal.
    pub fn draws_tables(&self) -> bool {
        self.is_terminal && self.format == Format::Table
    }

    /// Tables are read by people, not by programs, for which a name is the bare name.
    pub fn is_for_people(&self) -> bool {
        matches!(self.format, Format::Table | Format::Markdown)
    }

    /// A plain table of 80 columns.
    pub const PLAIN: Style = Style {
        format: Format::Table,
        is_terminal: false,
        width: 80,
        has_human_sizes: false,
        has_header: true,
        has_color: false,
        is_ascii_only: false,
        is_csv_safe: false,
    };

    /// A number of bytes in a sentence: `1.2 MiB`, or `1,234 bytes` where plain numbers are asked for.
    pub fn bytes_in_sentence(&self, bytes: u64) -> String {
        if self.has_human_sizes { units::format_bytes(bytes) } else { count_with_noun(bytes, "bytes") }
    }

    /// The same in a column: `1.2 MiB`, or `1,234`, as in the tables of a terminal.
    pub fn bytes_in_column(&self, bytes: u64) -> String {
        if self.has_human_sizes { units::format_bytes(bytes) } else { units::format_count(bytes) }
    }
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// The key in JSON, CSV and pipes.
    pub key: Cow<'static, str>,
    /// The title for people; on a terminal it may take two lines.
    pub title: Cow<'static, str>,
    /// The unit of its values.
    pub unit: ColumnUnit,
    /// Left out where a terminal is too narrow for all columns, those with the highest number first; 0 for never.
    pub hide_priority: u8,
}

impl Column {
    /// A column.
    pub const fn new(key: &'static str, title: &'static str, unit: ColumnUnit) -> Self {
        Column { key: Cow::Borrowed(key), title: Cow::Borrowed(title), unit, hide_priority: 0 }
    }

    /// A column that is called what the user, or a dump, calls it.
    pub fn named(name: &str, unit: ColumnUnit) -> Self {
        Column {
            key: name.to_string().into(),
            title: escape_controls(name).into_owned().into(),
            unit,
            hide_priority: 0,
        }
    }

    /// A column of numbers of things.
    pub const fn count(key: &'static str, title: &'static str) -> Self {
        Column::new(key, title, ColumnUnit::Count)
    }

    /// A column of numbers of bytes.
    pub const fn bytes(key: &'static str, title: &'static str) -> Self {
        Column::new(key, title, ColumnUnit::Bytes)
    }

    /// A column of words.
    pub const fn word(key: &'static str, title: &'static str) -> Self {
        Column::new(key, title, ColumnUnit::Word)
    }

    /// A column of texts, one of the last.
    pub const fn text(key: &'static str, title: &'static str) -> Self {
        Column::new(key, title, ColumnUnit::Text)
    }

    /// The same, to be left out on a narrow terminal.
    pub const fn with_hide_priority(mut self, hide_priority: u8) -> Self {
        self.hide_priority = hide_priority;
        self
    }
}

/// One value; `None` becomes a missing one.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// A count or a number of bytes.
    Number(u64),
    /// The same with a sign.
    Signed(i64),
    /// A share, 0 to 1.
    Share(f64),
    /// Yes or no.
    Flag(bool),
    /// A number, a truth value or null, written as in JSON.
    JsonLiteral(String),
    /// A word or a text.
    Text(Cow<'a, str>),
    /// Nothing: `-`, an empty field, `null`.
    Missing,
}

impl<'a> Cell<'a> {
    /// A text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Cell::Text(text.into())
    }
}

macro_rules! cells_of {
    ($($value:ty: $cell:expr),* $(,)?) => { $(
        impl<'a> From<$value> for Cell<'a> {
            fn from(value: $value) -> Self {
                $cell(value)
            }
        }
    )* };
}

cells_of!(
    u64: Cell::Number,
    u32: |number| Cell::Number(u64::from(number)),
    usize: |number| Cell::Number(number as u64),
    i64: Cell::Signed,
    f64: Cell::Share,
    bool: Cell::Flag,
    &'a str: Cell::text,
    Cow<'a, str>: Cell::Text,
    String: Cell::text,
);

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, Into::into)
    }
}

/// Rows on demand.
pub struct Table<'a> {
    /// The columns; the last ones may hold blanks.
    pub columns: Vec<Column>,
    /// Number of rows.
    pub row_count: usize,
    /// Rows that were left out by a limit.
    pub rows_hidden: usize,
    /// Gives a row, one cell per column. Called more than once for a row.
    pub row_at: Box<dyn Fn(usize) -> Vec<Cell<'a>> + 'a>,
}

/// A cell as text, escaped; `-` for a missing one.
fn cell_text<'c>(cell: &'c Cell<'_>, unit: ColumnUnit, human_sizes: bool) -> Cow<'c, str> {
    match cell {
        Cell::Number(number) if human_sizes && unit == ColumnUnit::Bytes => units::format_bytes(*number).into(),
        Cell::Number(number) => number.to_string().into(),
        Cell::Signed(number) if human_sizes && unit == ColumnUnit::Bytes => {
            format!("{}{}", units::sign_prefix(*number), units::format_bytes(number.unsigned_abs())).into()
        }
        Cell::Signed(number) => number.to_string().into(),
        Cell::Share(share) if human_sizes => format!("{:.1} %", share * 100.0).into(),
        Cell::Share(share) => format!("{share:.4}").into(),
        Cell::Flag(flag) => flag.to_string().into(),
        Cell::JsonLiteral(text) => text.as_str().into(),
        Cell::Text(text) => escape_controls(text),
        Cell::Missing => "-".into(),
    }
}
