//! Picks the rows of a large tree that stand on the page: the largest first, whatever their depth, and below every row that lost
//! some one row that adds them up, so that sums stay exact.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::hash::Hash;

/// A tree that is too large for a page. Bytes of a row are at least those of its children together.
pub(super) trait LargeTree {
    /// A row of it.
    type Row: Copy + Ord + Hash;
    /// Rows at the top, in any order.
    fn tops(&self) -> Vec<Self::Row>;
    /// Rows below a row, in any order.
    fn children(&self, row: Self::Row) -> Vec<Self::Row>;
    /// Bytes of a row with all below it.
    fn bytes(&self, row: Self::Row) -> u64;
    /// Objects of a row with all below it.
    fn objects(&self, row: Self::Row) -> u64;
    /// Of rows of one size the lower rank comes first, then the lower row. Default: the row alone decides.
    fn rank(&self, _: Self::Row) -> usize {
        0
    }
}

/// Bytes, rank and row of a row that waits, and the taken row above it.
type WaitingRow<R> = (u64, Reverse<usize>, Reverse<R>, Option<usize>);

/// Rows at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// Rows of the tree; rows that add up others come on top.
    pub(super) rows: usize,
    /// Rows below one row.
    pub(super) children: usize,
}

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrunedContent<R> {
    /// A row of the tree.
    Row(R),
    /// This many rows that are not shown.
    Other(u64),
}

/// Rows in preorder: each followed by those below it, largest first, those not shown last.
#[derive(Debug)]
pub(super) struct Pruned<R> {
    pub(super) content: Vec<PrunedContent<R>>,
    /// By row: the place of the row above it.
    pub(super) parent: Vec<Option<usize>>,
    pub(super) bytes: Vec<u64>,
    pub(super) objects: Vec<u64>,
    /// Every row of this many bytes or more is shown, but for rows with too many children.
    pub(super) minimum_bytes: u64,
}

/// A row that was taken.
struct Taken<R> {
    row: R,
    /// Index into the taken rows.
    parent: Option<usize>,
    /// Taken rows below it, largest first.
    children: Vec<usize>,
    /// Rows below it that were not taken.
    hidden: u64,
}

/// Takes the largest rows. O(rows looked at x log of them): children of taken rows are looked at, no others.
pub(super) fn prune<S: LargeTree>(source: &S, budget: Budget) -> Pruned<S::Row> {
    let mut taken: Vec<Taken<S::Row>> = Vec::new();
    let mut hidden_tops = 0u64;
    let mut waiting: BinaryHeap<WaitingRow<S::Row>> = BinaryHeap::new();
    let add = |row: S::Row, parent, waiting: &mut BinaryHeap<_>| {
        waiting.push((source.bytes(row), Reverse(source.rank(row)), Reverse(row), parent));
    };
    let tops = source.tops();
    let mut tops_taken = 0;
    tops.into_iter().for_each(|row| add(row, None, &mut waiting));
    let mut minimum_bytes = 0;
    while let Some(&(bytes, ..)) = waiting.peek() {
        if taken.len() >= budget.rows && !ends_a_tie(&taken, source, bytes, budget) {
            minimum_bytes = bytes.saturating_add(1);
            break;
        }
        let Some((.., Reverse(row), parent)) = waiting.pop() else { break };
        let siblings = parent.map_or(tops_taken, |parent: usize| taken[parent].children.len());
        if siblings >= budget.children {
            match parent {
                Some(parent) => taken[parent].hidden += 1,
                None => hidden_tops += 1,
            }
            continue;
        }
        let place = taken.len();
        match parent {
            Some(parent) => taken[parent].children.push(place),
            None => tops_taken += 1,
        }
        taken.push(Taken { row, parent, children: Vec::new(), hidden: 0 });
        source.children(row).into_iter().for_each(|child| add(child, Some(place), &mut waiting));
    }
    for (.., parent) in waiting {
        match parent {
            Some(parent) => taken[parent].hidden += 1,
            None => hidden_tops += 1,
        }
    }
    in_preorder(source, &taken, hidden_tops, minimum_bytes)
}

/// Rows of one size are in or out together, unless there are very many of them.
fn ends_a_tie<S: LargeTree>(taken: &[Taken<S::Row>], source: &S, bytes: u64, budget: Budget) -> bool {
    let is_tie = taken.last().is_some_and(|last| source.bytes(last.row) == bytes);
    is_tie && taken.len() < budget.rows.saturating_mul(2)
}

fn in_preorder<S: LargeTree>(
    source: &S,
    taken: &[Taken<S::Row>],
    hidden_tops: u64,
    minimum_bytes: u64,
) -> Pruned<S::Row> {
    let (content, parent, bytes, objects) = Default::default();
    let mut pruned = Pruned { content, parent, bytes, objects, minimum_bytes };
    // Rows that add up others are put in when all rows below their parent are there: as places of the preorder.
    enum PreorderStep {
        Row(usize, Option<usize>),
        Other(usize, usize),
    }
    let tops = (0..taken.len()).filter(|&place| taken[place].parent.is_none());
    let mut steps: Vec<PreorderStep> = tops.rev().map(|place| PreorderStep::Row(place, None)).collect();
    while let Some(step) = steps.pop() {
        match step {
            PreorderStep::Row(place, parent) => {
                let Taken { row, ref children, hidden, .. } = taken[place];
                let at = pruned.push(PrunedContent::Row(row), parent, source.bytes(row), source.objects(row));
                if hidden > 0 {
                    steps.push(PreorderStep::Other(place, at));
                }
                steps.extend(children.iter().rev().map(|&child| PreorderStep::Row(child, Some(at))));
            }
            PreorderStep::Other(place, at) => {
                let is_shown: HashSet<S::Row> = taken[place].children.iter().map(|&child| taken[child].row).collect();
                let (bytes, objects) = sum_of_rest(source, source.children(taken[place].row), &is_shown);
                pruned.push(PrunedContent::Other(taken[place].hidden), Some(at), bytes, objects);
            }
        }
    }
    if hidden_tops > 0 {
        let is_top = |taken: &&Taken<S::Row>| taken.parent.is_none();
        let is_shown: HashSet<S::Row> = taken.iter().filter(is_top).map(|taken| taken.row).collect();
        let (bytes, objects) = sum_of_rest(source, source.tops(), &is_shown);
        pruned.push(PrunedContent::Other(hidden_tops), None, bytes, objects);
    }
    pruned
}

