//! Dumps whose references are numbers of objects, in the order of the dump, not ids: nothing has to be looked up.

use super::builder::{BuildError, GraphBuilder};
use super::id_map::{IdMap, IdRange};
use super::object_order::ObjectOrder;
use super::references::WeakReference;
use super::resolve_counts::ResolveCounts;
use super::resolve_references::Resolved;
use super::{HeapGraph, NodeId, SectionId, SectionIds, make_room};

/// Ids of objects by number: 4 bytes each while all fit.
#[derive(Debug, Clone)]
pub enum ObjectIds {
    /// All are below 2^32.
    Narrow(Vec<u32>),
    /// Any.
    Wide(Vec<u64>),
}

impl Default for ObjectIds {
    fn default() -> Self {
        ObjectIds::Narrow(Vec::new())
    }
}

impl ObjectIds {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            ObjectIds::Narrow(ids) => ids.len(),
            ObjectIds::Wide(ids) => ids.len(),
        }
    }

    /// None?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        match self {
            ObjectIds::Narrow(ids) => 4 * ids.len(),
            ObjectIds::Wide(ids) => 8 * ids.len(),
        }
    }

    /// The id of a number, which must be below `len`.
    #[inline]
    pub fn get(&self, number: usize) -> u64 {
        match self {
            ObjectIds::Narrow(ids) => ids[number].into(),
            ObjectIds::Wide(ids) => ids[number],
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Appends more.
    pub fn extend(&mut self, more: &[u64]) {
        if let ObjectIds::Narrow(ids) = self {
            if more.iter().all(|&id| id <= u64::from(u32::MAX)) {
                make_room(ids, more.len());
                return ids.extend(more.iter().map(|&id| id as u32));
            }
            *self = ObjectIds::Wide(ids.iter().map(|&id| id.into()).collect());
        }
        if let ObjectIds::Wide(ids) = self {
            make_room(ids, more.len());
            ids.extend_from_slice(more);
        }
    }

    /// Keeps those whose number `keep` is true for.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut number = 0;
        let mut is_kept = || {
            number += 1;
            keep(number - 1)
        };
        match self {
            ObjectIds::Narrow(ids) => ids.retain(|_| is_kept()),
            ObjectIds::Wide(ids) => ids.retain(|_| is_kept()),
        }
    }

    /// What a map of them needs to know, and whether each is greater than the one before.
    fn range(&self) -> Option<(IdRange, bool)> {
        let mut ids = self.iter();
        let first = ids.next()?;
        let (mut range, mut is_ascending, mut last) = (IdRange::of(first), true, first);
        for id in ids {
            range.add(id);
            is_ascending &= last < id;
            last = id;
        }
        Some((range, is_ascending))
    }

    /// Gives objects with the id of an object before them ids that are greater than all. How many, and the number of the
    /// first.
    pub fn make_unique(&mut self) -> (u64, usize) {
        let Some((range, is_ascending)) = self.range() else { return (0, 0) };
        if is_ascending || IdMap::build(range, self.len(), || self.iter()).len() == self.len() {
            return (0, 0);
        }
        let mut numbers: Vec<u32> = (0..self.len() as u32).collect();
        // Stable: of equal ids the first stays first.
        numbers.sort_by_key(|&number| self.get(number as usize));
        let pairs = numbers.windows(2);
        let repeated =
            pairs.filter(|pair| self.get(pair[0] as usize) == self.get(pair[1] as usize)).map(|pair| pair[1]);
        let mut repeated: Vec<u32> = repeated.collect();
        repeated.sort_unstable();
        let mut ids: Vec<u64> = self.iter().collect();
        for (&number, id) in repeated.iter().zip((0..=range.max.saturating_add(repeated.len() as u64)).rev()) {
            ids[number as usize] = id;
        }
        *self = ObjectIds::default();
        self.extend(&ids);
        (repeated.len() as u64, repeated.first().map_or(0, |&number| number as usize))
    }
}

/// A weak reference by numbers of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedWeak {
    /// What refers.
    pub source: u32,
    /// How many references of the same object come before, strong and weak.
    pub place: u32,
    /// What is referred to.
    pub target: u32,
}

/// All objects of a dump of one section. An object's number is its place in each column.
#[derive(Debug, Default)]
pub struct NumberedObjects {
    /// Each once.
    pub ids: ObjectIds,
    /// Slots of the builder.
    pub types: Vec<u32>,
    /// Shallow bytes; `u32::MAX` for those in `large`.
    pub shallow: Vec<u32>,
    /// (object, bytes) of those that do not fit, ascending.
    pub large: Vec<(u32, u64)>,
    /// Strong references of each.
    pub counts: Vec<u32>,
    /// Strong references of all, as numbers.
    pub references: Vec<u32>,
    /// Ascending by source and place.
    pub weak: Vec<NumberedWeak>,
    /// References that led nowhere and were left out.
    pub dangling: u64,
}

/// What of them is not with the builder's other objects.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    ids: ObjectIds,
    weak: Vec<NumberedWeak>,
    dangling: u64,
}

impl GraphBuilder {
    /// Takes all objects of a dump at once, in place of `append`. For dumps of one section.
    ///
    /// # Errors
    /// When there are more than can be numbered, or they take more memory than they may.
    pub fn append_numbered(&mut self, section: SectionId, objects: NumberedObjects) -> Result<(), BuildError> {
        if objects.ids.len() >= u32::MAX as usize {
            return Err(BuildError::TooManyObjects);
        }
        let NumberedObjects { ids, types, shallow, large, counts, references, weak, dangling } = objects;
        let build = &mut self.sections[section.index()];
        build.objects = ids.len();
        build.section.dangling_references = dangling;
        if let Some((range, is_ascending)) = ids.range() {
            (build.range, build.ascending) = (Some(range), is_ascending);
        }
        self.objects.types = types;
        self.objects.shallow = shallow;
        self.objects.large = large;
        self.objects.counts = counts;
        self.objects.reference_words = references;
        self.numbered = Some(Numbered { ids, weak, dangling });
        self.check_memory()
    }

