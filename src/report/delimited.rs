//! CSV and TSV, quoted by the csv crate. A record is one line: a line end in a name is escaped as in tables.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Cell, Style, Table, cell_text};

pub(super) fn write(table: &Table<'_>, out: &mut dyn Write, style: &Style, delimiter: u8) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
    if style.header {
        writer.write_record(table.columns.iter().map(|column| column.key)).map_err(as_io)?;
    }
    // Kept from row to row: there may be millions.
    let (mut record, mut number) = (csv::ByteRecord::new(), String::new());
    for row in 0..table.row_count {
        record.clear();
        for (cell, column) in (table.row)(row).iter().zip(&table.columns) {
            match cell {
                Cell::Missing => record.push_field(b""),
                Cell::Number(value) if !style.human => {
                    number.clear();
                    // Writing to a string cannot fail.
                    let _ = write!(number, "{value}");
                    record.push_field(number.as_bytes());
                }
                _ => record.push_field(cell_text(cell, column.unit, style.human).as_bytes()),
            }
        }
        writer.write_byte_record(&record).map_err(as_io)?;
    }
    writer.flush()
}

fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
