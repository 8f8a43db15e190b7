//! From a complete dump to a graph: ids become nodes, references become node numbers in place, and what does not fit
//! is counted.

use rayon::prelude::*;

use super::builder::{GraphBuilder, SectionBuild, Segment};
use super::byte_counts::ByteCounts;
use super::columns::PositionRun;
use super::csr::{Csr, Offsets};
use super::findings::Findings;
use super::id_map::{IdMap, IdRange};
use super::{HeapGraph, NodeId, Root, RootOrigin, SectionIds, TypeId, TypeSlot};

/// What a reader knows only after the whole dump.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResolveOptions {
    /// The first reference of every object without a label names its class: not a reference of the graph.
    /// Default: false.
    pub first_reference_is_class: bool,
}

struct Dropped {
    object: u32,
    kept: u32,
}

/// Where one segment's pass over its references writes.
struct SegmentWork<'a> {
    segment: &'a Segment,
    words: &'a mut [u32],
    counts: &'a mut [u32],
}

#[derive(Default)]
struct SegmentResult {
    kept_words: usize,
    kept_leading: u32,
    findings: Findings,
    /// Dangling ids with their positions, kept only where several sections could satisfy them.
    dangling: Vec<(u64, u64)>,
}

struct Resolver<'a> {
    maps: &'a [SectionIds],
    labels: &'a [u32],
    dropped: &'a [Dropped],
    positions: &'a [PositionRun],
    options: ResolveOptions,
    several_sections: bool,
}

impl GraphBuilder {
    /// Puts the graph together. O(objects + references), and a sort of the ids only where they are scattered.
    /// Works on all threads of the current rayon pool.
    pub fn resolve(mut self, options: ResolveOptions) -> (HeapGraph, Findings) {
        let mut findings = Findings::default();
        let maps = self.build_maps();
        let ordered = self.sections.iter().all(|section| section.ascending);
        let (order, dropped) = if ordered { (None, Vec::new()) } else { self.find_order(&maps) };
        self.judge_dropped(&dropped, &mut findings);
        findings.size_overflows = self.find_size_overflows(dropped.iter().map(|pair| pair.object));
        self.id_words = Vec::new();
        if let Some(streams) = self.streams.take() {
            let references = self.resolve_streams(&streams, &maps, &mut findings);
            let (types, names) = self.final_types();
            return self.finish(order, references, maps, types, names, findings);
        }

        let labels: Vec<u32> = self.labels.iter().map(|&(object, _)| object).collect();
        let resolver = Resolver {
            maps: &maps,
            labels: &labels,
            dropped: &dropped,
            positions: &self.positions,
            options,
            several_sections: self.sections.len() > 1,
        };
        let (references, dangling) = resolve_references(
            std::mem::take(&mut self.reference_words),
            &mut self.counts,
            &self.segments,
            &resolver,
            &mut self.sections,
            &mut findings,
        );
        if !dangling.is_empty() {
            count_cross_section(&maps, dangling, &mut findings);
        }

        let (types, names) = self.final_types();
        self.finish(order, references, maps, types, names, findings)
    }

    fn build_maps(&mut self) -> Vec<SectionIds> {
        let mut maps = Vec::with_capacity(self.sections.len());
        let mut segments = &self.segments[..];
        let mut first_node = 0;
        for (number, section) in self.sections.iter().enumerate() {
            let own = segments.partition_point(|segment| segment.section as usize == number);
            let (mine, rest) = segments.split_at(own);
            segments = rest;
            let ids = match section.range {
                Some(range) => IdMap::build(range, section.objects, || {
                    mine.iter().flat_map(|segment| {
                        let words = &self.id_words[segment.first_id_word..];
                        (0..segment.objects.len()).map(move |index| segment.id_frame.unpack_id(words, index))
                    })
                }),
                None => IdMap::empty(),
            };
            let count = ids.len() as u32;
            maps.push(SectionIds { first_node, ids });
            first_node += count;
        }
        maps
    }

