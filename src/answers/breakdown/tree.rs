//! The trees of a breakdown: how they are asked for, and how they are laid out.

use serde::{Serialize, Serializer};

use crate::allocations::{AllocationHeap, NameId, NameTable};
use crate::analysis::allocation_totals::{AllocationAmount, AllocationTotals, TotalsOptions};
use crate::analysis::breakdown::CallerTree;
use crate::analysis::breakdown::{Axis, BreakdownAxes, BreakdownEntry, BreakdownRowKind, BreakdownTree, PositionedRow};
use crate::analysis::threshold::{Percent, Threshold};
use crate::answers::allocation_heaps::{AllocationHeapChoice, FullerDump, HeapRow, heap_title};
use crate::answers::figure::{ALLOCATIONS, BYTES, NAME, figures_of};
use crate::answers::problems::{ProblemRow, problems_of};
use crate::answers::rows::is_false;
use crate::answers::scope::order_entry_of;
use crate::answers::tree::{SingleRootTree, TreeLevel, preorder};
use crate::answers::{AnswerError, CommandLine, Figure, Limits, ObjectId, ScopeOptions, Tree, TreeRow};
use crate::dump::OpenDump;

/// Rows of all trees of an answer, at most.
pub(super) const MAX_ROWS: usize = 1_000_000;

/// Axes of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BreakdownBy {
    /// Backtraces; types below backtraces that have none below them.
    #[default]
    Backtrace,
    /// Types, and their backtraces below.
    Type,
    /// Every backtrace along both axes.
    Both,
    /// From the frames that allocate up to their callers.
    Caller,
}

impl BreakdownBy {
    /// All but `Caller`, which has a switch of its own, by the words for them.
    pub const WORDS: &[(&str, BreakdownBy)] =
        &[("backtrace", BreakdownBy::Backtrace), ("type", BreakdownBy::Type), ("both", BreakdownBy::Both)];
}

/// Options of a breakdown.
#[derive(Debug, Clone, Default)]
pub struct BreakdownOptions {
    /// Objects, of a dump of objects. Types: only what was allocated of these, of either kind of dump.
    pub scope: ScopeOptions,
    /// Heaps, of allocation totals.
    pub heaps: AllocationHeapChoice,
    /// The object to begin at, of a dump of objects: its tree has all that it retains, whatever the section. Default: the
    /// top.
    pub object: Option<ObjectId>,
    /// The axis.
    pub by: BreakdownBy,
    /// Place where the trees begin: the names of frames or types from the top down, `;` between them. Default: the top.
    pub below_path: Option<String>,
    /// Levels below the top, at most [`MAX_DEPTH`](crate::answers::tree::MAX_DEPTH). Default: all; 20 of objects.
    pub depth: Option<u32>,
    /// Smaller nodes become part of `<other>`. Default: none do; of objects [`default_min_share`].
    pub min_size: Option<Threshold>,
    /// The order of children: one of [`ORDERS`](Self::ORDERS), figures largest first; ties by name. Default: bytes.
    pub order: Option<Figure>,
    /// Number of children of a node.
    pub limits: Limits,
}

/// 0.5 %: what is less of a heap is seldom worth a row.
pub fn default_min_share() -> Threshold {
    Percent::new(0.5).map_or(Threshold::Bytes(0), Threshold::Share)
}

/// Between the names of a path, as in folded stacks.
pub const NAME_SEPARATOR: char = ';';

/// By figure: the value of a place; with a name for its figure places come by their names.
const ORDER_COLUMNS: [(Figure, AmountSortValue); 3] =
    [(BYTES, |amount| Some(amount.bytes)), (ALLOCATIONS, |amount| amount.allocations), (NAME, |_| None)];

type AmountSortValue = fn(AllocationAmount) -> Option<u64>;

impl BreakdownOptions {
    /// Figures that children can be ordered by; allocations are objects where those are broken down.
    pub const ORDERS: [Figure; 3] = figures_of(&ORDER_COLUMNS);

    /// Levels above the place where the trees begin, at most.
    pub(super) fn levels_above_start(&self) -> u32 {
        self.below_path.as_ref().map_or(0, |path| 1 + path.matches(NAME_SEPARATOR).count() as u32)
    }

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("breakdown");
        match self.by {
            BreakdownBy::Backtrace => {}
            BreakdownBy::Type => _ = line.add_option("--by", Some("type")),
            BreakdownBy::Both => _ = line.add_option("--by", Some("both")),
            BreakdownBy::Caller => _ = line.add_word("--invert"),
        }
        line.add_option("--below", self.below_path.as_deref());
        line.add_option("--depth", self.depth.map(|depth| depth.to_string()).as_deref());
        line.add_option("--min-bytes", self.min_size.map(|size| size.to_string()).as_deref());
        line.add_sort_option(self.order, BYTES);
        self.limits.add_to(&mut line);
        self.scope.add_to(&mut line);
        self.heaps.add_to(&mut line);
        if let Some(object) = &self.object {
            line.add_word(object.to_string());
        }
        line
    }
}

