//! The way through a file of HPROF, record by record and entry by entry, with the bytes at hand to be looked at and changed
//! in place. It goes where the reader of `input::hprof` goes, for damaged files too: what that does not parse is lost here.

use std::io::Write;

use crate::input::hprof::records::{Header, RecordHead, SubRecordLength, sub_record_length};
use crate::input::hprof::wire::{element_bytes, record_tags, sub_record_tags, u32_at};
use crate::input::{ReadError, Source};
use crate::redact::options::LostBytes;

/// Bytes that are at hand: few enough to stay in the processor's memory, and more than the buffer of an output, which then copies none.
const WINDOW_BYTES: usize = 512 << 10;
/// An entry up to this length is at hand as a whole.
pub(super) const MAX_WHOLE_ENTRY_BYTES: u64 = 8 << 20;
/// A text or another record that is no heap has at most so many bytes.
const MAX_NON_HEAP_RECORD_BYTES: u32 = 256 << 20;

/// What is done with the parts of a file. Slices may be changed; they keep their length.
pub(super) trait RecordVisitor {
    /// Another dump of the file begins.
    fn begin_dump(&mut self) {}
    /// The head of a record, of 9 bytes; `fits` if its body is in the file.
    fn record_head(&mut self, _head: &mut [u8], _fits: bool) {}
    /// A record that is no heap, whole: what takes the place of its body if that gets another length.
    fn non_heap_record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>>;
    /// An entry of a heap dump, at an offset of the file. Of instances and arrays that are cut, or longer than
    /// `MAX_WHOLE_ENTRY_BYTES`, only the start.
    fn heap_entry(&mut self, offset: u64, data: &mut [u8]);
    /// The next elements of the array that `heap_entry` had the start of.
    fn array_elements(&mut self, bytes: &mut [u8]);
    /// Bytes that cannot be parsed, or are of records without use.
    fn unparsed_bytes(&mut self, bytes: &mut [u8]);
    /// Nothing more is wanted: the walk ends here.
    #[inline]
    fn is_done(&self) -> bool {
        false
    }
}

/// A walk through a file.
pub(super) struct HprofWalk<'w, W> {
    source: Source,
    out: Option<&'w mut dyn Write>,
    pub(super) visitor: W,
    window: Vec<u8>,
    /// Of `window`: written, passed, filled.
    written_end: usize,
    passed_end: usize,
    filled_end: usize,
    /// Of the next byte.
    offset: u64,
    source_ended: bool,
    /// The file's length as its reader knows it.
    file_bytes: Option<u64>,
    /// The same as a walk before this one found it.
    known_file_bytes: Option<u64>,
    id_bytes: usize,
    pub(super) lost: LostBytes,
    /// Bytes that were written more, or less, than passed.
    pub(super) written_surplus: i64,
    /// The output could not be written.
    pub(super) write_error: Option<std::io::Error>,
    // ---- dumps of the file
    dump_count: usize,
    /// The last heap record was a segment: another goes on with its dump.
    is_in_segment_run: bool,
    /// The end of the last dump was reached.
    is_dump_complete: bool,
}

impl<'w, W: RecordVisitor> HprofWalk<'w, W> {
    pub(super) fn new(
        source: Source,
        header: &Header,
        known_file_bytes: Option<u64>,
        work: W,
        out: Option<&'w mut dyn Write>,
    ) -> Self {
        let total = source.file_bytes.filter(|_| source.compression.is_empty());
        HprofWalk {
            source,
            out,
            visitor: work,
            window: vec![0; WINDOW_BYTES],
            written_end: 0,
            passed_end: 0,
            filled_end: 0,
            offset: 0,
            source_ended: false,
            file_bytes: total,
            known_file_bytes: known_file_bytes.or(total),
            id_bytes: header.id_bytes,
            lost: LostBytes::default(),
            written_surplus: 0,
            write_error: None,
            dump_count: 0,
            is_in_segment_run: false,
            is_dump_complete: false,
        }
    }

    /// Walks to the end, or until the visitor is done. Returns the bytes that were passed. Error: when they cannot be read or written.
    pub(super) fn run(&mut self, header: &Header) -> Result<u64, ReadError> {
        self.ensure_available(header.header_bytes)?;
        self.advance(header.header_bytes.min(self.available_bytes()));
        while !self.visitor.is_done() && self.walk_next_record()? {}
        if !self.visitor.is_done() {
            self.skip_rest_of_file()?;
            self.flush()?;
        }
        Ok(self.offset)
    }

    // ---- bytes

    fn available_bytes(&self) -> usize {
        self.filled_end - self.passed_end
    }

