//! JSON: one object per command, or one per row.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Cell, Column, Nested, Report, Table};
use crate::escape::json_serializer;

/// A value, streamed as it serialises itself.
pub(super) fn write_value<T: Serialize + ?Sized>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    Ok(value.serialize(&mut json_serializer(out))?)
}

/// The members of a JSON object, written one after another as they come: nothing of them is held.
pub struct Members<'w> {
    out: &'w mut dyn Write,
    is_first: bool,
}

impl<'w> Members<'w> {
    /// Writes an object with what `fill` puts into it.
    fn object(out: &mut dyn Write, fill: impl FnOnce(&mut Members<'_>) -> io::Result<()>) -> io::Result<()> {
        out.write_all(b"{")?;
        fill(&mut Members { out: &mut *out, is_first: true })?;
        out.write_all(b"}")
    }

    fn key(&mut self, key: &str) -> io::Result<&mut dyn Write> {
        if !std::mem::take(&mut self.is_first) {
            self.out.write_all(b",")?;
        }
        write_value(self.out, key)?;
        self.out.write_all(b":")?;
        Ok(self.out)
    }

    /// A member. Values that serialise themselves by walking something are streamed.
    ///
    /// # Errors
    /// When the output cannot be written to.
    pub fn put<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> io::Result<()> {
        write_value(self.key(key)?, value)
    }

    /// Members written for later, as [`Members::put_written`] takes them.
    ///
    /// # Errors
    /// When `fill` has one.
    pub fn written(fill: impl FnOnce(&mut Members<'_>) -> io::Result<()>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        fill(&mut Members { out: &mut text, is_first: true })?;
        Ok(text)
    }

    /// Members that were written before.
    ///
    /// # Errors
    /// When the output cannot be written to.
    pub fn put_written(&mut self, members: &[u8]) -> io::Result<()> {
        if members.is_empty() {
            return Ok(());
        }
        if !std::mem::take(&mut self.is_first) {
            self.out.write_all(b",")?;
        }
        self.out.write_all(members)
    }

    /// All members of an object.
    ///
    /// # Errors
    /// When the output cannot be written to.
    pub fn put_all(&mut self, members: &Map<String, Value>) -> io::Result<()> {
        members.iter().try_for_each(|(key, value)| self.put(key, value))
    }

    /// An array of values, each written before the next is asked for.
    ///
    /// # Errors
    /// When the output cannot be written to.
    pub fn put_each<T: Serialize>(&mut self, key: &str, values: impl IntoIterator<Item = T>) -> io::Result<()> {
        let out = self.key(key)?;
        out.write_all(b"[")?;
        for (place, value) in values.into_iter().enumerate() {
            if place > 0 {
                out.write_all(b",")?;
            }
            write_value(out, &value)?;
        }
        out.write_all(b"]")
    }

    /// An array of objects that `fill` fills, by their place.
    ///
    /// # Errors
    /// When the output cannot be written to.
    pub fn put_objects(
        &mut self,
        key: &str,
        count: usize,
        mut fill: impl FnMut(usize, &mut Members<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let out = self.key(key)?;
        out.write_all(b"[")?;
        for place in 0..count {
            if place > 0 {
                out.write_all(b",")?;
            }
            Members::object(out, |members| fill(place, members))?;
        }
        out.write_all(b"]")
    }

    /// An object that `fill` fills.
    ///
    /// # Errors
    /// When the output cannot be written to.
    pub fn put_object(&mut self, key: &str, fill: impl FnOnce(&mut Members<'_>) -> io::Result<()>) -> io::Result<()> {
        Members::object(self.key(key)?, fill)
    }

    /// A tree with one row at the top, as that row's object.
    ///
    /// # Errors
    /// When the output cannot be written to.
    pub fn put_tree(&mut self, tree: &Nested<'_>) -> io::Result<()> {
        let out = self.key(tree.key)?;
        if tree.row_count == 0 { out.write_all(b"null") } else { write_rows(tree, out) }
    }
}

/// One object: the schema, the fields, and the rows under their key, streamed.
pub(super) fn write_object(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_report(report, ("schema", &schema(report.command)), out)?;
    writeln!(out)
}

/// One object with such an object for each file under `files`.
pub(super) fn write_files(reports: &[(String, Report<'_>)], command: &str, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"schema\":\"{}\",\"files\":[", schema(command))?;
    for (place, (file, report)) in reports.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        write_report(report, ("file", file), out)?;
    }
    writeln!(out, "]}}")
}

fn schema(command: &str) -> String {
    format!("heapdump.{command}/1")
}

/// An object that begins with this member.
fn write_report(report: &Report<'_>, (key, value): (&str, &str), out: &mut dyn Write) -> io::Result<()> {
    Members::object(out, |members| {
        members.put(key, value)?;
        (report.fields)(members)?;
        if let Some(key) = report.rows_key {
            let (table, columns) = (&report.table, &report.table.columns);
            members.put_objects(key, table.row_count, |row, members| put_row(columns, &(table.row)(row), members))?;
        }
        let Some(nested) = &report.nested else { return Ok(()) };
        let out = members.key(nested.key)?;
        out.write_all(b"[")?;
        write_rows(nested, out)?;
        out.write_all(b"]")
    })
}

/// The rows of a tree, each with those below it as its children. By hand and not by recursion: the tree may be deep.
fn write_rows(tree: &Nested<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut open = 0;
    for row in 0..tree.row_count {
        let level = (tree.level)(row);
        // One level down from the row before: its first child.
        let is_first = row == 0 || level > (tree.level)(row - 1);
        while open > level {
            out.write_all(b"]}")?;
            open -= 1;
        }
        out.write_all(if is_first { b"{" } else { b",{" })?;
        let mut members = Members { out: &mut *out, is_first: true };
        (tree.object)(row, &mut members)?;
        members.key("children")?.write_all(b"[")?;
        open += 1;
    }
    for _ in 0..open {
        out.write_all(b"]}")?;
    }
    Ok(())
}

/// One object a line.
pub(super) fn write_lines(table: &Table<'_>, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..table.row_count {
        let cells = (table.row)(row);
        Members::object(out, |members| put_row(&table.columns, &cells, members))?;
        writeln!(out)?;
    }
    Ok(())
}

fn put_row(columns: &[Column], cells: &[Cell<'_>], members: &mut Members<'_>) -> io::Result<()> {
    for (column, cell) in columns.iter().zip(cells) {
        match cell {
            Cell::Number(number) => members.put(column.key, number)?,
            Cell::Signed(number) => members.put(column.key, number)?,
            Cell::Share(share) => members.put(column.key, share)?,
            Cell::Text(text) => members.put(column.key, text)?,
            Cell::Missing => members.put(column.key, &())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_nested_as_its_levels_say() {
        let levels = [0, 1, 2, 1, 0, 1];
        let nested = Nested {
            key: "nodes",
            row_count: levels.len(),
            level: Box::new(move |row| levels[row]),
            object: Box::new(|row, members| members.put("id", &row)),
        };
        let report = |nested| Report {
            command: "x",
            fields: Box::new(|_| Ok(())),
            table: Table { columns: Vec::new(), row_count: 0, rows_hidden: 0, row: Box::new(|_| Vec::new()) },
            rows_key: None,
            nested: Some(nested),
            summary: String::new(),
            text: None,
            markdown: None,
        };
        let value = |nested| -> Value {
            let mut out = Vec::new();
            write_object(&report(nested), &mut out).unwrap();
            serde_json::from_slice(&out).unwrap()
        };
        let none = Nested { key: "nodes", row_count: 0, level: Box::new(|_| 0), object: Box::new(|_, _| Ok(())) };
        let value_of_all = value(nested);
        assert_eq!(value_of_all["nodes"][0]["children"][0]["children"][0]["id"], 2);
        assert_eq!(value_of_all["nodes"][0]["children"][1]["id"], 3);
        assert_eq!(value_of_all["nodes"][1]["children"][0]["children"], serde_json::json!([]));
        assert_eq!(value(none)["nodes"], serde_json::json!([]));
    }
}
