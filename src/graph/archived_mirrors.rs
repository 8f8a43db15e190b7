//! References to archived mirrors: class objects in an archive of the runtime, of classes that no program loaded.
//!
//! HotSpot with class data sharing maps an archive of a heap (seen in dumps of JDK 17 with G1, and of JDK 25 with G1 and
//! the serial collector). One `Object[]`, which a JNI global alone holds, refers to what is in it, class objects among
//! them; when a class is loaded its element is set to null. Dumps have records of loaded classes alone, so that the other
//! elements lead nowhere. Without this every such dump would be taken for damaged.

use super::builder::GraphBuilder;
use super::object_order::ObjectOrder;
use super::packed_objects::position_of;
use super::resolve_counts::{Occurrences, ResolveCounts};
use super::{ArchivedMirrors, NodeId, RootKind, SectionIds};

/// By so much some rules of sizes make objects too large.
const SLACK_BYTES: u64 = 8;

impl GraphBuilder {
    /// The arrays that may refer to archived mirrors, as objects (ascending) and nodes: JNI globals hold them, and no other
    /// root. O(roots).
    pub(super) fn archive_arrays(
        &self,
        mirrors: Option<ArchivedMirrors>,
        order: &ObjectOrder,
        maps: &[SectionIds],
    ) -> Vec<(u32, NodeId)> {
        let Some((mirrors, map)) = mirrors.zip(maps.first()) else { return Vec::new() };
        let object = |id: u64| map.node(id).map(|node| (order.object_of(node.0), node));
        let is_array = |id: u64| object(id).is_some_and(|(at, _)| self.objects.types[at as usize] == mirrors.arrays.0);
        let roots = || self.roots.iter().map(|(_, root)| root);
        let globals = roots().filter(|root| root.kind == RootKind::JniGlobal && is_array(root.id));
        let mut arrays: Vec<u64> = globals.map(|root| root.id).collect();
        arrays.sort_unstable();
        arrays.dedup();
        let others = roots().filter(|root| root.kind != RootKind::JniGlobal && arrays.binary_search(&root.id).is_ok());
        let mut others: Vec<u64> = others.map(|root| root.id).collect();
        others.sort_unstable();
        arrays.retain(|id| others.binary_search(id).is_err());
        let mut arrays: Vec<(u32, NodeId)> = arrays.into_iter().filter_map(object).collect();
        arrays.sort_unstable();
        arrays
    }

    /// Counts what such arrays refer to that is not in the dump: (array, id), by array. Those are archived mirrors at whose
    /// ids there is room for a class object between listed objects, in arrays that nothing refers to and where most have
    /// no room for two; the others are dangling references. Returns how many dangle.
    pub(super) fn count_archived_mirrors(
        &self,
        missing: &[(NodeId, u64)],
        least_bytes: u64,
        order: &ObjectOrder,
        map: &SectionIds,
        is_referred_to: impl Fn(NodeId) -> bool,
        problems: &mut ResolveCounts,
    ) -> u64 {
        let mut ids: Vec<u64> = missing.iter().map(|&(_, id)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        let room = |id: u64| {
            let above = map.ids.smaller_than(id);
            if let Some(below) = above.checked_sub(1) {
                let bytes = self.objects.shallow_bytes(order.object_of(map.first_node + below) as usize);
                if map.ids.select(below).saturating_add(bytes) > id.saturating_add(SLACK_BYTES) {
                    return 0;
                }
            }
            let listed = ((above as usize) < map.ids.len()).then(|| map.ids.select(above));
            let missing = ids.get(ids.partition_point(|&other| other <= id)).copied();
            listed.into_iter().chain(missing).min().map_or(u64::MAX, |next| next - id)
        };
        let mut dangling = 0;
        for of_array in missing.chunk_by(|a, b| a.0 == b.0) {
            let array = of_array[0].0;
            let rooms: Vec<u64> = of_array.iter().map(|&(_, id)| room(id)).collect();
            let near = rooms.iter().filter(|&&room| (least_bytes..2 * least_bytes).contains(&room)).count();
            let is_archive = 2 * near >= rooms.len() && !is_referred_to(array);
            let count = if is_archive { rooms.iter().filter(|&&room| room >= least_bytes).count() as u64 } else { 0 };
            let others = rooms.len() as u64 - count;
            let first_position = position_of(&self.objects.positions, order.object_of(array.0) as usize);
            problems.archived_mirrors.join(Occurrences { count, first_position });
            problems.dangling_references.join(Occurrences { count: others, first_position });
            dangling += others;
        }
        dangling
    }
}
