//! Texts of a dump that are left in its copy.

use super::facts::Facts;
use super::scan::Scan;
use super::walk::{Walk, Work};
use super::{MOST_SCANS, header_of};
use crate::input::hprof::wire::{element_bytes, id_of, record, sub};
use crate::input::{ReadError, Source};
use crate::redact::DumpFile;
use crate::redact::keep::KeptFields;
use crate::redact::runs::{RUN_BYTES, Runs};

/// Bytes of the copy that are looked through at a time.
const READ_BYTES: usize = 1 << 20;

/// Looks through the bytes of a copy, however it is built, for runs of texts of its dump. What names something in the copy
/// may stand there, and texts of kept fields.
pub(in crate::redact) fn find_left(
    dump: &DumpFile,
    copy: &DumpFile,
    keep: &KeptFields,
) -> Result<(Runs, u64), ReadError> {
    let facts = facts_of(copy, keep)?;
    let mut runs = walk(copy, Kept { facts: &facts, runs: Runs::default(), is_open: false })?.runs;
    let bytes = look_through(copy.open()?, &mut runs)?;
    let facts = facts_of(dump, keep)?;
    let header_bytes = header_of(&dump.open()?)?.bytes as u64;
    let work = Texts { facts: &facts, runs, offset: header_bytes, is_open: false, last: Vec::new() };
    Ok((walk(dump, work)?.runs, bytes))
}

fn walk<W: Work>(file: &DumpFile, work: W) -> Result<W, ReadError> {
    let source = file.open()?;
    let header = header_of(&source)?;
    let mut walk = Walk::new(source, &header, None, work, None);
    walk.run(&header)?;
    Ok(walk.work)
}

fn facts_of(file: &DumpFile, keep: &KeptFields) -> Result<Facts, ReadError> {
    let source = file.open()?;
    let mut scan = Scan::new(header_of(&source)?.id_bytes, keep, None);
    for _ in 0..MOST_SCANS {
        scan = walk(file, scan)?;
        if !scan.is_to_repeat() {
            break;
        }
    }
    Ok(scan.facts)
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

/// Allows the texts of kept fields.
struct Kept<'f> {
    facts: &'f Facts,
    runs: Runs,
    is_open: bool,
}

impl Work for Kept<'_> {
    /// With the id before a name, whose last byte may read as a letter.
    fn record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        let id = id_of(body, 0, self.facts.id_bytes).filter(|_| tag == record::TEXT);
        if id.is_some_and(|id| self.facts.names.contains(&id)) {
            self.runs.allow(body);
        }
        None
    }

    fn entry(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        self.is_open =
            data[0] == sub::PRIMITIVE_ARRAY && id_of(data, 1, id_bytes).is_some_and(|id| self.facts.kept.contains(&id));
        if self.is_open {
            // The tag of what follows may read as a sign.
            for tag in sub::CLASS_DUMP..=sub::PRIMITIVE_ARRAY {
                self.runs.allow(&[data.get(10 + id_bytes..).unwrap_or_default(), &[tag]].concat());
            }
        }
    }

    fn elements(&mut self, bytes: &mut [u8]) {
        if self.is_open {
            self.runs.allow(bytes);
        }
    }

    fn unknown(&mut self, _: &mut [u8]) {}
}

/// Asks for every text: arrays of bytes and characters, texts that are no names, and what cannot be parsed.
struct Texts<'f> {
    facts: &'f Facts,
    runs: Runs,
    /// Bytes that were passed.
    offset: u64,
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
        let is_name = tag == record::TEXT && id_of(body, 0, id_bytes).is_some_and(|id| self.facts.names.contains(&id));
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
