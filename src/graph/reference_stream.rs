//! Dumps in two streams: objects that say how many references they have, and references that follow apart, in the same
//! order. Nothing but the counts says whose a reference is, so a hole in either stream ends what can be told.

use rayon::prelude::*;

use super::budget::make_room;
use super::builder::{BuildError, Chunk, GraphBuilder, SectionBuild};
use super::columns::{ObjectColumns, Packing, PositionRun};
use super::id_map::{IdMap, IdRange};
use super::resolve_counts::{Occurrences, ResolveCounts};
use super::{NodeId, SectionIds};

/// Stands for a reference that leads nowhere until it is dropped; no node has this number.
const NOWHERE: u32 = u32::MAX;

/// The references of one block, packed in one way.
#[derive(Debug, Clone)]
struct ReferenceChunk {
    packing: Packing,
    count: usize,
    position: u64,
    stride: u64,
}

impl ReferenceChunk {
    fn words(&self) -> usize {
        self.count * self.packing.width()
    }
}

/// The stream of references.
#[derive(Debug, Default)]
pub(super) struct ReferenceStream {
    chunks: Vec<ReferenceChunk>,
}

impl ReferenceStream {
    pub(super) fn memory_bytes(&self) -> usize {
        self.chunks.len() * size_of::<ReferenceChunk>()
    }
}

impl GraphBuilder {
    /// Appends references that came apart from their objects; the object stream's counts say whose they are.
    /// `stride` bytes lie between two of them.
    ///
    /// # Errors
    /// When the dump takes more memory than it may.
    pub fn append_references(&mut self, columns: &ObjectColumns, position: u64, stride: u64) -> Result<(), BuildError> {
        self.check_memory()?;
        let packing = columns.reference_packing;
        let chunk = ReferenceChunk { packing, count: columns.reference_count(), position, stride };
        make_room(&mut self.reference_words, columns.reference_words.len());
        self.reference_words.extend_from_slice(&columns.reference_words);
        self.stream.get_or_insert_default().chunks.push(chunk);
        Ok(())
    }

    /// Calls to `append` so far, and to `append_references`: what `keep_chunks` counts in.
    pub fn chunk_counts(&self) -> (usize, usize) {
        (self.chunks.len(), self.stream.as_ref().map_or(0, |stream| stream.chunks.len()))
    }

    /// Keeps these chunks of the two streams, in this order, and drops all others. For dumps of one section. Costs
    /// nothing when that changes nothing, else a copy of what is kept.
    ///
    /// # Errors
    /// When there is no memory for the copy.
    pub fn keep_chunks(&mut self, objects: &[usize], references: &[usize]) -> Result<(), BuildError> {
        let (object_chunks, reference_chunks) = self.chunk_counts();
        if !objects.iter().copied().eq(0..object_chunks) {
            self.check_copy(objects.iter().map(|&number| self.chunks[number].objects.len() as u64 * 16).sum())?;
            self.keep_objects(objects);
        }
        if let Some(stream) = &mut self.stream
            && !references.iter().copied().eq(0..reference_chunks)
        {
            let mut starts = Vec::with_capacity(reference_chunks);
            let mut start = 0;
            for chunk in &stream.chunks {
                starts.push(start);
                start += chunk.words();
            }
            let kept: usize = references.iter().map(|&number| stream.chunks[number].words()).sum();
            let mut words = Vec::with_capacity(kept);
            for &number in references {
                words.extend_from_slice(&self.reference_words[starts[number]..][..stream.chunks[number].words()]);
            }
            self.reference_words = words;
            stream.chunks = references.iter().map(|&number| stream.chunks[number].clone()).collect();
        }
        Ok(())
    }

