//! Opening an index.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use serde::de::DeserializeOwned;

use super::layout::{
    ALIGNMENT_BYTES, BLOCK_BYTES, BYTE_ORDER_MARK, ColumnPlaces, IndexHeader, IndexTail, MAGIC, VERSION, WRITTEN_BY,
};
use super::mapped_columns::MappedColumns;
use super::memory_map::map_file;
use super::source_key::SourceKey;
use super::source_key::checksum_of;
use crate::files::{self, owner_of};
use crate::graph::{ColumnSource, MappedImage};

/// The reason for which an index is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The system could not read it.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// Another file.
    #[error("is no index")]
    NotAnIndex,
    /// Written by another version of the program, or on a machine of another kind.
    #[error("was written by {0}")]
    OtherVersion(String),
    /// Cut, or longer than it says.
    #[error("is cut, or was changed after it was written")]
    WrongLength,
    /// A check failed, or what passed it makes no sense.
    #[error("is damaged")]
    Damaged,
}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> Self {
        IndexError::Io(error)
    }
}

/// Does the file begin as an index does? False when it cannot be read, and for pipes, which are not looked at.
pub fn is_index(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    path.is_file() && files::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MAGIC
}

/// An index whose header and tail are as they were written.
#[derive(Debug)]
pub struct Index {
    map: Mmap,
    column_bytes: usize,
    block_checksums: Vec<u64>,
    tail: IndexTail<serde_json::Value>,
    /// The number of the user who owns the file, where files have owners.
    owner: Option<u32>,
}

impl Index {
    /// Opens an index. O(size of the tail): 8 bytes for 64 KiB of columns, and what is no column.
    ///
    /// # Errors
    /// When it is none that this program can use.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        let file = files::open(path)?;
        let facts = file.metadata()?;
        let (length, owner) = (facts.len(), owner_of(&facts));
        if length < ALIGNMENT_BYTES as u64 {
            return Err(IndexError::WrongLength);
        }
        let map = map_file(&file)?;
        let header: IndexHeader =
            bytemuck::pod_read_unaligned(map.get(..ALIGNMENT_BYTES).ok_or(IndexError::WrongLength)?);
        if header.magic != MAGIC {
            return Err(IndexError::NotAnIndex);
        }
        if header.version != VERSION || header.byte_order != BYTE_ORDER_MARK {
            return Err(IndexError::OtherVersion("another version of heapdump, or on another kind of machine".into()));
        }
        if header.header_checksum != header.computed_checksum() {
            return Err(IndexError::Damaged);
        }
        let blocks = header.column_bytes.div_ceil(BLOCK_BYTES as u64);
        let tail_start = header.column_bytes.checked_next_multiple_of(ALIGNMENT_BYTES as u64);
        let tail_start = tail_start.and_then(|bytes| bytes.checked_add(ALIGNMENT_BYTES as u64));
        let json_start = tail_start.and_then(|start| start.checked_add(blocks * 8));
        let end = json_start.and_then(|start| start.checked_add(header.json_bytes));
        let (Some(tail_start), Some(json_start), Some(end)) = (tail_start, json_start, end) else {
            return Err(IndexError::Damaged);
        };
        if end != header.file_bytes || end != map.len() as u64 {
            return Err(IndexError::WrongLength);
        }
        let (tail_start, json_start) = (tail_start as usize, json_start as usize);
        if checksum_of(&map[tail_start..]) != header.tail_checksum {
            return Err(IndexError::Damaged);
        }
        let checks = map[tail_start..json_start].as_chunks().0.iter().map(|&check| u64::from_ne_bytes(check)).collect();
        let tail: IndexTail<serde_json::Value> =
            serde_json::from_slice(&map[json_start..]).map_err(|_| IndexError::Damaged)?;
        if tail.written_by != WRITTEN_BY {
            return Err(IndexError::OtherVersion(tail.written_by));
        }
        let column_bytes = header.column_bytes as usize;
        let fits = |&(start, bytes): &(u64, u64)| {
            let end = start.checked_add(bytes);
            start.is_multiple_of(ALIGNMENT_BYTES as u64) && end.is_some_and(|end| end <= column_bytes as u64)
        };
        if !tail.columns.values().all(fits) {
            return Err(IndexError::Damaged);
        }
        Ok(Index { map, column_bytes, block_checksums: checks, tail, owner })
    }

    /// The number of the user who owns the file, where files have owners.
    pub fn owner(&self) -> Option<u32> {
        self.owner
    }

    /// Of which dump this is the index; `None` when that came through a pipe.
    pub fn source(&self) -> Option<&SourceKey> {
        self.tail.source.as_ref()
    }

    /// The part that is stored as JSON.
    ///
    /// # Errors
    /// When it is not of the type asked for.
    pub fn json_content<C: DeserializeOwned>(&self) -> Result<C, IndexError> {
        C::deserialize(&self.tail.content).map_err(|_| IndexError::Damaged)
    }

    /// The columns.
    pub fn into_columns(self) -> IndexColumns {
        let image = MappedColumns::new(self.map, self.column_bytes, self.block_checksums);
        IndexColumns { mapped_columns: Arc::new(image), places: self.tail.columns }
    }
}

