//! What `heapdump info` says of every dump, of objects or of allocations: its table, its records and its problems.

use std::io;

use serde_json::{Map, Value};

use crate::input::{Diagnostics, Facts};
use crate::report::{Cell, Column, Members, Report, Style, Table, Unit, count_of, escape_controls};

/// Field and value, a line each: for pipes.
#[derive(Default)]
pub(super) struct Rows(Vec<(String, String)>);

impl Rows {
    /// Adds a field that has a value.
    pub(super) fn say(&mut self, field: impl Into<String>, value: Option<String>) {
        self.0.extend(value.map(|value| (field.into(), value)));
    }

    pub(super) fn say_encoding(&mut self, facts: &Facts) {
        self.say("encoding", facts.encoding.map(str::to_string));
        self.say("compression", (!facts.compression.is_empty()).then(|| facts.compression.join(" ")));
    }

    pub(super) fn say_records(&mut self, facts: &Facts) {
        for &(kind, count) in &facts.records {
            self.say(format!("records.{kind}"), Some(count.to_string()));
        }
    }

    pub(super) fn say_problems(&mut self, diagnostics: &Diagnostics) {
        for problem in diagnostics.sorted() {
            self.say(format!("problem.{}", problem.code.name), Some(format!("{} {}", problem.count, problem.first_at)));
        }
    }

    /// The rows as a report; `fields` for JSON, `text` for people.
    pub(super) fn report<'a>(
        &'a self,
        fields: impl Fn(&mut Members<'_>) -> io::Result<()> + 'a,
        text: impl Fn() -> String + 'a,
    ) -> Report<'a> {
        Report {
            command: "info",
            fields: Box::new(fields),
            table: Table {
                columns: vec![Column::new("field", "Field", Unit::Word), Column::new("value", "Value", Unit::Text)],
                row_count: self.0.len(),
                rows_hidden: 0,
                row: Box::new(|row| vec![Cell::text(self.0[row].0.as_str()), Cell::text(self.0[row].1.as_str())]),
            },
            rows_key: None,
            nested: None,
            summary: String::new(),
            text: Some(Box::new(move |out| out.write_all(text().as_bytes()))),
            markdown: None,
        }
    }
}

/// Records by kind, for JSON.
pub(super) fn records_json(facts: &Facts) -> Map<String, Value> {
    facts.records.iter().map(|&(kind, count)| (kind.to_string(), count.into())).collect()
}

/// Field and value, for people: a line each, or several where the terminal is narrow.
pub(super) struct Lines {
    pub(super) text: String,
    width: usize,
}

impl Lines {
    pub(super) fn new(style: &Style) -> Self {
        Lines { text: String::new(), width: style.width }
    }

    pub(super) fn say(&mut self, field: &str, value: impl AsRef<str>) {
        const INDENT: usize = 13;
        let value = escape_controls(value.as_ref());
        let mut line = format!("{field:<width$}", width = INDENT - 1);
        let mut used = INDENT - 1;
        for word in value.split(' ') {
            let length = word.chars().count();
            if used >= INDENT && used + 1 + length > self.width {
                line += &format!("\n{:width$}", "", width = INDENT - 1);
                used = INDENT - 1;
            }
            line.push(' ');
            line += word;
            used += 1 + length;
        }
        self.text += &line;
        self.text.push('\n');
    }

    pub(super) fn say_format(&mut self, facts: &Facts) {
        self.say("format", format!("{} ({})", facts.title, facts.format));
        if let Some(version) = &facts.version {
            self.say("version", version);
        }
        if let Some(producer) = &facts.producer {
            self.say("producer", producer);
        }
        let packing: String = facts.compression.iter().map(|packing| format!(", {packing}")).collect();
        self.say("encoding", format!("{}{packing}", facts.encoding.unwrap_or("binary")));
    }

    pub(super) fn say_records(&mut self, facts: &Facts) {
        let records: Vec<String> =
            facts.records.iter().map(|&(kind, count)| count_of(count, &kind.replace('_', " "))).collect();
        self.say("records", records.join(", "));
    }

    pub(super) fn say_problems(&mut self, diagnostics: &Diagnostics) {
        let problems = diagnostics.sorted();
        if problems.is_empty() {
            self.say("problems", "none");
        }
        for problem in problems {
            let (name, meaning, at) = (problem.code.name, problem.code.meaning, &problem.first_at);
            // Meanings are in the plural.
            self.say(
                "problem",
                match problem.count {
                    1 => format!("{meaning} ({name}, once, at {at})"),
                    count => format!("{count} {meaning} ({name}, first at {at})"),
                },
            );
        }
    }
}
