//! Texts of a dump that are left in its copy.

use std::hash::Hasher;
use std::sync::mpsc::{SyncSender, sync_channel};

use rustc_hash::{FxHashSet, FxHasher};

use super::facts::{Facts, KeptTexts, Plans, Step, keep_parts};
use super::gather::{Gathered, gather, header_of};
use super::walk::{Walk, Work, count_at};
use crate::input::hprof::records::{ClassDump, FILE_MAGIC, StaticValue};
use crate::input::hprof::wire::{OBJECT, element_bytes, id_of, record, sub};
use crate::input::{ReadError, Source};
use crate::redact::dump_file::DumpFile;
use crate::redact::keep::KeptFields;
use crate::redact::names::NameMap;
use crate::redact::options::Left;
use crate::redact::runs::{RUN_BYTES, Runs};

/// Bytes of the copy that are looked through at a time.
const READ_BYTES: usize = 1 << 20;

/// Looks through the bytes of a copy, however it is built, for runs of texts of its dump, and compares its numbers. What names
/// something in the dump may stand there, and texts of kept fields.
pub(in crate::redact) fn find_left(
    dump: &DumpFile,
    copy: &DumpFile,
    keep: &KeptFields,
    names: &NameMap,
) -> Result<Left, ReadError> {
    let Gathered { header, facts, .. } = gather(dump, keep, None)?;
    let kept = KeptTexts::default();
    let allowed = Allowed { facts: &facts, names, runs: Runs::default(), dump: 0, kept, texts: FxHashSet::default() };
    let mut runs = walk(dump, allowed)?.runs;
    runs.allow(FILE_MAGIC);
    let bytes = look_through(copy.open()?, &mut runs)?;
    let header_bytes = header.header_bytes as u64;
    let texts = FxHashSet::default();
    let work = Texts { facts: &facts, runs, offset: header_bytes, names: texts, is_open: false, last: Vec::new() };
    let runs = walk(dump, work)?.runs;
    let (numbers, unchanged_numbers) = compare_numbers(dump, copy, &facts, keep)?;
    Ok(Left { runs, bytes, numbers, unchanged_numbers })
}

/// Numbers that are sent at a time.
const SENT_NUMBERS: usize = 1 << 14;

