//! What a profile says besides its samples: kinds of values, functions, and the frames of each location. The table of texts
//! comes last in the file, and all others name texts by number.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::problem_codes::*;
use super::wire::{MalformedField, MessageFields, WireValue, push_numbers};
use crate::allocations::{FrameNaming, NameId, NameTable};
use crate::graph::MemoryShare;
use crate::input::stack_profile::{UNKNOWN_FILE, UNKNOWN_MODULE};
use crate::input::{Position, ProblemCode, ReadError, Reading};
use crate::regex::bounded_regex;

/// What is kept of a part of the message, at most: a text, a function, a location, or numbers of comments.
const MEMORY_BYTES_PER_PART: u64 = 48;
/// Parts between two looks at the memory they take.
const PARTS_PER_MEMORY_CHECK: u64 = 1 << 16;

/// The profile without its samples; texts are pieces of the message.
#[derive(Debug, Default)]
pub(super) struct Profile<'a> {
    texts: Vec<&'a [u8]>,
    comment_texts: Vec<u64>,
    /// Of the message.
    message_bytes: usize,
    /// Name and unit of each value of a sample.
    pub(super) sample_types: Vec<(u64, u64)>,
    functions: FxHashMap<u64, Function>,
    /// Id and file name of each mapping, the program itself first.
    mappings: Vec<(u64, u64)>,
    location_messages: Vec<(usize, &'a [u8])>,
    pub(super) samples: u64,
    drop_frames_text: u64,
    keep_frames_text: u64,
    pub(super) time_ns: u64,
    pub(super) sampling_period: u64,
    pub(super) default_sample_type_text: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Function {
    name_text: u64,
    file_text: u64,
}

/// The frames of locations.
#[derive(Debug, Default)]
pub(super) struct Locations {
    /// By id, the place in `all` plus one; 0 for none. Empty where ids are no numbers in a row.
    dense_places: Vec<u32>,
    /// By id, the name of a location with one frame, which is shown: nearly all, looked up for each frame of each sample.
    only_names: Vec<NameId>,
    /// Places of all other ids.
    places: FxHashMap<u64, u32>,
    all: Vec<LocationFrames>,
    names: Vec<NameId>,
}

/// The frames of one location.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocationFrames {
    /// Of its names the first one's place.
    start: usize,
    /// Frames that are shown: one function, and those that were inlined into it.
    pub(super) kept: usize,
    /// The frames from here on are left out, with all that they called (`drop_frames`).
    pub(super) is_dropped: bool,
    /// All of its frames.
    count: usize,
}

impl<'a> Profile<'a> {
    /// Walks through the message. `None` if it is no row of fields to its end. Error: if there is no memory for its parts.
    pub(super) fn of_message(
        message: &'a [u8],
        reading: &mut Reading,
        share: &mut MemoryShare,
    ) -> Result<Option<Self>, ReadError> {
        let mut profile = Profile { message_bytes: message.len(), ..Profile::default() };
        let mut fields = MessageFields::new(message);
        let mut parts = 0u64;
        while let Some(field) = fields.next() {
            let Ok((number, value)) = field else { return Ok(None) };
            let offset = message.len() - fields.bytes_left();
            parts += 1;
            if parts.is_multiple_of(PARTS_PER_MEMORY_CHECK) {
                share.set_held_bytes(message.len() as u64 + parts * MEMORY_BYTES_PER_PART)?;
            }
            let part = if let WireValue::Bytes(bytes) = value { bytes } else { &[] };
            let mut read = Ok(());
            match (number, value) {
                (1, _) => {
                    read = numbers_of_fields(part, [1, 2]).map(|[name, unit]| profile.sample_types.push((name, unit)))
                }
                (2, _) => profile.samples += 1,
                (3, _) => read = numbers_of_fields(part, [1, 5]).map(|[id, file]| profile.mappings.push((id, file))),
                (4, _) => profile.location_messages.push((offset - part.len(), part)),
                (5, _) => {
                    read = profile.take_function(part).map(|is_new| {
                        if !is_new {
                            add_problem(reading, &REPEATED_ID, offset);
                        }
                    });
                }
                (6, _) => profile.texts.push(part),
                (7, WireValue::Number(text)) => profile.drop_frames_text = text,
                (8, WireValue::Number(text)) => profile.keep_frames_text = text,
                (9, WireValue::Number(time)) => profile.time_ns = time,
                (12, WireValue::Number(period)) => profile.sampling_period = period,
                (13, value) => read = push_numbers(value, &mut profile.comment_texts),
                (14, WireValue::Number(text)) => profile.default_sample_type_text = text,
                _ => {}
            }
            if read.is_err() {
                add_problem(reading, &BAD_MESSAGE, offset);
            }
        }
        // Nobody asks for comments; that they are there shows that the profile is whole.
        for &comment in &profile.comment_texts {
            profile.text(comment, reading);
        }
        Ok(Some(profile))
    }

