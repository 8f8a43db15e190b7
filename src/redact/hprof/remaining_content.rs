//! Texts of a dump that are left in its copy.

use std::hash::Hasher;
use std::sync::mpsc::{SyncSender, sync_channel};

use rustc_hash::{FxHashSet, FxHasher};

use super::facts::{HprofFacts, InstancePlanCache, KeptTexts, ValueAction, zero_all_but_parts};
use super::gathered_facts::{GatheredFacts, gather_facts, header_of};
use super::walk::{HprofWalk, RecordVisitor, count_at};
use crate::input::hprof::records::{ClassDump, FILE_MAGIC, StaticValue};
use crate::input::hprof::wire::{OBJECT_BASIC_TYPE, element_bytes, id_at_with_width, record_tags, sub_record_tags};
use crate::input::{ReadError, Source};
use crate::redact::dump_file::DumpFile;
use crate::redact::kept_fields::KeptFields;
use crate::redact::names::NameMap;
use crate::redact::options::RemainingContent;
use crate::redact::text_runs::{RUN_BYTES, TextRuns};

/// Bytes of the copy that are looked through at a time.
const READ_BYTES: usize = 1 << 20;

/// Looks through the bytes of a copy, however it is built, for runs of texts of its dump, and compares its numbers. What names
/// something in the dump may stand there, and texts of kept fields.
pub(in crate::redact) fn find_remaining_content(
    dump: &DumpFile,
    copy: &DumpFile,
    keep: &KeptFields,
    names: &NameMap,
) -> Result<RemainingContent, ReadError> {
    let GatheredFacts { header, facts, .. } = gather_facts(dump, keep, None)?;
    let kept = KeptTexts::default();
    let allowed = AllowedTextCollector {
        facts: &facts,
        names,
        runs: TextRuns::default(),
        dump_number: 0,
        kept_texts: kept,
        seen_text_ids: FxHashSet::default(),
    };
    let mut runs = walk_file(dump, allowed)?.runs;
    runs.allow_runs_of(FILE_MAGIC);
    let bytes = add_runs_of_copy(copy.open()?, &mut runs)?;
    let header_bytes = header.header_bytes as u64;
    let texts = FxHashSet::default();
    let work = RemovedTextFinder {
        facts: &facts,
        runs,
        offset: header_bytes,
        seen_name_ids: texts,
        is_in_text_array: false,
        previous_part_end: Vec::new(),
    };
    let runs = walk_file(dump, work)?.runs;
    let (numbers, unchanged_numbers) = compare_numbers(dump, copy, &facts, keep)?;
    Ok(RemainingContent {
        runs,
        copy_bytes: bytes,
        compared_number_count: numbers,
        unchanged_number_count: unchanged_numbers,
    })
}

/// Numbers that are sent at a time.
const NUMBERS_PER_MESSAGE: usize = 1 << 14;

/// Walks through both at once. Returns the numbers that are not zero in the dump, and those of them that the copy has too.
fn compare_numbers(
    dump: &DumpFile,
    copy: &DumpFile,
    facts: &HprofFacts,
    keep: &KeptFields,
) -> Result<(u64, u64), ReadError> {
    std::thread::scope(|scope| {
        let [of_dump, of_copy] = [dump, copy].map(|file| {
            let (sender, receiver) = sync_channel::<Vec<u64>>(4);
            let walked = scope.spawn(move || {
                let plans = InstancePlanCache::new(false);
                let work = NumberSender {
                    facts,
                    kept_fields: keep,
                    plans,
                    dump_number: 0,
                    kept_texts: KeptTexts::default(),
                    pending_numbers: Vec::new(),
                    is_in_primitive_array: false,
                    sender,
                };
                walk_file(file, work).map(|mut work| work.send_numbers())
            });
            (walked, receiver)
        });
        let (mut count, mut same) = (0, 0);
        for (numbers, of_copy) in of_dump.1.iter().zip(of_copy.1.iter()) {
            let pairs = numbers.iter().zip(&of_copy).filter(|(number, _)| **number != 0);
            for (number, other) in pairs {
                count += 1;
                same += u64::from(number == other);
            }
        }
        // What does not come any more ends the other walk.
        for (walked, receiver) in [of_dump, of_copy] {
            drop(receiver);
            walked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok((count, same))
    })
}

/// Sends the numbers in fields and static variables that are not kept, and a hash of each array of numbers.
struct NumberSender<'f> {
    facts: &'f HprofFacts,
    kept_fields: &'f KeptFields,
    plans: InstancePlanCache,
    dump_number: usize,
    kept_texts: KeptTexts,
    pending_numbers: Vec<u64>,
    /// The elements that come are numbers.
    is_in_primitive_array: bool,
    sender: SyncSender<Vec<u64>>,
}

