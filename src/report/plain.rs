//! Columns aligned by blanks, for pipes: no borders, nothing shortened, the one column that may hold blanks last.

use std::borrow::Cow;
use std::io::{self, Write};

use super::{Cell, Style, Table, Unit, cell_text};

pub(super) fn write(table: &Table<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let last = table.columns.len().saturating_sub(1);
    let mut widths: Vec<usize> =
        table.columns.iter().map(|column| if style.header { column.key.len() } else { 1 }).collect();
    for row in 0..table.row_count {
        for (place, cell) in (table.row)(row).iter().enumerate().take(last) {
            widths[place] = widths[place].max(width_of(cell, table.columns[place].unit, style));
        }
    }
    let mut line = String::new();
    if style.header {
        for (place, column) in table.columns.iter().enumerate() {
            push(&mut line, &column.key, widths[place], is_number(column.unit), place == last);
        }
        writeln!(out, "{line}")?;
    }
    for row in 0..table.row_count {
        line.clear();
        for (place, cell) in (table.row)(row).iter().enumerate() {
            let unit = table.columns[place].unit;
            let text = cell_text(cell, unit, style.human);
            let text = if place < last { one_word(text, unit) } else { text };
            push(&mut line, &text, widths[place], is_number(unit), place == last);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn is_number(unit: Unit) -> bool {
    matches!(unit, Unit::Count | Unit::Bytes | Unit::Share)
}

/// In a pipe a field is one word: a human size does without its blank, a name gets it escaped.
fn one_word(text: Cow<'_, str>, unit: Unit) -> Cow<'_, str> {
    match text.contains(' ') {
        true if is_number(unit) => text.replace(' ', "").into(),
        true => text.replace(' ', "\\u{20}").into(),
        false => text,
    }
}

fn width_of(cell: &Cell<'_>, unit: Unit, style: &Style) -> usize {
    match cell {
        Cell::Number(number) if !(style.human && unit == Unit::Bytes) => {
            number.checked_ilog10().unwrap_or(0) as usize + 1
        }
        _ => one_word(cell_text(cell, unit, style.human), unit).chars().count(),
    }
}

fn push(line: &mut String, text: &str, width: usize, right: bool, last: bool) {
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
