//! From rows that grew to causes: figures from the dominator tree, and what is one cause told once.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::growth_search::{GrownPlace, GrowthSearch};
use super::row_tree::RowTree;
use super::type_role::{CodeOwner, TypeRole};
use crate::analysis::dominators::{DominatorNode, DominatorWalkStep, Dominators, LazyDominatorChildren};
use crate::analysis::retained::RetainedSizes;
use crate::graph::{HeapGraph, NodeId, NodeSet, prefetch};
use crate::parallel;

/// Two causes are one where the objects of one refer to this share of the elements of the other: an index beside a list.
const MIN_SHARED_ELEMENT_SHARE: f64 = 0.5;
/// Members of so many sets are found eight sets at a time, of more in one walk down the tree.
const MAX_SETS_IN_PASSES: usize = 24;
/// Objects ahead whose rows are asked for.
const PREFETCH_DISTANCE: usize = 16;
/// Stands for rows of no set.
const NO_SET: u32 = u32::MAX;

/// Something that is kept.
#[derive(Debug, Clone)]
pub struct LeakCause {
    /// The place, the type, how many.
    pub grown_place: GrownPlace,
    /// Bytes that would be freed with all below the rows.
    pub retained_bytes: u64,
    /// Bytes outside the heap that go with them.
    pub off_heap_bytes: u64,
    /// One of the elements: that in the middle.
    pub example: NodeId,
    /// The kept objects that none of the others dominates; the one that retains most first.
    pub topmost_objects: Vec<DominatorNode>,
}

/// A graph with its best ways, rows and dominator tree.
#[derive(Clone, Copy)]
pub struct CauseAnalysis<'a, 'd> {
    /// The heap.
    pub graph: &'a HeapGraph,
    /// The tree of best paths, merged.
    pub rows: &'a RowTree,
    /// Its dominator tree.
    pub dominators: &'a Dominators,
    /// Retained sizes.
    pub retained: &'a RetainedSizes,
    /// The dominator tree from the top down.
    pub children: &'a LazyDominatorChildren<'d>,
}

impl CauseAnalysis<'_, '_> {
    /// Calls `take` with each object of a set that no other of its set dominates, and the set. O(objects).
    fn for_each_topmost_object(&self, sets: usize, set_of_row: &[u32], mut take: impl FnMut(usize, DominatorNode)) {
        let set_of = |number: DominatorNode| -> Option<usize> {
            let row = self.rows.row_of(self.dominators.node_at(number))?;
            Some(set_of_row[row as usize]).filter(|&set| set != NO_SET).map(|set| set as usize)
        };
        if sets <= MAX_SETS_IN_PASSES {
            // By number: which of eight sets it or what dominates it is in.
            let mut above = vec![0u8; self.dominators.reached_count() + 1];
            for first in (0..sets).step_by(8) {
                self.dominators.for_each_with_dominator(|number, dominator| {
                    let ahead = |distance| self.dominators.node_ahead(number, distance);
                    ahead(2 * PREFETCH_DISTANCE).into_iter().for_each(|node| self.rows.prefetch_row_of(node));
                    let row = ahead(PREFETCH_DISTANCE).and_then(|node| self.rows.row_of(node));
                    row.into_iter().for_each(|row| prefetch(set_of_row, row as usize));
                    let mut within = above[dominator.index()];
                    if let Some(set) = set_of(number).filter(|set| (first..first + 8).contains(set)) {
                        if within & 1 << (set - first) == 0 {
                            take(set, number);
                        }
                        within |= 1 << (set - first);
                    }
                    above[number.index()] = within;
                });
            }
            return;
        }
        let mut open = vec![0u32; sets];
        self.children.walk(DominatorNode::ROOT, |step| match step {
            DominatorWalkStep::Enter(number) => {
                let Some(set) = set_of(number) else { return };
                if open[set] == 0 {
                    take(set, number);
                }
                open[set] += 1;
            }
            DominatorWalkStep::Leave(number) => {
                if let Some(set) = set_of(number) {
                    open[set] -= 1;
                }
            }
        });
    }

