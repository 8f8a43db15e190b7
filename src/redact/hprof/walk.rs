//! The way through a file of HPROF, record by record and entry by entry, with the bytes at hand to be looked at and changed
//! in place. It goes where the reader of `input::hprof` goes, for damaged files too: what that does not parse is lost here.

use std::io::Write;

use crate::input::hprof::records::{Header, RecordHead, SubRecordLength, sub_record_length};
use crate::input::hprof::wire::{element_bytes, record, sub, u32_at};
use crate::input::{ReadError, Source};
use crate::redact::options::LostBytes;

/// Bytes that are at hand: few enough to stay in the processor's memory.
const WINDOW_BYTES: usize = 256 << 10;
/// An entry up to this length is at hand as a whole.
pub(super) const MAX_WHOLE_BYTES: u64 = 8 << 20;
/// A text or another record that is no heap has at most so many bytes.
const MAX_RECORD_BYTES: u32 = 256 << 20;

/// What is done with the parts of a file. Slices may be changed; they keep their length.
pub(super) trait Work {
    /// Another dump of the file begins.
    fn begin_dump(&mut self) {}
    /// The head of a record, of 9 bytes; `fits` if its body is in the file.
    fn head(&mut self, _head: &mut [u8], _fits: bool) {}
    /// A record that is no heap, whole: what takes the place of its body if that gets another length.
    fn record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>>;
    /// An entry of a heap dump. Of instances and arrays that are cut, or longer than `MAX_WHOLE_BYTES`, only the start.
    fn entry(&mut self, data: &mut [u8]);
    /// The next elements of the array that `entry` had the start of.
    fn elements(&mut self, bytes: &mut [u8]);
    /// Bytes that cannot be parsed, or are of records without use.
    fn unknown(&mut self, bytes: &mut [u8]);
}

/// A walk through a file.
pub(super) struct Walk<'w, W> {
    source: Source,
    out: Option<&'w mut dyn Write>,
    pub(super) work: W,
    bytes: Vec<u8>,
    /// Of `bytes`: written, passed, filled.
    written: usize,
    at: usize,
    end: usize,
    /// Of the next byte.
    offset: u64,
    has_ended: bool,
    /// The file's length as its reader knows it.
    total: Option<u64>,
    /// The same as a walk before this one found it.
    known_total: Option<u64>,
    id_bytes: usize,
    pub(super) lost: LostBytes,
    /// The output could not be written.
    pub(super) write_error: Option<std::io::Error>,
    // ---- dumps of the file
    dumps: usize,
    in_run: bool,
    is_complete: bool,
}

impl<'w, W: Work> Walk<'w, W> {
    pub(super) fn new(
        source: Source,
        header: &Header,
        known_total: Option<u64>,
        work: W,
        out: Option<&'w mut dyn Write>,
    ) -> Self {
        let total = source.file_bytes.filter(|_| source.compression.is_empty());
        Walk {
            source,
            out,
            work,
            bytes: vec![0; WINDOW_BYTES],
            written: 0,
            at: 0,
            end: 0,
            offset: 0,
            has_ended: false,
            total,
            known_total: known_total.or(total),
            id_bytes: header.id_bytes,
            lost: LostBytes::default(),
            write_error: None,
            dumps: 0,
            in_run: false,
            is_complete: false,
        }
    }

    /// Walks to the end. Returns the file's length. Error: when it cannot be read or written.
    pub(super) fn run(&mut self, header: &Header) -> Result<u64, ReadError> {
        self.need(header.header_bytes)?;
        self.advance(header.header_bytes.min(self.ahead()));
        while self.next_record()? {}
        self.lose_file()?;
        self.flush()?;
        Ok(self.offset)
    }

    // ---- bytes

    fn ahead(&self) -> usize {
        self.end - self.at
    }

    fn left(&self) -> Option<u64> {
        self.total.map(|total| total.saturating_sub(self.offset))
    }

    /// Returns true if so many bytes follow, which then are at hand. Memory grows with what is there.
    #[inline]
    fn need(&mut self, bytes: usize) -> Result<bool, ReadError> {
        if self.ahead() >= bytes { Ok(true) } else { self.fill(bytes) }
    }

    #[cold]
    fn fill(&mut self, bytes: usize) -> Result<bool, ReadError> {
        self.flush()?;
        self.bytes.copy_within(self.at..self.end, 0);
        (self.end, self.at, self.written) = (self.end - self.at, 0, 0);
        // What was long is passed.
        self.bytes.truncate(self.end.max(bytes).max(WINDOW_BYTES));
        while self.end < bytes && !self.has_ended {
            if self.end == self.bytes.len() {
                self.bytes.resize((2 * self.end).min(bytes.max(WINDOW_BYTES)), 0);
            }
            let room = self.bytes.len() - self.end;
            let got = self.source.fill(&mut self.bytes[self.end..])?;
            self.has_ended = got < room;
            self.end += got;
        }
        Ok(self.end >= bytes)
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        if let Some(out) = &mut self.out
            && self.write_error.is_none()
        {
            self.write_error = out.write_all(&self.bytes[self.written..self.at]).err();
            // Nothing is there to be read any more.
            self.has_ended |= self.write_error.is_some();
        }
        self.written = self.at;
        Ok(())
    }

