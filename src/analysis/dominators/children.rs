//! The dominator tree turned round, for walking down.

use super::node::DomNode;
use crate::graph::{Column, PackedNumbers};

/// Lists of the objects that each object immediately dominates, by number.
#[derive(Debug)]
pub struct DominatorChildren<'a>(ChildLists<'a>);

#[derive(Debug)]
enum ChildLists<'a> {
    /// By number: how many numbers from it on it dominates.
    Preorder(&'a PackedNumbers),
    LevelOrder(&'a Column<u32>),
}

/// Numbers of the objects that one immediately dominates, ascending.
#[derive(Debug, Clone)]
pub enum ChildNumbers<'a> {
    /// Each behind all that the one before dominates.
    Preorder {
        /// By number: how many numbers from it on it dominates.
        sizes: &'a PackedNumbers,
        /// Those that are left, and what they dominate.
        numbers: std::ops::Range<u32>,
    },
    /// One after another.
    Consecutive(std::ops::Range<u32>),
}

impl Iterator for ChildNumbers<'_> {
    type Item = DomNode;

    fn next(&mut self) -> Option<DomNode> {
        match self {
            ChildNumbers::Preorder { sizes, numbers } => {
                let number = numbers.clone().next()?;
                numbers.start += sizes.get(number as usize) as u32;
                Some(DomNode(number))
            }
            ChildNumbers::Consecutive(numbers) => numbers.next().map(DomNode),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            ChildNumbers::Preorder { numbers, .. } => (usize::from(!numbers.is_empty()), Some(numbers.len())),
            ChildNumbers::Consecutive(numbers) => numbers.size_hint(),
        }
    }
}

/// Step of a walk down the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DominatorWalkStep {
    /// Down to the object.
    Enter(DomNode),
    /// Up from it.
    Leave(DomNode),
}

impl<'a> DominatorChildren<'a> {
    /// From how many numbers each dominates in a tree in preorder.
    pub(super) fn of_sizes(sizes: &'a PackedNumbers) -> Self {
        DominatorChildren(ChildLists::Preorder(sizes))
    }

    /// From where in a tree numbered level by level those below each number begin.
    pub(super) fn of_levels(first_child: &'a Column<u32>) -> Self {
        DominatorChildren(ChildLists::LevelOrder(first_child))
    }

    /// Numbers of the objects that this one immediately dominates. O(1).
    pub fn of(&self, number: DomNode) -> ChildNumbers<'_> {
        let number = number.index();
        match &self.0 {
            ChildLists::Preorder(sizes) => {
                // The root is not counted among what it dominates.
                let first = number as u32 + 1;
                let end = number as u32 + sizes.get(number) as u32 + u32::from(number == 0);
                ChildNumbers::Preorder { sizes, numbers: first..end }
            }
            ChildLists::LevelOrder(first_child) => {
                // Nobody dominates what has a smaller number, whatever a file says: walks must end.
                let start = first_child.get(number).max(number as u32 + 1);
                ChildNumbers::Consecutive(start..first_child.get(number + 1).max(start))
            }
        }
    }

    /// Walks everything below `from`, itself left out. O(objects below).
    pub fn walk(&self, from: DomNode, mut visit: impl FnMut(DominatorWalkStep)) {
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
