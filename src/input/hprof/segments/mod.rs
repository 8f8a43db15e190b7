//! The file as blocks: records are read here, one after another; sub-records go to the parsers in blocks of whole
//! segments. A segment that is longer than a block is cut between sub-records, which takes a walk over their heads.
//!
//! Class dumps at the start of a segment are read here too: HotSpot writes all classes before the first object, and a
//! parser that knows them needs not put instances aside.

pub(super) mod block;
pub(super) mod block_parts;
pub(super) mod long_segments;
pub(super) mod stream;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::layout::classes::{Classes, Layouts};
use super::layout::texts::TextRecords;
use super::problem_codes::*;
use super::records::{ClassDump, FrameRecord, Header, LoadClass, RecordHead, TraceRecord};
use super::wire::{id_at_with_width, record_tags, sub_record_tags};
use crate::graph::{MemoryBudget, MemoryShare};
use crate::input::blocks::{BlockBuffer, BlockSource};
use crate::input::{Diagnostics, Position, ReadError, SnapshotChoice, Source};
use block_parts::{AndroidHeap, SegmentPiece};
use stream::Stream;

/// Bytes of a block, where no single sub-record or segment takes more.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
/// A block with so many is handed on.
pub(super) const MIN_BLOCK_BYTES: usize = BLOCK_BYTES / 2;
/// A segment up to this length is one piece.
const MAX_PIECE_BYTES: u64 = 2 << 20;
/// A sub-record up to this length is read as a whole.
pub(super) const MAX_WHOLE_SUB_RECORD_BYTES: u64 = 8 << 20;
/// A text or another record that is no heap has at most so many bytes.
const MAX_NON_HEAP_RECORD_BYTES: u32 = 256 << 20;

/// What the parser of a block must know.
pub(super) struct BlockContext {
    pub(super) pieces: Vec<SegmentPiece>,
    pub(super) layouts: Arc<Layouts>,
    /// The dump of the file that it is of, from 1.
    pub(super) dump_number: usize,
}

/// One of the dumps of the file.
#[derive(Debug, Clone)]
pub(super) struct DumpFacts {
    /// Microseconds after the time in the header.
    pub(super) micros_after_header: u64,
    pub(super) is_complete: bool,
    /// It is a run of segments with an end record, not one record.
    pub(super) is_in_segments: bool,
}

/// A segment that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenSegment {
    /// Bytes of it that follow; `None` up to the end of the file.
    pub(super) left_bytes: Option<u64>,
    /// The class dumps at its start have been read.
    pub(super) has_read_class_dumps: bool,
    /// To be cut between sub-records.
    pub(super) is_long: bool,
    /// Its length may be 4 GiB more than it says, as often as it takes.
    pub(super) length_may_wrap: bool,
    pub(super) heap: AndroidHeap,
    /// Elements that follow of an array that was begun.
    pub(super) elements_left: u64,
    pub(super) is_of_chosen_dump: bool,
}

/// Where in the file the reader is.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReaderState {
    BetweenSegments,
    InSegment(OpenSegment),
    Ended,
}

/// A block that is being filled.
pub(super) struct OpenBlock<'b> {
    pub(super) buffer: &'b mut BlockBuffer,
    /// Bytes of the buffer that have been filled.
    pub(super) filled_bytes: usize,
    pub(super) pieces: Vec<SegmentPiece>,
    pub(super) dump_number: usize,
}

/// Bytes that did not come to be parsed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LostBytes {
    /// Of the dump, but not in the file.
    pub(super) missing_bytes: u64,
    /// In the file, but passed over.
    pub(super) unread_bytes: u64,
    /// In the file, behind where reading ended.
    pub(super) bytes_behind_end: u64,
}

