//! Segments that are longer than a block: cut between sub-records, which takes a walk over their heads. Arrays that are
//! longer than a block pass in parts, those of numbers without their values.

use super::{
    BLOCK_BYTES, MAX_WHOLE_SUB_RECORD_BYTES, MIN_BLOCK_BYTES, OpenBlock, OpenSegment, ReaderState, SegmentReader,
};
use crate::input::ReadError;
use crate::input::hprof::problem_codes::*;
use crate::input::hprof::records::{SubRecordLength, sub_record_length};
use crate::input::hprof::wire::{id_at_with_width, sub_record_tags, u32_at};

impl SegmentReader {
    /// Takes sub-records of a segment that is longer than a block. False if there is no more room in the block.
    pub fn take_long_segment(
        &mut self,
        mut segment: OpenSegment,
        block: &mut OpenBlock<'_>,
    ) -> Result<bool, ReadError> {
        if segment.elements_left > 0 {
            return self.take_array_elements(segment, block);
        }
        let offset = self.stream.offset;
        if !self.stream.look_ahead(1)? {
            if segment.left_bytes.is_some() {
                return self.end_in_cut_sub_record(segment, 0, offset);
            }
            self.state = ReaderState::Ended;
            return Ok(true);
        }
        let first = self.next_sub_record_length()?;
        let left = segment.left_bytes.unwrap_or(u64::MAX);
        match first {
            SubRecordLength::NoSubRecord => return self.skip_unreadable_rest(segment, offset),
            SubRecordLength::NeedsMore => {
                self.count_rest_unread();
                return self.end_in_cut_sub_record(segment, self.stream.ahead().len() as u64, offset);
            }
            SubRecordLength::Known(bytes) if bytes > left => {
                if segment.length_may_wrap {
                    self.add_problem(&LENGTH_WRAPPED, offset, String::new);
                    segment.left_bytes = None;
                    self.state = ReaderState::InSegment(segment);
                    return Ok(true);
                }
                return self.skip_unreadable_rest(segment, offset);
            }
            SubRecordLength::Known(bytes) if bytes > MAX_WHOLE_SUB_RECORD_BYTES => {
                return self.take_huge_sub_record(segment, bytes, block);
            }
            SubRecordLength::Known(bytes) if bytes > MIN_BLOCK_BYTES as u64 => {
                if block.filled_bytes > 0 {
                    return Ok(false);
                }
                let wanted = bytes as usize;
                let got = self.stream.read_into(block.next_bytes(wanted)?)?;
                block.push_piece(got, offset, got < wanted, segment.heap);
                if got < wanted {
                    self.count_missing_bytes(segment, got as u64);
                }
                self.continue_segment(segment, bytes, got < wanted);
                return Ok(true);
            }
            SubRecordLength::Known(_) => {}
        }
        // The first fits; as many more as do.
        let wanted = (BLOCK_BYTES - block.filled_bytes).min(usize::try_from(left).unwrap_or(usize::MAX));
        let room = block.next_bytes(wanted)?;
        let got = self.stream.read_into(room)?;
        let data = &room[..got];
        let mut at = 0;
        let heap = segment.heap;
        while at < got {
            match sub_record_length(&data[at..], self.header.id_bytes) {
                SubRecordLength::Known(bytes) if bytes <= (got - at) as u64 => {
                    if data[at] == sub_record_tags::HEAP_INFO {
                        segment.heap = u32_at(data, at + 1).zip(id_at_with_width(data, at + 5, self.header.id_bytes));
                    }
                    at += bytes as usize;
                }
                _ => break,
            }
        }
        let is_bad = at < got && sub_record_length(&data[at..], self.header.id_bytes) == SubRecordLength::NoSubRecord;
        if got < wanted && at < got && !is_bad {
            // The last one is cut: its parser reports it.
            block.push_piece(got, offset, true, heap);
            self.count_missing_bytes(segment, got as u64);
            self.state = ReaderState::Ended;
            return Ok(true);
        }
        self.stream.put_back(&data[at..]);
        block.push_piece(at, offset, false, heap);
        self.continue_segment(segment, at as u64, false);
        Ok(true)
    }

    /// Ends the reading: the file ends within a sub-record of the segment, of which so many bytes came. Always true.
    fn end_in_cut_sub_record(&mut self, segment: OpenSegment, came: u64, offset: u64) -> Result<bool, ReadError> {
        self.count_missing_bytes(segment, came);
        self.add_problem(&TRUNCATED, offset, String::new);
        self.state = ReaderState::Ended;
        Ok(true)
    }

