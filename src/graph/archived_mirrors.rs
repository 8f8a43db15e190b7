//! References to archived mirrors: class objects in an archive of the runtime, of classes that no program loaded.
//!
//! HotSpot with class data sharing maps an archive of a heap (seen in dumps of JDK 17 with G1, and of JDK 25 with G1 and
//! the serial collector). One `Object[]`, which a JNI global alone holds, refers to what is in it, class objects among
//! them; when a class is loaded its element is set to null. Dumps have records of loaded classes alone, so that the other
//! elements lead nowhere. Without this every such dump would be taken for damaged.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::builder::GraphBuilder;
use super::object_order::ObjectOrder;
use super::packed_objects::position_of;
use super::resolve_counts::{Occurrences, ResolveCounts};
use super::{ArchivedMirrorSearch, NodeId, RootKind, SectionIds};
use crate::parallel;

/// By so much some rules of sizes make objects too large.
const SLACK_BYTES: u64 = 8;
/// Longer arrays are of no archive: those that were seen refer to fewer than 1,000 classes that were not loaded.
const MAX_ARCHIVE_ARRAY_ELEMENTS: u32 = 1 << 16;
/// Bytes of an element while it is looked at: it stands in two lists while these are joined, its id and the room at it in
/// one each.
const WORK_BYTES_PER_ELEMENT: u64 = 48;

impl GraphBuilder {
    /// The most that it takes to look for archived mirrors beside what it takes to resolve.
    pub(super) fn archived_mirrors_work_bytes(&mut self, mirrors: Option<ArchivedMirrorSearch>) -> u64 {
        if mirrors.is_none() {
            return 0;
        }
        let (maps, order, dropped) = self.take_or_find_object_order();
        let arrays = self.archive_arrays(mirrors, &order, &maps);
        self.cached_object_order = Some((maps, order, dropped));
        arrays
            .iter()
            .map(|&(array, _)| u64::from(self.objects.reference_counts.get(array as usize)) * WORK_BYTES_PER_ELEMENT)
            .sum()
    }

    /// The arrays that may refer to archived mirrors, as objects (ascending) and nodes: JNI globals hold them, and no other
    /// root. O(roots).
    pub(super) fn archive_arrays(
        &self,
        mirrors: Option<ArchivedMirrorSearch>,
        order: &ObjectOrder,
        maps: &[SectionIds],
    ) -> Vec<(u32, NodeId)> {
        let Some((mirrors, map)) = mirrors.zip(maps.first()) else { return Vec::new() };
        let object = |id: u64| map.node_of_id(id).map(|node| (order.object_of(node.0), node));
        let is_array =
            |id: u64| object(id).is_some_and(|(at, _)| self.objects.type_slots.get(at as usize) == mirrors.array_type);
        let roots = || self.roots.iter().map(|(_, root)| root);
        let globals = roots().filter(|root| root.kind == RootKind::JniGlobal && is_array(root.object_id));
        let mut arrays: Vec<u64> = globals.map(|root| root.object_id).collect();
        arrays.sort_unstable();
        arrays.dedup();
        let others =
            roots().filter(|root| root.kind != RootKind::JniGlobal && arrays.binary_search(&root.object_id).is_ok());
        let mut others: Vec<u64> = others.map(|root| root.object_id).collect();
        others.sort_unstable();
        arrays.retain(|id| others.binary_search(id).is_err());
        let is_short = |&(array, _): &(u32, NodeId)| {
            self.objects.reference_counts.get(array as usize) <= MAX_ARCHIVE_ARRAY_ELEMENTS
        };
        let mut arrays: Vec<(u32, NodeId)> = arrays.into_iter().filter_map(object).filter(is_short).collect();
        arrays.sort_unstable();
        arrays
    }

