//! From the rows of a snapshot to a graph: nodes that are objects, edges that hold and that do not, roots by category.

use super::block::NOWHERE;
use super::classes::{Classes, classify, name_of_kind};
use super::codes::*;
use super::layout::{EdgeKind, Kind};
use super::rules::{DOCUMENT_TREES, Holding, move_sizes};
use super::snapshot::Snapshot;
use crate::graph::{
    GraphBuilder, IdStyle, MemoryShare, NumberedObjects, NumberedWeak, RootFlags, RootKind, RootRecord, Section,
    SectionId, SourcePlace, TypeSlot,
};
use crate::input::{Diagnostics, Position, ReadError, ReadOptions, Rules};

/// How the type of a numbered slot is called.
type Slots = Vec<TypeSlot>;

/// Applies the rules that `options` ask for, and says the class of each node.
pub(super) fn apply_rules(snapshot: &mut Snapshot, options: &ReadOptions) -> Classes {
    if !snapshot.has_edges {
        return classes_of_kinds(snapshot);
    }
    if options.rules != Rules::Plain && !super::rules::user_roots(snapshot).is_empty() {
        move_sizes(snapshot);
    }
    classify(snapshot, options.raw_types)
}

/// Without names and edges: every node under the name of its type.
fn classes_of_kinds(snapshot: &Snapshot) -> Classes {
    let mut names: Vec<(String, Option<SourcePlace>)> = Vec::new();
    let mut of_kind = [u32::MAX; 256];
    let of_node = snapshot.kinds.iter().map(|&number| {
        let class = &mut of_kind[usize::from(number)];
        if *class == u32::MAX {
            *class = names.len() as u32;
            names.push((name_of_kind(snapshot, number), None));
        }
        *class
    });
    let of_node = of_node.collect();
    // Kinds that have a class name of their own would stand beside others under it.
    Classes { names, of_node }
}

/// The objects of a snapshot in a builder.
pub(super) struct Assembled {
    pub(super) builder: GraphBuilder,
    pub(super) objects: u64,
}

/// Makes the builder of a snapshot. Consumes the columns on the way, so that no two copies of the references exist.
pub(super) fn assemble(
    mut snapshot: Snapshot,
    classes: Classes,
    share: MemoryShare,
    options: &ReadOptions,
    diagnostics: &mut Diagnostics,
) -> Result<Assembled, ReadError> {
    let mut builder = GraphBuilder::new(IdStyle::Decimal);
    let section = builder.begin_section(Section { complete: snapshot.has_edges, ..Section::default() });
    let slots = name_types(&mut builder, &classes);
    let (repeated, first) = snapshot.ids.make_unique();
    let at = Position::Byte(0);
    diagnostics.add(&DUPLICATE_ID, repeated, at, || format!("@{}", snapshot.ids.get(first)));
    let categories: Vec<u32> = (0..snapshot.len() as u32).filter(|&node| snapshot.is_category(node)).collect();
    let mut weak = Vec::new();
    let mut dangling = 0;
    if snapshot.has_edges {
        let holding = Holding::new(&snapshot, options.rules != Rules::Plain);
        for &category in &categories {
            dangling += add_roots(&mut builder, section, &snapshot, &holding, category);
        }
        dangling += split_references(&mut snapshot, &holding, &categories, &mut weak);
    } else {
        snapshot.targets = Vec::new();
        snapshot.first_edge = vec![0; snapshot.len()];
    }
    let Snapshot { names, mut ids, sizes: mut shallow, mut large, first_edge: mut counts, targets, .. } = snapshot;
    drop(names);
    let mut types = classes.of_node;
    types.iter_mut().for_each(|class| *class = slots[*class as usize].0);
    if !categories.is_empty() {
        let is_object = |number: usize| categories.binary_search(&(number as u32)).is_err();
        ids.retain(is_object);
        retain(&mut shallow, &is_object);
        retain(&mut counts, &is_object);
        retain(&mut types, &is_object);
        large.iter_mut().for_each(|(number, _)| *number -= before(&categories, *number));
    }
    let objects = ids.len() as u64;
    let numbered = NumberedObjects { ids, types, shallow, large, counts, references: targets, weak, dangling };
    // The builder counts them from here on.
    drop(share);
    builder.append_numbered(section, numbered)?;
    Ok(Assembled { builder, objects })
}

/// Gives every class a slot. Classes of one name at different places stay apart.
pub(super) fn name_types(builder: &mut GraphBuilder, classes: &Classes) -> Slots {
    let slots = classes.names.iter().map(|(name, location)| {
        let slot = builder.new_type();
        match *location {
            Some(place) => builder.name_type_at(slot, name, place),
            None => builder.name_type(slot, name),
        }
        slot
    });
    slots.collect()
}

fn retain<T>(column: &mut Vec<T>, keep: &impl Fn(usize) -> bool) {
    let mut number = 0;
    column.retain(|_| {
        number += 1;
        keep(number - 1)
    });
}