    /// For each node the object that becomes it (the first of its id), and the objects that are dropped.
    fn find_order(&self, maps: &[SectionIds]) -> (Option<Vec<u32>>, Vec<Dropped>) {
        const NONE: u32 = u32::MAX;
        let node_count = maps.last().map_or(0, |last| last.first_node as usize + last.ids.len());
        let mut order = vec![NONE; node_count];
        let mut dropped = Vec::new();
        for segment in &self.segments {
            let map = &maps[segment.section as usize];
            let words = &self.id_words[segment.first_id_word..];
            for (index, object) in segment.objects.clone().enumerate() {
                let Some(rank) = map.ids.rank(segment.id_frame.unpack_id(words, index)) else { continue };
                let node = (map.first_node + rank) as usize;
                if order[node] == NONE {
                    order[node] = object as u32;
                } else {
                    dropped.push(Dropped { object: object as u32, kept: order[node] });
                }
            }
        }
        (Some(order), dropped)
    }

    fn judge_dropped(&self, dropped: &[Dropped], findings: &mut Findings) {
        if dropped.is_empty() {
            return;
        }
        // Where references come apart from their objects, what an object says of itself must do.
        let contents = self.streams.is_none().then(|| Contents::new(self));
        for pair in dropped {
            let position = GraphBuilder::position_of(&self.positions, pair.object as usize);
            let (object, kept) = (pair.object as usize, pair.kept as usize);
            let same = match &contents {
                Some(contents) => contents.same(object, kept),
                None => self.same_shape(object, kept),
            };
            if same {
                findings.duplicate_objects.add(position);
            } else {
                findings.conflicting_objects.add(position);
            }
        }
    }

    /// Have two objects one type, one size and as many references?
    fn same_shape(&self, a: usize, b: usize) -> bool {
        let shallow = |object: usize| match self.shallow[object] {
            super::byte_counts::OVERFLOW => {
                self.large.binary_search_by_key(&(object as u32), |&(at, _)| at).map_or(0, |at| self.large[at].1)
            }
            bytes => u64::from(bytes),
        };
        // Types by name: readers may have several slots for one.
        self.same_type_name(TypeSlot(self.types[a]), TypeSlot(self.types[b]))
            && shallow(a) == shallow(b)
            && self.counts[a] == self.counts[b]
    }

    /// For each slot its type, and the names by type.
    fn final_types(&mut self) -> (Vec<TypeId>, Vec<Box<str>>) {
        // A slot that nobody named can only belong to a reader's mistake; it gets a name rather than a panic.
        let unnamed = self.names.len() as u32;
        let mut types = Vec::with_capacity(self.slots.len());
        let mut any_unnamed = false;
        for slot in &self.slots {
            any_unnamed |= slot.is_none();
            types.push(TypeId(slot.unwrap_or(unnamed)));
        }
        let mut names = std::mem::take(&mut self.names);
        if any_unnamed {
            names.push("<unnamed type>".into());
        }
        (types, names)
    }

    fn finish(
        mut self,
        order: Option<Vec<u32>>,
        mut references: Vec<NodeId>,
        maps: Vec<SectionIds>,
        slot_types: Vec<TypeId>,
        names: Vec<Box<str>>,
        mut findings: Findings,
    ) -> (HeapGraph, Findings) {
        let mut shallow = ByteCounts::new(std::mem::take(&mut self.shallow), &std::mem::take(&mut self.large));
        let slots = std::mem::take(&mut self.types);
        let node_types: Vec<TypeId>;
        let mut counts = std::mem::take(&mut self.counts);
        let mut labels: Vec<(NodeId, TypeId)>;
        let slot_type = |slot: u32| slot_types[slot as usize];
        match order {
            None => {
                // In place: fresh memory for ten million types would cost more than the work.
                let mut types = slots;
                types.par_iter_mut().for_each(|slot| *slot = slot_type(*slot).0);
                node_types = types.into_iter().map(TypeId).collect();
                labels = self.labels.iter().map(|&(object, slot)| (NodeId(object), slot_type(slot.0))).collect();
            }
            Some(order) => {
                node_types = order.par_iter().map(|&object| slot_type(slots[object as usize])).collect();
                drop(slots);
                shallow.gather(&order);
                labels = gather_labels(&order, &self.labels, slot_type);
                (counts, references) = gather_references(&order, counts, references);
            }
        }
        let dependent_references = self.splice_added(&maps, &mut counts, &mut references, &mut findings);
        labels.sort_unstable();
        labels.dedup_by_key(|label| label.0);
        let mut roots = Vec::with_capacity(self.roots.len());
        for (section, root) in &self.roots {
            let map = &maps[*section as usize];
            match map.ids.rank(root.id) {
                Some(rank) => roots.push(Root {
                    node: NodeId(map.first_node + rank),
                    kind: root.kind,
                    flags: root.flags,
                    container: root.container.map(|slot| slot_type(slot.0)),
                    name: root.name,
                    origin: RootOrigin::Dump,
                    excluded: false,
                }),
                None => {
                    findings.dangling_roots.add(root.position);
                    self.sections[*section as usize].section.dangling_roots += 1;
                }
            }
        }
        let generations = super::generations::runs(&self.generations, &maps);
        let graph = HeapGraph {
            node_types: node_types.into(),
            shallow,
            references: Csr { offsets: Offsets::from_counts(counts), targets: references.into() },
            referrers: std::sync::OnceLock::new(),
            ids: maps,
            sections: self.sections.into_iter().map(|build| build.section).collect(),
            roots,
            type_names: names,
            labels,
            id_style: self.id_style,
            roots_inferred: false,
            root_names: self.root_names,
            type_modules: self.type_modules,
            module_names: self.module_names,
            dependent_references,
            generations,
            multipliers: Vec::new(),
            shown_types: Default::default(),
        };
        (graph, findings)
    }
}

