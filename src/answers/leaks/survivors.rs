//! Objects that were allocated between two snapshots of a process and live in a third: the technique of three snapshots, which
//! leaves out what comes and goes with every step of a program.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::LeaksOptions;
use crate::analysis::diff;
use crate::analysis::retained_sets::{NO_SET, max_exact_marking_steps, retained_exact_by_set};
use crate::analysis::root_paths::RootPaths;
use crate::analysis::root_paths::RootsByNode;
use crate::answers::dump_comparison::{object_changes, retained_bytes_of_set};
use crate::answers::reference_names::ReferenceNames;
use crate::answers::rows::is_false;
use crate::answers::{AnswerError, Limits, PathRow};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::sort;
use crate::units::{count_with_noun, format_bytes};

/// Objects in the second and in the third of three snapshots, and not in the first.
#[derive(Serialize)]
#[non_exhaustive]
pub struct Survivors<'d> {
    /// All of them.
    pub survivors: SurvivorTotals,
    /// The causes of what grew from the first to the third, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// By type, largest first.
    pub types: SurvivorRows<'d>,
    /// Roots of the third snapshot are inferred: it has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
}

/// All survivors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SurvivorTotals {
    /// Number of them.
    pub objects: u64,
    /// Their bytes in the second snapshot.
    pub shallow_bytes: u64,
    /// Bytes that would be freed in the third if all of them went.
    pub retained_bytes: u64,
}

/// Survivors of a type.
#[derive(Serialize)]
#[non_exhaustive]
pub struct SurvivorRow<'r> {
    /// The type, as the second snapshot has it.
    #[serde(rename = "type")]
    pub type_name: &'r str,
    /// Number of objects.
    pub objects: u64,
    /// Their bytes in the second snapshot.
    pub shallow_bytes: u64,
    /// Bytes that would be freed in the third if all of this type went.
    pub retained_bytes: u64,
    /// The largest of them that roots reach, if they reach any.
    pub example: String,
    /// The shortest path to it in the third snapshot; `None` when no strong root reaches it.
    pub path: Option<PathRow<'r>>,
}

/// Rows by type. Paths are made when a row is asked for.
pub struct SurvivorRows<'d> {
    graph: &'d HeapGraph,
    rows: Vec<SurvivorGroup<'d>>,
    /// By row the path to its example.
    paths: Vec<Option<RootPaths<'d>>>,
    roots: RootsByNode<'d>,
    names: Option<ReferenceNames<'d>>,
    /// Rows that a limit left out.
    pub rows_hidden: usize,
}

struct SurvivorGroup<'d> {
    type_name: &'d str,
    objects: u64,
    shallow_bytes: u64,
    retained_bytes: u64,
    example: NodeId,
}

/// Finds what was allocated between the snapshots `since` and `until` and is in `dump` too: of the types that the scope
/// asks for, as many rows as asked for. O(objects + references) of `dump`, O(objects) of the others.
///
/// # Errors
/// If the snapshots are not of one process, or hold no objects; when it takes more work or memory than it may.
pub fn survivors<'d>(
    since: &'d OpenDump,
    until: &'d OpenDump,
    dump: &'d OpenDump,
    options: &LeaksOptions,
) -> Result<Survivors<'d>, AnswerError> {
    let allocated = object_changes(since, until)?.new_objects;
    object_changes(until, dump)?;
    let (Some(second), Some(graph)) = (until.graph(), dump.graph()) else { return Err(AnswerError::NeedsObjects) };
    let scope = options.scope.resolve(until)?;
    let mut pairs = diff::surviving_objects(second, &allocated, graph);
    pairs.retain(|&(before, _)| scope.contains(before));
    let is_reachable = dump.reachable();
    let mut rows: BTreeMap<&str, SurvivorGroup<'_>> = BTreeMap::new();
    let mut all = NodeSet::new(graph.node_count());
    let mut totals = SurvivorTotals::default();
    for &(before, now) in &pairs {
        let (type_name, bytes) = (second.type_name(second.type_of(before)), second.shallow_bytes(before));
        all.insert(now);
        totals.objects += 1;
        totals.shallow_bytes = totals.shallow_bytes.saturating_add(bytes);
        let row = rows.entry(type_name).or_insert(SurvivorGroup {
            type_name,
            objects: 0,
            shallow_bytes: 0,
            retained_bytes: 0,
            example: now,
        });
        row.objects += 1;
        row.shallow_bytes = row.shallow_bytes.saturating_add(bytes);
        let rank = |node: NodeId| (is_reachable.contains(node), graph.shallow_bytes(node));
        if rank(now) > rank(row.example) {
            row.example = now;
        }
    }
    totals.retained_bytes = retained_bytes_of_set(dump, graph, &all)?;
    // Rows come by name; a stable sort keeps that among equals.
    let mut rows: Vec<SurvivorGroup<'_>> = rows.into_values().collect();
    sort::rows_by_key(&mut rows, |row| std::cmp::Reverse(row.shallow_bytes));
    let hidden = Limits { rows: options.rows, reverse: false }.reverse_and_cut(&mut rows);
    add_retained_bytes(&mut rows, second, graph, &pairs)?;
    let roots = RootsByNode::new(graph);
    let parents = dump.shortest_parents();
    let paths = rows.iter().map(|row| parents.path_to(graph, &roots, row.example)).collect();
    let types = SurvivorRows { graph, rows, paths, roots, names: ReferenceNames::of(dump), rows_hidden: hidden };
    Ok(Survivors { survivors: totals, causes: Vec::new(), types, roots_inferred: graph.roots_inferred() })
}

