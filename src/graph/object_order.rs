//! In which order objects become nodes. Nodes are numbered by id; a dump lists its objects in an order of its own, which
//! is mostly that of the ids, in long runs.

use super::csr::CsrOffsets;
use super::list_lengths::{LONG_MARK, ListLengths};
use super::packed_objects::ObjectChunk;
use super::type_columns::SlotColumn;
use super::weak_references::WeakReference;
use super::{NodeId, SectionIds, TypeId, TypeSlot, make_room};
use crate::parallel;

/// As many objects to a run as make it worth to keep runs, on average.
const MIN_OBJECTS_PER_RUN: usize = 16;
/// So many runs are kept however few objects they have.
const MAX_RUNS_ALWAYS_KEPT: usize = 4096;

/// Objects that follow one another in the dump and by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ObjectRun {
    first_object: u32,
    first_node: u32,
    object_count: u32,
}

/// Runs of objects, of which each becomes a node.
#[derive(Debug)]
pub(super) struct ObjectRuns {
    /// By node, all nodes.
    by_node: Vec<ObjectRun>,
    /// The same runs by object.
    by_object: Vec<ObjectRun>,
    /// Objects from this on stand among those before it, which are in order; `None` where these are the most.
    first_late_object: Option<u32>,
}

/// The ways in which objects become nodes.
#[derive(Debug)]
pub(super) enum ObjectOrder {
    /// Each has its number already.
    Unchanged,
    /// By runs; no object is left out.
    Runs(ObjectRuns),
    /// For each node its object; some may be left out.
    ByNode(Vec<u32>),
}

impl ObjectRuns {
    /// The order of objects whose ids are all different. `None` where runs are short. O(blocks + runs × log objects)
    /// where blocks are ascending, else O(objects).
    pub(super) fn find_in_chunks(chunks: &[ObjectChunk], id_words: &[u32], maps: &[SectionIds]) -> Option<ObjectRuns> {
        let objects = chunks.last().map_or(0, |chunk| chunk.objects.end);
        let most = MAX_RUNS_ALWAYS_KEPT.max(objects / MIN_OBJECTS_PER_RUN);
        let mut by_object: Vec<ObjectRun> = Vec::new();
        let mut ranges = Vec::new();
        for chunk in chunks {
            let (map, words) = (&maps[chunk.section as usize], &id_words[chunk.first_id_word..]);
            let first = chunk.objects.start;
            let node_of = |object: usize| {
                let id = chunk.id_packing.unpack_id(words, object - first);
                map.id_map.rank(id).map(|rank| map.first_node + rank)
            };
            ranges.push(chunk.objects.clone());
            while let Some(range) = ranges.pop().filter(|range| !range.is_empty()) {
                let (node, last) = (node_of(range.start)?, node_of(range.end - 1)?);
                let length = range.len() as u32;
                // Ascending ids with as many nodes between the first and the last as there are objects: all of them.
                if length == 1 || (chunk.is_ascending && last - node == length - 1) {
                    push_or_extend_run(
                        &mut by_object,
                        ObjectRun { first_object: range.start as u32, first_node: node, object_count: length },
                    );
                } else {
                    let middle = range.start + range.len() / 2;
                    ranges.push(middle..range.end);
                    ranges.push(range.start..middle);
                }
                if by_object.len() > most {
                    return None;
                }
            }
        }
        let mut by_node = by_object.clone();
        by_node.sort_unstable_by_key(|run| run.first_node);
        let breaks = by_object.windows(2).find(|pair| pair[1].first_node < pair[0].first_node);
        let tail = breaks.map(|pair| pair[1].first_object).filter(|&tail| objects - tail as usize <= objects / 8);
        Some(ObjectRuns { by_node, by_object, first_late_object: tail })
    }

    /// A column by object becomes one by node: in its memory, where only the last objects move far.
    pub(super) fn reorder_column<T: Copy>(&self, column: Vec<T>) -> Vec<T> {
        let own = |run: &ObjectRun| (run.first_object as usize, run.first_node as usize, run.object_count as usize);
        let tail = self.first_late_object.map_or(column.len(), |tail| tail as usize);
        self.moved_values(column, self.by_node.iter().map(own), tail)
    }

    /// The lists of objects, which have so many values each, become lists of nodes.
    pub(super) fn reorder_lists<T: Copy>(&self, counts: &ListLengths, lists: Vec<T>) -> Vec<T> {
        let of_run = |run: &ObjectRun| -> usize {
            let first = run.first_object as usize;
            counts.range(first..first + run.object_count as usize).map(|count| count as usize).sum()
        };
        let lengths: Vec<usize> = parallel::collect_indexed(self.by_object.len(), |at| of_run(&self.by_object[at]));
        let (mut starts, mut sum, mut tail) = (Vec::with_capacity(lengths.len()), 0, lists.len());
        for (run, &length) in self.by_object.iter().zip(&lengths) {
            if self.first_late_object == Some(run.first_object) {
                tail = sum;
            }
            starts.push(sum);
            sum += length;
        }
        let mut to = 0;
        let places: Vec<(usize, usize, usize)> = self
            .by_node
            .iter()
            .map(|run| {
                let at = self.by_object.partition_point(|other| other.first_object < run.first_object);
                to += lengths[at];
                (starts[at], to - lengths[at], lengths[at])
            })
            .collect();
        self.moved_values(lists, places.into_iter(), tail)
    }