/// Reads records and cuts segments into blocks.
pub(super) struct SegmentReader {
    pub(super) stream: Stream,
    pub(super) header: Header,
    snapshot_choice: SnapshotChoice,
    pub(super) state: ReaderState,
    drops_weak_referents: bool,
    pub(super) classes: Arc<Mutex<Classes>>,
    pub(super) texts: TextRecords,
    texts_share: MemoryShare,
    pub(super) frames: FxHashMap<u64, FrameRecord>,
    pub(super) frame_ids_by_trace: FxHashMap<u32, Vec<u64>>,
    pub(super) dumps: Vec<DumpFacts>,
    /// The next segment goes on with the dump of the one before.
    is_in_segment_run: bool,
    /// The time of the record with which the last dump began, and how often times have wrapped until then.
    last_micros_and_wraps: (u32, u64),
    /// Records; segments among them; class dumps that were read here.
    pub(super) record_count: u64,
    pub(super) segment_count: u64,
    pub(super) class_dump_count: u64,
    pub(super) diagnostics: Diagnostics,
    pub(super) lost_bytes: LostBytes,
}

pub(super) fn lock_classes(classes: &Mutex<Classes>) -> MutexGuard<'_, Classes> {
    classes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BlockSource for SegmentReader {
    type Context = BlockContext;

    fn next_block(&mut self, buffer: &mut BlockBuffer) -> Result<Option<(usize, BlockContext)>, ReadError> {
        let filled = self.fill_block(buffer);
        if filled.is_err() {
            self.state = ReaderState::Ended;
        }
        filled
    }
}

impl SegmentReader {
    pub(super) fn new(
        source: Source,
        header: Header,
        choice: SnapshotChoice,
        drops_weak_referents: bool,
        budget: &MemoryBudget,
    ) -> Result<Self, ReadError> {
        let mut stream = Stream::new(source);
        stream.skip(header.header_bytes as u64)?;
        Ok(SegmentReader {
            stream,
            snapshot_choice: choice,
            state: ReaderState::BetweenSegments,
            drops_weak_referents,
            classes: Arc::new(Mutex::new(Classes::new(header.id_bytes))),
            header,
            texts: TextRecords::default(),
            texts_share: budget.for_content(),
            frames: FxHashMap::default(),
            frame_ids_by_trace: FxHashMap::default(),
            dumps: Vec::new(),
            is_in_segment_run: false,
            last_micros_and_wraps: (0, 0),
            record_count: 0,
            segment_count: 0,
            class_dump_count: 0,
            diagnostics: Diagnostics::default(),
            lost_bytes: LostBytes::default(),
        })
    }

    /// The number of the dump that was read, from 1; 0 for none.
    pub(super) fn chosen_dump_number(&self) -> usize {
        match self.snapshot_choice {
            SnapshotChoice::FirstComplete => self.dumps.len().min(1),
            SnapshotChoice::Number(number) => number,
            SnapshotChoice::Last => self.dumps.len(),
        }
    }

    /// The offset up to which the file has been read.
    pub(super) fn end_offset(&self) -> u64 {
        self.stream.offset
    }

    pub(super) fn add_problem(
        &mut self,
        code: &'static crate::input::ProblemCode,
        at: u64,
        text: impl FnOnce() -> String,
    ) {
        self.diagnostics.add(code, 1, Position::Byte(at), text);
    }

    /// Fills a buffer with pieces of segments of one dump; `None` at the end.
    fn fill_block(&mut self, buffer: &mut BlockBuffer) -> Result<Option<(usize, BlockContext)>, ReadError> {
        if buffer.bytes.len() != BLOCK_BYTES {
            buffer.resize(BLOCK_BYTES)?;
        }
        let mut block = OpenBlock { buffer, filled_bytes: 0, pieces: Vec::new(), dump_number: 0 };
        while block.filled_bytes < MIN_BLOCK_BYTES {
            match self.state {
                ReaderState::Ended => break,
                ReaderState::BetweenSegments if block.pieces.is_empty() || block.dump_number == self.dumps.len() => {
                    self.take_next_record()?
                }
                ReaderState::BetweenSegments => break,
                ReaderState::InSegment(segment) => {
                    if !block.pieces.is_empty() && block.dump_number != self.dumps.len() {
                        break;
                    }
                    block.dump_number = self.dumps.len();
                    if !self.take_segment(segment, &mut block)? {
                        break;
                    }
                }
            }
        }
        if block.pieces.is_empty() {
            return Ok(None);
        }
        self.texts_share.set_held_bytes(self.texts.memory_bytes())?;
        let layouts = lock_classes(&self.classes).current_layouts(&self.texts, self.drops_weak_referents);
        Ok(Some((block.filled_bytes, BlockContext { pieces: block.pieces, layouts, dump_number: block.dump_number })))
    }

