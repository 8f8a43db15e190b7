//! What keeps a type alive: the shortest root paths of all its objects, merged by type from the roots down.

use std::cmp::Reverse;

use serde::{Serialize, Serializer};

use super::histogram_rows::is_false;
use super::reference_names::ReferenceNames;
use super::root_paths::{RootPathsOptions, find_paths};
use super::tree::{Level, preorder};
use super::{AnswerError, CommandLine, Limits, ObjectRow, RootRow, ScopeOptions, Tree, TreeRow};
use crate::analysis::merged_paths::{MergedPaths, merge_paths, merge_root_paths};
use crate::analysis::retained_sets::topmost_members;
use crate::analysis::root_paths::RootPaths;
use crate::analysis::roots_by_node::RootsByNode;
use crate::analysis::selection::{TypeChoice, TypePattern};
use crate::analysis::threshold::Threshold;
use crate::dump::{AnswerNeed, OpenDump, Phase};
use crate::filter::Filter;
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::units::{count_of, format_count};

/// Which objects, and which paths.
#[derive(Debug, Clone)]
pub struct MergedPathsOptions {
    /// Which objects.
    pub scope: ScopeOptions,
    /// Paths go around objects of these types. Default: none.
    pub avoided: Vec<TypePattern>,
    /// Paths from weak roots too. Default: no.
    pub all_kinds: bool,
    /// How many rows of each level. Rows are never reversed.
    pub limits: Limits,
    /// Rows of a smaller part of the reached objects are left out. Default: none.
    pub min_share: Option<Threshold>,
}

impl MergedPathsOptions {
    /// The paths to objects of these types.
    pub fn new(types: impl Into<TypeChoice>) -> Self {
        Self::of(ScopeOptions { types: Some(types.into()), ..ScopeOptions::default() })
    }

    /// The paths to these objects.
    pub fn of(scope: ScopeOptions) -> Self {
        MergedPathsOptions { scope, avoided: Vec::new(), all_kinds: false, limits: Limits::default(), min_share: None }
    }

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("roots");
        for pattern in &self.avoided {
            line.option("--exclude", Some(pattern.text()));
        }
        line.switch("--all-kinds", self.all_kinds);
        Limits { reverse: false, ..self.limits }.add_to(&mut line);
        self.scope.add_to(&mut line);
        line
    }
}

/// The paths that keep some types alive.
#[derive(Serialize)]
#[non_exhaustive]
pub struct MergedRootPaths<'d> {
    /// The object, if all paths are to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRow>,
    /// The pattern of the types, if it is about some types.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The expression that they fulfil, if there is one.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Paths to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_count: Option<u64>,
    /// Objects that are asked for, reachable or not.
    pub objects: u64,
    /// Those that a path reaches.
    pub reachable_objects: u64,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// The merged paths.
    pub tree: MergedPathRows<'d>,
    /// The paths go around some types.
    #[serde(skip)]
    pub avoids: bool,
}

/// Rows from the roots down, each followed by those that it holds. Made when they are asked for.
pub struct MergedPathRows<'d> {
    graph: &'d HeapGraph,
    merged: MergedPaths,
    /// Numbers of merged rows.
    tree: Tree<u32>,
    names: Option<ReferenceNames<'d>>,
    /// All paths are to one object, and rows count them.
    is_of_one: bool,
}

/// Objects of one type that are held in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergedPathRow<'d> {
    /// At the top: a root of the objects, alike for all of them.
    pub root: Option<RootRow>,
    /// How objects of the row above refer to them, where the dump says so: `.next`, `[*]` for elements, several names one
    /// behind the other. Of many references 32, evenly chosen, are looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The name of their type.
    #[serde(rename = "type")]
    pub type_name: &'d str,
    /// Paths to the one object that is asked for, here and below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<u64>,
    /// Objects that are asked for, here and below; of paths to one object `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<u64>,
    /// Bytes that would be freed with the topmost of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained_bytes: Option<u64>,
}

impl MergedRootPaths<'_> {
    /// How many paths there are, or objects that one leads to: the number that is to be seen first, and the rest of the
    /// sentence.
    pub fn sentence(&self) -> (String, String) {
        let around = if self.avoids { " around what --exclude names" } else { "" };
        let (reached, have) = (format_count(self.reachable_objects), if self.objects == 1 { "has" } else { "have" });
        match (&self.object, self.path_count) {
            (Some(object), Some(paths)) => {
                let paths = count_of(paths, "paths");
                (paths, format!(" from roots to {}, {}{around}, merged by type", object.id, object.type_text()))
            }
            _ => {
                let objects = count_of(self.objects, "objects");
                (reached, format!(" of {objects} {have} a path from a root{around}; the shortest, merged by type"))
            }
        }
    }
}

impl MergedRootPaths<'_> {
    /// Why there is no path, where there are objects; `all_kinds`: weak roots were walked too.
    pub fn why_not(&self, all_kinds: bool) -> Option<String> {
        let around = if self.avoids { " around what --exclude names" } else { "" };
        let hint = if all_kinds { "" } else { "; --all-kinds walks weak roots too" };
        let has_none = self.objects > 0 && self.reachable_objects == 0;
        has_none.then(|| format!("no path from a strong root{around} leads to any of them{hint}"))
    }
}