/// Bytes and objects of the rows that are not shown.
fn sum_of_rest<S: LargeTree>(source: &S, rows: Vec<S::Row>, is_shown: &HashSet<S::Row>) -> (u64, u64) {
    let rest = rows.into_iter().filter(|row| !is_shown.contains(row));
    rest.fold((0u64, 0u64), |(bytes, objects), row| {
        (bytes.saturating_add(source.bytes(row)), objects.saturating_add(source.objects(row)))
    })
}

impl<R> Pruned<R> {
    fn push(&mut self, content: PrunedContent<R>, parent: Option<usize>, bytes: u64, objects: u64) -> usize {
        self.content.push(content);
        self.parent.push(parent);
        self.bytes.push(bytes);
        self.objects.push(objects);
        self.content.len() - 1
    }

    /// Rows, those that add up others included.
    pub(super) fn len(&self) -> usize {
        self.content.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By row: the row above it, and bytes of its own.
    #[derive(Debug)]
    struct Given(Vec<(Option<u32>, u64)>);

    impl Given {
        fn below(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
            let above = move |mut one: u32| loop {
                if one == row {
                    return true;
                }
                match self.0[one as usize].0 {
                    Some(parent) => one = parent,
                    None => return false,
                }
            };
            (0..self.0.len() as u32).filter(move |&one| above(one))
        }
    }

    impl LargeTree for Given {
        type Row = u32;
        fn tops(&self) -> Vec<u32> {
            (0..self.0.len() as u32).filter(|&row| self.0[row as usize].0.is_none()).collect()
        }
        fn children(&self, row: u32) -> Vec<u32> {
            (0..self.0.len() as u32).filter(|&one| self.0[one as usize].0 == Some(row)).collect()
        }
        fn bytes(&self, row: u32) -> u64 {
            self.below(row).map(|one| self.0[one as usize].1).sum()
        }
        fn objects(&self, row: u32) -> u64 {
            self.below(row).count() as u64
        }
    }

    fn trees() -> impl Strategy<Value = Given> {
        proptest::collection::vec((any::<prop::sample::Index>(), 0..50u64, any::<bool>()), 1..60).prop_map(|rows| {
            let parent = |at: usize, index: prop::sample::Index, is_top: bool| {
                (at > 0 && !is_top).then(|| index.index(at) as u32)
            };
            Given(
                rows.into_iter()
                    .enumerate()
                    .map(|(at, (i, own, top))| (parent(at, i, top && at % 3 == 0), own))
                    .collect(),
            )
        })
    }

    proptest! {
        #[test]
        fn sums_are_exact(given in trees(), rows in 0..40usize, children in 1..10usize) {
            let pruned = prune(&given, Budget { rows, children });
            for at in 0..pruned.len() {
                let PrunedContent::Row(row) = pruned.content[at] else { continue };
                let below = (0..pruned.len()).filter(|&one| pruned.parent[one] == Some(at));
                let (bytes, objects) = below.fold((0, 0), |(b, o), one| (b + pruned.bytes[one], o + pruned.objects[one]));
                let cut = given.children(row).is_empty();
                prop_assert_eq!(pruned.bytes[at], bytes + given.0[row as usize].1);
                prop_assert_eq!(pruned.objects[at], objects + 1);
                prop_assert!(!cut || bytes == 0);
            }
            let tops = (0..pruned.len()).filter(|&at| pruned.parent[at].is_none());
            prop_assert_eq!(tops.map(|at| pruned.bytes[at]).sum::<u64>(), given.0.iter().map(|row| row.1).sum::<u64>());
        }

        #[test]
        fn the_largest_are_shown(given in trees(), rows in 1..40usize) {
            let pruned = prune(&given, Budget { rows, children: usize::MAX });
            let shown: Vec<u32> = pruned.content.iter().filter_map(|content| match content {
                PrunedContent::Row(row) => Some(*row),
                PrunedContent::Other(_) => None,
            }).collect();
            prop_assert!(shown.len() <= 2 * rows);
            for row in (0..given.0.len() as u32).filter(|&row| given.bytes(row) >= pruned.minimum_bytes) {
                prop_assert!(shown.contains(&row), "row {} of {} bytes", row, given.bytes(row));
            }
        }
    }

    #[test]
    fn a_row_that_adds_up_others_stands_last() {
        let given = Given(vec![(None, 10), (Some(0), 5), (Some(0), 3), (Some(0), 2), (None, 1)]);
        let pruned = prune(&given, Budget { rows: 2, children: 200 });
        assert_eq!(
            pruned.content,
            [PrunedContent::Row(0), PrunedContent::Row(1), PrunedContent::Other(2), PrunedContent::Other(1)]
        );
        assert_eq!(pruned.bytes, [20, 5, 5, 1]);
        assert_eq!(pruned.parent, [None, Some(0), Some(0), None]);
        assert_eq!(pruned.minimum_bytes, 4);
    }
}