/// The columns of an index by name.
#[derive(Debug)]
pub struct IndexColumns {
    mapped_columns: Arc<MappedColumns>,
    places: ColumnPlaces,
}

impl ColumnSource for IndexColumns {
    fn find_column(&self, name: &str) -> Option<(Arc<dyn MappedImage>, Range<usize>)> {
        let &(start, bytes) = self.places.get(name)?;
        let image: Arc<dyn MappedImage> = self.mapped_columns.clone();
        Some((image, start as usize..(start + bytes) as usize))
    }
}

/// Check of what was read from an index, to be asked while others read it.
#[derive(Debug, Clone)]
pub struct IndexCheck(Arc<MappedColumns>);

impl IndexCheck {
    /// The damage; `None` while everything that was touched is as it was written.
    pub fn damage(&self) -> Option<&'static str> {
        self.0.damage()
    }

    /// Checks every block; [`damage`](Self::damage) then has what is wrong. O(bytes of the index), on all threads.
    pub fn verify_all(&self) {
        self.0.verify_all();
    }

    /// Gives back the memory of what was read of the index.
    pub fn release_pages(&self) {
        self.0.release_pages();
    }
}

impl IndexColumns {
    /// The check of these columns.
    pub fn index_check(&self) -> IndexCheck {
        IndexCheck(Arc::clone(&self.mapped_columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Inputs, OutputTarget};
    use crate::graph::Column;
    use crate::index::write;

    /// An index of two columns, the second of them of three blocks.
    fn written(path: &Path) -> Vec<u8> {
        let target = OutputTarget::find(Some(path), &Inputs::new()).expect("a place");
        let source = SourceKey::of(Path::new(file!())).expect("this file");
        let bytes = write(&target, Some(source), |sink| {
            Column::from(vec![7u8; 3]).store(sink, "small")?;
            Column::from((0..20_000u64).collect::<Vec<_>>()).store(sink, "large")?;
            Ok(vec!["what is no column"])
        });
        assert_eq!(bytes.expect("written"), path.metadata().expect("there").len());
        std::fs::read(path).expect("there")
    }

    #[test]
    fn columns_and_content_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.hdx");
        written(&path);
        let index = Index::open(&path).expect("an index");
        assert_eq!(index.json_content::<Vec<String>>().expect("texts"), ["what is no column"]);
        assert!(matches!(index.json_content::<u32>(), Err(IndexError::Damaged)));
        let source = index.source().expect("a source");
        assert!(source.is_same(&SourceKey::of(Path::new(file!())).expect("this file")) && source.name() == "read.rs");
        assert!(!source.is_same(&SourceKey::of(&path).expect("the index")));
        let columns = index.into_columns();
        let small: Column<u8> = Column::from_stored(&columns, "small", 8).expect("a column");
        let large: Column<u64> = Column::from_stored(&columns, "large", u64::MAX).expect("a column");
        assert_eq!((small.all_values(), large.len(), large.get(19_999)), (&[7; 3][..], 20_000, 19_999));
        assert!(Column::<u8>::from_stored(&columns, "none", 8).is_none() && columns.index_check().damage().is_none());
    }

    #[test]
    fn an_index_that_is_not_as_it_was_written_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.hdx");
        let whole = written(&path);
        let end = whole.len() - 2;
        for (at, why) in [
            (0, "is no index"),
            (8, "was written by another version of heapdump, or on another kind of machine"),
            (12, "was written by another version of heapdump, or on another kind of machine"),
            (40, "is damaged"),
            (60, "is damaged"),
            (end, "is damaged"),
        ] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).expect("written");
            assert_eq!(Index::open(&path).expect_err("damaged").to_string(), why, "{at}");
            assert_eq!(is_index(&path), at != 0);
        }
        for length in [0, 63, 64, end] {
            std::fs::write(&path, &whole[..length]).expect("written");
            assert!(matches!(Index::open(&path), Err(IndexError::WrongLength)), "{length}");
        }
    }

    #[test]
    fn a_damaged_block_gives_zeros_and_is_remembered() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.hdx");
        let mut bytes = written(&path);
        // In the third block of the columns.
        bytes[ALIGNMENT_BYTES + 2 * BLOCK_BYTES + 1000] ^= 1;
        std::fs::write(&path, bytes).expect("written");
        let columns = Index::open(&path).expect("head and tail are good").into_columns();
        let large: Column<u64> = Column::from_stored(&columns, "large", u64::MAX).expect("a column");
        assert_eq!((large.get(5), columns.index_check().damage()), (5, None));
        assert_eq!(large.get(19_000), 0);
        assert_eq!(columns.index_check().damage(), Some("a block of it is not as it was written"));
    }
}
