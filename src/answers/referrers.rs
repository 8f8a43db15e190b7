//! Referrers of an object, or of all objects of some types: by type, and the referrers of those in turn.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::figure::{REFERENCES, REFERRERS, SHALLOW, figures_of};
use super::reference_names::ReferenceNames;
use super::scope::order_entry_of;
use super::tree::{LazyTree, TreeLevel, preorder, serialize_lazy};
use super::{AnswerError, CommandLine, Figure, Limits, ObjectId, ScopeOptions, Tree};
use crate::analysis::merged_paths::ExampleReferences;
use crate::dump::OpenDump;
use crate::filter::Filter;
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};

/// The object or the scope to ask for the referrers of.
#[derive(Debug, Clone)]
pub enum ReferredTo {
    /// An object.
    Object(ObjectId),
    /// All objects of the scope.
    Scope,
}

/// Options of referrers.
#[derive(Debug, Clone)]
pub struct ReferrersOptions {
    /// Objects whose referrers are asked for.
    pub referred_to: ReferredTo,
    /// Objects that are referred to; of one object the section alone counts.
    pub scope: ScopeOptions,
    /// Levels, at most [`MAX_DEPTH`](super::tree::MAX_DEPTH). Default: 1.
    pub depth: u32,
    /// The order of each level: one of [`ORDERS`](Self::ORDERS), largest first; ties by type. Default: referrers.
    pub order: Option<Figure>,
    /// Number of rows of each level.
    pub limits: Limits,
}

/// By figure: the value of a group, and what equal ones are ordered by.
const ORDER_COLUMNS: [(Figure, GroupSortValues); 3] = [
    (REFERRERS, |group| (group.referrer_count, group.reference_count)),
    (REFERENCES, |group| (group.reference_count, group.referrer_count)),
    (SHALLOW, |group| (group.shallow_bytes, group.referrer_count)),
];

type GroupSortValues = fn(&ReferrerGroup) -> (u64, u64);

impl ReferrersOptions {
    /// Figures that rows can be ordered by.
    pub const ORDERS: [Figure; 3] = figures_of(&ORDER_COLUMNS);

    /// One level of referrers.
    pub fn new(of: ReferredTo) -> Self {
        let scope = ScopeOptions::default();
        ReferrersOptions { referred_to: of, scope, depth: 1, order: None, limits: Limits::default() }
    }

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("referrers");
        line.add_option("--depth", (self.depth != 1).then(|| self.depth.to_string()).as_deref());
        line.add_sort_option(self.order, REFERRERS);
        self.limits.add_to(&mut line);
        self.scope.add_to(&mut line);
        if let ReferredTo::Object(object) = &self.referred_to {
            line.add_word(object.to_string());
        }
        line
    }
}

/// Referrers of some objects.
#[derive(Serialize)]
#[non_exhaustive]
pub struct Referrers<'d> {
    /// The objects that are referred to, and how many they are.
    pub of: ReferredToRow,
    /// The rows.
    #[serde(serialize_with = "serialize_lazy")]
    pub referrers: ReferrerRows<'d>,
    /// The figure that they are ordered by.
    #[serde(skip)]
    pub order: Figure,
}

/// The object or the scope that is referred to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReferredToRow {
    /// The object's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The pattern of the types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The expression that they fulfil, if there is one.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Number of these objects.
    pub objects: u64,
    /// The object with its type, in words.
    #[serde(skip)]
    pub object_in_words: Option<String>,
}

/// Objects of one type that refer to the same ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReferrerRow<'d> {
    /// The name of their type.
    #[serde(rename = "type")]
    pub type_name: &'d str,
    /// Names of the references, where the dump has them: `.next`, `[*]` for elements, several names one behind the other. Of many
    /// references 32, evenly chosen, are looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Number of them.
    pub referrers: u64,
    /// Number of references to objects of the row above, weak ones included.
    pub references: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
}

/// Rows, each followed by what refers to its objects.
pub struct ReferrerRows<'d> {
    tree: Tree<ReferrerGroup>,
    graph: &'d HeapGraph,
    pub(crate) names: Option<ReferenceNames<'d>>,
}

/// Objects of one type that refer to the same ones.
#[derive(Default)]
pub struct ReferrerGroup {
    type_id: Option<TypeId>,
    /// Each once, until the row below them is made.
    nodes: Vec<NodeId>,
    referrer_count: u64,
    reference_count: u64,
    shallow_bytes: u64,
    examples: ExampleReferences,
}

