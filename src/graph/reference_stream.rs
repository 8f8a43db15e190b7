//! Dumps in two streams: objects that say how many references they have, and references that follow apart, in the same
//! order. Nothing but the counts says whose a reference is, so a hole in either stream ends what can be told.

use super::budget::make_room;
use super::id_map::IdLookups;
use super::list_lengths::ListLengths;
use super::object_columns::{ObjectColumns, WordPacking};
use super::resolve_counts::{Occurrences, ResolveCounts};
use super::{NodeId, SectionIds};
use crate::parallel;

/// Stands for a reference that leads nowhere until it is dropped; no node has this number.
const NO_NODE: u32 = u32::MAX;

/// The references of one block, packed in one way.
#[derive(Debug, Clone)]
struct ReferenceChunk {
    packing: WordPacking,
    reference_count: usize,
    /// Position of the first reference in the input.
    first_position: u64,
    /// From one reference to the next.
    stride: u64,
}

impl ReferenceChunk {
    fn word_count(&self) -> usize {
        self.reference_count * self.packing.words_per_value()
    }
}

/// References that came apart from their objects, in the order of the dump.
#[derive(Debug, Default)]
pub(super) struct ReferenceStream {
    chunks: Vec<ReferenceChunk>,
    /// The packed references of all chunks.
    words: Vec<u32>,
}

impl ReferenceStream {
    pub(super) fn memory_bytes(&self) -> usize {
        self.chunks.len() * size_of::<ReferenceChunk>() + self.words.len() * size_of::<u32>()
    }

    pub(super) fn word_count(&self) -> usize {
        self.words.len()
    }

    /// Calls to `append` so far.
    pub(super) fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn reference_count(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.reference_count).sum()
    }

    /// Appends the references of one block.
    pub(super) fn append(&mut self, columns: &ObjectColumns, position: u64, stride: u64) {
        let packing = columns.reference_packing;
        self.chunks.push(ReferenceChunk {
            packing,
            reference_count: columns.reference_count(),
            first_position: position,
            stride,
        });
        make_room(&mut self.words, columns.reference_words.len());
        self.words.extend_from_slice(&columns.reference_words);
    }

    /// The references of these chunks, in this order.
    pub(super) fn of_chunks(&self, numbers: &[usize]) -> Self {
        let mut starts = Vec::with_capacity(self.chunks.len());
        let mut start = 0;
        for chunk in &self.chunks {
            starts.push(start);
            start += chunk.word_count();
        }
        let kept: usize = numbers.iter().map(|&number| self.chunks[number].word_count()).sum();
        let mut words = Vec::with_capacity(kept);
        for &number in numbers {
            words.extend_from_slice(&self.words[starts[number]..][..self.chunks[number].word_count()]);
        }
        ReferenceStream { chunks: numbers.iter().map(|&number| self.chunks[number].clone()).collect(), words }
    }

    /// Drops all but the first `used` references.
    pub(super) fn truncate(&mut self, used: usize) {
        let (mut kept, mut words) = (0, 0);
        for chunk in &mut self.chunks {
            chunk.reference_count = chunk.reference_count.min(used - kept);
            kept += chunk.reference_count;
            words += chunk.word_count();
            if kept == used {
                break;
            }
        }
        // Chunks behind the last one used have no words left; a cut one may only be the last.
        let mut sum = 0;
        self.chunks.retain(|chunk| {
            let wanted = sum < used;
            sum += chunk.reference_count;
            wanted
        });
        self.words.truncate(words);
    }

    /// Turns the stream's ids into nodes in the same memory, and drops what is null or dangling.
    /// `counts` says how many each object has.
    pub(super) fn resolve(
        self,
        map: &SectionIds,
        counts: &mut ListLengths,
        problems: &mut ResolveCounts,
    ) -> Vec<NodeId> {
        let ReferenceStream { chunks, mut words } = self;
        let mut work = Vec::with_capacity(chunks.len());
        let mut rest = &mut words[..];
        for chunk in &chunks {
            let (own, behind) = rest.split_at_mut(chunk.word_count());
            rest = behind;
            work.push((chunk, own));
        }
        let bad: Vec<(u64, Occurrences)> = parallel::map(work, &|(chunk, words)| resolve_chunk(chunk, words, map));
        let (mut from, mut to) = (0, 0);
        for chunk in &chunks {
            if from != to {
                words.copy_within(from..from + chunk.reference_count, to);
            }
            from += chunk.word_count();
            to += chunk.reference_count;
        }
        words.truncate(to);
        let mut any = false;
        for (nulls, dangling) in bad {
            any |= nulls + dangling.count > 0;
            problems.null_references += nulls;
            problems.dangling_references.join(dangling);
        }
        if any {
            drop_references_without_node(&mut words, counts);
        }
        words.shrink_to_fit();
        // u32 and NodeId have one layout, so collecting in place costs nothing.
        words.into_iter().map(NodeId).collect()
    }
}

/// Takes references that lead nowhere out of the lists.
fn drop_references_without_node(words: &mut Vec<u32>, counts: &mut ListLengths) {
    let (mut read, mut write) = (0, 0);
    for object in 0..counts.len() {
        let (before, count) = (write, counts.get(object) as usize);
        for at in read..read + count {
            if words[at] != NO_NODE {
                words[write] = words[at];
                write += 1;
            }
        }
        read += count;
        counts.set(object, (write - before) as u32);
    }
    words.truncate(write);
}

/// Writes the node of every reference over its id; how many are null, and how many dangle.
fn resolve_chunk(chunk: &ReferenceChunk, words: &mut [u32], map: &SectionIds) -> (u64, Occurrences) {
    let (mut nulls, mut dangling) = (0, Occurrences::default());
    let mut lookups = IdLookups::new(&map.id_map);
    for index in 0..chunk.reference_count {
        let (id, rank) = lookups.next((index..chunk.reference_count).map(|at| chunk.packing.unpack(words, at)));
        words[index] = match rank {
            _ if id == 0 => {
                nulls += 1;
                NO_NODE
            }
            Some(rank) => map.first_node + rank,
            None => {
                dangling.add_at(chunk.first_position + chunk.stride * index as u64);
                NO_NODE
            }
        };
    }
    (nulls, dangling)
}
