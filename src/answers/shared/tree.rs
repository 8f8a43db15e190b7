//! Trees as answers: rows from top to bottom, each followed by those below it.
//!
//! Every tree is grown by `preorder` from levels of `TreeLevel::sorted_and_cut`. Rows may be compact (numbers,
//! borrowed names); they become text when they are written.

use std::cell::Cell;
use std::cmp::Ordering;

use serde::{Serialize, Serializer};

use super::Limits;

/// Levels below the top that a tree has at most. JSON is nested as deep, and so is the stack while it is written.
pub const MAX_DEPTH: u32 = 500;

/// A tree: its rows in preorder. Serialises as an array of the rows at the top, each with its `children`.
#[derive(Debug, Clone)]
pub struct Tree<R> {
    rows: Vec<TreeRow<R>>,
}

/// A row of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeRow<R> {
    /// Levels above it; 0 at the top.
    pub depth: u32,
    /// Rows of its level that were left out, and would stand after it.
    pub hidden_after: u32,
    /// The row.
    pub row: R,
}

impl<R> TreeRow<R> {
    /// The same place in the tree with another row.
    pub fn map<T>(self, row: impl FnOnce(R) -> T) -> TreeRow<T> {
        TreeRow { depth: self.depth, hidden_after: self.hidden_after, row: row(self.row) }
    }
}

impl<R> Tree<R> {
    /// The rows, each followed by those below it.
    pub fn rows(&self) -> &[TreeRow<R>] {
        &self.rows
    }

    /// Serialises the rows at the top, each with its `children`. `fields` gives what a row has besides these.
    pub(in crate::answers) fn nested<'a, T, F: Fn(&'a TreeRow<R>) -> T>(&'a self, fields: F) -> NestedRows<'a, R, F> {
        NestedRows { rows: &self.rows, fields_of: fields, next_row: Cell::new(0) }
    }
}

impl<R> FromIterator<TreeRow<R>> for Tree<R> {
    fn from_iter<I: IntoIterator<Item = TreeRow<R>>>(rows: I) -> Self {
        Tree { rows: rows.into_iter().collect() }
    }
}

/// A tree that keeps only what its rows are made of: these are made when they are asked for.
pub trait LazyTree {
    /// The part of a row that the tree keeps.
    type Kept;
    /// A row.
    type Row;

    /// The tree.
    fn tree(&self) -> &Tree<Self::Kept>;

    /// Makes a row.
    fn make_row(&self, kept: &Self::Kept) -> Self::Row;

    /// Number of rows.
    fn len(&self) -> usize {
        self.tree().rows.len()
    }

    /// Returns true if there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of each row the levels above it, and the rows of its level that were left out after it. O(rows).
    fn depths_and_hidden_counts(&self) -> Vec<(u32, u64)> {
        self.tree().rows.iter().map(|row| (row.depth, row.hidden_after.into())).collect()
    }

    /// A row below `len`. O(log objects), and some reads of the dump where rows have names of references.
    fn get(&self, row: usize) -> TreeRow<Self::Row> {
        let TreeRow { depth, hidden_after, row } = &self.tree().rows[row];
        TreeRow { depth: *depth, hidden_after: *hidden_after, row: self.make_row(row) }
    }

    /// The rows, each followed by those below it.
    fn iter(&self) -> impl Iterator<Item = TreeRow<Self::Row>> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }
}

