//! Tables for people, fitted to the width of the terminal.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table as Drawn, presets};

use super::{Cell, Style, Table, Unit, cell_text, units};

/// Rows drawn as one table; comfy-table takes some 2 KB a row, so longer answers come in several.
const ROWS_AT_ONCE: usize = 2000;
/// A name is never cut below this, however narrow the terminal.
const SHORTEST_NAME: usize = 20;

pub(super) fn write(table: &Table<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let mut start = 0;
    loop {
        let end = (start + ROWS_AT_ONCE).min(table.row_count);
        writeln!(out, "{}", draw(table, start..end, style))?;
        start = end;
        if start == table.row_count {
            break;
        }
    }
    if table.rows_hidden > 0 {
        writeln!(out, "{} more rows; -n 0 shows all", units::format_count(table.rows_hidden as u64))?;
    }
    Ok(())
}

fn draw(table: &Table<'_>, rows: std::ops::Range<usize>, style: &Style) -> String {
    let last = table.columns.len().saturating_sub(1);
    let texts: Vec<Vec<String>> = rows
        .map(|row| {
            (table.row)(row).iter().zip(&table.columns).map(|(cell, column)| text(cell, column.unit, style)).collect()
        })
        .collect();
    // What borders and the other columns leave for the last one.
    let others: usize = (0..last)
        .map(|place| {
            let widest = texts.iter().map(|row| row[place].chars().count()).max().unwrap_or(0);
            widest.max(table.columns[place].title.chars().count()) + 3
        })
        .sum();
    let room = style.width.saturating_sub(others + 4).max(SHORTEST_NAME);

    let mut drawn = Drawn::new();
    drawn.load_style(presets::UTF8_FULL_CONDENSED);
    drawn.set_content_arrangement(ContentArrangement::Disabled);
    if style.header {
        drawn.set_header(table.columns.iter().map(|column| column.title));
    }
    for row in texts {
        drawn.add_row(row.into_iter().enumerate().map(
            |(place, text)| {
                if place == last { shorten_middle(&text, room) } else { text }
            },
        ));
    }
    for (place, column) in table.columns.iter().enumerate() {
        if matches!(column.unit, Unit::Count | Unit::Bytes | Unit::Share)
            && let Some(drawn_column) = drawn.column_mut(place)
        {
            drawn_column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = drawn.to_string();
    if text.lines().any(|line| line.chars().count() > style.width) {
        // Without borders it is narrower by two characters a column.
        drawn.load_style(presets::NOTHING);
        return drawn.lines().map(|line| line.trim_end().to_string() + "\n").collect::<String>().trim_end().to_string();
    }
    text
}

fn text(cell: &Cell<'_>, unit: Unit, style: &Style) -> String {
    match cell {
        Cell::Number(number) if unit == Unit::Count => units::format_count(*number),
        Cell::Number(number) if !style.human => units::format_count(*number),
        _ => cell_text(cell, unit, style.human).into_owned(),
    }
}

/// Takes characters out of the middle: both ends of a type name tell more than its middle.
pub fn shorten_middle(text: &str, room: usize) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_string();
    }
    let room = room.max(3);
    let front = (room - 1) / 2;
    let back = room - 1 - front;
    let start: String = text.chars().take(front).collect();
    let end: String = text.chars().skip(count - back).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    #[test]
    fn a_table_fits_the_terminal() {
        let table = Table {
            columns: vec![Column::new("objects", "Objects", Unit::Count), Column::new("type", "Type", Unit::Text)],
            row_count: 2,
            rows_hidden: 3,
            row: Box::new(|row| vec![Cell::Number(1000 + row as u64), Cell::text("x".repeat(200))]),
        };
        for width in [60, 80, 200] {
            let style = Style {
                format: super::super::Format::Table,
                terminal: true,
                width,
                human: true,
                header: true,
                color: false,
            };
            let mut out = Vec::new();
            write(&table, &mut out, &style).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("1,001") && text.contains("3 more rows"));
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width && widest + 2 >= width.min(215), "{widest} of {width}\n{text}");
        }
    }
}