/// How many categories come before a node.
#[inline]
fn before(categories: &[u32], node: u32) -> u32 {
    match categories.last() {
        Some(&last) if node > last => categories.len() as u32,
        _ => categories.partition_point(|&category| category < node) as u32,
    }
}

/// Leaves the references that hold in `targets`, as numbers of objects, and in `first_edge` how many each node has; the
/// others become weak ones. How many led nowhere.
fn split_references(
    snapshot: &mut Snapshot,
    holding: &Holding,
    categories: &[u32],
    weak: &mut Vec<NumberedWeak>,
) -> u64 {
    let mut is_category = super::rules::Bits::new(snapshot.len());
    categories.iter().for_each(|&category| {
        is_category.insert(category);
    });
    let (mut write, mut dangling) = (0, 0);
    for node in 0..snapshot.len() as u32 {
        let edges = snapshot.edges(node);
        let start = write;
        let source = node - before(categories, node);
        let weak_before = weak.len();
        let is_own_category = is_category.has(node);
        for edge in edges {
            let target = snapshot.targets[edge];
            if is_own_category {
                continue;
            }
            if target == NOWHERE {
                dangling += 1;
                continue;
            }
            if is_category.has(target) {
                continue;
            }
            let number = target - before(categories, target);
            if holding.holds(snapshot, node, edge) {
                // Behind what is read.
                snapshot.targets[write] = number;
                write += 1;
            } else {
                let place = (write - start + weak.len() - weak_before) as u32;
                weak.push(NumberedWeak { source, place, target: number });
            }
        }
        // The end of the node's edges stands in the next entry: nothing reads this one any more.
        snapshot.first_edge[node as usize] = (write - start) as u32;
    }
    snapshot.first_edge.pop();
    snapshot.targets.truncate(write);
    snapshot.targets.shrink_to_fit();
    dangling
}

/// The root records of the root or of a category. How many edges lead nowhere.
fn add_roots(
    builder: &mut GraphBuilder,
    section: SectionId,
    snapshot: &Snapshot,
    holding: &Holding,
    category: u32,
) -> u64 {
    let is_root = Some(category) == snapshot.root();
    let category_name = snapshot.strings.name(snapshot.names[category as usize]).into_owned();
    let mut container = None;
    let mut dangling = 0;
    for edge in snapshot.edges(category) {
        let target = snapshot.targets[edge];
        if target == NOWHERE {
            dangling += 1;
            continue;
        }
        if snapshot.is_category(target) {
            continue;
        }
        let is_shortcut = snapshot.is_kind(edge, EdgeKind::Shortcut);
        let kind = if is_root && is_shortcut { RootKind::Static } else { kind_of(&category_name) };
        let flags = if holding.holds(snapshot, category, edge) { 0 } else { RootFlags::WEAK };
        let name = if is_root && is_shortcut {
            Some(builder.text(&snapshot.strings.name(snapshot.names[target as usize])))
        } else {
            None
        };
        if !is_root && container.is_none() {
            let slot = builder.new_type();
            builder.name_type(slot, &category_name);
            container = Some(slot);
        }
        let record = RootRecord::new(snapshot.ids.get(target as usize), kind, 0);
        builder.add_root_record(section, RootRecord { flags: RootFlags(flags), container, name, ..record });
    }
    dangling
}

/// Why a category holds what it holds.
fn kind_of(category: &str) -> RootKind {
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

/// Objects that have bytes, and these, by class.
pub(super) fn totals(snapshot: &Snapshot, classes: &Classes) -> Vec<(String, u64, u64)> {
    let mut totals = vec![(0u64, 0u128); classes.names.len()];
    for node in 0..snapshot.len() as u32 {
        if !snapshot.is_category(node) && snapshot.sizes[node as usize] > 0 {
            let total = &mut totals[classes.of_node[node as usize] as usize];
            *total = (total.0 + 1, total.1 + u128::from(snapshot.self_size(node)));
        }
    }
    let shown = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
    let named = classes.names.iter().zip(totals).filter(|(_, (objects, _))| *objects > 0);
    let mut named: Vec<_> = named.map(|((name, _), (objects, bytes))| (name.clone(), objects, shown(bytes))).collect();
    named.sort();
    named
}

/// Records by kind.
pub(super) fn records(snapshot: &Snapshot) -> Vec<(&'static str, u64)> {
    let categories = (0..snapshot.len() as u32).filter(|&node| snapshot.is_category(node)).count();
    let synthetic = (0..snapshot.len() as u32).filter(|&node| snapshot.kind(node) == Kind::Synthetic).count();
    debug_assert!(synthetic + 1 >= categories);
    vec![
        ("nodes", snapshot.len() as u64),
        ("categories", categories as u64),
        ("edges", snapshot.edge_rows),
        ("strings", snapshot.strings.len() as u64),
        ("locations", snapshot.locations.len() as u64),
    ]
}