    /// Bytes of what came numbered.
    pub(super) fn numbered_bytes(&self) -> usize {
        self.numbered.as_ref().map_or(0, |numbered| {
            numbered.ids.bytes() + numbered.weak.len() * (size_of::<NumberedWeak>() + size_of::<WeakReference>())
        })
    }

    /// Puts the graph together where objects came numbered. O(objects + references).
    pub(super) fn resolve_numbered(mut self, numbered: Numbered) -> (HeapGraph, ResolveCounts) {
        use rayon::prelude::*;
        let Numbered { ids, weak, dangling } = numbered;
        let mut problems = ResolveCounts::default();
        if dangling > 0 {
            problems.dangling_references.add(0);
            problems.dangling_references.count = dangling;
        }
        problems.size_overflows = self.find_size_overflows(std::iter::empty());
        let count = ids.len();
        let mut maps = Vec::new();
        let mut is_ascending = true;
        for section in &self.sections {
            let ids = match section.range {
                Some(range) => IdMap::build(range, count, || ids.iter()),
                None => IdMap::empty(),
            };
            is_ascending &= section.ascending;
            maps.push(SectionIds { first_node: 0, ids });
        }
        let mut words = std::mem::take(&mut self.objects.reference_words);
        let (order, node_of) = match maps.first() {
            Some(map) if !is_ascending => {
                let node = |number: usize| map.ids.rank(ids.get(number)).unwrap_or(0);
                let node_of: Vec<u32> = (0..count).into_par_iter().map(node).collect();
                let mut order = vec![0; count];
                node_of.iter().enumerate().for_each(|(number, &node)| order[node as usize] = number as u32);
                words.par_iter_mut().for_each(|word| *word = node_of[*word as usize]);
                (ObjectOrder::Listed(order), Some(node_of))
            }
            _ => (ObjectOrder::AsListed, None),
        };
        drop(ids);
        let node = |number: u32| NodeId(node_of.as_ref().map_or(number, |nodes| nodes[number as usize]));
        let weak = weak.into_iter().map(|weak| WeakReference {
            source: weak.source,
            place: weak.place,
            target: node(weak.target),
        });
        let weak = weak.collect();
        drop(node_of);
        // u32 and NodeId have one layout, so collecting in place costs nothing.
        let references = words.into_iter().map(NodeId).collect();
        self.finish(order, Resolved { references, weak }, maps, problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{IdStyle, Lookup, ResolveOptions, Section};

    fn graph(ids: &[u64], references: &[&[u32]], weak: &[(u32, u32, u32)]) -> HeapGraph {
        let mut builder = GraphBuilder::new(IdStyle::Decimal);
        let section = builder.begin_section(Section::default());
        let slot = builder.new_type();
        builder.name_type(slot, "T");
        let mut numbered = NumberedObjects {
            types: vec![slot.0; ids.len()],
            shallow: (1..=ids.len() as u32).collect(),
            counts: references.iter().map(|own| own.len() as u32).collect(),
            references: references.concat(),
            weak: weak.iter().map(|&(source, place, target)| NumberedWeak { source, place, target }).collect(),
            ..NumberedObjects::default()
        };
        numbered.ids.extend(ids);
        builder.append_numbered(section, numbered).unwrap();
        builder.resolve(ResolveOptions::default()).0
    }

    #[test]
    fn numbers_become_nodes_in_any_order_of_ids() {
        for ids in [[10, 20, 30, 40], [40, 10, 30, 20], [1 << 40, 3, 2, 1 << 20]] {
            let graph = graph(&ids, &[&[1, 3], &[], &[0, 0, 2], &[]], &[(0, 1, 2), (3, 0, 0)]);
            let node = |number: usize| match graph.find(None, ids[number]) {
                Lookup::One(node) => node,
                other => panic!("{other:?}"),
            };
            let targets =
                |number: usize| graph.references(node(number)).map(|to| (to.node, to.is_weak)).collect::<Vec<_>>();
            assert_eq!(targets(0), [(node(1), false), (node(2), true), (node(3), false)]);
            assert_eq!(targets(2), [(node(0), false), (node(0), false), (node(2), false)]);
            assert_eq!(targets(3), [(node(0), true)]);
            for (number, &id) in ids.iter().enumerate() {
                assert_eq!(graph.shallow_bytes(node(number)), number as u64 + 1);
                assert_eq!(graph.display_id(node(number)), format!("@{id}"));
            }
        }
    }

    #[test]
    fn repeated_ids_get_new_ones() {
        let mut ids = ObjectIds::default();
        ids.extend(&[7, 5, 7, 6, 5, 7]);
        assert_eq!(ids.make_unique(), (3, 2));
        assert_eq!(ids.iter().take(2).collect::<Vec<_>>(), [7, 5]);
        assert_eq!(ids.get(3), 6);
        let mut all: Vec<u64> = ids.iter().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
        assert!(ids.iter().all(|id| id <= 10));
        ids.retain(|number| number % 2 == 1);
        assert_eq!(ids.len(), 3);
        let mut wide = ObjectIds::default();
        wide.extend(&[1]);
        wide.extend(&[1 << 40, 1 << 40]);
        assert_eq!(wide.make_unique().0, 1);
    }
}
