//! CSV and TSV, quoted by the csv crate. A record is one line: a line end in a name is escaped as in tables.

use std::io::{self, Write};

use super::{Cell, Style, Table, cell_text};

pub(super) fn write(table: &Table<'_>, out: &mut dyn Write, style: &Style, delimiter: u8) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
    if style.header {
        writer.write_record(table.columns.iter().map(|column| column.key)).map_err(as_io)?;
    }
    for row in 0..table.row_count {
        let cells = (table.row)(row);
        for (cell, column) in cells.iter().zip(&table.columns) {
            let written = match cell {
                Cell::Missing => writer.write_field(""),
                _ => writer.write_field(cell_text(cell, column.unit, style.human).as_bytes()),
            };
            written.map_err(as_io)?;
        }
        writer.write_record(None::<&[u8]>).map_err(as_io)?;
    }
    writer.flush()
}

fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
