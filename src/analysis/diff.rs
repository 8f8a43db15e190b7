//! Two heaps compared by name: of types, packages, root kinds, paths, backtraces. By object id only where ids stay with their
//! objects, in two dumps of one process.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::allocations::{AllocationHeap, NameId, NameTable, add_counts};
use crate::analysis::allocation_totals::{AllocationAmount, AllocationTotals, TypeAmount};
use crate::analysis::type_tree::TypeTree;
use crate::graph::{HeapGraph, NodeId, NodeSet, RootKind};
use crate::sort;

/// Levels of a path that are told apart.
pub const MAX_TYPE_PATH_LEVELS: usize = 12;

/// Values before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change<T> {
    /// In the old dump.
    pub old: T,
    /// In the new one.
    pub new: T,
}

/// Figures of a name in one heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffAmounts {
    /// Objects, root records, or allocations where they are counted.
    pub count: Option<u64>,
    /// Shallow bytes of the objects, bytes held by the roots, bytes at and below a path, or allocated bytes.
    pub bytes: u64,
    /// Retained bytes, where they were asked for.
    pub retained_bytes: u64,
}

/// One of the figures of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// [`DiffAmounts::count`].
    Count,
    /// [`DiffAmounts::bytes`].
    Bytes,
    /// [`DiffAmounts::retained_bytes`].
    RetainedBytes,
}

impl Default for DiffAmounts {
    fn default() -> Self {
        DiffAmounts { count: Some(0), bytes: 0, retained_bytes: 0 }
    }
}

impl DiffAmounts {
    /// One of the figures, where it is known.
    pub fn get(&self, of: Measure) -> Option<u64> {
        match of {
            Measure::Count => self.count,
            Measure::Bytes => Some(self.bytes),
            Measure::RetainedBytes => Some(self.retained_bytes),
        }
    }
}

impl Change<DiffAmounts> {
    /// By how much a figure grew; of counts `None` unless both sides are counted or have nothing.
    pub fn growth(&self, of: Measure) -> Option<i64> {
        let figure = |amounts: &DiffAmounts| amounts.get(of).or((amounts.bytes == 0).then_some(0));
        Some(saturating_delta(figure(&self.old)?, figure(&self.new)?))
    }
}

/// New less old, saturated at the limits of `i64`.
pub fn saturating_delta(old: u64, new: u64) -> i64 {
    i64::try_from(i128::from(new) - i128::from(old)).unwrap_or(if new > old { i64::MAX } else { i64::MIN })
}

/// Rows of two heaps by name.
pub type JoinedRows = Vec<(String, Change<DiffAmounts>)>;

/// Joins two heaps by name: largest growth in bytes first, then in objects, then by name.
pub fn join_by_name(old: BTreeMap<String, DiffAmounts>, mut new: BTreeMap<String, DiffAmounts>) -> JoinedRows {
    let mut changes: JoinedRows = old
        .into_iter()
        .map(|(name, old)| {
            let new = new.remove(&name).unwrap_or_default();
            (name, Change { old, new })
        })
        .collect();
    changes.extend(new.into_iter().map(|(name, new)| (name, Change { old: DiffAmounts::default(), new })));
    sort::rows_by(&mut changes, &|(a_name, a), (b_name, b)| {
        let key = |change: &Change<DiffAmounts>| [Measure::Bytes, Measure::Count].map(|of| change.growth(of));
        key(b).cmp(&key(a)).then_with(|| a_name.cmp(b_name))
    });
    changes
}

/// Root records by kind, with the bytes that only roots of that kind hold: what would become unreachable without them.
/// One marking for all kinds of strong roots: each object is reached by none, by one kind, or by several.
/// O(objects + references); 8 bytes per object.
pub fn amounts_by_root_kind(graph: &HeapGraph) -> BTreeMap<String, DiffAmounts> {
    const NO_KIND: u32 = u32::MAX;
    const SEVERAL_KINDS: u32 = u32::MAX - 1;
    let mut kinds: BTreeMap<String, DiffAmounts> = BTreeMap::new();
    let mut strong: BTreeMap<RootKind, u32> = BTreeMap::new();
    let mut kind_of = vec![NO_KIND; graph.node_count()];
    let mut queue: Vec<NodeId> = Vec::new();
    let reach = |kind_of: &mut [u32], queue: &mut Vec<NodeId>, node: NodeId, kind: u32| {
        let known = &mut kind_of[node.index()];
        if *known != kind && *known != SEVERAL_KINDS {
            *known = if *known == NO_KIND { kind } else { SEVERAL_KINDS };
            queue.push(node);
        }
    };
    for root in graph.roots().iter().filter(|root| !root.is_excluded) {
        let weak = if root.is_weak() { "weak " } else { "" };
        let count = &mut kinds.entry(format!("{weak}{}", root.kind.name())).or_default().count;
        *count = add_counts(*count, Some(1));
        if root.is_strong() {
            let next = strong.len() as u32;
            let kind = *strong.entry(root.kind).or_insert(next);
            reach(&mut kind_of, &mut queue, root.node, kind);
        }
    }
    while let Some(node) = queue.pop() {
        let kind = kind_of[node.index()];
        for &target in graph.strong_references(node) {
            reach(&mut kind_of, &mut queue, target, kind);
        }
    }
    let mut held = vec![0u64; strong.len()];
    for node in graph.nodes() {
        if let Some(held) = held.get_mut(kind_of[node.index()] as usize) {
            *held = held.saturating_add(graph.shallow_bytes(node));
        }
    }
    for (kind, number) in strong {
        kinds.entry(kind.name()).or_default().bytes = held[number as usize];
    }
    kinds
}

