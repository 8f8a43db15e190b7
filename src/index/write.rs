//! Writing an index: aside, and renamed when it is whole.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tempfile::Builder;
use twox_hash::XxHash3_64;

use super::image::MemoryImage;
use super::key::SourceKey;
use super::layout::{ALIGNMENT, BLOCK, BYTE_ORDER, Header, MAGIC, Places, Tail, VERSION, WRITTEN_BY, check_of};
use crate::graph::ColumnSink;

/// Columns on their way out: each at a multiple of 64, every 64 KiB with a check.
struct Columns<W> {
    out: W,
    bytes: usize,
    /// Bytes of the block at hand go through here.
    hasher: XxHash3_64,
    checks: Vec<u64>,
    places: Places,
}

impl<W: Write> Columns<W> {
    fn new(out: W) -> Self {
        Columns { out, bytes: 0, hasher: XxHash3_64::new(), checks: Vec::new(), places: Places::new() }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        use std::hash::Hasher;
        while !bytes.is_empty() {
            let (own, rest) = bytes.split_at(bytes.len().min(BLOCK - self.bytes % BLOCK));
            self.hasher.write(own);
            self.out.write_all(own)?;
            self.bytes += own.len();
            if self.bytes.is_multiple_of(BLOCK) {
                self.checks.push(std::mem::replace(&mut self.hasher, XxHash3_64::new()).finish());
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
        if !self.bytes.is_multiple_of(BLOCK) {
            self.checks.push(self.hasher.finish());
        }
    }
}

impl<W: Write> ColumnSink for Columns<W> {
    fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.pad()?;
        self.places.insert(name.to_string(), (self.bytes as u64, bytes.len() as u64));
        self.write(bytes)
    }
}

/// Ends the name of an index that is not whole yet.
const PART: &str = ".part";
/// Nobody writes an index for so long without a byte.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Takes away what runs that were interrupted have left of the same index.
fn remove_leftovers(folder: &Path, prefix: &str) {
    // A folder that cannot be listed may still be written to.
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_part = name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(PART));
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_part && age().is_some_and(|age| age > ABANDONED) {
            // Another run may have done it already; if it cannot be done, a new index can be written all the same.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A file beside `path`, to become it when it is whole. Taken away again when it is dropped before.
fn file_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    remove_leftovers(folder, &prefix);
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(PART);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any file the user makes: the system takes off what the user's mask says.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // The name of the file that is not to be seen is left out of the error.
    builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))
}

/// Could an index be written there?
///
/// # Errors
/// When no file can be made in the folder.
pub fn check_writable(path: &Path) -> io::Result<()> {
    file_beside(path).map(drop)
}

/// Writes an index to `path`; what is there already is replaced when the new one is whole, and stays when it cannot be
/// written. `store` puts the columns and gives what is no column.
///
/// # Errors
/// Those of the file system, and those of `store`.
pub fn write<C: Serialize>(
    path: &Path,
    source: Option<SourceKey>,
    store: impl FnOnce(&mut dyn ColumnSink) -> io::Result<C>,
) -> io::Result<u64> {
    let mut file = file_beside(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, file.as_file_mut());
    out.write_all(&[0; ALIGNMENT])?;
    let mut columns = Columns::new(&mut out);
    let content = store(&mut columns)?;
    columns.pad()?;
    columns.finish();
    let Columns { bytes, checks, places, .. } = columns;
    let tail = Tail { written_by: WRITTEN_BY.into(), source, columns: places, content };
    let mut end: Vec<u8> = bytemuck::cast_slice(&checks).to_vec();
    let json_start = end.len();
    serde_json::to_writer(&mut end, &tail)?;
    out.write_all(&end)?;
    let header = Header {
        magic: MAGIC,
        version: VERSION,
        byte_order: BYTE_ORDER,
        file_bytes: (ALIGNMENT + bytes + end.len()) as u64,
        column_bytes: bytes as u64,
        json_bytes: (end.len() - json_start) as u64,
        tail_check: check_of(&end),
        unused: 0,
        header_check: 0,
    };
    out.seek(SeekFrom::Start(0))?;
    out.write_all(bytemuck::bytes_of(&header.checked()))?;
    out.flush()?;
    drop(out);
    file.persist(path)?;
    Ok(header.file_bytes)
}

/// The same columns in memory, when those of an index turned out damaged; `None` when they are not laid out as there.
///
/// # Errors
/// Those of `store`.
pub fn image_in_memory<C>(
    layout: &super::Layout,
    store: impl FnOnce(&mut dyn ColumnSink) -> io::Result<C>,
) -> io::Result<Option<MemoryImage>> {
    let mut columns = Columns::new(MemoryImage::default());
    store(&mut columns)?;
    columns.pad()?;
    Ok((columns.places == layout.0).then_some(columns.out))
}
