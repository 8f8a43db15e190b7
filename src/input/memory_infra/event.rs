//! One event of a trace, as far as it has to do with heap dumps.
//!
//! ```text
//! {"ph":"M","pid":7,"name":"stackFrames","args":{"stackFrames":{"0":{"name":"main"},"1":{"name":"f","parent":"0"}}}}
//! {"ph":"M","pid":7,"name":"typeNames","args":{"typeNames":{"0":"[unknown]","1":"T"}}}
//! {"ph":"v","pid":7,"id":"0x1","ts":1000,"args":{"dumps":{"heaps":{...}}}}
//! ```
//!
//! Keys come in any order (sorted in Chromium 120: `args` before `ph`), so everything that may matter is read before it
//! is known what the event is. What was read stays in the event when a fault ends the reading.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::event_dumps::{EntryColumns, EventDumps, HeapsV2, MappedRegion, NodeOrTypeRow, NumberColumn};
use super::extract::{ExtractedArray, ExtractedArrays, extract_arrays};
use super::raw_ids::{RawEntry, RawId};
use super::values::{Scalar, skip_elements, skip_members};
use crate::allocations::{NameId, NameTable};

/// An event's members.
#[derive(Debug, Default)]
pub(super) struct TraceEvent {
    pub(super) phase: String,
    pub(super) name: String,
    pub(super) pid: Option<i64>,
    pub(super) time_us: i64,
    pub(super) id: String,
    /// `args.name` and `args.labels`.
    pub(super) arg_name: Option<String>,
    pub(super) arg_labels: Option<String>,
    pub(super) stack_frames: Option<Vec<StackFrame>>,
    /// (id, name)
    pub(super) type_names: Option<Vec<(RawId, NameId)>>,
    pub(super) dumps: EventDumps,
}

/// An entry of `stackFrames`; ids are strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackFrame {
    pub(super) id: RawId,
    pub(super) name: NameId,
    pub(super) parent: Option<RawId>,
}

impl TraceEvent {
    /// Reads what it can; `Err` says where and why it ended early. `is_whole` is false when the file ends in the event.
    pub(super) fn read(json: &[u8], is_whole: bool, names: &mut NameTable) -> (Self, Result<(), serde_json::Error>) {
        if let Some((rest, arrays)) = is_whole.then(|| extract_arrays(json)).flatten() {
            let (event, read) = Self::read_with_arrays(&rest, names, arrays);
            if read.is_ok() {
                return (event, read);
            }
            // Places of faults are those in the whole text.
        }
        Self::read_with_arrays(json, names, ExtractedArrays::default())
    }

    /// Reads an event from which these arrays were cut out.
    fn read_with_arrays(
        json: &[u8],
        names: &mut NameTable,
        arrays: ExtractedArrays,
    ) -> (Self, Result<(), serde_json::Error>) {
        let mut reader = EventReader::new(names, arrays);
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let read = EventPartSeed(EventPart::Event, &mut reader).deserialize(&mut deserializer);
        (reader.event, read.and_then(|()| deserializer.end()))
    }
}

/// Reads a `stackFrames` dictionary that stands outside events, as far as it can be read.
pub(super) fn read_stack_frames(json: &[u8], names: &mut NameTable) -> Vec<StackFrame> {
    let mut reader = EventReader::new(names, ExtractedArrays::default());
    let _ =
        EventPartSeed(EventPart::StackFrames, &mut reader).deserialize(&mut serde_json::Deserializer::from_slice(json));
    reader.event.stack_frames.unwrap_or_default()
}

/// A part of an event: an object of certain keys, or a list.
#[derive(Clone, Copy)]
enum EventPart {
    Event,
    Args,
    StackFrames,
    StackFrame,
    TypeNames,
    Dumps,
    Heaps,
    Heap,
    HeapEntry,
    MemoryMap,
    MappedRegion,
    HeapsV2,
    HeapsV2Maps,
    HeapsV2MapRow,
    HeapsV2Allocators,
    EntryColumns,
    HeapEntries,
    MappedRegions,
    /// Rows of one of the maps, and what is done with each.
    HeapsV2MapRows(fn(&mut HeapsV2, &HeapsV2MapRow)),
    ColumnNumbers(fn(&mut EntryColumns) -> &mut NumberColumn),
}