/// Groups what refers to an object or to all objects of some types by type. O(references to them) for each level, and
/// once for all references of the dump reversed. An object that stands in a row above is not listed below it again.
///
/// # Errors
/// If the dump holds no objects, has no such object or section, or takes more memory than it may.
pub fn referrers<'d>(dump: &'d OpenDump, options: &ReferrersOptions) -> Result<Referrers<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let scope = &options.scope;
    let (asked, of) = match &options.referred_to {
        ReferredTo::Object(object) => {
            let node = object.find(graph, scope)?;
            let words = super::ObjectRow::new(graph, node).type_text();
            let id = graph.display_id(node);
            let words = Some(format!("{id}  {words}"));
            (
                vec![node],
                ReferredToRow { id: Some(id), pattern: None, filter: None, objects: 1, object_in_words: words },
            )
        }
        ReferredTo::Scope => {
            let nodes: Vec<NodeId> = scope.resolve(dump)?.nodes().collect();
            let objects = nodes.len() as u64;
            let pattern = scope.types.as_ref().map(|types| types.text());
            let filter = scope.filter.as_ref().map(Filter::joined_text);
            (nodes, ReferredToRow { id: None, pattern, filter, objects, object_in_words: None })
        }
    };
    dump.check_referrers_memory()?;
    let order = order_entry_of(&ORDER_COLUMNS, options.order.unwrap_or(REFERRERS))?;
    let mut walk =
        ReferrerWalk { graph, options, order, on_path: NodeSet::new(graph.node_count()), marked_by_row: Vec::new() };
    let top = walk.referrers_by_type(&asked);
    walk.mark_row(&asked);
    let tree = preorder(top, |row, depth| {
        let nodes = std::mem::take(&mut row.nodes);
        (depth + 1 < walk.options.depth).then(|| {
            walk.unmark_rows_from(depth as usize + 1);
            walk.mark_row(&nodes);
            walk.referrers_by_type(&nodes)
        })
    });
    let referrers = ReferrerRows { tree: tree.collect(), graph, names: ReferenceNames::of(dump) };
    Ok(Referrers { of, referrers, order: options.order.unwrap_or(REFERRERS) })
}

struct ReferrerWalk<'d, 'o> {
    graph: &'d HeapGraph,
    options: &'o ReferrersOptions,
    order: GroupSortValues,
    /// The objects of the rows above.
    on_path: NodeSet,
    /// By row above, those that it marked.
    marked_by_row: Vec<Vec<NodeId>>,
}

impl ReferrerWalk<'_, '_> {
    /// Marks the objects of a row. One that was asked for and refers to another is marked already.
    fn mark_row(&mut self, nodes: &[NodeId]) {
        let marked = nodes.iter().copied().filter(|&node| self.on_path.insert(node)).collect();
        self.marked_by_row.push(marked);
    }

    /// Forgets the rows from this depth on.
    fn unmark_rows_from(&mut self, depth: usize) {
        for nodes in self.marked_by_row.drain(depth.min(self.marked_by_row.len())..) {
            nodes.into_iter().for_each(|node| self.on_path.remove(node));
        }
    }

    /// Referrers of some objects, by type.
    fn referrers_by_type(&self, targets: &[NodeId]) -> TreeLevel<ReferrerGroup> {
        let mut groups: BTreeMap<TypeId, ReferrerGroup> = BTreeMap::new();
        for &target in targets {
            for referrer in self.graph.referrers(target).filter(|from| !self.on_path.contains(from.node)) {
                let group = groups.entry(self.graph.type_of(referrer.node)).or_default();
                group.reference_count += 1;
                group.nodes.push(referrer.node);
                group.examples.add(referrer.node, target);
            }
        }
        let rows = groups.into_iter().map(|(type_id, mut group)| {
            group.nodes.sort_unstable();
            group.nodes.dedup();
            let bytes = group.nodes.iter().map(|&node| self.graph.shallow_bytes(node));
            group.shallow_bytes = bytes.fold(0, u64::saturating_add);
            ReferrerGroup { type_id: Some(type_id), referrer_count: group.nodes.len() as u64, ..group }
        });
        let key = |group: &ReferrerGroup| (Reverse((self.order)(group)), group.type_id);
        TreeLevel::sorted_and_cut(rows.collect(), self.options.limits, |a, b| key(a).cmp(&key(b)))
    }
}

impl<'d> LazyTree for ReferrerRows<'d> {
    type Kept = ReferrerGroup;
    type Row = ReferrerRow<'d>;

    fn tree(&self) -> &Tree<ReferrerGroup> {
        &self.tree
    }

    fn make_row(&self, group: &ReferrerGroup) -> ReferrerRow<'d> {
        ReferrerRow {
            type_name: group.type_id.map_or("", |type_id| self.graph.type_name(type_id)),
            reference: self.names.and_then(|names| names.of_examples(group.examples.chosen())),
            referrers: group.referrer_count,
            references: group.reference_count,
            shallow_bytes: group.shallow_bytes,
        }
    }
}