    /// Counts what such arrays refer to that is not in the dump: (array, id), by array. Those are archived mirrors at whose
    /// ids there is room for a class object between listed objects, in arrays that no reference leads to and where a quarter
    /// has no room for two; the others are dangling references. Returns how many dangle. O(references, missing log objects).
    pub(super) fn count_archived_and_dangling(
        &self,
        missing: &[(NodeId, u64)],
        least_bytes: u64,
        order: &ObjectOrder,
        map: &SectionIds,
        references: &[NodeId],
        problems: &mut ResolveCounts,
    ) -> u64 {
        let mut ids: Vec<u64> = missing.iter().map(|&(_, id)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        let room = |id: u64| {
            let above = map.id_map.count_below(id);
            if let Some(below) = above.checked_sub(1) {
                let bytes = self.objects.shallow_bytes(order.object_of(map.first_node + below) as usize);
                if map.id_map.select(below).saturating_add(bytes) > id.saturating_add(SLACK_BYTES) {
                    return 0;
                }
            }
            let listed = ((above as usize) < map.id_map.len()).then(|| map.id_map.select(above));
            let missing = ids.get(ids.partition_point(|&other| other <= id)).copied();
            listed.into_iter().chain(missing).min().map_or(u64::MAX, |next| next - id)
        };
        let arrays: FxHashSet<NodeId> = missing.iter().map(|&(array, _)| array).collect();
        let referred = targets_among(&arrays, references);
        let mut dangling = 0;
        for of_array in missing.chunk_by(|a, b| a.0 == b.0) {
            let array = of_array[0].0;
            let rooms: Vec<u64> = of_array.iter().map(|&(_, id)| room(id)).collect();
            let near = rooms.iter().filter(|&&room| (least_bytes..2 * least_bytes).contains(&room)).count();
            let is_archive = 4 * near >= rooms.len() && !referred.contains(&array);
            let count = if is_archive { rooms.iter().filter(|&&room| room >= least_bytes).count() as u64 } else { 0 };
            let others = rooms.len() as u64 - count;
            let first_position = position_of(&self.objects.position_runs, order.object_of(array.0) as usize);
            problems.archived_mirror_references.join(Occurrences { count, first_position });
            problems.dangling_references.join(Occurrences { count: others, first_position });
            dangling += others;
        }
        dangling
    }
}

/// Those of some nodes that references lead to. O(nodes + references), on all threads.
fn targets_among(nodes: &FxHashSet<NodeId>, references: &[NodeId]) -> FxHashSet<NodeId> {
    let Some((least, most)) = nodes.iter().min().zip(nodes.iter().max()) else { return FxHashSet::default() };
    let of_piece = |piece: Range<usize>| -> FxHashSet<NodeId> {
        let near = references[piece].iter().filter(|target| (least..=most).contains(target));
        near.filter(|target| nodes.contains(target)).copied().collect()
    };
    parallel::map(parallel::pieces(references.len()), &of_piece).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildError, IdStyle, MemoryBudget, ObjectColumns, ResolveOptions, Section};

    #[test]
    fn arrays_that_references_lead_to_are_found() {
        let references: Vec<NodeId> = (0..100_000).map(|at| NodeId(at * 7 % 60_000)).collect();
        let arrays: FxHashSet<NodeId> = (50_000..70_000).map(NodeId).collect();
        let expected: FxHashSet<NodeId> = references.iter().copied().filter(|node| arrays.contains(node)).collect();
        assert!(targets_among(&arrays, &references) == expected && !expected.is_empty());
        assert!(targets_among(&FxHashSet::default(), &references).is_empty());
    }

    /// Class objects of 112 bytes, and an array of so many that are not listed, held by a JNI global.
    fn archive(elements: u64, budget: &MemoryBudget) -> (GraphBuilder, ResolveOptions) {
        let mut builder = GraphBuilder::new(IdStyle::Hex);
        builder.limit_memory(budget);
        let slot = builder.new_type();
        builder.name_type(slot, "Object[]");
        let section = builder.begin_section(Section::default());
        let mut columns = ObjectColumns::default();
        columns.push_object(0x10, 0, 16, 1);
        (0..elements).for_each(|at| columns.push_reference(0x1000 + 112 * at));
        columns.push_object(0x1000 + 112 * elements, 0, 16, 2);
        columns.seal();
        builder.append(section, &columns, 0..2, &[slot.0], 0, true).expect("room");
        builder.add_root(section, 0x10, RootKind::JniGlobal, Default::default(), None, 1);
        let archived_mirrors = Some(ArchivedMirrorSearch { array_type: slot, min_class_object_bytes: 112 });
        (builder, ResolveOptions { archived_mirror_search: archived_mirrors, ..ResolveOptions::default() })
    }

    #[test]
    fn elements_of_an_archive_are_counted_as_memory_and_longer_arrays_are_none() {
        const MAX: u64 = MAX_ARCHIVE_ARRAY_ELEMENTS as u64;
        for (elements, known) in [(1000, 1000), (MAX, MAX), (MAX + 1, 0)] {
            let needed = |has_mirrors: bool, limit: u64| {
                let budget = MemoryBudget::new(Some(limit));
                let (mut builder, options) = archive(elements, &budget);
                let options = if has_mirrors { options } else { ResolveOptions::default() };
                builder.check_resolve_memory(&options).map(|()| builder.memory_share.held_bytes())
            };
            let without = needed(false, u64::MAX).expect("room");
            assert_eq!(needed(true, u64::MAX), Ok(without + known * WORK_BYTES_PER_ELEMENT));
            let refused = Err(BuildError::TooMuchMemory(without));
            assert_eq!(needed(true, without), if known > 0 { refused } else { Ok(without) });
            let (builder, options) = archive(elements, &MemoryBudget::default());
            let (_, problems) = builder.resolve(options);
            assert_eq!(
                (problems.archived_mirror_references.count, problems.dangling_references.count),
                (known, elements - known)
            );
        }
    }
}