    /// Moves values, each place as (from, to, how many), ascending by `to`.
    fn moved_values<T: Copy>(
        &self,
        mut values: Vec<T>,
        places: impl DoubleEndedIterator<Item = (usize, usize, usize)>,
        tail: usize,
    ) -> Vec<T> {
        if self.first_late_object.is_none() {
            let mut moved = Vec::new();
            make_room(&mut moved, values.len());
            places.for_each(|(from, _, length)| moved.extend_from_slice(&values[from..from + length]));
            return moved;
        }
        let behind = values[tail..].to_vec();
        // From the back, so that each value moves once, to a place whose own value has moved.
        for (from, to, length) in places.rev() {
            if from >= tail {
                values[to..to + length].copy_from_slice(&behind[from - tail..][..length]);
            } else if from != to {
                values.copy_within(from..from + length, to);
            }
        }
        values
    }

    fn node_of(&self, object: u32) -> u32 {
        let at = self.by_object.partition_point(|run| run.first_object <= object).saturating_sub(1);
        let run = self.by_object[at];
        run.first_node + (object - run.first_object)
    }
}

fn push_or_extend_run(runs: &mut Vec<ObjectRun>, run: ObjectRun) {
    match runs.last_mut() {
        Some(last)
            if last.first_object + last.object_count == run.first_object
                && last.first_node + last.object_count == run.first_node =>
        {
            last.object_count += run.object_count;
        }
        _ => runs.push(run),
    }
}

impl ObjectOrder {
    /// The object that becomes a node.
    pub(super) fn object_of(&self, node: u32) -> u32 {
        match self {
            ObjectOrder::Unchanged => node,
            ObjectOrder::Runs(runs) => {
                let run = runs.by_node[runs.by_node.partition_point(|run| run.first_node <= node).saturating_sub(1)];
                run.first_object + (node - run.first_node)
            }
            ObjectOrder::ByNode(order) => order[node as usize],
        }
    }

    /// Types by object as those by node.
    pub(super) fn reorder_types(&self, types: SlotColumn) -> SlotColumn {
        match types {
            SlotColumn::Narrow(slots) => SlotColumn::Narrow(self.reorder_column(slots)),
            SlotColumn::Wide(slots) => SlotColumn::Wide(self.reorder_column(slots)),
        }
    }

    /// A column by object as one by node. In place but for objects in no order.
    pub(super) fn reorder_column<T: Copy + Default + Send + Sync>(&self, column: Vec<T>) -> Vec<T> {
        match self {
            ObjectOrder::Unchanged => column,
            ObjectOrder::Runs(runs) => runs.reorder_column(column),
            ObjectOrder::ByNode(order) => parallel::collect_indexed(order.len(), |at| column[order[at] as usize]),
        }
    }

    /// Values of a few objects, ascending by object, as values of nodes, ascending by node. Nodes that `may_be` refuses
    /// have none.
    pub(super) fn values_by_node<T: Copy>(&self, few: Vec<(u32, T)>, may_be: impl Fn(usize) -> bool) -> Vec<(u32, T)> {
        if few.is_empty() {
            return few;
        }
        match self {
            ObjectOrder::Unchanged => few,
            ObjectOrder::Runs(runs) => {
                let mut few: Vec<(u32, T)> =
                    few.into_iter().map(|(object, value)| (runs.node_of(object), value)).collect();
                few.sort_by_key(|&(node, _)| node);
                few
            }
            ObjectOrder::ByNode(order) => {
                let found = order.iter().enumerate().filter(|&(node, _)| may_be(node)).filter_map(|(node, object)| {
                    let at = few.binary_search_by_key(object, |&(object, _)| object).ok()?;
                    Some((node as u32, few[at].1))
                });
                found.collect()
            }
        }
    }

    /// Class objects with the types they stand for, ascending by node.
    pub(super) fn class_objects_by_node(
        &self,
        class_objects: &[(u32, TypeSlot)],
        type_of: impl Fn(TypeSlot) -> TypeId,
    ) -> Vec<(NodeId, TypeId)> {
        let nodes = self.values_by_node(class_objects.to_vec(), |_| true);
        nodes.into_iter().map(|(node, slot)| (NodeId(node), type_of(slot))).collect()
    }