    /// By set of rows: the members that no other member of the set dominates. O(objects).
    fn topmost_objects_by_set(&self, sets: &[Vec<u32>]) -> Vec<Vec<DominatorNode>> {
        let mut set_of = vec![NO_SET; self.rows.rows().len()];
        for (set, rows) in sets.iter().enumerate() {
            rows.iter().for_each(|&row| set_of[row as usize] = set as u32);
        }
        let mut topmost = vec![Vec::new(); sets.len()];
        self.for_each_topmost_object(sets.len(), &set_of, |set, number| topmost[set].push(number));
        topmost
    }

    /// By row: bytes that would be freed with its objects, of some rows; 0 of others. O(objects).
    fn retained_bytes_by_row(&self, is_asked: &[bool]) -> Vec<u64> {
        let (mut set_of, mut sets) = (vec![NO_SET; self.rows.rows().len()], Vec::new());
        for (row, _) in is_asked.iter().enumerate().skip(1).filter(|(_, is_asked)| **is_asked) {
            set_of[row] = sets.len() as u32;
            sets.push(row);
        }
        let mut held = vec![0u64; self.rows.rows().len()];
        let add = |set: usize, number| {
            let held = &mut held[sets[set]];
            *held = held.saturating_add(self.retained.bytes_at(number));
        };
        self.for_each_topmost_object(sets.len(), &set_of, add);
        held
    }

    /// Of what is only large the objects that hold so much by themselves: the row, or the nearest above whose objects do, or
    /// the one below that holds most, where nothing else that was found is there. O(objects).
    pub fn narrow_to_holders(&self, found: &mut Vec<GrownPlace>, least_bytes: u64) {
        let large: Vec<u32> =
            found.iter().filter(|grown| !grown.grew_in_number).map(|grown| grown.element_row).collect();
        let above = |row: u32| {
            std::iter::successors(Some(row), |&row| Some(self.rows.row(row).parent)).take_while(|&row| row != 0)
        };
        let held = if large.is_empty() {
            Vec::new()
        } else {
            self.retained_bytes_by_row(&self.rows.mark_with_ancestors(&large))
        };
        let mut held_below = None;
        let is_settled = |grown: &GrownPlace| grown.grew_in_number || held[grown.element_row as usize] >= least_bytes;
        let settled: Vec<u32> =
            found.iter().filter(|grown| is_settled(grown)).flat_map(|grown| &grown.rows).copied().collect();
        let mut is_known = self.rows.mark_with_ancestors_and_descendants(&settled);
        found.retain_mut(|grown| {
            if is_settled(grown) {
                return true;
            }
            let row = above(grown.element_row).find(|&row| held[row as usize] >= least_bytes);
            // Objects of a chain are in the row that it began with, which need not hold them.
            let row = row.or_else(|| {
                let held = held_below.get_or_insert_with(|| {
                    self.retained_bytes_by_row(&self.rows.mark_with_ancestors_and_descendants(&large))
                });
                let below = self.rows.with_descendants(&[grown.element_row]).into_iter();
                below.filter(|&row| held[row as usize] >= least_bytes).max_by_key(|&row| held[row as usize])
            });
            let Some(row) = row.filter(|&row| !std::mem::replace(&mut is_known[row as usize], true)) else {
                return false;
            };
            *grown = GrownPlace {
                rows: vec![row],
                element_row: row,
                element_objects: self.rows.row(row).objects.into(),
                ..grown.clone()
            };
            true
        });
    }

    fn retained_bytes(&self, members: &[DominatorNode]) -> u64 {
        members.iter().fold(0, |sum, &number| sum.saturating_add(self.retained.bytes_at(number)))
    }

    /// Bytes that would be freed with all objects of each of some sets of rows and all below them. O(objects).
    pub fn retained_bytes_by_row_set(&self, sets: &[Vec<u32>]) -> Vec<u64> {
        let sets: Vec<Vec<u32>> = sets.iter().map(|rows| self.rows.with_descendants(rows)).collect();
        self.topmost_objects_by_set(&sets).iter().map(|members| self.retained_bytes(members)).collect()
    }

