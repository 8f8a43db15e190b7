//! From a complete dump to a graph: ids become nodes, references become node numbers in place, and what does not fit
//! is counted.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::builder::{GraphBuilder, SectionBuild, Segment};
use super::byte_counts::ByteCounts;
use super::columns::PositionRun;
use super::csr::{Csr, Offsets};
use super::findings::Findings;
use super::id_map::{IdMap, IdRange};
use super::names::Names;
use super::references::{WeakReference, WeakReferences};
use super::streams::splice_added;
use super::threads::{Frame, FrameId, Thread, ThreadId};
use super::types::{Loader, LoaderRecord, TypeDetails, TypeTable};
use super::{HeapGraph, NodeId, Root, RootKind, RootOrigin, SectionIds, TypeId, TypeSlot};

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
    /// By object; the places of those that lead the segment count from its start.
    weak: Vec<WeakReference>,
}

/// References of all objects in the order of the dump, apart from how many each has.
#[derive(Default)]
struct Resolved {
    references: Vec<NodeId>,
    /// By object.
    weak: Vec<WeakReference>,
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
            return self.finish(order, Resolved { references, weak: Vec::new() }, maps, findings);
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
        let (resolved, dangling) = resolve_references(
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

        self.finish(order, resolved, maps, findings)
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
                        (0..segment.objects.len()).map(move |index| segment.id_packing.unpack_id(words, index))
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
                let Some(rank) = map.ids.rank(segment.id_packing.unpack_id(words, index)) else { continue };
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
        resolved: Resolved,
        maps: Vec<SectionIds>,
        mut findings: Findings,
    ) -> (HeapGraph, Findings) {
        let Resolved { mut references, mut weak } = resolved;
        let (slot_types, names) = self.final_types();
        let mut shallow = ByteCounts::new(std::mem::take(&mut self.shallow), &std::mem::take(&mut self.large));
        let slots = std::mem::take(&mut self.types);
        let node_types: Vec<TypeId>;
        let mut counts = std::mem::take(&mut self.counts);
        let mut class_objects: Vec<(NodeId, TypeId)>;
        let slot_type = |slot: u32| slot_types[slot as usize];
        match order {
            None => {
                // In place: fresh memory for ten million types would cost more than the work.
                let mut types = slots;
                types.par_iter_mut().for_each(|slot| *slot = slot_type(*slot).0);
                node_types = types.into_iter().map(TypeId).collect();
                class_objects = self.labels.iter().map(|&(object, slot)| (NodeId(object), slot_type(slot.0))).collect();
            }
            Some(order) => {
                node_types = order.par_iter().map(|&object| slot_type(slots[object as usize])).collect();
                drop(slots);
                shallow.gather(&order);
                class_objects = gather_labels(&order, &self.labels, slot_type);
                weak = gather_weak(&order, &weak);
                (counts, references) = gather_references(&order, counts, references);
            }
        }
        let mut types = self.describe_types(names, &slot_types, &maps, &mut class_objects);
        let (threads, frames) = self.resolve_threads(&slot_types, &maps);
        let roots = self.resolve_roots(&slot_types, &maps, &threads, &mut findings);
        let mut added = self.resolve_added(&maps, &mut findings);
        let dependent_references = added.len() as u64;
        added.extend(roots.iter().filter(|root| root.is_through_thread).filter_map(|root| {
            let thread = root.thread.and_then(|thread| threads[thread.index()].node)?;
            Some((thread, root.node))
        }));
        splice_added(added, &mut counts, &mut references);
        types.texts = Names(self.texts);
        let generations = super::generations::runs(&self.generations, &maps);
        let mut graph = HeapGraph {
            node_types: node_types.into(),
            shallow,
            references: Csr { offsets: Offsets::from_counts(counts), targets: references.into() },
            referrers: std::sync::OnceLock::new(),
            weak: WeakReferences::new(weak),
            ids: maps,
            sections: self.sections.into_iter().map(|build| build.section).collect(),
            roots,
            types,
            id_style: self.id_style,
            roots_inferred: false,
            threads,
            frames,
            dependent_references,
            generations,
            classes_left_out: 0,
        };
        graph.store_class_references();
        (graph, findings)
    }

    /// The table of types. `class_objects` are those that readers labelled, ascending by node or not.
    fn describe_types(
        &mut self,
        names: Vec<Box<str>>,
        slot_types: &[TypeId],
        maps: &[SectionIds],
        class_objects: &mut Vec<(NodeId, TypeId)>,
    ) -> TypeTable {
        let described = std::mem::take(&mut self.described);
        let mut types = TypeTable { objects_hold_class: self.objects_hold_class, ..TypeTable::default() };
        if !described.is_empty() || !self.type_modules.is_empty() {
            types.details = vec![TypeDetails::default(); names.len()];
        }
        for (details, &module) in types.details.iter_mut().zip(&self.type_modules) {
            details.module = module;
        }
        let mut is_described = vec![false; if described.is_empty() { 0 } else { names.len() }];
        for record in described {
            let type_id = slot_types[record.slot.0 as usize];
            if std::mem::replace(&mut is_described[type_id.index()], true) {
                continue;
            }
            let map = &maps[record.section.index()];
            let details = &mut types.details[type_id.index()];
            details.loader = match record.loader {
                LoaderRecord::Unknown => Loader::Unknown,
                LoaderRecord::Runtime => Loader::Runtime,
                LoaderRecord::Object(id) => map.node(id).map_or(Loader::Unknown, Loader::Object),
                LoaderRecord::Named(name) => Loader::Named(name),
            };
            if let Some(node) = record.class_object.and_then(|id| map.node(id)) {
                details.class_object = node.0;
                class_objects.push((node, type_id));
            }
            if let Some(superclass) = record.superclass {
                details.superclass = slot_types[superclass.0 as usize].0;
            }
            (details.first_field, details.field_count) = (record.fields.start, record.fields.len() as u32);
        }
        class_objects.sort_unstable();
        class_objects.dedup_by_key(|class_object| class_object.0);
        types.names = names;
        types.class_objects = std::mem::take(class_objects);
        types.fields = std::mem::take(&mut self.fields);
        types.break_superclass_circles();
        types
    }