/// Trees of bytes.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Breakdown<'d> {
    /// The name of the dump's format.
    pub format: String,
    /// Axes of the trees.
    pub by: BreakdownBy,
    /// Problems of the dump.
    pub problems: Vec<ProblemRow>,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// A tree for each heap; one for a dump of objects.
    pub heaps: Vec<BreakdownHeap<'d>>,
    /// The object asked for, if no strong root reaches it: then there is no heap.
    #[serde(skip)]
    pub unreachable_object_id: Option<String>,
    /// A memory dump with more heaps than the one that was chosen by default.
    #[serde(skip)]
    pub fuller_dump: Option<FullerDump>,
}

/// A heap and its tree; the objects of one section, of all, or below one object are a heap without process and allocator.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct BreakdownHeap<'d> {
    /// The heap.
    #[serde(flatten)]
    pub heap: HeapRow,
    /// The object asked for, of which the tree is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<BreakdownStartObject>,
    /// The tree.
    pub tree: HeapTree<'d>,
}

/// The object that a tree begins at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BreakdownStartObject {
    /// Its id as the dump writes it, with its section where there are several.
    pub id: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Of a class object: the class that it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Its own value in words.
    #[serde(skip)]
    pub value_words: Option<String>,
    /// Bytes that would be freed with it, of all types.
    pub retained_bytes: u64,
}

impl BreakdownStartObject {
    pub(super) fn tree_title(&self) -> String {
        let BreakdownStartObject { id, type_name, .. } = self;
        let said = self.class.as_ref().or(self.value_words.as_ref());
        let said = said.map_or(String::new(), |said| format!(" {said}"));
        format!("{id}, {type_name}{said}: types on the way down the dominator tree")
    }
}

/// The options that choose one of several heaps, by its place.
pub fn heap_choice_of(heaps: &[BreakdownHeap<'_>], number: usize) -> AllocationHeapChoice {
    let Some(row) = heaps.get(number).map(|heap| &heap.heap) else { return AllocationHeapChoice::default() };
    let Some(pid) = row.pid else { return AllocationHeapChoice::default() };
    let is_another = |heap: &HeapRow| (heap.dump, heap.pid) == (row.dump, row.pid) && heap.part != row.part;
    let is_one_of_several = heaps.iter().any(|heap| is_another(&heap.heap));
    AllocationHeapChoice {
        memory_dump: Some(row.dump.to_string()),
        process: Some(if is_one_of_several { format!("{pid} #{}", row.part) } else { pid.to_string() }),
        allocator: row.allocator.clone(),
        ..AllocationHeapChoice::default()
    }
}

/// The tree of a heap. Serialises as the object of its root.
#[derive(Debug)]
pub struct HeapTree<'d>(Tree<BreakdownRow<'d>>);

/// A node of a tree.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BreakdownRow<'d> {
    /// The name of a frame or type, at the top that of the object asked for; `/`, `<self>` or `<other>` of what has none.
    pub name: &'d str,
    /// Of objects: names of the references by which the objects above hold two of them, `…` where these refer to one only by
    /// way of others. The first 4,096 rows have them.
    pub reference_names: Option<String>,
    /// Kind of the node.
    pub kind: BreakdownRowKind,
    /// Axis that it belongs to.
    pub axis: Axis,
    /// Bytes of the node.
    pub bytes: u64,
    /// Allocations or objects, where they are counted.
    pub allocations: Option<u64>,
    /// The figures are lower bounds.
    pub is_lower_bound: bool,
}

impl<'d> HeapTree<'d> {
    /// The rows: the root, and each followed by its children. What is hidden after a row called `<other>` is part of it.
    pub fn rows(&self) -> &[TreeRow<BreakdownRow<'d>>] {
        self.0.rows()
    }

    /// Returns true if a row has the name of a reference.
    pub fn has_reference_names(&self) -> bool {
        self.rows().iter().any(|place| place.row.reference_names.is_some())
    }
}

impl Serialize for HeapTree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SingleRootTree(self.0.nested(SerializableBreakdownRow::new)).serialize(serializer)
    }
}

