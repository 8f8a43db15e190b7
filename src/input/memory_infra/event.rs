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

use super::dumps::{Column, Columns, Dumps, HeapsV2, NodeRow, Region};
use super::extract::{ExtractedArray, ExtractedArrays, extract_arrays};
use super::ids::{RawEntry, RawId};
use super::values::{Scalar, pass_elements, pass_members};
use crate::allocations::{NameId, Names};

/// An event's members.
#[derive(Debug, Default)]
pub(super) struct Event {
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
    pub(super) dumps: Dumps,
}

/// An entry of `stackFrames`; ids are strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackFrame {
    pub(super) id: RawId,
    pub(super) name: NameId,
    pub(super) parent: Option<RawId>,
}

impl Event {
    /// Reads what it can; `Err` says where and why it ended early. `whole` is false when the file ends in the event.
    pub(super) fn read(json: &[u8], whole: bool, names: &mut Names) -> (Self, Result<(), serde_json::Error>) {
        if let Some((rest, arrays)) = whole.then(|| extract_arrays(json)).flatten() {
            let (event, read) = Self::read_all(&rest, names, arrays);
            if read.is_ok() {
                return (event, read);
            }
            // Places of faults are those in the whole text.
        }
        Self::read_all(json, names, ExtractedArrays::default())
    }

    fn read_all(json: &[u8], names: &mut Names, arrays: ExtractedArrays) -> (Self, Result<(), serde_json::Error>) {
        let mut reader = EventReader::new(names, arrays);
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let read = Part(Place::Event, &mut reader).deserialize(&mut deserializer);
        (reader.event, read.and_then(|()| deserializer.end()))
    }
}

/// Reads a `stackFrames` dictionary that stands outside events, as far as it can be read.
pub(super) fn read_stack_frames(json: &[u8], names: &mut Names) -> Vec<StackFrame> {
    let mut reader = EventReader::new(names, ExtractedArrays::default());
    let _ = Part(Place::Frames, &mut reader).deserialize(&mut serde_json::Deserializer::from_slice(json));
    reader.event.stack_frames.unwrap_or_default()
}

/// A part of an event: an object of certain keys, or a list.
#[derive(Clone, Copy)]
enum Place {
    Event,
    Args,
    Frames,
    Frame,
    Types,
    Dumps,
    Heaps,
    Heap,
    Entry,
    MemoryMap,
    Region,
    HeapsV2,
    Maps,
    Row,
    Allocators,
    Columns,
    Entries,
    Regions,
    /// Rows of one of the maps, and what is done with each.
    Rows(fn(&mut HeapsV2, &Row)),
    Numbers(fn(&mut Columns) -> &mut Column),
}

impl Place {
    fn is_list(self) -> bool {
        matches!(self, Place::Entries | Place::Regions | Place::Rows(_) | Place::Numbers(_))
    }
}

/// A row of any of the three maps.
#[derive(Default)]
struct Row {
    id: Option<u64>,
    string: Option<NameId>,
    name_sid: Option<u64>,
    parent: Option<u64>,
}

#[derive(Default)]
struct EntryFields {
    backtrace: Option<RawId>,
    type_id: Option<RawId>,
    bytes: Option<u64>,
    allocations: Option<u64>,
}

#[derive(Default)]
struct RegionFields {
    start: Option<u64>,
    bytes: Option<u64>,
    file: Option<NameId>,
}

/// An event being read, and the members so far of the element at hand.
struct EventReader<'n> {
    event: Event,
    names: &'n mut Names,
    arrays: ExtractedArrays,
    frame: (Option<NameId>, Option<RawId>),
    entry: EntryFields,
    region: RegionFields,
    row: Row,
}

impl<'n> EventReader<'n> {
    fn new(names: &'n mut Names, arrays: ExtractedArrays) -> Self {
        EventReader {
            event: Event::default(),
            names,
            arrays,
            frame: (None, None),
            entry: EntryFields::default(),
            region: RegionFields::default(),
            row: Row::default(),
        }
    }

