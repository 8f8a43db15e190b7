//! The dominator tree from the top, below an object, or from the topmost objects of some
//! types; or the groups of objects below a place of it.

use std::cell::OnceCell;
use std::cmp::Ordering;

use serde::Serialize;

use super::figure::{DOMINATED_OBJECTS, OBJECTS, RETAINED, SHALLOW, TOPMOST_OBJECTS, figures_of};
use super::groups::{Groups, SameNameTypes, groups_by_dominator, loaders_of_repeated_names};
use super::histogram_row::{HistogramRow, KeyedValue, RowAmounts};
use super::problems::{ProblemRow, problems_of};
use super::reference_names::{ReferenceNames, reference_places};
use super::rows::{ROWS_READ_TOGETHER, is_false};
use super::scope::order_entry_of;
use super::tree::{LazyTree, TreeLevel, preorder, serialize_lazy};
use super::values::ValueReader;
use super::{
    AnswerError, CommandLine, Figure, GroupBy, Limits, ObjectId, ObjectRow, Scope, ScopeOptions, Tree, TreeRow,
};
use crate::analysis::dominators::{DominatorNode, DominatorWalkStep, Dominators};
use crate::analysis::retained::RetainedSizes;
use crate::analysis::retained_sets::{NO_SET, retained_lower_bound_by_set, topmost_members};
use crate::dump::{AnswerNeed, OpenDump};
use crate::graph::{HeapGraph, NodeId, Root};

/// The part of the dominator tree that is asked for.
#[derive(Debug, Clone)]
pub struct DominatorTreeOptions {
    /// The section of the objects at the top. Types: the tree begins at the topmost objects of these, unless an object
    /// is given; groups have only their objects.
    pub scope: ScopeOptions,
    /// The object to begin at. Default: the top.
    pub object: Option<ObjectId>,
    /// Levels below the start, at most [`MAX_DEPTH`](super::tree::MAX_DEPTH). Default: 1.
    pub depth: u32,
    /// Groups of all objects below the start in place of the tree. Default: none.
    pub group_by: Option<GroupBy>,
    /// Types of one name that the dump tells apart are groups of their own.
    pub splits_same_name_types: bool,
    /// The order of each level: one of [`ORDERS`](Self::ORDERS), largest first; ties by section and id, of groups by name.
    /// Default: retained bytes.
    pub order: Option<Figure>,
    /// Number of rows of each level.
    pub limits: Limits,
}

impl Default for DominatorTreeOptions {
    fn default() -> Self {
        DominatorTreeOptions {
            scope: ScopeOptions::default(),
            object: None,
            depth: 1,
            group_by: None,
            splits_same_name_types: false,
            order: None,
            limits: Limits::default(),
        }
    }
}

impl DominatorTreeOptions {
    /// Figures that rows can be ordered by.
    pub const ORDERS: [Figure; 3] = figures_of(&ORDER_COLUMNS);

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("dominators");
        match (&self.object, self.group_by) {
            (_, Some(by)) => line.add_option("--by", Some(by.name())),
            _ if self.depth != 1 => line.add_option("--depth", Some(&self.depth.to_string())),
            _ => &mut line,
        };
        line.add_sort_option(self.order, RETAINED);
        line.add_switch("--raw-types", self.splits_same_name_types);
        self.limits.add_to(&mut line);
        self.scope.add_to(&mut line);
        if let Some(object) = &self.object {
            line.add_word(object.to_string());
        }
        line
    }
}

/// A part of the dominator tree.
#[derive(Serialize)]
#[non_exhaustive]
pub struct DominatorTree<'d> {
    /// Bytes that strong roots reach, of the section asked for.
    pub reachable_bytes: u64,
    /// Objects that strong roots reach, of the section asked for.
    pub reachable_objects: u64,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// The rows.
    #[serde(flatten)]
    pub rows: DominatorRows<'d>,
    /// Problems of the dump.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemRow>,
    /// Some roots were given on request.
    #[serde(skip)]
    pub has_requested_roots: bool,
    /// The figure that rows are ordered by.
    #[serde(skip)]
    pub order: Figure,
    /// The object asked for, if no strong root reaches it: then there are no rows.
    #[serde(skip)]
    pub unreachable_object_id: Option<String>,
}

/// The rows of the answer.
#[derive(Serialize)]
#[serde(untagged)]
pub enum DominatorRows<'d> {
    /// A tree of objects.
    Objects {
        /// The tree.
        #[serde(serialize_with = "serialize_lazy")]
        nodes: DominatorNodes<'d>,
    },
    /// Groups of objects.
    Groups(DominatorGroups),
}

