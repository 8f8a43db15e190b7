//! A snapshot that was read again, with all its strings, to tell of single objects.

use std::sync::{Arc, Mutex, OnceLock};

use rayon::prelude::*;

use super::block::NOWHERE;
use super::ropes::Ropes;
use super::snapshot::Snapshot;
use super::stacks::Stacks;
use crate::graph::NodeId;
use crate::input::Text;

/// A snapshot that was read again.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) snapshot: Snapshot,
    /// By node: its ordinal.
    pub(super) ordinals: Vec<u32>,
    /// Tables of maps and sets, ascending, with the objects they belong to.
    pub(super) tables: Vec<(u32, u32)>,
    /// Stacks, in recordings of allocations.
    pub(super) stacks: Stacks,
    /// Edges that lead to no object, ascending.
    pub(super) no_references: Vec<u32>,
    /// Entries of maps that have keys: the edge to the value, ascending, and the key. Once they are asked for.
    pub(super) keys: OnceLock<Vec<(u32, u32)>>,
    /// Once they are asked for.
    pub(super) ropes: OnceLock<Ropes>,
    pub(super) distances: Mutex<Option<Arc<Vec<u32>>>>,
}

impl Read {
    /// A snapshot whose ids are all different, and its tables of maps and sets.
    pub(super) fn new(snapshot: Snapshot, tables: Vec<(u32, u32)>) -> Self {
        let mut ordinals: Vec<u32> = (0..snapshot.len() as u32).filter(|&node| !snapshot.is_category(node)).collect();
        ordinals.par_sort_by_key(|&ordinal| snapshot.ids.get(ordinal as usize));
        let leads_nowhere = |&target: &u32| target == NOWHERE || snapshot.is_category(target);
        let edges = (0..).zip(&snapshot.targets);
        Read {
            ordinals,
            tables,
            stacks: Stacks::read(&snapshot),
            no_references: edges.filter(|(_, target)| leads_nowhere(target)).map(|(edge, _)| edge).collect(),
            keys: OnceLock::new(),
            ropes: OnceLock::new(),
            distances: Mutex::new(None),
            snapshot,
        }
    }

    pub(super) fn ropes(&self) -> &Ropes {
        self.ropes.get_or_init(|| Ropes::new(&self.snapshot))
    }

    /// The start of a text, so many units at most.
    pub(super) fn text(&self, ordinal: u32, most_units: usize) -> Option<Text> {
        self.ropes().text(&self.snapshot, ordinal, most_units)
    }

    pub(super) fn ordinal(&self, node: NodeId) -> Option<u32> {
        self.ordinals.get(node.index()).copied()
    }

    /// The edge of a node's reference, counted as the graph counts them. O(log edges that are no references).
    pub(super) fn edge(&self, ordinal: u32, nth: usize) -> Option<usize> {
        let edges = self.snapshot.edges(ordinal);
        let behind = &self.no_references[self.no_references.partition_point(|&edge| (edge as usize) < edges.start)..];
        // How many of these come before: so many that as many references as are passed over lie between.
        let (mut least, mut most) = (0, behind.partition_point(|&edge| (edge as usize) < edges.end));
        while least < most {
            let middle = (least + most) / 2;
            match behind[middle] as usize - edges.start - middle > nth {
                true => most = middle,
                false => least = middle + 1,
            }
        }
        Some(edges.start + nth + least).filter(|edge| edges.contains(edge))
    }
}