    #[inline]
    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.offset += bytes as u64;
    }

    /// Shows the next `bytes` in parts whose lengths are multiples of `unit`. Returns how many there were.
    fn pass(&mut self, bytes: u64, unit: usize, mut see: impl FnMut(&mut W, &mut [u8])) -> Result<u64, ReadError> {
        let mut left = bytes;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(WINDOW_BYTES);
            let is_all = self.need(wanted)?;
            let mut part = self.ahead().min(wanted);
            if is_all && part as u64 != left {
                part -= part % unit;
            }
            if part == 0 {
                break;
            }
            see(&mut self.work, &mut self.bytes[self.at..self.at + part]);
            self.advance(part);
            left -= part as u64;
        }
        Ok(bytes - left)
    }

    /// Passes bytes that nobody can use.
    fn lose(&mut self, bytes: u64) -> Result<u64, ReadError> {
        let first_at = self.offset;
        let lost = self.pass(bytes, 1, |work, part| work.unknown(part))?;
        self.note_lost(lost, first_at);
        Ok(lost)
    }

    fn note_lost(&mut self, bytes: u64, first_at: u64) {
        if bytes > 0 {
            let first_at = if self.lost.bytes == 0 { first_at } else { self.lost.first_at };
            self.lost = LostBytes { bytes: self.lost.bytes + bytes, first_at, ..self.lost };
        }
    }

    fn lose_file(&mut self) -> Result<(), ReadError> {
        self.lose(u64::MAX).map(drop)
    }

    // ---- records

    fn is_after_end(&self) -> bool {
        !self.in_run && self.dumps > 0 && self.is_complete
    }

    fn fits(&self, length: u32) -> bool {
        self.left().is_none_or(|left| left.saturating_sub(RecordHead::BYTES as u64) >= length.into())
    }

    /// The next record. False at the end of what can be read.
    fn next_record(&mut self) -> Result<bool, ReadError> {
        if !self.need(RecordHead::BYTES)? {
            self.lost.is_cut |= self.ahead() > 0;
            return Ok(false);
        }
        let Some(head) = RecordHead::parse(&self.bytes[self.at..self.end]) else { return Ok(false) };
        if !record::is_known(head.tag) && (self.is_after_end() || head.tag == 0 || !self.fits(head.length)) {
            return Ok(false);
        }
        let end = self.offset + RecordHead::BYTES as u64 + u64::from(head.length);
        let is_there = self.known_total.is_none_or(|total| total >= end);
        if matches!(head.tag, record::HEAP_DUMP | record::SEGMENT) {
            self.work.head(&mut self.bytes[self.at..self.at + RecordHead::BYTES], is_there);
            self.advance(RecordHead::BYTES);
            return self.segment(head);
        }
        let whole = RecordHead::BYTES + head.length as usize;
        if head.length <= MAX_RECORD_BYTES && self.need(whole)? {
            let (first, body) = self.bytes[self.at..self.at + whole].split_at_mut(RecordHead::BYTES);
            self.work.head(first, true);
            if let Some(body) = self.work.record(head.tag, body) {
                self.replace(head, whole, &body)?;
            } else {
                self.advance(whole);
            }
        } else {
            self.work.head(&mut self.bytes[self.at..self.at + RecordHead::BYTES], is_there);
            self.advance(RecordHead::BYTES);
            let lost = self.lose(head.length.into())?;
            self.lost.is_cut |= lost < head.length.into();
        }
        if head.tag == record::HEAP_DUMP_END {
            (self.in_run, self.is_complete) = (false, true);
        }
        Ok(true)
    }

    /// Writes a body of another length in the place of one of `whole` bytes with its head.
    fn replace(&mut self, head: RecordHead, whole: usize, body: &[u8]) -> Result<(), ReadError> {
        self.flush()?;
        if let Some(out) = &mut self.out {
            out.write_all(&self.bytes[self.at..self.at + 5])?;
            out.write_all(&u32::try_from(body.len()).unwrap_or(head.length).to_be_bytes())?;
            out.write_all(body)?;
        }
        self.advance(whole);
        self.written = self.at;
        Ok(())
    }

    fn is_at_record(&mut self) -> Result<bool, ReadError> {
        if !self.need(RecordHead::BYTES)? {
            return Ok(false);
        }
        let head = RecordHead::parse(&self.bytes[self.at..self.end]);
        Ok(head.is_some_and(|head| {
            record::is_known(head.tag) && self.fits(head.length) && (!sub::is_known(head.tag) || head.micros == 0)
        }))
    }

    // ---- heap dumps and their segments

    fn segment(&mut self, head: RecordHead) -> Result<bool, ReadError> {
        if head.tag == record::HEAP_DUMP || !self.in_run {
            self.dumps += 1;
            self.is_complete = false;
            self.work.begin_dump();
        }
        self.in_run = head.tag == record::SEGMENT;
        let (left, length) = (self.left(), u64::from(head.length));
        let wraps = head.tag == record::HEAP_DUMP
            && left.is_some_and(|left| left >= 1 << 32 && left.wrapping_sub(length).is_multiple_of(1 << 32));
        let is_unmeasured = length == 0 && self.need(1)? && !self.is_at_record()? && sub::is_known(self.bytes[self.at]);
        let may_wrap = head.tag == record::HEAP_DUMP && left.is_none();
        let bounds = (!wraps && !is_unmeasured).then_some(length);
        let has_more = self.entries(bounds, may_wrap)?;
        self.is_complete |= has_more && head.tag == record::HEAP_DUMP;
        Ok(has_more)
    }

    /// The entries of a segment of so many bytes (`None`: up to what is none). False at the end of what can be read.
    fn entries(&mut self, mut left: Option<u64>, may_wrap: bool) -> Result<bool, ReadError> {
        loop {
            if left == Some(0) {
                return Ok(true);
            }
            if !self.need(1)? {
                self.lost.is_cut |= left.is_some();
                return Ok(false);
            }
            let bytes = match self.next_bytes()? {
                SubRecordLength::Known(bytes) => bytes,
                SubRecordLength::NoSubRecord => return self.lose_segment(left),
                SubRecordLength::NeedsMore => {
                    self.cut();
                    return Ok(false);
                }
            };
            if left.is_some_and(|left| bytes > left) {
                if !may_wrap {
                    return self.lose_segment(left);
                }
                left = None;
                continue;
            }
            if bytes > MAX_WHOLE_BYTES {
                if !self.huge(bytes)? {
                    return Ok(false);
                }
            } else if self.need(bytes as usize)? {
                let end = self.at + bytes as usize;
                self.work.entry(&mut self.bytes[self.at..end]);
                self.advance(bytes as usize);
            } else {
                self.cut();
                return Ok(false);
            }
            left = left.map(|left| left - bytes);
        }
    }

    #[inline]
    fn next_bytes(&mut self) -> Result<SubRecordLength, ReadError> {
        loop {
            let found = sub_record_length(&self.bytes[self.at..self.end], self.id_bytes);
            let available = self.ahead();
            if found != SubRecordLength::NeedsMore
                || available as u64 >= MAX_WHOLE_BYTES
                || !self.need(available + 1)?
            {
                return Ok(found);
            }
        }
    }

    /// The rest of a segment cannot be read; what follows it can.
    fn lose_segment(&mut self, left: Option<u64>) -> Result<bool, ReadError> {
        match left {
            None => self.is_at_record(),
            Some(left) => {
                let lost = self.lose(left)?;
                self.lost.is_cut |= lost < left;
                Ok(lost == left)
            }
        }
    }

    /// The file ends within the entry at hand.
    fn cut(&mut self) {
        self.lost.is_cut = true;
        let (first_at, bytes) = (self.offset, self.ahead());
        let data = &mut self.bytes[self.at..self.end];
        let has_head = match data[0] {
            sub::INSTANCE => data.len() >= 9 + 2 * self.id_bytes,
            sub::OBJECT_ARRAY => data.len() >= 9 + 2 * self.id_bytes,
            sub::PRIMITIVE_ARRAY => data.len() >= 10 + self.id_bytes,
            _ => false,
        };
        if has_head {
            self.work.entry(data);
        } else {
            self.work.unknown(&mut data[1..]);
        }
        self.advance(bytes);
        self.note_lost(bytes as u64, first_at);
    }

    /// An entry that is too long to be at hand. False if the file ends in it.
    fn huge(&mut self, bytes: u64) -> Result<bool, ReadError> {
        let (tag, id_bytes) = (self.bytes[self.at], self.id_bytes);
        let (head_bytes, unit) = match tag {
            sub::OBJECT_ARRAY => (9 + 2 * id_bytes, id_bytes),
            sub::PRIMITIVE_ARRAY => {
                let element = self.bytes.get(self.at + 9 + id_bytes).and_then(|&kind| element_bytes(kind));
                (10 + id_bytes, element.unwrap_or(1))
            }
            _ => (9 + 2 * id_bytes, 0),
        };
        self.need(head_bytes)?;
        let head_bytes = head_bytes.min(self.ahead());
        self.work.entry(&mut self.bytes[self.at..self.at + head_bytes]);
        self.advance(head_bytes);
        let rest = bytes - head_bytes as u64;
        let passed = match unit {
            0 => self.pass(rest, 1, |work, part| work.unknown(part))?,
            _ => self.pass(rest, unit, |work, part| work.elements(part))?,
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
