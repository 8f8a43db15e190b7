//! Lists of objects for those who look at a few rows of millions: ids in, ids out, and the row of one object at a time.
//! The lists are those of `dominators`, `list`, `show` and `breakdown`, in the order of these commands. For the page: the
//! objects that retain most, and the path to each with the steps that all paths share.

use std::collections::{HashMap, HashSet};

pub use crate::analysis::dominators::DominatorNode;
use crate::analysis::dominators::{DominatorChildren, Dominators};
use crate::analysis::retained::RetainedSizes;
use crate::analysis::root_paths::{RootPaths, RootsByNode};
use crate::analysis::shortest_parents::ShortestParents;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::figure::{DOMINATED_OBJECTS, SHALLOW};
use crate::answers::reference_names::ReferenceNames;
use crate::answers::rows::{dominators_above, sort_first};
use crate::answers::values::ValueReader;
use crate::answers::{AnswerError, Figure, ObjectId, ObjectRow, PathRow, ScopeOptions};
use crate::dump::{AnswerNeed, OpenDump};
use crate::graph::{HeapGraph, NodeId, Reference};
use crate::sort;

/// The sizes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectSizes {
    /// Bytes of the object itself.
    pub shallow_bytes: u64,
    /// Bytes and objects that would be freed with it; `None` when no strong root reaches it, or nothing is known of it.
    pub retained_bytes_and_objects: Option<(u64, u64)>,
}

/// Objects of one type that are directly below one place of the dominator tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergedObjects {
    /// The name of their type.
    pub type_name: String,
    /// The object, if there is only one.
    pub only_object: Option<NodeId>,
    /// Number of them.
    pub member_count: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
    /// Bytes that would be freed with them.
    pub retained_bytes: u64,
    /// Objects that would be freed with them, themselves included.
    pub dominated_objects: u64,
}

/// A dump of objects with its dominator tree, to be looked at row by row.
#[derive(Debug, Clone, Copy)]
pub struct HeapBrowser<'d> {
    dump: &'d OpenDump,
    graph: &'d HeapGraph,
    dominator_tree: Option<(&'d Dominators, &'d RetainedSizes)>,
    values: Option<ValueReader<'d>>,
}

impl<'d> HeapBrowser<'d> {
    /// Looks at a dump. Where there are references, the dominator tree.
    ///
    /// # Errors
    /// If the dump holds no objects, or there is not the memory.
    pub fn of(dump: &'d OpenDump) -> Result<Self, AnswerError> {
        let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
        Ok(HeapBrowser { dump, graph, dominator_tree: dump.dominators_unless_cut()?, values: ValueReader::of(dump) })
    }

    fn require_dominator_tree(&self) -> Result<(&'d Dominators, &'d RetainedSizes), AnswerError> {
        self.dominator_tree.ok_or(AnswerError::NoReferences)
    }

    /// Bytes that strong roots reach. O(1).
    pub fn reachable_bytes(&self) -> u64 {
        self.dominator_tree.map_or(0, |(_, retained)| retained.bytes_at(DominatorNode::ROOT))
    }

    /// Objects that an object directly dominates, or that nothing single dominates. O(objects); with an index O(rows).
    ///
    /// # Errors
    /// If the dump has no references, or no strong root reaches the object.
    pub fn dominated_by(&self, object: Option<NodeId>) -> Result<Vec<NodeId>, AnswerError> {
        let (dominators, _) = self.require_dominator_tree()?;
        let from = match object {
            None => DominatorNode::ROOT,
            Some(node) => {
                dominators.number_of(node).ok_or_else(|| AnswerError::Unreachable(self.graph.display_id(node)))?
            }
        };
        Ok(dominators.children_of(from).into_iter().map(|number| dominators.node_at(number)).collect())
    }

