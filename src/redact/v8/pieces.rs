//! A snapshot as pieces of its arrays, one after another, and what stands between them.

use std::sync::Arc;

use super::header::decide_snapshot_text;
use crate::graph::MemoryBudget;
use crate::input::blocks::{BlockBuffer, BlockSource};
use crate::input::v8_snapshot::block::Block;
use crate::input::v8_snapshot::layout::SnapshotHeader;
use crate::input::v8_snapshot::scan::{EndOfInput, PieceContext, Scanner, SnapshotArray};
use crate::input::{ReadError, Source};
use crate::redact::dump_file::DumpFile;
use crate::redact::json_redactor::JsonRedactor;
use crate::redact::options::LostBytes;

/// Bytes that are read at a time between pieces.
const WINDOW_BYTES: usize = 256 << 10;

/// Cuts a snapshot into pieces of whole rows and whole strings.
pub(super) struct SnapshotPieces {
    pub(super) scanner: Scanner,
    buffer: BlockBuffer,
    /// The last piece that was parsed, and its bytes in the buffer.
    pub(super) block: Block,
    piece_bytes: usize,
}

impl SnapshotPieces {
    /// From the start; with the header, where it is known: it may stand behind the rows.
    pub(super) fn open(file: &DumpFile, layout: Option<&Arc<SnapshotHeader>>) -> Result<Self, ReadError> {
        let budget = MemoryBudget::default();
        let mut scanner = Scanner::new(file.open()?, false, &budget);
        scanner.layout = layout.cloned();
        Ok(SnapshotPieces {
            scanner,
            buffer: BlockBuffer::new(budget.for_buffer()),
            block: Block::default(),
            piece_bytes: 0,
        })
    }

    fn next_piece(&mut self) -> Result<Option<(PieceContext, usize)>, ReadError> {
        Ok(self.scanner.next_block(&mut self.buffer)?.map(|(bytes, context)| (context, bytes)))
    }

    /// Goes on to the next piece of an array, which is parsed. False when there is none.
    pub(super) fn next_piece_of(&mut self, region: SnapshotArray) -> Result<bool, ReadError> {
        self.next_matching_piece(|other| other == region)
    }

    /// The same of any array but the strings.
    pub(super) fn next_piece_of_rows(&mut self) -> Result<bool, ReadError> {
        self.next_matching_piece(|region| region != SnapshotArray::Strings)
    }

    fn next_matching_piece(&mut self, is_meant: impl Fn(SnapshotArray) -> bool) -> Result<bool, ReadError> {
        while let Some((context, bytes)) = self.next_piece()? {
            if is_meant(context.region) {
                self.block = Block::default();
                self.block.parse(&self.buffer.bytes[..bytes], &context);
                self.piece_bytes = bytes;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The last piece that was parsed, as it stands in the file.
    pub(super) fn piece_text(&self) -> &[u8] {
        &self.buffer.bytes[..self.piece_bytes]
    }
}

/// A part of a file.
pub(super) enum SnapshotPart<'p> {
    /// Bytes between pieces, and what may stay of them.
    BetweenPieces(&'p [u8], &'p [u8]),
    /// Whole rows or strings.
    Piece(SnapshotArray, &'p [u8]),
    /// The last string has come.
    EndOfStrings,
}

/// Shows a file part by part. Returns what belongs to no part.
pub(super) fn walk_snapshot<E: From<ReadError>>(
    file: &DumpFile,
    layout: &Arc<SnapshotHeader>,
    mut see: impl FnMut(SnapshotPart<'_>) -> Result<(), E>,
) -> Result<LostBytes, E> {
    let mut raw =
        RawReader { source: file.open()?, window: vec![0; WINDOW_BYTES], passed_end: 0, filled_end: 0, offset: 0 };
    let mut pieces = SnapshotPieces::open(file, Some(layout))?;
    let (mut lexer, mut is_over, mut is_string) = (JsonRedactor::new(decide_snapshot_text, false), false, false);
    loop {
        let next = pieces.next_piece()?;
        let is_more = next.as_ref().is_some_and(|(context, _)| context.region == SnapshotArray::Strings);
        if is_string && !is_more && pieces.scanner.whole_arrays.contains(&SnapshotArray::Strings) {
            see(SnapshotPart::EndOfStrings)?;
        }
        if next.is_none() && matches!(pieces.scanner.end_of_input, EndOfInput::WithinArray(_)) {
            break;
        }
        let until = next.as_ref().map(|(context, _)| context.offset);
        while !is_over && until.is_none_or(|until| raw.offset < until) && raw.fill()? {
            let (part, mut taken) = (raw.bytes_until(until), 0);
            while taken < part.len() && !is_over {
                lexer.push_byte(part[taken]);
                is_over = matches!(part[taken], b'}' | b']') && lexer.position.depth() == 0;
                taken += 1;
            }
            see(SnapshotPart::BetweenPieces(&part[..taken], &lexer.out))?;
            lexer.out.clear();
            raw.advance(taken);
        }
        let Some((context, bytes)) = next else { break };
        is_string = context.region == SnapshotArray::Strings;
        see(SnapshotPart::Piece(context.region, &pieces.buffer.bytes[..bytes]))?;
        raw.skip(bytes)?;
    }
    let (first_at, mut bytes) = (raw.offset, 0);
    while raw.fill()? {
        let part = raw.bytes_until(None);
        let count = part.len();
        // A line's end is no loss.
        if bytes > 0 || !part.trim_ascii().is_empty() {
            bytes += count as u64;
        }
        raw.advance(count);
    }
    let is_cut = !matches!(pieces.scanner.end_of_input, EndOfInput::Complete | EndOfInput::MissingLastBrace);
    Ok(LostBytes { bytes, first_offset: first_at, is_cut })
}

/// The file as it is.
struct RawReader {
    source: Source,
    window: Vec<u8>,
    passed_end: usize,
    filled_end: usize,
    /// Of the next byte.
    offset: u64,
}

impl RawReader {
    /// False at the end.
    fn fill(&mut self) -> Result<bool, ReadError> {
        if self.passed_end == self.filled_end {
            (self.passed_end, self.filled_end) = (0, self.source.fill(&mut self.window)?);
        }
        Ok(self.filled_end > self.passed_end)
    }

    /// The bytes at hand up to an offset.
    fn bytes_until(&self, until: Option<u64>) -> &[u8] {
        let most = until.map_or(usize::MAX, |until| usize::try_from(until - self.offset).unwrap_or(usize::MAX));
        &self.window[self.passed_end..self.passed_end + most.min(self.filled_end - self.passed_end)]
    }

    fn advance(&mut self, bytes: usize) {
        self.passed_end += bytes;
        self.offset += bytes as u64;
    }

    fn skip(&mut self, mut bytes: usize) -> Result<(), ReadError> {
        while bytes > 0 && self.fill()? {
            let part = bytes.min(self.filled_end - self.passed_end);
            self.advance(part);
            bytes -= part;
        }
        Ok(())
    }
}
