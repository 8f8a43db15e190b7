//! Takes dumps whose references are numbers of objects, and makes their graph.

use super::BuildError;
use super::builder::GraphBuilder;
use super::id_map::IdRankMap;
use super::numbered_objects::{NumberedExtras, NumberedObjects, NumberedWeakReference};
use super::object_order::ObjectOrder;
use super::resolve_counts::ResolveCounts;
use super::resolve_references::ResolvedReferences;
use super::weak_references::WeakReference;
use super::{HeapGraph, NodeId, SectionId, SectionIds};
use crate::parallel;

impl GraphBuilder {
    /// Takes all objects of a dump at once, in place of `append`. For dumps of one section.
    ///
    /// # Errors
    /// When there are more than can be numbered, or they take more memory than they may.
    pub fn append_numbered(&mut self, section: SectionId, objects: NumberedObjects) -> Result<(), BuildError> {
        if objects.ids.len() >= u32::MAX as usize {
            return Err(BuildError::TooManyObjects);
        }
        let NumberedObjects {
            ids,
            type_slots: types,
            shallow,
            large_shallow: large,
            reference_counts: counts,
            references,
            weak_references: weak,
            dangling_reference_count: dangling,
        } = objects;
        let build = &mut self.sections[section.index()];
        build.object_count = ids.len();
        build.section.dangling_references = dangling;
        if let Some((range, is_ascending)) = ids.id_range_and_order() {
            (build.id_range, build.has_ascending_ids) = (Some(range), is_ascending);
        }
        (self.objects.type_slots, self.objects.shallow, self.objects.large_shallow) = (types, shallow, large);
        self.objects.reference_counts = counts;
        self.objects.reference_words = references;
        self.numbered_objects = Some(NumberedExtras { ids, weak_references: weak, dangling_reference_count: dangling });
        self.check_memory()
    }

    pub(super) fn numbered_memory_bytes(&self) -> usize {
        self.numbered_objects.as_ref().map_or(0, |numbered| {
            numbered.ids.memory_bytes()
                + numbered.weak_references.len() * (size_of::<NumberedWeakReference>() + size_of::<WeakReference>())
        })
    }

    /// Puts the graph together where objects came numbered. O(objects + references).
    pub(super) fn resolve_numbered(mut self, numbered: NumberedExtras) -> (HeapGraph, ResolveCounts) {
        let NumberedExtras { ids, weak_references: weak, dangling_reference_count: dangling } = numbered;
        let mut problems = ResolveCounts::default();
        if dangling > 0 {
            problems.dangling_references.add_at(0);
            problems.dangling_references.count = dangling;
        }
        problems.size_overflows = self.count_size_overflows(std::iter::empty());
        let count = ids.len();
        let mut maps = Vec::new();
        let mut is_ascending = true;
        for section in &self.sections {
            let ids = match section.id_range {
                Some(range) => IdRankMap::build(range, count, || ids.iter()),
                None => IdRankMap::empty(),
            };
            is_ascending &= section.has_ascending_ids;
            maps.push(SectionIds { first_node: 0, id_map: ids });
        }
        let mut words = std::mem::take(&mut self.objects.reference_words);
        let (order, node_of) = match maps.first() {
            Some(map) if !is_ascending => {
                let node = |number: usize| map.id_map.rank(ids.get(number)).unwrap_or(0);
                let node_of: Vec<u32> = parallel::collect_indexed(count, node);
                let mut order = vec![0; count];
                node_of.iter().enumerate().for_each(|(number, &node)| order[node as usize] = number as u32);
                parallel::for_each_piece(&mut words, &|_, piece| {
                    for word in piece {
                        *word = node_of[*word as usize];
                    }
                });
                (ObjectOrder::ByNode(order), Some(node_of))
            }
            _ => (ObjectOrder::Unchanged, None),
        };
        drop(ids);
        let node = |number: u32| NodeId(node_of.as_ref().map_or(number, |nodes| nodes[number as usize]));
        let weak = weak.into_iter().map(|weak| WeakReference {
            source: weak.source,
            reference_index: weak.reference_index,
            target: node(weak.target),
        });
        let weak = weak.collect();
        drop(node_of);
        // u32 and NodeId have one layout, so collecting in place costs nothing.
        let references = words.into_iter().map(NodeId).collect();
        self.finish_graph(order, ResolvedReferences { references, weak }, maps, problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ObjectIds;
    use crate::graph::{IdLookup, IdStyle, NumberedWeakReference, ResolveOptions, Section};

    fn graph(ids: &[u64], references: &[&[u32]], weak: &[(u32, u32, u32)]) -> HeapGraph {
        let mut builder = GraphBuilder::new(IdStyle::Decimal);
        let section = builder.begin_section(Section::default());
        let slot = builder.new_type();
        builder.name_type(slot, "T");
        let mut numbered = NumberedObjects {
            type_slots: ids.iter().map(|_| slot.0).collect(),
            shallow: (1..=ids.len() as u16).collect(),
            reference_counts: references.iter().map(|own| own.len() as u32).collect(),
            references: references.concat(),
            weak_references: weak
                .iter()
                .map(|&(source, place, target)| NumberedWeakReference { source, reference_index: place, target })
                .collect(),
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
            let node = |number: usize| match graph.find_by_id(None, ids[number]) {
                IdLookup::One(node) => node,
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
        let odd: Vec<u64> = ids.iter().skip(1).step_by(2).collect();
        ids.remove_at_indices(&[0, 2, 4]);
        assert_eq!(ids.iter().collect::<Vec<_>>(), odd);
        let mut wide = ObjectIds::default();
        wide.extend(&[1]);
        wide.extend(&[1 << 40, 1 << 40]);
        assert_eq!(wide.make_unique().0, 1);
    }
}
