//! From a complete dump to a graph: ids become nodes, references become node numbers in place, and references that
//! cannot be resolved are counted.

use super::builder::GraphBuilder;
use super::byte_counts::{ByteCounts, PackedBytes};
use super::csr::Csr;
use super::graph_names::GraphNames;
use super::heap_parts::{HeapParts, resolve_soft_references};
use super::id_map::IdRankMap;
use super::list_lengths::ListLengths;
use super::object_order::{ObjectOrder, ObjectRuns};
use super::packed_objects::{PackedObjects, position_of};
use super::resolve_counts::{Occurrences, RepeatedObject, ResolveCounts, ResolveOptions};
use super::resolve_references::{
    ReferenceResolver, ResolvedReferences, count_cross_section_references, resolve_references,
};
use super::weak_references::WeakReferences;
use super::{HeapGraph, NodeId, SectionIds, TypeId, TypeSlot};

impl GraphBuilder {
    /// Puts the graph together. O(objects + references), and a sort of the ids only where they are scattered.
    /// Works on all threads of the current rayon pool.
    pub fn resolve(mut self, options: ResolveOptions) -> (HeapGraph, ResolveCounts) {
        if let Some(numbered) = self.numbered_objects.take() {
            return self.resolve_numbered(numbered);
        }
        let mut problems = ResolveCounts::default();
        if self.cached_object_order.is_none() && self.sections.iter().all(|section| section.has_ascending_ids) {
            self.cached_object_order = Some((self.build_id_maps(true), ObjectOrder::Unchanged, Vec::new()));
        }
        let (maps, order, dropped) = self.take_or_find_object_order();
        self.count_dropped_objects(&dropped, &mut problems);
        problems.size_overflows = self.count_size_overflows(dropped.iter().map(|pair| pair.dropped_object));
        self.objects.id_words = Vec::new();
        if let Some(stream) = self.reference_stream.take() {
            let Some(map) = maps.first() else {
                return self.finish_graph(order, ResolvedReferences::default(), maps, problems);
            };
            let references = stream.resolve(map, &mut self.objects.reference_counts, &mut problems);
            if let Some(section) = self.sections.first_mut() {
                section.section.null_references += problems.null_references;
                section.section.dangling_references += problems.dangling_references.count;
            }
            return self.finish_graph(order, ResolvedReferences { references, weak: Vec::new() }, maps, problems);
        }

        let class_objects: Vec<u32> = self.class_objects.iter().map(|&(object, _)| object).collect();
        let archive_arrays = self.archive_arrays(options.archived_mirror_search, &order, &maps);
        let resolver = ReferenceResolver {
            maps: &maps,
            class_objects: &class_objects,
            archive_arrays: &archive_arrays,
            dropped_objects: &dropped,
            position_runs: &self.objects.position_runs,
            options,
            has_several_sections: self.sections.len() > 1,
        };
        let (resolved, missing) = resolve_references(
            std::mem::take(&mut self.objects.reference_words),
            &mut self.objects.reference_counts,
            &self.objects.chunks,
            &resolver,
            &mut self.sections,
            &mut problems,
        );
        if !missing.ids_and_positions.is_empty() {
            count_cross_section_references(&maps, missing.ids_and_positions, &mut problems);
        }
        if let (Some(mirrors), false) = (options.archived_mirror_search, missing.of_archive_arrays.is_empty()) {
            let dangling = self.count_archived_and_dangling(
                &missing.of_archive_arrays,
                mirrors.min_class_object_bytes,
                &order,
                &maps[0],
                &resolved.references,
                &mut problems,
            );
            self.sections[0].section.dangling_references += dangling;
        }
        self.finish_graph(order, resolved, maps, problems)
    }

    pub(super) fn take_or_find_object_order(&mut self) -> (Vec<SectionIds>, ObjectOrder, Vec<RepeatedObject>) {
        self.cached_object_order.take().unwrap_or_else(|| {
            let maps = self.build_id_maps(false);
            let (order, dropped) = self.find_object_order(&maps);
            (maps, order, dropped)
        })
    }

    /// Objects that repeat another's id and will be left out: of each its id, its type, the number it was appended with, and
    /// its references. When all objects are there, and before `set_object_sizes`. O(objects), which `resolve` takes less.
    pub fn repeated_objects(&mut self) -> Vec<(u64, TypeSlot, u64, u32)> {
        let found = self.take_or_find_object_order();
        let PackedObjects { type_slots: types, reference_counts: counts, .. } = &self.objects;
        let number = |object: usize| self.objects.shallow_bytes(object);
        let facts = |object: usize| (self.id_of(object), types.get(object), number(object), counts.get(object));
        let repeated = found.2.iter().map(|dropped| facts(dropped.dropped_object as usize)).collect();
        self.cached_object_order = Some(found);
        repeated
    }

