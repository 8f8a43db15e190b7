//! Forms that are rows alone: CSV and TSV, quoted by the csv crate; JSON, one object per answer or one per row; Markdown,
//! for tickets. A record of CSV is one line: a line end in a name is escaped as in tables.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::{Cell, Column, ColumnUnit, Style, Table, cell_text};
use crate::escape::{code_span, json_serializer};

/// CSV or TSV.
pub(super) fn write_delimited(table: &Table<'_>, out: &mut dyn Write, style: &Style, delimiter: u8) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
    if style.has_header {
        let keys = table.columns.iter().map(|column| column.key.as_ref());
        writer.write_record(keys.map(|key| csv_safe_text(key.into(), style).into_owned())).map_err(io_error_of_csv)?;
    }
    // Kept from row to row: there may be millions.
    let (mut record, mut digits) = (csv::ByteRecord::new(), [0; 20]);
    for row in 0..table.row_count {
        record.clear();
        for (cell, column) in (table.row_at)(row).iter().zip(&table.columns) {
            match cell {
                Cell::Missing => record.push_field(b""),
                Cell::Number(number) if !style.has_human_sizes => {
                    record.push_field(decimal_digits(*number, &mut digits))
                }
                Cell::Text(_) => record
                    .push_field(csv_safe_text(cell_text(cell, column.unit, style.has_human_sizes), style).as_bytes()),
                _ => record.push_field(cell_text(cell, column.unit, style.has_human_sizes).as_bytes()),
            }
        }
        writer.write_byte_record(&record).map_err(io_error_of_csv)?;
    }
    writer.flush()
}

/// The text, behind a mark where a spreadsheet would take it for a formula, and marks are asked for.
fn csv_safe_text<'t>(text: Cow<'t, str>, style: &Style) -> Cow<'t, str> {
    if style.is_csv_safe && text.starts_with(['=', '+', '-', '@']) { format!("'{text}").into() } else { text }
}

/// The digits of a number: what most fields are, without the machinery of formatting.
fn decimal_digits(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}

fn io_error_of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A value, streamed as it serialises itself.
pub(super) fn write_json<T: Serialize + ?Sized>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    Ok(value.serialize(&mut json_serializer(out))?)
}

/// One object a line.
pub(super) fn write_json_lines(table: &Table<'_>, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..table.row_count {
        write_json(out, &JsonRow { columns: &table.columns, cells: &(table.row_at)(row) })?;
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
                Cell::JsonLiteral(text) => row.serialize_entry(key, &serde_json::from_str::<&RawValue>(text).ok())?,
                Cell::Text(text) => row.serialize_entry(key, text)?,
                Cell::Missing => row.serialize_entry(key, &())?,
            }
        }
        row.end()
    }
}

pub(super) fn write_markdown(table: &Table<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    if style.has_header {
        for column in &table.columns {
            write!(out, "| {} ", column.title.replace('\n', " "))?;
        }
        writeln!(out, "|")?;
        for column in &table.columns {
            let rule = if matches!(column.unit, ColumnUnit::Word | ColumnUnit::Text) { "---" } else { "---:" };
            write!(out, "| {rule} ")?;
        }
        writeln!(out, "|")?;
    }
    for row in 0..table.row_count {
        for (cell, column) in (table.row_at)(row).iter().zip(&table.columns) {
            match cell {
                Cell::Text(text) => write!(out, "| {} ", code_span(text))?,
                _ => write!(out, "| {} ", cell_text(cell, column.unit, style.has_human_sizes))?,
            }
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::decimal_digits;

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 7, 10, 4096, u64::MAX] {
            assert_eq!(decimal_digits(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}
