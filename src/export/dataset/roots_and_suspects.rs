//! The tables of what keeps objects alive. `roots`: a row for each root record whose object is in the dump, in the order of
//! the dump. `suspects`: a row for each leak suspect, as `leaks` has them.

use std::io::Write;

use super::TableName;
use super::error::TableError;
use super::object_heap::ObjectHeap;
use super::parquet_table::{ParquetColumn, to_byte_array, to_i32, to_i64, write_table};
use crate::answers::{LeaksOptions, leaks};

/// Writes `roots`. O(root records).
pub(super) fn write_roots<W: Write + Send>(heap: &ObjectHeap<'_>, out: W) -> Result<W, TableError> {
    let graph = heap.graph;
    let roots = graph.roots();
    let columns = [
        ParquetColumn::constant("dump", &heap.dump_id),
        ParquetColumn::new("object", |row| to_i64(roots[row].node.index())).delta_encoded(),
        ParquetColumn::new("kind", |row| to_byte_array(&roots[row].kind.name())),
        ParquetColumn::new("strong", |row| !roots[row].is_weak() && !roots[row].is_excluded),
        // What holds the object in the place of the record.
        ParquetColumn::new("thread", |row| {
            let thread = roots[row].thread.filter(|_| roots[row].is_through_thread)?;
            graph.threads()[thread.index()].node.map(|node| to_i64(node.index()))
        }),
        ParquetColumn::new("flags", |row| {
            let flags = roots[row].flags.names().join(",");
            (!flags.is_empty()).then(|| to_byte_array(&flags))
        }),
        ParquetColumn::new("container", |row| roots[row].declaring_class.map(|type_id| heap.type_name(type_id))),
        ParquetColumn::new("name", |row| graph.root_name(&roots[row]).map(to_byte_array)),
        ParquetColumn::new("type", |row| heap.type_name_of_object(roots[row].node)),
        ParquetColumn::new("retained_bytes", |row| {
            heap.retained.bytes_of(heap.dominators, roots[row].node).map(to_i64)
        }),
    ];
    Ok(write_table(out, TableName::Roots, roots.len(), &columns)?)
}

/// Writes `suspects`. As [`leaks()`].
pub(super) fn write_suspects<W: Write + Send>(heap: &ObjectHeap<'_>, out: W) -> Result<W, TableError> {
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
        ParquetColumn::constant("dump", &heap.dump_id),
        ParquetColumn::new("rank", |row| to_i32(row + 1)),
        ParquetColumn::new("kind", |row| to_byte_array(row_of(row).kind.name())),
        ParquetColumn::new("object", |row| nodes[row].map(|node| to_i64(node.index()))).delta_encoded(),
        ParquetColumn::new("type", |row| to_byte_array(row_of(row).type_name)),
        ParquetColumn::new("objects", |row| to_i64(row_of(row).objects)),
        ParquetColumn::new("retained_bytes", |row| to_i64(row_of(row).retained_bytes)),
        ParquetColumn::new("share", |row| row_of(row).share),
        ParquetColumn::new("accumulation_type", |row| to_byte_array(&point(row).object.type_name)),
        ParquetColumn::new("shape", |row| to_byte_array(point(row).shape)),
        ParquetColumn::new("path", |row| to_byte_array(&path(row))).prefix_encoded(),
        ParquetColumn::new("text", |row| to_byte_array(&suspects[row].text)),
    ];
    Ok(write_table(out, TableName::Suspects, suspects.len(), &columns)?)
}