    /// Maps of the sections' ids. With `is_last_use` the packed ids are dropped.
    fn build_id_maps(&mut self, is_last_use: bool) -> Vec<SectionIds> {
        let mut maps = Vec::with_capacity(self.sections.len());
        let mut chunks = &self.objects.chunks[..];
        let mut first_node = 0;
        for (number, section) in self.sections.iter().enumerate() {
            let own = chunks.partition_point(|chunk| chunk.section as usize == number);
            let (mine, rest) = chunks.split_at(own);
            chunks = rest;
            let ids = match section.id_range {
                Some(range) => IdRankMap::build_without_ranks(range, section.object_count, || {
                    mine.iter().flat_map(|chunk| {
                        let words = &self.objects.id_words[chunk.first_id_word..];
                        (0..chunk.objects.len()).map(move |index| chunk.id_packing.unpack_id(words, index))
                    })
                }),
                None => IdRankMap::empty(),
            };
            let count = ids.len() as u32;
            maps.push(SectionIds { first_node, id_map: ids });
            first_node += count;
        }
        if is_last_use {
            self.objects.id_words = Vec::new();
        }
        maps.iter_mut().for_each(|map| map.id_map.compute_ranks());
        maps
    }

    /// Order in which objects become nodes (of several of one id the first), and the objects that are dropped.
    fn find_object_order(&self, maps: &[SectionIds]) -> (ObjectOrder, Vec<RepeatedObject>) {
        const NO_OBJECT: u32 = u32::MAX;
        if self.sections.iter().all(|section| section.has_ascending_ids) {
            return (ObjectOrder::Unchanged, Vec::new());
        }
        let node_count = maps.last().map_or(0, |last| last.first_node as usize + last.id_map.len());
        if node_count == self.objects.type_slots.len()
            && let Some(runs) = ObjectRuns::find_in_chunks(&self.objects.chunks, &self.objects.id_words, maps)
        {
            return (ObjectOrder::Runs(runs), Vec::new());
        }
        let mut order = vec![NO_OBJECT; node_count];
        let mut dropped = Vec::new();
        for chunk in &self.objects.chunks {
            let map = &maps[chunk.section as usize];
            let words = &self.objects.id_words[chunk.first_id_word..];
            for (index, object) in chunk.objects.clone().enumerate() {
                let Some(rank) = map.id_map.rank(chunk.id_packing.unpack_id(words, index)) else { continue };
                let (node, mut object) = ((map.first_node + rank) as usize, object as u32);
                if order[node] == NO_OBJECT {
                    order[node] = object;
                } else {
                    if self.is_earlier_in_dump(object, order[node]) {
                        std::mem::swap(&mut order[node], &mut object);
                    }
                    dropped.push((object, node));
                }
            }
        }
        dropped.sort_unstable();
        let dropped = dropped
            .into_iter()
            .map(|(object, node)| RepeatedObject { dropped_object: object, kept_object: order[node] })
            .collect();
        (ObjectOrder::ByNode(order), dropped)
    }

    /// Does an object that was appended behind another stand before it in the dump?
    fn is_earlier_in_dump(&self, object: u32, other: u32) -> bool {
        let (first, before) = &self.late_objects;
        let before = (object as usize).checked_sub(*first).and_then(|late| before.get(late));
        (other as usize) < *first && before.is_some_and(|&before| before <= other)
    }

    fn count_dropped_objects(&self, dropped: &[RepeatedObject], problems: &mut ResolveCounts) {
        if dropped.is_empty() {
            return;
        }
        // Where references come apart from their objects, what an object says of itself must do.
        let contents = self.reference_stream.is_none().then(|| ObjectComparer::new(self));
        for pair in dropped {
            let position = position_of(&self.objects.position_runs, pair.dropped_object as usize);
            let (object, kept) = (pair.dropped_object as usize, pair.kept_object as usize);
            let same = match &contents {
                Some(contents) => contents.are_equal(object, kept),
                None => self.have_same_type_size_and_count(object, kept),
            };
            if same {
                problems.duplicate_objects.add_at(position);
            } else {
                problems.conflicting_objects.add_at(position);
            }
        }
    }