    /// Takes the value of a member.
    fn member<'de, A: MapAccess<'de>>(&mut self, place: Place, key: &str, map: &mut A) -> Result<(), A::Error> {
        let part = match (place, key) {
            (Place::Event, "args") => Place::Args,
            (Place::Args, "stackFrames") => Place::Frames,
            (Place::Args, "typeNames") => {
                self.event.type_names.get_or_insert_default();
                Place::Types
            }
            (Place::Args, "dumps") => Place::Dumps,
            (Place::Dumps, "heaps") => Place::Heaps,
            (Place::Dumps, "heaps_v2") => {
                self.event.dumps.heaps_v2.get_or_insert_default();
                Place::HeapsV2
            }
            (Place::Dumps, "process_mmaps") => Place::MemoryMap,
            (Place::MemoryMap, "vm_regions") => Place::Regions,
            (Place::Heaps, _) => {
                self.event.dumps.heaps.push((self.names.intern(key), Vec::new()));
                Place::Heap
            }
            (Place::Heap, "entries") => Place::Entries,
            (Place::HeapsV2, "maps") => Place::Maps,
            (Place::HeapsV2, "allocators") => Place::Allocators,
            (Place::Maps, "strings") => Place::Rows(|heaps, row| heaps.strings.extend(row.id.zip(row.string))),
            (Place::Maps, "nodes") => Place::Rows(|heaps, row| {
                if let (Some(id), Some(name_sid)) = (row.id, row.name_sid) {
                    heaps.nodes.push(NodeRow { id, name_sid, parent: row.parent });
                }
            }),
            (Place::Maps, "types") => Place::Rows(|heaps, row| heaps.types.extend(row.id.zip(row.name_sid))),
            (Place::Allocators, _) => {
                let allocator = self.names.intern(key);
                self.heaps_v2().allocators.push((allocator, Columns::default()));
                Place::Columns
            }
            (Place::Columns, "counts") => Place::Numbers(|columns| &mut columns.counts),
            (Place::Columns, "sizes") => Place::Numbers(|columns| &mut columns.sizes),
            (Place::Columns, "types") => Place::Numbers(|columns| &mut columns.types),
            (Place::Columns, "nodes") => Place::Numbers(|columns| &mut columns.nodes),
            (Place::Frames, _) => return self.stack_frame(key, map),
            (Place::Types, _) => {
                let id = RawId::of_text(key, self.names);
                let name = map.next_value::<Scalar<'_>>()?.name(self.names);
                self.event.type_names.get_or_insert_default().extend(name.map(|name| (id, name)));
                return Ok(());
            }
            _ => return self.scalar(place, key, map),
        };
        map.next_value_seed(Part(part, self))
    }

    /// Takes a member that is a text or a number.
    fn scalar<'de, A: MapAccess<'de>>(&mut self, place: Place, key: &str, map: &mut A) -> Result<(), A::Error> {
        let (event, names) = (&mut self.event, &mut *self.names);
        let mut next = || map.next_value::<Scalar<'_>>();
        let owned = |value: Scalar<'_>| value.text().map(|text| text.into_owned());
        match (place, key) {
            (Place::Event, "ph") => event.phase = owned(next()?).unwrap_or_default(),
            (Place::Event, "name") => event.name = owned(next()?).unwrap_or_default(),
            (Place::Event, "pid") => event.pid = next()?.number().map(|pid| pid as i64),
            (Place::Event, "ts") => event.time_us = next()?.number().unwrap_or(0) as i64,
            (Place::Event, "id") => event.id = owned(next()?).unwrap_or_default(),
            (Place::Args, "name") => event.arg_name = owned(next()?),
            (Place::Args, "labels") => event.arg_labels = owned(next()?),
            (Place::Frame, "name") => self.frame.0 = next()?.name(names),
            (Place::Frame, "parent") => self.frame.1 = next()?.id(names),
            (Place::Dumps, "level_of_detail") => event.dumps.detail = owned(next()?).unwrap_or_default(),
            (Place::Entry, "bt") => self.entry.backtrace = next()?.id(names),
            (Place::Entry, "type") => self.entry.type_id = next()?.id(names),
            (Place::Entry, "size") => self.entry.bytes = next()?.hex(),
            (Place::Entry, "count") => self.entry.allocations = next()?.hex(),
            (Place::Region, "sa") => self.region.start = next()?.hex(),
            (Place::Region, "sz") => self.region.bytes = next()?.hex(),
            (Place::Region, "mf") => self.region.file = next()?.name(names),
            (Place::HeapsV2, "version") => self.heaps_v2().version = next()?.number(),
            (Place::Row, "id") => self.row.id = next()?.number(),
            (Place::Row, "string") => self.row.string = next()?.name(names),
            (Place::Row, "name_sid") => self.row.name_sid = next()?.number(),
            (Place::Row, "parent") => self.row.parent = next()?.number(),
            _ => _ = map.next_value::<IgnoredAny>()?,
        }
        Ok(())
    }