    /// Objects, merged by the names of their types: largest retained bytes first, then by name. O(objects).
    pub fn merged_by_type(&self, objects: &[NodeId]) -> Vec<MergedObjects> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut merged: Vec<MergedObjects> = Vec::new();
        for &node in objects {
            let type_name = self.graph.type_name(self.graph.type_of(node));
            let place = *places.entry(type_name).or_insert_with(|| {
                let (type_name, only) = (type_name.to_string(), Some(node));
                merged.push(MergedObjects { type_name, only_object: only, ..MergedObjects::default() });
                merged.len() - 1
            });
            let ObjectSizes { shallow_bytes, retained_bytes_and_objects: retained } = self.sizes(node);
            let (retained_bytes, objects) = retained.unwrap_or_default();
            let row = &mut merged[place];
            row.member_count += 1;
            row.only_object = row.only_object.filter(|_| row.member_count == 1);
            row.shallow_bytes = row.shallow_bytes.saturating_add(shallow_bytes);
            row.retained_bytes = row.retained_bytes.saturating_add(retained_bytes);
            row.dominated_objects += objects;
        }
        sort::rows_by(&mut merged, &|a, b| {
            b.retained_bytes.cmp(&a.retained_bytes).then_with(|| a.type_name.cmp(&b.type_name))
        });
        merged
    }

    /// The objects that a question is about, by section and id. O(objects).
    ///
    /// # Errors
    /// As [`ScopeOptions::resolve`].
    pub fn objects_in_scope(&self, scope: &ScopeOptions) -> Result<Vec<NodeId>, AnswerError> {
        let mut nodes: Vec<NodeId> = scope.resolve(self.dump)?.nodes().collect();
        nodes.shrink_to_fit();
        Ok(nodes)
    }

    /// Places in a list of objects in order, largest first and ties by section and id, unreachable objects last; the first
    /// `first` of them at least. By retained bytes, shallow bytes or dominated objects. O(places), and a sort of those.
    pub fn sorted_places(
        &self,
        objects: &[NodeId],
        mut places: Vec<u32>,
        order: Figure,
        reverse: bool,
        first: usize,
    ) -> Vec<u32> {
        let retained = |node| self.sizes(node).retained_bytes_and_objects;
        let figure: &dyn Fn(NodeId) -> u64 = match order {
            SHALLOW => &|node| self.graph.shallow_bytes(node),
            DOMINATED_OBJECTS => &|node| retained(node).map_or(0, |(_, objects)| objects),
            _ => &|node| retained(node).map_or(0, |(bytes, _)| bytes.saturating_add(1)),
        };
        sort_places_by_figure(objects, &mut places, figure, reverse, first);
        places
    }

    /// The sizes of an object. O(1), for the first reached one O(objects).
    pub fn sizes(&self, node: NodeId) -> ObjectSizes {
        let retained = self.dominator_tree.and_then(|(dominators, retained)| {
            let number = dominators.number_of(node)?;
            Some((retained.bytes_at(number), u64::from(retained.objects_at(number))))
        });
        ObjectSizes { shallow_bytes: self.graph.shallow_bytes(node), retained_bytes_and_objects: retained }
    }

    /// The row of an object, without what it says. O(log objects).
    pub fn row(&self, node: NodeId) -> ObjectRow {
        ObjectRow::new(self.graph, node)
    }

    /// Places of the objects whose types match. O(types + objects).
    pub fn places_of_types(&self, objects: &[NodeId], pattern: &TypePattern) -> Vec<u32> {
        let types = TypePattern::types_matching_any(std::slice::from_ref(pattern), self.graph);
        let matching = objects.iter().zip(0u32..).filter(|(node, _)| types.contains(self.graph.type_of(**node)));
        matching.map(|(_, place)| place).collect()
    }

    /// Values of objects in words, where the dump has them. Reads the dump.
    pub fn value_texts(&self, objects: &[NodeId]) -> Vec<Option<String>> {
        let Some(values) = &self.values else { return vec![None; objects.len()] };
        values.values_in_words(objects)
    }

    /// Returns true if objects say something of themselves.
    pub fn has_values(&self) -> bool {
        self.values.is_some()
    }

    /// References of an object, in the order of the dump, weak ones too. O(references).
    pub fn references(&self, node: NodeId) -> Vec<Reference> {
        self.graph.references(node).collect()
    }

    /// Referrers of an object, by section and id, weak ones too. O(referrers), and O(references) for the first object.
    ///
    /// # Errors
    /// If there is not the memory to turn references round.
    pub fn referrers(&self, node: NodeId) -> Result<Vec<Reference>, AnswerError> {
        self.dump.check_referrers_memory()?;
        Ok(self.graph.referrers(node).collect())
    }

    /// Names of the first references of an object, and of those of its first referrers. Reads the dump.
    pub fn reference_and_referrer_names(
        &self,
        node: NodeId,
        first: usize,
    ) -> (Vec<Option<String>>, Vec<Option<String>>) {
        let Some(names) = ReferenceNames::of(self.dump) else { return Default::default() };
        let out = self.graph.references(node).len().min(first);
        (names.of_first(node, out), names.of_referrers(node, self.graph.referrers(node).take(first)))
    }

    /// Names of the references by which an object holds some of those that it dominates, `…` where it refers to one only by
    /// way of others; none where the dump names none. Reads the dump. O(references of the holder).
    pub fn reference_names_of_dominated(&self, holder: NodeId, objects: &[NodeId]) -> Vec<Option<String>> {
        let names = ReferenceNames::of(self.dump);
        names.map_or_else(|| vec![None; objects.len()], |names| names.of_dominated(holder, objects))
    }

    /// The objects above one in the dominator tree: every path to it leads through these. O(its depth).
    pub fn dominators_of(&self, node: NodeId) -> HashSet<NodeId> {
        let Some((dominators, number)) = self.dominator_tree.and_then(|(tree, _)| Some((tree, tree.number_of(node)?)))
        else {
            return HashSet::new();
        };
        dominators_above(dominators, number).map(|above| dominators.node_at(above)).collect()
    }

    /// A pattern that matches this type and no other. O(types).
    pub fn pattern_of(&self, type_name: &str) -> TypePattern {
        TypePattern::for_exact_name(type_name, self.graph)
    }
}
/// Puts places in a list of objects in order, the first `first` of them at least: those with the largest figure first, of
/// equal ones the first object. 8 bytes a place beside them, where figures are very large or objects in no order 16.
fn sort_places_by_figure(
    objects: &[NodeId],
    places: &mut [u32],
    figure: impl Fn(NodeId) -> u64,
    reverse: bool,
    first: usize,
) {
    let place_bits = u64::BITS - (objects.len() as u64).leading_zeros();
    let largest = u64::MAX.checked_shr(place_bits).unwrap_or(0);
    // A figure, turned so that the largest is the least, and a place in one word.
    let mut words: Vec<u64> = Vec::new();
    if objects.is_sorted() {
        words.reserve_exact(places.len());
        words.extend(places.iter().map_while(|&place| {
            let rest = largest.checked_sub(figure(objects[place as usize]))?;
            Some(rest << place_bits | u64::from(place))
        }));
    }
    if words.len() == places.len() {
        sort_first(&mut words, first, |a, b| if reverse { b.cmp(a) } else { a.cmp(b) });
        let mask = !(u64::MAX << place_bits);
        places.iter_mut().zip(words).for_each(|(place, word)| *place = (word & mask) as u32);
        return;
    }
    drop(words);
    let keyed = |&place: &u32| (figure(objects[place as usize]), objects[place as usize], place);
    let mut keyed: Vec<(u64, NodeId, u32)> = places.iter().map(keyed).collect();
    sort_first(&mut keyed, first, |a, b| {
        let ordering = b.0.cmp(&a.0).then(a.1.cmp(&b.1));
        if reverse { ordering.reverse() } else { ordering }
    });
    places.iter_mut().zip(keyed).for_each(|(place, (.., own))| *place = own);
}