impl EventPart {
    fn is_list(self) -> bool {
        matches!(
            self,
            EventPart::HeapEntries
                | EventPart::MappedRegions
                | EventPart::HeapsV2MapRows(_)
                | EventPart::ColumnNumbers(_)
        )
    }
}

/// The members so far of a row of `strings`, `nodes` or `types`.
#[derive(Default)]
struct HeapsV2MapRow {
    id: Option<u64>,
    string: Option<NameId>,
    name_sid: Option<u64>,
    parent: Option<u64>,
}

/// The members so far of an entry of `heaps`.
#[derive(Default)]
struct EntryFields {
    backtrace: Option<RawId>,
    type_id: Option<RawId>,
    bytes: Option<u64>,
    allocations: Option<u64>,
}

/// The members so far of a region of `vm_regions`.
#[derive(Default)]
struct RegionFields {
    start: Option<u64>,
    bytes: Option<u64>,
    file: Option<NameId>,
}

/// An event being read, and the members so far of the element at hand.
struct EventReader<'n> {
    event: TraceEvent,
    names: &'n mut NameTable,
    extracted_arrays: ExtractedArrays,
    frame_name_and_parent: (Option<NameId>, Option<RawId>),
    entry: EntryFields,
    region: RegionFields,
    map_row: HeapsV2MapRow,
}

impl<'n> EventReader<'n> {
    fn new(names: &'n mut NameTable, arrays: ExtractedArrays) -> Self {
        EventReader {
            event: TraceEvent::default(),
            names,
            extracted_arrays: arrays,
            frame_name_and_parent: (None, None),
            entry: EntryFields::default(),
            region: RegionFields::default(),
            map_row: HeapsV2MapRow::default(),
        }
    }

    /// Takes the value of a member.
    fn read_member<'de, A: MapAccess<'de>>(
        &mut self,
        place: EventPart,
        key: &str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let part = match (place, key) {
            (EventPart::Event, "args") => EventPart::Args,
            (EventPart::Args, "stackFrames") => EventPart::StackFrames,
            (EventPart::Args, "typeNames") => {
                self.event.type_names.get_or_insert_default();
                EventPart::TypeNames
            }
            (EventPart::Args, "dumps") => EventPart::Dumps,
            (EventPart::Dumps, "heaps") => EventPart::Heaps,
            (EventPart::Dumps, "heaps_v2") => {
                self.event.dumps.heaps_v2.get_or_insert_default();
                EventPart::HeapsV2
            }
            (EventPart::Dumps, "process_mmaps") => EventPart::MemoryMap,
            (EventPart::MemoryMap, "vm_regions") => EventPart::MappedRegions,
            (EventPart::Heaps, _) => {
                self.event.dumps.heaps.push((self.names.intern(key), Vec::new()));
                EventPart::Heap
            }
            (EventPart::Heap, "entries") => EventPart::HeapEntries,
            (EventPart::HeapsV2, "maps") => EventPart::HeapsV2Maps,
            (EventPart::HeapsV2, "allocators") => EventPart::HeapsV2Allocators,
            (EventPart::HeapsV2Maps, "strings") => {
                EventPart::HeapsV2MapRows(|heaps, row| heaps.strings.extend(row.id.zip(row.string)))
            }
            (EventPart::HeapsV2Maps, "nodes") => EventPart::HeapsV2MapRows(|heaps, row| {
                if let (Some(id), Some(name_sid)) = (row.id, row.name_sid) {
                    heaps.nodes.push(NodeOrTypeRow { id, name_sid, parent: row.parent });
                }
            }),
            (EventPart::HeapsV2Maps, "types") => {
                EventPart::HeapsV2MapRows(|heaps, row| heaps.types.extend(row.id.zip(row.name_sid)))
            }
            (EventPart::HeapsV2Allocators, _) => {
                let allocator = self.names.intern(key);
                self.heaps_v2().allocators.push((allocator, EntryColumns::default()));
                EventPart::EntryColumns
            }
            (EventPart::EntryColumns, "counts") => EventPart::ColumnNumbers(|columns| &mut columns.counts),
            (EventPart::EntryColumns, "sizes") => EventPart::ColumnNumbers(|columns| &mut columns.sizes),
            (EventPart::EntryColumns, "types") => EventPart::ColumnNumbers(|columns| &mut columns.types),
            (EventPart::EntryColumns, "nodes") => EventPart::ColumnNumbers(|columns| &mut columns.nodes),
            (EventPart::StackFrames, _) => return self.read_stack_frame(key, map),
            (EventPart::TypeNames, _) => {
                let id = RawId::of_text(key, self.names);
                let name = map.next_value::<Scalar<'_>>()?.name(self.names);
                self.event.type_names.get_or_insert_default().extend(name.map(|name| (id, name)));
                return Ok(());
            }
            _ => return self.read_scalar_member(place, key, map),
        };
        map.next_value_seed(EventPartSeed(part, self))
    }

