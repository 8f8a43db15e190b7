//! Paths that keep a type alive: the shortest root paths of all its objects, merged by type from the roots down.
//!
//! One breadth-first walk from all roots gives every object its shortest path; paths are never followed one by one, so
//! a million objects at the end of long lists cost no more than any others. A chain of one type (a linked list, a tree)
//! folds into one row as far as its references repeat; every other step is a row.

use rustc_hash::FxHashMap;

use super::collections::CollectionTypes;
use super::root_paths::RootPath;
use super::root_paths::display_rank;
use crate::graph::{HeapGraph, Loader, NodeId, Root, TypeId};

/// Greatest depth of a row: objects that are deeper count for the row at this depth.
pub const MAX_MERGED_ROW_DEPTH: usize = 200;

/// A row of the merged tree; it comes after the row above it.
#[derive(Debug, Clone)]
pub struct MergedPathNode {
    /// Rows at the top: a root of their objects, the same in kind, flags, container and name for all of them.
    pub root: Option<Root>,
    /// The type of its objects.
    pub type_id: TypeId,
    /// Of a row that stands for the steps from a loader to a class object: the class, and its loader.
    pub class_and_loader: Option<(TypeId, NodeId)>,
    /// The row above; `None` at the top.
    pub parent: Option<usize>,
    /// Rows from the top, 0 at the top.
    pub depth: usize,
    /// Of a row below one of its type: the name of the first reference between the two, as the caller numbers names.
    reference_name_number: Option<u32>,
    /// Objects of the longest chain of the type that folded into this row; 1 where none did.
    pub chain_objects: u32,
    /// Wanted objects at this row and below; of paths to one object these paths.
    pub objects: u64,
    /// Their weights, added up.
    pub weight_bytes: u64,
    /// Its objects are elements of the collections of the row above, and what leads to them in these is passed over.
    pub is_of_elements: bool,
    /// References by which objects of the row above, or inner objects of a collection, hold objects of this one, evenly
    /// chosen among all.
    pub example_references: ExampleReferences,
}

impl MergedPathNode {
    /// Adds what another row has.
    fn add(&mut self, other: &MergedPathNode) {
        self.chain_objects = self.chain_objects.max(other.chain_objects);
        self.objects += other.objects;
        self.weight_bytes = self.weight_bytes.saturating_add(other.weight_bytes);
        self.example_references.extend(&other.example_references);
    }
}

/// References that are evenly chosen among many.
#[derive(Debug, Clone, Default)]
pub struct ExampleReferences {
    /// From, to.
    chosen: Vec<(NodeId, NodeId)>,
    seen_count: u64,
    /// Of so many one is chosen, as a power of two.
    stride_log2: u32,
}

impl ExampleReferences {
    /// At most so many are chosen.
    pub const MAX_EXAMPLES: usize = 32;

    /// The chosen references.
    pub fn chosen(&self) -> &[(NodeId, NodeId)] {
        &self.chosen
    }

    /// The target, where there was one reference in all.
    pub fn only_target(&self) -> Option<NodeId> {
        Some(self.chosen.first()?.1).filter(|_| self.seen_count == 1)
    }

    /// Counts a reference, and chooses it if its turn has come.
    pub(crate) fn add(&mut self, from: NodeId, to: NodeId) {
        if self.seen_count & ((1 << self.stride_log2) - 1) == 0 {
            if self.chosen.len() == Self::MAX_EXAMPLES {
                let mut number = 0;
                self.chosen.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.stride_log2 += 1;
            }
            if self.seen_count & ((1 << self.stride_log2) - 1) == 0 {
                self.chosen.push((from, to));
            }
        }
        self.seen_count += 1;
    }

    /// Counts those of another row too.
    fn extend(&mut self, other: &ExampleReferences) {
        other.chosen.iter().for_each(|&(from, to)| self.add(from, to));
        self.seen_count += other.seen_count - other.chosen.len() as u64;
    }
}

