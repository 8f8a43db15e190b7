//! The `dumps` of a memory dump event: `heaps` here, `heaps_v2` in its own file, and the memory map of the process.
//!
//! ```text
//! "heaps":{"malloc":{"entries":[{"size":"9860","count":"195","bt":""},{"size":"408","bt":"0","type":"1"},...]}}
//! ```

use serde::de::{MapAccess, SeqAccess};

use super::heaps_v2::{HeapsV2, HeapsV2Reader};
use super::values::{Element, Elements, Hex, Id, Member, Members, Scalar, Text, ignore};
use crate::allocations::{NameId, Names};

/// What an event's `dumps` hold.
#[derive(Default)]
pub(super) struct Dumps {
    pub(super) detail: String,
    /// By allocator, in the order of the file.
    pub(super) heaps: Vec<(NameId, Vec<RawEntry>)>,
    pub(super) heaps_v2: Option<HeapsV2>,
    pub(super) regions: Vec<Region>,
}

/// An entry of `heaps` with its ids as they stand there.
#[derive(Clone, Copy, Default)]
pub(super) struct RawEntry {
    pub(super) backtrace: Option<NameId>,
    pub(super) type_id: Option<NameId>,
    pub(super) bytes: Option<u64>,
    pub(super) allocations: Option<u64>,
}

/// A region of the process's memory that a file is mapped into.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) file: NameId,
}

pub(super) struct DumpsReader<'a> {
    pub(super) dumps: &'a mut Dumps,
    pub(super) names: &'a mut Names,
}

impl Member for DumpsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let (dumps, names) = (&mut *self.dumps, &mut *self.names);
        match key {
            "level_of_detail" => dumps.detail = map.next_value_seed(Scalar(Text))?.unwrap_or_default(),
            "heaps" => map.next_value_seed(Members(&mut HeapsReader { heaps: &mut dumps.heaps, names }))?,
            "heaps_v2" => {
                let heaps = dumps.heaps_v2.get_or_insert_default();
                map.next_value_seed(Members(&mut HeapsV2Reader { heaps, names }))?;
            }
            "process_mmaps" => {
                map.next_value_seed(Members(&mut MapsReader { regions: &mut dumps.regions, names }))?;
            }
            _ => ignore(map)?,
        }
        Ok(())
    }
}

struct HeapsReader<'a> {
    heaps: &'a mut Vec<(NameId, Vec<RawEntry>)>,
    names: &'a mut Names,
}

impl Member for HeapsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let allocator = self.names.intern(key);
        let mut entries = Vec::new();
        let read = map.next_value_seed(Members(&mut HeapReader { entries: &mut entries, names: self.names }));
        self.heaps.push((allocator, entries));
        read
    }
}

struct HeapReader<'a> {
    entries: &'a mut Vec<RawEntry>,
    names: &'a mut Names,
}

impl Member for HeapReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "entries" => map.next_value_seed(Elements(EntriesReader { entries: self.entries, names: self.names })),
            _ => ignore(map),
        }
    }
}

struct EntriesReader<'a> {
    entries: &'a mut Vec<RawEntry>,
    names: &'a mut Names,
}

impl Element for EntriesReader<'_> {
    fn next<'de, A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<Option<()>, A::Error> {
        let mut reader = EntryReader { entry: RawEntry::default(), names: self.names };
        let found = seq.next_element_seed(Members(&mut reader))?;
        if found.is_some() {
            self.entries.push(reader.entry);
        }
        Ok(found)
    }
}

struct EntryReader<'a> {
    entry: RawEntry,
    names: &'a mut Names,
}

impl Member for EntryReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "bt" => self.entry.backtrace = map.next_value_seed(Scalar(Id(self.names)))?,
            "type" => self.entry.type_id = map.next_value_seed(Scalar(Id(self.names)))?,
            "size" => self.entry.bytes = map.next_value_seed(Scalar(Hex))?,
            "count" => self.entry.allocations = map.next_value_seed(Scalar(Hex))?,
            _ => ignore(map)?,
        }
        Ok(())
    }
}

struct MapsReader<'a> {
    regions: &'a mut Vec<Region>,
    names: &'a mut Names,
}

impl Member for MapsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "vm_regions" => map.next_value_seed(Elements(RegionsReader { regions: self.regions, names: self.names })),
            _ => ignore(map),
        }
    }
}

struct RegionsReader<'a> {
    regions: &'a mut Vec<Region>,
    names: &'a mut Names,
}

impl Element for RegionsReader<'_> {
    fn next<'de, A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<Option<()>, A::Error> {
        let mut region = RegionReader { start: None, bytes: None, file: None, names: self.names };
        let found = seq.next_element_seed(Members(&mut region))?;
        if let RegionReader { start: Some(start), bytes: Some(bytes), file: Some(file), names } = region
            && !names.text(file).is_empty()
        {
            self.regions.push(Region { start, bytes, file });
        }
        Ok(found)
    }
}

struct RegionReader<'a> {
    start: Option<u64>,
    bytes: Option<u64>,
    file: Option<NameId>,
    names: &'a mut Names,
}

impl Member for RegionReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "sa" => self.start = map.next_value_seed(Scalar(Hex))?,
            "sz" => self.bytes = map.next_value_seed(Scalar(Hex))?,
            "mf" => self.file = map.next_value_seed(Scalar(Id(self.names)))?,
            _ => ignore(map)?,
        }
        Ok(())
    }
}