    fn remaining_file_bytes(&self) -> Option<u64> {
        self.file_bytes.map(|total| total.saturating_sub(self.offset))
    }

    /// Returns true if so many bytes follow, which then are at hand. Memory grows with what is there.
    #[inline]
    fn ensure_available(&mut self, bytes: usize) -> Result<bool, ReadError> {
        if self.available_bytes() >= bytes { Ok(true) } else { self.fill_window(bytes) }
    }

    #[cold]
    fn fill_window(&mut self, bytes: usize) -> Result<bool, ReadError> {
        self.flush()?;
        self.window.copy_within(self.passed_end..self.filled_end, 0);
        (self.filled_end, self.passed_end, self.written_end) = (self.filled_end - self.passed_end, 0, 0);
        // What was long is passed.
        self.window.truncate(self.filled_end.max(bytes).max(WINDOW_BYTES));
        while self.filled_end < bytes && !self.source_ended {
            if self.filled_end == self.window.len() {
                self.window.resize((2 * self.filled_end).min(bytes.max(WINDOW_BYTES)), 0);
            }
            let room = self.window.len() - self.filled_end;
            let got = self.source.fill(&mut self.window[self.filled_end..])?;
            self.source_ended = got < room;
            self.filled_end += got;
        }
        Ok(self.filled_end >= bytes)
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        if let Some(out) = &mut self.out
            && self.write_error.is_none()
        {
            self.write_error = out.write_all(&self.window[self.written_end..self.passed_end]).err();
            // Nothing is there to be read any more.
            self.source_ended |= self.write_error.is_some();
        }
        self.written_end = self.passed_end;
        Ok(())
    }

    #[inline]
    fn advance(&mut self, bytes: usize) {
        self.passed_end += bytes;
        self.offset += bytes as u64;
    }

