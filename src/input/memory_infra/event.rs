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

use serde::de::{DeserializeSeed, MapAccess};

use super::dumps::{Dumps, DumpsReader};
use super::extract::{ExtractedArrays, extract_arrays};
use super::ids::RawId;
use super::values::{Id, Member, Members, Name, Number, Scalar, Text, ignore};
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
        if let Some((rest, mut arrays)) = whole.then(|| extract_arrays(json)).flatten() {
            let (event, read) = Self::read_all(&rest, names, &mut arrays);
            if read.is_ok() {
                return (event, read);
            }
            // Places of faults are those in the whole text.
        }
        Self::read_all(json, names, &mut ExtractedArrays::default())
    }

    fn read_all(json: &[u8], names: &mut Names, arrays: &mut ExtractedArrays) -> (Self, Result<(), serde_json::Error>) {
        let mut event = Event::default();
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let mut reader = EventReader { event: &mut event, names, arrays };
        let read = Members(&mut reader).deserialize(&mut deserializer);
        (event, read.and_then(|()| deserializer.end()))
    }
}

/// Reads a `stackFrames` dictionary that stands outside events.
pub(super) fn read_stack_frames(json: &[u8], names: &mut Names) -> (Vec<StackFrame>, Result<(), serde_json::Error>) {
    let mut frames = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let read = Members(&mut FramesReader { frames: &mut frames, names }).deserialize(&mut deserializer);
    (frames, read)
}

struct EventReader<'a> {
    event: &'a mut Event,
    names: &'a mut Names,
    arrays: &'a mut ExtractedArrays,
}

impl Member for EventReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let event = &mut *self.event;
        match key {
            "ph" => event.phase = map.next_value_seed(Scalar(Text))?.unwrap_or_default(),
            "name" => event.name = map.next_value_seed(Scalar(Text))?.unwrap_or_default(),
            "pid" => event.pid = map.next_value_seed(Scalar(Number))?.map(|pid| pid as i64),
            "ts" => event.time_us = map.next_value_seed(Scalar(Number))?.unwrap_or(0) as i64,
            "id" => event.id = map.next_value_seed(Scalar(Text))?.unwrap_or_default(),
            "args" => {
                let (names, arrays) = (&mut *self.names, &mut *self.arrays);
                map.next_value_seed(Members(&mut ArgsReader { event, names, arrays }))?;
            }
            _ => ignore(map)?,
        }
        Ok(())
    }
}

struct ArgsReader<'a> {
    event: &'a mut Event,
    names: &'a mut Names,
    arrays: &'a mut ExtractedArrays,
}

impl Member for ArgsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let (event, names) = (&mut *self.event, &mut *self.names);
        match key {
            "name" => event.arg_name = map.next_value_seed(Scalar(Text))?,
            "labels" => event.arg_labels = map.next_value_seed(Scalar(Text))?,
            "stackFrames" => {
                let frames = event.stack_frames.get_or_insert_default();
                map.next_value_seed(Members(&mut FramesReader { frames, names }))?;
            }
            "typeNames" => {
                let types = event.type_names.get_or_insert_default();
                map.next_value_seed(Members(&mut TypesReader { types, names }))?;
            }
            "dumps" => {
                let (dumps, arrays) = (&mut event.dumps, &mut *self.arrays);
                map.next_value_seed(Members(&mut DumpsReader { dumps, names, arrays }))?;
            }
            _ => ignore(map)?,
        }
        Ok(())
    }
}

struct FramesReader<'a> {
    frames: &'a mut Vec<StackFrame>,
    names: &'a mut Names,
}

impl Member for FramesReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let id = RawId::of_text(key, self.names);
        let mut fields = FrameFields { name: None, parent: None, names: self.names };
        map.next_value_seed(Members(&mut fields))?;
        let (name, parent) = (fields.name, fields.parent);
        let name = name.unwrap_or_else(|| self.names.intern(""));
        self.frames.push(StackFrame { id, name, parent });
        Ok(())
    }
}

struct FrameFields<'a> {
    name: Option<NameId>,
    parent: Option<RawId>,
    names: &'a mut Names,
}

impl Member for FrameFields<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => self.name = map.next_value_seed(Scalar(Name(self.names)))?,
            "parent" => self.parent = map.next_value_seed(Scalar(Id(self.names)))?,
            _ => ignore(map)?,
        }
        Ok(())
    }
}

struct TypesReader<'a> {
    types: &'a mut Vec<(RawId, NameId)>,
    names: &'a mut Names,
}

impl Member for TypesReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let id = RawId::of_text(key, self.names);
        if let Some(name) = map.next_value_seed(Scalar(Text))? {
            self.types.push((id, self.names.intern(&name)));
        }
        Ok(())
    }
}