/// The merged paths.
#[derive(Debug, Default)]
pub struct MergedPaths {
    /// The rows.
    pub rows: Vec<MergedPathNode>,
    /// Wanted objects that some path reaches; of paths to one object these paths.
    pub reached_objects: u64,
}

/// Kind, flags, container and name of a root, the type of its object, and where the path begins at a class that class and
/// its loader.
type RootRowKey<'g> = (String, u32, Option<TypeId>, Option<&'g str>, TypeId, Option<(TypeId, NodeId)>);

/// In place of a parent: no path has reached the object.
const UNSEEN: u32 = u32::MAX;
/// In place of a parent: a root holds the object.
const FROM_ROOT: u32 = u32::MAX - 1;

/// Numbers the name of the reference between two objects of one type; the same number for the same name.
pub type ReferenceNameNumberer<'n> = &'n mut dyn FnMut(NodeId, NodeId) -> u32;

/// What is merged, and how far.
#[derive(Debug, Clone, Copy, Default)]
pub struct MergeOptions {
    /// Weak roots count as well.
    pub includes_weak_roots: bool,
    /// The steps from a loader to a class are rows of their own.
    pub shows_loader_steps: bool,
}

/// Merges the shortest paths to all wanted objects. Paths never touch an `avoided` object. `weight_of` is asked for
/// each wanted object that is reached, `name_of` where objects of one type follow one another, if references have names.
/// O(objects + references); 16 bytes per object.
pub fn merge_root_paths(
    graph: &HeapGraph,
    is_wanted: impl Fn(NodeId) -> bool,
    is_avoided: impl Fn(NodeId) -> bool,
    MergeOptions { includes_weak_roots: all_kinds, shows_loader_steps: all_steps }: MergeOptions,
    weight_of: impl Fn(NodeId) -> u64,
    name_of: Option<ReferenceNameNumberer<'_>>,
) -> MergedPaths {
    let roots = display_roots_by_node(graph, all_kinds);
    let mut parents = vec![UNSEEN; graph.node_count()];
    let mut order: Vec<NodeId> = Vec::new();
    for root in &roots {
        if !is_avoided(root.node) {
            parents[root.node.index()] = FROM_ROOT;
            order.push(root.node);
        }
    }
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        at += 1;
        for &target in graph.strong_references(node) {
            if parents[target.index()] == UNSEEN && !is_avoided(target) {
                parents[target.index()] = node.index() as u32;
                order.push(target);
            }
        }
    }
    // From the last to the first: who has wanted objects below.
    let mut needed = crate::graph::NodeSet::new(graph.node_count());
    for &node in order.iter().rev() {
        if is_wanted(node) {
            needed.insert(node);
        }
        if needed.contains(node) && parents[node.index()] != FROM_ROOT {
            needed.insert(NodeId::new(parents[node.index()] as usize));
        }
    }
    let mut merger = PathMerger::new(graph, name_of, all_steps);
    let mut row_of = vec![UNSEEN; graph.node_count()];
    for &node in order.iter().filter(|&&node| needed.contains(node)) {
        let (row, chain) = match parents[node.index()] {
            FROM_ROOT => {
                (merger.find_or_add_root_row(roots[roots.partition_point(|root| root.node < node)], node, None), 1)
            }
            parent => {
                let above = (row_of[parent as usize] as usize, parents[parent as usize]);
                merger.find_or_add_child_row(above, NodeId::new(parent as usize), node)
            }
        };
        row_of[node.index()] = row as u32;
        // Its parent is done with: the length of the chain that it ends, for what it holds.
        parents[node.index()] = chain;
        if is_wanted(node) {
            merger.add_path_end(row, weight_of(node));
        }
    }
    merger.into_merged_paths()
}

/// Objects of a path that are looked at: of a longer one the first ones.
const MAX_PATH_OBJECTS: usize = 1000;