    /// Gives what grew its figures. O(objects).
    pub fn measure_causes(&self, grown: Vec<GrownPlace>, off_heap: &FxHashMap<NodeId, u64>) -> Vec<LeakCause> {
        let rows_of = |grown: &GrownPlace| match grown.grew_in_number {
            true => self.rows.with_descendants(&grown.rows),
            false => grown.rows.clone(),
        };
        let (topmost, examples) = rayon::join(
            || self.topmost_objects_by_set(&grown.iter().map(rows_of).collect::<Vec<_>>()),
            || self.example_objects(&grown),
        );
        let mut causes = Vec::with_capacity(grown.len());
        for ((grown, mut topmost), example) in grown.into_iter().zip(topmost).zip(examples) {
            // What another cause has taken is told there.
            let Some(example) = example.filter(|_| !topmost.is_empty()) else { continue };
            let largest = (0..topmost.len()).max_by_key(|&at| {
                (self.retained.bytes_at(topmost[at]), std::cmp::Reverse(self.dominators.node_at(topmost[at])))
            });
            largest.into_iter().for_each(|largest| topmost.swap(0, largest));
            let off_heap_bytes = match off_heap.is_empty() {
                true => 0,
                false => {
                    let below: FxHashSet<u32> = self.rows.with_descendants(&grown.rows).into_iter().collect();
                    let is_below = |node: NodeId| self.rows.row_of(node).is_some_and(|row| below.contains(&row));
                    off_heap.iter().filter(|(node, _)| is_below(**node)).map(|(_, bytes)| bytes).sum()
                }
            };
            let retained_bytes = self.retained_bytes(&topmost);
            causes.push(LeakCause {
                grown_place: grown,
                retained_bytes,
                off_heap_bytes,
                example,
                topmost_objects: topmost,
            });
        }
        causes
    }

    /// Of each element's row the object in the middle. O(objects).
    fn example_objects(&self, grown: &[GrownPlace]) -> Vec<Option<NodeId>> {
        let mut left: Vec<(u32, Option<NodeId>)> =
            grown.iter().map(|grown| (self.rows.row(grown.element_row).objects / 2, None)).collect();
        let mut wanted: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        grown.iter().enumerate().for_each(|(at, grown)| wanted.entry(grown.element_row).or_default().push(at));
        for node in self.graph.nodes() {
            let Some(places) = self.rows.row_of(node).and_then(|row| wanted.get(&row)) else { continue };
            for &at in places {
                match &mut left[at] {
                    (0, found @ None) => *found = Some(node),
                    (0, _) => {}
                    (count, _) => *count -= 1,
                }
            }
        }
        left.into_iter().map(|(_, found)| found).collect()
    }

    /// By set of rows: objects of the types of a symbol that the rows' own objects refer to, each once. O(objects), and their
    /// references; of so many sets as there are bits.
    pub fn count_referenced_objects(&self, sets: &[(Vec<u32>, u32)], type_roles: &[TypeRole]) -> Vec<u64> {
        let mut sets_of = vec![0u64; self.rows.rows().len()];
        for (at, (rows, _)) in sets.iter().enumerate().take(u64::BITS as usize) {
            rows.iter().for_each(|&row| sets_of[row as usize] |= 1 << at);
        }
        let mut counts = vec![0; sets.len()];
        let count_of = |rows: &[u32]| if rows.is_empty() { 0 } else { self.graph.node_count() };
        let mut is_met: Vec<NodeSet> = sets.iter().map(|(rows, _)| NodeSet::new(count_of(rows))).collect();
        for node in self.graph.nodes() {
            let mut left = self.rows.row_of(node).map_or(0, |row| sets_of[row as usize]);
            while left != 0 {
                let at = left.trailing_zeros() as usize;
                left &= left - 1;
                for &to in self.graph.strong_references(node) {
                    let is_one = type_roles[self.graph.type_of(to).index()].symbol == sets[at].1;
                    counts[at] += u64::from(is_one && is_met[at].insert(to));
                }
            }
        }
        counts
    }

    /// Members of a row, ascending. O(objects).
    pub fn row_members(&self, row: u32) -> Vec<NodeId> {
        self.graph.nodes().filter(|&node| self.rows.row_of(node) == Some(row)).collect()
    }