/// The dominator tree from the top. An object is a number that holds for this answer alone.
pub struct DominatorTreeView<'d> {
    graph: &'d HeapGraph,
    dominators: &'d Dominators,
    retained: &'d RetainedSizes,
    children: DominatorChildren<'d>,
    top_objects: Vec<DominatorNode>,
    values: Option<ValueReader<'d>>,
    names: Option<ReferenceNames<'d>>,
}

/// The dominator tree of a section, or of all. O(objects), and the dominator tree.
///
/// # Errors
/// If the dump holds no objects, has no such section, or takes more memory than it may.
pub fn dominator_tree_view<'d>(
    dump: &'d OpenDump,
    section: Option<&str>,
) -> Result<DominatorTreeView<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let scope = ScopeOptions::of_section(section).resolve(dump)?;
    let (dominators, retained) = dump.dominators()?;
    dump.check_answer_memory(AnswerNeed::DominatorDescent, 0)?;
    let top_objects = scope.top_level(dominators);
    let (children, values, names) = (dominators.children(), ValueReader::of(dump), ReferenceNames::of(dump));
    Ok(DominatorTreeView { graph, dominators, retained, children, top_objects, values, names })
}

impl DominatorTreeView<'_> {
    /// Objects at the top.
    pub fn top_objects(&self) -> &[DominatorNode] {
        &self.top_objects
    }

    /// Objects that an object dominates.
    pub fn children(&self, object: DominatorNode) -> Vec<DominatorNode> {
        self.children.of(object).collect()
    }

    /// The objects of a run from this one on: each the only object of its type that the one before dominates, and of the
    /// same type; a linked list is one. At most `limit` of them. O(objects that they dominate directly).
    pub fn same_type_run(&self, object: DominatorNode, limit: usize) -> Vec<DominatorNode> {
        let mut run = vec![object];
        while run.len() < limit {
            match self.next_of_run(run[run.len() - 1]) {
                Some(next) => run.push(next),
                None => break,
            }
        }
        run
    }

    /// The one object of the same type among those that an object dominates.
    pub fn next_of_run(&self, object: DominatorNode) -> Option<DominatorNode> {
        let type_id = self.graph.type_of(self.node(object));
        let mut alike = self.children.of(object).filter(|&child| self.graph.type_of(self.node(child)) == type_id);
        let next = alike.next()?;
        alike.next().is_none().then_some(next)
    }

    /// Bytes of the object itself.
    pub fn shallow_bytes(&self, object: DominatorNode) -> u64 {
        self.graph.shallow_bytes(self.node(object))
    }

    /// Bytes that would be freed with it.
    pub fn retained_bytes(&self, object: DominatorNode) -> u64 {
        self.retained.bytes_at(object)
    }

    /// Objects that would be freed with it, itself included.
    pub fn dominated_objects(&self, object: DominatorNode) -> u64 {
        self.retained.objects_at(object).into()
    }

    /// Its place by section and id.
    pub fn id_rank(&self, object: DominatorNode) -> usize {
        self.node(object).index()
    }

    /// Its id, type and size.
    pub fn row(&self, object: DominatorNode) -> ObjectRow {
        ObjectRow::new(self.graph, self.node(object))
    }

    /// Values of some objects in words, where the dump has them; nothing of class objects, whose types say
    /// it. Reads the dump.
    pub fn value_texts(&self, objects: &[DominatorNode]) -> Vec<Option<String>> {
        let Some(values) = &self.values else { return vec![None; objects.len()] };
        let nodes: Vec<NodeId> = objects.iter().map(|&object| self.node(object)).collect();
        let is_class = |node: NodeId| self.graph.types().type_of_class_object(node).is_some();
        let said = values.values_in_words(&nodes).into_iter().zip(nodes);
        said.map(|(said, node)| said.filter(|_| !is_class(node))).collect()
    }

    /// Names of the references by which objects are held by those that dominate them: `…` where these refer to them only by
    /// way of others; `None` at the top, and where the dump names none. Reads the dump. O(references of the holders).
    pub fn reference_names_from_dominators(&self, objects: &[DominatorNode]) -> Vec<Option<String>> {
        let mut found = vec![None; objects.len()];
        let Some(names) = &self.names else { return found };
        let mut by_holder: HashMap<DominatorNode, Vec<usize>> = HashMap::new();
        for (at, &object) in objects.iter().enumerate() {
            by_holder.entry(self.dominators.immediate_dominator_of(object)).or_default().push(at);
        }
        by_holder.remove(&DominatorNode::ROOT);
        for (holder, held) in by_holder {
            let nodes: Vec<NodeId> = held.iter().map(|&at| self.node(objects[at])).collect();
            let own = names.of_dominated(self.node(holder), &nodes);
            held.into_iter().zip(own).for_each(|(at, name)| found[at] = name);
        }
        found
    }

    /// The object of an id; `None` when there is none or no strong root reaches it. O(log objects).
    pub fn find_object(&self, id: &str) -> Option<DominatorNode> {
        let node = id.parse::<ObjectId>().ok()?.find(self.graph, &ScopeOptions::default()).ok()?;
        self.dominators.number_of(node)
    }

    /// Returns true if the one object is above the other in the dominator tree. O(depth of the other).
    pub fn is_above(&self, one: &str, other: &str) -> bool {
        let (Some(one), Some(other)) = (self.find_object(one), self.find_object(other)) else { return false };
        dominators_above(self.dominators, other).any(|above| above == one)
    }

    /// The type of the object at the top of the dominator tree above an object. O(depth of the object).
    pub fn type_of_topmost_dominator(&self, id: &str) -> Option<&str> {
        let object = self.find_object(id)?;
        let top = dominators_above(self.dominators, object).last().unwrap_or(object);
        Some(self.graph.type_name(self.graph.type_of(self.node(top))))
    }

    fn node(&self, object: DominatorNode) -> NodeId {
        self.dominators.node_at(object)
    }

    /// Objects above an object in the dominator tree: every path to it leads through these.
    fn dominators_of(&self, object: DominatorNode) -> HashSet<NodeId> {
        dominators_above(self.dominators, object).map(|above| self.node(above)).collect()
    }
}

