//! `pprof`: heap profiles of Go, and of many tools for Rust, C++, Node.js and others: how much was allocated, by stack. No
//! objects.
//!
//! A protocol buffer, packed by gzip or not: kinds of values, samples (a stack of locations, innermost first, and a value of
//! each kind), locations with their functions, and at the end the texts that all of them name by number.
//! docs/formats/pprof.md has the fields, the codes, and where each rule comes from.

mod problem_codes;
mod profile;
mod wire;

use rustc_hash::FxHashMap;

use super::stack_profile::{FRAMES_PER_MEMORY_CHECK, NODE_BYTES, no_measure_error, read_whole};
use super::{
    Diagnostics, Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ProfileOptions, ReadError,
    ReadErrorKind, ReadExtent, Reader, Reading, Runtime, Source,
};
use crate::allocations::{
    AllocationDump, AllocationEntry, AllocationHeap, AllocationHeapBuilder, CountingMode, FrameNaming, MemoryDump,
    NameId, NameTable,
};
use crate::graph::MemoryShare;
use problem_codes::*;
use profile::{LocationFrames, Locations, Profile, add_problem, parse_sample};
use wire::{MalformedField, MessageFields, WireValue};

pub(super) struct Pprof;

impl Reader for Pprof {
    fn format(&self) -> Format {
        Format::binary("pprof", "pprof heap profile", Runtime::Native)
    }

    /// Fields of a profile one behind the other, a kind of values among them.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let mut has_sample_type = false;
        for field in MessageFields::new(start) {
            match field {
                Ok((1, WireValue::Bytes(kind))) => {
                    has_sample_type = true;
                    let is_pair = |field| matches!(field, Ok((1 | 2, WireValue::Number(_))));
                    if !MessageFields::new(kind).all(is_pair) {
                        return FormatMatch::No;
                    }
                }
                Ok((2..=6 | 11 | 15, WireValue::Bytes(_)) | (7..=10 | 12 | 14 | 16, WireValue::Number(_))) => {}
                Ok((13, _)) => {}
                // The start breaks off within a field.
                Err(MalformedField::Cut) => break,
                _ => return FormatMatch::No,
            }
        }
        if has_sample_type { FormatMatch::Yes } else { FormatMatch::No }
    }

    fn read(&self, mut source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let mut share = reading.budget.for_content();
        // Texts stand at its end.
        let message = read_whole(&mut source, &mut share)?;
        let extent = ReadExtent { end: Position::Byte(message.len() as u64), objects: 0, loss_codes: &[] };
        let Some(profile) = Profile::of_message(&message, reading, &mut share)?.filter(Profile::has_texts) else {
            // What was met before says nothing.
            reading.diagnostics = Diagnostics::default();
            let text = "a pprof profile that breaks off or is damaged: names stand at its end, and without them it says \
                        nothing";
            return Ok(ParsedDump { extent, content: ParsedContent::NoHeap(text.into()) });
        };
        let measure = SampleMeasure::of_profile(&profile, reading)?;
        let mut names = NameTable::default();
        let locations = profile.frames_of_locations(&mut names, reading);
        let type_label = reading.options.profile.type_label.clone();
        let (mut has_label, mut maker) = (type_label.is_none(), HeapMaker::new(&mut names, &locations, reading));
        let mut fields = MessageFields::new(&message);
        while let Some(field) = fields.next() {
            if let Ok((2, WireValue::Bytes(sample))) = field {
                let offset = message.len() - fields.bytes_left() - sample.len();
                let label = match &type_label {
                    Some(key) => profile.label_value(sample, key, reading).unwrap_or_default(),
                    None => None,
                };
                has_label |= label.is_some();
                maker.add_sample(sample, offset, &measure, label, reading)?;
            }
        }
        if let Some(key) = type_label.filter(|_| !has_label) {
            let keys = profile.label_keys(&message, reading).into_iter().collect::<Vec<_>>().join(", ");
            let keys = if keys.is_empty() { "there are none".to_string() } else { format!("there are: {keys}") };
            return Err(ReadError::new(ReadErrorKind::NoHeap(format!("no sample has a label \"{key}\"; {keys}"))));
        }
        let (frames, entries) = maker.builder.finish_heap(None);
        reading.info.set_records([
            ("samples", profile.samples),
            ("locations", locations.count() as u64),
            ("entries", entries.len() as u64),
        ]);
        reading.info.version = Some(measure.description);
        let heap = AllocationHeap {
            dump_number: 1,
            pid: 0,
            part_number: 1,
            process_name: profile.program_name(reading),
            process_labels: String::new(),
            allocator_name: measure.name,
            counting_mode: CountingMode::Exclusive,
            frames,
            entries,
        };
        let started_us = i64::try_from(profile.time_ns / 1_000).unwrap_or(0);
        let moment = MemoryDump { id: String::new(), started_us, detail_level: String::new() };
        let dump = AllocationDump {
            names,
            frame_naming: reading.options.profile.frame_names,
            dumps: vec![moment],
            heaps: vec![heap],
        };
        Ok(ParsedDump { extent, content: ParsedContent::Allocations(dump) })
    }

    fn is_profile(&self) -> bool {
        true
    }

    /// The file has no objects to be counted.
    fn count_types(&self, _: Source, _: &mut Reading) -> Result<ParsedTypes, ReadError> {
        Err(ReadError::new(ReadErrorKind::NoObjects("a pprof profile holds allocation totals")))
    }
}

