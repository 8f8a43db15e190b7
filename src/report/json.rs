//! JSON: one object per answer, or one per row.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::{Cell, Column, Table};
use crate::escape::json_serializer;

/// A value, streamed as it serialises itself.
pub(super) fn write_value<T: Serialize + ?Sized>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    Ok(value.serialize(&mut json_serializer(out))?)
}

/// One object a line.
pub(super) fn write_lines(table: &Table<'_>, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..table.row_count {
        write_value(out, &JsonRow { columns: &table.columns, cells: &(table.row)(row) })?;
        writeln!(out)?;
    }
    Ok(())
}

/// A row as an object: the columns' keys and the values.
struct JsonRow<'r> {
    columns: &'r [Column],
    cells: &'r [Cell<'r>],
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        for (Column { key, .. }, cell) in self.columns.iter().zip(self.cells) {
            match cell {
                Cell::Number(number) => row.serialize_entry(key, number)?,
                Cell::Signed(number) => row.serialize_entry(key, number)?,
                Cell::Share(share) => row.serialize_entry(key, share)?,
                Cell::Flag(flag) => row.serialize_entry(key, flag)?,
                Cell::Literal(text) => row.serialize_entry(key, &serde_json::from_str::<&RawValue>(text).ok())?,
                Cell::Text(text) => row.serialize_entry(key, text)?,
                Cell::Missing => row.serialize_entry(key, &())?,
            }
        }
        row.end()
    }
}
