//! Markdown tables, for tickets.

use std::io::{self, Write};

use super::{Cell, Style, Table, Unit, cell_text};
use crate::escape::code_span;

pub(super) fn write(table: &Table<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    if style.header {
        for column in &table.columns {
            write!(out, "| {} ", column.title.replace('\n', " "))?;
        }
        writeln!(out, "|")?;
        for column in &table.columns {
            let rule = if matches!(column.unit, Unit::Word | Unit::Text) { "---" } else { "---:" };
            write!(out, "| {rule} ")?;
        }
        writeln!(out, "|")?;
    }
    for row in 0..table.row_count {
        for (cell, column) in (table.row)(row).iter().zip(&table.columns) {
            match cell {
                Cell::Text(text) => write!(out, "| {} ", code_span(text))?,
                _ => write!(out, "| {} ", cell_text(cell, column.unit, style.human))?,
            }
        }
        writeln!(out, "|")?;
    }
    Ok(())
}