/// Fields of a node in JSON beside its children.
#[derive(Serialize)]
struct SerializableBreakdownRow<'d> {
    name: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    kind: BreakdownRowKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    axis: Option<Axis>,
    bytes: u64,
    allocations: Option<u64>,
    #[serde(skip_serializing_if = "is_false")]
    at_least: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<u32>,
}

impl<'d> SerializableBreakdownRow<'d> {
    fn new(place: &TreeRow<BreakdownRow<'d>>) -> Self {
        let BreakdownRow { name, reference_names: ref reference, kind, axis, bytes, allocations, is_lower_bound } =
            place.row;
        SerializableBreakdownRow {
            name,
            reference: reference.clone().filter(|name| name != "…"),
            kind,
            axis: matches!(kind, BreakdownRowKind::SelfCost | BreakdownRowKind::Other).then_some(axis),
            bytes,
            allocations,
            at_least: is_lower_bound,
            hidden: (place.hidden_after > 0).then_some(place.hidden_after),
        }
    }
}

impl<'d> Breakdown<'d> {
    pub(super) fn new(
        dump: &OpenDump,
        options: &BreakdownOptions,
        heaps: Vec<BreakdownHeap<'d>>,
        fuller_dump: Option<FullerDump>,
    ) -> Self {
        Breakdown {
            format: dump.info().format.to_string(),
            by: options.by,
            problems: problems_of(dump.diagnostics()),
            roots_inferred: false,
            heaps,
            unreachable_object_id: None,
            fuller_dump,
        }
    }
}

impl<'d> HeapTree<'d> {
    pub(super) fn new(
        rows: Vec<TreeRow<BreakdownEntry>>,
        top: &'d str,
        text: impl Fn(NameId) -> &'d str,
        mut reference: impl FnMut(u32) -> Option<String>,
    ) -> Self {
        let mut shown = |BreakdownEntry { kind, axis, name, frame, amount }: BreakdownEntry| BreakdownRow {
            reference_names: frame.and_then(&mut reference),
            name: match (kind, name) {
                (BreakdownRowKind::Root, _) => top,
                (BreakdownRowKind::Other, _) => "<other>",
                (_, Some(name)) => text(name),
                (_, None) => "<self>",
            },
            kind,
            axis,
            bytes: amount.bytes,
            allocations: amount.allocations,
            is_lower_bound: amount.is_lower_bound,
        };
        HeapTree(rows.into_iter().map(|row| row.map(&mut shown)).collect())
    }
}

/// Layout of the tree of one heap.
pub(super) struct BreakdownRowBuilder<'a> {
    pub(super) options: &'a BreakdownOptions,
    pub(super) heap: &'a AllocationHeap,
    pub(super) names: &'a NameTable,
    pub(super) max_depth: u32,
    pub(super) min_size: Threshold,
    pub(super) shows_types_below_backtraces: bool,
    /// The root's own bytes are a row, however few.
    pub(super) keeps_self_row: bool,
    pub(super) rows_left: usize,
}

