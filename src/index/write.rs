//! Writing an index.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use serde::Serialize;
use twox_hash::XxHash3_64;

use super::key::SourceKey;
use super::key::check_of;
use super::layout::{
    ALIGNMENT, BLOCK_BYTES, BYTE_ORDER_MARK, ColumnPlaces, IndexHeader, IndexTail, MAGIC, VERSION, WRITTEN_BY,
};
use crate::files::{Target, nameless_file};
use crate::graph::ColumnSink;

/// Columns on their way out: each at a multiple of 64, every 64 KiB with a check.
struct ColumnWriter<W> {
    out: W,
    bytes: usize,
    /// Bytes of the block at hand go through here.
    hasher: XxHash3_64,
    block_checks: Vec<u64>,
    places: ColumnPlaces,
}

impl<W: Write> ColumnWriter<W> {
    fn new(out: W) -> Self {
        ColumnWriter { out, bytes: 0, hasher: XxHash3_64::new(), block_checks: Vec::new(), places: ColumnPlaces::new() }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        use std::hash::Hasher;
        while !bytes.is_empty() {
            let (own, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.bytes % BLOCK_BYTES));
            self.hasher.write(own);
            self.out.write_all(own)?;
            self.bytes += own.len();
            if self.bytes.is_multiple_of(BLOCK_BYTES) {
                self.block_checks.push(std::mem::replace(&mut self.hasher, XxHash3_64::new()).finish());
            }
            bytes = rest;
        }
        Ok(())
    }

    fn pad(&mut self) -> io::Result<()> {
        let gap = self.bytes.next_multiple_of(ALIGNMENT) - self.bytes;
        self.write(&[0; ALIGNMENT][..gap])
    }

    /// Ends the last block.
    fn finish(&mut self) {
        use std::hash::Hasher;
        if !self.bytes.is_multiple_of(BLOCK_BYTES) {
            self.block_checks.push(self.hasher.finish());
        }
    }
}

impl<W: Write> ColumnSink for ColumnWriter<W> {
    fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.pad()?;
        self.places.insert(name.to_string(), (self.bytes as u64, bytes.len() as u64));
        self.write(bytes)
    }
}

/// Writes an index, and gives its bytes; what is there already is replaced when the new one is whole, and stays when it
/// cannot be written. `store` puts the columns and gives what is no column.
///
/// # Errors
/// Those of the file system, and those of `store`.
pub fn write<C: Serialize>(
    target: &Target,
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
    out.write_all(&[0; ALIGNMENT])?;
    let mut columns = ColumnWriter::new(&mut *out);
    let content = store(&mut columns)?;
    columns.pad()?;
    columns.finish();
    let ColumnWriter { bytes, block_checks: checks, places, .. } = columns;
    let tail = IndexTail { written_by: WRITTEN_BY.into(), source, columns: places, content };
    let mut end: Vec<u8> = bytemuck::cast_slice(&checks).to_vec();
    let json_start = end.len();
    serde_json::to_writer(&mut end, &tail)?;
    out.write_all(&end)?;
    let header = IndexHeader {
        magic: MAGIC,
        version: VERSION,
        byte_order: BYTE_ORDER_MARK,
        file_bytes: (ALIGNMENT + bytes + end.len()) as u64,
        column_bytes: bytes as u64,
        json_bytes: (end.len() - json_start) as u64,
        tail_check: check_of(&end),
        unused: 0,
        header_check: 0,
    };
    out.seek(SeekFrom::Start(0))?;
    out.write_all(bytemuck::bytes_of(&header.with_check()))?;
    out.flush()?;
    Ok(header.file_bytes)
}
