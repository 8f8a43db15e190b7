//! `types`: a row for each section and type, with the figures of `stats --retained`. Types of one name that the dump tells
//! apart are rows of their own, as there.

use std::io::Write;

use rustc_hash::FxHashMap;

use super::TableName;
use super::error::TableError;
use super::heap::ObjectHeap;
use super::table::{ParquetColumn, text_of, to_i32, to_i64, write_table};
use crate::analysis::dominators::DomNode;
use crate::analysis::histogram::Tally;
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
    let groups = Groups::new(&scope, GroupBy::Type, SameNameTypes::of_rows(false))?;
    let sets = group_by_section(heap, &groups);
    let retained = retained_lower_bound_by_set(
        heap.dominators,
        heap.retained,
        &heap.dominators.children(),
        DomNode::ROOT,
        sets.list.len(),
        |node| sets.of(graph.section_of(node), groups.group_of(node)),
    );
    let mut rows: Vec<(SectionGroup, TopmostTotals)> = sets.list.into_iter().zip(retained).collect();
    let name = |set: &SectionGroup| groups.names[set.group as usize].as_str();
    sort::by_key(&mut rows, |(set, _)| (name(set), set.section.number(), set.group));
    let set = |row: usize| &rows[row].0;
    let tally = |row| &set(row).tally;
    let loader = |row| loader_key(graph, graph.types().loader(set(row).type_id));
    let columns = [
        ParquetColumn::constant("dump", &heap.id),
        ParquetColumn::new("section", |row| to_i32(set(row).section.number())),
        ParquetColumn::new("type", |row| text_of(name(set(row)))),
        ParquetColumn::new("module", |row| graph.types().module(set(row).type_id).map(text_of)),
        ParquetColumn::new("objects", |row| to_i64(tally(row).objects)),
        ParquetColumn::new("shallow_bytes", |row| to_i64(tally(row).shallow_bytes)),
        ParquetColumn::new("reachable_objects", |row| to_i64(tally(row).reachable_objects)),
        ParquetColumn::new("reachable_bytes", |row| to_i64(tally(row).reachable_bytes)),
        ParquetColumn::new("retained_bytes", |row| to_i64(rows[row].1.retained_bytes)),
        ParquetColumn::new("topmost_objects", |row| to_i64(rows[row].1.objects)),
        ParquetColumn::new("largest_bytes", |row| to_i64(set(row).largest_bytes)),
        ParquetColumn::new("loader", |row| {
            Some(loader(row)).filter(|text| !text.is_empty()).map(|text| text_of(&text))
        }),
        ParquetColumn::new("location", |row| {
            graph.types().place(set(row).type_id).map(|place| text_of(&place.to_string()))
        }),
    ];
    Ok(write_table(out, TableName::Types, rows.len(), &columns)?)
}

/// The objects of a group in a section.
struct SectionGroup {
    section: SectionId,
    group: u32,
    /// Of the first object.
    type_id: TypeId,
    tally: Tally,
    largest_bytes: u64,
}

struct SectionGroups {
    list: Vec<SectionGroup>,
    /// By group, of a dump with one section.
    of_group: Vec<u32>,
    /// By section and group, where there are several.
    of_pair: FxHashMap<(u32, u32), u32>,
    has_sections: bool,
}

impl SectionGroups {
    fn of(&self, section: SectionId, group: u32) -> u32 {
        if group == NO_SET {
            NO_SET
        } else if self.has_sections {
            self.of_pair.get(&(section.index() as u32, group)).copied().unwrap_or(NO_SET)
        } else {
            self.of_group[group as usize]
        }
    }
}

fn group_by_section(heap: &ObjectHeap<'_>, groups: &Groups<'_>) -> SectionGroups {
    let graph = heap.graph;
    let has_sections = graph.sections().len() > 1;
    let mut sets =
        SectionGroups { list: Vec::new(), of_group: Vec::new(), of_pair: FxHashMap::default(), has_sections };
    sets.of_group = vec![NO_SET; groups.names.len()];
    for section in (0..graph.sections().len()).map(SectionId::new) {
        for (node, type_id, bytes) in graph.objects(graph.section_nodes(section)) {
            let group = groups.group_of(node);
            if group == NO_SET {
                continue;
            }
            let mut set = sets.of(section, group);
            if set == NO_SET {
                set = sets.list.len() as u32;
                match has_sections {
                    true => drop(sets.of_pair.insert((section.index() as u32, group), set)),
                    false => sets.of_group[group as usize] = set,
                }
                let (tally, largest_bytes) = Default::default();
                sets.list.push(SectionGroup { section, group, type_id, tally, largest_bytes });
            }
            let set = &mut sets.list[set as usize];
            set.tally.add_object(bytes, heap.reachable.contains(node));
            set.largest_bytes = set.largest_bytes.max(bytes);
        }
    }
    sets
}
