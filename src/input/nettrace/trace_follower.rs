//! A trace of versions 4 and 5 that is being written, followed piece by piece: whether the collection that was asked for has
//! begun and ended, and whether events were lost. Nothing is kept of the heap; what cannot be read is counted.

use nom::number::complete::le_i32;
use rustc_hash::{FxHashMap, FxHashSet};

use super::container::{MAGIC, NULL_TAG, OBJECT_START, SERIALIZATION_MAGIC, object_type};
use super::events::{Event, SequenceNumbers, for_each_event, for_each_sequence_number};
use super::metadata::{self, DeclaredEvent, EventKind};
use super::primitives::{u32_at, u64_at};

use super::payload::bulk_head;
use super::recording::recording;
use super::types::for_each_description;

/// Blocks hold 100 KB, or one event.
const MAX_BLOCK_BYTES: usize = 16 << 20;
/// Of what stands before a block's content: an object's type and name, a size, padding.
const MAX_BLOCK_HEAD_BYTES: usize = 96;
/// `Trace` and its end.
const TRACE_OBJECT_BYTES: usize = 49;

/// It is no such trace.
#[derive(Debug)]
pub(crate) struct NotNettrace;

/// The state of a trace that is being written.
#[derive(Debug, Default)]
pub(crate) struct TraceFollower {
    pending_bytes: Vec<u8>,
    /// Of the first pending byte.
    offset: u64,
    /// The first bytes of a trace have come.
    has_begun: bool,
    /// The trace's end mark has come.
    pub(crate) is_complete: bool,
    declared_events: FxHashMap<u32, DeclaredEvent>,
    sequences: SequenceNumbers,
    ticks_per_second: i64,
    pointer_bytes: usize,
    types: FollowedTypes,
    /// Objects came before the collection that was asked for: another session's.
    has_foreign_objects: bool,
    /// Numbers and times of the collections that somebody asked for, and of the ends of all.
    induced_collection_starts: Vec<(u32, u64)>,
    collection_ends: Vec<(u32, u64)>,
    pub(crate) lost_event_count: u64,
    pub(crate) object_count: u64,
    /// Events that carry the heap.
    pub(crate) bulk_event_count: u64,
    /// Places that could not be read.
    pub(crate) unreadable_place_count: u64,
    /// Blocks that came whole.
    pub(crate) complete_block_count: u64,
}

/// What came of an attempt to read the next piece of the trace.
enum PieceProgress {
    PieceRead,
    NeedsMore,
}

