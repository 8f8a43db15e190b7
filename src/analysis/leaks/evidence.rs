//! The evidence beside a cause: the object or group that the bytes hang on, where they pile up, in which shape, and what is
//! inside. From an object the walk goes down its dominator tree while one child has most of the bytes.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analysis::dominators::{DominatorChildren, DominatorNode, Dominators};
use crate::analysis::retained::RetainedSizes;
use crate::graph::{HeapGraph, NodeId, TypeId, TypeSet};
use crate::sort;

/// The walk stops where less than this share of an object's retained bytes is in one child.
const MIN_MAIN_CHILD_SHARE: f64 = 0.7;
/// Repeats of a type on the way down that make it a linked list.
const MIN_LIST_LENGTH: usize = 10;
/// Types between two nodes of a linked list, at most.
const MAX_LIST_PERIOD: usize = 3;
/// From where memory piles up to the collection, and to the object that has it.
const MAX_OWNER_STEPS: usize = 2;
/// Children that make an accumulation point a collection.
const MIN_COLLECTION_SIZE: usize = 5;

/// Shape of an accumulation point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccumulationShape {
    /// A chain of that many objects of a type, each held by the one before.
    LinkedList(u64, TypeId),
    /// An array or other object that directly holds that many objects of this type, with most of its bytes in them.
    Collection(u64, TypeId),
    /// One object with the bytes in itself.
    SingleObject,
    /// None of these.
    OtherStructure,
}

/// A place at which memory piles up.
#[derive(Debug, Clone, Copy)]
pub struct AccumulationPoint {
    /// The object.
    pub node: NodeId,
    /// Bytes that it retains.
    pub retained_bytes: u64,
    /// Its shape.
    pub shape: AccumulationShape,
    /// The application's own type that most members of a collection of library objects keep, and how many do.
    pub kept_type: Option<(TypeId, u64)>,
}

/// One type inside a suspect.
#[derive(Debug, Clone, Copy)]
pub struct HeldType {
    /// The type.
    pub type_id: TypeId,
    /// Objects of it that would be freed with the suspect.
    pub objects: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
}

/// All types inside a suspect but its largest ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherHeldTypes {
    /// Number of types.
    pub type_count: u64,
    /// Their objects.
    pub objects: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
}

/// The first `limit` of `held_types`, and the rest together, so that sums stay what the suspect retains.
pub fn split_largest_types(held_types: &[HeldType], limit: usize) -> (&[HeldType], Option<OtherHeldTypes>) {
    let (largest, rest) = held_types.split_at(limit.min(held_types.len()));
    let mut other = OtherHeldTypes::default();
    for held in rest {
        other.type_count += 1;
        other.objects += held.objects;
        other.shallow_bytes = other.shallow_bytes.saturating_add(held.shallow_bytes);
    }
    (largest, (!rest.is_empty()).then_some(other))
}

/// Subject of a suspicion.
#[derive(Debug, Clone)]
pub enum SuspectSubject {
    /// One object.
    Object(NodeId),
    /// Many objects of one type that no single one holds together; the largest first.
    Group(TypeId, Vec<NodeId>),
}

/// A suspect with the evidence.
#[derive(Debug, Clone)]
pub struct LeakSuspect {
    /// The subject.
    pub subject: SuspectSubject,
    /// Bytes that would be freed with it.
    pub retained_bytes: u64,
    /// Objects that would be freed.
    pub retained_objects: u64,
    /// Place at which it piles up; for a group below its largest member.
    pub accumulation: AccumulationPoint,
    /// The nearest object above a suspect of a library's type whose type is the application's own.
    pub application_owner: Option<NodeId>,
    /// Types inside, most bytes first.
    pub held_types: Vec<HeldType>,
}

/// Makes suspects of objects of a graph, by its dominator tree and by which types are libraries'.
#[derive(Clone, Copy)]
pub struct SuspectBuilder<'a> {
    /// The heap.
    pub graph: &'a HeapGraph,
    /// Its dominator tree.
    pub dominators: &'a Dominators,
    /// Retained sizes.
    pub retained: &'a RetainedSizes,
    /// The tree from the top down.
    pub children: &'a DominatorChildren<'a>,
    /// By type whether it is a library's.
    pub library_types: &'a TypeSet,
}

/// The way down from an object: numbers from the object itself on.
struct DominatorDescent {
    path: Vec<DominatorNode>,
}

impl LeakSuspect {
    /// The object, or the largest of the group.
    pub fn largest_object(&self) -> NodeId {
        match &self.subject {
            SuspectSubject::Object(node) => *node,
            // A group has members, or it would not be one.
            SuspectSubject::Group(_, members) => members[0],
        }
    }

    /// Objects that are suspected: 1, or those of the group.
    pub fn suspected_object_count(&self) -> usize {
        match &self.subject {
            SuspectSubject::Object(_) => 1,
            SuspectSubject::Group(_, members) => members.len(),
        }
    }
}

