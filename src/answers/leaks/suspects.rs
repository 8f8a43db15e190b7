//! The suspects of an answer, and what is asked of each when it is shown.

use std::cell::RefCell;
use std::collections::HashMap;

use super::causes::DescribedSuspect;
use super::prepared_heap::Modules;
use super::suspect_view::{SuspectPath, SuspectRow, SuspectView};
use crate::analysis::dominators::{Dominator, Dominators};
use crate::analysis::leaks::{BestPaths, LeakSuspect, SuspectSubject};
use crate::analysis::root_paths::{RootPaths, RootsByNode, shortest_path_from_roots};
use crate::answers::reference_names::ReferenceNames;
use crate::answers::values::ValueReader;
use crate::answers::{ObjectRow, PathRow};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, TypeSet};

/// Suspects, largest first. Paths and paragraphs are made when a suspect is asked for: of many suspects they may be more
/// than the dump.
pub struct Suspects<'d> {
    pub(super) graph: &'d HeapGraph,
    pub(super) dump: &'d OpenDump,
    pub(super) suspects: Vec<LeakSuspect>,
    pub(super) paths: BestPaths,
    /// Modules with their files or names.
    pub(super) modules: Modules,
    pub(super) library_types: TypeSet,
    pub(super) reachable_bytes: u64,
    /// Words for the whole that shares are of.
    pub(super) reached_words: String,
    pub(super) shows_exact_bytes: bool,
    /// Every step of paths is named.
    pub(super) with_all_steps: bool,
    /// Words of a command line that say how the dump is read.
    pub(super) read_words: Vec<String>,
    pub(super) roots: RootsByNode<'d>,
    pub(super) dominators: &'d Dominators,
    /// Names of references, where the dump has them.
    pub(super) names: Option<ReferenceNames<'d>>,
    /// Reader of values, where the dump has them.
    pub(super) values: Option<ValueReader<'d>>,
    /// By rooted object what holds it, in words: many suspects may hang on one.
    pub(super) holder_cache: RefCell<HashMap<NodeId, String>>,
    /// Where best ways begin: the ways there from the roots.
    pub(super) root_path_cache: RefCell<HashMap<NodeId, Option<Vec<NodeId>>>>,
    /// By suspect.
    pub(super) descriptions: Vec<DescribedSuspect>,
}

/// Words for a holder are kept if they have fewer bytes.
const MAX_CACHED_HOLDER_BYTES: usize = 4 << 10;

/// Ways from roots to so many classes and modules are searched one by one, to more all at once.
const MAX_PATHS_SEARCHED_SINGLY: usize = 8;

impl<'d> Suspects<'d> {
    /// Number of suspects that are shown.
    pub fn len(&self) -> usize {
        self.suspects.len()
    }

    /// Returns true if none is shown.
    pub fn is_empty(&self) -> bool {
        self.suspects.is_empty()
    }

    /// Subject and retained size of a suspect below `len`, without the evidence. O(log objects).
    pub fn row(&self, at: usize) -> SuspectRow<'_> {
        SuspectRow::new(self.graph, &self.suspects[at], self.reachable_bytes)
    }

    /// The cause in one sentence, of those that have one.
    pub fn cause_sentence(&self, at: usize) -> Option<&str> {
        self.descriptions[at].named_cause.as_ref().map(|named| named.sentence.as_str())
    }

    /// The object that a suspect below `len` is; `None` of a group.
    pub fn node(&self, at: usize) -> Option<NodeId> {
        match self.suspects[at].subject {
            SuspectSubject::Object(node) => Some(node),
            SuspectSubject::Group(..) => None,
        }
    }

    /// An object, with what it says of itself where there are values.
    pub(super) fn object_row(&self, node: NodeId, values: Option<ValueReader<'_>>) -> ObjectRow {
        values.map_or_else(|| ObjectRow::new(self.graph, node), |values| values.row_with_value(node))
    }

    /// A size in words.
    pub fn size_in_words(&self, bytes: u64) -> String {
        match self.shows_exact_bytes {
            true => crate::units::count_with_noun(bytes, "bytes"),
            false => crate::units::format_bytes(bytes),
        }
    }

    /// The command that looks further, as it is typed.
    pub fn look_further_command(&self, view: &SuspectView<'_>) -> String {
        view.look_further.for_shell(self.dump.path())
    }

    /// The object that immediately dominates another, if one does.
    pub(super) fn dominator_of(&self, node: NodeId) -> Option<NodeId> {
        match self.dominators.dominator_of(node) {
            Dominator::Node(above) => Some(above),
            _ => None,
        }
    }

    /// The path to a suspect.
    pub(super) fn path(&self, at: usize) -> SuspectPath<'_> {
        self.path_to(self.suspects[at].largest_object())
    }

    /// The path to what has all that a suspect keeps, of those that have a name; else to the suspect.
    pub(super) fn path_of_cause(&self, at: usize) -> SuspectPath<'_> {
        let named = self.descriptions[at].named_cause.as_ref();
        self.path_to(named.map_or(self.suspects[at].largest_object(), |named| named.collection))
    }

    fn path_to(&self, node: NodeId) -> SuspectPath<'_> {
        SuspectPath { graph: self.graph, roots: &self.roots, path_and_start: self.root_path(node), names: self.names }
    }

    /// The path that is the best way to an object from where that begins on, and how many objects come before.
    fn root_path(&self, node: NodeId) -> Option<(RootPaths<'d>, usize)> {
        let way = self.paths.path_to(node);
        let mut nodes = self.path_from_root(way[0])?;
        let before = nodes.len() - 1;
        nodes.extend_from_slice(&way[1..]);
        Some((RootPaths::of_nodes(&self.roots, nodes)?, before))
    }

    /// The shortest path from the roots to where a best way begins.
    fn path_from_root(&self, start: NodeId) -> Option<Vec<NodeId>> {
        if self.roots.strong_display_root(start).is_some() {
            return Some(vec![start]);
        }
        let mut known = self.root_path_cache.borrow_mut();
        if known.len() == MAX_PATHS_SEARCHED_SINGLY && !known.contains_key(&start) {
            let path = self.dump.shortest_parents().path_to(self.graph, &self.roots, start)?;
            return Some(path.get(0)?.nodes().collect());
        }
        known.entry(start).or_insert_with(|| shortest_path_from_roots(self.graph, start)).clone()
    }

    /// What holds the first object of a path, in words; those of a root are made once.
    pub(super) fn holders_in_words(&self, path: &PathRow<'_>) -> String {
        let start = path.start_node();
        if let Some(words) = self.holder_cache.borrow().get(&start) {
            return words.clone();
        }
        let words = path.holders_in_words();
        if words.len() < MAX_CACHED_HOLDER_BYTES {
            self.holder_cache.borrow_mut().insert(start, words.clone());
        }
        words
    }
}