/// Labels of the objects that became nodes.
fn gather_labels(
    order: &[u32],
    labels: &[(u32, super::TypeSlot)],
    slot_type: impl Fn(u32) -> TypeId,
) -> Vec<(NodeId, TypeId)> {
    if labels.is_empty() {
        return Vec::new();
    }
    let mut nodes: Vec<(u32, u32)> = Vec::new();
    for (node, &object) in order.iter().enumerate() {
        if let Ok(at) = labels.binary_search_by_key(&object, |&(labelled, _)| labelled) {
            nodes.push((node as u32, labels[at].1.0));
        }
    }
    nodes.into_iter().map(|(node, slot)| (NodeId(node), slot_type(slot))).collect()
}

fn gather_references(order: &[u32], counts: Vec<u32>, references: Vec<NodeId>) -> (Vec<u32>, Vec<NodeId>) {
    let offsets = Offsets::from_counts(counts);
    let new_counts: Vec<u32> = order.par_iter().map(|&object| offsets.range(object as usize).len() as u32).collect();
    let total: usize = new_counts.par_iter().map(|&count| count as usize).sum();
    let mut gathered = Vec::with_capacity(total);
    for &object in order {
        gathered.extend_from_slice(&references[offsets.range(object as usize)]);
    }
    (new_counts, gathered)
}

/// Turns packed references into nodes in the same memory, and drops what is null or dangling.
fn resolve_references(
    mut words: Vec<u32>,
    counts: &mut [u32],
    segments: &[Segment],
    resolver: &Resolver<'_>,
    sections: &mut [SectionBuild],
    findings: &mut Findings,
) -> (Vec<NodeId>, Vec<(u64, u64)>) {
    let mut work = Vec::with_capacity(segments.len());
    let (mut words_left, mut counts_left) = (&mut words[..], &mut counts[..]);
    for segment in segments {
        let (own_words, rest) = words_left.split_at_mut(segment.reference_words);
        words_left = rest;
        let (own_counts, rest) = counts_left.split_at_mut(segment.objects.len());
        counts_left = rest;
        work.push(SegmentWork { segment, words: own_words, counts: own_counts });
    }
    let results: Vec<SegmentResult> = work.into_par_iter().map(|work| resolver.resolve_segment(work)).collect();

    let mut dangling = Vec::new();
    let (mut from, mut to) = (0, 0);
    for (segment, result) in segments.iter().zip(results) {
        if from != to {
            words.copy_within(from..from + result.kept_words, to);
        }
        from += segment.reference_words;
        to += result.kept_words;
        if let Some(before) = segment.objects.start.checked_sub(1) {
            counts[before] += result.kept_leading;
        }
        let section = &mut sections[segment.section as usize].section;
        section.null_references += result.findings.null_references;
        section.dangling_references += result.findings.dangling_references.count;
        findings.null_references += result.findings.null_references;
        findings.class_words += result.findings.class_words;
        findings.dangling_references.join(result.findings.dangling_references);
        dangling.extend(result.dangling);
    }
    words.truncate(to);
    words.shrink_to_fit();
    // u32 and NodeId have one layout, so collecting in place costs nothing.
    (words.into_iter().map(NodeId).collect(), dangling)
}