/// Adds the bytes that the objects of each row retain together.
fn add_retained_bytes(
    rows: &mut [SurvivorGroup<'_>],
    second: &HeapGraph,
    graph: &HeapGraph,
    pairs: &[(NodeId, NodeId)],
) -> Result<(), AnswerError> {
    let mut set_of_name: BTreeMap<&str, u32> = BTreeMap::new();
    for (number, row) in (0..).zip(rows.iter()) {
        set_of_name.insert(row.type_name, number);
    }
    let set_of_type: Vec<u32> = second
        .types()
        .ids()
        .map(|type_id| set_of_name.get(second.type_name(type_id)).copied().unwrap_or(NO_SET))
        .collect();
    // Pairs are in the order of the ids, as objects are.
    let set_of = |node: NodeId| {
        let found = pairs.binary_search_by_key(&node, |&(_, now)| now).ok();
        found.map_or(NO_SET, |at| set_of_type[second.type_of(pairs[at].0).index()])
    };
    let sets: Vec<u32> = (0..rows.len() as u32).collect();
    let bytes = retained_exact_by_set(graph, &sets, set_of, max_exact_marking_steps(graph), |_| {});
    let bytes = bytes.map_err(|_| AnswerError::SetTooLarge(pairs.len() as u64))?;
    for (row, bytes) in rows.iter_mut().zip(bytes) {
        row.retained_bytes = bytes;
    }
    Ok(())
}

impl Survivors<'_> {
    /// The totals in a sentence.
    pub fn sentence(&self) -> String {
        let SurvivorTotals { objects, shallow_bytes, retained_bytes } = self.survivors;
        match objects {
            0 => "Nothing that was allocated between the first two is left in the third.".into(),
            _ => format!(
                "Of what was allocated between the first two, {} ({}) are left in the third; with them {} would be freed.",
                count_with_noun(objects, "objects"),
                format_bytes(shallow_bytes),
                format_bytes(retained_bytes)
            ),
        }
    }
}

impl SurvivorRows<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row below `len`. O(length of its path).
    pub fn get(&self, at: usize) -> SurvivorRow<'_> {
        let row = &self.rows[at];
        let path = self.paths[at].as_ref().and_then(|paths| paths.get(0));
        SurvivorRow {
            type_name: row.type_name,
            objects: row.objects,
            shallow_bytes: row.shallow_bytes,
            retained_bytes: row.retained_bytes,
            example: self.graph.display_id(row.example),
            path: path.map(|path| PathRow::new(self.graph, &self.roots, path, self.names)),
        }
    }

    /// The rows, one by one.
    pub fn iter(&self) -> impl Iterator<Item = SurvivorRow<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }
}

impl SurvivorRow<'_> {
    /// The row in a paragraph: what, how much, and what holds one of them.
    pub fn text(&self) -> String {
        let what = format!(
            "{} of {}, {}, retain {}.",
            count_with_noun(self.objects, "objects"),
            self.type_name,
            format_bytes(self.shallow_bytes),
            format_bytes(self.retained_bytes)
        );
        match &self.path {
            Some(path) => {
                format!("{what} {} is kept alive by {}: {}", self.example, path.holders_in_words(), path.expression())
            }
            None => format!("{what} No strong root reaches {}.", self.example),
        }
    }
}

impl Serialize for SurvivorRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
