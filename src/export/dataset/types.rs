//! `types`: a row for each section and type, with the figures of `stats --retained`. Types of one name that the dump tells
//! apart are rows of their own, as there.

use std::io::Write;

use parquet::data_type::ByteArray;
use rustc_hash::FxHashMap;

use super::TableName;
use super::error::TableError;
use super::object_heap::ObjectHeap;
use super::parquet_table::{ParquetColumn, to_byte_array, to_i32, to_i64, write_table};
use crate::allocations::ClassHistograms;
use crate::analysis::dominators::DominatorNode;
use crate::analysis::histogram::GroupTally;
use crate::analysis::retained_sets::{NO_SET, TopmostTotals, retained_lower_bound_by_set};
use crate::answers::groups::{Groups, SameNameTypes};
use crate::answers::histogram_row::loader_key;
use crate::answers::{GroupBy, Scope};
use crate::graph::{SectionId, TypeId};
use crate::sort;

/// Writes the table. O(objects), and a walk down the dominator tree.
pub(super) fn write<W: Write + Send>(heap: &ObjectHeap<'_>, out: W) -> Result<W, TableError> {
    let graph = heap.graph;
    let scope = Scope::of_all(graph);
    let groups = Groups::new(&scope, GroupBy::Type, SameNameTypes::of_rows(false), None)?;
    let sets = group_by_section(heap, &groups);
    let retained = retained_lower_bound_by_set(
        heap.dominators,
        heap.retained,
        &heap.dominators.children(),
        DominatorNode::ROOT,
        sets.all_groups.len(),
        |node| sets.index_of(graph.section_of(node), groups.group_of(node)),
    );
    let mut rows: Vec<(SectionGroup, TopmostTotals)> = sets.all_groups.into_iter().zip(retained).collect();
    let name = |set: &SectionGroup| groups.names[set.group as usize].as_str();
    sort::rows_by_key(&mut rows, |(set, _)| (name(set), set.section.number(), set.group));
    let set = |row: usize| &rows[row].0;
    let tally = |row| &set(row).tally;
    let loader = |row| loader_key(graph, graph.types().loader(set(row).type_id));
    let columns = [
        ParquetColumn::constant("dump", &heap.dump_id),
        ParquetColumn::new("section", |row| to_i32(set(row).section.number())),
        ParquetColumn::new("type", |row| to_byte_array(name(set(row)))),
        ParquetColumn::new("module", |row| graph.types().module(set(row).type_id).map(to_byte_array)),
        ParquetColumn::new("objects", |row| to_i64(tally(row).objects)),
        ParquetColumn::new("shallow_bytes", |row| to_i64(tally(row).shallow_bytes)),
        ParquetColumn::new("reachable_objects", |row| to_i64(tally(row).reachable_objects)),
        ParquetColumn::new("reachable_bytes", |row| to_i64(tally(row).reachable_bytes)),
        ParquetColumn::new("retained_bytes", |row| to_i64(rows[row].1.retained_bytes)),
        ParquetColumn::new("topmost_objects", |row| to_i64(rows[row].1.objects)),
        ParquetColumn::new("largest_bytes", |row| to_i64(set(row).largest_object_bytes)),
        ParquetColumn::new("loader", |row| {
            Some(loader(row)).filter(|text| !text.is_empty()).map(|text| to_byte_array(&text))
        }),
        ParquetColumn::new("location", |row| {
            graph.types().constructor_place(set(row).type_id).map(|place| to_byte_array(&place.to_string()))
        }),
    ];
    Ok(write_table(out, TableName::Types, rows.len(), &columns)?)
}

/// Writes the table of the chosen class histogram, which has objects and bytes alone: the other counts are 0. O(types), and a sort.
pub(super) fn write_histogram<W: Write + Send>(
    histograms: &ClassHistograms,
    dump_id: &ByteArray,
    out: W,
) -> Result<W, TableError> {
    let mut rows: Vec<(&str, u64, u64)> = histograms.type_rows(histograms.chosen_index).collect();
    rows.sort_unstable();
    let unknown = |name| ParquetColumn::new(name, |_| 0i64);
    let columns = [
        ParquetColumn::constant("dump", dump_id),
        ParquetColumn::new("section", |_| 0i32),
        ParquetColumn::new("type", |row| to_byte_array(rows[row].0)),
        ParquetColumn::new("module", |_| None::<ByteArray>),
        ParquetColumn::new("objects", |row| to_i64(rows[row].1)),
        ParquetColumn::new("shallow_bytes", |row| to_i64(rows[row].2)),
        unknown("reachable_objects"),
        unknown("reachable_bytes"),
        unknown("retained_bytes"),
        unknown("topmost_objects"),
        unknown("largest_bytes"),
        ParquetColumn::new("loader", |_| None::<ByteArray>),
        ParquetColumn::new("location", |_| None::<ByteArray>),
    ];
    Ok(write_table(out, TableName::Types, rows.len(), &columns)?)
}

/// The objects of a group in a section.
struct SectionGroup {
    section: SectionId,
    group: u32,
    /// Of the first object.
    type_id: TypeId,
    tally: GroupTally,
    largest_object_bytes: u64,
}

/// Groups of all sections, and where each of them is.
struct SectionGroups {
    all_groups: Vec<SectionGroup>,
    /// By group its place in `all_groups`, of a dump with one section.
    index_by_group: Vec<u32>,
    /// The same by section and group, where there are several.
    index_by_section_and_group: FxHashMap<(u32, u32), u32>,
    has_several_sections: bool,
}

impl SectionGroups {
    /// The place of a group of a section in `all_groups`; [`NO_SET`] where it is not there.
    fn index_of(&self, section: SectionId, group: u32) -> u32 {
        if group == NO_SET {
            NO_SET
        } else if self.has_several_sections {
            self.index_by_section_and_group.get(&(section.index() as u32, group)).copied().unwrap_or(NO_SET)
        } else {
            self.index_by_group[group as usize]
        }
    }
}

fn group_by_section(heap: &ObjectHeap<'_>, groups: &Groups<'_>) -> SectionGroups {
    let graph = heap.graph;
    let has_sections = graph.sections().len() > 1;
    let mut sets = SectionGroups {
        all_groups: Vec::new(),
        index_by_group: Vec::new(),
        index_by_section_and_group: FxHashMap::default(),
        has_several_sections: has_sections,
    };
    sets.index_by_group = vec![NO_SET; groups.names.len()];
    for section in (0..graph.sections().len()).map(SectionId::new) {
        for (node, type_id, bytes) in graph.objects(graph.section_nodes(section)) {
            let group = groups.group_of(node);
            if group == NO_SET {
                continue;
            }
            let mut set = sets.index_of(section, group);
            if set == NO_SET {
                set = sets.all_groups.len() as u32;
                match has_sections {
                    true => drop(sets.index_by_section_and_group.insert((section.index() as u32, group), set)),
                    false => sets.index_by_group[group as usize] = set,
                }
                let (tally, largest_bytes) = Default::default();
                sets.all_groups.push(SectionGroup {
                    section,
                    group,
                    type_id,
                    tally,
                    largest_object_bytes: largest_bytes,
                });
            }
            let set = &mut sets.all_groups[set as usize];
            set.tally.add_object(bytes, heap.reachable.contains(node));
            set.largest_object_bytes = set.largest_object_bytes.max(bytes);
        }
    }
    sets
}
