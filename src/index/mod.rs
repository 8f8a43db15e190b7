//! A finished graph on disk, to be asked again at once: columns as they are in memory, mapped when they are used.
//!
//! ```text
//! 0        header, 64 bytes: magic, version, byte order, lengths, checks of the tail and of itself
//! 64       columns, each at a multiple of 64; bytes of a number in the order of the machine, which the header names
//! ...      tail: a check of 8 bytes for each 64 KiB of columns, then JSON: the key of the source, where each column
//!          lies, and what is no column
//! ```
//!
//! The header and the tail are checked when the index is opened, every block of columns when it is first touched: a
//! whole-file check would cost more than the answer. A block that is not as it was written is not used: its column gives
//! zeros and the damage is remembered, so that the answer can be computed again from the source before anything is
//! printed. Checks are XXH3, 64 bits.
//!
//! The meaning of the columns is known to those who write and read them (`graph`, `analysis`), not here.

mod layout;
mod mapped_columns;
mod memory_map;
mod read;
mod source_key;
mod write;

pub use layout::EXTENSION;
pub use read::{Index, IndexCheck, IndexColumns, IndexError, is_index};
pub use source_key::SourceKey;
pub use write::write;