impl Resolver<'_> {
    fn resolve_segment(&self, work: SegmentWork<'_>) -> SegmentResult {
        let SegmentWork { segment, words, counts } = work;
        let map = &self.maps[segment.section as usize];
        let mut result = SegmentResult::default();
        let (mut read, mut write) = (0, 0);
        let start = segment.objects.start;
        let mut label = self.labels.partition_point(|&object| (object as usize) < start.saturating_sub(1));
        let mut dropped = self.dropped.partition_point(|pair| (pair.object as usize) < start.saturating_sub(1));
        let leading = (segment.leading > 0).then(|| (start.wrapping_sub(1), segment.leading));
        let own = counts.len();
        for at in 0..own + usize::from(leading.is_some()) {
            let (object, count, is_leading) = match leading {
                Some((object, count)) if at == 0 => (object, count, true),
                _ => {
                    let index = at - usize::from(leading.is_some());
                    (start + index, counts[index] as usize, false)
                }
            };
            while self.labels.get(label).is_some_and(|&labelled| (labelled as usize) < object) {
                label += 1;
            }
            let labelled = self.labels.get(label).is_some_and(|&labelled| labelled as usize == object);
            while self.dropped.get(dropped).is_some_and(|pair| (pair.object as usize) < object) {
                dropped += 1;
            }
            let is_dropped = self.dropped.get(dropped).is_some_and(|pair| pair.object as usize == object);
            let before = write;
            let mut skip_first =
                self.options.first_reference_is_class && !labelled && (!is_leading || segment.leading_is_first);
            for _ in 0..count {
                let id = segment.reference_frame.unpack(words, read);
                read += 1;
                if is_dropped {
                    continue;
                }
                if skip_first {
                    skip_first = false;
                    result.findings.class_words += 1;
                    continue;
                }
                match map.ids.rank(id) {
                    _ if id == 0 => result.findings.null_references += 1,
                    Some(rank) => {
                        words[write] = map.first_node + rank;
                        write += 1;
                    }
                    None => {
                        let position = GraphBuilder::position_of(self.positions, object);
                        result.findings.dangling_references.add(position);
                        if self.several_sections {
                            result.dangling.push((id, position));
                        }
                    }
                }
            }
            if is_leading {
                result.kept_leading = (write - before) as u32;
            } else {
                counts[at - usize::from(leading.is_some())] = (write - before) as u32;
            }
        }
        result.kept_words = write;
        result
    }
}

/// A dangling reference that some section has an object for breaks the rule that ids belong to their section; one map
/// of all ids tells, so that many sections cost no more than one.
fn count_cross_section(maps: &[SectionIds], dangling: Vec<(u64, u64)>, findings: &mut Findings) {
    let all = || maps.iter().flat_map(|map| (0..map.ids.len() as u32).map(|rank| map.ids.select(rank)));
    let mut ids = all();
    let Some(first) = ids.next() else { return };
    let mut range = IdRange::of(first);
    let mut count = 1;
    for id in ids {
        range.add(id);
        count += 1;
    }
    let union = IdMap::build(range, count, all);
    for (id, position) in dangling {
        if union.rank(id).is_some() {
            findings.cross_section_references.add(position);
        }
    }
}

/// Compares objects as the dump wrote them, nulls included.
struct Contents<'a> {
    builder: &'a GraphBuilder,
    /// First reference word of each segment.
    first_words: Vec<usize>,
    /// First reference of each object, counted from its segment's.
    first_references: Vec<u32>,
}

impl<'a> Contents<'a> {
    fn new(builder: &'a GraphBuilder) -> Self {
        let first_words = builder
            .segments
            .iter()
            .scan(0, |sum, segment| {
                let first = *sum;
                *sum += segment.reference_words;
                Some(first)
            })
            .collect();
        let mut first_references = Vec::with_capacity(builder.counts.len());
        for segment in &builder.segments {
            let mut next = segment.leading as u32;
            for &count in &builder.counts[segment.objects.clone()] {
                first_references.push(next);
                next += count;
            }
        }
        Contents { builder, first_words, first_references }
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.builder.same_shape(a, b) && self.references(a).eq(self.references(b))
    }

    fn references(&self, object: usize) -> impl Iterator<Item = u64> + '_ {
        let builder = self.builder;
        let at = builder.segments.partition_point(|segment| segment.objects.end <= object);
        let segment = &builder.segments[at];
        let words = &builder.reference_words[self.first_words[at]..];
        let first = self.first_references[object] as usize;
        (first..first + builder.counts[object] as usize).map(move |index| segment.reference_frame.unpack(words, index))
    }
}
