//! `object_references`: a row for each reference between objects of the dump, by source, in the order of the dump.

use std::io::Write;

use super::TableName;
use super::error::TableError;
use super::heap::ObjectHeap;
use super::table::{GROUP_ROWS, ParquetColumn, ParquetTable};
use crate::graph::{NodeId, NodeSet};

/// Writes the table, of the references from all objects or from some. O(objects + references).
pub(super) fn write<W: Write + Send>(heap: &ObjectHeap<'_>, chosen: Option<&NodeSet>, out: W) -> Result<W, TableError> {
    let mut table = ParquetTable::begin(out, TableName::ObjectReferences.name(), &columns(&[]), &[])?;
    let mut rows: Vec<(NodeId, NodeId)> = Vec::with_capacity(GROUP_ROWS.min(heap.graph.reference_count()));
    for source in heap.graph.nodes().filter(|&source| chosen.is_none_or(|chosen| chosen.contains(source))) {
        for reference in heap.graph.references(source) {
            rows.push((source, reference.node));
            if rows.len() == GROUP_ROWS {
                table.write_rows(rows.len(), &columns(&rows))?;
                rows.clear();
            }
        }
    }
    table.write_rows(rows.len(), &columns(&rows))?;
    Ok(table.finish()?)
}

fn columns(rows: &[(NodeId, NodeId)]) -> [ParquetColumn<'_>; 2] {
    [
        ParquetColumn::new("source", |row| rows[row].0.index() as i64).by_differences(),
        ParquetColumn::new("target", |row| rows[row].1.index() as i64).by_differences(),
    ]
}
