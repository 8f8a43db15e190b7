//! References of all objects from ids to node numbers, in the memory they were packed in.

use rustc_hash::FxHashMap;

use super::builder::SectionInProgress;
use super::id_map::{IdLookups, IdRange, IdRankMap};
use super::list_lengths::{LONG_MARK, ListLengths, length_of};
use super::object_columns::PositionRun;
use super::packed_objects::{ObjectChunk, position_of};
use super::resolve_counts::ResolveCounts;
use super::resolve_counts::{RepeatedObject, ResolveOptions};
use super::weak_references::WeakReference;
use super::{NodeId, SectionIds};
use crate::parallel;

/// The part of the references that one chunk's pass writes.
struct ChunkResolveInput<'a> {
    chunk: &'a ObjectChunk,
    reference_words: &'a mut [u32],
    reference_counts: &'a mut [u8],
    long_counts: &'a FxHashMap<u32, u32>,
}

/// What the pass over one chunk left in place, and what it counted.
#[derive(Default)]
struct ChunkResolveResult {
    kept_word_count: usize,
    kept_leading_count: u32,
    /// (object, references) of those that have many.
    long_counts: Vec<(u32, u32)>,
    problems: ResolveCounts,
    unresolved_references: UnresolvedReferences,
    /// By object; the places of those that lead the chunk count from its start.
    weak: Vec<WeakReference>,
}

/// References that lead nowhere and are looked at again.
#[derive(Default)]
pub(super) struct UnresolvedReferences {
    /// Dangling ids with their positions, kept only where several sections could satisfy them.
    pub(super) ids_and_positions: Vec<(u64, u64)>,
    /// (array, id) of `archive_arrays`, by array; not counted as dangling.
    pub(super) of_archive_arrays: Vec<(NodeId, u64)>,
}

/// References of all objects in the order of the dump, apart from how many each has.
#[derive(Default)]
pub(super) struct ResolvedReferences {
    pub(super) references: Vec<NodeId>,
    /// By object.
    pub(super) weak: Vec<WeakReference>,
}

/// What the references of every chunk are resolved by.
pub(super) struct ReferenceResolver<'a> {
    pub(super) maps: &'a [SectionIds],
    /// Numbers of class objects, ascending: their first reference is never dropped.
    pub(super) class_objects: &'a [u32],
    /// Arrays whose dangling references are not counted here, as objects (ascending) and nodes.
    pub(super) archive_arrays: &'a [(u32, NodeId)],
    pub(super) dropped_objects: &'a [RepeatedObject],
    pub(super) position_runs: &'a [PositionRun],
    pub(super) options: ResolveOptions,
    pub(super) has_several_sections: bool,
}

/// Turns packed references into nodes in the same memory, and drops what is null or dangling.
pub(super) fn resolve_references(
    mut words: Vec<u32>,
    counts: &mut ListLengths,
    chunks: &[ObjectChunk],
    resolver: &ReferenceResolver<'_>,
    sections: &mut [SectionInProgress],
    problems: &mut ResolveCounts,
) -> (ResolvedReferences, UnresolvedReferences) {
    let mut work = Vec::with_capacity(chunks.len());
    let (mut words_left, mut counts_left) = (&mut words[..], &mut counts.short[..]);
    for chunk in chunks {
        let (own_words, rest) = words_left.split_at_mut(chunk.reference_word_count);
        words_left = rest;
        let (own_counts, rest) = counts_left.split_at_mut(chunk.objects.len());
        counts_left = rest;
        work.push(ChunkResolveInput {
            chunk,
            reference_words: own_words,
            reference_counts: own_counts,
            long_counts: &counts.long,
        });
    }
    let results: Vec<ChunkResolveResult> = parallel::map(work, &|work| resolver.resolve_chunk(work));

    let (mut missing, mut weak) = (UnresolvedReferences::default(), Vec::<WeakReference>::new());
    let (mut from, mut to) = (0, 0);
    for (chunk, result) in chunks.iter().zip(results) {
        if from != to {
            words.copy_within(from..from + result.kept_word_count, to);
        }
        from += chunk.reference_word_count;
        to += result.kept_word_count;
        counts.long.extend(result.long_counts);
        if let Some(before) = chunk.objects.start.checked_sub(1) {
            // What the chunks before have of the object comes first.
            let source = before as u32;
            let weak_before = weak.iter().rev().take_while(|weak| weak.source == source).count() as u32;
            let places_before = counts.get(before) + weak_before;
            weak.extend(result.weak.into_iter().map(|weak| match weak.source == source {
                true => WeakReference { reference_index: places_before + weak.reference_index, ..weak },
                false => weak,
            }));
            counts.set(before, counts.get(before) + result.kept_leading_count);
        } else {
            weak.extend(result.weak);
        }
        let section = &mut sections[chunk.section as usize].section;
        section.null_references += result.problems.null_references;
        section.dangling_references += result.problems.dangling_references.count;
        problems.null_references += result.problems.null_references;
        problems.dropped_first_references += result.problems.dropped_first_references;
        problems.dangling_references.join(result.problems.dangling_references);
        missing.ids_and_positions.extend(result.unresolved_references.ids_and_positions);
        missing.of_archive_arrays.extend(result.unresolved_references.of_archive_arrays);
    }
    words.truncate(to);
    words.shrink_to_fit();
    // u32 and NodeId have one layout, so collecting in place costs nothing.
    (ResolvedReferences { references: words.into_iter().map(NodeId).collect(), weak }, missing)
}

