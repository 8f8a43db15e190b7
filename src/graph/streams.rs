//! Dumps in two streams: objects that say how many references they have, and references that follow apart, in the same
//! order. Nothing but the counts says whose a reference is, so a hole in either stream ends what can be told.

use rayon::prelude::*;

use super::budget::make_room;
use super::builder::{BuildError, GraphBuilder, SectionBuild, Segment};
use super::columns::{ObjectColumns, Packing, PositionRun};
use super::findings::{Findings, Tally};
use super::id_map::{IdMap, IdRange};
use super::{NodeId, SectionIds};

/// Stands for a reference that leads nowhere until it is dropped; no node has this number.
const NOWHERE: u32 = u32::MAX;

/// The references of one block, packed in one way.
#[derive(Debug, Clone)]
struct Piece {
    packing: Packing,
    count: usize,
    position: u64,
    stride: u64,
}

impl Piece {
    fn words(&self) -> usize {
        self.count * self.packing.width()
    }
}

/// The stream of references.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pieces: Vec<Piece>,
}

impl Streams {
    pub(super) fn memory_bytes(&self) -> usize {
        self.pieces.len() * size_of::<Piece>()
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
        let piece = Piece { packing, count: columns.reference_count(), position, stride };
        make_room(&mut self.reference_words, columns.reference_words.len());
        self.reference_words.extend_from_slice(&columns.reference_words);
        self.streams.get_or_insert_default().pieces.push(piece);
        Ok(())
    }

    /// Calls to `append` so far, and to `append_references`: what `keep_pieces` counts in.
    pub fn pieces(&self) -> (usize, usize) {
        (self.segments.len(), self.streams.as_ref().map_or(0, |streams| streams.pieces.len()))
    }

    /// Keeps these pieces of the two streams, in this order, and drops all others. For dumps of one section. Costs
    /// nothing when that changes nothing, else a copy of what is kept.
    ///
    /// # Errors
    /// When there is no memory for the copy.
    pub fn keep_pieces(&mut self, objects: &[usize], references: &[usize]) -> Result<(), BuildError> {
        let (object_pieces, reference_pieces) = self.pieces();
        if !objects.iter().copied().eq(0..object_pieces) {
            self.check_copy(objects.iter().map(|&number| self.segments[number].objects.len() as u64 * 16).sum())?;
            self.keep_objects(objects);
        }
        if let Some(streams) = &mut self.streams
            && !references.iter().copied().eq(0..reference_pieces)
        {
            let mut starts = Vec::with_capacity(reference_pieces);
            let mut start = 0;
            for piece in &streams.pieces {
                starts.push(start);
                start += piece.words();
            }
            let kept: usize = references.iter().map(|&number| streams.pieces[number].words()).sum();
            let mut words = Vec::with_capacity(kept);
            for &number in references {
                words.extend_from_slice(&self.reference_words[starts[number]..][..streams.pieces[number].words()]);
            }
            self.reference_words = words;
            streams.pieces = references.iter().map(|&number| streams.pieces[number].clone()).collect();
        }
        Ok(())
    }

    fn keep_objects(&mut self, kept: &[usize]) {
        let mut new = GraphBuilder::default();
        let mut build = SectionBuild { ascending: true, ..SectionBuild::default() };
        for &number in kept {
            let segment = &self.segments[number];
            let objects = segment.objects.clone();
            let first = new.types.len();
            let first_id_word = new.id_words.len();
            let id_words = &self.id_words[segment.first_id_word..][..objects.len() * segment.id_packing.width()];
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
                build.note_id(segment.id_packing.unpack_id(id_words, index));
            }
            new.segments.push(Segment {
                section: segment.section,
                objects: first..first + objects.len(),
                first_id_word,
                id_packing: segment.id_packing,
                reference_words: 0,
                reference_packing: Packing::default(),
                leading: 0,
                leading_is_first: false,
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
        self.segments = new.segments;
    }

    /// Gives the first `objects` objects the first `references` references, as their counts say, and no other object
    /// any. Returns how many references found an object.
    pub fn pair_references(&mut self, objects: usize, references: u64) -> u64 {
        let available: usize = self.streams.iter().flat_map(|streams| &streams.pieces).map(|piece| piece.count).sum();
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
        let Some(streams) = &mut self.streams else { return };
        let (mut kept, mut words) = (0, 0);
        for piece in &mut streams.pieces {
            piece.count = piece.count.min(used - kept);
            kept += piece.count;
            words += piece.words();
            if kept == used {
                break;
            }
        }
        // Pieces behind the last one used have no words left; a cut one may only be the last.
        let mut sum = 0;
        streams.pieces.retain(|piece| {
            let wanted = sum < used;
            sum += piece.count;
            wanted
        });
        self.reference_words.truncate(words);
    }

    /// Turns the stream's ids into nodes in the same memory, and drops what is null or dangling.
    pub(super) fn resolve_streams(
        &mut self,
        streams: &Streams,
        maps: &[SectionIds],
        findings: &mut Findings,
    ) -> Vec<NodeId> {
        let mut words = std::mem::take(&mut self.reference_words);
        let Some(map) = maps.first() else { return Vec::new() };
        let mut work = Vec::with_capacity(streams.pieces.len());
        let mut rest = &mut words[..];
        for piece in &streams.pieces {
            let (own, behind) = rest.split_at_mut(piece.words());
            rest = behind;
            work.push((piece, own));
        }
        let bad: Vec<(u64, Tally)> =
            work.into_par_iter().map(|(piece, words)| resolve_piece(piece, words, map)).collect();
        let (mut from, mut to) = (0, 0);
        for piece in &streams.pieces {
            if from != to {
                words.copy_within(from..from + piece.count, to);
            }
            from += piece.words();
            to += piece.count;
        }
        words.truncate(to);
        let mut any = false;
        for (nulls, dangling) in bad {
            any |= nulls + dangling.count > 0;
            findings.null_references += nulls;
            findings.dangling_references.join(dangling);
        }
        if any {
            self.drop_nowhere(&mut words);
        }
        if let Some(section) = self.sections.first_mut() {
            section.section.null_references += findings.null_references;
            section.section.dangling_references += findings.dangling_references.count;
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
    pub(super) fn resolve_added(&mut self, maps: &[SectionIds], findings: &mut Findings) -> Vec<(NodeId, NodeId)> {
        let mut added = Vec::new();
        for (section, from, to, position) in std::mem::take(&mut self.added_references) {
            let map = &maps[section as usize];
            match (map.node(from), map.node(to)) {
                (Some(from), Some(to)) => added.push((from, to)),
                _ => {
                    findings.dangling_references.add(position);
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
fn resolve_piece(piece: &Piece, words: &mut [u32], map: &SectionIds) -> (u64, Tally) {
    let (mut nulls, mut dangling) = (0, Tally::default());
    for index in 0..piece.count {
        let id = piece.packing.unpack(words, index);
        words[index] = match map.ids.rank(id) {
            _ if id == 0 => {
                nulls += 1;
                NOWHERE
            }
            Some(rank) => map.first_node + rank,
            None => {
                dangling.add(piece.position + piece.stride * index as u64);
                NOWHERE
            }
        };
    }
    (nulls, dangling)
}
