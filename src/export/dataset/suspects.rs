//! `suspects`: a row for each leak suspect, as `leaks` has them.

use std::io::Write;

use super::TableName;
use super::error::TableError;
use super::heap::Heap;
use super::table::{Column, signed, small, text_of, write_table};
use crate::answers::{LeaksOptions, leaks};

/// Writes the table. As [`leaks()`].
pub(super) fn write<W: Write + Send>(heap: &Heap<'_>, out: W) -> Result<W, TableError> {
    let answer = leaks(heap.dump, &LeaksOptions::default())?;
    let suspects: Vec<_> = answer.suspects.iter().collect();
    let nodes: Vec<_> = (0..suspects.len()).map(|at| answer.suspects.node(at)).collect();
    let path = |row: usize| -> String {
        let names = suspects[row].path.row().map(|path| path.nodes().map(|row| row.type_name).collect::<Vec<_>>());
        names.unwrap_or_default().join(" > ")
    };
    let row_of = |row: usize| &suspects[row].row;
    let point = |row: usize| &suspects[row].accumulation_point;
    let columns = [
        Column::constant("dump", &heap.id),
        Column::new("rank", |row| small(row + 1)),
        Column::new("kind", |row| text_of(row_of(row).kind.name())),
        Column::new("object", |row| nodes[row].map(|node| signed(node.index()))).by_differences(),
        Column::new("type", |row| text_of(row_of(row).type_name)),
        Column::new("objects", |row| signed(row_of(row).objects)),
        Column::new("retained_bytes", |row| signed(row_of(row).retained_bytes)),
        Column::new("share", |row| row_of(row).share),
        Column::new("accumulation_type", |row| text_of(&point(row).object.type_name)),
        Column::new("shape", |row| text_of(point(row).shape)),
        Column::new("path", |row| text_of(&path(row))).by_prefixes(),
        Column::new("text", |row| text_of(&suspects[row].text)),
    ];
    Ok(write_table(out, TableName::Suspects, suspects.len(), &columns)?)
}
