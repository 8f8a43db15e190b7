//! From the rows of a snapshot to a graph: nodes that are objects, edges that hold and that do not, roots by category.

use super::bit_set::BitSet;
use super::block::DANGLING_TARGET;
use super::classes::{NodeClasses, class_name_of_kind, classify};
use super::edge_rules::{DOCUMENT_TREES, EdgeRules, OwnedParts, move_sizes_to_owners, owned_parts};
use super::layout::{EdgeKind, NodeKind};
use super::problem_codes::*;
use super::snapshot::Snapshot;
use crate::graph::{
    GraphBuilder, IdStyle, ListLengths, MemoryShare, NumberedObjects, NumberedWeakReference, RootFlags, RootKind,
    RootRecord, Section, SectionId, remove_at_indices,
};
use crate::input::{Diagnostics, Position, ReadError, ReadOptions, Rules, TypeOrigin};
use crate::parallel;

/// What the rules made of a snapshot, besides its sizes.
pub(super) struct AppliedRules {
    pub(super) classes: NodeClasses,
    /// `None` where the references are not whole, or were not asked for.
    edge_rules: Option<EdgeRules>,
}

/// Applies the rules that `options` ask for: sizes, classes, and what holds where `with_holding`.
pub(super) fn apply_rules(snapshot: &mut Snapshot, options: &ReadOptions, with_holding: bool) -> AppliedRules {
    if !snapshot.has_all_edges {
        return AppliedRules { classes: classes_of_kinds(snapshot), edge_rules: None };
    }
    let by_devtools = options.rules != Rules::Plain;
    let moves = by_devtools && !super::edge_rules::user_roots(snapshot).is_empty();
    let (classes, (parts, holding)) = {
        let snapshot = &*snapshot;
        rayon::join(
            || classify(snapshot, options.raw_types),
            || {
                rayon::join(
                    || if moves { owned_parts(snapshot) } else { OwnedParts::default() },
                    || with_holding.then(|| EdgeRules::new(snapshot, by_devtools)),
                )
            },
        )
    };
    move_sizes_to_owners(snapshot, parts);
    AppliedRules { classes, edge_rules: holding }
}

/// Without names and edges: every node under the name of its type.
fn classes_of_kinds(snapshot: &Snapshot) -> NodeClasses {
    let mut names: Vec<String> = Vec::new();
    let mut of_kind = [u32::MAX; 256];
    let of_node = snapshot.kinds.iter().map(|&number| {
        let class = &mut of_kind[usize::from(number)];
        if *class == u32::MAX {
            *class = names.len() as u32;
            names.push(class_name_of_kind(snapshot, number));
        }
        *class
    });
    let of_node = of_node.collect();
    // Kinds that have a class name of their own would stand beside others under it.
    NodeClasses {
        all_classes: (0..names.len() as u32).map(|name| (name, None)).collect(),
        names,
        class_of_node: of_node,
    }
}

/// The objects of a snapshot in a builder.
pub(super) struct AssembledObjects {
    pub(super) builder: GraphBuilder,
    pub(super) object_count: u64,
    /// The snapshot as it was read, its ids made unique, where it is kept.
    pub(super) kept: Option<Snapshot>,
}

/// Sizes of a snapshot before the rules move them.
pub(super) struct SizesAsRead {
    sizes: Vec<u16>,
    large_sizes: Vec<(u32, u64)>,
}

impl SizesAsRead {
    /// O(nodes).
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        SizesAsRead { sizes: snapshot.sizes.clone(), large_sizes: snapshot.large_sizes.clone() }
    }
}

