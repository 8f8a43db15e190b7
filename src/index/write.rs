//! Writing an index.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use serde::Serialize;
use twox_hash::XxHash3_64;

use super::layout::{
    ALIGNMENT_BYTES, BLOCK_BYTES, BYTE_ORDER_MARK, ColumnPlaces, IndexHeader, IndexTail, MAGIC, VERSION, WRITTEN_BY,
};
use super::source_key::SourceKey;
use super::source_key::checksum_of;
use crate::files::{OutputTarget, nameless_file};
use crate::graph::ColumnSink;

/// Columns on their way out: each at a multiple of 64, every 64 KiB with a check.
struct ColumnWriter<W> {
    out: W,
    written_bytes: usize,
    /// Bytes of the block at hand go through here.
    hasher: XxHash3_64,
    block_checksums: Vec<u64>,
    places: ColumnPlaces,
}

impl<W: Write> ColumnWriter<W> {
    fn new(out: W) -> Self {
        ColumnWriter {
            out,
            written_bytes: 0,
            hasher: XxHash3_64::new(),
            block_checksums: Vec::new(),
            places: ColumnPlaces::new(),
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        use std::hash::Hasher;
        while !bytes.is_empty() {
            let (own, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.written_bytes % BLOCK_BYTES));
            self.hasher.write(own);
            self.out.write_all(own)?;
            self.written_bytes += own.len();
            if self.written_bytes.is_multiple_of(BLOCK_BYTES) {
                self.block_checksums.push(std::mem::replace(&mut self.hasher, XxHash3_64::new()).finish());
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Writes zeros up to where the next column may begin.
    fn pad_to_alignment(&mut self) -> io::Result<()> {
        let gap = self.written_bytes.next_multiple_of(ALIGNMENT_BYTES) - self.written_bytes;
        self.write(&[0; ALIGNMENT_BYTES][..gap])
    }

    /// Ends the last block.
    fn end_last_block(&mut self) {
        use std::hash::Hasher;
        if !self.written_bytes.is_multiple_of(BLOCK_BYTES) {
            self.block_checksums.push(self.hasher.finish());
        }
    }
}

impl<W: Write> ColumnSink for ColumnWriter<W> {
    fn put_column(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.pad_to_alignment()?;
        self.places.insert(name.to_string(), (self.written_bytes as u64, bytes.len() as u64));
        self.write(bytes)
    }
}

/// Writes an index, and gives its bytes; what is there already is replaced when the new one is whole, and stays when it
/// cannot be written. `store` puts the columns and gives what is no column.
///
/// # Errors
/// Those of the file system, and those of `store`.
pub fn write<C: Serialize>(
    target: &OutputTarget,
    source: Option<SourceKey>,
    store: impl FnOnce(&mut dyn ColumnSink) -> io::Result<C>,
) -> io::Result<u64> {
    let mut output = target.begin()?;
    let bytes = if output.is_seekable() {
        write_to(&mut output, source, store)?
    } else {
        // The header is known at the end.
        let mut whole = BufWriter::with_capacity(1 << 20, nameless_file()?);
        write_to(&mut whole, source, store)?;
        let mut whole = whole.into_inner().map_err(io::IntoInnerError::into_error)?;
        whole.rewind()?;
        io::copy(&mut whole, &mut output)?
    };
    output.finish()?;
    Ok(bytes)
}

fn write_to<C: Serialize>(
    out: &mut (impl Write + Seek),
    source: Option<SourceKey>,
    store: impl FnOnce(&mut dyn ColumnSink) -> io::Result<C>,
) -> io::Result<u64> {
    out.write_all(&[0; ALIGNMENT_BYTES])?;
    let mut columns = ColumnWriter::new(&mut *out);
    let content = store(&mut columns)?;
    columns.pad_to_alignment()?;
    columns.end_last_block();
    let ColumnWriter { written_bytes: bytes, block_checksums: checks, places, .. } = columns;
    let tail = IndexTail { written_by: WRITTEN_BY.into(), source, columns: places, content };
    let mut end: Vec<u8> = bytemuck::cast_slice(&checks).to_vec();
    let json_start = end.len();
    serde_json::to_writer(&mut end, &tail)?;
    out.write_all(&end)?;
    let header = IndexHeader {
        magic: MAGIC,
        version: VERSION,
        byte_order: BYTE_ORDER_MARK,
        file_bytes: (ALIGNMENT_BYTES + bytes + end.len()) as u64,
        column_bytes: bytes as u64,
        json_bytes: (end.len() - json_start) as u64,
        tail_checksum: checksum_of(&end),
        unused: 0,
        header_checksum: 0,
    };
    out.seek(SeekFrom::Start(0))?;
    out.write_all(bytemuck::bytes_of(&header.with_checksum()))?;
    out.flush()?;
    Ok(header.file_bytes)
}