/// Merges paths to one object by type from the roots down: what rows count are paths. O(paths x 1,000).
pub fn merge_paths_to_object<'p>(
    graph: &HeapGraph,
    paths: impl Iterator<Item = RootPath<'p>>,
    all_steps: bool,
    name_of: Option<ReferenceNameNumberer<'_>>,
) -> MergedPaths {
    let mut merger = PathMerger::new(graph, name_of, all_steps);
    for path in paths {
        let mut last = path.start();
        let mut above = (merger.find_or_add_root_row(path.root, last, None), 1);
        for node in path.nodes().take(MAX_PATH_OBJECTS).skip(1) {
            above = merger.find_or_add_child_row(above, last, node);
            last = node;
        }
        merger.add_path_end(above.0, 0);
    }
    merger.into_merged_paths()
}

/// Rows while they are found.
struct PathMerger<'g, 'n> {
    graph: &'g HeapGraph,
    reference_name_of: Option<ReferenceNameNumberer<'n>>,
    shows_loader_steps: bool,
    merged: MergedPaths,
    root_rows: FxHashMap<RootRowKey<'g>, usize>,
    child_rows: FxHashMap<(usize, TypeId, Option<u32>), usize>,
}

impl<'g, 'n> PathMerger<'g, 'n> {
    fn new(graph: &'g HeapGraph, name_of: Option<ReferenceNameNumberer<'n>>, all_steps: bool) -> Self {
        let (merged, root_rows, child_rows) = (MergedPaths::default(), FxHashMap::default(), FxHashMap::default());
        PathMerger { graph, reference_name_of: name_of, shows_loader_steps: all_steps, merged, root_rows, child_rows }
    }

    /// The row of an object that a root holds, or of a class whose loader it does.
    fn find_or_add_root_row(&mut self, root: &Root, node: NodeId, class: Option<(TypeId, NodeId)>) -> usize {
        let (graph, type_id) = (self.graph, self.graph.shown_type_of(node));
        let container = root.declaring_class.map(|container| graph.shown_type(container));
        let key = (root.kind.name(), root.flags.0, container, graph.root_name(root), type_id, class);
        *self.root_rows.entry(key).or_insert_with(|| {
            let row = self.merged.push_row(Some(root.clone()), type_id, None, None);
            self.merged.rows[row].class_and_loader = class;
            row
        })
    }

    /// The row of a class object below one of its loader: what stands between is the same for every class of a program.
    fn class_row_below_loader(&mut self, above: usize, node: NodeId) -> Option<usize> {
        const MAX_ROWS_UP_TO_LOADER: usize = 16;
        let types = self.graph.types();
        let class = types.type_of_class_object(node).filter(|_| !self.shows_loader_steps)?;
        let Loader::Object(loader) = types.loader(class) else { return None };
        let loader_type = self.graph.shown_type_of(loader);
        let rows = &self.merged.rows;
        let way =
            || std::iter::successors(Some(&rows[above]), |row| Some(&rows[row.parent?])).take(MAX_ROWS_UP_TO_LOADER);
        way().find(|row| row.type_id == loader_type)?;
        let root = way().last()?.root.clone()?;
        Some(self.find_or_add_root_row(&root, node, Some((self.graph.shown_type(class), loader))))
    }

    /// The row of an object that `parent` holds, and how many objects of the chain that folded into the row it ends; `above`
    /// is both of `parent`.
    fn find_or_add_child_row(&mut self, (above, chain): (usize, u32), parent: NodeId, node: NodeId) -> (usize, u32) {
        let type_id = self.graph.shown_type_of(node);
        if let Some(row) = self.class_row_below_loader(above, node) {
            return (row, 1);
        }
        let own = &self.merged.rows[above];
        if own.depth >= MAX_MERGED_ROW_DEPTH {
            return (above, chain);
        }
        let mut step = None;
        if own.type_id == type_id {
            step = self.reference_name_of.as_mut().map(|name_of| name_of(parent, node));
            if step.is_none() || self.merged.reference_names_of_chain(above).any(|known| Some(known) == step) {
                let row = &mut self.merged.rows[above];
                row.example_references.add(parent, node);
                row.chain_objects = row.chain_objects.max(chain + 1);
                return (above, chain + 1);
            }
        }
        let new = || self.merged.push_row(None, type_id, step, Some(above));
        let row = *self.child_rows.entry((above, type_id, step)).or_insert_with(new);
        self.merged.rows[row].example_references.add(parent, node);
        (row, 1)
    }

