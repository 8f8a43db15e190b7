//! The file as a stream: which array of the one object a piece belongs to. Arrays are cut into pieces of whole rows, which
//! several threads can parse apart; what no reader needs is passed over.

use std::sync::Arc;

use super::layout::SnapshotHeader;
use crate::graph::{MemoryBudget, MemoryShare};
use crate::input::blocks::{BlockBuffer, BlockSource};
use crate::input::{ReadError, ReadErrorKind, Source};

/// Bytes that are read at once.
const WINDOW_BYTES: usize = 1 << 20;
/// A header that is longer is none: those of all writers so far have 2 to 4 KiB.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Keys of the one object are words.
const MAX_KEY_BYTES: usize = 1 << 10;

/// The arrays that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SnapshotArray {
    #[default]
    Nodes,
    Edges,
    Locations,
    Functions,
    Samples,
    Strings,
}

/// What the parser of a piece must know.
#[derive(Debug, Clone)]
pub(crate) struct PieceContext {
    /// The array that the piece is of.
    pub(crate) region: SnapshotArray,
    /// The layout of rows; `None` when the header has not come yet: numbers are kept as they are.
    pub(crate) layout: Option<Arc<SnapshotHeader>>,
    /// Values in the piece, or strings.
    pub(crate) value_count: usize,
    /// Offset of the piece in the input.
    pub(crate) offset: u64,
}

/// The part of the input that the scanner is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Before the first brace.
    Start,
    /// Between the values of the one object.
    BetweenValues,
    WithinNumbers(SnapshotArray),
    WithinStrings,
    End,
}

/// How far the file went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndOfInput {
    /// To its last brace.
    Complete,
    /// All arrays were whole, the last brace is missing.
    MissingLastBrace,
    /// It broke off within this array.
    WithinArray(SnapshotArray),
    /// It broke off elsewhere, before the last array.
    OutsideArrays,
}

/// Cuts a snapshot into pieces.
pub(crate) struct Scanner {
    source: Source,
    window: Vec<u8>,
    share: MemoryShare,
    /// The rest of the window begins here.
    window_position: usize,
    /// ... and ends here.
    window_end: usize,
    /// Offset of the window in the input.
    window_start_offset: u64,
    source_ended: bool,
    state: ScanState,
    /// The header, once it came.
    pub(crate) layout: Option<Arc<SnapshotHeader>>,
    /// Arrays that were read to their ends.
    pub(crate) whole_arrays: Vec<SnapshotArray>,
    pub(crate) end_of_input: EndOfInput,
    pub(crate) has_data_after_end: bool,
    /// The tree of stacks is kept.
    keeps_stacks: bool,
    /// The tree of stacks as the file has it, where it is kept.
    pub(crate) stack_tree: Vec<u8>,
}

impl Scanner {
    pub(crate) fn new(source: Source, keeps_stacks: bool, budget: &MemoryBudget) -> Self {
        Scanner {
            source,
            window: Vec::new(),
            share: budget.for_buffer(),
            window_position: 0,
            window_end: 0,
            window_start_offset: 0,
            source_ended: false,
            state: ScanState::Start,
            layout: None,
            whole_arrays: Vec::new(),
            end_of_input: EndOfInput::OutsideArrays,
            has_data_after_end: false,
            keeps_stacks,
            stack_tree: Vec::new(),
        }
    }

    /// Bytes of the input so far.
    pub(crate) fn input_bytes_so_far(&self) -> u64 {
        self.window_start_offset + self.window_end as u64
    }

    /// Reads more behind what is left of the window; false at the end of the input.
    fn refill(&mut self) -> Result<bool, ReadError> {
        if self.source_ended {
            return Ok(false);
        }
        self.window.copy_within(self.window_position..self.window_end, 0);
        self.window_start_offset += self.window_position as u64;
        self.window_end -= self.window_position;
        self.window_position = 0;
        let wanted = self.window_end + WINDOW_BYTES;
        if self.window.len() < wanted {
            self.share.set_held_bytes((2 * wanted + self.stack_tree.capacity()) as u64)?;
            self.window.resize(wanted, 0);
        }
        let filled = self.source.fill(&mut self.window[self.window_end..wanted])?;
        self.source_ended = filled < wanted - self.window_end;
        self.window_end += filled;
        Ok(filled > 0)
    }

    /// The next byte, which is not passed; `None` at the end of the input.
    fn peek_byte(&mut self) -> Result<Option<u8>, ReadError> {
        if self.window_position == self.window_end && !self.refill()? {
            return Ok(None);
        }
        Ok(Some(self.window[self.window_position]))
    }