    pub(super) fn has_texts(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Returns false for an id that is known.
    fn take_function(&mut self, message: &[u8]) -> Result<bool, MalformedField> {
        let [id, name, system_name, file] = numbers_of_fields(message, [1, 2, 3, 4])?;
        let function = Function { name_text: if name == 0 { system_name } else { name }, file_text: file };
        let next = self.functions.len();
        self.functions.entry(id).or_insert(function);
        Ok(self.functions.len() > next)
    }

    /// A text of the table; of a number that it does not have an empty one.
    pub(super) fn text(&self, number: u64, reading: &mut Reading) -> &'a [u8] {
        let text = usize::try_from(number).ok().and_then(|number| self.texts.get(number));
        if text.is_none() {
            add_problem(reading, &TRUNCATED, self.message_bytes);
        }
        text.copied().unwrap_or_default()
    }

    /// The file name of the program: that of the first mapping.
    pub(super) fn program_name(&self, reading: &mut Reading) -> String {
        let file = self.mappings.first().map(|&(_, file)| self.text(file, reading));
        last_segment(&String::from_utf8_lossy(file.unwrap_or_default())).to_string()
    }

    /// Names of functions by id; of functions in several files that have one name, with the file.
    fn function_names(&self, names: &mut NameTable, reading: &mut Reading) -> FxHashMap<u64, NameId> {
        let mut files: FxHashMap<&[u8], (u64, bool)> = FxHashMap::default();
        for function in self.functions.values() {
            let (file, is_several) =
                files.entry(self.text(function.name_text, reading)).or_insert((function.file_text, false));
            *is_several |= *file != function.file_text;
        }
        let mut of_ids = FxHashMap::default();
        for (&id, function) in &self.functions {
            let name = self.text(function.name_text, reading);
            let mut text = match name {
                b"" => format!("function {id}"),
                _ => String::from_utf8_lossy(name).into_owned(),
            };
            if files[name].1 {
                text = format!("{text} ({})", String::from_utf8_lossy(self.text(function.file_text, reading)));
            }
            of_ids.insert(id, names.intern(&text));
        }
        of_ids
    }

    /// The frames of all locations, named as the options ask for. O(locations and their lines).
    pub(super) fn frames_of_locations(&self, names: &mut NameTable, reading: &mut Reading) -> Locations {
        let frame_names = reading.options.profile.frame_names;
        let functions = self.function_names(names, reading);
        let dropped =
            if reading.options.profile.all_frames { FxHashSet::default() } else { self.dropped_functions(reading) };
        let mut files: FxHashMap<u64, u64> = FxHashMap::default();
        for &(id, file) in &self.mappings {
            if *files.entry(id).or_insert(file) != file {
                add_problem(reading, &REPEATED_ID, 0);
            }
        }
        let mut locations = Locations::with_room(self.location_messages.len());
        let mut frames = Vec::new();
        for &(offset, message) in &self.location_messages {
            let Ok(Location { id, mapping_id: mapping, address, lines }) = Location::of_message(message) else {
                add_problem(reading, &BAD_MESSAGE, offset);
                continue;
            };
            let module = files.get(&mapping).map_or(&b""[..], |&file| self.text(file, reading));
            let module = String::from_utf8_lossy(module);
            frames.clear();
            // The innermost comes first.
            for &(function, line) in lines.iter().rev() {
                let name = functions.get(&function).copied().unwrap_or_else(|| {
                    add_problem(reading, &UNKNOWN_FUNCTION, offset);
                    names.intern(&format!("function {function}"))
                });
                frames.push(match frame_names {
                    FrameNaming::Function => name,
                    FrameNaming::FunctionAndLine => match self.functions.get(&function) {
                        Some(&Function { name_text: name, file_text: file }) if name > 0 => {
                            let [name, file] =
                                [name, file].map(|text| String::from_utf8_lossy(self.text(text, reading)));
                            names.intern(&format!("{name} {file}:{line}"))
                        }
                        _ => name,
                    },
                    FrameNaming::File => {
                        let file =
                            self.functions.get(&function).map_or(&b""[..], |known| self.text(known.file_text, reading));
                        names.intern(&name_or(&String::from_utf8_lossy(file), UNKNOWN_FILE))
                    }
                    FrameNaming::Module => names.intern(&name_or(&module, UNKNOWN_MODULE)),
                });
            }
            if frames.is_empty() {
                let place = if module.is_empty() { String::new() } else { format!(" ({})", last_segment(&module)) };
                frames.push(names.intern(&match frame_names {
                    FrameNaming::Function | FrameNaming::FunctionAndLine => format!("{address:#x}{place}"),
                    FrameNaming::File => UNKNOWN_FILE.to_string(),
                    FrameNaming::Module => name_or(&module, UNKNOWN_MODULE),
                }));
            }
            let first_dropped = lines.iter().rev().position(|(function, _)| dropped.contains(function));
            if !locations.insert(id, &frames, first_dropped) {
                add_problem(reading, &REPEATED_ID, offset);
            }
        }
        locations
    }