/// Paths whose texts would take more memory than the heap is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathsTooLong;

/// Bytes that the texts of all paths of a heap may take.
fn max_path_bytes(graph: &HeapGraph) -> usize {
    const MIN_LIMIT_BYTES: usize = 50_000_000;
    const BYTES_PER_OBJECT: usize = 100;
    MIN_LIMIT_BYTES.max(graph.node_count().saturating_mul(BYTES_PER_OBJECT))
}

/// Memory that [`totals_by_path`] takes: a path has the names of all types on it. O(places).
pub fn totals_by_path_memory_bytes(graph: &HeapGraph, tree: &TypeTree) -> u64 {
    const ROW_BYTES: u64 = 200;
    let mut lengths: Vec<u64> = Vec::with_capacity(tree.places.len());
    for place in &tree.places {
        let own = graph.type_name(place.type_id).len() as u64;
        lengths.push(place.parent.map_or(own, |above| lengths[above] + 3 + own));
    }
    // While they are made there are two of each, and after that one in each of two dumps or one for both.
    lengths.iter().map(|length| 2 * length + ROW_BYTES).sum()
}

/// Places of a merged dominator tree by their path of types, `A > B > C`: objects there, bytes there and below.
///
/// # Errors
/// When names are so long that the paths take more than 50 MB, and more than 100 bytes for each object of the heap.
pub fn totals_by_path(graph: &HeapGraph, tree: &TypeTree) -> Result<BTreeMap<String, DiffAmounts>, PathsTooLong> {
    let mut left = max_path_bytes(graph);
    let mut names: Vec<String> = Vec::with_capacity(tree.places.len());
    let mut places = BTreeMap::new();
    for place in &tree.places {
        let own = graph.type_name(place.type_id);
        let name = match place.parent {
            Some(above) => format!("{} > {own}", names[above]),
            None => own.to_string(),
        };
        left = left.checked_sub(name.len()).ok_or(PathsTooLong)?;
        // Types that are told apart in the tree have one name here: nothing of theirs may get lost.
        let amounts: &mut DiffAmounts = places.entry(name.clone()).or_default();
        amounts.count = add_counts(amounts.count, Some(place.objects));
        amounts.bytes = amounts.bytes.saturating_add(place.retained_bytes);
        names.push(name);
    }
    Ok(places)
}

impl Change<AllocationAmount> {
    fn bytes_delta(&self) -> i64 {
        saturating_delta(self.old.bytes, self.new.bytes)
    }

    fn to_amounts(self) -> Change<DiffAmounts> {
        let amounts = |amount: AllocationAmount| DiffAmounts {
            count: amount.allocations,
            bytes: amount.bytes,
            retained_bytes: 0,
        };
        Change { old: amounts(self.old), new: amounts(self.new) }
    }

    fn has_changed(&self) -> bool {
        let figures = |amount: &AllocationAmount| (amount.bytes, amount.allocations.unwrap_or(0));
        figures(&self.old) != figures(&self.new)
    }

    fn side_mut(&mut self, new: bool) -> &mut AllocationAmount {
        if new { &mut self.new } else { &mut self.old }
    }
}

/// Levels that are told apart; what is deeper counts where it leaves them. A row names all that is above it.
const MAX_BACKTRACE_LEVELS: u32 = 500;

/// The names of both sides, and the paths and types that they have together.
#[derive(Debug, Default)]
pub struct AllocationDiff {
    names: NameTable,
    /// By the path one level up and the name: the path.
    child_paths: FxHashMap<(u32, NameId), u32>,
    /// (path one level up, name) of each path but 0, which is the top.
    path_nodes: Vec<(u32, Option<NameId>)>,
    changes_by_path: Vec<Change<AllocationAmount>>,
    changes_by_type: FxHashMap<NameId, Change<AllocationAmount>>,
}