    /// Goes on behind what was taken, or ends the reading where the file is cut there.
    fn continue_segment(&mut self, mut segment: OpenSegment, taken: u64, is_cut: bool) {
        segment.left_bytes = segment.left_bytes.map(|left| left.saturating_sub(taken));
        self.state = if is_cut { ReaderState::Ended } else { ReaderState::InSegment(segment) };
    }

    /// Reports that the rest of a segment cannot be read, and passes over it. Always true, as of `take_long_segment`.
    fn skip_unreadable_rest(&mut self, segment: OpenSegment, offset: u64) -> Result<bool, ReadError> {
        if segment.left_bytes.is_none() && self.is_at_record()? {
            // Its length was not known: here it ends.
            self.end_segment(segment);
            return Ok(true);
        }
        self.add_problem(&BAD_SUBRECORD, offset, String::new);
        match segment.left_bytes {
            Some(_) => self.skip_segment(segment)?,
            None => {
                self.count_rest_unread();
                self.state = ReaderState::Ended;
            }
        }
        Ok(true)
    }

    /// The length of the next sub-record, for which more is read ahead as long as it takes.
    fn next_sub_record_length(&mut self) -> Result<SubRecordLength, ReadError> {
        loop {
            let available = self.stream.ahead().len();
            let found = sub_record_length(self.stream.ahead(), self.header.id_bytes);
            if found != SubRecordLength::NeedsMore
                || available as u64 >= MAX_WHOLE_SUB_RECORD_BYTES
                || !self.stream.look_ahead(available + 1)?
            {
                return Ok(found);
            }
        }
    }

    /// Takes an array (or another sub-record) that is too long to be read as a whole.
    fn take_huge_sub_record(
        &mut self,
        mut segment: OpenSegment,
        bytes: u64,
        block: &mut OpenBlock<'_>,
    ) -> Result<bool, ReadError> {
        let id_bytes = self.header.id_bytes;
        let offset = self.stream.offset;
        if let Some(there) = self.stream.remaining_bytes().filter(|&there| there < bytes) {
            self.count_rest_unread();
            return self.end_in_cut_sub_record(segment, there, offset);
        }
        let is_array = self.stream.ahead()[0] == sub_record_tags::OBJECT_ARRAY;
        let head_bytes = 9 + 2 * id_bytes + usize::from(!is_array);
        if block.filled_bytes + head_bytes > block.buffer.bytes.len() {
            return Ok(false);
        }
        self.stream.read_into(block.next_bytes(head_bytes)?)?;
        let rest = bytes - head_bytes as u64;
        if is_array {
            segment.elements_left = rest / id_bytes as u64;
        } else {
            // Only then is it an object.
            let skipped = self.stream.skip(rest)?;
            if skipped < rest {
                let came = bytes - (rest - skipped);
                self.lost_bytes.unread_bytes += came;
                return self.end_in_cut_sub_record(segment, came, offset);
            }
        }
        block.push_piece(head_bytes, offset, false, segment.heap);
        if let Some(piece) = block.pieces.last_mut() {
            (piece.last_values_skipped, piece.ends_in_object_array) = (!is_array, is_array);
        }
        self.continue_segment(segment, bytes, false);
        Ok(true)
    }

    /// Takes the next elements of an array that was begun; its segment has them counted already.
    fn take_array_elements(&mut self, mut segment: OpenSegment, block: &mut OpenBlock<'_>) -> Result<bool, ReadError> {
        let id_bytes = self.header.id_bytes;
        let room = ((BLOCK_BYTES - block.filled_bytes) / id_bytes) as u64;
        let elements = segment.elements_left.min(room);
        if elements == 0 {
            return Ok(false);
        }
        let offset = self.stream.offset;
        let wanted = elements as usize * id_bytes;
        let got = self.stream.read_into(block.next_bytes(wanted)?)?;
        let whole = got - got % id_bytes;
        block.push_piece(whole, offset, got < wanted, segment.heap);
        if got < wanted {
            // Elements that follow were counted as there.
            self.count_missing_bytes(segment, 0);
            self.lost_bytes.missing_bytes += segment.elements_left * id_bytes as u64 - got as u64;
        }
        if let Some(piece) = block.pieces.last_mut() {
            piece.leading_element_count = (whole / id_bytes) as u64;
            piece.ends_in_object_array = true;
        }
        segment.elements_left -= elements;
        self.continue_segment(segment, 0, got < wanted);
        Ok(true)
    }
}
