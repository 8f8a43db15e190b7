//! The `dumps` of a memory dump event: `heaps` here, `heaps_v2` in its own file, and the memory map of the process.
//!
//! ```text
//! "heaps":{"malloc":{"entries":[{"size":"9860","count":"195","bt":""},{"size":"408","bt":"0","type":"1"},...]}}
//! ```

use serde::de::{MapAccess, SeqAccess};

use super::extract::{ExtractedArray, ExtractedArrays};
use super::heaps_v2::{HeapsV2, HeapsV2Reader};
use super::ids::RawId;
use super::raw_entry::RawEntry;
use super::values::{Element, Elements, Hex, Id, Member, Members, Name, Scalar, Text, ignore};
use crate::allocations::{NameId, Names};

/// The content of an event's `dumps`.
#[derive(Debug, Default)]
pub(super) struct Dumps {
    pub(super) detail: String,
    /// By allocator, in the order of the file.
    pub(super) heaps: Vec<(NameId, Vec<RawEntry>)>,
    pub(super) heaps_v2: Option<HeapsV2>,
    pub(super) regions: Vec<Region>,
}

impl Dumps {
    /// Bytes of memory they take.
    pub(super) fn memory_bytes(&self) -> usize {
        // Lists have room for four rows at least.
        let room = |length: usize| if length == 0 { 0 } else { length.next_power_of_two().max(4) };
        let entries: usize = self.heaps.iter().map(|(_, entries)| room(entries.len())).sum();
        self.detail.len()
            + room(self.heaps.len()) * size_of::<(NameId, Vec<RawEntry>)>()
            // With half as much again for the tables that make a heap of them.
            + entries * size_of::<RawEntry>() * 3 / 2
            + self.heaps_v2.as_ref().map_or(0, HeapsV2::memory_bytes)
            + room(self.regions.len()) * size_of::<Region>()
    }
}

/// A region of the process's memory that a file is mapped into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) file: NameId,
}

pub(super) struct DumpsReader<'a> {
    pub(super) dumps: &'a mut Dumps,
    pub(super) names: &'a mut Names,
    pub(super) arrays: &'a mut ExtractedArrays,
}

impl Member for DumpsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let (dumps, names, arrays) = (&mut *self.dumps, &mut *self.names, &mut *self.arrays);
        match key {
            "level_of_detail" => dumps.detail = map.next_value_seed(Scalar(Text))?.unwrap_or_default(),
            "heaps" => map.next_value_seed(Members(&mut HeapsReader { heaps: &mut dumps.heaps, names, arrays }))?,
            "heaps_v2" => {
                let heaps = dumps.heaps_v2.get_or_insert_default();
                map.next_value_seed(Members(&mut HeapsV2Reader { heaps, names, arrays }))?;
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
    arrays: &'a mut ExtractedArrays,
}

impl Member for HeapsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let allocator = self.names.intern(key);
        let mut entries = Vec::new();
        let (names, arrays) = (&mut *self.names, &mut *self.arrays);
        let read = map.next_value_seed(Members(&mut HeapReader { entries: &mut entries, names, arrays }));
        self.heaps.push((allocator, entries));
        read
    }
}

struct HeapReader<'a> {
    entries: &'a mut Vec<RawEntry>,
    names: &'a mut Names,
    arrays: &'a mut ExtractedArrays,
}

impl Member for HeapReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "entries" => {
                let (names, arrays) = (&mut *self.names, &mut *self.arrays);
                map.next_value_seed(Elements(EntriesReader { entries: self.entries, names, arrays }))
            }
            _ => ignore(map),
        }
    }
}

struct EntriesReader<'a> {
    entries: &'a mut Vec<RawEntry>,
    names: &'a mut Names,
    arrays: &'a mut ExtractedArrays,
}

impl Element for EntriesReader<'_> {
    fn next<'de, A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<Option<()>, A::Error> {
        let mut entry =
            EntryReader { backtrace: None, type_id: None, bytes: None, allocations: None, names: self.names };
        let found = seq.next_element_seed(Members(&mut entry))?;
        if found.is_some() {
            self.entries.push(RawEntry::new(entry.backtrace, entry.type_id, entry.bytes, entry.allocations));
        }
        Ok(found)
    }

    fn on_placeholder(&mut self, number: u64) {
        if let Some(ExtractedArray::Entries(entries)) = self.arrays.take(number) {
            // What is read here one by one stores the root's name when it comes to it.
            if entries.iter().any(|entry| entry.backtrace() == Some(RawId::EMPTY)) {
                self.names.intern("");
            }
            if self.entries.is_empty() {
                *self.entries = entries;
            } else {
                self.entries.extend(entries);
            }
        }
    }
}

struct EntryReader<'a> {
    backtrace: Option<RawId>,
    type_id: Option<RawId>,
    bytes: Option<u64>,
    allocations: Option<u64>,
    names: &'a mut Names,
}

impl Member for EntryReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "bt" => self.backtrace = map.next_value_seed(Scalar(Id(self.names)))?,
            "type" => self.type_id = map.next_value_seed(Scalar(Id(self.names)))?,
            "size" => self.bytes = map.next_value_seed(Scalar(Hex))?,
            "count" => self.allocations = map.next_value_seed(Scalar(Hex))?,
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
            "mf" => self.file = map.next_value_seed(Scalar(Name(self.names)))?,
            _ => ignore(map)?,
        }
        Ok(())
    }
}