    // ---- records

    /// Takes the next record, or begins its segment.
    fn take_next_record(&mut self) -> Result<(), ReadError> {
        let start = self.stream.offset;
        if !self.stream.look_ahead(RecordHead::BYTES)? {
            if !self.stream.ahead().is_empty() {
                self.add_problem(if self.is_after_end() { &DATA_AFTER_END } else { &TRUNCATED }, start, String::new);
            }
            self.state = ReaderState::Ended;
            return Ok(());
        }
        let Some(head) = RecordHead::parse(self.stream.ahead()) else { return Ok(()) };
        let fits = self.body_fits(head.body_bytes);
        if !record_tags::is_known(head.tag) && (self.is_after_end() || head.tag == 0 || !fits) {
            let code = if self.is_after_end() { &DATA_AFTER_END } else { &BAD_RECORD };
            if !self.is_after_end() {
                self.count_rest_unread();
            }
            self.add_problem(code, start, || format!("a record of kind {:#04x}", head.tag));
            self.state = ReaderState::Ended;
            return Ok(());
        }
        self.record_count += 1;
        self.stream.consume(RecordHead::BYTES);
        match head.tag {
            record_tags::HEAP_DUMP | record_tags::HEAP_DUMP_SEGMENT => return self.begin_segment(head, start),
            record_tags::HEAP_DUMP_END => {
                self.is_in_segment_run = false;
                if let Some(dump) = self.dumps.last_mut() {
                    dump.is_complete = true;
                }
            }
            record_tags::TEXT | record_tags::LOAD_CLASS | record_tags::FRAME | record_tags::TRACE => {
                if head.body_bytes <= MAX_NON_HEAP_RECORD_BYTES && self.stream.look_ahead(head.body_bytes as usize)? {
                    if !self.take_non_heap_record(head) {
                        self.add_problem(&BAD_RECORD, start, || format!("a record of kind {:#04x}", head.tag));
                    }
                    self.stream.consume(head.body_bytes as usize);
                    return Ok(());
                }
            }
            _ if record_tags::is_known(head.tag) => {}
            tag => self.add_problem(&UNKNOWN_RECORD, start, || format!("kind {tag:#04x}")),
        }
        let skipped = self.stream.skip(head.body_bytes.into())?;
        if skipped < head.body_bytes.into() {
            self.lost_bytes.missing_bytes += u64::from(head.body_bytes) - skipped;
            self.add_problem(&TRUNCATED, start, String::new);
            self.state = ReaderState::Ended;
        }
        Ok(())
    }

    /// Does a body of this length fit what follows the head of its record, as far as that is known?
    fn body_fits(&self, length: u32) -> bool {
        self.stream.remaining_bytes().is_none_or(|left| left.saturating_sub(RecordHead::BYTES as u64) >= length.into())
    }

    /// Nothing must follow a dump that has ended, though other dumps may.
    fn is_after_end(&self) -> bool {
        !self.is_in_segment_run && self.dumps.last().is_some_and(|dump| dump.is_complete)
    }

    /// Takes a record whose body is at hand. False if it makes no sense.
    fn take_non_heap_record(&mut self, head: RecordHead) -> bool {
        let id_bytes = self.header.id_bytes;
        let body = &self.stream.ahead()[..head.body_bytes as usize];
        match head.tag {
            record_tags::TEXT => match id_at_with_width(body, 0, id_bytes) {
                Some(id) => self.texts.add(id, &body[id_bytes..]),
                None => return false,
            },
            record_tags::LOAD_CLASS => match LoadClass::parse(body, id_bytes) {
                Some(load) => lock_classes(&self.classes).add_load_class(load),
                None => return false,
            },
            record_tags::FRAME => match FrameRecord::parse(body, id_bytes) {
                Some(frame) => {
                    self.frames.entry(frame.id).or_insert(frame);
                }
                None => return false,
            },
            _ => match TraceRecord::parse(body, id_bytes) {
                Some(trace) => {
                    self.frame_ids_by_trace.entry(trace.serial).or_insert(trace.frame_ids);
                }
                None => return false,
            },
        }
        true
    }