    /// Have two objects one type, one size and as many references?
    fn have_same_type_size_and_count(&self, a: usize, b: usize) -> bool {
        // Types by name: readers may have several slots for one.
        self.have_same_type_name(self.objects.type_slots.get(a), self.objects.type_slots.get(b))
            && self.objects.shallow_bytes(a) == self.objects.shallow_bytes(b)
            && self.objects.reference_counts.get(a) == self.objects.reference_counts.get(b)
    }

    /// For each slot its type, and the names by type, which are taken out.
    fn take_slot_types_and_names(&mut self) -> (Vec<TypeId>, Vec<Box<str>>) {
        // A slot that nobody named can only belong to a reader's mistake; it gets a name rather than a panic.
        let unnamed = self.type_names.len() as u32;
        let mut types = Vec::with_capacity(self.slot_types.len());
        let mut any_unnamed = false;
        for slot in &self.slot_types {
            any_unnamed |= slot.is_none();
            types.push(TypeId(slot.unwrap_or(unnamed)));
        }
        let mut names = std::mem::take(&mut self.type_names);
        if any_unnamed {
            names.push("<unnamed type>".into());
        }
        (types, names)
    }

    /// Makes the graph of the resolved references and of all else that the builder has.
    pub(super) fn finish_graph(
        mut self,
        order: ObjectOrder,
        resolved: ResolvedReferences,
        maps: Vec<SectionIds>,
        mut problems: ResolveCounts,
    ) -> (HeapGraph, ResolveCounts) {
        let (slot_types, names) = self.take_slot_types_and_names();
        let object_count = self.objects.type_slots.len();
        // One column after another, so that no two of them are there twice.
        let shallow = order.reorder_column(std::mem::take(&mut self.objects.shallow));
        let large = order
            .values_by_node(std::mem::take(&mut self.objects.large_shallow), |node| shallow[node] == u16::LARGE_MARK);
        let shallow = ByteCounts::new(shallow, &large);
        let node_types = order
            .reorder_types(std::mem::take(&mut self.objects.type_slots))
            .into_type_column(&slot_types, names.len());
        let mut class_objects = order.class_objects_by_node(&self.class_objects, |slot| slot_types[slot.0 as usize]);
        let weak = order.reorder_weak_references(resolved.weak);
        let (mut counts, mut references) =
            order.reorder_references(std::mem::take(&mut self.objects.reference_counts), resolved.references);
        let (part_names, changes) = std::mem::take(&mut self.heap_parts);
        let heap_parts = HeapParts::new(part_names, &changes, object_count, &order);
        drop(order);
        let mut types = self.build_type_table(names, &slot_types, &maps, &mut class_objects);
        let (threads, frames) = self.resolve_threads(&slot_types, &maps);
        let roots = self.resolve_roots(&slot_types, &maps, &threads, &mut problems);
        let mut added = self.resolve_added_references(&maps, &mut problems);
        let dependent_references = added.len() as u64;
        added.extend(roots.iter().filter(|root| root.is_through_thread).filter_map(|root| {
            let thread = root.thread.and_then(|thread| threads[thread.index()].node)?;
            Some((thread, root.node))
        }));
        splice_added_references(added, &mut counts, &mut references);
        types.texts = GraphNames(self.texts);
        types.constructor_places = self.type_places;
        let soft = self.soft_references.map(|soft| resolve_soft_references(soft, &maps));
        let generations = super::generations::generation_runs(&self.generations, &maps);
        let mut graph = HeapGraph {
            node_types,
            shallow,
            weak_references: WeakReferences::new(weak),
            section_ids: maps,
            sections: self.sections.into_iter().map(|build| build.section).collect(),
            roots,
            types,
            id_style: self.id_style,
            threads,
            frames,
            dependent_reference_count: dependent_references,
            generations,
            heap_parts,
            soft_references: soft,
            ..HeapGraph::default()
        };
        let classes = graph.mark_classes_to_store();
        graph.append_class_references(&classes, &mut counts, &mut references);
        graph.references = Csr::of_lists(&counts, references);
        (graph, problems)
    }

    /// The added references that have both objects, as nodes; the others are counted unless they may dangle.
    fn resolve_added_references(&mut self, maps: &[SectionIds], problems: &mut ResolveCounts) -> Vec<(NodeId, NodeId)> {
        let mut added = Vec::new();
        for (section, from, to, position) in std::mem::take(&mut self.added_references) {
            let map = &maps[section as usize];
            match (map.node_of_id(from), map.node_of_id(to)) {
                (Some(from), Some(to)) => added.push((from, to)),
                _ if self.added_references_may_dangle => {}
                _ => {
                    problems.dangling_references.add_at(position);
                    self.sections[section as usize].section.dangling_references += 1;
                }
            }
        }
        added
    }
}