/// Makes the builder of a snapshot. Consumes the columns on the way, so that no two copies of the references exist, but where
/// the snapshot is kept, with the sizes that it had.
pub(super) fn assemble(
    mut snapshot: Snapshot,
    kept_sizes: Option<SizesAsRead>,
    applied: AppliedRules,
    share: MemoryShare,
    diagnostics: &mut Diagnostics,
) -> Result<AssembledObjects, ReadError> {
    let mut builder = GraphBuilder::new(IdStyle::Decimal);
    let section = builder.begin_section(Section { complete: snapshot.has_all_edges, ..Section::default() });
    let AppliedRules { classes, edge_rules: holding } = applied;
    name_types(&mut builder, &classes);
    let (repeated, first) = snapshot.ids.make_unique();
    let at = Position::Byte(0);
    diagnostics.add(&DUPLICATE_ID, repeated, at, || format!("@{}", snapshot.ids.get(first)));
    let categories: Vec<u32> = (0..snapshot.len() as u32).filter(|&node| snapshot.is_category(node)).collect();
    let kept_columns = kept_sizes.map(|sizes| {
        let (ids, targets) =
            (snapshot.ids.clone(), parallel::collect_indexed(snapshot.targets.len(), |edge| snapshot.targets[edge]));
        (sizes, ids, targets)
    });
    let (mut weak, mut counts, mut dangling) = (Vec::new(), ListLengths::default(), 0);
    if let Some(holding) = holding {
        for &category in &categories {
            dangling += add_roots(&mut builder, section, &snapshot, &holding, category);
        }
        dangling += split_references(&mut snapshot, &holding, &categories, &mut weak, &mut counts);
    } else {
        snapshot.targets = Vec::new();
        counts.extend(snapshot.kinds.iter().map(|_| 0));
    }
    let (mut ids, mut shallow) = (std::mem::take(&mut snapshot.ids), std::mem::take(&mut snapshot.sizes));
    let (mut large, targets) = (std::mem::take(&mut snapshot.large_sizes), std::mem::take(&mut snapshot.targets));
    let kept = kept_columns.map(move |(SizesAsRead { sizes, large_sizes }, ids, targets)| Snapshot {
        sizes,
        large_sizes,
        ids,
        targets,
        ..snapshot
    });
    let mut types = classes.class_of_node;
    if !categories.is_empty() {
        ids.remove_at_indices(&categories);
        remove_at_indices(&mut shallow, &categories);
        counts.remove_at_indices(&categories);
        types.remove_at_indices(&categories);
        large.retain(|(number, _)| categories.binary_search(number).is_err());
        large.iter_mut().for_each(|(number, _)| *number -= categories_before(&categories, *number));
    }
    let objects = ids.len() as u64;
    let numbered = NumberedObjects {
        ids,
        type_slots: types,
        shallow,
        large_shallow: large,
        reference_counts: counts,
        references: targets,
        weak_references: weak,
        dangling_reference_count: dangling,
    };
    // The builder counts them from here on.
    drop(share);
    builder.append_numbered(section, numbered)?;
    Ok(AssembledObjects { builder, object_count: objects, kept })
}

/// Gives every class the slot of its number. Classes of one name at different places stay apart.
fn name_types(builder: &mut GraphBuilder, classes: &NodeClasses) {
    for (class, &(name, location)) in classes.all_classes.iter().enumerate() {
        let (slot, name) = (builder.new_type(), &classes.names[name as usize]);
        debug_assert_eq!(slot.0 as usize, class, "the builder's first slots");
        match location {
            Some(place) => builder.name_type_at(slot, name, place),
            None => builder.name_type(slot, name),
        }
    }
}

/// How many categories come before a node.
#[inline]
fn categories_before(categories: &[u32], node: u32) -> u32 {
    match categories.last() {
        Some(&last) if node > last => categories.len() as u32,
        _ => categories.partition_point(|&category| category < node) as u32,
    }
}

/// Nodes whose references are looked at together.
const NODES_PER_PART: usize = 1 << 16;