    fn begin_segment(&mut self, head: RecordHead, start: u64) -> Result<(), ReadError> {
        self.segment_count += 1;
        self.texts.sort_by_id();
        if head.tag == record_tags::HEAP_DUMP || !self.is_in_segment_run {
            // Microseconds wrap after 71 minutes.
            let (last, wraps) = self.last_micros_and_wraps;
            let wraps = wraps + u64::from(head.micros_after_header < last);
            self.last_micros_and_wraps = (head.micros_after_header, wraps);
            let micros = (wraps << 32) + u64::from(head.micros_after_header);
            let is_in_segments = head.tag == record_tags::HEAP_DUMP_SEGMENT;
            self.dumps.push(DumpFacts { micros_after_header: micros, is_complete: false, is_in_segments });
            if self.snapshot_choice == SnapshotChoice::Last && self.dumps.len() > 1 {
                lock_classes(&self.classes).begin_dump(self.dumps.len());
            }
        }
        self.is_in_segment_run = head.tag == record_tags::HEAP_DUMP_SEGMENT;
        let number = self.dumps.len();
        let is_of_chosen_dump = self.snapshot_choice == SnapshotChoice::Last || self.chosen_dump_number() == number;
        if is_of_chosen_dump && self.snapshot_choice != SnapshotChoice::Last && number > 1 {
            let mut classes = lock_classes(&self.classes);
            if classes.dump_number != number {
                classes.begin_dump(number);
            }
        }
        let left = self.stream.remaining_bytes();
        let length = u64::from(head.body_bytes);
        let wraps = head.tag == record_tags::HEAP_DUMP
            && left.is_some_and(|left| left >= 1 << 32 && left.wrapping_sub(length).is_multiple_of(1 << 32));
        let mut bounds = Some(length);
        if length == 0
            && self.stream.look_ahead(1)?
            && !self.is_at_record()?
            && sub_record_tags::is_known(self.stream.ahead()[0])
        {
            self.add_problem(&ZERO_LENGTH_SEGMENT, start, String::new);
            bounds = None;
        } else if wraps {
            self.add_problem(&LENGTH_WRAPPED, start, String::new);
            bounds = None;
        }
        let may_wrap = head.tag == record_tags::HEAP_DUMP && left.is_none();
        let is_long = bounds.is_none() || length > MAX_PIECE_BYTES || may_wrap;
        self.state = ReaderState::InSegment(OpenSegment {
            left_bytes: bounds,
            has_read_class_dumps: false,
            is_long,
            length_may_wrap: may_wrap,
            heap: None,
            elements_left: 0,
            is_of_chosen_dump,
        });
        Ok(())
    }

    /// Does a record begin here? Some tags are those of sub-records too; as ids their times would be 0.
    pub(super) fn is_at_record(&mut self) -> Result<bool, ReadError> {
        if !self.stream.look_ahead(RecordHead::BYTES)? {
            return Ok(false);
        }
        let head = RecordHead::parse(self.stream.ahead());
        Ok(head.is_some_and(|head| {
            record_tags::is_known(head.tag)
                && self.body_fits(head.body_bytes)
                && (!sub_record_tags::is_known(head.tag) || head.micros_after_header == 0)
        }))
    }

    // ---- what is lost

    /// The file ends within a segment, of which so many bytes came since its `left_bytes` was counted.
    pub(super) fn count_missing_bytes(&mut self, segment: OpenSegment, came: u64) {
        self.lost_bytes.missing_bytes += segment.left_bytes.map_or(0, |left| left.saturating_sub(came));
    }

    /// Counts what follows in the file as not read.
    pub(super) fn count_rest_unread(&mut self) {
        self.lost_bytes.bytes_behind_end += self.stream.remaining_bytes().unwrap_or(self.stream.ahead().len() as u64);
    }

    // ---- segments