impl TraceFollower {
    /// Takes the next bytes. Error: if they begin no trace; never later.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), NotNettrace> {
        if self.is_complete {
            return Ok(());
        }
        self.pending_bytes.extend_from_slice(bytes);
        if !self.has_begun {
            let head = [MAGIC, SERIALIZATION_MAGIC].concat();
            let known = self.pending_bytes.len().min(head.len());
            if self.pending_bytes[..known] != head[..known] {
                return Err(NotNettrace);
            }
            if known < head.len() {
                return Ok(());
            }
            self.has_begun = true;
            self.advance(head.len());
        }
        while !self.is_complete && matches!(self.read_next_piece(), PieceProgress::PieceRead) {}
        Ok(())
    }

    /// How many collections somebody asked for: one, unless another session is open.
    pub(crate) fn collection_count(&self) -> u64 {
        self.induced_collection_starts.len() as u64 + u64::from(self.has_foreign_objects)
    }

    /// How many types of objects the trace does not describe: another session was open, and has got them.
    pub(crate) fn missing_type_count(&self) -> u64 {
        self.types.missing_count()
    }

    /// Duration of the first collection, once all that have begun have ended and the heap has come: that of a session
    /// before this one, whose reader has died, is without.
    pub(crate) fn collection_duration(&self) -> Option<std::time::Duration> {
        let end_of =
            |number: u32| self.collection_ends.iter().find(|(ended, _)| *ended == number).map(|(_, time)| *time);
        let have_ended = self.induced_collection_starts.iter().all(|(number, _)| end_of(*number).is_some());
        let &(number, start) =
            self.induced_collection_starts.first().filter(|_| have_ended && self.object_count > 0)?;
        let per_second = u64::try_from(self.ticks_per_second).ok().filter(|&ticks| ticks > 0);
        let seconds = end_of(number)?.saturating_sub(start) as f64 / per_second.unwrap_or(1_000_000_000) as f64;
        std::time::Duration::try_from_secs_f64(seconds).ok()
    }

    fn advance(&mut self, count: usize) {
        self.pending_bytes.drain(..count);
        self.offset += count as u64;
    }

    fn read_next_piece(&mut self) -> PieceProgress {
        if self.pending_bytes.first() == Some(&NULL_TAG) {
            self.is_complete = true;
            self.pending_bytes = Vec::new();
            return PieceProgress::PieceRead;
        }
        let head = &self.pending_bytes[..self.pending_bytes.len().min(MAX_BLOCK_HEAD_BYTES)];
        let Ok((rest, (_, name))) = object_type(head) else {
            return if head.len() < MAX_BLOCK_HEAD_BYTES {
                PieceProgress::NeedsMore
            } else {
                self.skip_to_next_object()
            };
        };
        let used = head.len() - rest.len();
        if name == b"Trace" {
            let Some(content) = self.pending_bytes.get(used..used + TRACE_OBJECT_BYTES) else {
                return PieceProgress::NeedsMore;
            };
            if let Ok((_, trace)) = recording(content) {
                self.ticks_per_second = trace.ticks_per_second;
                self.pointer_bytes = trace.pointer_bytes;
            }
            self.advance(used + TRACE_OBJECT_BYTES);
            return PieceProgress::PieceRead;
        }
        let Ok((_, size)) = le_i32::<_, ()>(rest) else { return PieceProgress::NeedsMore };
        let Some(size) = usize::try_from(size).ok().filter(|&size| size <= MAX_BLOCK_BYTES) else {
            return self.skip_to_next_object();
        };
        let start = self.offset + used as u64 + 4;
        let content = used + 4 + (start.next_multiple_of(4) - start) as usize;
        let end = content + size;
        if self.pending_bytes.len() <= end {
            return PieceProgress::NeedsMore;
        }
        let kind = name.to_vec();
        let pending = std::mem::take(&mut self.pending_bytes);
        self.take_block(&kind, &pending[content..end]);
        self.pending_bytes = pending;
        self.advance(end + 1);
        PieceProgress::PieceRead
    }

    /// Moves on to where another object begins.
    fn skip_to_next_object(&mut self) -> PieceProgress {
        self.unreadable_place_count += 1;
        let found = memchr::memmem::find(&self.pending_bytes[1..], OBJECT_START);
        // A start may be cut by the end of what is there.
        let count = found.map_or(self.pending_bytes.len() - OBJECT_START.len(), |at| at + 1);
        self.advance(count);
        if found.is_some() { PieceProgress::PieceRead } else { PieceProgress::NeedsMore }
    }

    /// Takes the content of a block that came whole.
    fn take_block(&mut self, kind: &[u8], content: &[u8]) {
        self.complete_block_count += 1;
        let is_read = match kind {
            b"EventBlock" => for_each_event(content, 0, false, |event| self.take_event(event)).is_ok(),
            b"MetadataBlock" => {
                let (read, (bad, _)) = metadata::read_metadata_block(content, 0, &mut self.declared_events);
                self.unreadable_place_count += bad;
                read.is_ok()
            }
            b"SPBlock" => {
                for_each_sequence_number(content, |thread, last, _| self.note_lost_events(thread, last, true)).is_ok()
            }
            _ => true,
        };
        self.unreadable_place_count += u64::from(!is_read);
    }

    /// Counts the events that were lost before this number of a thread.
    fn note_lost_events(&mut self, thread: u64, number: u32, is_reached: bool) {
        self.lost_event_count +=
            self.sequences.advance_and_count_lost(thread, number, 0, is_reached).map_or(0, |(lost, _)| u64::from(lost));
    }

    fn take_event(&mut self, event: &Event<'_>) {
        self.note_lost_events(event.capture_thread, event.sequence_number, false);
        let Some(declared_events) = self.declared_events.get(&event.metadata_id) else { return };
        let payload = event.payload;
        match declared_events.kind {
            EventKind::GcStart if payload.len() >= 16 => {
                const INDUCED_REASON: u32 = 1;
                let [number, depth, reason, kind] = [0, 4, 8, 12].map(|at| u32_at(payload, at));
                if depth >= 2 && reason == INDUCED_REASON && kind == 0 {
                    self.has_foreign_objects |= self.induced_collection_starts.is_empty() && self.object_count > 0;
                    self.object_count = 0;
                    self.induced_collection_starts.push((number, event.timestamp));
                }
            }
            EventKind::GcEnd if payload.len() >= 4 => self.collection_ends.push((u32_at(payload, 0), event.timestamp)),
            EventKind::Nodes if payload.len() >= 8 => {
                self.bulk_event_count += 1;
                self.object_count += u64::from(u32_at(payload, 4));
                self.types.note_object_types(payload, if self.pointer_bytes == 4 { 4 } else { 8 });
            }
            EventKind::BulkType if !self.types.add_descriptions(payload) => self.unreadable_place_count += 1,
            EventKind::Edges => self.bulk_event_count += 1,
            _ => {}
        }
    }
}

