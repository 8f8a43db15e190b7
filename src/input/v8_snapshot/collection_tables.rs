//! Tables of maps and sets.

use super::block::DANGLING_TARGET;
use super::layout::{EdgeKind, NodeKind};
use super::snapshot::Snapshot;

/// The two kinds of collections whose entries get names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectionKind {
    Map,
    Set,
}

/// The tables of maps and sets, and of what extends these, ascending. O(edges of objects).
pub(super) fn collection_tables(snapshot: &Snapshot) -> Vec<(u32, CollectionKind)> {
    let names = snapshot.strings.indices_of("table");
    let mut tables = Vec::new();
    for node in (0..snapshot.len() as u32).filter(|&node| snapshot.kind(node) == NodeKind::Object) {
        let mut edges = snapshot.edges(node).filter(|&edge| snapshot.is_kind(edge, EdgeKind::Internal));
        if let Some(edge) = edges.find(|&edge| names.contains(&snapshot.edge_number(edge)))
            && snapshot.targets[edge] != DANGLING_TARGET
            && let Some(kind) = CollectionKind::of_table(snapshot.self_size(snapshot.targets[edge]))
        {
            tables.push((snapshot.targets[edge], kind));
        }
    }
    tables.sort_unstable_by_key(|&(table, _)| table);
    tables.dedup_by_key(|&mut (table, _)| table);
    tables
}

impl CollectionKind {
    /// The kind whose tables may have so many bytes: no table of one is as large as one of the other.
    fn of_table(bytes: u64) -> Option<Self> {
        [CollectionKind::Map, CollectionKind::Set].into_iter().find(|&kind| first_entry_slot(kind, bytes).is_some())
    }
}

/// The first slot of the entries in a table of so many bytes: behind the buckets, of which there is a power of two.
pub(super) fn first_entry_slot(collection: CollectionKind, bytes: u64) -> Option<u64> {
    let slots_of_bucket = if collection == CollectionKind::Map { 7 } else { 5 };
    // Header and slot are twice as large where pointers are not compressed.
    for (header, slot) in [(16, 8), (8, 4)] {
        let slots = bytes.checked_sub(header).filter(|rest| rest % slot == 0).map(|rest| rest / slot);
        let of_buckets = slots.and_then(|slots| slots.checked_sub(3)).filter(|rest| rest % slots_of_bucket == 0);
        let buckets = of_buckets.map(|rest| rest / slots_of_bucket);
        if let Some(buckets) = buckets.filter(|buckets| buckets.is_power_of_two()) {
            return Some(3 + buckets);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_behind_the_buckets() {
        assert_eq!(first_entry_slot(CollectionKind::Map, 16 + 8 * (3 + 7 * 2)), Some(5));
        assert_eq!(first_entry_slot(CollectionKind::Set, 16 + 8 * (3 + 5 * 4)), Some(7));
        assert_eq!(first_entry_slot(CollectionKind::Map, 8 + 4 * (3 + 7 * 64)), Some(67));
        assert_eq!(first_entry_slot(CollectionKind::Map, 16 + 8 * (3 + 7 * 2) + 8), None);
        assert_eq!(first_entry_slot(CollectionKind::Set, 0), None);
    }
}