    fn keep_objects(&mut self, kept: &[usize]) {
        let mut new = GraphBuilder::default();
        let mut build = SectionBuild { ascending: true, ..SectionBuild::default() };
        for &number in kept {
            let chunk = &self.chunks[number];
            let objects = chunk.objects.clone();
            let first = new.types.len();
            let first_id_word = new.id_words.len();
            let id_words = &self.id_words[chunk.first_id_word..][..objects.len() * chunk.id_packing.width()];
            new.id_words.extend_from_slice(id_words);
            new.types.extend_from_slice(&self.types[objects.clone()]);
            new.shallow.extend_from_slice(&self.shallow[objects.clone()]);
            new.counts.extend_from_slice(&self.counts[objects.clone()]);
            let from = self.large.partition_point(|&(object, _)| (object as usize) < objects.start);
            let large = self.large[from..].iter().take_while(|&&(object, _)| (object as usize) < objects.end);
            new.large.extend(large.map(|&(object, bytes)| ((object as usize - objects.start + first) as u32, bytes)));
            let position = Self::position_of(&self.positions, objects.start);
            let stride = Self::position_of(&self.positions, objects.start + 1).wrapping_sub(position);
            new.positions.push(PositionRun { first_object: first as u32, position, stride });
            for index in 0..objects.len() {
                build.note_id(chunk.id_packing.unpack_id(id_words, index));
            }
            new.chunks.push(Chunk {
                section: chunk.section,
                objects: first..first + objects.len(),
                first_id_word,
                id_packing: chunk.id_packing,
                reference_words: 0,
                reference_packing: Packing::default(),
                leading: 0,
                leading_begins_list: false,
                weak: Vec::new(),
            });
        }
        if let Some(section) = self.sections.first_mut() {
            build.section = std::mem::take(&mut section.section);
            *section = build;
        }
        self.id_words = new.id_words;
        self.types = new.types;
        self.shallow = new.shallow;
        self.counts = new.counts;
        self.large = new.large;
        self.positions = new.positions;
        self.chunks = new.chunks;
    }

    /// Gives the first `objects` objects the first `references` references, as their counts say, and no other object
    /// any. Returns how many references found an object.
    pub fn pair_references(&mut self, objects: usize, references: u64) -> u64 {
        let available: usize = self.stream.iter().flat_map(|stream| &stream.chunks).map(|chunk| chunk.count).sum();
        let available = available.min(usize::try_from(references).unwrap_or(usize::MAX));
        let mut left = available;
        for (object, count) in self.counts.iter_mut().enumerate() {
            let own = if object < objects { left.min(*count as usize) } else { 0 };
            *count = own as u32;
            left -= own;
        }
        let used = available - left;
        self.truncate_references(used);
        used as u64
    }

    fn truncate_references(&mut self, used: usize) {
        let Some(stream) = &mut self.stream else { return };
        let (mut kept, mut words) = (0, 0);
        for chunk in &mut stream.chunks {
            chunk.count = chunk.count.min(used - kept);
            kept += chunk.count;
            words += chunk.words();
            if kept == used {
                break;
            }
        }
        // Pieces behind the last one used have no words left; a cut one may only be the last.
        let mut sum = 0;
        stream.chunks.retain(|chunk| {
            let wanted = sum < used;
            sum += chunk.count;
            wanted
        });
        self.reference_words.truncate(words);
    }

    /// Turns the stream's ids into nodes in the same memory, and drops what is null or dangling.
    pub(super) fn resolve_stream(
        &mut self,
        stream: &ReferenceStream,
        maps: &[SectionIds],
        problems: &mut ResolveCounts,
    ) -> Vec<NodeId> {
        let mut words = std::mem::take(&mut self.reference_words);
        let Some(map) = maps.first() else { return Vec::new() };
        let mut work = Vec::with_capacity(stream.chunks.len());
        let mut rest = &mut words[..];
        for chunk in &stream.chunks {
            let (own, behind) = rest.split_at_mut(chunk.words());
            rest = behind;
            work.push((chunk, own));
        }
        let bad: Vec<(u64, Occurrences)> =
            work.into_par_iter().map(|(chunk, words)| resolve_chunk(chunk, words, map)).collect();
        let (mut from, mut to) = (0, 0);
        for chunk in &stream.chunks {
            if from != to {
                words.copy_within(from..from + chunk.count, to);
            }
            from += chunk.words();
            to += chunk.count;
        }
        words.truncate(to);
        let mut any = false;
        for (nulls, dangling) in bad {
            any |= nulls + dangling.count > 0;
            problems.null_references += nulls;
            problems.dangling_references.join(dangling);
        }
        if any {
            self.drop_nowhere(&mut words);
        }
        if let Some(section) = self.sections.first_mut() {
            section.section.null_references += problems.null_references;
            section.section.dangling_references += problems.dangling_references.count;
        }
        words.shrink_to_fit();
        // u32 and NodeId have one layout, so collecting in place costs nothing.
        words.into_iter().map(NodeId).collect()
    }

