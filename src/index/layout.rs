//! The parts of the file and their sizes.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use super::source_key::{SourceKey, checksum_of};

/// Extension that follows the source's name.
pub const EXTENSION: &str = "hdx";

/// Begins every index. As PNG's: a transfer that changes line ends or strips high bits shows at once.
pub(super) const MAGIC: [u8; 8] = *b"\x89HDX\r\n\x1a\n";
/// Version of this layout and of every column's meaning.
///
/// 1: the first.
/// 2: who says that an object is a root; every type of a .gcdump is a type of its own, with its own multiplier.
/// 3: weak references, more of types (superclass, loader, fields), threads and frames; roots name these.
/// 4: parts of the heap, soft references.
/// 5: the check of the whole dump; the kind of root `embedder`; threads may share frames.
/// 6: which ids of a Java dump are repeated; severities in small letters.
/// 7: types and shallow bytes in 2 bytes, places of references by groups of 64.
/// 8: the kinds of root `module` and `external`.
pub(super) const VERSION: u32 = 8;
/// Reads otherwise where bytes are in another order.
pub(super) const BYTE_ORDER_MARK: u32 = 0x0102_0304;
/// Bytes of the header, and what columns begin at multiples of.
pub(super) const ALIGNMENT_BYTES: usize = 64;
/// Bytes of columns that have one check.
pub(super) const BLOCK_BYTES: usize = 1 << 16;

/// The first 64 bytes.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct IndexHeader {
    pub(super) magic: [u8; 8],
    pub(super) version: u32,
    pub(super) byte_order: u32,
    /// Of the whole file.
    pub(super) file_bytes: u64,
    /// Of the columns with the gaps between them.
    pub(super) column_bytes: u64,
    /// Of the JSON at the end.
    pub(super) json_bytes: u64,
    /// Of the blocks' checks and the JSON.
    pub(super) tail_checksum: u64,
    /// Always 0.
    pub(super) unused: u64,
    /// Of the 56 bytes before.
    pub(super) header_checksum: u64,
}

impl IndexHeader {
    pub(super) fn with_checksum(mut self) -> Self {
        self.header_checksum = self.computed_checksum();
        self
    }

    pub(super) fn computed_checksum(&self) -> u64 {
        checksum_of(&bytemuck::bytes_of(self)[..ALIGNMENT_BYTES - 8])
    }
}

/// Places of columns: first byte, counted from the first column, and length.
pub(super) type ColumnPlaces = BTreeMap<String, (u64, u64)>;

/// What is written as JSON at the end of an index; `C` is what its user adds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct IndexTail<C> {
    /// The program that wrote it: another version may count otherwise.
    pub(super) written_by: String,
    /// Of which dump this is the index; none when that came through a pipe.
    pub(super) source: Option<SourceKey>,
    pub(super) columns: ColumnPlaces,
    /// The part that is stored as JSON.
    pub(super) content: C,
}

/// Name and version of the program that writes and reads.
pub(super) const WRITTEN_BY: &str = concat!("heapdump ", env!("CARGO_PKG_VERSION"));