/// Shortest paths from roots to any object.
pub struct RootPathFinder<'d> {
    graph: &'d HeapGraph,
    roots: RootsByNode<'d>,
    parents: &'d ShortestParents,
    names: Option<ReferenceNames<'d>>,
}

/// Finds a shortest path to every object. O(objects + references), 4 bytes per object.
///
/// # Errors
/// If the dump holds no objects.
pub fn root_path_finder(dump: &OpenDump) -> Result<RootPathFinder<'_>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let parents = dump.shortest_parents();
    Ok(RootPathFinder { graph, roots: RootsByNode::new(graph), parents, names: ReferenceNames::of(dump) })
}

/// The path to an object.
pub struct FoundRootPath<'r> {
    graph: &'r HeapGraph,
    roots: &'r RootsByNode<'r>,
    paths: RootPaths<'r>,
    names: Option<ReferenceNames<'r>>,
    dominators_of_target: HashSet<NodeId>,
    target: NodeId,
}

impl RootPathFinder<'_> {
    /// Path to an object; `None` when no strong root reaches it. O(length of the path and depth of the object).
    pub fn path_to(
        &self,
        dominator_tree_view: &DominatorTreeView<'_>,
        object: DominatorNode,
    ) -> Option<FoundRootPath<'_>> {
        let target = dominator_tree_view.node(object);
        let paths = self.parents.path_to(self.graph, &self.roots, target)?;
        let dominators = dominator_tree_view.dominators_of(object);
        Some(FoundRootPath {
            graph: self.graph,
            roots: &self.roots,
            paths,
            names: self.names,
            dominators_of_target: dominators,
            target,
        })
    }
}