/// The values that are read, of those that samples have.
#[derive(Debug)]
struct SampleMeasure {
    /// `inuse`, `alloc`, or what stands for both in other profiles.
    name: String,
    /// Places of bytes and of objects among a sample's values.
    bytes_place: usize,
    objects_place: Option<usize>,
    /// Which of the profile's kinds it is, and how samples were taken.
    description: String,
    /// Values of each sample.
    value_count: usize,
}

impl SampleMeasure {
    /// That in bytes which is asked for; else the profile's default, what is in use, or the last one. Error: if none fits.
    fn of_profile(profile: &Profile<'_>, reading: &mut Reading) -> Result<Self, ReadError> {
        let mut text = |number| String::from_utf8_lossy(profile.text(number, reading)).into_owned();
        let kinds: Vec<(String, String)> =
            profile.sample_types.iter().map(|&(name, unit)| (text(name), text(unit))).collect();
        let default = text(profile.default_sample_type_text).replace("objects", "space");
        let all = kinds.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let in_bytes: Vec<usize> = (0..kinds.len()).filter(|&at| kinds[at].1 == "bytes").collect();
        let short = |at: usize| kinds[at].0.strip_suffix("_space").unwrap_or(&kinds[at].0);
        let find = |wanted: &str| in_bytes.iter().copied().find(|&at| kinds[at].0 == wanted || short(at) == wanted);
        let no_heap = |text| ReadError::new(ReadErrorKind::NoHeap(text));
        let Some(&last) = in_bytes.last() else {
            return Err(no_heap(format!(
                "a pprof profile of {all}: none of these is in bytes, so it is no heap profile"
            )));
        };
        let bytes_place = match &reading.options.profile.measure {
            Some(wanted) => find(wanted).ok_or_else(|| {
                let known = in_bytes.iter().map(|&at| short(at)).collect::<Vec<_>>().join(", ");
                no_measure_error(wanted, &known)
            })?,
            None => find(&default).or_else(|| find("inuse")).unwrap_or(last),
        };
        let objects = kinds[bytes_place].0.replace("space", "objects");
        let objects_place = kinds.iter().position(|(name, _)| *name == objects).filter(|&at| at != bytes_place);
        let mut description = format!("{} of {all}", kinds[bytes_place].0);
        if profile.sampling_period > 1 {
            description += &format!("; estimated, one of {} bytes was sampled", profile.sampling_period);
        }
        Ok(SampleMeasure {
            name: short(bytes_place).to_string(),
            bytes_place,
            objects_place,
            description,
            value_count: kinds.len(),
        })
    }
}

/// Puts samples together to a heap.
struct HeapMaker<'a> {
    builder: AllocationHeapBuilder,
    locations: &'a Locations,
    names: &'a mut NameTable,
    /// The node of a location, by its id, below a node.
    nodes_by_location: FxHashMap<(u32, u64), u32>,
    /// Nodes that were asked for, at least as many as there are.
    requested_node_count: u64,
    share: MemoryShare,
    location_ids: Vec<u64>,
    /// Those of the sample at hand.
    values: Vec<u64>,
    no_stack: NameId,
    /// The type of samples without the label that types are the values of.
    no_label: Option<NameId>,
    /// Frames of one name that follow one another are one: files and modules.
    merges_repeats: bool,
}