    /// Takes a member that is a text or a number; passes over any that is not known.
    fn read_scalar_member<'de, A: MapAccess<'de>>(
        &mut self,
        place: EventPart,
        key: &str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let (event, names) = (&mut self.event, &mut *self.names);
        let mut next = || map.next_value::<Scalar<'_>>();
        let owned = |value: Scalar<'_>| value.text().map(|text| text.into_owned());
        match (place, key) {
            (EventPart::Event, "ph") => event.phase = owned(next()?).unwrap_or_default(),
            (EventPart::Event, "name") => event.name = owned(next()?).unwrap_or_default(),
            (EventPart::Event, "pid") => event.pid = next()?.number().map(|pid| pid as i64),
            (EventPart::Event, "ts") => event.time_us = next()?.number().unwrap_or(0) as i64,
            (EventPart::Event, "id") => event.id = owned(next()?).unwrap_or_default(),
            (EventPart::Args, "name") => event.arg_name = owned(next()?),
            (EventPart::Args, "labels") => event.arg_labels = owned(next()?),
            (EventPart::StackFrame, "name") => self.frame_name_and_parent.0 = next()?.name(names),
            (EventPart::StackFrame, "parent") => self.frame_name_and_parent.1 = next()?.id(names),
            (EventPart::Dumps, "level_of_detail") => event.dumps.level_of_detail = owned(next()?).unwrap_or_default(),
            (EventPart::HeapEntry, "bt") => self.entry.backtrace = next()?.id(names),
            (EventPart::HeapEntry, "type") => self.entry.type_id = next()?.id(names),
            (EventPart::HeapEntry, "size") => self.entry.bytes = next()?.hex(),
            (EventPart::HeapEntry, "count") => self.entry.allocations = next()?.hex(),
            (EventPart::MappedRegion, "sa") => self.region.start = next()?.hex(),
            (EventPart::MappedRegion, "sz") => self.region.bytes = next()?.hex(),
            (EventPart::MappedRegion, "mf") => self.region.file = next()?.name(names),
            (EventPart::HeapsV2, "version") => self.heaps_v2().version = next()?.number(),
            (EventPart::HeapsV2MapRow, "id") => self.map_row.id = next()?.number(),
            (EventPart::HeapsV2MapRow, "string") => self.map_row.string = next()?.name(names),
            (EventPart::HeapsV2MapRow, "name_sid") => self.map_row.name_sid = next()?.number(),
            (EventPart::HeapsV2MapRow, "parent") => self.map_row.parent = next()?.number(),
            _ => _ = map.next_value::<IgnoredAny>()?,
        }
        Ok(())
    }

    fn heaps_v2(&mut self) -> &mut HeapsV2 {
        self.event.dumps.heaps_v2.get_or_insert_default()
    }

    /// The columns of the allocator that is being read.
    fn last_allocator_columns(&mut self) -> Option<&mut EntryColumns> {
        self.heaps_v2().allocators.last_mut().map(|(_, columns)| columns)
    }