impl DominatorRows<'_> {
    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        match self {
            DominatorRows::Objects { nodes } => nodes.is_empty(),
            DominatorRows::Groups(groups) => groups.rows.as_slice().is_empty(),
        }
    }
}

/// Objects of the dominator tree, each followed by those that it dominates.
pub struct DominatorNodes<'d> {
    tree: Tree<DominatorTreeNode>,
    names: Option<ReferenceNames<'d>>,
    graph: &'d HeapGraph,
    dominators: &'d Dominators,
    retained: &'d RetainedSizes,
    reachable_bytes: u64,
    values: Option<ValueReader<'d>>,
    /// By row: what its object says, of the first rows; read when it is first asked.
    value_texts: OnceCell<Vec<Option<String>>>,
}

/// An object of the dominator tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DominatorRow<'d> {
    /// The object's id as the dump writes it, with its section where there are several.
    pub id: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: &'d str,
    /// Of a class object: the class that it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'d str>,
    /// Name of the reference from the row above, where that object itself refers to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Bytes of the object itself.
    pub shallow_bytes: u64,
    /// Bytes that would be freed with it.
    pub retained_bytes: u64,
    /// Of all that strong roots reach in the section asked for, 0 to 1.
    pub share: f64,
    /// Objects that would be freed with it, itself included.
    pub dominated_objects: u32,
}

/// Groups of the objects below the start.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DominatorGroups {
    /// The name of the dump's format.
    pub format: String,
    /// Name of the grouping.
    pub by: &'static str,
    /// The rows that are shown, in their order.
    #[serde(flatten)]
    pub rows: KeyedValue<Vec<HistogramRow>>,
    /// Grouping of the rows.
    #[serde(skip)]
    pub group_by: GroupBy,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub rows_hidden: usize,
}

/// A part of the dominator tree. O(objects) beside the tree itself, and a sort of the rows.
///
/// # Errors
/// If the dump holds no objects, has no such object or section, does not say what to group by, or takes more memory
/// than it may.
pub fn dominator_tree<'d>(
    dump: &'d OpenDump,
    options: &DominatorTreeOptions,
) -> Result<DominatorTree<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let start = options.object.as_ref().map(|object| object.find(graph, &options.scope)).transpose()?;
    let scope = options.scope.resolve(dump)?;
    dump.check_answer_memory(AnswerNeed::DominatorDescent, 0)?;
    let (dominators, retained) = dump.dominators()?;
    let from = start.map_or(Some(DominatorNode::ROOT), |node| dominators.number_of(node));
    let order = order_entry_of(&ORDER_COLUMNS, options.order.unwrap_or(RETAINED))?;
    let part = DominatorTreeBuilder { graph, dominators, retained, options, order, scope: &scope };
    let (reachable_bytes, reachable_objects) = part.reachable_bytes_and_objects();
    let rows = match (from, options.group_by) {
        (Some(from), Some(by)) => DominatorRows::Groups(part.groups(dump, from, by)?),
        _ => {
            let tree = from.map_or_else(|| Tree::from_iter([]), |from| part.tree(from));
            let (values, value_texts, names) = (ValueReader::of(dump), OnceCell::new(), ReferenceNames::of(dump));
            let nodes =
                DominatorNodes { tree, names, graph, dominators, retained, reachable_bytes, values, value_texts };
            DominatorRows::Objects { nodes }
        }
    };
    Ok(DominatorTree {
        reachable_bytes,
        reachable_objects,
        roots_inferred: graph.roots_inferred(),
        rows,
        problems: problems_of(dump.diagnostics()),
        order: options.order.unwrap_or(RETAINED),
        has_requested_roots: graph.roots().iter().any(Root::is_requested),
        unreachable_object_id: start.filter(|_| from.is_none()).map(|node| graph.display_id(node)),
    })
}

/// By figure: the value of an object, and the figure of groups that stands for it.
const ORDER_COLUMNS: [(Figure, (ObjectSortValue, Figure)); 3] = [
    (RETAINED, (|part, number| part.retained.bytes_at(number), RETAINED)),
    (SHALLOW, (|part, number| part.graph.shallow_bytes(part.dominators.node_at(number)), SHALLOW)),
    (DOMINATED_OBJECTS, (|part, number| u64::from(part.retained.objects_at(number)), OBJECTS)),
];

type ObjectSortValue = fn(&DominatorTreeBuilder<'_, '_>, DominatorNode) -> u64;