/// Serialises the rows of a tree as [`Tree`] does.
pub(in crate::answers) fn serialize_lazy<T, S>(tree: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: LazyTree<Row: Serialize>,
    S: Serializer,
{
    tree.tree().nested(|row| tree.make_row(&row.row)).serialize(serializer)
}

/// Rows of one parent, in their order, and how many more there are.
pub(in crate::answers) struct TreeLevel<R> {
    pub(in crate::answers) rows: Vec<R>,
    pub(in crate::answers) hidden: usize,
}

impl<R> TreeLevel<R> {
    /// One row.
    pub(in crate::answers) fn of(row: R) -> Self {
        TreeLevel { rows: vec![row], hidden: 0 }
    }

    /// Sorts rows and cuts them to the limit. O(rows), and a sort of those that are left.
    pub(in crate::answers) fn sorted_and_cut(
        mut rows: Vec<R>,
        limits: Limits,
        compare: impl Fn(&R, &R) -> Ordering,
    ) -> Self {
        let compare = |a: &R, b: &R| if limits.reverse { compare(b, a) } else { compare(a, b) };
        let all = rows.len();
        let shown = limits.shown_count(all);
        if 0 < shown && shown < all {
            rows.select_nth_unstable_by(shown - 1, compare);
        }
        rows.truncate(shown);
        rows.sort_unstable_by(compare);
        TreeLevel { rows, hidden: all - shown }
    }
}

/// Walks down from the rows at the top. `below` gives the levels below a row of this depth, in their order; it is asked
/// once for each row that is less than [`MAX_DEPTH`] deep.
pub(in crate::answers) fn preorder<R, L>(
    top: TreeLevel<R>,
    mut below: impl FnMut(&mut R, u32) -> L,
) -> impl Iterator<Item = TreeRow<R>>
where
    L: IntoIterator<Item = TreeLevel<R>, IntoIter: DoubleEndedIterator>,
{
    let open = |level: TreeLevel<R>, depth: u32| (level.rows.into_iter(), level.hidden as u32, depth);
    let mut stack = vec![open(top, 0)];
    std::iter::from_fn(move || {
        loop {
            let (rows, hidden, depth) = stack.last_mut()?;
            let Some(mut row) = rows.next() else {
                stack.pop();
                continue;
            };
            let hidden_after = if rows.len() == 0 { *hidden } else { 0 };
            let depth = *depth;
            if depth < MAX_DEPTH {
                stack.extend(below(&mut row, depth).into_iter().rev().map(|level| open(level, depth + 1)));
            }
            return Some(TreeRow { depth, hidden_after, row });
        }
    })
}

/// A tree on its way out: an array. The walk over the rows is one, whoever serialises them: `next_row` is shared.
pub(in crate::answers) struct NestedRows<'a, R, F> {
    rows: &'a [TreeRow<R>],
    /// Makes what a row has besides its children.
    fields_of: F,
    next_row: Cell<usize>,
}

impl<'a, R, T: Serialize, F: Fn(&'a TreeRow<R>) -> T> NestedRows<'a, R, F> {
    /// The row that comes next, if it is at least so deep.
    fn take_row_at_depth(&self, depth: u32) -> Option<&'a TreeRow<R>> {
        let row = self.rows.get(self.next_row.get()).filter(|row| row.depth >= depth)?;
        self.next_row.set(self.next_row.get() + 1);
        Some(row)
    }

    /// A row with its children, which are walked when they are serialised.
    fn nested_row(&self, row: &'a TreeRow<R>) -> NestedRow<T, SiblingRows<'_, Self>> {
        NestedRow { fields: (self.fields_of)(row), children: SiblingRows { tree: self, depth: row.depth + 1 } }
    }
}

impl<'a, R, T: Serialize, F: Fn(&'a TreeRow<R>) -> T> Serialize for NestedRows<'a, R, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.next_row.set(0);
        SiblingRows { tree: self, depth: 0 }.serialize(serializer)
    }
}

/// A tree with one row at the top, as that row's object; `null` without rows.
pub(in crate::answers) struct SingleRootTree<N>(pub(in crate::answers) N);

impl<'a, R, T: Serialize, F: Fn(&'a TreeRow<R>) -> T> Serialize for SingleRootTree<NestedRows<'a, R, F>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.next_row.set(0);
        self.0.take_row_at_depth(0).map(|row| self.0.nested_row(row)).serialize(serializer)
    }
}

/// A row and what is below it.
#[derive(Serialize)]
struct NestedRow<T, C> {
    #[serde(flatten)]
    fields: T,
    children: C,
}

