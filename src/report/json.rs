//! JSON: one object per command, or one per row.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::escape::{json_serializer, write_json};
use super::{Cell, Column, Nested, Report, Table};

/// A value, streamed as it serialises itself.
pub(super) fn write_value<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    Ok(value.serialize(&mut json_serializer(out))?)
}

/// One object: the schema, the fields, and the rows under their key, streamed.
pub(super) fn write_object(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_members(report, ("schema", &schema(report.command)), out)?;
    writeln!(out)
}

/// One object with such an object for each file under `files`.
pub(super) fn write_files(reports: &[(String, Report<'_>)], command: &str, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"schema\":\"{}\",\"files\":[", schema(command))?;
    for (place, (file, report)) in reports.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        write_members(report, ("file", file), out)?;
    }
    writeln!(out, "]}}")
}

fn schema(command: &str) -> String {
    format!("heapdump.{command}/1")
}

/// An object that begins with this member.
fn write_members(report: &Report<'_>, (key, value): (&str, &str), out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = json_serializer(&mut *out);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry(key, value)?;
    for (key, value) in &(report.fields)() {
        map.serialize_entry(key, value)?;
    }
    if let Some(key) = report.rows_key {
        map.serialize_entry(key, &Rows(&report.table))?;
    }
    match &report.nested {
        None => Ok(SerializeMap::end(map)?),
        // Written by hand from here on, and not by recursion: the tree may be deep.
        Some(nested) => write_nested(nested, out),
    }
}

fn write_nested(nested: &Nested<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, ",\"{}\":[", nested.key)?;
    let mut open = 0;
    for row in 0..nested.row_count {
        let level = (nested.level)(row);
        // One level down from the row before: its first child.
        let is_first = row == 0 || level > (nested.level)(row - 1);
        while open > level {
            out.write_all(b"]}")?;
            open -= 1;
        }
        if !is_first {
            out.write_all(b",")?;
        }
        let mut object = Vec::new();
        let fields = (nested.object)(row);
        write_json(&fields, &mut object)?;
        // Without its closing brace: the children come in.
        object.pop();
        out.write_all(&object)?;
        out.write_all(b",\"children\":[")?;
        open += 1;
    }
    for _ in 0..open {
        out.write_all(b"]}")?;
    }
    out.write_all(b"]}")
}

/// One object a line.
pub(super) fn write_lines(table: &Table<'_>, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..table.row_count {
        let cells = (table.row)(row);
        let mut serializer = json_serializer(&mut *out);
        Row { columns: &table.columns, cells: &cells }.serialize(&mut serializer)?;
        writeln!(out)?;
    }
    Ok(())
}

struct Rows<'r, 'a>(&'r Table<'a>);

impl Serialize for Rows<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.row_count))?;
        for row in 0..self.0.row_count {
            let cells = (self.0.row)(row);
            rows.serialize_element(&Row { columns: &self.0.columns, cells: &cells })?;
        }
        rows.end()
    }
}

struct Row<'r, 'a> {
    columns: &'r [Column],
    cells: &'r [Cell<'a>],
}

impl Serialize for Row<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for (column, cell) in self.columns.iter().zip(self.cells) {
            match cell {
                Cell::Number(number) => map.serialize_entry(column.key, number)?,
                Cell::Signed(number) => map.serialize_entry(column.key, number)?,
                Cell::Share(share) => map.serialize_entry(column.key, share)?,
                Cell::Text(text) => map.serialize_entry(column.key, text)?,
                Cell::Missing => map.serialize_entry(column.key, &())?,
            }
        }
        map.end()
    }
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
            object: Box::new(|row| [("id".to_string(), row.into())].into_iter().collect()),
        };
        let mut out = b"{\"schema\":\"x\"".to_vec();
        write_nested(&nested, &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["nodes"][0]["children"][0]["children"][0]["id"], 2);
        assert_eq!(value["nodes"][0]["children"][1]["id"], 3);
        assert_eq!(value["nodes"][1]["children"][0]["children"], serde_json::json!([]));
        let none = Nested { row_count: 0, ..nested };
        let mut out = b"{\"schema\":\"x\"".to_vec();
        write_nested(&none, &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap()["nodes"], serde_json::json!([]));
    }
}