    /// Takes a member of `stackFrames`.
    fn read_stack_frame<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let id = RawId::of_text(key, self.names);
        self.frame_name_and_parent = (None, None);
        map.next_value_seed(EventPartSeed(EventPart::StackFrame, self))?;
        let (name, parent) = self.frame_name_and_parent;
        let name = name.unwrap_or_else(|| self.names.intern(""));
        self.event.stack_frames.get_or_insert_default().push(StackFrame { id, name, parent });
        Ok(())
    }

    /// Takes the next element of a list; `None` when there is none.
    fn read_element<'de, A: SeqAccess<'de>>(&mut self, list: EventPart, seq: &mut A) -> Result<Option<()>, A::Error> {
        match list {
            EventPart::HeapEntries => {
                self.entry = EntryFields::default();
                let found = seq.next_element_seed(EventPartSeed(EventPart::HeapEntry, self))?;
                let EntryFields { backtrace, type_id, bytes, allocations } = self.entry;
                let entry = found.map(|()| RawEntry::new(backtrace, type_id, bytes, allocations));
                self.event.dumps.heaps.last_mut().into_iter().for_each(|(_, entries)| entries.extend(entry));
                Ok(found)
            }
            EventPart::MappedRegions => {
                self.region = RegionFields::default();
                let found = seq.next_element_seed(EventPartSeed(EventPart::MappedRegion, self))?;
                if let RegionFields { start: Some(start), bytes: Some(bytes), file: Some(file) } = self.region
                    && !self.names.text(file).is_empty()
                {
                    self.event.dumps.regions.push(MappedRegion { start, bytes, file });
                }
                Ok(found)
            }
            EventPart::HeapsV2MapRows(add) => {
                self.map_row = HeapsV2MapRow::default();
                let found = seq.next_element_seed(EventPartSeed(EventPart::HeapsV2MapRow, self))?;
                let row = std::mem::take(&mut self.map_row);
                found.into_iter().for_each(|()| add(self.heaps_v2(), &row));
                Ok(found)
            }
            EventPart::ColumnNumbers(column) => {
                let Some(number) = seq.next_element::<Scalar<'_>>()? else { return Ok(None) };
                let number = number.number();
                self.last_allocator_columns().into_iter().for_each(|columns| column(columns).push(number));
                Ok(Some(()))
            }
            _ => Ok(seq.next_element::<IgnoredAny>()?.map(|_| ())),
        }
    }

    /// Takes a whole list, if the number is the placeholder of one that was extracted from the text.
    fn take_extracted_list(&mut self, list: EventPart, number: u64) {
        match (list, self.extracted_arrays.take(number)) {
            (EventPart::HeapEntries, Some(ExtractedArray::Entries(entries))) => {
                // What is read here one by one stores the root's name when it comes to it.
                if entries.iter().any(|entry| entry.backtrace() == Some(RawId::EMPTY_TEXT)) {
                    self.names.intern("");
                }
                match self.event.dumps.heaps.last_mut() {
                    Some((_, known)) if known.is_empty() => *known = entries,
                    Some((_, known)) => known.extend(entries),
                    None => {}
                }
            }
            (EventPart::HeapsV2MapRows(add), Some(ExtractedArray::StringRows(texts))) => {
                for (id, text) in texts.iter() {
                    let row = HeapsV2MapRow {
                        id: Some(id),
                        string: Some(self.names.intern(text)),
                        ..HeapsV2MapRow::default()
                    };
                    add(self.heaps_v2(), &row);
                }
            }
            (EventPart::HeapsV2MapRows(add), Some(ExtractedArray::NodeOrTypeRows(rows))) => {
                for NodeOrTypeRow { id, name_sid, parent } in rows {
                    add(
                        self.heaps_v2(),
                        &HeapsV2MapRow { id: Some(id), string: None, name_sid: Some(name_sid), parent },
                    );
                }
            }
            (EventPart::ColumnNumbers(column), Some(ExtractedArray::ColumnNumbers(numbers))) => {
                if let Some(columns) = self.last_allocator_columns() {
                    column(columns).extend(numbers);
                }
            }
            _ => {}
        }
    }
}

/// Reads what stands at a place; what is neither an object nor a list, as is asked for there, is passed over.
struct EventPartSeed<'r, 'n>(EventPart, &'r mut EventReader<'n>);

impl<'de> DeserializeSeed<'de> for EventPartSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EventPartSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let EventPartSeed(place, reader) = self;
        if place.is_list() {
            return skip_members(map);
        }
        while let Some(key) = map.next_key::<Scalar<'_>>()? {
            reader.read_member(place, &key.text().unwrap_or_default(), &mut map)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let EventPartSeed(place, reader) = self;
        if !place.is_list() {
            return skip_elements(seq);
        }
        while reader.read_element(place, &mut seq)?.is_some() {}
        Ok(())
    }

    /// An object that was put into a string (Cobalt does so with `dumps`).
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        // A text that is no object is a value of a wrong type like any other.
        if self.0.is_list() || !text.trim_start().starts_with('{') {
            return Ok(());
        }
        self.deserialize(&mut serde_json::Deserializer::from_slice(text.as_bytes())).map_err(E::custom)
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.1.take_extracted_list(self.0, number);
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