    fn heaps_v2(&mut self) -> &mut HeapsV2 {
        self.event.dumps.heaps_v2.get_or_insert_default()
    }

    /// The columns at hand.
    fn columns(&mut self) -> Option<&mut Columns> {
        self.heaps_v2().allocators.last_mut().map(|(_, columns)| columns)
    }

    fn stack_frame<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let id = RawId::of_text(key, self.names);
        self.frame = (None, None);
        map.next_value_seed(Part(Place::Frame, self))?;
        let (name, parent) = self.frame;
        let name = name.unwrap_or_else(|| self.names.intern(""));
        self.event.stack_frames.get_or_insert_default().push(StackFrame { id, name, parent });
        Ok(())
    }

    /// Takes the next element of a list; `None` when there is none.
    fn element<'de, A: SeqAccess<'de>>(&mut self, list: Place, seq: &mut A) -> Result<Option<()>, A::Error> {
        match list {
            Place::Entries => {
                self.entry = EntryFields::default();
                let found = seq.next_element_seed(Part(Place::Entry, self))?;
                let EntryFields { backtrace, type_id, bytes, allocations } = self.entry;
                let entry = found.map(|()| RawEntry::new(backtrace, type_id, bytes, allocations));
                self.event.dumps.heaps.last_mut().into_iter().for_each(|(_, entries)| entries.extend(entry));
                Ok(found)
            }
            Place::Regions => {
                self.region = RegionFields::default();
                let found = seq.next_element_seed(Part(Place::Region, self))?;
                if let RegionFields { start: Some(start), bytes: Some(bytes), file: Some(file) } = self.region
                    && !self.names.text(file).is_empty()
                {
                    self.event.dumps.regions.push(Region { start, bytes, file });
                }
                Ok(found)
            }
            Place::Rows(add) => {
                self.row = Row::default();
                let found = seq.next_element_seed(Part(Place::Row, self))?;
                let row = std::mem::take(&mut self.row);
                found.into_iter().for_each(|()| add(self.heaps_v2(), &row));
                Ok(found)
            }
            Place::Numbers(column) => {
                let Some(number) = seq.next_element::<Scalar<'_>>()? else { return Ok(None) };
                let number = number.number();
                self.columns().into_iter().for_each(|columns| column(columns).push(number));
                Ok(Some(()))
            }
            _ => Ok(seq.next_element::<IgnoredAny>()?.map(|_| ())),
        }
    }

    /// Takes a whole list, if the number is the placeholder of one that was extracted from the text.
    fn on_placeholder(&mut self, list: Place, number: u64) {
        match (list, self.arrays.take(number)) {
            (Place::Entries, Some(ExtractedArray::Entries(entries))) => {
                // What is read here one by one stores the root's name when it comes to it.
                if entries.iter().any(|entry| entry.backtrace() == Some(RawId::EMPTY)) {
                    self.names.intern("");
                }
                match self.event.dumps.heaps.last_mut() {
                    Some((_, known)) if known.is_empty() => *known = entries,
                    Some((_, known)) => known.extend(entries),
                    None => {}
                }
            }
            (Place::Rows(add), Some(ExtractedArray::Strings(texts))) => {
                for (id, text) in texts.iter() {
                    let row = Row { id: Some(id), string: Some(self.names.intern(text)), ..Row::default() };
                    add(self.heaps_v2(), &row);
                }
            }
            (Place::Rows(add), Some(ExtractedArray::Rows(rows))) => {
                for NodeRow { id, name_sid, parent } in rows {
                    add(self.heaps_v2(), &Row { id: Some(id), string: None, name_sid: Some(name_sid), parent });
                }
            }
            (Place::Numbers(column), Some(ExtractedArray::Numbers(numbers))) => {
                if let Some(columns) = self.columns() {
                    column(columns).extend(numbers);
                }
            }
            _ => {}
        }
    }
}

/// Reads what stands at a place; what is neither an object nor a list, as is asked for there, is passed over.
struct Part<'r, 'n>(Place, &'r mut EventReader<'n>);

impl<'de> DeserializeSeed<'de> for Part<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Part(place, reader) = self;
        if place.is_list() {
            return pass_members(map);
        }
        while let Some(key) = map.next_key::<Scalar<'_>>()? {
            reader.member(place, &key.text().unwrap_or_default(), &mut map)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Part(place, reader) = self;
        if !place.is_list() {
            return pass_elements(seq);
        }
        while reader.element(place, &mut seq)?.is_some() {}
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
        self.1.on_placeholder(self.0, number);
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