    /// Passes over blanks and looks at what follows.
    fn peek_after_blanks(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            match self.peek_byte()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.window_position += 1,
                other => return Ok(other),
            }
        }
    }

    /// Reads a key, from its first quote on, and its colon; escapes are not decoded. `None` when there is none.
    fn read_key(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        self.window_position += 1;
        let mut key = Vec::new();
        loop {
            match self.peek_byte()? {
                None => return Ok(None),
                Some(b'"') => break self.window_position += 1,
                Some(byte) => {
                    self.window_position += 1;
                    if key.len() < MAX_KEY_BYTES {
                        key.push(byte);
                    }
                    if byte == b'\\' && self.peek_byte()?.is_some() {
                        self.window_position += 1;
                    }
                }
            }
        }
        if self.peek_after_blanks()? == Some(b':') {
            self.window_position += 1;
            return Ok(Some(key));
        }
        Ok(None)
    }

    /// Passes over a value, which is kept when `most` bytes are wanted of it. `None` when the input ends within it.
    fn read_value(&mut self, most: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let (mut kept, mut depth) = (Vec::new(), 0u64);
        let (mut is_text, mut is_escaped) = (false, false);
        let mut any = false;
        loop {
            let Some(byte) = self.peek_byte()? else { return Ok(None) };
            if !is_text && depth == 0 && (byte == b',' || byte == b'}' || byte == b']') {
                break;
            }
            self.window_position += 1;
            if kept.len() < most {
                if kept.len() == kept.capacity() {
                    self.share.set_held_bytes((2 * self.window.len() + 3 * kept.len()) as u64)?;
                }
                kept.push(byte);
            }
            if is_text {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = true,
                    b'"' => is_text = false,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => is_text = true,
                    b'{' | b'[' => (depth, any) = (depth + 1, true),
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if any && depth == 0 {
                    break;
                }
            }
        }
        Ok(Some(kept))
    }

    /// Goes on to the next array that is read. False at the end.
    fn advance_to_array(&mut self) -> Result<bool, ReadError> {
        loop {
            match (self.peek_after_blanks()?, self.state) {
                (Some(b'{'), ScanState::Start) => {
                    self.window_position += 1;
                    self.state = ScanState::BetweenValues;
                }
                (Some(b','), ScanState::BetweenValues) => self.window_position += 1,
                (Some(b'}'), ScanState::BetweenValues) => {
                    self.window_position += 1;
                    self.end_of_input = EndOfInput::Complete;
                    self.has_data_after_end = self.peek_after_blanks()?.is_some();
                    return self.end_scan();
                }
                (Some(b'"'), ScanState::BetweenValues) => {
                    let Some(key) = self.read_key()? else { return self.end_scan() };
                    let region = match &key[..] {
                        b"nodes" => SnapshotArray::Nodes,
                        b"edges" => SnapshotArray::Edges,
                        b"locations" => SnapshotArray::Locations,
                        b"trace_function_infos" => SnapshotArray::Functions,
                        b"samples" => SnapshotArray::Samples,
                        b"strings" => SnapshotArray::Strings,
                        b"snapshot" => {
                            let Some(json) = self.read_value(MAX_HEADER_BYTES)? else { return self.end_scan() };
                            // Another thread that asks for a block finds none behind a header that is an error.
                            self.state = ScanState::End;
                            if json.len() == MAX_HEADER_BYTES {
                                let text =
                                    format!("a V8 heap snapshot whose header has {MAX_HEADER_BYTES} bytes or more");
                                return Err(ReadError::new(ReadErrorKind::NotSupported(text)));
                            }
                            self.layout = Some(Arc::new(SnapshotHeader::parse(&json)?));
                            self.state = ScanState::BetweenValues;
                            continue;
                        }
                        b"trace_tree" if self.keeps_stacks => {
                            let Some(tree) = self.read_value(usize::MAX)? else { return self.end_scan() };
                            self.stack_tree = tree;
                            continue;
                        }
                        _ => {
                            if self.read_value(0)?.is_none() {
                                return self.end_scan();
                            }
                            continue;
                        }
                    };
                    if self.peek_after_blanks()? != Some(b'[') || self.whole_arrays.contains(&region) {
                        if self.read_value(0)?.is_none() {
                            return self.end_scan();
                        }
                        continue;
                    }
                    self.window_position += 1;
                    self.state = if region == SnapshotArray::Strings {
                        ScanState::WithinStrings
                    } else {
                        ScanState::WithinNumbers(region)
                    };
                    return Ok(true);
                }
                (None, ScanState::BetweenValues) => {
                    if self.whole_arrays.contains(&SnapshotArray::Strings)
                        && self.whole_arrays.contains(&SnapshotArray::Edges)
                    {
                        self.end_of_input = EndOfInput::MissingLastBrace;
                    }
                    return self.end_scan();
                }
                _ => return self.end_scan(),
            }
        }
    }

    /// Ends the reading: always false. Error: if there was no header.
    fn end_scan(&mut self) -> Result<bool, ReadError> {
        self.state = ScanState::End;
        if self.layout.is_none() {
            return Err(ReadError::new(ReadErrorKind::NotSupported(
                "a V8 heap snapshot without its header: the file is cut off, or another program changed it (truncated)"
                    .into(),
            )));
        }
        Ok(false)
    }

    /// Values in a row of a region.
    fn row_width(&self, region: SnapshotArray) -> usize {
        self.layout.as_ref().map_or(1, |layout| match region {
            SnapshotArray::Nodes => layout.node_fields.width,
            SnapshotArray::Edges => layout.edge_fields.width,
            SnapshotArray::Locations => layout.location_fields.map_or(1, |fields| fields.width),
            SnapshotArray::Functions => layout.function_fields.map_or(1, |fields| fields.width),
            SnapshotArray::Samples => layout.sample_fields.map_or(1, |fields| fields.width),
            SnapshotArray::Strings => 1,
        })
    }

    /// The next piece of an array of numbers: how many bytes of the window, and values. `None` when nothing is left.
    fn next_piece_of_numbers(&mut self, region: SnapshotArray) -> Result<Option<(usize, usize)>, ReadError> {
        let width = self.row_width(region);
        loop {
            if self.window_end - self.window_position < WINDOW_BYTES / 2 && !self.source_ended {
                self.refill()?;
            }
            let bytes = &self.window[self.window_position..self.window_end];
            if let Some(end) = memchr::memchr(b']', bytes) {
                let values = count_commas(&bytes[..end]) + 1;
                self.whole_arrays.push(region);
                self.state = ScanState::BetweenValues;
                return Ok(Some((end, values)));
            }
            let commas = count_commas(bytes);
            let mut cut = memchr::memrchr(b',', bytes).map_or(0, |at| at + 1);
            for _ in 0..commas % width {
                cut = memchr::memrchr(b',', &bytes[..cut - 1]).map_or(0, |at| at + 1);
            }
            if cut > 0 {
                return Ok(Some((cut, commas - commas % width)));
            }
            if !self.refill()? {
                self.end_of_input = EndOfInput::WithinArray(region);
                self.window_position = self.window_end;
                return Ok(None);
            }
        }
    }

    /// The next piece of the array of strings: bytes of the window, and whole strings in them. `None` as above.
    fn next_piece_of_strings(&mut self) -> Result<Option<(usize, usize)>, ReadError> {
        loop {
            if self.window_end - self.window_position < WINDOW_BYTES / 2 && !self.source_ended {
                self.refill()?;
            }
            let bytes = &self.window[self.window_position..self.window_end];
            let (mut at, mut cut, mut count) = (0, 0, 0);
            while let Some(begin) = memchr::memchr2(b'"', b']', &bytes[at..]).map(|found| at + found) {
                if bytes[begin] == b']' {
                    self.whole_arrays.push(SnapshotArray::Strings);
                    self.state = ScanState::BetweenValues;
                    return Ok(Some((begin, count)));
                }
                let Some(end) = end_of_string(bytes, begin + 1) else { break };
                (at, cut, count) = (end, end, count + 1);
            }
            if cut > 0 {
                return Ok(Some((cut, count)));
            }
            if !self.refill()? {
                self.end_of_input = EndOfInput::WithinArray(SnapshotArray::Strings);
                self.window_position = self.window_end;
                return Ok(None);
            }
        }
    }
}

