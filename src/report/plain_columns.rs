//! Columns aligned by blanks, for pipes: no borders, nothing shortened. Up to the last column of numbers every field is one
//! word; the columns behind it hold names and texts as they are, two blanks apart.

use std::borrow::Cow;
use std::io::{self, Write};

use super::{Cell, Column, ColumnUnit, Style, Table, cell_text, escape_controls};

/// Rows that decide how wide columns are: the first row of millions is there at once. What is wider further down moves
/// the rest of its line.
const MEASURED_ROWS: usize = 4096;

pub(super) fn write_plain_table(table: &Table<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let last = table.columns.len().saturating_sub(1);
    // The first of the columns behind the last one of numbers, but never the first of the table.
    let texts = table.columns.iter().rposition(|column| is_number_unit(column.unit)).map_or(1, |place| place + 1);
    let mut widths: Vec<usize> = table
        .columns
        .iter()
        .map(|column| if style.has_header { column_key(column).chars().count() } else { 1 })
        .collect();
    for row in 0..table.row_count.min(MEASURED_ROWS) {
        for (place, cell) in (table.row_at)(row).iter().enumerate().take(last) {
            widths[place] = widths[place].max(cell_width(cell, table.columns[place].unit, style, place >= texts));
        }
    }
    let mut line = String::new();
    if style.has_header {
        for (place, column) in table.columns.iter().enumerate() {
            push_padded(&mut line, &column_key(column), widths[place], is_number_unit(column.unit), place == last);
            line.extend((place >= texts && place < last).then_some(' '));
        }
        writeln!(out, "{line}")?;
    }
    for row in 0..table.row_count {
        line.clear();
        for (place, cell) in (table.row_at)(row).iter().enumerate() {
            let unit = table.columns[place].unit;
            let text = cell_text(cell, unit, style.has_human_sizes);
            let text = if place < texts { without_blanks(text, unit) } else { text };
            push_padded(&mut line, &text, widths[place], is_number_unit(unit), place == last);
            line.extend((place >= texts && place < last).then_some(' '));
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The key of a column; what dumps are called may hold blanks.
fn column_key(column: &Column) -> Cow<'_, str> {
    without_blanks(escape_controls(&column.key), ColumnUnit::Word)
}

fn is_number_unit(unit: ColumnUnit) -> bool {
    matches!(unit, ColumnUnit::Count | ColumnUnit::Bytes | ColumnUnit::Share)
}

/// The field as one word: a human size does without its blank, a name gets it escaped.
fn without_blanks(text: Cow<'_, str>, unit: ColumnUnit) -> Cow<'_, str> {
    match text.contains(' ') {
        true if is_number_unit(unit) => text.replace(' ', "").into(),
        true => text.replace(' ', "\\u{20}").into(),
        false => text,
    }
}

/// Characters that a cell takes.
fn cell_width(cell: &Cell<'_>, unit: ColumnUnit, style: &Style, is_text: bool) -> usize {
    match cell {
        Cell::Number(number) if !(style.has_human_sizes && unit == ColumnUnit::Bytes) => {
            number.checked_ilog10().unwrap_or(0) as usize + 1
        }
        _ if is_text => cell_text(cell, unit, style.has_human_sizes).chars().count(),
        _ => without_blanks(cell_text(cell, unit, style.has_human_sizes), unit).chars().count(),
    }
}

fn push_padded(line: &mut String, text: &str, width: usize, right: bool, last: bool) {
    let padding = width.saturating_sub(text.chars().count());
    if right {
        line.extend(std::iter::repeat_n(' ', padding));
    }
    line.push_str(text);
    if !last {
        if !right {
            line.extend(std::iter::repeat_n(' ', padding));
        }
        line.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Counter;

    use super::*;

    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn names_behind_the_last_number_keep_their_blanks() {
        let table = Table {
            columns: vec![
                Column::word("of", "Of"),
                Column::count("n", "N"),
                Column::word("reference", "Reference"),
                Column::text("type", "Type"),
            ],
            row_count: 2,
            rows_hidden: 0,
            row_at: Box::new(|row| match row {
                0 => vec![Cell::text("a b"), 1u64.into(), Cell::text("local of f (F.java:1)"), Cell::text("A B")],
                _ => vec![Cell::text("c"), 23u64.into(), Cell::Missing, Cell::text("C")],
            }),
        };
        let mut out = Vec::new();
        write_plain_table(&table, &mut out, &Style::PLAIN).unwrap();
        let expected = "of        n reference              type\n\
                        a\\u{20}b  1 local of f (F.java:1)  A B\n\
                        c        23 -                      C\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn millions_of_rows_begin_at_once() {
        let asked = Counter::new(0usize);
        let table = Table {
            columns: vec![Column::count("n", "N"), Column::text("type", "Type")],
            row_count: 10_000_000,
            rows_hidden: 0,
            row_at: Box::new(|row| {
                asked.set(asked.get() + 1);
                vec![Cell::Number(row as u64), Cell::text("T")]
            }),
        };
        assert!(write_plain_table(&table, &mut Broken, &Style::PLAIN).is_err());
        assert!(asked.get() <= MEASURED_ROWS, "{} rows before the first line", asked.get());
        // A figure that is wider than all that were measured keeps its blank.
        let table = Table { row_count: 20_000, ..table };
        let mut out = Vec::new();
        write_plain_table(&table, &mut out, &Style::PLAIN).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!((text.lines().nth(10), text.lines().last()), (Some("   9 T"), Some("19999 T")));
    }
}