    /// Takes what is next of a segment into the block. False if there is no more room.
    fn take_segment(&mut self, mut segment: OpenSegment, block: &mut OpenBlock<'_>) -> Result<bool, ReadError> {
        if !segment.is_of_chosen_dump {
            self.skip_segment(segment)?;
            return Ok(true);
        }
        if !segment.has_read_class_dumps {
            segment.has_read_class_dumps = true;
            self.take_leading_class_dumps(&mut segment)?;
            self.state = ReaderState::InSegment(segment);
        }
        match segment.left_bytes {
            Some(0) if segment.elements_left == 0 => {
                self.end_segment(segment);
                Ok(true)
            }
            Some(left) if !segment.is_long => {
                let left = left as usize;
                if block.filled_bytes > 0 && block.filled_bytes + left > BLOCK_BYTES {
                    return Ok(false);
                }
                let offset = self.stream.offset;
                let got = self.stream.read_into(block.next_bytes(left)?)?;
                block.push_piece(got, offset, got < left, segment.heap);
                if got < left {
                    self.count_missing_bytes(segment, got as u64);
                    self.state = ReaderState::Ended;
                } else {
                    self.end_segment(segment);
                }
                Ok(true)
            }
            _ => self.take_long_segment(segment, block),
        }
    }

    /// A segment has been read to its end.
    pub(super) fn end_segment(&mut self, _: OpenSegment) {
        if let Some(dump) = self.dumps.last_mut().filter(|dump| !dump.is_in_segments) {
            dump.is_complete = true;
        }
        self.state = ReaderState::BetweenSegments;
    }

    /// Passes over the rest of a segment.
    pub(super) fn skip_segment(&mut self, segment: OpenSegment) -> Result<(), ReadError> {
        let length = segment.left_bytes.unwrap_or(u64::MAX);
        let skipped = self.stream.skip(length)?;
        if segment.is_of_chosen_dump {
            self.lost_bytes.unread_bytes += skipped;
            self.lost_bytes.missing_bytes += segment.left_bytes.map_or(0, |left| left - skipped);
        }
        if skipped == length {
            self.end_segment(segment);
            return Ok(());
        }
        if segment.left_bytes.is_some() {
            let end = self.stream.offset;
            self.add_problem(&TRUNCATED, end, String::new);
        }
        self.state = ReaderState::Ended;
        Ok(())
    }

    /// Reads the class dumps that the segment begins with.
    fn take_leading_class_dumps(&mut self, segment: &mut OpenSegment) -> Result<(), ReadError> {
        let most = segment.left_bytes.unwrap_or(u64::MAX);
        let mut taken = 0;
        while taken < most && self.stream.look_ahead(1)? && self.stream.ahead()[0] == sub_record_tags::CLASS_DUMP {
            let room = usize::try_from(most - taken).unwrap_or(usize::MAX);
            let ahead = self.stream.ahead();
            let (available, offset) = (ahead.len(), self.stream.offset);
            match ClassDump::parse(&ahead[1..available.min(room)], self.header.id_bytes, offset) {
                Ok((behind, mut dump)) => {
                    dump.android_heap = segment.heap;
                    let length = available.min(room) - behind.len();
                    lock_classes(&self.classes).add_class_dump(dump, self.dumps.len());
                    self.class_dump_count += 1;
                    self.stream.consume(length);
                    taken += length as u64;
                }
                Err(nom::Err::Error(())) if available < room && (available as u64) < MAX_WHOLE_SUB_RECORD_BYTES => {
                    if !self.stream.look_ahead(available + 1)? {
                        break;
                    }
                }
                // The parser of the block finds and reports it.
                Err(_) => break,
            }
        }
        segment.left_bytes = segment.left_bytes.map(|left| left - taken);
        Ok(())
    }
}

impl OpenBlock<'_> {
    /// The next so many bytes of the buffer.
    pub(super) fn next_bytes(&mut self, bytes: usize) -> Result<&mut [u8], ReadError> {
        let end = self.filled_bytes + bytes;
        if self.buffer.bytes.len() < end {
            self.buffer.resize(end)?;
        }
        Ok(&mut self.buffer.bytes[self.filled_bytes..end])
    }

    /// Adds a piece: the next so many bytes of the buffer, which are at this offset in the file.
    pub(super) fn push_piece(&mut self, bytes: usize, offset: u64, is_cut: bool, heap: AndroidHeap) {
        self.pieces.push(SegmentPiece {
            range: self.filled_bytes..self.filled_bytes + bytes,
            offset,
            is_cut,
            last_values_skipped: false,
            leading_element_count: 0,
            ends_in_object_array: false,
            heap,
        });
        self.filled_bytes += bytes;
    }
}