    /// Takes out causes whose elements another's objects refer to: an index beside a list. What has an element of the
    /// program's own stays, else the larger. O(objects), and the references of what they keep.
    pub fn remove_repeated_causes(&self, causes: &mut Vec<LeakCause>, type_roles: &[TypeRole]) {
        if causes.len() < 2 {
            return;
        }
        let owner = |cause: &LeakCause| -> CodeOwner {
            type_roles[self.rows.row(cause.grown_place.element_row).type_id.index()].owner
        };
        // By row: the causes that it is in, of as many as there are bits, and the one whose element it is.
        let (mut causes_of, mut cause_of_element) =
            (vec![0u64; self.rows.rows().len()], vec![NO_SET; self.rows.rows().len()]);
        for (at, cause) in causes.iter().enumerate().take(u64::BITS as usize) {
            cause_of_element[cause.grown_place.element_row as usize] = at as u32;
            self.rows
                .with_descendants(&cause.grown_place.rows)
                .iter()
                .for_each(|&row| causes_of[row as usize] |= 1 << at);
        }
        // By cause: how many of the others' elements it refers to.
        let mut met = vec![vec![0u64; causes.len()]; causes.len()];
        let mut is_met = vec![NodeSet::new(self.graph.node_count()); causes.len()];
        let find = |nodes: Range<usize>| {
            let mut found: Vec<(u64, u32, NodeId)> = Vec::new();
            for node in nodes.map(NodeId::new) {
                let within = self.rows.row_of(node).map_or(0, |row| causes_of[row as usize]);
                let targets = if within == 0 { &[] } else { self.graph.strong_references(node) };
                for &to in targets {
                    let other = self.rows.row_of(to).map_or(NO_SET, |row| cause_of_element[row as usize]);
                    let others = if other == NO_SET { 0 } else { within & !(1 << other) };
                    found.extend((others != 0).then_some((others, other, to)));
                }
            }
            found
        };
        let found = parallel::map(parallel::pieces(self.graph.node_count()), &find);
        for (mut left, other, to) in found.into_iter().flatten() {
            while left != 0 {
                let at = left.trailing_zeros() as usize;
                left &= left - 1;
                met[at][other as usize] += u64::from(is_met[at].insert(to));
            }
        }
        let mut is_gone = vec![false; causes.len()];
        for at in 0..causes.len() {
            for other in 0..causes.len() {
                let elements = f64::from(self.rows.row(causes[other].grown_place.element_row).objects);
                if is_gone[other]
                    || other == at
                    || is_gone[at]
                    || (met[at][other] as f64) < MIN_SHARED_ELEMENT_SHARE * elements
                {
                    continue;
                }
                let (larger, smaller) = (at.min(other), at.max(other));
                is_gone[if owner(&causes[larger]) > owner(&causes[smaller]) { larger } else { smaller }] = true;
            }
        }
        let mut gone = is_gone.into_iter();
        causes.retain(|_| !gone.next().unwrap_or(false));
    }

    /// The object nearest to some that dominates them all, else all that are of the first one's type; `None` where only the
    /// roots do, or it takes too many steps.
    pub fn common_dominator(&self, members: &[DominatorNode]) -> Option<DominatorNode> {
        let type_of = |number: DominatorNode| self.graph.type_of(self.dominators.node_at(number));
        let first = type_of(*members.first()?);
        let of_first = || members.iter().copied().filter(|&member| type_of(member) == first);
        self.nearest_common_dominator(members.iter().copied(), members.len())
            .or_else(|| self.nearest_common_dominator(of_first(), members.len()))
    }

    fn nearest_common_dominator(
        &self,
        mut members: impl Iterator<Item = DominatorNode>,
        count: usize,
    ) -> Option<DominatorNode> {
        const MAX_STEPS_PER_MEMBER: usize = 64;
        let mut left = count.saturating_mul(MAX_STEPS_PER_MEMBER) + 1024;
        let mut common = self.dominators.immediate_dominator_of(members.next()?);
        for member in members {
            let mut at = self.dominators.immediate_dominator_of(member);
            while at != common {
                left = left.checked_sub(1)?;
                // Every number is greater than that of its immediate dominator.
                if at > common {
                    at = self.dominators.immediate_dominator_of(at);
                } else {
                    common = self.dominators.immediate_dominator_of(common);
                }
                if common == DominatorNode::ROOT {
                    return None;
                }
            }
        }
        (common != DominatorNode::ROOT).then_some(common)
    }

    /// By cause: bytes that its rows retained in the older dump, whose analysis this is; `search` joined the rows of both.
    pub fn old_retained_bytes(&self, search: &GrowthSearch<'_>, causes: &[LeakCause]) -> Vec<u64> {
        let partners =
            |cause: &LeakCause| cause.grown_place.rows.iter().filter_map(|&row| search.old_row_number(row)).collect();
        self.retained_bytes_by_row_set(&causes.iter().map(partners).collect::<Vec<_>>())
    }
}