/// Puts the added references behind those that their objects list, in their order.
fn splice_added_references(mut added: Vec<(NodeId, NodeId)>, counts: &mut ListLengths, references: &mut Vec<NodeId>) {
    added.sort_by_key(|&(from, _)| from);
    let mut ends = Vec::with_capacity(added.len());
    let (mut node, mut sum) = (0usize, 0usize);
    for &(from, _) in &added {
        while node <= from.index() {
            sum += counts.get(node) as usize;
            node += 1;
        }
        ends.push(sum);
    }
    // From the back, so that every reference moves once and in place.
    let mut behind = references.len();
    references.reserve_exact(added.len());
    references.resize(behind + added.len(), NodeId(0));
    for (before, (&(from, to), &end)) in added.iter().zip(&ends).enumerate().rev() {
        references.copy_within(end..behind, end + before + 1);
        references[end + before] = to;
        behind = end;
        counts.set(from.index(), counts.get(from.index()) + 1);
    }
}

impl GraphBuilder {
    /// Sums of bytes that do not fit 64 bits, without the `dropped` objects (ascending). O(1) where no object has 4 GiB.
    pub(super) fn count_size_overflows(&self, dropped: impl Iterator<Item = u32>) -> Occurrences {
        const MAX_SUM: u128 = u64::MAX as u128;
        // All small objects do not make as much.
        let large: u128 = self.objects.large_shallow.iter().map(|&(_, bytes)| u128::from(bytes)).sum();
        if large + ((self.objects.shallow.len() as u128) << 16) <= MAX_SUM {
            return Occurrences::default();
        }
        let (mut dropped, mut large) = (dropped.peekable(), self.objects.large_shallow.iter());
        let mut tally = Occurrences::default();
        let (mut all, mut of_section, mut section) = (0u128, 0u128, None);
        for chunk in &self.objects.chunks {
            if section != Some(chunk.section) {
                (section, of_section) = (Some(chunk.section), 0);
            }
            for object in chunk.objects.clone() {
                let bytes = match self.objects.shallow[object] {
                    u16::LARGE_MARK => large.next().map_or(0, |&(_, bytes)| u128::from(bytes)),
                    bytes => u128::from(bytes),
                };
                if dropped.next_if_eq(&(object as u32)).is_some() {
                    continue;
                }
                if all <= MAX_SUM && all + bytes > MAX_SUM {
                    tally.first_position = position_of(&self.objects.position_runs, object);
                }
                tally.count += u64::from(of_section <= MAX_SUM && of_section + bytes > MAX_SUM);
                all += bytes;
                of_section += bytes;
            }
        }
        if all > MAX_SUM {
            tally.count = tally.count.max(1);
        }
        tally
    }
}

/// Compares objects as the dump wrote them, nulls included.
struct ObjectComparer<'a> {
    builder: &'a GraphBuilder,
    /// First reference word of each chunk.
    first_words: Vec<usize>,
    /// First reference of each object, counted from its chunk's.
    first_references: Vec<u32>,
}

impl<'a> ObjectComparer<'a> {
    fn new(builder: &'a GraphBuilder) -> Self {
        let first_words = builder
            .objects
            .chunks
            .iter()
            .scan(0, |sum, chunk| {
                let first = *sum;
                *sum += chunk.reference_word_count;
                Some(first)
            })
            .collect();
        let mut first_references = Vec::with_capacity(builder.objects.reference_counts.len());
        for chunk in &builder.objects.chunks {
            let mut next = chunk.leading_reference_count as u32;
            for count in builder.objects.reference_counts.range(chunk.objects.clone()) {
                first_references.push(next);
                next += count;
            }
        }
        ObjectComparer { builder, first_words, first_references }
    }

    fn are_equal(&self, a: usize, b: usize) -> bool {
        self.builder.have_same_type_size_and_count(a, b) && self.references(a).eq(self.references(b))
    }

    fn references(&self, object: usize) -> impl Iterator<Item = u64> + '_ {
        let builder = self.builder;
        let at = builder.objects.chunks.partition_point(|chunk| chunk.objects.end <= object);
        let chunk = &builder.objects.chunks[at];
        let words = &builder.objects.reference_words[self.first_words[at]..];
        let first = self.first_references[object] as usize;
        (first..first + builder.objects.reference_counts.get(object) as usize)
            .map(move |index| chunk.reference_packing.unpack(words, index))
    }
}