    fn drop_nowhere(&mut self, words: &mut Vec<u32>) {
        let (mut read, mut write) = (0, 0);
        for count in &mut self.counts {
            let before = write;
            for at in read..read + *count as usize {
                if words[at] != NOWHERE {
                    words[write] = words[at];
                    write += 1;
                }
            }
            read += *count as usize;
            *count = (write - before) as u32;
        }
        words.truncate(write);
    }

    /// The added references that have both objects, as nodes; the others are counted.
    pub(super) fn resolve_added(&mut self, maps: &[SectionIds], problems: &mut ResolveCounts) -> Vec<(NodeId, NodeId)> {
        let mut added = Vec::new();
        for (section, from, to, position) in std::mem::take(&mut self.added_references) {
            let map = &maps[section as usize];
            match (map.node(from), map.node(to)) {
                (Some(from), Some(to)) => added.push((from, to)),
                _ => {
                    problems.dangling_references.add(position);
                    self.sections[section as usize].section.dangling_references += 1;
                }
            }
        }
        added
    }
}

/// Puts the added references behind those that their objects list, in their order.
pub(super) fn splice_added(mut added: Vec<(NodeId, NodeId)>, counts: &mut [u32], references: &mut Vec<NodeId>) {
    added.sort_by_key(|&(from, _)| from);
    let mut ends = Vec::with_capacity(added.len());
    let (mut node, mut sum) = (0usize, 0usize);
    for &(from, _) in &added {
        while node <= from.index() {
            sum += counts[node] as usize;
            node += 1;
        }
        ends.push(sum);
    }
    // From the back, so that every reference moves once and in place.
    let mut behind = references.len();
    references.resize(behind + added.len(), NodeId(0));
    for (before, (&(from, to), &end)) in added.iter().zip(&ends).enumerate().rev() {
        references.copy_within(end..behind, end + before + 1);
        references[end + before] = to;
        behind = end;
        counts[from.index()] += 1;
    }
}

impl SectionBuild {
    /// What the map of the section's ids takes while it is made.
    pub(super) fn map_bytes(&self) -> u64 {
        self.range.map_or(0, |range| IdMap::most_bytes(range, self.objects))
    }

    fn note_id(&mut self, id: u64) {
        match &mut self.range {
            Some(range) => range.add(id),
            None => self.range = Some(IdRange::of(id)),
        }
        self.ascending &= self.last_id.is_none_or(|last| last < id);
        self.last_id = Some(id);
        self.objects += 1;
    }
}

/// Writes the node of every reference over its id; how many are null, and how many dangle.
fn resolve_chunk(chunk: &ReferenceChunk, words: &mut [u32], map: &SectionIds) -> (u64, Occurrences) {
    let (mut nulls, mut dangling) = (0, Occurrences::default());
    for index in 0..chunk.count {
        let id = chunk.packing.unpack(words, index);
        words[index] = match map.ids.rank(id) {
            _ if id == 0 => {
                nulls += 1;
                NOWHERE
            }
            Some(rank) => map.first_node + rank,
            None => {
                dangling.add(chunk.position + chunk.stride * index as u64);
                NOWHERE
            }
        };
    }
    (nulls, dangling)
}