/// The rows that come next, down to this depth.
struct SiblingRows<'n, N> {
    tree: &'n N,
    depth: u32,
}

impl<'a, R, T: Serialize, F: Fn(&'a TreeRow<R>) -> T> Serialize for SiblingRows<'_, NestedRows<'a, R, F>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = std::iter::from_fn(|| self.tree.take_row_at_depth(self.depth));
        serializer.collect_seq(rows.map(|row| self.tree.nested_row(row)))
    }
}

impl<R: Serialize> Serialize for Tree<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.nested(|row| &row.row).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(top: Vec<u32>, limits: Limits) -> Tree<u32> {
        // Below n: 10 n, 10 n + 1, ... as many as its last digit says.
        let cut = |rows| TreeLevel::sorted_and_cut(rows, limits, |a: &u32, b| a.cmp(b));
        preorder(cut(top), |&mut row, depth| (depth < 2).then(|| cut((0..row % 10).map(|at| 10 * row + at).collect())))
            .collect()
    }

    fn shown(tree: &Tree<u32>) -> Vec<(u32, u32, u32)> {
        tree.rows().iter().map(|row| (row.depth, row.row, row.hidden_after)).collect()
    }

    #[test]
    fn levels_are_sorted_and_cut_and_say_what_was_cut() {
        let all = tree(vec![3, 1], Limits::default());
        let rows = [1, 10, 3, 30, 31, 310, 32, 320, 321];
        assert_eq!(shown(&all).iter().map(|row| row.1).collect::<Vec<_>>(), rows);
        assert!(shown(&all).iter().all(|row| row.2 == 0));
        let two = tree(vec![1, 3, 2], Limits { rows: Some(2), reverse: true });
        assert_eq!(
            shown(&two),
            [
                (0, 3, 0),
                (1, 32, 0),
                (2, 321, 0),
                (2, 320, 0),
                (1, 31, 1),
                (2, 310, 0),
                (0, 2, 1),
                (1, 21, 0),
                (2, 210, 0),
                (1, 20, 0)
            ]
        );
    }

    #[derive(Serialize)]
    struct Number {
        id: u32,
    }

    #[test]
    fn rows_are_nested_as_deep_as_they_are() {
        let tree: Tree<Number> =
            tree(vec![1, 2], Limits::default()).rows.into_iter().map(|row| row.map(|id| Number { id })).collect();
        let value = serde_json::to_value(&tree).unwrap();
        let leaf = |id: u32| serde_json::json!({"id": id, "children": []});
        let expected = serde_json::json!([
            {"id": 1, "children": [leaf(10)]},
            {"id": 2, "children": [leaf(20), {"id": 21, "children": [leaf(210)]}]},
        ]);
        assert_eq!(value, expected);
        assert_eq!(serde_json::to_value(SingleRootTree(tree.nested(|row| &row.row))).unwrap(), expected[0]);
        let none: Tree<Number> = Tree { rows: Vec::new() };
        assert_eq!(serde_json::to_string(&none).unwrap(), "[]");
        assert_eq!(serde_json::to_string(&SingleRootTree(none.nested(|row| &row.row))).unwrap(), "null");
    }

    /// The deepest tree there can be takes a fraction of the smallest stack that threads and main have anywhere.
    #[test]
    fn the_deepest_tree_is_written_on_a_small_stack() {
        let only = |id| TreeLevel::of(Number { id });
        let deepest: Tree<Number> = preorder(only(0), |row, _| Some(only(row.id + 1))).collect();
        assert_eq!(deepest.rows().last().unwrap().depth, MAX_DEPTH);
        let write = move || serde_json::to_string(&deepest).unwrap().len();
        let written = std::thread::Builder::new().stack_size(768 << 10).spawn(write).unwrap().join().unwrap();
        assert!(written > 500 * "{\"id\":0,\"children\":[]}".len());
    }
}
