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

use super::stack_profile::{StackAmount, StackHeap, no_measure_error, read_whole};
use super::{
    Diagnostics, Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ReadError, ReadErrorKind,
    ReadExtent, Reader, Reading, Runtime, Source,
};
use crate::allocations::NameId;
use problem_codes::*;
use profile::{Locations, Profile, SamplesPart, add_problem, parse_sample};
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
        let problems = &mut reading.diagnostics;
        let Some(profile) = Profile::of_message(&message, problems, &mut share)?.filter(Profile::has_texts) else {
            // What was met before says nothing.
            reading.diagnostics = Diagnostics::default();
            let text = "a pprof profile that breaks off or is damaged: names stand at its end, and without them it says \
                        nothing";
            return Ok(ParsedDump { extent, content: ParsedContent::NoHeap(text.into()) });
        };
        let measure = SampleMeasure::of_profile(&profile, reading)?;
        let mut heap = StackHeap::new(reading);
        let options = &reading.options.profile;
        let locations = profile.frames_of_locations(&mut heap.names, options, &mut reading.diagnostics);
        let parts = read_samples(&message, &profile, &measure, heap, &locations, reading)?;
        if let Some(key) = options.type_label.as_ref().filter(|_| parts.iter().all(|part| !part.has_label)) {
            let keys =
                profile.label_keys(&message, &mut reading.diagnostics).into_iter().collect::<Vec<_>>().join(", ");
            let keys = if keys.is_empty() { "there are none".to_string() } else { format!("there are: {keys}") };
            return Err(ReadError::new(ReadErrorKind::NoHeap(format!("no sample has a label \"{key}\"; {keys}"))));
        }
        let program = profile.program_name(&mut reading.diagnostics);
        let (samples, time_ns, locations) = (profile.samples, profile.time_ns, locations.count() as u64);
        // Room for the heaps to be put together.
        drop((message, share));
        let mut heap: Option<StackHeap> = None;
        for mut part in parts {
            reading.diagnostics.merge_block(&mut part.problems, 0);
            match &mut heap {
                Some(heap) => heap.append(part.heap)?,
                None => heap = Some(part.heap),
            }
        }
        let heap = heap.unwrap_or_else(|| StackHeap::new(reading));
        if heap.is_difference() {
            reading.diagnostics.add(&DIFFERENCE, 1, Position::Byte(0), String::new);
        }
        let mut dump = heap.finish(program, &measure.name, samples, reading);
        let entries = dump.heaps.iter().map(|heap| heap.entries.len() as u64).sum();
        reading.info.set_records([("samples", samples), ("locations", locations), ("entries", entries)]);
        reading.info.version = Some(measure.description);
        let started_us = i64::try_from(time_ns / 1_000).unwrap_or(0);
        let unix_ms = Some(started_us / 1_000).filter(|ms| *ms > 0);
        dump.dumps.iter_mut().for_each(|moment| (moment.started_us, moment.unix_ms) = (started_us, unix_ms));
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
        let problems = &mut reading.diagnostics;
        let mut text = |number| String::from_utf8_lossy(profile.text(number, problems)).into_owned();
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
struct SampleReader<'a> {
    profile: &'a Profile<'a>,
    locations: &'a Locations,
    measure: &'a SampleMeasure,
    /// The label that types are the values of, and the type of samples without it.
    type_label: Option<(&'a str, NameId)>,
    samples: ReadSamples,
    /// The node of a location with many frames, by its id, below a node.
    nodes_of_long_locations: FxHashMap<(u32, u64), u32>,
    names_of_unknown_locations: FxHashMap<u64, NameId>,
    location_ids: Vec<u64>,
    /// Those of the sample at hand.
    values: Vec<u64>,
}

/// What came of samples.
struct ReadSamples {
    heap: StackHeap,
    problems: Diagnostics,
    /// Was the label that types are the values of met?
    has_label: bool,
}

/// Frames of a location that are walked for every sample; the nodes of longer ones are kept.
const MAX_FRAMES_WALKED: usize = 8;

