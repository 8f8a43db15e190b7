//! `pprof`: heap profiles of Go, and of many tools for Rust, C++, Node.js and others: how much was allocated, by stack. No
//! objects.
//!
//! A protocol buffer, packed by gzip or not: kinds of values, samples (a stack of locations, innermost first, and a value of
//! each kind), locations with their functions, and at the end the texts that all of them name by number.
//! docs/formats/pprof.md has the fields, the codes, and where each rule comes from.

mod problem_codes;
mod profile;
mod wire;

use std::sync::mpsc::sync_channel;

use rustc_hash::FxHashMap;

use super::stack_profile::{StackAmount, StackHeap, no_measure_error, read_whole};
use super::{
    Diagnostics, Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ReadError, ReadErrorKind,
    ReadExtent, Reader, Reading, Runtime, Source,
};
use crate::allocations::NameId;
use problem_codes::*;
use profile::{Locations, NO_NAME, Profile, add_problem, parse_sample};
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
        let mut heap = StackHeap::new(reading);
        heap.reserve_stacks(profile.samples);
        let locations = profile.frames_of_locations(&mut heap.names, reading);
        let type_label = reading.options.profile.type_label.clone();
        let (mut has_label, mut maker) = (type_label.is_none(), HeapMaker::new(heap, &locations, reading));
        let threads = if profile.samples > SAMPLES_PER_BATCH as u64 { reading.options.threads } else { 1 };
        for_each_batch(&message, &locations, threads, |batch| {
            for sample in batch.samples() {
                let label = match &type_label {
                    Some(key) => profile.label_value(sample.message, key, reading).unwrap_or_default(),
                    None => None,
                };
                has_label |= label.is_some();
                maker.add_sample(&sample, &measure, label, reading)?;
            }
            Ok(())
        })?;
        if let Some(key) = type_label.filter(|_| !has_label) {
            let keys = profile.label_keys(&message, reading).into_iter().collect::<Vec<_>>().join(", ");
            let keys = if keys.is_empty() { "there are none".to_string() } else { format!("there are: {keys}") };
            return Err(ReadError::new(ReadErrorKind::NoHeap(format!("no sample has a label \"{key}\"; {keys}"))));
        }
        let heap = maker.heap;
        if heap.is_difference() {
            reading.diagnostics.add(&DIFFERENCE, 1, Position::Byte(0), String::new);
        }
        let program = profile.program_name(reading);
        let mut dump = heap.finish(program, &measure.name, profile.samples, reading);
        let entries = dump.heaps.iter().map(|heap| heap.entries.len() as u64).sum();
        let locations = locations.count() as u64;
        reading.info.set_records([("samples", profile.samples), ("locations", locations), ("entries", entries)]);
        reading.info.version = Some(measure.description);
        let started_us = i64::try_from(profile.time_ns / 1_000).unwrap_or(0);
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

/// Samples, decoded.
#[derive(Default)]
struct SampleBatch<'a> {
    /// Of each: its place in the message and its own, where its names, ids and values end, and whether it is malformed.
    samples: Vec<(usize, &'a [u8], [usize; 3], bool)>,
    names: Vec<NameId>,
    location_ids: Vec<u64>,
    values: Vec<u64>,
}

struct Sample<'a> {
    offset: usize,
    message: &'a [u8],
    is_malformed: bool,
    /// Names of its locations, the outermost first; `NO_NAME` of those with other than one frame that is shown.
    names: &'a [NameId],
    /// Ids of the same, the innermost first, if there is such a location.
    location_ids: &'a [u64],
    values: &'a [u64],
}

impl SampleBatch<'_> {
    fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        let mut starts = [0; 3];
        self.samples.iter().map(move |&(offset, message, ends, is_malformed)| {
            let [names, ids, values] = std::mem::replace(&mut starts, ends);
            Sample {
                offset,
                message,
                is_malformed,
                names: &self.names[names..ends[0]],
                location_ids: &self.location_ids[ids..ends[1]],
                values: &self.values[values..ends[2]],
            }
        })
    }
}

const SAMPLES_PER_BATCH: usize = 256;
/// Locations and values in a batch before its last sample, at most: a sample may have any number.
const MAX_NUMBERS_BEFORE_SAMPLE: usize = 1 << 14;

/// Calls `take` with all samples in their order; with two threads the next ones are decoded meanwhile.
fn for_each_batch<'a>(
    message: &'a [u8],
    locations: &Locations,
    threads: usize,
    mut take: impl FnMut(SampleBatch<'a>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    const BATCHES_AHEAD: usize = 8;
    let (mut fields, mut ids) = (MessageFields::new(message), Vec::new());
    let next_batch = move || {
        let mut batch = SampleBatch::default();
        let is_full = |batch: &SampleBatch<'_>| {
            batch.samples.len() == SAMPLES_PER_BATCH
                || batch.names.len() + batch.values.len() > MAX_NUMBERS_BEFORE_SAMPLE
        };
        while !is_full(&batch) {
            let Some(field) = fields.next() else { break };
            let Ok((2, WireValue::Bytes(sample))) = field else { continue };
            ids.clear();
            let is_malformed = parse_sample(sample, &mut ids, &mut batch.values).is_err();
            let start = batch.names.len();
            batch.names.extend(ids.iter().rev().map(|&id| locations.only_name(id)));
            if batch.names[start..].contains(&NO_NAME) {
                batch.location_ids.extend_from_slice(&ids);
            }
            let offset = message.len() - fields.bytes_left() - sample.len();
            let ends = [batch.names.len(), batch.location_ids.len(), batch.values.len()];
            batch.samples.push((offset, sample, ends, is_malformed));
        }
        (!batch.samples.is_empty()).then_some(batch)
    };
    if threads < 2 {
        return std::iter::from_fn(next_batch).try_for_each(take);
    }
    std::thread::scope(|scope| {
        let (send, batches) = sync_channel(BATCHES_AHEAD);
        // Nobody takes more after an error.
        scope.spawn(move || std::iter::from_fn(next_batch).all(|batch| send.send(batch).is_ok()));
        batches.into_iter().try_for_each(&mut take)
    })
}