    /// Shows the next `bytes` in parts whose lengths are multiples of `unit`. Returns how many there were.
    fn visit_bytes(
        &mut self,
        bytes: u64,
        unit: usize,
        mut see: impl FnMut(&mut W, &mut [u8]),
    ) -> Result<u64, ReadError> {
        let mut left = bytes;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(WINDOW_BYTES);
            let is_all = self.ensure_available(wanted)?;
            let mut part = self.available_bytes().min(wanted);
            if is_all && part as u64 != left {
                part -= part % unit;
            }
            if part == 0 {
                break;
            }
            see(&mut self.visitor, &mut self.window[self.passed_end..self.passed_end + part]);
            self.advance(part);
            left -= part as u64;
        }
        Ok(bytes - left)
    }

    /// Passes bytes that nobody can use.
    fn skip_lost_bytes(&mut self, bytes: u64) -> Result<u64, ReadError> {
        let first_at = self.offset;
        let lost = self.visit_bytes(bytes, 1, |work, part| work.unparsed_bytes(part))?;
        self.note_lost(lost, first_at);
        Ok(lost)
    }

    fn note_lost(&mut self, bytes: u64, first_at: u64) {
        if bytes > 0 {
            let first_at = if self.lost.bytes == 0 { first_at } else { self.lost.first_offset };
            self.lost = LostBytes { bytes: self.lost.bytes + bytes, first_offset: first_at, ..self.lost };
        }
    }

    fn skip_rest_of_file(&mut self) -> Result<(), ReadError> {
        self.skip_lost_bytes(u64::MAX).map(drop)
    }

    // ---- records

    fn is_after_complete_dump(&self) -> bool {
        !self.is_in_segment_run && self.dump_count > 0 && self.is_dump_complete
    }

    fn fits_in_file(&self, length: u32) -> bool {
        self.remaining_file_bytes().is_none_or(|left| left.saturating_sub(RecordHead::BYTES as u64) >= length.into())
    }

    /// The next record. False at the end of what can be read.
    fn walk_next_record(&mut self) -> Result<bool, ReadError> {
        if !self.ensure_available(RecordHead::BYTES)? {
            self.lost.is_cut |= self.available_bytes() > 0;
            return Ok(false);
        }
        let Some(head) = RecordHead::parse(&self.window[self.passed_end..self.filled_end]) else { return Ok(false) };
        if !record_tags::is_known(head.tag)
            && (self.is_after_complete_dump() || head.tag == 0 || !self.fits_in_file(head.body_bytes))
        {
            return Ok(false);
        }
        let end = self.offset + RecordHead::BYTES as u64 + u64::from(head.body_bytes);
        let is_there = self.known_file_bytes.is_none_or(|total| total >= end);
        if matches!(head.tag, record_tags::HEAP_DUMP | record_tags::HEAP_DUMP_SEGMENT) {
            self.visitor.record_head(&mut self.window[self.passed_end..self.passed_end + RecordHead::BYTES], is_there);
            self.advance(RecordHead::BYTES);
            return self.walk_segment(head);
        }
        let whole = RecordHead::BYTES + head.body_bytes as usize;
        if head.body_bytes <= MAX_NON_HEAP_RECORD_BYTES && self.ensure_available(whole)? {
            let (first, body) = self.window[self.passed_end..self.passed_end + whole].split_at_mut(RecordHead::BYTES);
            self.visitor.record_head(first, true);
            if let Some(body) = self.visitor.non_heap_record(head.tag, body) {
                self.write_replaced_record(head, whole, &body)?;
            } else {
                self.advance(whole);
            }
        } else {
            self.visitor.record_head(&mut self.window[self.passed_end..self.passed_end + RecordHead::BYTES], is_there);
            self.advance(RecordHead::BYTES);
            let lost = self.skip_lost_bytes(head.body_bytes.into())?;
            self.lost.is_cut |= lost < head.body_bytes.into();
        }
        if head.tag == record_tags::HEAP_DUMP_END {
            (self.is_in_segment_run, self.is_dump_complete) = (false, true);
        }
        Ok(true)
    }

    /// Writes a body of another length in the place of one of `whole` bytes with its head.
    fn write_replaced_record(&mut self, head: RecordHead, whole: usize, body: &[u8]) -> Result<(), ReadError> {
        self.flush()?;
        if let Some(out) = &mut self.out {
            out.write_all(&self.window[self.passed_end..self.passed_end + 5])?;
            out.write_all(&u32::try_from(body.len()).unwrap_or(head.body_bytes).to_be_bytes())?;
            out.write_all(body)?;
        }
        self.written_surplus += (RecordHead::BYTES + body.len()) as i64 - whole as i64;
        self.advance(whole);
        self.written_end = self.passed_end;
        Ok(())
    }

    fn is_at_record(&mut self) -> Result<bool, ReadError> {
        if !self.ensure_available(RecordHead::BYTES)? {
            return Ok(false);
        }
        let head = RecordHead::parse(&self.window[self.passed_end..self.filled_end]);
        Ok(head.is_some_and(|head| {
            record_tags::is_known(head.tag)
                && self.fits_in_file(head.body_bytes)
                && (!sub_record_tags::is_known(head.tag) || head.micros_after_header == 0)
        }))
    }

    // ---- heap dumps and their segments

    fn walk_segment(&mut self, head: RecordHead) -> Result<bool, ReadError> {
        if head.tag == record_tags::HEAP_DUMP || !self.is_in_segment_run {
            self.dump_count += 1;
            self.is_dump_complete = false;
            self.visitor.begin_dump();
        }
        self.is_in_segment_run = head.tag == record_tags::HEAP_DUMP_SEGMENT;
        let (left, length) = (self.remaining_file_bytes(), u64::from(head.body_bytes));
        let wraps = head.tag == record_tags::HEAP_DUMP
            && left.is_some_and(|left| left >= 1 << 32 && left.wrapping_sub(length).is_multiple_of(1 << 32));
        let is_unmeasured = length == 0
            && self.ensure_available(1)?
            && !self.is_at_record()?
            && sub_record_tags::is_known(self.window[self.passed_end]);
        let may_wrap = head.tag == record_tags::HEAP_DUMP && left.is_none();
        let bounds = (!wraps && !is_unmeasured).then_some(length);
        let has_more = self.walk_entries(bounds, may_wrap)?;
        self.is_dump_complete |= has_more && head.tag == record_tags::HEAP_DUMP;
        Ok(has_more)
    }

    /// The entries of a segment of so many bytes (`None`: up to what is none). False at the end of what can be read.
    fn walk_entries(&mut self, mut left: Option<u64>, may_wrap: bool) -> Result<bool, ReadError> {
        loop {
            self.visit_whole_entries(&mut left);
            if left == Some(0) {
                return Ok(true);
            }
            if self.visitor.is_done() {
                return Ok(false);
            }
            if !self.ensure_available(1)? {
                self.lost.is_cut |= left.is_some();
                return Ok(false);
            }
            let bytes = match self.next_entry_length()? {
                SubRecordLength::Known(bytes) => bytes,
                SubRecordLength::NoSubRecord => return self.skip_rest_of_segment(left),
                SubRecordLength::NeedsMore => {
                    self.visit_cut_entry();
                    return Ok(false);
                }
            };
            if left.is_some_and(|left| bytes > left) {
                if !may_wrap {
                    return self.skip_rest_of_segment(left);
                }
                left = None;
                continue;
            }
            if bytes > MAX_WHOLE_ENTRY_BYTES {
                if !self.walk_long_entry(bytes)? {
                    return Ok(false);
                }
            } else if self.ensure_available(bytes as usize)? {
                // It is visited with those behind it.
                continue;
            } else {
                self.visit_cut_entry();
                return Ok(false);
            }
            left = left.map(|left| left - bytes);
        }
    }

    /// Passes the entries that are at hand as a whole, and takes them off what is `left` of the segment.
    fn visit_whole_entries(&mut self, left: &mut Option<u64>) {
        let at_hand = &mut self.window[self.passed_end..self.filled_end];
        let most = left.map_or(at_hand.len(), |left| at_hand.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        let mut passed = 0;
        while !self.visitor.is_done()
            && let SubRecordLength::Known(bytes @ ..=MAX_WHOLE_ENTRY_BYTES) =
                sub_record_length(&at_hand[passed..most], self.id_bytes)
            && bytes <= (most - passed) as u64
        {
            let end = passed + bytes as usize;
            self.visitor.heap_entry(self.offset + passed as u64, &mut at_hand[passed..end]);
            passed = end;
        }
        self.advance(passed);
        *left = left.map(|left| left - passed as u64);
    }

    #[inline]
    fn next_entry_length(&mut self) -> Result<SubRecordLength, ReadError> {
        loop {
            let found = sub_record_length(&self.window[self.passed_end..self.filled_end], self.id_bytes);
            let available = self.available_bytes();
            if found != SubRecordLength::NeedsMore
                || available as u64 >= MAX_WHOLE_ENTRY_BYTES
                || !self.ensure_available(available + 1)?
            {
                return Ok(found);
            }
        }
    }

    /// The rest of a segment cannot be read; what follows it can.
    fn skip_rest_of_segment(&mut self, left: Option<u64>) -> Result<bool, ReadError> {
        match left {
            None => self.is_at_record(),
            Some(left) => {
                let lost = self.skip_lost_bytes(left)?;
                self.lost.is_cut |= lost < left;
                Ok(lost == left)
            }
        }
    }

    /// The file ends within the entry at hand.
    fn visit_cut_entry(&mut self) {
        self.lost.is_cut = true;
        let (first_at, bytes) = (self.offset, self.available_bytes());
        let data = &mut self.window[self.passed_end..self.filled_end];
        let has_head = match data[0] {
            sub_record_tags::INSTANCE => data.len() >= 9 + 2 * self.id_bytes,
            sub_record_tags::OBJECT_ARRAY => data.len() >= 9 + 2 * self.id_bytes,
            sub_record_tags::PRIMITIVE_ARRAY => data.len() >= 10 + self.id_bytes,
            _ => false,
        };
        if has_head {
            self.visitor.heap_entry(first_at, data);
        } else {
            self.visitor.unparsed_bytes(&mut data[1..]);
        }
        self.advance(bytes);
        self.note_lost(bytes as u64, first_at);
    }

    /// An entry that is too long to be at hand. False if the file ends in it.
    fn walk_long_entry(&mut self, bytes: u64) -> Result<bool, ReadError> {
        let (tag, id_bytes) = (self.window[self.passed_end], self.id_bytes);
        let (head_bytes, unit) = match tag {
            sub_record_tags::OBJECT_ARRAY => (9 + 2 * id_bytes, id_bytes),
            sub_record_tags::PRIMITIVE_ARRAY => {
                let element = self.window.get(self.passed_end + 9 + id_bytes).and_then(|&kind| element_bytes(kind));
                (10 + id_bytes, element.unwrap_or(1))
            }
            _ => (9 + 2 * id_bytes, 0),
        };
        self.ensure_available(head_bytes)?;
        let head_bytes = head_bytes.min(self.available_bytes());
        self.visitor.heap_entry(self.offset, &mut self.window[self.passed_end..self.passed_end + head_bytes]);
        self.advance(head_bytes);
        let rest = bytes - head_bytes as u64;
        let passed = match unit {
            0 => self.visit_bytes(rest, 1, |work, part| work.unparsed_bytes(part))?,
            _ => self.visit_bytes(rest, unit, |work, part| work.array_elements(part))?,
        };
        self.lost.is_cut |= passed < rest;
        Ok(passed == rest)
    }
}

/// The number of elements or bytes that an entry says it has, at an offset.
#[inline]
pub(super) fn count_at(data: &[u8], at: usize) -> usize {
    u32_at(data, at).unwrap_or(0) as usize
}