/// Walks through both at once. Returns the numbers that are not zero in the dump, and those of them that the copy has too.
fn compare_numbers(
    dump: &DumpFile,
    copy: &DumpFile,
    facts: &Facts,
    keep: &KeptFields,
) -> Result<(u64, u64), ReadError> {
    std::thread::scope(|scope| {
        let [of_dump, of_copy] = [dump, copy].map(|file| {
            let (sender, receiver) = sync_channel::<Vec<u64>>(4);
            let walked = scope.spawn(move || {
                let plans = Plans::new(false);
                let work = Numbers {
                    facts,
                    keep,
                    plans,
                    dump: 0,
                    kept: KeptTexts::default(),
                    sent: Vec::new(),
                    is_open: false,
                    sender,
                };
                walk(file, work).map(|mut work| work.send())
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
struct Numbers<'f> {
    facts: &'f Facts,
    keep: &'f KeptFields,
    plans: Plans,
    dump: usize,
    kept: KeptTexts,
    sent: Vec<u64>,
    /// The elements that come are numbers.
    is_open: bool,
    sender: SyncSender<Vec<u64>>,
}

impl Numbers<'_> {
    fn send(&mut self) {
        // Nobody listens when the other file has ended.
        _ = self.sender.send(std::mem::take(&mut self.sent));
    }
}

/// Zero for zeros.
fn hashed(bytes: &[u8]) -> u64 {
    match bytes.iter().all(|&byte| byte == 0) {
        true => 0,
        false => {
            let mut hasher = FxHasher::default();
            hasher.write(bytes);
            hasher.finish() | 1
        }
    }
}

impl Work for Numbers<'_> {
    fn begin_dump(&mut self) {
        self.dump += 1;
        self.plans.clear();
        self.kept = self.facts.kept.get(self.dump).cloned().unwrap_or_default();
    }

    fn record(&mut self, _: u8, _: &mut [u8]) -> Option<Vec<u8>> {
        None
    }

    fn entry(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        self.is_open = data[0] == sub::PRIMITIVE_ARRAY;
        match data[0] {
            sub::INSTANCE => {
                let class = id_of(data, 5 + id_bytes, id_bytes).unwrap_or(0);
                let said = count_at(data, 5 + 2 * id_bytes);
                let values = data.get(9 + 2 * id_bytes..).unwrap_or_default();
                let Some(plan) = self.plans.of(self.facts, self.dump, class, self.keep, said) else { return };
                for &(at, bytes, step) in &plan.steps {
                    if let (Step::Number(width, _), Some(part)) = (step, values.get(at as usize..(at + bytes) as usize))
                    {
                        self.sent.extend(part.chunks(width as usize).map(hashed));
                    }
                }
            }
            sub::PRIMITIVE_ARRAY => {
                let id = id_of(data, 1, id_bytes).unwrap_or(0);
                let elements = data.get(10 + id_bytes..).unwrap_or_default();
                if self.kept.remove(&id).is_none() {
                    let may_stay = self.facts.is_kept_text(data[9 + id_bytes], elements);
                    self.sent.push(if may_stay { 0 } else { hashed(elements) });
                }
            }
            sub::CLASS_DUMP => {
                if let Ok((_, dump)) = ClassDump::parse(&data[1..], id_bytes, 0) {
                    let name = self.facts.class_name(dump.id);
                    let gone = |one: &&StaticValue| {
                        one.basic_type != OBJECT && !self.facts.is_kept(self.keep, &name, one.name)
                    };
                    self.sent.extend(dump.statics.iter().filter(gone).map(|one| one.value));
                }
            }
            _ => {}
        }
        if self.sent.len() >= SENT_NUMBERS {
            self.send();
        }
    }

    fn elements(&mut self, bytes: &mut [u8]) {
        self.sent.extend(self.is_open.then(|| hashed(bytes)));
    }

    fn unknown(&mut self, _: &mut [u8]) {}
}

fn walk<W: Work>(file: &DumpFile, work: W) -> Result<W, ReadError> {
    let source = file.open()?;
    let header = header_of(&source)?;
    let mut walk = Walk::new(source, &header, None, work, None);
    walk.run(&header)?;
    Ok(walk.work)
}

fn look_through(mut source: Source, runs: &mut Runs) -> Result<u64, ReadError> {
    let mut bytes = vec![0; READ_BYTES];
    let (mut kept, mut total) = (0, 0);
    loop {
        let got = source.fill(&mut bytes[kept..])?;
        total += got as u64;
        let end = kept + got;
        runs.find(&bytes[..end]);
        if end < bytes.len() {
            return Ok(total);
        }
        kept = RUN_BYTES - 1;
        bytes.copy_within(end - kept.., 0);
    }
}

/// Allows names and the texts of kept fields.
struct Allowed<'f> {
    facts: &'f Facts,
    names: &'f NameMap,
    runs: Runs,
    dump: usize,
    /// Those of this dump that have not come yet.
    kept: KeptTexts,
    texts: FxHashSet<u64>,
}

impl Work for Allowed<'_> {
    fn begin_dump(&mut self) {
        self.dump += 1;
        self.kept = self.facts.kept.get(self.dump).cloned().unwrap_or_default();
    }

    /// With the length and the id before a name, and the tag behind it, which may read as characters.
    fn record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        let id = id_of(body, 0, self.facts.id_bytes).filter(|_| tag == record::TEXT);
        if id.is_some_and(|id| self.facts.names.contains(&id) && self.texts.insert(id)) {
            let id_bytes = self.facts.id_bytes;
            let renamed = self.names.rename(&body[id_bytes..]);
            let name = renamed.as_deref().unwrap_or(&body[id_bytes..]);
            let length = ((id_bytes + name.len()) as u32).to_be_bytes();
            self.runs.allow(&[&length[..], &body[..id_bytes], name].concat());
            let end = &name[name.len().saturating_sub(RUN_BYTES - 1)..];
            for tag in
                [record::TEXT, record::LOAD_CLASS, record::FRAME, record::TRACE, record::HEAP_DUMP, record::SEGMENT]
            {
                self.runs.allow(&[end, &[tag]].concat());
            }
        }
        None
    }

    fn entry(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        let id = id_of(data, 1, id_bytes).filter(|_| data[0] == sub::PRIMITIVE_ARRAY).unwrap_or(0);
        if let (Some(parts), Some(elements)) = (self.kept.remove(&id), data.get(10 + id_bytes..)) {
            let mut elements = elements.to_vec();
            keep_parts(&mut elements, data[9 + id_bytes], &parts);
            // The tag of what follows may read as a sign.
            for tag in sub::CLASS_DUMP..=sub::PRIMITIVE_ARRAY {
                self.runs.allow(&[&elements[..], &[tag]].concat());
            }
        }
    }

    fn elements(&mut self, _: &mut [u8]) {}

    fn unknown(&mut self, _: &mut [u8]) {}
}

/// Asks for every text: arrays of bytes and characters, texts that are no names, and what cannot be parsed.
struct Texts<'f> {
    facts: &'f Facts,
    runs: Runs,
    /// Bytes that were passed.
    offset: u64,
    /// Names that have come: of an id that comes again the first counts.
    names: FxHashSet<u64>,
    is_open: bool,
    /// The end of the part before.
    last: Vec<u8>,
}

impl Work for Texts<'_> {
    fn head(&mut self, head: &mut [u8], _: bool) {
        self.offset += head.len() as u64;
        self.last.clear();
    }

    fn record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        let id_bytes = self.facts.id_bytes;
        let id = id_of(body, 0, id_bytes).filter(|_| tag == record::TEXT);
        let is_name = id.is_some_and(|id| self.facts.names.contains(&id) && self.names.insert(id));
        if tag == record::TEXT && !is_name {
            self.runs.ask(body.get(id_bytes..).unwrap_or_default(), self.offset + id_bytes as u64);
        }
        self.offset += body.len() as u64;
        None
    }

    fn entry(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        let kind = data.get(9 + id_bytes).copied();
        self.is_open = data[0] == sub::PRIMITIVE_ARRAY && kind.and_then(element_bytes).is_some_and(|bytes| bytes <= 2);
        self.last.clear();
        if self.is_open {
            self.runs.ask(data.get(10 + id_bytes..).unwrap_or_default(), self.offset + 10 + id_bytes as u64);
        }
        self.offset += data.len() as u64;
    }

    fn elements(&mut self, bytes: &mut [u8]) {
        if self.is_open {
            self.unknown(bytes);
        } else {
            self.offset += bytes.len() as u64;
        }
    }

    fn unknown(&mut self, bytes: &mut [u8]) {
        let joined = [&self.last[..], &bytes[..bytes.len().min(RUN_BYTES - 1)]].concat();
        self.runs.ask(&joined, self.offset.saturating_sub(self.last.len() as u64));
        self.runs.ask(bytes, self.offset);
        self.last = bytes[bytes.len().saturating_sub(RUN_BYTES - 1)..].to_vec();
        self.offset += bytes.len() as u64;
    }
}
