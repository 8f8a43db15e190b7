//! `dominator_paths`: a row for each path of types down the dominator tree that retains at least a thousandth of what is
//! reachable, with the figures of `diff --paths`.

use std::io::Write;

use rustc_hash::FxHashMap;

use super::TableName;
use super::error::TableError;
use super::object_heap::ObjectHeap;
use super::parquet_table::{ParquetColumn, to_byte_array, to_i32, to_i64, write_table};
use crate::analysis::diff::MAX_TYPE_PATH_LEVELS;
use crate::analysis::threshold::{Percent, Threshold};
use crate::analysis::type_tree::TypeTree;
use crate::dump::AnswerNeed;
use crate::graph::TypeId;

/// Places of one path: types of one name are one.
struct DominatorPathRow {
    /// The index of the row above.
    parent_row: Option<usize>,
    type_id: TypeId,
    depth: usize,
    objects: u64,
    shallow_bytes: u64,
    retained_bytes: u64,
    path: String,
}

/// Writes the table. O(objects), and a sort of the rows.
pub(super) fn write<W: Write + Send>(heap: &ObjectHeap<'_>, out: W) -> Result<W, TableError> {
    let mut rows = path_rows(heap)?;
    rows.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let columns = [
        ParquetColumn::constant("dump", &heap.dump_id),
        ParquetColumn::new("path", |row| to_byte_array(&rows[row].path)).prefix_encoded(),
        ParquetColumn::new("depth", |row| to_i32(rows[row].depth)),
        ParquetColumn::new("type", |row| heap.type_name(rows[row].type_id)),
        ParquetColumn::new("objects", |row| to_i64(rows[row].objects)),
        ParquetColumn::new("shallow_bytes", |row| to_i64(rows[row].shallow_bytes)),
        ParquetColumn::new("retained_bytes", |row| to_i64(rows[row].retained_bytes)),
    ];
    Ok(write_table(out, TableName::DominatorPaths, rows.len(), &columns)?)
}

fn path_rows(heap: &ObjectHeap<'_>) -> Result<Vec<DominatorPathRow>, TableError> {
    let graph = heap.graph;
    let tree = TypeTree::of_all(graph, heap.dominators, MAX_TYPE_PATH_LEVELS);
    let mut known: FxHashMap<(Option<usize>, TypeId), usize> = FxHashMap::default();
    let mut rows: Vec<DominatorPathRow> = Vec::new();
    // By place: its row.
    let mut row_of: Vec<usize> = Vec::with_capacity(tree.places.len());
    for place in &tree.places {
        let type_id = graph.first_type_of_same_name(place.type_id);
        let above = place.parent.map(|above| row_of[above]);
        let at = *known.entry((above, type_id)).or_insert_with(|| {
            let (objects, shallow_bytes, retained_bytes) = (0, 0, 0);
            let path = String::new();
            rows.push(DominatorPathRow {
                parent_row: above,
                type_id,
                depth: place.depth,
                objects,
                shallow_bytes,
                retained_bytes,
                path,
            });
            rows.len() - 1
        });
        row_of.push(at);
        let row = &mut rows[at];
        row.objects += place.objects;
        row.shallow_bytes = row.shallow_bytes.saturating_add(place.shallow_bytes);
        row.retained_bytes = row.retained_bytes.saturating_add(place.retained_bytes);
    }
    let tops = rows.iter().filter(|row| row.parent_row.is_none());
    let whole = tops.fold(0u64, |sum, row| sum.saturating_add(row.retained_bytes));
    let least = Threshold::Share(Percent::PER_MILLE).min_bytes_of(whole).max(1);
    let mut path_bytes = 0u64;
    for at in 0..rows.len() {
        if rows[at].retained_bytes < least {
            continue;
        }
        // What is above retains as much at least.
        let above = rows[at].parent_row.map(|above| rows[above].path.as_str());
        let own = graph.type_name(rows[at].type_id);
        let path = above.map_or_else(|| own.to_string(), |above| format!("{above} > {own}"));
        path_bytes += path.len() as u64;
        heap.dump.check_answer_memory(AnswerNeed::DominatorDescent, path_bytes)?;
        rows[at].path = path;
    }
    rows.retain(|row| row.retained_bytes >= least);
    Ok(rows)
}
