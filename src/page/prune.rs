//! Picks the rows of a large tree that stand on the page: the largest first, whatever their depth, and below every row that lost
//! some one row that adds them up, so that sums stay exact.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::hash::Hash;

/// The weight of a row with all below it. Bytes of a row are at least those of its children together.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowWeight {
    pub(super) bytes: u64,
    pub(super) objects: u64,
    /// Of rows of one size the lower rank comes first, then the lower row.
    pub(super) rank: usize,
}

/// How many rows of a tree stand on the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowBudget {
    /// Rows of the tree; rows that add up others come on top.
    pub(super) rows: usize,
    /// Rows below one row.
    pub(super) children_per_row: usize,
}

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrunedContent<R> {
    Row(R),
    /// This many rows that are not shown.
    HiddenRows(u64),
}

/// A row of the page, and its weight.
#[derive(Debug)]
pub(super) struct PrunedRow<R> {
    pub(super) content: PrunedContent<R>,
    /// The place of the row above it.
    pub(super) parent: Option<usize>,
    pub(super) bytes: u64,
    pub(super) objects: u64,
}

/// Rows in preorder: each followed by those below it, largest first, those not shown last.
#[derive(Debug)]
pub(super) struct PrunedTree<R> {
    pub(super) rows: Vec<PrunedRow<R>>,
    /// Every row of this many bytes or more is shown, but for rows with too many children.
    pub(super) minimum_bytes: u64,
}

struct TakenRow<R> {
    /// `None` for what is above the top.
    row: Option<R>,
    /// Taken rows below it, largest first.
    children: Vec<usize>,
    /// Rows below it that were not taken.
    hidden_count: u64,
}

/// Takes the largest rows of a tree, by those at its top and those below each, in any order. O(rows looked at x log of
/// them): children of taken rows are looked at, no others.
pub(super) fn prune<R: Copy + Ord + Hash>(
    tops: &[R],
    children: impl Fn(R) -> Vec<R>,
    weight: impl Fn(R) -> RowWeight,
    budget: RowBudget,
) -> PrunedTree<R> {
    let below = |row: Option<R>| row.map_or_else(|| tops.to_vec(), &children);
    let mut taken = vec![TakenRow { row: None, children: Vec::new(), hidden_count: 0 }];
    // Bytes, rank and row of a row that waits, and the taken row above it.
    let mut waiting: BinaryHeap<(u64, Reverse<usize>, Reverse<R>, usize)> = BinaryHeap::new();
    let add_below = |row: Option<R>, parent: usize, waiting: &mut BinaryHeap<_>| {
        waiting.extend(below(row).into_iter().map(|row| {
            let RowWeight { bytes, rank, .. } = weight(row);
            (bytes, Reverse(rank), Reverse(row), parent)
        }));
    };
    add_below(None, 0, &mut waiting);
    let (mut last_bytes, mut minimum_bytes) = (None, 0);
    while let Some(&(bytes, ..)) = waiting.peek() {
        // Rows of one size are in or out together, unless there are very many of them.
        let rows = taken.len() - 1;
        let is_tie = last_bytes == Some(bytes) && rows < budget.rows.saturating_mul(2);
        if rows >= budget.rows && !is_tie {
            minimum_bytes = bytes.saturating_add(1);
            break;
        }
        let Some((.., Reverse(row), parent)) = waiting.pop() else { break };
        if taken[parent].children.len() >= budget.children_per_row {
            taken[parent].hidden_count += 1;
            continue;
        }
        let place = taken.len();
        taken[parent].children.push(place);
        taken.push(TakenRow { row: Some(row), children: Vec::new(), hidden_count: 0 });
        last_bytes = Some(bytes);
        add_below(Some(row), place, &mut waiting);
    }
    waiting.into_iter().for_each(|(.., parent)| taken[parent].hidden_count += 1);
    PrunedTree { rows: rows_in_preorder(&taken, below, weight), minimum_bytes }
}