/// Figures of groups. Their retained bytes are those of their topmost objects: at least so much would be freed with them.
const GROUP_FIGURES: [Figure; 3] = [OBJECTS, SHALLOW, TOPMOST_OBJECTS];

/// The data that rows are computed from.
struct DominatorTreeBuilder<'a, 'd> {
    graph: &'d HeapGraph,
    dominators: &'d Dominators,
    retained: &'d RetainedSizes,
    options: &'a DominatorTreeOptions,
    /// The value that objects are ordered by, and the figure that groups are.
    order: (ObjectSortValue, Figure),
    scope: &'a Scope<'d>,
}

impl DominatorTreeBuilder<'_, '_> {
    /// Bytes and objects that strong roots reach in the section.
    fn reachable_bytes_and_objects(&self) -> (u64, u64) {
        let tops = self.scope.top_level(self.dominators);
        tops.into_iter().fold((0u64, 0), |(bytes, objects), number| {
            let objects = objects + u64::from(self.retained.objects_at(number));
            (bytes.saturating_add(self.retained.bytes_at(number)), objects)
        })
    }

    fn tree(&self, from: DominatorNode) -> Tree<DominatorTreeNode> {
        let wanted = Some(self.scope).filter(|scope| scope.chooses_some() && from == DominatorNode::ROOT);
        let depth = self.options.depth;
        let children = (depth > 1 || wanted.is_some()).then(|| self.dominators.children());
        let mut starts = match (&children, wanted) {
            _ if from != DominatorNode::ROOT => vec![from],
            (Some(children), Some(wanted)) => {
                topmost_members(self.dominators, children, |node| wanted.is_chosen_in_any_section(node))
            }
            _ => self.dominators.children_of(DominatorNode::ROOT),
        };
        starts.retain(|&number| self.scope.node_range().contains(&self.dominators.node_at(number).index()));
        // Below an object the object itself is level 0; from the top the first level is the answer's first.
        let levels = if from != DominatorNode::ROOT { depth.saturating_add(1) } else { depth };
        let below = |&mut DominatorTreeNode { dominator_node: number, .. }: &mut DominatorTreeNode, depth: u32| {
            (depth + 1 < levels).then(|| {
                let below = match &children {
                    Some(children) => children.of(number).collect(),
                    None => self.dominators.children_of(number),
                };
                self.shown_level(below, Some(number))
            })
        };
        preorder(self.shown_level(starts, None), below).collect()
    }

    /// The rows that are shown of those below an object, each with the place of the reference to it. O(rows, and the
    /// references of the object).
    fn shown_level(&self, numbers: Vec<DominatorNode>, above: Option<DominatorNode>) -> TreeLevel<DominatorTreeNode> {
        let node = |number: DominatorNode| self.dominators.node_at(number);
        let value = |number| (self.order.0)(self, number);
        let level = TreeLevel::sorted_and_cut(numbers, self.options.limits, |&a, &b| -> Ordering {
            value(b).cmp(&value(a)).then_with(|| node(a).cmp(&node(b)))
        });
        let nodes: Vec<NodeId> = level.rows.iter().map(|number| node(*number)).collect();
        let places = above.map(|above| reference_places(self.graph, node(above), &nodes));
        let places = places.into_iter().flatten().chain(std::iter::repeat(None));
        let rows = level
            .rows
            .into_iter()
            .zip(places)
            .map(|(number, reference)| DominatorTreeNode { dominator_node: number, reference_place: reference });
        TreeLevel { rows: rows.collect(), hidden: level.hidden }
    }