impl BreakdownRowBuilder<'_> {
    /// The rows; none where there is no such place to begin at.
    pub(super) fn rows_and_totals(&self) -> Result<(Vec<TreeRow<BreakdownEntry>>, AllocationTotals), AnswerError> {
        let axes = match self.options.by {
            BreakdownBy::Backtrace => Some(BreakdownAxes::Backtrace),
            BreakdownBy::Type => Some(BreakdownAxes::Type),
            BreakdownBy::Both => Some(BreakdownAxes::Both),
            BreakdownBy::Caller => None,
        };
        let value = order_entry_of(&ORDER_COLUMNS, self.options.order.unwrap_or(BYTES))?;
        let types = self.options.scope.types.as_ref();
        let is_wanted = |name: NameId| types.is_none_or(|types| types.matches(self.names.text(name)));
        let totals_options = TotalsOptions {
            // Callers are found from the last frames, however deep these are.
            max_depth: if axes.is_none() {
                u32::MAX
            } else {
                self.max_depth.saturating_add(self.options.levels_above_start())
            },
            is_by_type: self.options.by != BreakdownBy::Backtrace && axes.is_some(),
            is_type_wanted: types.is_some().then_some(&is_wanted),
        };
        let totals = AllocationTotals::compute(self.heap, &totals_options);
        if totals.left_out_pair_count > 0 {
            return Err(AnswerError::TooManyBacktraceTypePairs(heap_title(self.heap)));
        }
        let min_bytes = self.min_size.min_bytes_of(totals.total_at(0).bytes);
        let most = self.rows_left + 1;
        let rows: Vec<TreeRow<BreakdownEntry>> = match axes {
            Some(axes) => {
                let tree = BreakdownTree {
                    heap: self.heap,
                    totals: &totals,
                    axes,
                    shows_types_below_backtraces: self.shows_types_below_backtraces,
                };
                let below = |node: &mut PositionedRow<_>, depth: u32| {
                    let children = if depth < self.max_depth { tree.children(node) } else { Vec::new() };
                    let level = |(children, axis)| self.shown_level(children, &node.row, axis, min_bytes, value);
                    children.into_iter().map(level).collect::<Vec<_>>()
                };
                let children = |node: &mut PositionedRow<_>| {
                    tree.children(node).into_iter().flat_map(|(nodes, _)| nodes).collect()
                };
                let Some(root) = self.find_start(tree.root(), children) else { return Ok((Vec::new(), totals)) };
                preorder(TreeLevel::of(root), below).map(|row| row.map(|node| node.row)).take(most).collect()
            }
            None => {
                let (tree, root) = CallerTree::new(self.heap, &totals);
                let Some(root) = self.find_start(root, |node| tree.take_children(node)) else {
                    return Ok((Vec::new(), totals));
                };
                let below = |node: &mut PositionedRow<_>, depth: u32| {
                    let children = (depth < self.max_depth).then(|| tree.take_children(node));
                    children.map(|children| self.shown_level(children, &node.row, Axis::Backtrace, min_bytes, value))
                };
                preorder(TreeLevel::of(root), below).map(|row| row.map(|node| node.row)).take(most).collect()
            }
        };
        if rows.len() > self.rows_left {
            let (title, with_earlier) = (heap_title(self.heap), self.rows_left < MAX_ROWS);
            return Err(AnswerError::TooManyRows { title, limit: MAX_ROWS, with_earlier });
        }
        Ok((rows, totals))
    }

    /// Finds the first place of the path that the tree begins at. O(children of the places on the way).
    fn find_start<P>(
        &self,
        root: PositionedRow<P>,
        children: impl Fn(&mut PositionedRow<P>) -> Vec<PositionedRow<P>>,
    ) -> Option<PositionedRow<P>> {
        let Some(path) = self.options.below_path.as_deref() else { return Some(root) };
        // Names may hold what stands between names.
        let mut open = vec![(root, path)];
        while let Some((mut node, left)) = open.pop() {
            let mut further = Vec::new();
            for child in children(&mut node) {
                let Some(name) = child.row.name.map(|name| self.names.text(name)) else { continue };
                match left.strip_prefix(name) {
                    Some("") => return Some(child),
                    Some(rest) => further.extend(rest.strip_prefix(NAME_SEPARATOR).map(|rest| (child, rest))),
                    None => {}
                }
            }
            open.extend(further.into_iter().rev());
        }
        None
    }

    /// The children of one axis that are shown, and what is left.
    fn shown_level<P: Default>(
        &self,
        mut children: Vec<PositionedRow<P>>,
        parent: &BreakdownEntry,
        axis: Axis,
        min_bytes: u64,
        value: AmountSortValue,
    ) -> TreeLevel<PositionedRow<P>> {
        let all = children.len();
        let keeps = |child: &PositionedRow<P>| {
            self.keeps_self_row && parent.kind == BreakdownRowKind::Root && child.row.kind == BreakdownRowKind::SelfCost
        };
        let kept: Vec<PositionedRow<P>> = children.extract_if(.., |child| keeps(child)).collect();
        children.retain(|child| child.row.amount.bytes >= min_bytes);
        let text = |row: &BreakdownEntry| row.name.map(|name| self.names.text(name)).unwrap_or_default();
        let Limits { reverse, .. } = self.options.limits;
        let mut level =
            TreeLevel::sorted_and_cut(children, Limits { reverse: false, ..self.options.limits }, |a, b| {
                let (a, b) = (&a.row, &b.row);
                let by_value = value(b.amount).cmp(&value(a.amount));
                let order = by_value.then_with(|| text(a).cmp(text(b)));
                let order = if reverse { order.reverse() } else { order };
                (a.kind == BreakdownRowKind::SelfCost).cmp(&(b.kind == BreakdownRowKind::SelfCost)).then(order)
            });
        level.rows.extend(kept);
        let other = parent.other_row(axis, level.rows.iter().map(|child| &child.row));
        // Without a row for them nothing is said of children that are left out.
        level.hidden = if other.is_some() { all - level.rows.len() } else { 0 };
        level.rows.extend(other.map(|row| PositionedRow { row, position: P::default() }));
        level
    }
}