    /// Functions that the profile wants left out: those that `drop_frames` fits as a whole, and `keep_frames` does not.
    fn dropped_functions(&self, reading: &mut Reading) -> FxHashSet<u64> {
        let named: Vec<(u64, Cow<'_, str>)> = self
            .functions
            .iter()
            .map(|(&id, function)| (id, String::from_utf8_lossy(self.text(function.name_text, reading))))
            .collect();
        let name_bytes: usize = named.iter().map(|(_, name)| name.len() + 1).sum();
        let mut pattern = |number: u64| {
            let text = self.text(number, reading);
            let steps = name_bytes.saturating_mul(text.len());
            let pattern = std::str::from_utf8(text).ok().filter(|_| steps <= MAX_MATCH_STEPS);
            let pattern = pattern.map(|text| bounded_regex(&format!("^(?:{text})$")));
            if !text.is_empty() && !matches!(pattern, Some(Ok(_))) {
                add_problem(reading, &BAD_PATTERN, self.message_bytes);
            }
            pattern.filter(|_| !text.is_empty())?.ok()
        };
        let (dropped, kept) = (pattern(self.drop_frames_text), pattern(self.keep_frames_text));
        let Some(dropped) = dropped else { return FxHashSet::default() };
        let fits = |name: &str| dropped.is_match(name) && !kept.as_ref().is_some_and(|kept| kept.is_match(name));
        named.iter().filter(|(_, name)| fits(name)).map(|&(id, _)| id).collect()
    }

    /// The value of a sample's label, the first of several; a number with its unit, which is the key where none is given.
    pub(super) fn label_value(
        &self,
        sample: &[u8],
        key: &str,
        reading: &mut Reading,
    ) -> Result<Option<String>, MalformedField> {
        for field in MessageFields::new(sample) {
            if let (3, WireValue::Bytes(label)) = field? {
                let [own_key, text, number, unit] = numbers_of_fields(label, [1, 2, 3, 4])?;
                if self.text(own_key, reading) == key.as_bytes() {
                    let [text, unit] =
                        [text, unit].map(|text| String::from_utf8_lossy(self.text(text, reading)).into_owned());
                    let unit = if unit.is_empty() { key } else { &unit };
                    return Ok(Some(if text.is_empty() { format!("{} {unit}", number.cast_signed()) } else { text }));
                }
            }
        }
        Ok(None)
    }

    /// Keys of labels of the profile's samples, some of them.
    pub(super) fn label_keys(&self, message: &[u8], reading: &mut Reading) -> BTreeSet<String> {
        const MAX_KEYS_NAMED: usize = 20;
        let mut keys = BTreeSet::new();
        let samples = MessageFields::new(message).flatten().filter(|(number, _)| *number == 2);
        for (_, sample) in samples {
            let WireValue::Bytes(sample) = sample else { continue };
            for (number, label) in MessageFields::new(sample).flatten() {
                if let (3, WireValue::Bytes(label)) = (number, label)
                    && keys.len() < MAX_KEYS_NAMED
                {
                    let [key] = numbers_of_fields(label, [1]).unwrap_or_default();
                    keys.insert(String::from_utf8_lossy(self.text(key, reading)).into_owned());
                }
            }
        }
        keys
    }
}

/// Bytes of all names times those of a pattern: a match takes steps by both, and some seconds are enough.
const MAX_MATCH_STEPS: usize = 1 << 30;

/// Stands for no name. There are never so many.
pub(super) const NO_NAME: NameId = NameId(u32::MAX);

impl Locations {
    fn with_room(count: usize) -> Self {
        // Ids are numbers from 1 on in all profiles seen; they need not be.
        let dense = 2 * count + 2;
        Locations { dense_places: vec![0; dense], only_names: vec![NO_NAME; dense], ..Locations::default() }
    }

