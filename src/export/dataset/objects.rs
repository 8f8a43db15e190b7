//! The tables with a row for each object or reference. `objects`: by number, which is the order of section and id.
//! `object_references`: by source, in the order of the dump.

use std::io::Write;

use parquet::data_type::ByteArray;

use super::TableName;
use super::error::TableError;
use super::object_heap::ObjectHeap;
use super::parquet_table::{MAX_GROUP_ROWS, ParquetColumn, ParquetTable, to_byte_array, to_i32, to_i64, write_table};
use crate::analysis::dominator_order::DominatorOrder;
use crate::analysis::dominators::{Dominator, DominatorNode};
use crate::dump::AnswerNeed;
use crate::graph::{Generation, NodeId, NodeSet, Reference};

/// Bytes that a row group of all columns takes beside the graph at most, packed and on its way to be.
const ROW_GROUP_BYTES: u64 = 64 << 20;
/// The order of the dominator tree, by object, with what it takes while it is made.
const TREE_ORDER_BYTES_PER_OBJECT: u64 = 12;

/// Writes `objects`, of all objects or of some. O(objects), its columns on all threads; 8 bytes per object, 12 while
/// the order is made, and 4 for each that is chosen.
pub(super) fn write_objects<W: Write + Send>(
    heap: &ObjectHeap<'_>,
    chosen: Option<&NodeSet>,
    out: W,
) -> Result<W, TableError> {
    let ObjectHeap { dump, graph, dominators, retained, .. } = *heap;
    let count = graph.node_count();
    if chosen.is_some() {
        dump.check_rows_memory(count as u64, 4)?;
    }
    // By row the number of its object, where not all have one.
    let numbers: Option<Vec<u32>> =
        chosen.map(|chosen| (0..count as u32).filter(|&at| chosen.contains(NodeId::new(at as usize))).collect());
    let node_at = |row: usize| NodeId::new(numbers.as_ref().map_or(row, |numbers| numbers[row] as usize));
    dump.check_answer_memory(
        AnswerNeed::DominatorDescent,
        ROW_GROUP_BYTES.saturating_add(TREE_ORDER_BYTES_PER_OBJECT.saturating_mul(count as u64)),
    )?;
    let order = DominatorOrder::compute(dominators, retained);
    let name_of = |generation: Generation| generation.is_in_range().then(|| to_byte_array(&generation.name()));
    let generations: Vec<(usize, Option<ByteArray>)> =
        graph.generations().iter().map(|run| (run.nodes.end, name_of(run.generation))).collect();
    let number = |row| dominators.number_of(node_at(row));
    let of_tree = |value: fn(&DominatorOrder, DominatorNode) -> u32| {
        let order = &order;
        move |row| number(row).map(|number| value(order, number))
    };
    let (place, depth) = (of_tree(DominatorOrder::walk_place_at), of_tree(DominatorOrder::depth_at));
    let columns = [
        ParquetColumn::new("object", |row| to_i64(node_at(row).index())).delta_encoded(),
        // The same 64 bits: from 2^63 on negative.
        ParquetColumn::new("id", |row| graph.original_id(node_at(row)).cast_signed()).delta_encoded(),
        ParquetColumn::new("section", |row| to_i32(graph.section_of(node_at(row)).number())),
        ParquetColumn::new("type", |row| heap.type_name_of_object(node_at(row))),
        ParquetColumn::new("class", |row| {
            graph.types().type_of_class_object(node_at(row)).map(|type_id| heap.type_name(type_id))
        }),
        ParquetColumn::new("shallow_bytes", |row| to_i64(graph.shallow_bytes(node_at(row)))),
        ParquetColumn::new("retained_bytes", |row| number(row).map(|number| to_i64(retained.bytes_at(number)))),
        ParquetColumn::new("dominator", |row| match dominators.dominator_of(node_at(row)) {
            Dominator::Node(node) => Some(to_i64(node.index())),
            Dominator::Roots | Dominator::Unreachable => None,
        })
        .delta_encoded(),
        ParquetColumn::new("dominator_depth", move |row| depth(row).map(to_i32)),
        ParquetColumn::new("dominator_order", move |row| place(row).map(to_i64)).delta_encoded(),
        ParquetColumn::new("dominated_objects", |row| number(row).map(|number| to_i64(retained.objects_at(number)))),
        ParquetColumn::new("reference_count", |row| to_i32(graph.stored_reference_count(node_at(row)))),
        ParquetColumn::new("generation", |row| {
            let run = generations.partition_point(|&(end, _)| end <= node_at(row).index());
            generations.get(run).and_then(|(_, name)| name.clone())
        }),
    ];
    Ok(write_table(out, TableName::Objects, numbers.as_ref().map_or(count, Vec::len), &columns)?)
}

/// Writes `object_references`, of the references from all objects or from some. O(objects + references).
pub(super) fn write_references<W: Write + Send>(
    heap: &ObjectHeap<'_>,
    chosen: Option<&NodeSet>,
    out: W,
) -> Result<W, TableError> {
    let mut table = ParquetTable::begin(out, TableName::ObjectReferences.name(), &columns_of_references(&[]), &[])?;
    let mut rows: Vec<(NodeId, Reference)> = Vec::with_capacity(MAX_GROUP_ROWS.min(heap.graph.reference_count()));
    for source in heap.graph.nodes().filter(|&source| chosen.is_none_or(|chosen| chosen.contains(source))) {
        for reference in heap.graph.references(source) {
            rows.push((source, reference));
            if rows.len() == MAX_GROUP_ROWS {
                table.write_rows(rows.len(), &columns_of_references(&rows))?;
                rows.clear();
            }
        }
    }
    table.write_rows(rows.len(), &columns_of_references(&rows))?;
    Ok(table.finish()?)
}

fn columns_of_references(rows: &[(NodeId, Reference)]) -> [ParquetColumn<'_>; 3] {
    [
        ParquetColumn::new("source", |row| rows[row].0.index() as i64).delta_encoded(),
        ParquetColumn::new("target", |row| rows[row].1.node.index() as i64).delta_encoded(),
        ParquetColumn::new("strong", |row| !rows[row].1.is_weak),
    ]
}