impl FoundRootPath<'_> {
    /// The path, from the rooted object to the object itself.
    pub fn path(&self) -> Option<PathRow<'_>> {
        Some(PathRow::new(self.graph, self.roots, self.paths.get(0)?, self.names))
    }

    /// By step of the path: do all paths to the object lead through it?
    pub fn is_on_all_paths_by_step(&self) -> Vec<bool> {
        let nodes = self.paths.get(0).into_iter().flat_map(|path| path.nodes());
        nodes.map(|node| node == self.target || self.dominators_of_target.contains(&node)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As a plain sort has it, whatever the figures are and the objects' order is.
        #[test]
        fn places_are_put_in_order(
            figures in prop::collection::vec(prop_oneof![0u64..5, any::<u64>(), (1u64 << 56)..(1 << 60)], 1..200),
            keeps_small in any::<bool>(),
            is_turned in any::<bool>(),
            reverse in any::<bool>(),
            first in 0usize..220,
        ) {
            let figures: Vec<u64> = figures.iter().map(|figure| if keeps_small { figure % 7 } else { *figure }).collect();
            let mut objects: Vec<NodeId> = (0..figures.len()).map(NodeId::new).collect();
            if is_turned {
                objects.reverse();
            }
            let figure = |node: NodeId| figures[node.index()];
            let wanted: Vec<u32> = (0..objects.len() as u32).filter(|place| place % 3 > 0).collect();
            let mut expected = wanted.clone();
            expected.sort_by_key(|&place| (std::cmp::Reverse(figure(objects[place as usize])), objects[place as usize]));
            if reverse {
                expected.reverse();
            }
            let mut places = wanted;
            sort_places_by_figure(&objects, &mut places, figure, reverse, first);
            let first = first.min(places.len());
            prop_assert_eq!(&places[..first], &expected[..first]);
            places.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(places, expected);
        }
    }
}