/// The references of some nodes that follow one another.
struct ReferencePart<'a> {
    first_node: u32,
    node_count: usize,
    /// References; those that hold first, afterwards.
    targets: &'a mut [u32],
    /// Edges before the part's.
    first_edge: usize,
    /// By node: how many references hold; and of all.
    strong_counts: ListLengths,
    strong_reference_count: usize,
    weak_references: Vec<NumberedWeakReference>,
    dangling_reference_count: u64,
}

/// Leaves the references that hold in `targets`, as numbers of objects, and in `counts` how many each node has; the
/// others become weak ones. Returns how many led nowhere.
fn split_references(
    snapshot: &mut Snapshot,
    holding: &EdgeRules,
    categories: &[u32],
    weak: &mut Vec<NumberedWeakReference>,
    counts: &mut ListLengths,
) -> u64 {
    let mut is_category = BitSet::new(snapshot.len());
    categories.iter().for_each(|&category| {
        is_category.insert(category);
    });
    let mut targets = std::mem::take(&mut snapshot.targets);
    let mut rest = &mut targets[..];
    let mut parts: Vec<ReferencePart> = Vec::with_capacity(snapshot.len().div_ceil(NODES_PER_PART));
    for first_node in (0..snapshot.len()).step_by(NODES_PER_PART) {
        let node_count = NODES_PER_PART.min(snapshot.len() - first_node);
        let first_edge = snapshot.first_edge.start(first_node);
        let (own, behind) = rest.split_at_mut(snapshot.first_edge.start(first_node + node_count) - first_edge);
        rest = behind;
        parts.push(ReferencePart {
            first_node: first_node as u32,
            node_count,
            targets: own,
            first_edge,
            strong_counts: ListLengths::default(),
            strong_reference_count: 0,
            weak_references: Vec::new(),
            dangling_reference_count: 0,
        });
    }
    let snapshot_ref = &*snapshot;
    parallel::map(parts.iter_mut().collect(), &|part: &mut ReferencePart| {
        part.split(snapshot_ref, holding, categories, &is_category)
    });
    let (mut dangling, mut places) = (0, Vec::with_capacity(parts.len()));
    for part in &mut parts {
        dangling += part.dangling_reference_count;
        weak.append(&mut part.weak_references);
        counts.extend(part.strong_counts.iter());
        places.push((part.first_edge, part.strong_reference_count));
    }
    let mut write = 0;
    for (from, held) in places {
        targets.copy_within(from..from + held, write);
        write += held;
    }
    targets.truncate(write);
    targets.shrink_to_fit();
    snapshot.targets = targets;
    dangling
}

impl ReferencePart<'_> {
    fn split(&mut self, snapshot: &Snapshot, holding: &EdgeRules, categories: &[u32], is_category: &BitSet) {
        let mut write = 0;
        for at in 0..self.node_count {
            let node = self.first_node + at as u32;
            let edges = snapshot.edges(node);
            let (first, mut others) = (write, 0);
            if !is_category.has(node) {
                let source = node - categories_before(categories, node);
                for edge in edges {
                    let target = self.targets[edge - self.first_edge];
                    if target == DANGLING_TARGET {
                        self.dangling_reference_count += 1;
                        continue;
                    }
                    if is_category.has(target) {
                        continue;
                    }
                    if holding.holds(snapshot, node, edge, target) {
                        // Behind what is read.
                        self.targets[write] = target - categories_before(categories, target);
                        write += 1;
                    } else {
                        let place = (write - first + others) as u32;
                        others += 1;
                        self.weak_references.push(NumberedWeakReference {
                            source,
                            reference_index: place,
                            target: target - categories_before(categories, target),
                        });
                    }
                }
            }
            self.strong_counts.extend([(write - first) as u32]);
        }
        self.strong_reference_count = write;
    }
}

