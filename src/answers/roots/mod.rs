//! Shortest paths to an object from objects that roots hold.

pub mod merged_paths;
pub mod path_lines;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::reference_names::ReferenceNames;
use super::rows::is_false;
use super::values::ValueReader;
use super::{AnswerError, CommandLine, Limits, ObjectId, ObjectRow, PathRow, PathSteps, Reachability, ScopeOptions};
use crate::analysis::dominators::Dominators;
use crate::analysis::retained::RetainedSizes;
use crate::analysis::root_paths::RootsByNode;
use crate::analysis::root_paths::{RootPaths, find_root_paths};
use crate::analysis::type_patterns::TypePattern;
use crate::dump::{OpenDump, Phase};
use crate::graph::{HeapGraph, NodeId};
use crate::sort;
use crate::units::{count_with_noun, format_count};

/// Options of root paths.
#[derive(Debug, Clone)]
pub struct RootPathsOptions {
    /// Its id.
    pub object: ObjectId,
    /// Its section, where several have one of this id.
    pub scope: ScopeOptions,
    /// Paths from this many different rooted objects, the shortest of each. `None`: from all.
    pub max_paths: Option<usize>,
    /// Paths go around objects of these types.
    pub avoided_types: Vec<TypePattern>,
    /// Paths from weak roots too, which hold nothing.
    pub with_weak_roots: bool,
    /// Number of paths that are shown to people; data has all.
    pub limits: Limits,
    /// People see the steps from a loader to a class too, which every class of a program has, and the inner objects of
    /// collections.
    pub with_all_steps: bool,
}

impl RootPathsOptions {
    /// The shortest path to an object.
    pub fn new(object: ObjectId) -> Self {
        let (scope, limits) = (ScopeOptions::default(), Limits::default());
        RootPathsOptions {
            object,
            scope,
            max_paths: Some(1),
            avoided_types: Vec::new(),
            with_weak_roots: false,
            limits,
            with_all_steps: false,
        }
    }

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("roots");
        line.add_option("--paths", Some(&self.max_paths.unwrap_or(0).to_string()));
        line.add_repeated_option("--exclude", self.avoided_types.iter().map(TypePattern::text));
        line.add_switch("--all-kinds", self.with_weak_roots);
        line.add_switch("--all-steps", self.with_all_steps);
        line.add_option("-n", self.limits.rows.map(|rows| rows.to_string()).as_deref());
        line.add_option("--domain", self.scope.section.as_deref());
        line.add_word(self.object.to_string());
        line
    }
}

/// The paths to an object. Together they may be longer than the dump has objects: rows are made when they are asked for.
#[derive(Serialize)]
#[non_exhaustive]
pub struct RootPathsAnswer<'d> {
    /// The object.
    pub object: RetainingObject,
    /// Whether strong roots reach it, and why not.
    #[serde(rename = "reachable")]
    pub reachability: Reachability,
    /// The paths, shortest first.
    pub paths: RootPathRows<'d>,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// The dump has class objects.
    #[serde(skip)]
    pub has_class_objects: bool,
    /// Paths that are shown to people.
    #[serde(skip)]
    pub shown_count: usize,
    /// People see all steps of them.
    #[serde(skip)]
    pub with_all_steps: bool,
}

impl RootPathsAnswer<'_> {
    /// Number of paths in all and of each kind of root, most first: `482 paths: 301 from static, 181 from
    /// local`. `None` for one path.
    pub fn summary(&self) -> Option<String> {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        self.paths.iter().for_each(|path| *kinds.entry(path.root().kind_in_words()).or_default() += 1);
        let mut kinds: Vec<(String, u64)> = kinds.into_iter().collect();
        sort::rows_by_key(&mut kinds, |(_, count)| Reverse(*count));
        let kinds: Vec<String> =
            kinds.iter().map(|(kind, count)| format!("{} from {kind}", format_count(*count))).collect();
        let count = self.paths.len() as u64;
        (count > 1).then(|| format!("{}: {}", count_with_noun(count, "paths"), kinds.join(", ")))
    }

    /// Reason that there is no path; `None` if there is one from a strong root. `with_weak_roots`: weak roots were walked too.
    pub fn no_path_reason(&self, with_weak_roots: bool) -> Option<String> {
        let id = &self.object.row.id;
        if self.is_blocked_by_avoided() {
            return Some(format!("every path to {id} goes through what --exclude names"));
        }
        let why = match self.reachability {
            Reachability::Reachable => return None,
            Reachability::OnFrozenHeap => "; it is on the frozen heap, which is never collected",
            reachability => reachability.left_out_roots_text(),
        };
        let hint = if with_weak_roots { "" } else { "; --all-kinds walks weak roots too" };
        Some(format!("{id} is not reachable from any strong root{why}{hint}"))
    }

    /// Returns true if strong roots reach the object, but only by paths through what is avoided.
    pub fn is_blocked_by_avoided(&self) -> bool {
        self.reachability.is_reached() && self.paths.is_empty()
    }
}