impl<'a> HeapMaker<'a> {
    fn new(names: &'a mut NameTable, locations: &'a Locations, reading: &Reading) -> Self {
        let ProfileOptions { frame_names, type_label, .. } = &reading.options.profile;
        HeapMaker {
            builder: AllocationHeapBuilder::new(names.intern("")),
            locations,
            nodes_by_location: FxHashMap::default(),
            requested_node_count: 0,
            share: reading.budget.for_content(),
            location_ids: Vec::new(),
            values: Vec::new(),
            no_stack: names.intern("(no stack)"),
            no_label: type_label.as_ref().map(|key| names.intern(&format!("(no {key})"))),
            merges_repeats: matches!(frame_names, FrameNaming::File | FrameNaming::Module),
            names,
        }
    }

    fn add_sample(
        &mut self,
        message: &[u8],
        offset: usize,
        measure: &SampleMeasure,
        label: Option<String>,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        let read = parse_sample(message, &mut self.location_ids, &mut self.values);
        if read.is_err() || self.values.len() != measure.value_count {
            add_problem(reading, if read.is_err() { &BAD_MESSAGE } else { &BAD_SAMPLE }, offset);
            return Ok(());
        }
        let signed = |at: usize| u64::try_from(self.values[at].cast_signed());
        let (Ok(bytes), Ok(objects)) = (signed(measure.bytes_place), measure.objects_place.map(signed).transpose())
        else {
            return Err(ReadError::new(ReadErrorKind::NotSupported(
                "a difference of two profiles: some of its values are less than 0; compare the two profiles that it was \
                 made of"
                    .into(),
            )));
        };
        if bytes == 0 && objects.unwrap_or(0) == 0 {
            return Ok(());
        }
        let (node, function) = self.find_or_add_node(offset, reading)?;
        let label = label.map(|text| self.names.intern(&text)).or(self.no_label);
        self.builder.add_entry(AllocationEntry::new(node, Some(label.unwrap_or(function)), bytes, objects));
        Ok(())
    }

    /// The node of the stack at hand, and the function that allocated. Frames that are to be left out are, with all that
    /// they called; not where nothing else called them.
    fn find_or_add_node(&mut self, offset: usize, reading: &mut Reading) -> Result<(u32, NameId), ReadError> {
        let (mut node, mut last) = (0, self.no_stack);
        for &id in self.location_ids.iter().rev() {
            let unknown;
            let (frames, first_dropped) = match self.locations.place(id).map(|place| self.locations.frames(place)) {
                Some(LocationFrames { names, first_dropped }) => (&**names, *first_dropped),
                None => {
                    add_problem(reading, &UNKNOWN_LOCATION, offset);
                    unknown = [self.names.intern(&format!("location {id}"))];
                    (&unknown[..], None)
                }
            };
            let first_dropped = first_dropped.filter(|&first| node > 0 || first > 0);
            let kept = first_dropped.map_or(frames, |first| &frames[..first]);
            let (builder, made, merges_repeats) =
                (&mut self.builder, &mut self.requested_node_count, self.merges_repeats);
            let before = *made;
            node = *self.nodes_by_location.entry((node, id)).or_insert_with(|| {
                *made += kept.len().max(1) as u64;
                let mut last = (node > 0).then_some(last);
                kept.iter().fold(node, |node, &name| match last.replace(name) {
                    Some(repeated) if repeated == name && merges_repeats => node,
                    _ => builder.find_or_add_frame(node, name),
                })
            });
            last = kept.last().copied().unwrap_or(last);
            if before / FRAMES_PER_MEMORY_CHECK < *made / FRAMES_PER_MEMORY_CHECK {
                self.share.set_held_bytes(*made * NODE_BYTES + self.names.memory_bytes() as u64)?;
            }
            if kept.len() < frames.len() {
                break;
            }
        }
        Ok((node, last))
    }
}