/// Far more than programs have; beyond it nothing is said.
const MAX_FOLLOWED_TYPES: usize = 1 << 20;

/// Types that have been met. The runtime describes a type once; where another session was open, it may have done so there
/// alone.
#[derive(Debug, Default)]
struct FollowedTypes {
    object_types: FxHashSet<u64>,
    described_types: FxHashSet<u64>,
    /// The last object's: most have the same type as the one before.
    last_type: u64,
}

impl FollowedTypes {
    /// Types of the objects in an event of nodes, `A address, u64 bytes, u64 type, u64 edges`.
    fn note_object_types(&mut self, payload: &[u8], pointer: usize) {
        let Ok(head) = bulk_head(payload) else { return };
        for entry in head.entries.chunks_exact(pointer + 24).take(head.count as usize) {
            let id = u64_at(entry, pointer + 8);
            if id != self.last_type {
                self.last_type = id;
                if self.object_types.len() < MAX_FOLLOWED_TYPES {
                    self.object_types.insert(id);
                }
            }
        }
    }

    /// Types that an event describes. Returns false if it cannot be read.
    fn add_descriptions(&mut self, payload: &[u8]) -> bool {
        let described = &mut self.described_types;
        let is_read = for_each_description(payload, |id, _| {
            if described.len() < MAX_FOLLOWED_TYPES {
                described.insert(id);
            }
        });
        is_read.is_ok()
    }

    /// How many types of objects are not described.
    fn missing_count(&self) -> u64 {
        if self.described_types.len() >= MAX_FOLLOWED_TYPES {
            return 0;
        }
        self.object_types.difference(&self.described_types).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Vec<u8> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/nettrace/small-net9.nettrace.zst");
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).expect("a fixture");
        let mut unpacked = ruzstd::decoding::StreamingDecoder::new(file).expect("zstd");
        std::io::Read::read_to_end(&mut unpacked, &mut bytes).expect("zstd");
        bytes
    }

    #[test]
    fn a_trace_is_followed_in_pieces_of_any_size() {
        let bytes = snapshot();
        for size in [1, 7, 1000, bytes.len()] {
            let mut follower = TraceFollower::default();
            for piece in bytes.chunks(size) {
                follower.feed(piece).expect("a trace");
            }
            assert!(follower.is_complete && follower.collection_duration().is_some(), "{size}");
            assert_eq!(
                (follower.collection_count(), follower.lost_event_count, follower.unreadable_place_count),
                (1, 0, 0)
            );
            assert_eq!(follower.missing_type_count(), 0);
            assert!(follower.object_count > 1000);
        }
    }

    /// A session that was open before has got the descriptions: their events are taken out.
    #[test]
    fn types_that_another_session_has_got_are_missing() {
        let whole = snapshot();
        let mut follower = TraceFollower::default();
        // What events of types are called stands in the metadata: renumbered, they are events of another kind.
        let number = 15u32.to_le_bytes();
        let name: Vec<u8> = "Microsoft-Windows-DotNETRuntime\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let pattern = [&name[..], &number].concat();
        let mut bytes = whole.clone();
        let found: Vec<usize> = memchr::memmem::find_iter(&whole, &pattern).collect();
        assert!(!found.is_empty());
        for at in found {
            bytes[at + name.len()..at + pattern.len()].copy_from_slice(&999u32.to_le_bytes());
        }
        follower.feed(&bytes).expect("a trace");
        assert!(follower.is_complete && follower.missing_type_count() > 20, "{}", follower.missing_type_count());
    }

    #[test]
    fn damage_is_counted_and_noise_is_no_trace() {
        let bytes = snapshot();
        for at in (32..bytes.len()).step_by(997) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xFF;
            let mut follower = TraceFollower::default();
            follower.feed(&damaged).expect("a trace");
        }
        assert!(TraceFollower::default().feed(b"HTTP/1.1 400 Bad").is_err());
        assert!(TraceFollower::default().feed(b"Nett").is_ok());
    }
}