impl NumberSender<'_> {
    fn send_numbers(&mut self) {
        // Nobody listens when the other file has ended.
        _ = self.sender.send(std::mem::take(&mut self.pending_numbers));
    }
}

/// Zero for zeros.
fn hash_unless_zero(bytes: &[u8]) -> u64 {
    match bytes.iter().all(|&byte| byte == 0) {
        true => 0,
        false => {
            let mut hasher = FxHasher::default();
            hasher.write(bytes);
            hasher.finish() | 1
        }
    }
}

impl RecordVisitor for NumberSender<'_> {
    fn begin_dump(&mut self) {
        self.dump_number += 1;
        self.plans.clear();
        self.kept_texts = self.facts.kept_texts_by_dump.get(self.dump_number).cloned().unwrap_or_default();
    }

    fn non_heap_record(&mut self, _: u8, _: &mut [u8]) -> Option<Vec<u8>> {
        None
    }

    fn heap_entry(&mut self, _: u64, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        self.is_in_primitive_array = data[0] == sub_record_tags::PRIMITIVE_ARRAY;
        match data[0] {
            sub_record_tags::INSTANCE => {
                let class = id_at_with_width(data, 5 + id_bytes, id_bytes).unwrap_or(0);
                let said = count_at(data, 5 + 2 * id_bytes);
                let values = data.get(9 + 2 * id_bytes..).unwrap_or_default();
                let Some(plan) = self.plans.plan_for(self.facts, self.dump_number, class, self.kept_fields, said)
                else {
                    return;
                };
                for &(at, bytes, step) in &plan.actions {
                    if let (ValueAction::ReplaceNumbers(width, _), Some(part)) =
                        (step, values.get(at as usize..(at + bytes) as usize))
                    {
                        self.pending_numbers.extend(part.chunks(width as usize).map(hash_unless_zero));
                    }
                }
            }
            sub_record_tags::PRIMITIVE_ARRAY => {
                let id = id_at_with_width(data, 1, id_bytes).unwrap_or(0);
                let elements = data.get(10 + id_bytes..).unwrap_or_default();
                if self.kept_texts.remove(&id).is_none() {
                    let may_stay = self.facts.is_kept_text(data[9 + id_bytes], elements);
                    self.pending_numbers.push(if may_stay { 0 } else { hash_unless_zero(elements) });
                }
            }
            sub_record_tags::CLASS_DUMP => {
                if let Ok((_, dump)) = ClassDump::parse(&data[1..], id_bytes, 0) {
                    let name = self.facts.class_name(dump.id);
                    let gone = |one: &&StaticValue| {
                        one.basic_type != OBJECT_BASIC_TYPE
                            && !self.facts.is_kept_field(self.kept_fields, &name, one.name_id)
                    };
                    self.pending_numbers.extend(dump.statics.iter().filter(gone).map(|one| one.value));
                }
            }
            _ => {}
        }
        if self.pending_numbers.len() >= NUMBERS_PER_MESSAGE {
            self.send_numbers();
        }
    }

    fn array_elements(&mut self, bytes: &mut [u8]) {
        self.pending_numbers.extend(self.is_in_primitive_array.then(|| hash_unless_zero(bytes)));
    }

    fn unparsed_bytes(&mut self, _: &mut [u8]) {}
}

fn walk_file<W: RecordVisitor>(file: &DumpFile, work: W) -> Result<W, ReadError> {
    let source = file.open()?;
    let header = header_of(&source)?;
    let mut walk = HprofWalk::new(source, &header, None, work, None);
    walk.run(&header)?;
    Ok(walk.visitor)
}

fn add_runs_of_copy(mut source: Source, runs: &mut TextRuns) -> Result<u64, ReadError> {
    let mut bytes = vec![0; READ_BYTES];
    let (mut kept, mut total) = (0, 0);
    loop {
        let got = source.fill(&mut bytes[kept..])?;
        total += got as u64;
        let end = kept + got;
        runs.add_copy_bytes(&bytes[..end]);
        if end < bytes.len() {
            return Ok(total);
        }
        kept = RUN_BYTES - 1;
        bytes.copy_within(end - kept.., 0);
    }
}

/// Allows names and the texts of kept fields.
struct AllowedTextCollector<'f> {
    facts: &'f HprofFacts,
    names: &'f NameMap,
    runs: TextRuns,
    dump_number: usize,
    /// Those of this dump that have not come yet.
    kept_texts: KeptTexts,
    seen_text_ids: FxHashSet<u64>,
}