impl SuspectBuilder<'_> {
    /// The suspect that objects are together of which none dominates another, the largest first: the one object that
    /// dominates them, where it retains little else, else the group. `common` is the nearest that dominates them all.
    pub fn build_suspect(&self, members: &[DominatorNode], common: Option<DominatorNode>) -> Option<LeakSuspect> {
        let &largest = members.first()?;
        let retained_bytes = members.iter().fold(0u64, |sum, &number| sum.saturating_add(self.retained_bytes(number)));
        let only = if members.len() == 1 { Some(largest) } else { common };
        let is_all =
            |only: DominatorNode| retained_bytes as f64 >= MIN_MAIN_CHILD_SHARE * self.retained_bytes(only) as f64;
        if let Some(only) = only.filter(|&only| is_all(only)) {
            let (number, owner) = self.application_owner(self.collection_owner(only, is_all));
            return Some(LeakSuspect {
                subject: SuspectSubject::Object(self.node(number)),
                retained_bytes: self.retained_bytes(number),
                retained_objects: self.retained.objects_at(number).into(),
                accumulation: self.accumulation_point(&self.descend(number)),
                application_owner: owner,
                held_types: self.held_types(&[number]),
            });
        }
        Some(LeakSuspect {
            retained_bytes,
            retained_objects: members.iter().map(|&number| u64::from(self.retained.objects_at(number))).sum(),
            accumulation: self.accumulation_point(&self.descend(largest)),
            application_owner: None,
            held_types: self.held_types(members),
            // What else hangs beside them, as a text that two share, is no subject.
            subject: SuspectSubject::Group(
                self.type_of(largest),
                members
                    .iter()
                    .filter(|&&number| self.type_of(number) == self.type_of(largest))
                    .map(|&number| self.node(number))
                    .collect(),
            ),
        })
    }

    /// From an array or a node to the collection, and from that to the object with it, where these hold little else.
    fn collection_owner(&self, mut number: DominatorNode, is_all: impl Fn(DominatorNode) -> bool) -> DominatorNode {
        for _ in 0..MAX_OWNER_STEPS {
            let above = self.dominators.immediate_dominator_of(number);
            if above == DominatorNode::ROOT
                || self.graph.types().type_of_class_object(self.node(above)).is_some()
                || !is_all(above)
            {
                break;
            }
            number = above;
        }
        number
    }

    fn retained_bytes(&self, number: DominatorNode) -> u64 {
        self.retained.bytes_at(number)
    }

    fn node(&self, number: DominatorNode) -> NodeId {
        self.dominators.node_at(number)
    }

    fn type_of(&self, number: DominatorNode) -> TypeId {
        self.graph.shown_type_of(self.node(number))
    }

    fn main_child(&self, number: DominatorNode) -> Option<DominatorNode> {
        let below = self.children.of(number);
        below.max_by(|&a, &b| {
            self.retained_bytes(a).cmp(&self.retained_bytes(b)).then_with(|| self.node(b).cmp(&self.node(a)))
        })
    }

    /// Down while one child has most of the bytes, however deep.
    fn descend(&self, from: DominatorNode) -> DominatorDescent {
        let mut path = vec![from];
        let mut at = from;
        while let Some(child) = self.main_child(at) {
            if (self.retained_bytes(child) as f64) < MIN_MAIN_CHILD_SHARE * self.retained_bytes(at) as f64 {
                break;
            }
            path.push(child);
            at = child;
        }
        DominatorDescent { path }
    }

    /// For an object of a library's type the nearest one above of the application's own: to be reported in its place
    /// when it holds little else, else only to be named.
    fn application_owner(&self, number: DominatorNode) -> (DominatorNode, Option<NodeId>) {
        if !self.library_types.contains(self.type_of(number)) {
            return (number, None);
        }
        let mut above = self.dominators.immediate_dominator_of(number);
        while above != DominatorNode::ROOT && self.library_types.contains(self.type_of(above)) {
            above = self.dominators.immediate_dominator_of(above);
        }
        match above {
            DominatorNode::ROOT => (number, None),
            _ if self.retained_bytes(number) as f64 >= MIN_MAIN_CHILD_SHARE * self.retained_bytes(above) as f64 => {
                (above, None)
            }
            _ => (number, Some(self.node(above))),
        }
    }

    fn accumulation_point(&self, descent: &DominatorDescent) -> AccumulationPoint {
        if let Some((at, length, type_id)) = self.find_linked_list(descent) {
            let number = descent.path[at];
            return AccumulationPoint {
                node: self.node(number),
                retained_bytes: self.retained_bytes(number),
                shape: AccumulationShape::LinkedList(length, type_id),
                kept_type: None,
            };
        }
        let last = descent.path[descent.path.len() - 1];
        let shape = self.accumulation_shape(last);
        let kept_type = match shape {
            AccumulationShape::Collection(_, type_id) if self.library_types.contains(type_id) => {
                self.type_kept_by_members(last, type_id)
            }
            _ => None,
        };
        AccumulationPoint { node: self.node(last), retained_bytes: self.retained_bytes(last), shape, kept_type }
    }

    /// Type that members of a library's type are there for: down from each by its main child to the first type that is the
    /// application's own. The most frequent, if at least half of the members agree.
    fn type_kept_by_members(&self, collection: DominatorNode, member_type: TypeId) -> Option<(TypeId, u64)> {
        const MAX_MAIN_CHILD_STEPS: usize = 5;
        let mut found: BTreeMap<TypeId, u64> = BTreeMap::new();
        let mut members = 0;
        for member in self.children.of(collection).filter(|&child| self.type_of(child) == member_type) {
            members += 1;
            let mut at = Some(member);
            for _ in 0..MAX_MAIN_CHILD_STEPS {
                at = at.and_then(|number| self.main_child(number));
                match at.map(|number| self.type_of(number)) {
                    Some(type_id) if !self.library_types.contains(type_id) => {
                        *found.entry(type_id).or_default() += 1;
                        break;
                    }
                    _ => {}
                }
            }
        }
        let most = found.into_iter().max_by_key(|&(type_id, count)| (count, std::cmp::Reverse(type_id)))?;
        (2 * most.1 >= members).then_some(most)
    }

    /// The first type on the way that repeats often enough: where it begins, how many there are.
    fn find_linked_list(&self, descent: &DominatorDescent) -> Option<(usize, u64, TypeId)> {
        let types: Vec<TypeId> = descent.path.iter().map(|&number| self.type_of(number)).collect();
        let mut start = 0;
        while start < types.len() {
            // How often this type comes again, each time within the period.
            let (mut last, mut length, mut at) = (start, 1, start + 1);
            while at < types.len() && at - last <= MAX_LIST_PERIOD {
                if types[at] == types[start] {
                    length += 1;
                    last = at;
                }
                at += 1;
            }
            if length >= MIN_LIST_LENGTH {
                let rest = self.count_rest_of_list(descent.path[last], types[start]);
                return Some((start, length as u64 + rest, types[start]));
            }
            start += 1;
        }
        None
    }

    /// Nodes of the list after the one at which the way down ended: near its end a list no longer has most of the bytes.
    fn count_rest_of_list(&self, from: DominatorNode, type_id: TypeId) -> u64 {
        let mut length = 0;
        let mut at = from;
        loop {
            let below = self.children.of(at);
            let next = below.clone().find(|&child| self.type_of(child) == type_id).or_else(|| {
                let mut further = below.flat_map(|child| self.children.of(child));
                further.find(|&child| self.type_of(child) == type_id)
            });
            match next {
                Some(next) => at = next,
                None => return length,
            }
            length += 1;
        }
    }

    fn accumulation_shape(&self, number: DominatorNode) -> AccumulationShape {
        let below = self.children.of(number);
        if self.graph.shallow_bytes(self.node(number)) as f64
            >= MIN_MAIN_CHILD_SHARE * self.retained_bytes(number) as f64
        {
            return AccumulationShape::SingleObject;
        }
        let mut by_type: FxHashMap<TypeId, (u64, u64)> = FxHashMap::default();
        for child in below {
            let group = by_type.entry(self.type_of(child)).or_default();
            group.0 = group.0.saturating_add(self.retained_bytes(child));
            group.1 += 1;
        }
        match by_type.iter().max_by_key(|(type_id, group)| (group.0, std::cmp::Reverse(**type_id))) {
            Some((&type_id, &(bytes, count)))
                if count as usize >= MIN_COLLECTION_SIZE && bytes >= self.retained_bytes(number) / 2 =>
            {
                AccumulationShape::Collection(count, type_id)
            }
            _ => AccumulationShape::OtherStructure,
        }
    }

    /// The histogram of what these objects retain.
    fn held_types(&self, numbers: &[DominatorNode]) -> Vec<HeldType> {
        let objects: u64 = numbers.iter().map(|&number| u64::from(self.retained.objects_at(number))).sum();
        let types = self.graph.type_count();
        // Of many objects a table of all types.
        let mut table = vec![(0u64, 0u64); if objects >= types as u64 { types } else { 0 }];
        let mut by_type: FxHashMap<TypeId, (u64, u64)> = FxHashMap::default();
        let mut add = |number: DominatorNode| {
            let node = self.dominators.node_at(number);
            let type_id = self.graph.shown_type_of(node);
            let held = match table.get_mut(type_id.index()) {
                Some(held) => held,
                None => by_type.entry(type_id).or_default(),
            };
            held.0 += 1;
            held.1 = held.1.saturating_add(self.graph.shallow_bytes(node));
        };
        for &number in numbers {
            add(number);
            self.children.for_each_below(number, &mut add);
        }
        let of_table = table.into_iter().enumerate().map(|(at, held)| (TypeId::new(at), held));
        let mut held_types: Vec<HeldType> = of_table
            .filter(|(_, held)| held.0 > 0)
            .chain(by_type)
            .map(|(type_id, (objects, shallow_bytes))| HeldType { type_id, objects, shallow_bytes })
            .collect();
        sort::rows_by(&mut held_types, &|a, b| {
            let name = |held: &HeldType| self.graph.type_name(held.type_id);
            b.shallow_bytes.cmp(&a.shallow_bytes).then_with(|| (name(a), a.type_id).cmp(&(name(b), b.type_id)))
        });
        held_types
    }
}
