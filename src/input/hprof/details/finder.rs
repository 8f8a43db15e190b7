//! Finds the records of single objects in the file again.
//!
//! Nothing is kept for an object. A table says which part of the file has objects of which ids: that part is read, and
//! a list of its objects made. The parts that were read last stay in memory, for objects that are printed together lie
//! together.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::graph::{Column, ColumnSink, ColumnSource};
use crate::input::hprof::records::{ClassDump, SubRecordLength, sub_record_length};
use crate::input::hprof::segments::block_parts::FileExtent;
use crate::input::hprof::wire::{id_at_with_width, sub_record_tags};
use crate::input::{RandomAccess, ReadError, RereadableFile};

/// Parts that stay in memory: some 45 MB in dumps without large arrays.
const MAX_CACHED_PARTS: usize = 32;
/// A part is never longer, whatever an index says.
pub const MAX_PART_BYTES: u64 = 64 << 20;

/// Places of objects in the file.
#[derive(Debug, Default)]
pub struct ObjectPlaces {
    pub id_bytes: usize,
    /// In the order of the file.
    pub extents: Vec<FileExtent>,
    /// Class objects and the offsets of their class dumps, ascending by id.
    pub class_dump_offsets: Vec<(u64, u64)>,
    /// Objects that have several records, ascending.
    pub repeated_ids: Vec<u64>,
    /// The class object that the boot loader holds as its own: that of `java.lang.ClassLoader`.
    pub class_held_by_boot_loader: Option<u64>,
}

impl ObjectPlaces {
    /// The places back from an index.
    pub fn from_stored(columns: &dyn ColumnSource) -> Option<Self> {
        let column = |name: &str| -> Option<Column<u64>> { Column::from_stored(columns, name, u64::MAX) };
        let (head, extents, classes) = (column("hprof.head")?, column("hprof.extents")?, column("hprof.classes")?);
        let repeated = column("hprof.repeated")?.all_values().to_vec();
        let &[id_bytes @ (4 | 8), has_boot, boot] = head.all_values() else { return None };
        let extents = extents.all_values().chunks_exact(4);
        let extents = extents.map(|n| FileExtent { offset: n[0], bytes: n[1], min_id: n[2], max_id: n[3] });
        let classes = classes.all_values().chunks_exact(2).map(|n| (n[0], n[1]));
        Some(ObjectPlaces {
            id_bytes: id_bytes as usize,
            extents: extents.collect(),
            class_dump_offsets: classes.collect(),
            repeated_ids: repeated,
            class_held_by_boot_loader: (has_boot == 1).then_some(boot),
        })
    }

    pub fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<()> {
        let ObjectPlaces {
            id_bytes,
            extents,
            class_dump_offsets: classes,
            repeated_ids: repeated,
            class_held_by_boot_loader: of_boot_loader,
        } = self;
        let head = vec![*id_bytes as u64, of_boot_loader.is_some().into(), of_boot_loader.unwrap_or(0)];
        Column::from(head).store(sink, "hprof.head")?;
        let extents = extents.iter().flat_map(|one| [one.offset, one.bytes, one.min_id, one.max_id]);
        Column::from(extents.collect::<Vec<u64>>()).store(sink, "hprof.extents")?;
        let classes = classes.iter().flat_map(|&(id, offset)| [id, offset]);
        Column::from(classes.collect::<Vec<u64>>()).store(sink, "hprof.classes")?;
        Column::from(repeated.clone()).store(sink, "hprof.repeated")
    }
}

/// An object's sub-record, as far as it was asked for.
pub struct SubRecord {
    pub tag: u8,
    /// From its tag on.
    pub bytes: Vec<u8>,
}

/// A part of the file that is in memory, with a list of its objects.
struct FilePart {
    extent_index: usize,
    bytes: Vec<u8>,
    /// Ids of its objects and where in `bytes` they are, ascending.
    object_offsets: Vec<(u64, u32)>,
}

/// Finds the records of objects.
pub struct RecordFinder {
    pub places: ObjectPlaces,
    pub reread: RereadableFile,
    /// The file, opened when the first record is asked for.
    dump: OnceLock<RandomAccess>,
    /// The one that was used last comes last.
    cached_parts: Mutex<VecDeque<Arc<FilePart>>>,
}

impl RecordFinder {
    pub fn new(places: ObjectPlaces, reread: RereadableFile) -> Self {
        RecordFinder { places, reread, dump: OnceLock::new(), cached_parts: Mutex::default() }
    }