impl AllocationDiff {
    /// Nothing on either side.
    pub fn new() -> Self {
        AllocationDiff {
            path_nodes: vec![(0, None)],
            changes_by_path: vec![Change::default()],
            ..AllocationDiff::default()
        }
    }

    /// Adds a heap's types to the old side or the new one. O(types).
    pub fn add_type_amounts(&mut self, types: &[TypeAmount], names: &NameTable, new: bool) {
        for amount in types {
            let name = self.names.intern(names.text(amount.type_name));
            add_amount(self.changes_by_type.entry(name).or_default().side_mut(new), amount.total);
        }
    }

    /// Adds a heap's backtraces to the old side or the new one, below `prefix`. O(frames).
    pub fn add_backtraces(
        &mut self,
        heap: &AllocationHeap,
        totals: &AllocationTotals,
        names: &NameTable,
        prefix: Option<&str>,
        new: bool,
    ) {
        let mut top = 0;
        add_amount(self.changes_by_path[0].side_mut(new), totals.total_at(0));
        if let Some(prefix) = prefix {
            let name = self.names.intern(prefix);
            top = self.find_or_add_child_path(0, name);
            add_amount(self.changes_by_path[top as usize].side_mut(new), totals.total_at(0));
        }
        let mut joined: Vec<u32> = vec![top; heap.frames.len()];
        let mut depths = vec![0u32; heap.frames.len()];
        for (at, frame) in heap.frames.iter().enumerate().skip(1) {
            depths[at] = depths[frame.parent() as usize].saturating_add(1);
            let above = joined[frame.parent() as usize];
            if depths[at] > MAX_BACKTRACE_LEVELS {
                joined[at] = above;
                continue;
            }
            let name = self.names.intern(names.text(frame.name));
            joined[at] = self.find_or_add_child_path(above, name);
            add_amount(self.changes_by_path[joined[at] as usize].side_mut(new), totals.total_at(at as u32));
        }
    }

    fn find_or_add_child_path(&mut self, above: u32, name: NameId) -> u32 {
        let next = self.path_nodes.len() as u32;
        *self.child_paths.entry((above, name)).or_insert_with(|| {
            self.path_nodes.push((above, Some(name)));
            self.changes_by_path.push(Change::default());
            next
        })
    }

    /// Everything together.
    pub fn total(&self) -> Change<DiffAmounts> {
        self.changes_by_path[0].to_amounts()
    }

    /// Numbers of the names of types in the order of growth, then of name; all of them, or those that changed.
    pub fn type_name_numbers_by_growth(&self, all: bool) -> Vec<u32> {
        let chosen = self.changes_by_type.iter().filter(|(_, change)| all || change.has_changed());
        let mut rows: Vec<(NameId, i64)> = chosen.map(|(&name, change)| (name, change.bytes_delta())).collect();
        rows.sort_by(|(a, left), (b, right)| {
            right.cmp(left).then_with(|| self.names.text(*a).cmp(self.names.text(*b)))
        });
        rows.into_iter().map(|(name, _)| name.0).collect()
    }

    /// Numbers of paths in the order of growth, then of first appearance; all of them, or those that changed.
    pub fn paths_by_growth(&self, all: bool) -> Vec<u32> {
        let mut rows: Vec<u32> = (1..self.path_nodes.len() as u32)
            .filter(|&at| all || self.changes_by_path[at as usize].has_changed())
            .collect();
        rows.sort_by_key(|&at| (std::cmp::Reverse(self.changes_by_path[at as usize].bytes_delta()), at));
        rows
    }

    /// Change of a type. O(1).
    pub fn change_of_type(&self, name: u32) -> Change<DiffAmounts> {
        self.changes_by_type.get(&NameId(name)).copied().unwrap_or_default().to_amounts()
    }

    /// Change at a path. O(1).
    pub fn change_of_path(&self, path: u32) -> Change<DiffAmounts> {
        self.changes_by_path[path as usize].to_amounts()
    }

    /// The name of a type. O(1).
    pub fn type_name(&self, name: u32) -> &str {
        self.names.text(NameId(name))
    }

    /// The name at the end of a path; empty for the top. O(1).
    pub fn last_name_of(&self, path: u32) -> &str {
        self.path_nodes[path as usize].1.map_or("", |name| self.names.text(name))
    }

    /// The names on the way down to a path.
    pub fn names_of(&self, path: u32) -> Vec<&str> {
        let mut names = Vec::new();
        let mut at = path;
        while let (above, Some(name)) = self.path_nodes[at as usize] {
            names.push(self.names.text(name));
            at = above;
        }
        names.reverse();
        names
    }
}