    /// One more ends in a row.
    fn add_path_end(&mut self, row: usize, weight_bytes: u64) {
        self.merged.reached_objects += 1;
        let row = &mut self.merged.rows[row];
        row.objects += 1;
        row.weight_bytes = row.weight_bytes.saturating_add(weight_bytes);
    }

    /// With what is below each row counted there too. The way to a class may have nothing else.
    fn into_merged_paths(self) -> MergedPaths {
        let mut merged = self.merged;
        merged.add_up();
        merged
    }
}

/// Of a row: the collection that its objects are in, or are.
#[derive(Debug, Clone, Copy)]
struct OpenCollectionRow {
    /// The row of the collection.
    row: usize,
    /// The collection that does the work for it, or itself.
    working_type: TypeId,
    /// Its elements are keys.
    is_set: bool,
    /// The row is of its inner objects.
    is_inner: bool,
}

impl MergedPaths {
    /// The same with elements of collections below the collections, not below the inner objects that lead to them: rows of
    /// these stay where a path ends at them or another way goes on. `are_elements` is asked of the collection's type, whether
    /// it is a set, and examples of references. O(rows).
    pub fn without_inner_rows(
        mut self,
        graph: &HeapGraph,
        types: &CollectionTypes,
        are_elements: impl Fn(TypeId, bool, &ExampleReferences) -> bool,
    ) -> Self {
        // What ends at each row alone.
        for row in 0..self.rows.len() {
            let MergedPathNode { parent: Some(above), objects, weight_bytes, .. } = self.rows[row] else { continue };
            self.rows[above].objects -= objects;
            self.rows[above].weight_bytes = self.rows[above].weight_bytes.saturating_sub(weight_bytes);
        }
        let mut merged = MergedPaths { rows: Vec::new(), reached_objects: self.reached_objects };
        let mut known: FxHashMap<(usize, TypeId, Option<u32>, bool), usize> = FxHashMap::default();
        // By row of before: its row now, and the collection.
        let mut places: Vec<(usize, Option<OpenCollectionRow>)> = Vec::with_capacity(self.rows.len());
        for mut row in self.rows {
            let type_id = row.type_id;
            let mut open = None;
            if let Some((mut above, collection)) = row.parent.map(|above| places[above]) {
                let is_inner = types.is_inner_step(graph, merged.rows[above].type_id, type_id);
                match collection {
                    Some(collection) if is_inner => open = Some(OpenCollectionRow { is_inner, ..collection }),
                    Some(OpenCollectionRow { row: of_collection, working_type, is_set, is_inner: true }) => {
                        row.is_of_elements = are_elements(working_type, is_set, &row.example_references);
                        above = if row.is_of_elements { of_collection } else { above };
                    }
                    _ => {}
                }
                (row.parent, row.depth) = (Some(above), merged.rows[above].depth + 1);
            }
            let key = row.parent.map(|above| (above, type_id, row.reference_name_number, row.is_of_elements));
            let place = match key.and_then(|key| known.get(&key)) {
                Some(&place) => place,
                None => merged.rows.len(),
            };
            match merged.rows.get_mut(place) {
                Some(same) => same.add(&row),
                None => merged.rows.push(row),
            }
            known.extend(key.map(|key| (key, place)));
            if let Some(rule) = types.elements_of_type(type_id) {
                let own = OpenCollectionRow { row: place, working_type: type_id, is_set: false, is_inner: false };
                let open = open.get_or_insert(own);
                (open.working_type, open.is_set) = (type_id, open.is_set || rule.is_set);
            }
            places.push((place, open));
        }
        merged.add_up();
        merged
    }