/// Puts samples together to a heap.
struct HeapMaker<'a> {
    heap: StackHeap,
    locations: &'a Locations,
    names_of_unknown_locations: FxHashMap<u64, NameId>,
    /// The node of a location with many frames, by the place of these, below a node.
    nodes_of_long_locations: FxHashMap<(u32, u64), u32>,
    /// Names of the sample at hand that come next in the tree.
    path: Vec<NameId>,
    /// The type of samples without the label that types are the values of.
    no_label: Option<NameId>,
}

/// Frames of a location that are walked for every sample; the nodes of longer ones are kept.
const MAX_FRAMES_WALKED: usize = 8;

impl<'a> HeapMaker<'a> {
    fn new(mut heap: StackHeap, locations: &'a Locations, reading: &Reading) -> Self {
        let type_label = &reading.options.profile.type_label;
        HeapMaker {
            no_label: type_label.as_ref().map(|key| heap.names.intern(&format!("(no {key})"))),
            heap,
            locations,
            names_of_unknown_locations: FxHashMap::default(),
            nodes_of_long_locations: FxHashMap::default(),
            path: Vec::new(),
        }
    }

    fn add_sample(
        &mut self,
        sample: &Sample<'_>,
        measure: &SampleMeasure,
        label: Option<String>,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        if sample.is_malformed || sample.values.len() != measure.value_count {
            add_problem(reading, if sample.is_malformed { &BAD_MESSAGE } else { &BAD_SAMPLE }, sample.offset);
            return Ok(());
        }
        let signed = |at: usize| sample.values[at].cast_signed();
        let (bytes, objects) = (signed(measure.bytes_place), measure.objects_place.map(signed));
        if bytes == 0 && objects.unwrap_or(0) == 0 {
            return Ok(());
        }
        let node = self.find_or_add_node(sample, reading)?;
        let type_name = label.map(|text| self.heap.names.intern(&text)).or(self.no_label);
        let amount = |sign: i64| {
            let part = |value: i64| if value.signum() == sign { value.unsigned_abs() } else { 0 };
            StackAmount { bytes: part(bytes), allocations: objects.map(part) }
        };
        self.heap.add_at(node, type_name, amount(1))?;
        if bytes < 0 || objects.is_some_and(|objects| objects < 0) {
            self.heap.take_away_at(node, type_name, amount(-1))?;
        }
        Ok(())
    }

    /// The node of a sample's stack. Frames that are to be left out are, with all that they called; not where nothing else called
    /// them.
    fn find_or_add_node(&mut self, sample: &Sample<'_>, reading: &mut Reading) -> Result<u32, ReadError> {
        let HeapMaker { heap, locations, names_of_unknown_locations, nodes_of_long_locations, path, .. } = self;
        if sample.location_ids.is_empty() {
            return heap.find_or_add_path(0, sample.names);
        }
        let mut node = 0;
        path.clear();
        for (&id, &name) in sample.location_ids.iter().rev().zip(sample.names) {
            if name != NO_NAME {
                path.push(name);
                continue;
            }
            let Some(location) = locations.frames_of_id(id) else {
                add_problem(reading, &UNKNOWN_LOCATION, sample.offset);
                let intern = || heap.names.intern(&format!("location {id}"));
                path.push(*names_of_unknown_locations.entry(id).or_insert_with(intern));
                continue;
            };
            // What would leave nothing is shown.
            let is_first_dropped = location.is_dropped && (location.kept > 0 || node > 0 || !path.is_empty());
            let names = locations.names(location, !is_first_dropped);
            if names.len() <= MAX_FRAMES_WALKED {
                path.extend_from_slice(names);
            } else {
                let above = heap.find_or_add_path(node, path)?;
                path.clear();
                node = match nodes_of_long_locations.get(&(above, id)) {
                    Some(&known) => known,
                    None => heap.find_or_add_path(above, names)?,
                };
                nodes_of_long_locations.insert((above, id), node);
            }
            if is_first_dropped {
                break;
            }
        }
        heap.find_or_add_path(node, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_long_stacks_have_few_samples() {
        // A sample of 4,000 locations.
        let sample = [b"\x12\xa3\x1f\x0a\xa0\x1f".to_vec(), vec![1; 4_000]].concat();
        for threads in [1, 2] {
            let (mut samples, mut batches) = (0, 0);
            for_each_batch(&sample.repeat(100), &Locations::default(), threads, |batch| {
                assert!(batch.names.len() <= MAX_NUMBERS_BEFORE_SAMPLE + 4_000, "{}", batch.names.len());
                (samples, batches) = (samples + batch.samples().count(), batches + 1);
                Ok(())
            })
            .unwrap();
            assert_eq!((samples, batches), (100, 20));
        }
    }
}