fn add_amount(to: &mut AllocationAmount, amount: AllocationAmount) {
    to.bytes = to.bytes.saturating_add(amount.bytes);
    to.allocations = add_counts(to.allocations, amount.allocations);
    to.is_lower_bound |= amount.is_lower_bound;
}

/// Objects that came and went.
#[derive(Debug)]
pub struct ObjectChanges {
    /// Objects of the new dump that do not count in the old one.
    pub new_objects: NodeSet,
    /// Objects of the old dump that do not count in the new one.
    pub gone_objects: NodeSet,
    /// Objects that count in both.
    pub in_both_count: u64,
    /// Of these how many have the same type and the same bytes in both.
    pub unchanged_count: u64,
}

impl ObjectChanges {
    /// Returns true if ids tell the same objects: of those with one id, 99 in 100 are alike. Snapshots of one session had all
    /// alike, those that Node.js wrote itself 99.4 %, of two sessions of one process 34 to 98.9 %. Two runs of one program,
    /// stopped at the same step, can be as alike as one.
    pub fn are_of_one_process(&self) -> bool {
        self.in_both_count > 0 && u128::from(self.unchanged_count) * 100 >= u128::from(self.in_both_count) * 99
    }
}

/// Compares two dumps. O(objects of both * log objects); a bit for each.
pub fn compare_objects(old: &HeapGraph, new: &HeapGraph) -> ObjectChanges {
    let mut numbers = FxHashMap::default();
    let old_types = name_numbers_by_type(old, &mut numbers);
    let new_types = name_numbers_by_type(new, &mut numbers);
    let mut changes = ObjectChanges {
        new_objects: NodeSet::new(new.node_count()),
        gone_objects: NodeSet::new(old.node_count()),
        in_both_count: 0,
        unchanged_count: 0,
    };
    for_each_counted_id(old, new, |before, after| match (before, after) {
        (Some(before), Some(after)) => {
            let same_type = old_types[old.type_of(before).index()] == new_types[new.type_of(after).index()];
            changes.in_both_count += 1;
            changes.unchanged_count += u64::from(same_type && old.shallow_bytes(before) == new.shallow_bytes(after));
        }
        (None, Some(after)) => {
            changes.new_objects.insert(after);
        }
        (Some(before), None) => {
            changes.gone_objects.insert(before);
        }
        (None, None) => {}
    });
    changes
}

/// Objects of `then` that are in `among` and count in `now` too: each as it is in both. O(objects of both * log objects).
pub fn surviving_objects(then: &HeapGraph, among: &NodeSet, now: &HeapGraph) -> Vec<(NodeId, NodeId)> {
    let mut found = Vec::new();
    for_each_counted_id(then, now, |then, now| {
        if let (Some(then), Some(now)) = (then, now)
            && among.contains(then)
        {
            found.push((then, now));
        }
    });
    found
}

/// Calls `meet` for every id, ascending, with the objects that count and have it. Objects stand in the order of their ids in
/// either graph; one counts where it has bytes of its own.
fn for_each_counted_id(old: &HeapGraph, new: &HeapGraph, mut meet: impl FnMut(Option<NodeId>, Option<NodeId>)) {
    fn nodes_with_own_bytes_by_id(graph: &HeapGraph) -> impl Iterator<Item = (u64, NodeId)> {
        let nodes = graph.nodes().filter(move |&node| graph.shallow_bytes(node) > 0);
        nodes.map(move |node| (graph.original_id(node), node))
    }
    let (mut olds, mut news) = (nodes_with_own_bytes_by_id(old).peekable(), nodes_with_own_bytes_by_id(new).peekable());
    loop {
        let id = match (olds.peek(), news.peek()) {
            (None, None) => return,
            (Some(&(id, _)), None) | (None, Some(&(id, _))) => id,
            (Some(&(old, _)), Some(&(new, _))) => old.min(new),
        };
        let before = olds.next_if(|&(other, _)| other == id).map(|(_, node)| node);
        let after = news.next_if(|&(other, _)| other == id).map(|(_, node)| node);
        meet(before, after);
    }
}

/// By type: a number that types of the same name have in both dumps. Nodes of a page may be taken out of it in between,
/// and have another name for that.
fn name_numbers_by_type<'g>(graph: &'g HeapGraph, numbers: &mut FxHashMap<&'g str, u32>) -> Vec<u32> {
    let number = |type_id: crate::graph::TypeId| {
        let name = graph.type_name(type_id);
        let name = name.strip_prefix("Detached ").unwrap_or(name);
        let next = numbers.len() as u32;
        *numbers.entry(name).or_insert(next)
    };
    graph.types().ids().map(number).collect()
}