/// Merges the shortest root paths of all objects of some types. O(objects + references).
///
/// # Errors
/// When the dump holds no objects, has no such section, or takes more memory than it may.
pub fn merged_paths<'d>(dump: &'d OpenDump, options: &MergedPathsOptions) -> Result<MergedRootPaths<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    let scope = options.scope.resolve(dump)?;
    let avoided = TypePattern::select_any(&options.avoided, graph);
    let (dominators, retained) = dump.dominators()?;
    dump.check_answer(AnswerNeed::MergedPaths, 0)?;
    // Only topmost objects count with their retained bytes: what they hold of the same types is in these already.
    let mut topmost = NodeSet::new(graph.node_count());
    for number in topmost_members(dominators, &dominators.children(), |node| scope.contains(node)) {
        topmost.insert(dominators.node_at(number));
    }
    let weight_of = |node: NodeId| match topmost.contains(node) {
        true => retained.bytes_of(dominators, node).unwrap_or(0),
        false => 0,
    };
    dump.phase(Phase::MergingPaths);
    let is_avoided = |node: NodeId| avoided.contains(graph.type_of(node));
    let least = |merged: &MergedPaths| options.min_share.map_or(0, |share| share.at_least(merged.reached_objects));
    let merged = merge_root_paths(graph, |node| scope.contains(node), is_avoided, options.all_kinds, weight_of);
    Ok(MergedRootPaths {
        object: None,
        path_count: None,
        pattern: options.scope.types.as_ref().map(|types| types.text()),
        filter: options.scope.filter.as_ref().map(Filter::text),
        objects: scope.nodes().count() as u64,
        reachable_objects: merged.reached_objects,
        roots_inferred: graph.roots_inferred(),
        tree: MergedPathRows {
            names: ReferenceNames::of(dump),
            ..MergedPathRows::new(graph, least(&merged), merged, options.limits)
        },
        avoids: !avoided.is_empty(),
    })
}

/// The paths to one object, merged by type from the roots down: rows count paths. As [`root_paths`], and O(paths).
///
/// [`root_paths`]: fn@super::root_paths
///
/// # Errors
/// As [`root_paths`].
pub fn merged_paths_to<'d>(
    dump: &'d OpenDump,
    options: &RootPathsOptions,
    min_share: Option<Threshold>,
) -> Result<MergedRootPaths<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    let node = options.object.find(graph, &options.scope)?;
    dump.check_referrers()?;
    dump.phase(Phase::MergingPaths);
    let roots = RootsByNode::new(graph);
    let found = find_paths(dump, graph, &roots, node, options);
    let merged = merge_paths(graph, found.iter().flat_map(RootPaths::iter));
    let least = min_share.map_or(0, |share| share.at_least(merged.reached_objects));
    Ok(MergedRootPaths {
        object: Some(ObjectRow::new(graph, node)),
        pattern: None,
        filter: None,
        path_count: Some(merged.reached_objects),
        objects: 1,
        reachable_objects: u64::from(merged.reached_objects > 0),
        roots_inferred: graph.roots_inferred(),
        tree: MergedPathRows {
            names: ReferenceNames::of(dump),
            is_of_one: true,
            ..MergedPathRows::new(graph, least, merged, options.limits)
        },
        avoids: !options.avoided.is_empty(),
    })
}

impl<'d> MergedPathRows<'d> {
    /// The rows in their order: most objects first; those of fewer than `least` are left out.
    fn new(graph: &'d HeapGraph, least: u64, merged: MergedPaths, limits: Limits) -> Self {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); merged.rows.len()];
        let mut tops = Vec::new();
        // Of rows that only led back to one above nothing is left.
        for (number, row) in merged.rows.iter().enumerate().filter(|(_, row)| row.objects > 0) {
            match row.above {
                Some(above) => children[above].push(number as u32),
                None => tops.push(number as u32),
            }
        }
        let level = |mut numbers: Vec<u32>| {
            let all = numbers.len();
            // One row stays, so that it is seen where a path ends.
            let most = numbers.iter().map(|&number| merged.rows[number as usize].objects).max().unwrap_or(0);
            numbers.retain(|&number| merged.rows[number as usize].objects >= least.min(most));
            let too_small = all - numbers.len();
            let key = |number: u32| {
                let row = &merged.rows[number as usize];
                (Reverse(row.objects), Reverse(row.weight_bytes), graph.type_name(row.type_id), number)
            };
            let level = Level::cut(numbers, Limits { reverse: false, ..limits }, |&a, &b| key(a).cmp(&key(b)));
            Level { hidden: level.hidden + too_small, ..level }
        };
        let tree = preorder(level(tops), |&mut number, _| Some(level(std::mem::take(&mut children[number as usize]))));
        let tree = tree.collect();
        MergedPathRows { graph, merged, tree, names: None, is_of_one: false }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.tree.rows().len()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Levels above the deepest row. O(rows).
    pub fn deepest(&self) -> usize {
        self.tree.deepest()
    }

    /// Returns true if the dump names references.
    pub fn have_names(&self) -> bool {
        self.names.is_some()
    }

    /// A row below `len`. O(1), and some reads of the dump where it names references.
    pub fn get(&self, row: usize) -> TreeRow<MergedPathRow<'d>> {
        self.tree.rows()[row].map(|number| self.row(number))
    }

    /// The rows, each followed by those that it holds.
    pub fn iter(&self) -> impl Iterator<Item = TreeRow<MergedPathRow<'d>>> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }

    fn row(&self, number: u32) -> MergedPathRow<'d> {
        let row = &self.merged.rows[number as usize];
        MergedPathRow {
            root: row.root.as_ref().map(|root| RootRow::new(self.graph, root)),
            reference: self.names.and_then(|names| names.of_examples(row.examples.chosen())),
            type_name: self.graph.type_name(row.type_id),
            paths: self.is_of_one.then_some(row.objects),
            objects: (!self.is_of_one).then_some(row.objects),
            retained_bytes: (!self.is_of_one).then_some(row.weight_bytes),
        }
    }
}

impl Serialize for MergedPathRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.tree.nested(|row| self.row(row.row)).serialize(serializer)
    }
}