/// An object with its retained size.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RetainingObject {
    /// Id, type and size.
    #[serde(flatten)]
    pub row: ObjectRow,
    /// Bytes that would be freed with it; `None` when no strong root reaches it.
    pub retained_bytes: Option<u64>,
}

/// Paths, shortest first.
pub struct RootPathRows<'d> {
    graph: &'d HeapGraph,
    dominator_tree: (&'d Dominators, &'d RetainedSizes),
    roots: RootsByNode<'d>,
    pub(crate) names: Option<ReferenceNames<'d>>,
    values: Option<ValueReader<'d>>,
    found_paths: Option<RootPaths<'d>>,
}

impl RootPathRows<'_> {
    /// Number of them.
    pub fn len(&self) -> usize {
        self.found_paths.as_ref().map_or(0, RootPaths::len)
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A path by its place in the order of length; `None` past the last. O(1).
    pub fn get(&self, place: usize) -> Option<PathRow<'_>> {
        let path = self.found_paths.as_ref()?.get(place)?;
        Some(PathRow::new(self.graph, &self.roots, path, self.names))
    }

    /// Value of an object in words.
    pub(super) fn value_text(&self, node: NodeId) -> Option<String> {
        self.values?.values_in_words(&[node]).pop()?
    }

    /// The paths, one by one.
    pub fn iter(&self) -> impl Iterator<Item = PathRow<'_>> {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    /// The objects of a path with their retained sizes; `None` past the last path. O(1).
    pub fn steps(&self, place: usize) -> Option<PathSteps<'_>> {
        let path = self.found_paths.as_ref()?.get(place)?;
        Some(PathSteps::new(self.graph, self.dominator_tree, path.nodes(), self.names))
    }

    /// By path: its last `count` objects, of a shorter one all. O(objects) for all paths together: none is walked.
    pub fn path_ends(&self, count: usize) -> Vec<PathSteps<'_>> {
        let ends = self.found_paths.as_ref().map_or(Vec::new(), |paths| paths.last_nodes_of_paths(count));
        ends.into_iter().map(|nodes| PathSteps::new(self.graph, self.dominator_tree, nodes, self.names)).collect()
    }
}

impl Serialize for RootPathRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Finds paths to an object. O(objects + references) at worst, all references reversed included, and the dominator tree;
/// with an index and the default options O(length).
///
/// # Errors
/// If the dump holds no objects, has no such object, or takes more memory than it may.
pub fn root_paths<'d>(dump: &'d OpenDump, options: &RootPathsOptions) -> Result<RootPathsAnswer<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let node = options.object.find(graph, &options.scope)?;
    dump.check_referrers_memory()?;
    dump.announce_phase(Phase::FindingPaths);
    let roots = RootsByNode::new(graph);
    let mut found = None;
    // The tree is computed on this thread: what other threads allocate stays with them.
    let tree @ (dominators, retained) = rayon::in_place_scope(|scope| {
        scope.spawn(|_| found = find_paths(dump, graph, &roots, node, options).filter(|paths| !paths.is_empty()));
        dump.dominators()
    })?;
    let retained_bytes = retained.bytes_of(dominators, node);
    let paths = RootPathRows {
        graph,
        dominator_tree: tree,
        roots,
        names: ReferenceNames::of(dump),
        values: ValueReader::of(dump),
        found_paths: found,
    };
    Ok(RootPathsAnswer {
        object: RetainingObject {
            row: ObjectRow { value_words: paths.value_text(node), ..ObjectRow::new(graph, node) },
            retained_bytes,
        },
        reachability: Reachability::find(dump, graph, node),
        shown_count: options.limits.shown_count(paths.len()),
        paths,
        roots_inferred: graph.roots_inferred(),
        has_class_objects: !graph.types().class_objects().is_empty(),
        with_all_steps: options.with_all_steps,
    })
}

/// The paths that are asked for; `None` for none.
pub(super) fn find_paths<'d>(
    dump: &OpenDump,
    graph: &'d HeapGraph,
    roots: &RootsByNode<'d>,
    node: NodeId,
    options: &RootPathsOptions,
) -> Option<RootPaths<'d>> {
    let is_plain = options.max_paths == Some(1) && !options.with_weak_roots && options.avoided_types.is_empty();
    if let Some(parents) = dump.indexed_shortest_parents().filter(|_| is_plain) {
        return parents.path_to(graph, roots, node);
    }
    let avoided = TypePattern::types_matching_any(&options.avoided_types, graph);
    let is_avoided = |node: NodeId| avoided.contains(graph.type_of(node));
    // The search takes 0 for no limit, so none at all is asked for here.
    match options.max_paths {
        Some(0) => None,
        limit => Some(find_root_paths(graph, node, limit.unwrap_or(0), options.with_weak_roots, is_avoided)),
    }
}
