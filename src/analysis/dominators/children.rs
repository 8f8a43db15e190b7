//! The dominator tree turned round, for walking down.

use std::sync::LazyLock;

use super::node::DominatorNode;
use crate::graph::{Column, prefetch};

/// Objects ahead whose lists are asked for.
const PREFETCH_DISTANCE: usize = 4;

/// Lists of the objects that each object immediately dominates, by number.
#[derive(Debug)]
pub struct DominatorChildren<'a>(ChildLists<'a>);

/// Lists of children that are made when they are first asked for.
pub type LazyDominatorChildren<'a> =
    LazyLock<DominatorChildren<'a>, Box<dyn FnOnce() -> DominatorChildren<'a> + Send + 'a>>;

#[derive(Debug)]
enum ChildLists<'a> {
    /// The children of number `n` are `list[starts[n]..starts[n + 1]]`.
    Csr { starts: Vec<u32>, list: Vec<u32> },
    /// Where the children of each number begin: they follow one another.
    LevelOrder(&'a Column<u32>),
}

/// Numbers of the objects that one immediately dominates, ascending.
#[derive(Debug, Clone)]
pub enum ChildNumbers<'a> {
    /// Anywhere.
    Listed(std::iter::Copied<std::slice::Iter<'a, u32>>),
    /// One after another.
    Consecutive(std::ops::Range<u32>),
}

impl Iterator for ChildNumbers<'_> {
    type Item = DominatorNode;

    fn next(&mut self) -> Option<DominatorNode> {
        match self {
            ChildNumbers::Listed(numbers) => numbers.next().map(DominatorNode),
            ChildNumbers::Consecutive(numbers) => numbers.next().map(DominatorNode),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            ChildNumbers::Listed(numbers) => numbers.size_hint(),
            ChildNumbers::Consecutive(numbers) => numbers.size_hint(),
        }
    }
}

impl ExactSizeIterator for ChildNumbers<'_> {}

/// Step of a walk down the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DominatorWalkStep {
    /// Down to the object.
    Enter(DominatorNode),
    /// Up from it.
    Leave(DominatorNode),
}

impl<'a> DominatorChildren<'a> {
    /// From the immediate dominator of each number. O(objects), 8 bytes for each.
    pub(super) fn of_immediate_dominators(immediate: &[u32]) -> Self {
        let count = immediate.len();
        let mut starts = vec![0u32; count + 1];
        for &parent in &immediate[1..] {
            starts[parent as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut list = vec![0u32; count - 1];
        for number in (1..count).rev() {
            let cursor = &mut starts[immediate[number] as usize];
            *cursor -= 1;
            list[*cursor as usize] = number as u32;
        }
        DominatorChildren(ChildLists::Csr { starts, list })
    }

    /// From where in a tree numbered level by level those below each number begin.
    pub(super) fn of_level_order(first_child: &'a Column<u32>) -> Self {
        DominatorChildren(ChildLists::LevelOrder(first_child))
    }

    /// Numbers of the objects that this one immediately dominates. O(1).
    pub fn of(&self, number: DominatorNode) -> ChildNumbers<'_> {
        let number = number.index();
        match &self.0 {
            ChildLists::Csr { starts, list } => {
                ChildNumbers::Listed(list[starts[number] as usize..starts[number + 1] as usize].iter().copied())
            }
            ChildLists::LevelOrder(first_child) => {
                // Nobody dominates what has a smaller number, whatever a file says: walks must end.
                let start = first_child.get(number).max(number as u32 + 1);
                ChildNumbers::Consecutive(start..first_child.get(number + 1).max(start))
            }
        }
    }

    /// Calls `take` with everything below `from`, itself left out, in no order. O(objects below).
    pub fn for_each_below(&self, from: DominatorNode, mut take: impl FnMut(DominatorNode)) {
        let mut open = vec![from];
        while let Some(number) = open.pop() {
            if let (Some(ahead), ChildLists::Csr { starts, .. }) = (open.len().checked_sub(PREFETCH_DISTANCE), &self.0)
            {
                prefetch(starts, open[ahead].index());
            }
            for below in self.of(number) {
                take(below);
                open.push(below);
            }
        }
    }

    /// Walks everything below `from`, itself left out. O(objects below).
    pub fn walk(&self, from: DominatorNode, mut visit: impl FnMut(DominatorWalkStep)) {
        let mut stack = vec![(from, self.of(from))];
        while let Some((number, children)) = stack.last_mut() {
            match children.next() {
                Some(next) => {
                    visit(DominatorWalkStep::Enter(next));
                    stack.push((next, self.of(next)));
                }
                None => {
                    if *number != from {
                        visit(DominatorWalkStep::Leave(*number));
                    }
                    stack.pop();
                }
            }
        }
    }
}