    /// Bytes of the dump; fewer where it ends before.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>, ReadError> {
        let dump = match self.dump.get() {
            Some(dump) => dump,
            None => {
                let dump = self.reread.random_access()?;
                self.dump.get_or_init(|| dump)
            }
        };
        let end = range.end.min(dump.len());
        let mut bytes = vec![0; end.saturating_sub(range.start) as usize];
        dump.read_at(range.start.min(end), &mut bytes)?;
        Ok(bytes)
    }

    fn load_part(&self, extent: usize) -> Result<Arc<FilePart>, ReadError> {
        let mut parts = self.cached_parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = parts.iter().position(|part| part.extent_index == extent)
            && let Some(part) = parts.remove(at)
        {
            parts.push_back(Arc::clone(&part));
            return Ok(part);
        }
        let FileExtent { offset, bytes, .. } = self.places.extents[extent];
        let bytes = self.read(offset..offset.saturating_add(bytes.min(MAX_PART_BYTES)))?;
        let objects = object_offsets_in(&bytes, self.places.id_bytes);
        let part = Arc::new(FilePart { extent_index: extent, bytes, object_offsets: objects });
        if parts.len() == MAX_CACHED_PARTS {
            parts.pop_front();
        }
        parts.push_back(Arc::clone(&part));
        Ok(part)
    }

    /// The part of the file that has an object's sub-record, where in it, and how long it is.
    fn locate(&self, id: u64) -> Result<Option<(Arc<FilePart>, usize, u64)>, ReadError> {
        // What is asked for together often lies together. Of several records of an object the first counts.
        let last =
            self.cached_parts.lock().unwrap_or_else(PoisonError::into_inner).back().map(|part| part.extent_index);
        let last = last.filter(|_| self.places.repeated_ids.binary_search(&id).is_err());
        for number in last.into_iter().chain(0..self.places.extents.len()) {
            let extent = &self.places.extents[number];
            if id < extent.min_id || id > extent.max_id {
                continue;
            }
            let part = self.load_part(number)?;
            let Ok(at) = part.object_offsets.binary_search_by_key(&id, |object| object.0) else { continue };
            let at = part.object_offsets[at].1 as usize;
            let SubRecordLength::Known(length) = sub_record_length(&part.bytes[at..], self.places.id_bytes) else {
                continue;
            };
            return Ok(Some((part, at, length)));
        }
        Ok(None)
    }

    /// The object's sub-record, of its values or elements at most so many bytes. `None` where there is none: for class
    /// objects, which have class dumps, and for what is not in the file as it is now.
    pub fn find_sub_record(&self, id: u64, most_bytes: usize) -> Result<Option<SubRecord>, ReadError> {
        let Some((part, at, length)) = self.locate(id)? else { return Ok(None) };
        let wanted = length.min((10 + 2 * self.places.id_bytes).saturating_add(most_bytes) as u64);
        let bytes = match part.bytes.get(at..at.saturating_add(wanted as usize)) {
            Some(bytes) => bytes.to_vec(),
            // A large array, whose head alone is in the part.
            None => {
                let offset = self.places.extents[part.extent_index].offset + at as u64;
                self.read(offset..offset.saturating_add(wanted))?
            }
        };
        Ok(bytes.first().copied().map(|tag| SubRecord { tag, bytes }))
    }

    /// Bytes of the elements of an array of primitive values, from one of them on; fewer where they or the dump end before.
    pub fn read_elements(&self, id: u64, from: u64, most_bytes: u64) -> Result<Vec<u8>, ReadError> {
        let Some((part, at, length)) = self.locate(id)? else { return Ok(Vec::new()) };
        let record = self.places.extents[part.extent_index].offset + at as u64;
        let start = record.saturating_add(10 + self.places.id_bytes as u64).saturating_add(from);
        self.read(start..start.saturating_add(most_bytes).min(record.saturating_add(length)))
    }

    /// The class dump of a class object; `None` for other objects, and where the file has none there any more.
    pub fn class_dump(&self, id: u64) -> Result<Option<ClassDump>, ReadError> {
        let Ok(at) = self.places.class_dump_offsets.binary_search_by_key(&id, |class| class.0) else { return Ok(None) };
        let offset = self.places.class_dump_offsets[at].1;
        let mut wanted = 1 << 12;
        loop {
            let bytes = self.read(offset..offset.saturating_add(wanted))?;
            if bytes.first() != Some(&sub_record_tags::CLASS_DUMP) {
                return Ok(None);
            }
            match ClassDump::parse(&bytes[1..], self.places.id_bytes, offset) {
                Ok((_, dump)) => return Ok(Some(dump)),
                Err(nom::Err::Error(())) if bytes.len() as u64 == wanted && wanted < 1 << 23 => wanted *= 2,
                Err(_) => return Ok(None),
            }
        }
    }
}

/// The objects of a run of sub-records and where they are, ascending by id; of several with one id the first.
fn object_offsets_in(bytes: &[u8], id_bytes: usize) -> Vec<(u64, u32)> {
    let mut objects = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let SubRecordLength::Known(length) = sub_record_length(&bytes[at..], id_bytes) else { break };
        if matches!(
            bytes[at],
            sub_record_tags::INSTANCE..=sub_record_tags::PRIMITIVE_ARRAY | sub_record_tags::PRIMITIVE_ARRAY_NO_DATA
        ) && let Some(id) = id_at_with_width(bytes, at + 1, id_bytes)
        {
            objects.push((id, at as u32));
        }
        let Some(next) = usize::try_from(length).ok().and_then(|length| at.checked_add(length)) else { break };
        at = next;
    }
    objects.sort_unstable();
    objects.dedup_by_key(|object| object.0);
    objects
}
