//! The copy of a snapshot.

use std::io::Write;

use super::facts::Facts;
use super::pieces::{Part, walk};
use crate::input::v8_snapshot::block::unescape;
use crate::input::v8_snapshot::layout::MAX_FIELDS;
use crate::input::v8_snapshot::scan::{SnapshotArray, end_of_string};
use crate::redact::dump_file::DumpFile;
use crate::redact::filler::Fillers;
use crate::redact::names::{NameMap, cleaned};
use crate::redact::options::{LostBytes, RedactError, RedactOptions, Redacted};

/// Writes a copy without values. Walks through the file four times; memory grows with the number of its strings.
pub(in crate::redact) fn redact(
    file: &DumpFile,
    options: &RedactOptions,
    out: &mut dyn Write,
) -> Result<Redacted, RedactError> {
    let facts = Facts::gather(file)?;
    let is_damaged = facts.is_cut || facts.has_more || !facts.is_sound;
    if options.is_strict && is_damaged {
        return Err(RedactError::Damaged(LostBytes { is_cut: facts.is_cut, ..LostBytes::default() }));
    }
    let (mut copy, mut total) = (Copy::new(&facts, &options.names), 0);
    let lost = walk(file, &facts.layout, |part| -> Result<(), RedactError> {
        match part {
            Part::Gap(_, stays) => copy.out.extend_from_slice(stays),
            Part::Piece(SnapshotArray::Strings, bytes) => copy.strings(bytes),
            Part::Piece(SnapshotArray::Nodes, bytes) => copy.nodes(bytes),
            Part::Piece(_, bytes) => for_each_number(bytes, &mut copy.out, |_, _, _| {}),
            Part::EndOfStrings => copy.own_entries(),
        }
        out.write_all(&copy.out)?;
        total += copy.out.len() as u64;
        copy.out.clear();
        Ok(())
    })?;
    Ok(Redacted { format: "v8-snapshot", bytes: total, lost, has_values: true, has_names: facts.is_sound })
}

/// The copy as it is made.
struct Copy<'f> {
    facts: &'f Facts,
    names: &'f NameMap,
    out: Vec<u8>,
    fillers: Fillers,
    /// Strings that were passed.
    strings: u32,
    /// Of the row of a node: its values so far, and where the name stands in `out`.
    row: [i64; MAX_FIELDS],
    place: usize,
    name: (usize, usize),
    text: Vec<u8>,
}

impl<'f> Copy<'f> {
    fn new(facts: &'f Facts, names: &'f NameMap) -> Self {
        Copy {
            facts,
            names,
            out: Vec::new(),
            fillers: Fillers::default(),
            strings: 0,
            row: [0; MAX_FIELDS],
            place: 0,
            name: (0, 0),
            text: Vec::new(),
        }
    }

    /// Numbers stay, but values of strings that are names too go to entries of their own.
    fn nodes(&mut self, bytes: &[u8]) {
        let Copy { facts, out, row, place, name, .. } = self;
        let fields = facts.layout.node;
        for_each_number(bytes, out, |out, start, number| {
            row[*place] = number;
            if *place == fields.name {
                *name = (start, out.len());
            }
            *place += 1;
            if *place == fields.width {
                *place = 0;
                let known = u8::try_from(row[fields.kind]).ok().zip(u32::try_from(row[fields.name]).ok());
                if let Some(own) =
                    known.filter(|&(kind, name)| facts.is_value(kind, name)).and_then(|(_, name)| facts.own(name))
                {
                    out.splice(name.0..name.1, own.to_string().into_bytes());
                }
            }
        });
        // The name of a row that goes on in the next piece is written: rows are cut at their ends.
        *place = 0;
    }

    fn strings(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(begin) = memchr::memchr(b'"', &bytes[at..]).map(|found| at + found) {
            self.separators(&bytes[at..begin]);
            let end = end_of_string(bytes, begin + 1).unwrap_or(bytes.len() + 1);
            self.string(&bytes[begin + 1..end - 1]);
            at = end.min(bytes.len());
        }
        self.separators(&bytes[at..]);
    }

    fn separators(&mut self, bytes: &[u8]) {
        self.out.extend(bytes.iter().filter(|byte| matches!(byte, b',' | b' ' | b'\n' | b'\r' | b'\t')));
    }

    fn string(&mut self, raw: &[u8]) {
        let Copy { facts, names, out, fillers, strings, text, .. } = self;
        let at = *strings;
        *strings += 1;
        if !facts.is_kept(at) {
            out.push(b'"');
            fillers.append(facts.units(at), out);
            return out.push(b'"');
        }
        text.clear();
        unescape(raw, text);
        let known = String::from_utf8_lossy(text);
        let renamed = names.rename(known.as_bytes()).map(|name| String::from_utf8_lossy(&name).into_owned());
        let known = renamed.as_deref().unwrap_or(&known);
        let cleaned = cleaned(known);
        match renamed.is_some() || *cleaned != *known {
            true => out.extend(serde_json::to_vec(&*cleaned).unwrap_or_default()),
            false => out.extend([b"\"", raw, b"\""].concat()),
        }
    }

    /// Behind the last string the entries of values whose text is a name too.
    fn own_entries(&mut self) {
        for &string in &self.facts.with_own {
            self.out.extend_from_slice(b",\n\"");
            self.fillers.append(self.facts.units(string), &mut self.out);
            self.out.push(b'"');
        }
    }
}

/// Appends numbers and what separates them; what is none becomes 0. Shows each: where it begins in `out`, and its value.
pub(super) fn for_each_number(bytes: &[u8], out: &mut Vec<u8>, mut see: impl FnMut(&mut Vec<u8>, usize, i64)) {
    let is_between = |byte: &u8| matches!(byte, b',' | b' ' | b'\n' | b'\r' | b'\t');
    let mut at = 0;
    while at < bytes.len() {
        if is_between(&bytes[at]) {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let end = bytes[at..].iter().position(is_between).map_or(bytes.len(), |length| at + length);
        let start = out.len();
        let number = std::str::from_utf8(&bytes[at..end]).ok().and_then(|text| text.parse::<i64>().ok());
        match number {
            Some(_) => out.extend_from_slice(&bytes[at..end]),
            None => out.push(b'0'),
        }
        see(out, start, number.unwrap_or(0));
        at = end;
    }
}
