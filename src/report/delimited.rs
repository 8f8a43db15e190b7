//! CSV and TSV, quoted by the csv crate. A record is one line: a line end in a name is escaped as in tables.

use std::borrow::Cow;
use std::io::{self, Write};

use super::{Cell, Style, Table, cell_text};

pub(super) fn write(table: &Table<'_>, out: &mut dyn Write, style: &Style, delimiter: u8) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
    if style.header {
        let keys = table.columns.iter().map(|column| column.key.as_ref());
        writer.write_record(keys.map(|key| safe(key.into(), style).into_owned())).map_err(as_io)?;
    }
    // Kept from row to row: there may be millions.
    let (mut record, mut digits) = (csv::ByteRecord::new(), [0; 20]);
    for row in 0..table.row_count {
        record.clear();
        for (cell, column) in (table.row)(row).iter().zip(&table.columns) {
            match cell {
                Cell::Missing => record.push_field(b""),
                Cell::Number(number) if !style.human => record.push_field(decimal(*number, &mut digits)),
                Cell::Text(_) => record.push_field(safe(cell_text(cell, column.unit, style.human), style).as_bytes()),
                _ => record.push_field(cell_text(cell, column.unit, style.human).as_bytes()),
            }
        }
        writer.write_byte_record(&record).map_err(as_io)?;
    }
    writer.flush()
}

/// The text, behind a mark where a spreadsheet would take it for a formula, and marks are asked for.
fn safe<'t>(text: Cow<'t, str>, style: &Style) -> Cow<'t, str> {
    if style.csv_safe && text.starts_with(['=', '+', '-', '@']) { format!("'{text}").into() } else { text }
}

/// The digits of a number: what most fields are, without the machinery of formatting.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
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

fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 7, 10, 4096, u64::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}
