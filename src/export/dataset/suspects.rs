//! `suspects`: a row for each leak suspect, as `leaks` has them.

use std::io::Write;

use super::TableName;
use super::error::TableError;
use super::heap::Heap;
use super::table::{Column, signed, small, text_of, write_table};
use crate::answers::{LeaksOptions, leaks};
use crate::graph::NodeId;

struct Row {
    kind: &'static str,
    node: Option<NodeId>,
    type_name: String,
    objects: usize,
    retained_bytes: u64,
    share: f64,
    accumulation_type: String,
    shape: &'static str,
    path: String,
    text: String,
}

/// Writes the table. As [`leaks()`].
pub(super) fn write<W: Write + Send>(heap: &Heap<'_>, out: W) -> Result<W, TableError> {
    let answer = leaks(heap.dump, &LeaksOptions::default())?;
    let rows: Vec<Row> = (0..answer.suspects.len())
        .map(|at| {
            let view = answer.suspects.get(at);
            let names = view.path.row().map(|path| path.nodes().map(|row| row.type_name).collect::<Vec<_>>());
            Row {
                kind: view.row.kind.name(),
                node: answer.suspects.node(at),
                type_name: view.row.type_name.to_string(),
                objects: view.row.objects,
                retained_bytes: view.row.retained_bytes,
                share: view.row.share,
                accumulation_type: view.accumulation_point.object.type_name.to_string(),
                shape: view.accumulation_point.shape,
                path: names.unwrap_or_default().join(" > "),
                text: view.text,
            }
        })
        .collect();
    let columns = [
        Column::constant("dump", &heap.id),
        Column::new("rank", |row| small(row + 1)),
        Column::new("kind", |row| text_of(rows[row].kind)),
        Column::new("object", |row| rows[row].node.map(|node| signed(node.index()))).by_differences(),
        Column::new("type", |row| text_of(&rows[row].type_name)),
        Column::new("objects", |row| signed(rows[row].objects)),
        Column::new("retained_bytes", |row| signed(rows[row].retained_bytes)),
        Column::new("share", |row| rows[row].share),
        Column::new("accumulation_type", |row| text_of(&rows[row].accumulation_type)),
        Column::new("shape", |row| text_of(rows[row].shape)),
        Column::new("path", |row| text_of(&rows[row].path)).by_prefixes(),
        Column::new("text", |row| text_of(&rows[row].text)),
    ];
    Ok(write_table(out, TableName::Suspects, rows.len(), &columns)?)
}