    /// Weak references of the objects that become nodes.
    pub(super) fn reorder_weak_references(&self, weak: Vec<WeakReference>) -> Vec<WeakReference> {
        match self {
            ObjectOrder::Unchanged => weak,
            ObjectOrder::Runs(runs) => {
                weak.into_iter().map(|weak| WeakReference { source: runs.node_of(weak.source), ..weak }).collect()
            }
            ObjectOrder::ByNode(_) if weak.is_empty() => weak,
            ObjectOrder::ByNode(order) => {
                let mut gathered = Vec::new();
                for (node, &object) in order.iter().enumerate() {
                    let start = weak.partition_point(|weak| weak.source < object);
                    let own = weak[start..].iter().take_while(|weak| weak.source == object);
                    gathered.extend(own.map(|weak| WeakReference { source: node as u32, ..*weak }));
                }
                gathered
            }
        }
    }

    /// Lengths of lists by object as those by node.
    fn reorder_lengths(&self, lengths: ListLengths) -> ListLengths {
        let short = self.reorder_column(lengths.short);
        let mut long: Vec<(u32, u32)> = lengths.long.into_iter().collect();
        long.sort_unstable();
        let long = self.values_by_node(long, |node| short[node] == LONG_MARK);
        ListLengths { short, long: long.into_iter().collect() }
    }

    /// References by object, and how many each has, as those by node.
    pub(super) fn reorder_references(
        &self,
        counts: ListLengths,
        references: Vec<NodeId>,
    ) -> (ListLengths, Vec<NodeId>) {
        match self {
            ObjectOrder::Unchanged => (counts, references),
            ObjectOrder::Runs(runs) => {
                let references = runs.reorder_lists(&counts, references);
                (self.reorder_lengths(counts), references)
            }
            ObjectOrder::ByNode(order) => {
                let offsets = CsrOffsets::from_counts(counts.iter());
                let counts = self.reorder_lengths(counts);
                let mut gathered = Vec::with_capacity(references.len());
                for &object in order {
                    gathered.extend_from_slice(&references[offsets.range(object as usize)]);
                }
                (counts, gathered)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs of objects with these nodes, found without a map.
    fn runs(nodes: &[u32]) -> ObjectRuns {
        let mut by_object = Vec::new();
        for (object, &node) in nodes.iter().enumerate() {
            push_or_extend_run(
                &mut by_object,
                ObjectRun { first_object: object as u32, first_node: node, object_count: 1 },
            );
        }
        let mut by_node = by_object.clone();
        by_node.sort_unstable_by_key(|run| run.first_node);
        let breaks = by_object.windows(2).find(|pair| pair[1].first_node < pair[0].first_node);
        ObjectRuns { by_node, first_late_object: breaks.map(|pair| pair[1].first_object), by_object }
    }

    proptest! {
        /// In place, by runs and one by one: the same.
        #[test]
        fn all_ways_agree(keys in proptest::collection::vec(0u64..1000, 1..60), ascending in 0usize..60) {
            let mut ids: Vec<u64> = keys.iter().enumerate().map(|(at, key)| (key << 8) + at as u64).collect();
            let ascending = ascending.min(ids.len());
            ids[..ascending].sort_unstable();
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            let nodes: Vec<u32> = ids.iter().map(|id| sorted.partition_point(|other| other < id) as u32).collect();
            let mut order = vec![0u32; ids.len()];
            nodes.iter().enumerate().for_each(|(object, &node)| order[node as usize] = object as u32);
            let listed = ObjectOrder::ByNode(order);
            let in_place = ObjectOrder::Runs(runs(&nodes));
            let copied = ObjectOrder::Runs(ObjectRuns { first_late_object: None, ..runs(&nodes) });
            let counts: ListLengths = keys.iter().map(|key| (key % 4) as u32 + if key % 11 == 0 { 253 } else { 0 }).collect();
            let references: Vec<NodeId> = (0..counts.iter().sum::<u32>()).map(NodeId).collect();
            let column: Vec<u32> = (100..100 + ids.len() as u32).collect();
            let few: Vec<(u32, u32)> = (0..ids.len() as u32).step_by(3).map(|object| (object, object + 7)).collect();
            let weak: Vec<WeakReference> =
                few.iter().map(|&(source, place)| WeakReference { source, reference_index: place, target: NodeId(source) }).collect();
            for order in [in_place, copied] {
                prop_assert_eq!(order.reorder_column(column.clone()), listed.reorder_column(column.clone()));
                let (a, b) = (order.reorder_references(counts.clone(), references.clone()), listed.reorder_references(counts.clone(), references.clone()));
                prop_assert_eq!((a.0.iter().collect::<Vec<_>>(), a.1), (b.0.iter().collect::<Vec<_>>(), b.1));
                prop_assert_eq!(order.values_by_node(few.clone(), |_| true), listed.values_by_node(few.clone(), |_| true));
                let (mut a, mut b) = (order.reorder_weak_references(weak.clone()), listed.reorder_weak_references(weak.clone()));
                a.sort_unstable();
                b.sort_unstable();
                prop_assert_eq!(a, b);
            }
        }
    }
}