impl RecordVisitor for AllowedTextCollector<'_> {
    fn begin_dump(&mut self) {
        self.dump_number += 1;
        self.kept_texts = self.facts.kept_texts_by_dump.get(self.dump_number).cloned().unwrap_or_default();
    }

    /// With the length and the id before a name, and the tag behind it, which may read as characters.
    fn non_heap_record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        let id = id_at_with_width(body, 0, self.facts.id_bytes).filter(|_| tag == record_tags::TEXT);
        if id.is_some_and(|id| self.facts.name_text_ids.contains(&id) && self.seen_text_ids.insert(id)) {
            let id_bytes = self.facts.id_bytes;
            let renamed = self.names.rename(&body[id_bytes..]);
            let name = renamed.as_deref().unwrap_or(&body[id_bytes..]);
            let length = ((id_bytes + name.len()) as u32).to_be_bytes();
            self.runs.allow_runs_of(&[&length[..], &body[..id_bytes], name].concat());
            let end = &name[name.len().saturating_sub(RUN_BYTES - 1)..];
            for tag in [
                record_tags::TEXT,
                record_tags::LOAD_CLASS,
                record_tags::FRAME,
                record_tags::TRACE,
                record_tags::HEAP_DUMP,
                record_tags::HEAP_DUMP_SEGMENT,
            ] {
                self.runs.allow_runs_of(&[end, &[tag]].concat());
            }
        }
        None
    }

    fn heap_entry(&mut self, _: u64, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        let id =
            id_at_with_width(data, 1, id_bytes).filter(|_| data[0] == sub_record_tags::PRIMITIVE_ARRAY).unwrap_or(0);
        if let (Some(parts), Some(elements)) = (self.kept_texts.remove(&id), data.get(10 + id_bytes..)) {
            let mut elements = elements.to_vec();
            zero_all_but_parts(&mut elements, data[9 + id_bytes], &parts);
            // The tag of what follows may read as a sign.
            for tag in sub_record_tags::CLASS_DUMP..=sub_record_tags::PRIMITIVE_ARRAY {
                self.runs.allow_runs_of(&[&elements[..], &[tag]].concat());
            }
        }
    }

    fn array_elements(&mut self, _: &mut [u8]) {}

    fn unparsed_bytes(&mut self, _: &mut [u8]) {}
}

/// Asks for every text: arrays of bytes and characters, texts that are no names, and what cannot be parsed.
struct RemovedTextFinder<'f> {
    facts: &'f HprofFacts,
    runs: TextRuns,
    /// Bytes that were passed.
    offset: u64,
    /// Names that have come: of an id that comes again the first counts.
    seen_name_ids: FxHashSet<u64>,
    is_in_text_array: bool,
    /// The end of the part before.
    previous_part_end: Vec<u8>,
}

impl RecordVisitor for RemovedTextFinder<'_> {
    fn record_head(&mut self, head: &mut [u8], _: bool) {
        self.offset += head.len() as u64;
        self.previous_part_end.clear();
    }

    fn non_heap_record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        let id_bytes = self.facts.id_bytes;
        let id = id_at_with_width(body, 0, id_bytes).filter(|_| tag == record_tags::TEXT);
        let is_name = id.is_some_and(|id| self.facts.name_text_ids.contains(&id) && self.seen_name_ids.insert(id));
        if tag == record_tags::TEXT && !is_name {
            self.runs.look_for_runs(body.get(id_bytes..).unwrap_or_default(), self.offset + id_bytes as u64);
        }
        self.offset += body.len() as u64;
        None
    }

    fn heap_entry(&mut self, _: u64, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        let kind = data.get(9 + id_bytes).copied();
        self.is_in_text_array =
            data[0] == sub_record_tags::PRIMITIVE_ARRAY && kind.and_then(element_bytes).is_some_and(|bytes| bytes <= 2);
        self.previous_part_end.clear();
        if self.is_in_text_array {
            self.runs.look_for_runs(data.get(10 + id_bytes..).unwrap_or_default(), self.offset + 10 + id_bytes as u64);
        }
        self.offset += data.len() as u64;
    }

    fn array_elements(&mut self, bytes: &mut [u8]) {
        if self.is_in_text_array {
            self.unparsed_bytes(bytes);
        } else {
            self.offset += bytes.len() as u64;
        }
    }

    fn unparsed_bytes(&mut self, bytes: &mut [u8]) {
        let joined = [&self.previous_part_end[..], &bytes[..bytes.len().min(RUN_BYTES - 1)]].concat();
        self.runs.look_for_runs(&joined, self.offset.saturating_sub(self.previous_part_end.len() as u64));
        self.runs.look_for_runs(bytes, self.offset);
        self.previous_part_end = bytes[bytes.len().saturating_sub(RUN_BYTES - 1)..].to_vec();
        self.offset += bytes.len() as u64;
    }
}