/// Adds the root records of the root or of a category. Returns how many edges lead nowhere.
fn add_roots(
    builder: &mut GraphBuilder,
    section: SectionId,
    snapshot: &Snapshot,
    holding: &EdgeRules,
    category: u32,
) -> u64 {
    let is_root = Some(category) == snapshot.root();
    let category_name = snapshot.strings.text_or_placeholder(snapshot.names.get(category)).into_owned();
    let mut container = None;
    let mut dangling = 0;
    for edge in snapshot.edges(category) {
        let target = snapshot.targets[edge];
        if target == DANGLING_TARGET {
            dangling += 1;
            continue;
        }
        if snapshot.is_category(target) {
            continue;
        }
        let is_shortcut = snapshot.is_kind(edge, EdgeKind::Shortcut);
        let kind = match is_root {
            true if is_shortcut => RootKind::Static,
            true if snapshot.kind(target) == NodeKind::Synthetic => RootKind::Embedder,
            _ => root_kind_of_category(&category_name),
        };
        let flags = if holding.holds(snapshot, category, edge, target) { 0 } else { RootFlags::WEAK };
        let name = if is_root && is_shortcut {
            Some(builder.intern_text(&snapshot.strings.text_or_placeholder(snapshot.names.get(target))))
        } else {
            None
        };
        if !is_root && container.is_none() {
            let slot = builder.new_type();
            builder.name_type(slot, &category_name);
            container = Some(slot);
        }
        let record = RootRecord::new(snapshot.ids.get(target as usize), kind, 0);
        builder.add_root_record(
            section,
            RootRecord { flags: RootFlags(flags), declaring_class: container, name, ..record },
        );
    }
    dangling
}

/// The kind of root for which a category holds its objects.
fn root_kind_of_category(category: &str) -> RootKind {
    match category {
        "(Stack roots)" | "(Handle scope)" | "(Relocatable)" | "(Thread manager)" | "C++ native stack roots" => {
            RootKind::Local
        }
        "(Global handles)"
        | "(Traced handles)"
        | "(Eternal handles)"
        | "C++ Persistent roots"
        | "C++ CrossThreadPersistent roots" => RootKind::Handle,
        DOCUMENT_TREES => RootKind::Runtime,
        _ if category.starts_with("Node / ") => RootKind::Handle,
        _ => RootKind::Gc,
    }
}

/// Objects that have bytes, and these, by class; and where the constructor of that stands.
pub(super) fn class_totals(snapshot: &Snapshot, classes: &NodeClasses) -> Vec<((String, u64, u64), TypeOrigin)> {
    let mut totals = vec![(0u64, 0u128); classes.all_classes.len()];
    for node in 0..snapshot.len() as u32 {
        if !snapshot.is_category(node) && snapshot.sizes[node as usize] > 0 {
            let total = &mut totals[classes.class_of_node.get(node as usize).0 as usize];
            *total = (total.0 + 1, total.1 + u128::from(snapshot.self_size(node)));
        }
    }
    let shown = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
    let with_objects = totals.into_iter().enumerate().filter(|(_, (objects, _))| *objects > 0);
    let mut named: Vec<_> = with_objects
        .map(|(class, (objects, bytes))| {
            let total = (classes.name(class).to_string(), objects, shown(bytes));
            (total, TypeOrigin::ConstructorPlace(classes.all_classes[class].1))
        })
        .collect();
    named.sort();
    named
}

/// Counts of the rows of a snapshot, by kind of row.
pub(super) fn record_counts(snapshot: &Snapshot) -> Vec<(&'static str, u64)> {
    let categories = (0..snapshot.len() as u32).filter(|&node| snapshot.is_category(node)).count();
    let synthetic = (0..snapshot.len() as u32).filter(|&node| snapshot.kind(node) == NodeKind::Synthetic).count();
    debug_assert!(synthetic + 1 >= categories);
    vec![
        ("nodes", snapshot.len() as u64),
        ("categories", categories as u64),
        ("edges", snapshot.edge_row_count),
        ("strings", snapshot.strings.len() as u64),
        ("locations", snapshot.locations.len() as u64),
    ]
}