    fn place(&self, id: u64) -> Option<u32> {
        match usize::try_from(id).ok().and_then(|id| self.dense_places.get(id)) {
            Some(&place) => place.checked_sub(1),
            None => self.places.get(&id).copied(),
        }
    }

    /// Returns false for an id that is known.
    fn insert(&mut self, id: u64, frames: &[NameId], first_dropped: Option<usize>) -> bool {
        let is_new = self.place(id).is_none();
        if is_new {
            let next = self.all.len() as u32;
            match usize::try_from(id).ok().filter(|id| *id < self.dense_places.len()) {
                Some(id) => {
                    self.dense_places[id] = next + 1;
                    if let (&[name], None) = (frames, first_dropped) {
                        self.only_names[id] = name;
                    }
                }
                None => _ = self.places.insert(id, next),
            }
            let (start, count) = (self.names.len(), frames.len());
            let (kept, is_dropped) = (first_dropped.unwrap_or(count), first_dropped.is_some());
            self.all.push(LocationFrames { start, kept, is_dropped, count });
            self.names.extend_from_slice(frames);
        }
        is_new
    }

    /// The name of an id's frame, where it has one alone, which is shown; `NO_NAME` else.
    #[inline]
    pub(super) fn only_name(&self, id: u64) -> NameId {
        usize::try_from(id).ok().and_then(|id| self.only_names.get(id)).copied().unwrap_or(NO_NAME)
    }

    /// The frames of an id; `None` where the profile does not have it.
    #[inline]
    pub(super) fn frames_of_id(&self, id: u64) -> Option<LocationFrames> {
        self.place(id).map(|place| self.all[place as usize])
    }

    /// The names of a location's frames, the callers first; of all, or of those that are shown.
    #[inline]
    pub(super) fn names(&self, location: LocationFrames, shows_all: bool) -> &[NameId] {
        let count = if shows_all { location.count } else { location.kept };
        &self.names[location.start..location.start + count]
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }
}

/// A location as the profile has it.
struct Location {
    id: u64,
    mapping_id: u64,
    address: u64,
    /// Functions and numbers of its lines, innermost first.
    lines: Vec<(u64, u64)>,
}

impl Location {
    fn of_message(message: &[u8]) -> Result<Self, MalformedField> {
        let [id, mapping, address] = numbers_of_fields(message, [1, 2, 3])?;
        let mut lines = Vec::new();
        for field in MessageFields::new(message) {
            if let (4, WireValue::Bytes(line)) = field? {
                let [function, number] = numbers_of_fields(line, [1, 2])?;
                lines.push((function, number));
            }
        }
        Ok(Location { id, mapping_id: mapping, address, lines })
    }
}

/// Numbers of fields of a message, each 0 where it is not there, of several the last.
fn numbers_of_fields<const N: usize>(message: &[u8], wanted: [u64; N]) -> Result<[u64; N], MalformedField> {
    let mut values = [0; N];
    for field in MessageFields::new(message) {
        let (number, value) = field?;
        if let (Some(at), WireValue::Number(value)) = (wanted.iter().position(|&known| known == number), value) {
            values[at] = value;
        }
    }
    Ok(values)
}

/// Appends the locations of a sample, innermost first, and its values.
pub(super) fn parse_sample(message: &[u8], stack: &mut Vec<u64>, values: &mut Vec<u64>) -> Result<(), MalformedField> {
    for field in MessageFields::new(message) {
        match field? {
            (1, value) => push_numbers(value, stack)?,
            (2, value) => push_numbers(value, values)?,
            _ => {}
        }
    }
    Ok(())
}

fn name_or(name: &str, other: &str) -> String {
    if name.is_empty() { other.to_string() } else { name.to_string() }
}

fn last_segment(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

pub(super) fn add_problem(reading: &mut Reading, code: &'static ProblemCode, offset: usize) {
    reading.diagnostics.add(code, 1, Position::Byte(offset as u64), String::new);
}