/// Behind the closing quote of a string whose first character is at `from`; `None` when it is not there.
pub(crate) fn end_of_string(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let found = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[found] == b'"' {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// The number of commas: of values but one.
fn count_commas(bytes: &[u8]) -> usize {
    // Sums of bytes over short runs become vector instructions.
    let runs = bytes.chunks(192);
    runs.map(|run| usize::from(run.iter().map(|&byte| u8::from(byte == b',')).sum::<u8>())).sum()
}

impl BlockSource for Scanner {
    type Context = PieceContext;

    fn next_block(&mut self, buffer: &mut BlockBuffer) -> Result<Option<(usize, PieceContext)>, ReadError> {
        loop {
            let (region, piece) = match self.state {
                ScanState::End => return Ok(None),
                ScanState::Start | ScanState::BetweenValues => {
                    if !self.advance_to_array()? {
                        return Ok(None);
                    }
                    continue;
                }
                ScanState::WithinNumbers(region) => (region, self.next_piece_of_numbers(region)?),
                ScanState::WithinStrings => (SnapshotArray::Strings, self.next_piece_of_strings()?),
            };
            let Some((bytes, values)) = piece else {
                self.end_scan()?;
                continue;
            };
            if buffer.bytes.len() < bytes {
                buffer.resize(bytes)?;
            }
            buffer.bytes[..bytes].copy_from_slice(&self.window[self.window_position..self.window_position + bytes]);
            let offset = self.window_start_offset + self.window_position as u64;
            // The bracket behind the last piece.
            self.window_position += bytes + usize::from(self.state == ScanState::BetweenValues);
            if bytes == 0 {
                continue;
            }
            return Ok(Some((
                bytes,
                PieceContext { region, layout: self.layout.clone(), value_count: values, offset },
            )));
        }
    }
}