impl SampleReader<'_> {
    fn read(mut self, part: &SamplesPart<'_>) -> Result<ReadSamples, ReadError> {
        let mut fields = MessageFields::new(part.message);
        while let Some(field) = fields.next() {
            if let Ok((2, WireValue::Bytes(sample))) = field {
                let offset = part.offset + part.message.len() - fields.bytes_left() - sample.len();
                self.add_sample(sample, offset)?;
            }
        }
        Ok(self.samples)
    }

    fn add_sample(&mut self, message: &[u8], offset: usize) -> Result<(), ReadError> {
        let problems = &mut self.samples.problems;
        let label = match self.type_label {
            Some((key, _)) => self.profile.label_value(message, key, problems).unwrap_or_default(),
            None => None,
        };
        self.samples.has_label |= label.is_some();
        let read = parse_sample(message, &mut self.location_ids, &mut self.values);
        if read.is_err() || self.values.len() != self.measure.value_count {
            add_problem(problems, if read.is_err() { &BAD_MESSAGE } else { &BAD_SAMPLE }, offset);
            return Ok(());
        }
        let signed = |at: usize| self.values[at].cast_signed();
        let (bytes, objects) = (signed(self.measure.bytes_place), self.measure.objects_place.map(signed));
        if bytes == 0 && objects.unwrap_or(0) == 0 {
            return Ok(());
        }
        let (node, function) = self.find_or_add_node(offset)?;
        let heap = &mut self.samples.heap;
        let label = label.map(|text| heap.names.intern(&text)).or(self.type_label.map(|(_, none)| none));
        let type_name = label.or(function);
        let amount = |sign: i64| {
            let part = |value: i64| if value.signum() == sign { value.unsigned_abs() } else { 0 };
            StackAmount { bytes: part(bytes), allocations: objects.map(part) }
        };
        heap.add_at(node, type_name, amount(1))?;
        if bytes < 0 || objects.is_some_and(|objects| objects < 0) {
            heap.take_away_at(node, type_name, amount(-1))?;
        }
        Ok(())
    }

    /// The node of the stack at hand, and the function that allocated, if any. Frames that are to be left out are, with all that
    /// they called; not where nothing else called them.
    fn find_or_add_node(&mut self, offset: usize) -> Result<(u32, Option<NameId>), ReadError> {
        let ReadSamples { heap, problems, .. } = &mut self.samples;
        let (mut node, mut last) = (0, None);
        for &id in self.location_ids.iter().rev() {
            let only_name = self.locations.only_name(id);
            let location = if only_name.is_none() { self.locations.frames_of_id(id) } else { None };
            let Some(location) = location else {
                let name = only_name.unwrap_or_else(|| {
                    add_problem(problems, &UNKNOWN_LOCATION, offset);
                    let names = &mut heap.names;
                    *self
                        .names_of_unknown_locations
                        .entry(id)
                        .or_insert_with(|| names.intern(&format!("location {id}")))
                });
                node = heap.find_or_add_frame_below(node, last, name)?;
                last = Some(name);
                continue;
            };
            // What would leave nothing is shown.
            let is_first_dropped = location.is_dropped && (node > 0 || location.kept > 0);
            let names = self.locations.names(location, !is_first_dropped);
            let nodes = &mut self.nodes_of_long_locations;
            let known = (names.len() > MAX_FRAMES_WALKED).then(|| nodes.get(&(node, id))).flatten();
            if let Some(&known) = known {
                (node, last) = (known, names.last().copied());
            } else {
                let above = node;
                for &name in names {
                    node = heap.find_or_add_frame_below(node, last, name)?;
                    last = Some(name);
                }
                if names.len() > MAX_FRAMES_WALKED {
                    nodes.insert((above, id), node);
                }
            }
            if is_first_dropped {
                break;
            }
        }
        Ok((node, last))
    }
}

/// Reads all samples, on several threads where there are many. What comes of later ones stands behind.
fn read_samples(
    message: &[u8],
    profile: &Profile<'_>,
    measure: &SampleMeasure,
    mut heap: StackHeap,
    locations: &Locations,
    reading: &Reading,
) -> Result<Vec<ReadSamples>, ReadError> {
    /// More would wait for the heaps to be put together.
    const MAX_THREADS: usize = 4;
    let parts = profile.parts(message, reading.options.threads.min(MAX_THREADS));
    let type_label = reading.options.profile.type_label.as_deref();
    let type_label = type_label.map(|key| (key, heap.names.intern(&format!("(no {key})"))));
    let mut heaps: Vec<StackHeap> = parts[1..].iter().map(|_| heap.another(reading)).collect();
    // The others are added to it.
    heap.reserve_stacks(profile.samples);
    heaps.insert(0, heap);
    let read = |heap: StackHeap, part: &SamplesPart<'_>| {
        let samples = ReadSamples { heap, problems: Diagnostics::default(), has_label: false };
        let reader = SampleReader {
            profile,
            locations,
            measure,
            type_label,
            samples,
            nodes_of_long_locations: FxHashMap::default(),
            names_of_unknown_locations: FxHashMap::default(),
            location_ids: Vec::new(),
            values: Vec::new(),
        };
        reader.read(part)
    };
    std::thread::scope(|scope| {
        let mut jobs = heaps.into_iter().zip(&parts);
        let first = jobs.next();
        let others: Vec<_> = jobs.map(|(heap, part)| scope.spawn(move || read(heap, part))).collect();
        let first = first.map(|(heap, part)| read(heap, part));
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        first.into_iter().chain(others).collect()
    })
}
