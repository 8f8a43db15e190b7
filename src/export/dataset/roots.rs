//! `roots`: a row for each root record whose object is in the dump, in the order of the dump.

use std::io::Write;

use super::TableName;
use super::error::TableError;
use super::heap::ObjectHeap;
use super::table::{ParquetColumn, signed, text_of, write_table};

/// Writes the table. O(root records).
pub(super) fn write<W: Write + Send>(heap: &ObjectHeap<'_>, out: W) -> Result<W, TableError> {
    let graph = heap.graph;
    let roots = graph.roots();
    let columns = [
        ParquetColumn::constant("dump", &heap.id),
        ParquetColumn::new("object", |row| signed(roots[row].node.index())).by_differences(),
        ParquetColumn::new("kind", |row| text_of(&roots[row].kind.name())),
        // What a thread holds for its stack is held by that record.
        ParquetColumn::new("strong", |row| !roots[row].is_weak() && !roots[row].excluded),
        ParquetColumn::new("flags", |row| {
            let flags = roots[row].flags.names().join(",");
            (!flags.is_empty()).then(|| text_of(&flags))
        }),
        ParquetColumn::new("container", |row| roots[row].container.map(|type_id| heap.name_of(type_id))),
        ParquetColumn::new("name", |row| graph.root_name(&roots[row]).map(text_of)),
        ParquetColumn::new("type", |row| heap.type_of(roots[row].node)),
        ParquetColumn::new("retained_bytes", |row| {
            heap.retained.bytes_of(heap.dominators, roots[row].node).map(signed)
        }),
    ];
    Ok(write_table(out, TableName::Roots, roots.len(), &columns)?)
}
