//! A snapshot as pieces of its arrays, one after another, and what stands between them.

use std::sync::Arc;

use super::gaps::GapFilter;
use crate::graph::MemoryBudget;
use crate::input::blocks::{BlockSource, Buffer};
use crate::input::v8_snapshot::block::Block;
use crate::input::v8_snapshot::layout::SnapshotHeader;
use crate::input::v8_snapshot::scan::{EndOfInput, PieceContext, Scanner, SnapshotArray};
use crate::input::{ReadError, Source};
use crate::redact::dump_file::DumpFile;
use crate::redact::options::LostBytes;

/// Bytes that are read at a time between pieces.
const WINDOW_BYTES: usize = 256 << 10;

/// Cuts a snapshot into pieces of whole rows and whole strings.
pub(super) struct Pieces {
    pub(super) scanner: Scanner,
    buffer: Buffer,
    /// The last piece that was parsed.
    pub(super) block: Block,
}

impl Pieces {
    /// From the start; with the header, where it is known: it may stand behind the rows.
    pub(super) fn open(file: &DumpFile, layout: Option<&Arc<SnapshotHeader>>) -> Result<Self, ReadError> {
        let budget = MemoryBudget::default();
        let mut scanner = Scanner::new(file.open()?, false, &budget);
        scanner.layout = layout.cloned();
        Ok(Pieces { scanner, buffer: Buffer::new(budget.for_buffer()), block: Block::default() })
    }

    fn next(&mut self) -> Result<Option<(PieceContext, usize)>, ReadError> {
        Ok(self.scanner.next_block(&mut self.buffer)?.map(|(bytes, context)| (context, bytes)))
    }

    /// Goes on to the next piece of an array, which is parsed. False when there is none.
    pub(super) fn next_of(&mut self, region: SnapshotArray) -> Result<bool, ReadError> {
        while let Some((context, bytes)) = self.next()? {
            if context.region == region {
                self.block = Block::default();
                self.block.parse(&self.buffer.text[..bytes], &context);
                return Ok(true);
            }
        }
        Ok(false)
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
    let (mut filter, mut stays, mut is_string) = (GapFilter::default(), Vec::new(), false);
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
        while !filter.is_over && until.is_none_or(|until| raw.offset < until) && raw.fill()? {
            stays.clear();
            let part = raw.part(until);
            let taken = filter.pass(part, &mut stays);
            see(Part::Gap(&part[..taken], &stays))?;
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
