//! Map of a heap: the dominator tree merged by type, chains of one type folded. Every place can be asked for what is
//! below it, so that a page or a browser shows as much of it as it has room for.

use super::rows::dominators_above;
use super::{AnswerError, ObjectId, ScopeOptions};
use crate::analysis::dominators::Dominators;
use crate::analysis::retained::RetainedSizes;
use crate::analysis::type_tree::TypeTree;
use crate::dump::{AnswerNeed, OpenDump};
use crate::graph::{HeapGraph, TypeId};
use crate::sort;

/// The merged tree. A place is all objects of one type below one place.
pub struct TypeTreemap<'d> {
    graph: &'d HeapGraph,
    dominators: &'d Dominators,
    retained: &'d RetainedSizes,
    tree: TypeTree,
    /// By place and one more: where its children begin in `children`.
    child_starts: Vec<u32>,
    children: Vec<u32>,
    top_places: Vec<u32>,
    subtree_objects: Vec<u64>,
    /// By type: its place by name.
    name_ranks: Vec<u32>,
}

/// The dominator tree merged by type; of a section, with its objects at the top. O(objects), and the dominator tree.
///
/// # Errors
/// If the dump holds no objects, has no such section, or takes more memory than it may.
pub fn type_treemap<'d>(dump: &'d OpenDump, section: Option<&str>) -> Result<TypeTreemap<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let scope = ScopeOptions::of_section(section).resolve(dump)?;
    let (dominators, retained) = dump.dominators()?;
    dump.check_answer_memory(AnswerNeed::DominatorDescent, 0)?;
    let top_places = scope.top_level(dominators).into_iter();
    let tree = TypeTree::build(graph, dominators, &dominators.children(), top_places, usize::MAX, None);
    Ok(TypeTreemap::new(graph, dominators, retained, tree))
}

impl<'d> TypeTreemap<'d> {
    fn new(graph: &'d HeapGraph, dominators: &'d Dominators, retained: &'d RetainedSizes, tree: TypeTree) -> Self {
        let count = tree.places.len();
        let mut child_starts = vec![0u32; count + 1];
        let mut top_places = Vec::new();
        for (place, own) in tree.places.iter().enumerate() {
            match own.parent {
                Some(above) => child_starts[above + 1] += 1,
                None => top_places.push(place as u32),
            }
        }
        for place in 0..count {
            child_starts[place + 1] += child_starts[place];
        }
        let mut next = child_starts.clone();
        let mut children = vec![0u32; count - top_places.len()];
        let mut objects: Vec<u64> = tree.places.iter().map(|place| place.objects).collect();
        for (place, own) in tree.places.iter().enumerate().rev() {
            let Some(above) = own.parent else { continue };
            objects[above] += objects[place];
            children[next[above] as usize] = place as u32;
            next[above] += 1;
        }
        let mut by_name: Vec<usize> = (0..graph.type_count()).collect();
        sort::rows_by_key(&mut by_name, |&index| graph.type_name(TypeId::new(index)));
        let mut name_ranks = vec![0; by_name.len()];
        by_name.iter().zip(0..).for_each(|(&index, rank)| name_ranks[index] = rank);
        TypeTreemap {
            graph,
            dominators,
            retained,
            tree,
            child_starts,
            children,
            top_places,
            subtree_objects: objects,
            name_ranks,
        }
    }

    /// Places at the top.
    pub fn top_places(&self) -> &[u32] {
        &self.top_places
    }

    /// Places below a place.
    pub fn children(&self, place: u32) -> &[u32] {
        &self.children[self.child_starts[place as usize] as usize..self.child_starts[place as usize + 1] as usize]
    }

    /// The type of its objects.
    pub fn type_name(&self, place: u32) -> &'d str {
        self.graph.type_name(self.tree.places[place as usize].type_id)
    }

    /// The place of its type's name among all.
    pub fn name_rank(&self, place: u32) -> usize {
        self.name_ranks[self.tree.places[place as usize].type_id.index()] as usize
    }

    /// Bytes that would be freed with its objects, those below included.
    pub fn retained_bytes(&self, place: u32) -> u64 {
        self.tree.places[place as usize].retained_bytes
    }

    /// Objects at the place and below it.
    pub fn subtree_objects(&self, place: u32) -> u64 {
        self.subtree_objects[place as usize]
    }

    /// The id of the object that a place is, with all that the object retains; `None` for a place of several objects, and
    /// for one of which a part was folded into the place above.
    pub fn object_id(&self, place: u32) -> Option<String> {
        let place = &self.tree.places[place as usize];
        let is_whole = place.objects == 1 && self.retained.bytes_at(place.first_object) == place.retained_bytes;
        is_whole.then(|| self.graph.display_id(self.dominators.node_at(place.first_object)))
    }

    /// The place above; `None` at the top.
    pub fn parent(&self, place: u32) -> Option<u32> {
        self.tree.places[place as usize].parent.map(|above| above as u32)
    }

    /// The place of an object, by its id; `None` for one that is not in the map. O(its depth in the dominator tree).
    pub fn place_of_object(&self, id: &str) -> Option<u32> {
        let node = id.parse::<ObjectId>().ok()?.find(self.graph, &ScopeOptions::default()).ok()?;
        let number = self.dominators.number_of(node)?;
        let path = std::iter::once(number).chain(dominators_above(self.dominators, number));
        let types: Vec<TypeId> = path.map(|number| self.graph.shown_type_of(self.dominators.node_at(number))).collect();
        let mut place: Option<u32> = None;
        for type_id in types.into_iter().rev() {
            let below = place.map_or(self.top_places(), |place| self.children(place));
            let has_type = |at: &&u32| self.tree.places[**at as usize].type_id == type_id;
            place = match self.tree.ancestor_to_fold_into(place.map(|place| place as usize), type_id, usize::MAX) {
                Some(folded) => Some(folded as u32),
                None => Some(*below.iter().find(has_type)?),
            };
        }
        place
    }

    /// Objects of the longest chain that was folded into the place; 1 where none was.
    pub fn chain_length(&self, place: u32) -> u64 {
        self.tree.places[place as usize].chain_objects
    }
}