fn rows_in_preorder<R: Copy + Eq + Hash>(
    taken: &[TakenRow<R>],
    below: impl Fn(Option<R>) -> Vec<R>,
    weight: impl Fn(R) -> RowWeight,
) -> Vec<PrunedRow<R>> {
    let mut rows = Vec::new();
    // Taken rows that are to come, or the rest of what is below them, and the place of the row above.
    let mut steps: Vec<(usize, bool, Option<usize>)> = Vec::new();
    let descend = |place: usize, at: Option<usize>, steps: &mut Vec<_>| {
        steps.extend((taken[place].hidden_count > 0).then_some((place, true, at)));
        steps.extend(taken[place].children.iter().rev().map(|&child| (child, false, at)));
    };
    descend(0, None, &mut steps);
    while let Some((place, is_rest, parent)) = steps.pop() {
        let TakenRow { row, children, hidden_count: hidden } = &taken[place];
        if is_rest {
            let shown: HashSet<R> = children.iter().filter_map(|&child| taken[child].row).collect();
            let rest = below(*row).into_iter().filter(|row| !shown.contains(row)).map(&weight);
            let (bytes, objects) = rest.fold((0u64, 0u64), |(bytes, objects), row| {
                (bytes.saturating_add(row.bytes), objects.saturating_add(row.objects))
            });
            rows.push(PrunedRow { content: PrunedContent::HiddenRows(*hidden), parent, bytes, objects });
        } else if let Some(row) = *row {
            let RowWeight { bytes, objects, .. } = weight(row);
            descend(place, Some(rows.len()), &mut steps);
            rows.push(PrunedRow { content: PrunedContent::Row(row), parent, bytes, objects });
        }
    }
    rows
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

    impl Given {
        fn children(&self, row: Option<u32>) -> Vec<u32> {
            (0..self.0.len() as u32).filter(|&one| self.0[one as usize].0 == row).collect()
        }
        fn weight(&self, row: u32) -> RowWeight {
            let bytes = self.below(row).map(|one| self.0[one as usize].1).sum();
            RowWeight { bytes, objects: self.below(row).count() as u64, rank: 0 }
        }
        fn pruned(&self, budget: RowBudget) -> PrunedTree<u32> {
            prune(&self.children(None), |row| self.children(Some(row)), |row| self.weight(row), budget)
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
            let pruned = given.pruned(RowBudget { rows, children_per_row: children });
            for (at, pruned_row) in pruned.rows.iter().enumerate() {
                let PrunedContent::Row(row) = pruned_row.content else { continue };
                let below = pruned.rows.iter().filter(|one| one.parent == Some(at));
                let (bytes, objects) = below.fold((0, 0), |(b, o), one| (b + one.bytes, o + one.objects));
                let cut = given.children(Some(row)).is_empty();
                prop_assert_eq!(pruned_row.bytes, bytes + given.0[row as usize].1);
                prop_assert_eq!(pruned_row.objects, objects + 1);
                prop_assert!(!cut || bytes == 0);
            }
            let tops = pruned.rows.iter().filter(|row| row.parent.is_none());
            prop_assert_eq!(tops.map(|row| row.bytes).sum::<u64>(), given.0.iter().map(|row| row.1).sum::<u64>());
        }

        #[test]
        fn the_largest_are_shown(given in trees(), rows in 1..40usize) {
            let pruned = given.pruned(RowBudget { rows, children_per_row: usize::MAX });
            let shown: Vec<u32> = pruned.rows.iter().filter_map(|row| match row.content {
                PrunedContent::Row(row) => Some(row),
                PrunedContent::HiddenRows(_) => None,
            }).collect();
            prop_assert!(shown.len() <= 2 * rows);
            for row in (0..given.0.len() as u32).filter(|&row| given.weight(row).bytes >= pruned.minimum_bytes) {
                prop_assert!(shown.contains(&row), "row {} of {} bytes", row, given.weight(row).bytes);
            }
        }
    }

    #[test]
    fn a_row_that_adds_up_others_stands_last() {
        let given = Given(vec![(None, 10), (Some(0), 5), (Some(0), 3), (Some(0), 2), (None, 1)]);
        let pruned = given.pruned(RowBudget { rows: 2, children_per_row: 200 });
        let rows: Vec<_> = pruned.rows.iter().map(|row| (row.content, row.bytes, row.parent)).collect();
        assert_eq!(
            rows,
            [
                (PrunedContent::Row(0), 20, None),
                (PrunedContent::Row(1), 5, Some(0)),
                (PrunedContent::HiddenRows(2), 5, Some(0)),
                (PrunedContent::HiddenRows(1), 1, None)
            ]
        );
        assert_eq!(pruned.minimum_bytes, 4);
    }
}