impl ReferenceResolver<'_> {
    fn resolve_chunk(&self, work: ChunkResolveInput<'_>) -> ChunkResolveResult {
        let ChunkResolveInput { chunk, reference_words: words, reference_counts: counts, long_counts } = work;
        let map = &self.maps[chunk.section as usize];
        let mut result = ChunkResolveResult::default();
        let (mut read, mut write) = (0, 0);
        let start = chunk.objects.start;
        let mut next_class = self.class_objects.partition_point(|&object| (object as usize) < start.saturating_sub(1));
        let mut dropped =
            self.dropped_objects.partition_point(|pair| (pair.dropped_object as usize) < start.saturating_sub(1));
        let leading =
            (chunk.leading_reference_count > 0).then(|| (start.wrapping_sub(1), chunk.leading_reference_count));
        let own = counts.len();
        let (packing, end) = (chunk.reference_packing, words.len() / chunk.reference_packing.words_per_value());
        let mut lookups = IdLookups::new(&map.id_map);
        let mut weak = chunk.weak_indices.iter().map(|&at| at as usize).peekable();
        for at in 0..own + usize::from(leading.is_some()) {
            let (object, count, is_leading) = match leading {
                Some((object, count)) if at == 0 => (object, count, true),
                _ => {
                    let index = at - usize::from(leading.is_some());
                    (start + index, length_of(counts[index], start + index, long_counts) as usize, false)
                }
            };
            while self.class_objects.get(next_class).is_some_and(|&class_object| (class_object as usize) < object) {
                next_class += 1;
            }
            let is_class_object =
                self.class_objects.get(next_class).is_some_and(|&class_object| class_object as usize == object);
            while self.dropped_objects.get(dropped).is_some_and(|pair| (pair.dropped_object as usize) < object) {
                dropped += 1;
            }
            let is_dropped =
                self.dropped_objects.get(dropped).is_some_and(|pair| pair.dropped_object as usize == object);
            let (before, weak_before) = (write, result.weak.len());
            let mut skip_first =
                self.options.drop_first_references && !is_class_object && (!is_leading || chunk.leading_begins_list);
            for _ in 0..count {
                // Places before `read` alone have been written to.
                let (id, rank) = lookups.next((read..end).map(|at| packing.unpack(words, at)));
                read += 1;
                let is_weak = weak.next_if_eq(&(read - 1)).is_some();
                if is_dropped {
                    continue;
                }
                if skip_first {
                    skip_first = false;
                    result.problems.dropped_first_references += 1;
                    continue;
                }
                match rank {
                    _ if id == 0 => result.problems.null_references += 1,
                    Some(rank) if is_weak => result.weak.push(WeakReference {
                        source: object as u32,
                        reference_index: (write - before + result.weak.len() - weak_before) as u32,
                        target: NodeId(map.first_node + rank),
                    }),
                    Some(rank) => {
                        words[write] = map.first_node + rank;
                        write += 1;
                    }
                    None => {
                        let array = self.archive_arrays.binary_search_by_key(&(object as u32), |array| array.0);
                        if let Ok(array) = array {
                            result.unresolved_references.of_archive_arrays.push((self.archive_arrays[array].1, id));
                            continue;
                        }
                        let position = position_of(self.position_runs, object);
                        result.problems.dangling_references.add_at(position);
                        if self.has_several_sections {
                            result.unresolved_references.ids_and_positions.push((id, position));
                        }
                    }
                }
            }
            if is_leading {
                result.kept_leading_count = (write - before) as u32;
            } else {
                let kept = (write - before) as u32;
                counts[at - usize::from(leading.is_some())] = u8::try_from(kept).unwrap_or(LONG_MARK);
                if kept >= LONG_MARK.into() {
                    result.long_counts.push((object as u32, kept));
                }
            }
        }
        result.kept_word_count = write;
        result
    }
}

/// A dangling reference that some section has an object for breaks the rule that ids belong to their section; one map
/// of all ids tells, so that many sections cost no more than one.
pub(super) fn count_cross_section_references(
    maps: &[SectionIds],
    dangling: Vec<(u64, u64)>,
    problems: &mut ResolveCounts,
) {
    let all = || maps.iter().flat_map(|map| (0..map.id_map.len() as u32).map(|rank| map.id_map.select(rank)));
    let mut ids = all();
    let Some(first) = ids.next() else { return };
    let mut range = IdRange::of(first);
    let mut count = 1;
    for id in ids {
        range.add(id);
        count += 1;
    }
    let union = IdRankMap::build(range, count, all);
    for (id, position) in dangling {
        if union.rank(id).is_some() {
            problems.cross_section_references.add_at(position);
        }
    }
}