    /// Counts what is below each row there too, and takes out rows that have nothing.
    fn add_up(&mut self) {
        for row in (0..self.rows.len()).rev() {
            if let Some(above) = self.rows[row].parent {
                self.rows[above].objects += self.rows[row].objects;
                self.rows[above].weight_bytes =
                    self.rows[above].weight_bytes.saturating_add(self.rows[row].weight_bytes);
            }
        }
        let mut kept = 0;
        let kept_before = |row: &MergedPathNode| {
            kept += usize::from(row.objects > 0);
            kept.saturating_sub(1)
        };
        let places: Vec<usize> = self.rows.iter().map(kept_before).collect();
        self.rows.retain(|row| row.objects > 0);
        self.rows.iter_mut().for_each(|row| row.parent = row.parent.map(|above| places[above]));
    }

    fn push_row(&mut self, root: Option<Root>, type_id: TypeId, step: Option<u32>, above: Option<usize>) -> usize {
        let depth = above.map_or(0, |above| self.rows[above].depth + 1);
        let (examples, chain_objects) = (ExampleReferences::default(), 1);
        self.rows.push(MergedPathNode {
            root,
            type_id,
            class_and_loader: None,
            parent: above,
            depth,
            reference_name_number: step,
            chain_objects,
            objects: 0,
            weight_bytes: 0,
            is_of_elements: false,
            example_references: examples,
        });
        self.rows.len() - 1
    }

    /// The names of the references by which objects of one type follow one another, from a row up.
    fn reference_names_of_chain(&self, row: usize) -> impl Iterator<Item = u32> + '_ {
        let rows = std::iter::successors(Some(&self.rows[row]), |row| Some(&self.rows[row.parent?]));
        rows.map_while(|row| row.reference_name_number)
    }
}

/// The most telling root of each rooted object, by node.
fn display_roots_by_node(graph: &HeapGraph, all_kinds: bool) -> Vec<&Root> {
    let mut roots: Vec<&Root> = graph.roots().iter().filter(|root| root.starts_paths(all_kinds)).collect();
    roots.sort_by_key(|root| (root.node, display_rank(root)));
    roots.dedup_by_key(|root| root.node);
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{GraphBuilder, IdStyle, ObjectColumns, ResolveOptions, RootKind, RootRecord, Section};

    #[test]
    fn examples_are_evenly_chosen() {
        let mut examples = ExampleReferences::default();
        for at in 0..1000 {
            examples.add(NodeId::new(at), NodeId::new(at + 1));
            assert!(examples.chosen().len() <= ExampleReferences::MAX_EXAMPLES);
        }
        let chosen: Vec<usize> = examples.chosen().iter().map(|(from, _)| from.index()).collect();
        assert_eq!(chosen, (0..1000).step_by(32).collect::<Vec<_>>());
    }

    #[test]
    fn static_fields_of_different_names_are_rows_of_their_own() {
        let mut builder = GraphBuilder::new(IdStyle::Hex);
        let slot = builder.new_type();
        builder.name_type(slot, "A");
        let section = builder.begin_section(Section::default());
        let mut columns = ObjectColumns::default();
        (1..=3).for_each(|id| columns.push_object(id, 0, 8, id));
        columns.seal();
        builder.append(section, &columns, 0..columns.len(), &[slot.0], 0, true).unwrap();
        for (id, name) in [(1, "Cache"), (2, "Head"), (3, "Cache")] {
            let name = Some(builder.intern_text(name));
            builder.add_root_record(section, RootRecord { name, ..RootRecord::new(id, RootKind::Static, id) });
        }
        let (graph, _) = builder.resolve(ResolveOptions::default());
        let merged = merge_root_paths(
            &graph,
            |_| true,
            |_| false,
            MergeOptions::default(),
            |node| graph.shallow_bytes(node),
            None,
        );
        let row = |row: &MergedPathNode| {
            (row.root.as_ref().and_then(|root| graph.root_name(root)).map(str::to_string), row.objects)
        };
        let rows: Vec<_> = merged.rows.iter().map(row).collect();
        assert_eq!(rows, [(Some("Cache".to_string()), 2), (Some("Head".to_string()), 1)]);
    }
}