    fn groups(&self, dump: &OpenDump, from: DominatorNode, by: GroupBy) -> Result<DominatorGroups, AnswerError> {
        let by_dominator = (by == GroupBy::Dominator).then(|| groups_by_dominator(dump, self.graph)).transpose()?;
        let apart = SameNameTypes::of_rows(self.options.splits_same_name_types);
        let groups = Groups::new(self.scope, by, apart, by_dominator)?;
        let children = self.dominators.children();
        let set_of = |node| groups.group_of(node);
        let topmost =
            retained_lower_bound_by_set(self.dominators, self.retained, &children, from, groups.names.len(), set_of);
        let mut totals = vec![(0u64, 0u64); groups.names.len()];
        children.walk(from, |step| {
            if let DominatorWalkStep::Enter(number) = step {
                let node = self.dominators.node_at(number);
                let group = groups.group_of(node);
                if group != NO_SET {
                    let total = &mut totals[group as usize];
                    total.0 += 1;
                    total.1 = total.1.saturating_add(self.graph.shallow_bytes(node));
                }
            }
        });
        let shown: Vec<u32> = (0..groups.names.len() as u32).filter(|&group| totals[group as usize].0 > 0).collect();
        let loaders = loaders_of_repeated_names(dump, self.graph, &groups, &shown);
        let rows = shown.into_iter().zip(loaders).map(|(number, loader)| {
            let (group, (objects, bytes)) = (number as usize, totals[number as usize]);
            let amounts = [objects, bytes, topmost[group].objects].map(Some);
            let row = HistogramRow::new(groups.names[group].clone(), by, RowAmounts::new(&GROUP_FIGURES, amounts));
            // Types that are told apart may have one name: their groups tell them apart.
            HistogramRow { retained_bytes: Some(topmost[group].retained_bytes), loader, group: number, ..row }
        });
        let order = self.order.1;
        let level = TreeLevel::sorted_and_cut(rows.collect(), self.options.limits, |a, b| {
            b.figure(order).cmp(&a.figure(order)).then_with(|| (a.name(), a.group).cmp(&(b.name(), b.group)))
        });
        Ok(DominatorGroups {
            format: dump.info().format.to_string(),
            by: by.name(),
            rows: KeyedValue::of_rows(by, level.rows),
            group_by: by,
            rows_hidden: level.hidden,
        })
    }
}

impl DominatorNodes<'_> {
    /// Returns true if the dump has class objects.
    pub fn has_class_objects(&self) -> bool {
        !self.graph.types().class_objects().is_empty()
    }

    /// The type of a row's object; of a class object with the class, of others with what they say of themselves, of the
    /// first 4,096 rows. These are read when it is first asked.
    pub fn type_text(&self, row: usize) -> String {
        let node = |row: &TreeRow<DominatorTreeNode>| self.dominators.node_at(row.row.dominator_node);
        let rows = self.tree.rows();
        let said = self.value_texts.get_or_init(|| {
            let nodes: Vec<_> = rows.iter().take(ROWS_READ_TOGETHER).map(node).collect();
            self.values.map_or(Vec::new(), |values| values.values_in_words(&nodes))
        });
        let said = said.get(row).cloned().flatten();
        ObjectRow { value_words: said, ..ObjectRow::new(self.graph, node(&rows[row])) }.type_text()
    }

    /// The name of the reference by which the object above holds a row's object, `…` where it refers to it only by way of
    /// others; in dumps that name references.
    pub fn reference_text(&self, row: usize) -> Option<String> {
        let place = self.tree.rows()[row].row;
        self.names?.of_place(self.object_above(place)?, place.reference_place)
    }

    /// Returns true if a row has the name of a reference.
    pub fn has_reference_names(&self) -> bool {
        self.names.is_some() && self.tree.rows().iter().any(|row| row.row.reference_place.is_some())
    }

    /// The object above; `None` at the top.
    fn object_above(&self, place: DominatorTreeNode) -> Option<NodeId> {
        let above = self.dominators.immediate_dominator_of(place.dominator_node);
        (above != DominatorNode::ROOT).then(|| self.dominators.node_at(above))
    }
}

/// The part of a row that the tree keeps.
#[derive(Debug, Clone, Copy)]
pub struct DominatorTreeNode {
    dominator_node: DominatorNode,
    /// The first reference to it among those of the object that dominates it; `None` where that has none.
    reference_place: Option<u32>,
}

impl<'d> LazyTree for DominatorNodes<'d> {
    type Kept = DominatorTreeNode;
    type Row = DominatorRow<'d>;

    fn tree(&self) -> &Tree<DominatorTreeNode> {
        &self.tree
    }

    fn make_row(&self, &place: &DominatorTreeNode) -> DominatorRow<'d> {
        let (graph, number) = (self.graph, place.dominator_node);
        let node = self.dominators.node_at(number);
        let retained_bytes = self.retained.bytes_at(number);
        DominatorRow {
            id: graph.display_id(node),
            type_name: graph.type_name(graph.type_of(node)),
            class: graph.types().type_of_class_object(node).map(|class| graph.type_name(class)),
            reference: place
                .reference_place
                .and_then(|_| self.names?.of_place(self.object_above(place)?, place.reference_place)),
            shallow_bytes: graph.shallow_bytes(node),
            retained_bytes,
            share: match self.reachable_bytes {
                0 => 0.0,
                whole => retained_bytes as f64 / whole as f64,
            },
            dominated_objects: self.retained.objects_at(number),
        }
    }
}