    fn resolve_threads(&mut self, slot_types: &[TypeId], maps: &[SectionIds]) -> (Vec<Thread>, Vec<Frame>) {
        let (mut threads, mut frames) = (Vec::with_capacity(self.threads.len()), Vec::new());
        for (section, record) in &self.threads {
            threads.push(Thread {
                name: record.name,
                serial: record.serial,
                node: record.object.and_then(|id| maps[*section as usize].node(id)),
                first_frame: frames.len() as u32,
                frame_count: record.frames.len() as u32,
            });
            frames.extend(record.frames.iter().map(|frame| Frame {
                method: frame.method,
                class: frame.class.map(|slot: TypeSlot| slot_types[slot.0 as usize]),
                signature: frame.signature,
                source_file: frame.source_file,
                line: frame.line,
            }));
        }
        (threads, frames)
    }

    fn resolve_roots(
        &mut self,
        slot_types: &[TypeId],
        maps: &[SectionIds],
        threads: &[Thread],
        findings: &mut Findings,
    ) -> Vec<Root> {
        let mut thread_of_serial: FxHashMap<u32, ThreadId> = FxHashMap::default();
        for (at, thread) in threads.iter().enumerate() {
            thread_of_serial.entry(thread.serial).or_insert(ThreadId(at as u32));
        }
        let mut roots = Vec::with_capacity(self.roots.len());
        for (section, root) in &self.roots {
            let Some(node) = maps[*section as usize].node(root.id) else {
                findings.dangling_roots.add(root.position);
                self.sections[*section as usize].section.dangling_roots += 1;
                continue;
            };
            let thread = root.thread.and_then(|serial| thread_of_serial.get(&serial).copied());
            let stack = thread.map(|thread| &threads[thread.index()]);
            let frame = stack.zip(root.frame).filter(|(stack, frame)| *frame < stack.frame_count);
            let mut resolved = Root {
                flags: root.flags,
                container: root.container.map(|slot| slot_types[slot.0 as usize]),
                name: root.name,
                thread,
                frame: frame.map(|(stack, frame)| FrameId(stack.first_frame + frame)),
                ..Root::new(node, root.kind, RootOrigin::Dump)
            };
            resolved.is_through_thread = root.kind != RootKind::Thread
                && !resolved.is_weak()
                && stack.is_some_and(|stack| stack.node.is_some_and(|thread| thread != node));
            roots.push(resolved);
        }
        roots
    }
}

/// Weak references of the objects that became nodes.
fn gather_weak(order: &[u32], weak: &[WeakReference]) -> Vec<WeakReference> {
    let mut gathered = Vec::new();
    if weak.is_empty() {
        return gathered;
    }
    for (node, &object) in order.iter().enumerate() {
        let start = weak.partition_point(|weak| weak.source < object);
        let own = weak[start..].iter().take_while(|weak| weak.source == object);
        gathered.extend(own.map(|weak| WeakReference { source: node as u32, ..*weak }));
    }
    gathered
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
) -> (Resolved, Vec<(u64, u64)>) {
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

    let (mut dangling, mut weak) = (Vec::new(), Vec::<WeakReference>::new());
    let (mut from, mut to) = (0, 0);
    for (segment, result) in segments.iter().zip(results) {
        if from != to {
            words.copy_within(from..from + result.kept_words, to);
        }
        from += segment.reference_words;
        to += result.kept_words;
        if let Some(before) = segment.objects.start.checked_sub(1) {
            // What the segments before have of the object comes first.
            let source = before as u32;
            let weak_before = weak.iter().rev().take_while(|weak| weak.source == source).count() as u32;
            let places_before = counts[before] + weak_before;
            weak.extend(result.weak.into_iter().map(|weak| match weak.source == source {
                true => WeakReference { place: places_before + weak.place, ..weak },
                false => weak,
            }));
            counts[before] += result.kept_leading;
        } else {
            weak.extend(result.weak);
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
    (Resolved { references: words.into_iter().map(NodeId).collect(), weak }, dangling)
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
        let mut weak = segment.weak.iter().map(|&at| at as usize).peekable();
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
            let (before, weak_before) = (write, result.weak.len());
            let mut skip_first =
                self.options.first_reference_is_class && !labelled && (!is_leading || segment.leading_is_first);
            for _ in 0..count {
                let id = segment.reference_packing.unpack(words, read);
                read += 1;
                let is_weak = weak.next_if_eq(&(read - 1)).is_some();
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
                    Some(rank) if is_weak => result.weak.push(WeakReference {
                        source: object as u32,
                        place: (write - before + result.weak.len() - weak_before) as u32,
                        target: NodeId(map.first_node + rank),
                    }),
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
        (first..first + builder.counts[object] as usize)
            .map(move |index| segment.reference_packing.unpack(words, index))
    }
}
