//! The suspects of an answer, and what is asked of each when it is shown.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use super::causes::Told;
use super::view::{SuspectRow, SuspectView};
use crate::analysis::dominators::{Dominator, Dominators};
use crate::analysis::leaks::{LeakSuspect, SuspectSubject};
use crate::analysis::root_paths::RootsByNode;
use crate::analysis::root_paths::{RootPaths, find_root_paths};
use crate::analysis::shortest_parents::ShortestParents;
use crate::answers::reference_names::ReferenceNames;
use crate::answers::values::ValueReader;
use crate::answers::{ObjectRow, PathRow};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, TypeSet};

/// Suspects, largest first. Paths and paragraphs are made when a suspect is asked for: of many suspects they may be more
/// than the dump.
pub struct Suspects<'d> {
    pub(super) graph: &'d HeapGraph,
    pub(super) dump: Option<&'d Path>,
    pub(super) suspects: Vec<LeakSuspect>,
    pub(super) paths: SuspectPaths<'d>,
    pub(super) libraries: TypeSet,
    pub(super) reachable_bytes: u64,
    /// Words for the whole that shares are of.
    pub(super) reached_words: String,
    pub(super) exact_sizes: bool,
    pub(super) roots: RootsByNode<'d>,
    pub(super) dominators: &'d Dominators,
    /// Names of references, where the dump has them.
    pub(super) names: Option<ReferenceNames<'d>>,
    /// Reader of values, where the dump has them.
    pub(super) values: Option<ValueReader<'d>>,
    /// By rooted object what holds it, in words: many suspects may hang on one.
    pub(super) holders: RefCell<HashMap<NodeId, String>>,
    /// By suspect.
    pub(super) told: Vec<Told>,
}

/// Shortest paths to suspects.
pub(super) enum SuspectPaths<'d> {
    /// To each its own.
    Each(Vec<Option<RootPaths<'d>>>),
    /// To every object.
    All(&'d ShortestParents),
}

impl<'d> SuspectPaths<'d> {
    pub(super) fn find(dump: &'d OpenDump, graph: &'d HeapGraph, suspects: &[LeakSuspect]) -> Self {
        if suspects.len() <= FEW_SUSPECTS {
            let path = |suspect: &LeakSuspect| find_root_paths(graph, suspect.largest(), 1, false, |_| false);
            return SuspectPaths::Each(suspects.iter().map(|suspect| path(suspect).into_first()).collect());
        }
        SuspectPaths::All(dump.shortest_parents())
    }
}

/// Words about holders that are kept, in bytes.
const HOLDERS_KEPT: usize = 4 << 10;

/// Up to so many suspects have their paths searched one by one, more all at once.
const FEW_SUSPECTS: usize = 8;

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

    /// The object that a suspect below `len` is; `None` of a group.
    pub fn node(&self, at: usize) -> Option<NodeId> {
        match self.suspects[at].subject {
            SuspectSubject::Object(node) => Some(node),
            SuspectSubject::Group(..) => None,
        }
    }

    /// An object, with what it says of itself where there are values.
    pub(super) fn object(&self, node: NodeId, values: Option<ValueReader<'_>>) -> ObjectRow {
        values.map_or_else(|| ObjectRow::new(self.graph, node), |values| values.row(node))
    }

    /// A size in words.
    pub fn size(&self, bytes: u64) -> String {
        match self.exact_sizes {
            true => crate::units::count_of(bytes, "bytes"),
            false => crate::units::format_bytes(bytes),
        }
    }

    /// The command that looks further, as it is typed.
    pub fn command(&self, view: &SuspectView<'_>) -> String {
        view.look_further.for_shell(self.dump)
    }

    /// The object that immediately dominates another, if one does.
    pub(super) fn above(&self, node: NodeId) -> Option<NodeId> {
        match self.dominators.dominator_of(node) {
            Dominator::Node(above) => Some(above),
            _ => None,
        }
    }

    pub(super) fn path(&self, at: usize) -> Option<Cow<'_, RootPaths<'d>>> {
        match &self.paths {
            SuspectPaths::Each(paths) => paths[at].as_ref().map(Cow::Borrowed),
            SuspectPaths::All(parents) => {
                parents.path_to(self.graph, &self.roots, self.suspects[at].largest()).map(Cow::Owned)
            }
        }
    }

    pub(super) fn holders(&self, path: &PathRow<'_>) -> String {
        let start = path.start();
        if let Some(words) = self.holders.borrow().get(&start) {
            return words.clone();
        }
        let words = path.holders();
        if words.len() < HOLDERS_KEPT {
            self.holders.borrow_mut().insert(start, words.clone());
        }
        words
    }
}
