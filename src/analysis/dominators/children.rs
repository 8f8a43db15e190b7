//! The dominator tree turned round, for walking down.

use crate::graph::Column;

/// Who is immediately dominated by whom, by number.
#[derive(Debug)]
pub struct Children<'a>(Below<'a>);

#[derive(Debug)]
enum Below<'a> {
    Listed { starts: Vec<u32>, list: Vec<u32> },
    Levels(&'a Column<u32>),
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
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            ChildNumbers::Listed(numbers) => numbers.next(),
            ChildNumbers::Consecutive(numbers) => numbers.next(),
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

/// What a walk down the tree meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Down to the object with this number.
    Enter(usize),
    /// Up from it.
    Leave(usize),
}

impl<'a> Children<'a> {
    /// From the immediate dominator of each number. O(objects), 8 bytes for each.
    pub(super) fn of_list(immediate: &[u32]) -> Self {
        let count = immediate.len();
        let mut starts = vec![0u32; count + 1];
        for &above in &immediate[1..] {
            starts[above as usize] += 1;
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
        Children(Below::Listed { starts, list })
    }

    /// From where in a tree numbered level by level those below each number begin.
    pub(super) fn of_levels(first_below: &'a Column<u32>) -> Self {
        Children(Below::Levels(first_below))
    }

    /// Numbers of the objects that this one immediately dominates. O(1).
    pub fn of(&self, number: usize) -> ChildNumbers<'_> {
        match &self.0 {
            Below::Listed { starts, list } => {
                ChildNumbers::Listed(list[starts[number] as usize..starts[number + 1] as usize].iter().copied())
            }
            Below::Levels(first_below) => {
                // Nobody dominates what has a smaller number, whatever a file says: walks must end.
                let start = first_below.get(number).max(number as u32 + 1);
                ChildNumbers::Consecutive(start..first_below.get(number + 1).max(start))
            }
        }
    }

    /// Walks everything below `from`, itself left out. O(objects below).
    pub fn walk(&self, from: usize, mut visit: impl FnMut(Step)) {
        let mut stack = vec![(from, self.of(from))];
        while let Some((number, below)) = stack.last_mut() {
            match below.next() {
                Some(next) => {
                    visit(Step::Enter(next as usize));
                    stack.push((next as usize, self.of(next as usize)));
                }
                None => {
                    if *number != from {
                        visit(Step::Leave(*number));
                    }
                    stack.pop();
                }
            }
        }
    }
}
