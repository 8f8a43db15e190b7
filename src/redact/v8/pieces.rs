//! A snapshot as pieces of its arrays, one after another, and what stands between them.

use std::sync::Arc;

use super::header::of_snapshot;
use crate::graph::MemoryBudget;
use crate::input::blocks::{BlockSource, Buffer};
use crate::input::v8_snapshot::block::Block;
use crate::input::v8_snapshot::layout::SnapshotHeader;
use crate::input::v8_snapshot::scan::{EndOfInput, PieceContext, Scanner, SnapshotArray};
use crate::input::{ReadError, Source};
use crate::redact::dump_file::DumpFile;
use crate::redact::lexer::Lexer;
use crate::redact::options::LostBytes;

/// Bytes that are read at a time between pieces.
const WINDOW_BYTES: usize = 256 << 10;

/// Cuts a snapshot into pieces of whole rows and whole strings.
pub(super) struct Pieces {
    pub(super) scanner: Scanner,
    buffer: Buffer,
    /// The last piece that was parsed.
    pub(super) block: Block,
    bytes: usize,
}

impl Pieces {
    /// From the start; with the header, where it is known: it may stand behind the rows.
    pub(super) fn open(file: &DumpFile, layout: Option<&Arc<SnapshotHeader>>) -> Result<Self, ReadError> {
        let budget = MemoryBudget::default();
        let mut scanner = Scanner::new(file.open()?, false, &budget);
        scanner.layout = layout.cloned();
        Ok(Pieces { scanner, buffer: Buffer::new(budget.for_buffer()), block: Block::default(), bytes: 0 })
    }

    fn next(&mut self) -> Result<Option<(PieceContext, usize)>, ReadError> {
        Ok(self.scanner.next_block(&mut self.buffer)?.map(|(bytes, context)| (context, bytes)))
    }

    /// Goes on to the next piece of an array, which is parsed. False when there is none.
    pub(super) fn next_of(&mut self, region: SnapshotArray) -> Result<bool, ReadError> {
        self.next_where(|other| other == region)
    }

    /// The same of any array but the strings.
    pub(super) fn next_of_rows(&mut self) -> Result<bool, ReadError> {
        self.next_where(|region| region != SnapshotArray::Strings)
    }

    fn next_where(&mut self, is_meant: impl Fn(SnapshotArray) -> bool) -> Result<bool, ReadError> {
        while let Some((context, bytes)) = self.next()? {
            if is_meant(context.region) {
                self.block = Block::default();
                self.block.parse(&self.buffer.text[..bytes], &context);
                self.bytes = bytes;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The last piece that was parsed, as it stands in the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer.text[..self.bytes]
    }
}

/// A part of a file.
pub(super) enum Part<'p> {
    /// Bytes between pieces, and what may stay of them.
    Gap(&'p [u8], &'p [u8]),
    /// Whole rows or strings.
    Piece(SnapshotArray, &'p [u8]),
    /// The last string has come.
    EndOfStrings,
}

/// Shows a file part by part. Returns what belongs to no part.
pub(super) fn walk<E: From<ReadError>>(
    file: &DumpFile,
    layout: &Arc<SnapshotHeader>,
    mut see: impl FnMut(Part<'_>) -> Result<(), E>,
) -> Result<LostBytes, E> {
    let mut raw = Raw { source: file.open()?, bytes: vec![0; WINDOW_BYTES], at: 0, end: 0, offset: 0 };
    let mut pieces = Pieces::open(file, Some(layout))?;
    let (mut lexer, mut is_over, mut is_string) = (Lexer::new(of_snapshot, false), false, false);
    loop {
        let next = pieces.next()?;
        let is_more = next.as_ref().is_some_and(|(context, _)| context.region == SnapshotArray::Strings);
        if is_string && !is_more && pieces.scanner.whole_arrays.contains(&SnapshotArray::Strings) {
            see(Part::EndOfStrings)?;
        }
        if next.is_none() && matches!(pieces.scanner.end_of_input, EndOfInput::WithinArray(_)) {
            break;
        }
        let until = next.as_ref().map(|(context, _)| context.offset);
        while !is_over && until.is_none_or(|until| raw.offset < until) && raw.fill()? {
            let (part, mut taken) = (raw.part(until), 0);
            while taken < part.len() && !is_over {
                lexer.byte(part[taken]);
                is_over = matches!(part[taken], b'}' | b']') && lexer.place.depth() == 0;
                taken += 1;
            }
            see(Part::Gap(&part[..taken], &lexer.out))?;
            lexer.out.clear();
            raw.advance(taken);
        }
        let Some((context, bytes)) = next else { break };
        is_string = context.region == SnapshotArray::Strings;
        see(Part::Piece(context.region, &pieces.buffer.text[..bytes]))?;
        raw.skip(bytes)?;
    }
    let (first_at, mut bytes) = (raw.offset, 0);
    while raw.fill()? {
        let part = raw.part(None);
        let count = part.len();
        // A line's end is no loss.
        if bytes > 0 || !part.trim_ascii().is_empty() {
            bytes += count as u64;
        }
        raw.advance(count);
    }
    let is_cut = !matches!(pieces.scanner.end_of_input, EndOfInput::End | EndOfInput::MissingLastBrace);
    Ok(LostBytes { bytes, first_at, is_cut })
}

/// The file as it is.
struct Raw {
    source: Source,
    bytes: Vec<u8>,
    at: usize,
    end: usize,
    offset: u64,
}

impl Raw {
    /// False at the end.
    fn fill(&mut self) -> Result<bool, ReadError> {
        if self.at == self.end {
            (self.at, self.end) = (0, self.source.fill(&mut self.bytes)?);
        }
        Ok(self.end > self.at)
    }

    /// The bytes at hand up to an offset.
    fn part(&self, until: Option<u64>) -> &[u8] {
        let most = until.map_or(usize::MAX, |until| usize::try_from(until - self.offset).unwrap_or(usize::MAX));
        &self.bytes[self.at..self.at + most.min(self.end - self.at)]
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.offset += bytes as u64;
    }

    fn skip(&mut self, mut bytes: usize) -> Result<(), ReadError> {
        while bytes > 0 && self.fill()? {
            let part = bytes.min(self.end - self.at);
            self.advance(part);
            bytes -= part;
        }
        Ok(())
    }
}
