//! `roots`: a row for each root record whose object is in the dump, in the order of the dump.

use std::io::Write;

use super::TableName;
use super::error::TableError;
use super::heap::Heap;
use super::table::{Column, signed, text_of, write_table};

/// Writes the table. O(root records).
pub(super) fn write<W: Write + Send>(heap: &Heap<'_>, out: W) -> Result<W, TableError> {
    let graph = heap.graph;
    let roots = graph.roots();
    let columns = [
        Column::constant("dump", &heap.id),
        Column::new("object", |row| signed(roots[row].node.index())).by_differences(),
        Column::new("kind", |row| text_of(&roots[row].kind.name())),
        // What a thread holds for its stack is held by that record.
        Column::new("strong", |row| !roots[row].is_weak() && !roots[row].excluded),
        Column::new("flags", |row| {
            let flags = roots[row].flags.names().join(",");
            (!flags.is_empty()).then(|| text_of(&flags))
        }),
        Column::new("container", |row| roots[row].container.map(|type_id| heap.name_of(type_id))),
        Column::new("name", |row| graph.root_name(&roots[row]).map(text_of)),
        Column::new("type", |row| heap.type_of(roots[row].node)),
        Column::new("retained_bytes", |row| heap.retained.bytes_of(heap.dominators, roots[row].node).map(signed)),
    ];
    Ok(write_table(out, TableName::Roots, roots.len(), &columns)?)
}
