//! The copy of a snapshot.

use std::io::Write;

use super::facts::SnapshotFacts;
use super::pieces::{SnapshotPart, walk_snapshot};
use crate::input::v8_snapshot::block::push_unescaped;
use crate::input::v8_snapshot::layout::MAX_FIELDS;
use crate::input::v8_snapshot::scan::{SnapshotArray, end_of_string};
use crate::redact::dump_file::DumpFile;
use crate::redact::filler::FillerMaker;
use crate::redact::names::{NameMap, without_program_data};
use crate::redact::options::{LostBytes, RedactError, RedactOptions, RedactedCopy};

/// Writes a copy without values. Walks through the file five times; memory grows with the number of its strings.
pub(in crate::redact) fn redact(
    file: &DumpFile,
    options: &RedactOptions,
    out: &mut dyn Write,
) -> Result<RedactedCopy, RedactError> {
    let facts = SnapshotFacts::gather(file)?;
    let is_damaged = facts.is_cut || facts.has_data_after_end || !facts.is_undamaged;
    if options.is_strict && is_damaged {
        return Err(RedactError::Damaged(LostBytes { is_cut: facts.is_cut, ..LostBytes::default() }));
    }
    let (mut copy, mut total) = (SnapshotCopier::new(&facts, &options.names), 0);
    let lost = walk_snapshot(file, &facts.layout, |part| -> Result<(), RedactError> {
        match part {
            SnapshotPart::BetweenPieces(_, stays) => copy.out.extend_from_slice(stays),
            SnapshotPart::Piece(SnapshotArray::Strings, bytes) => copy.copy_strings(bytes),
            SnapshotPart::Piece(SnapshotArray::Nodes, bytes) => copy.copy_nodes(bytes),
            SnapshotPart::Piece(_, bytes) => copy_numbers(bytes, &mut copy.out, |_, _, _| {}),
            SnapshotPart::EndOfStrings => copy.add_value_entries(),
        }
        out.write_all(&copy.out)?;
        total += copy.out.len() as u64;
        copy.out.clear();
        Ok(())
    })?;
    Ok(RedactedCopy { format: "v8-snapshot", bytes: total, lost, has_values: true, has_names: facts.is_undamaged })
}

/// The copy as it is made.
struct SnapshotCopier<'f> {
    facts: &'f SnapshotFacts,
    names: &'f NameMap,
    out: Vec<u8>,
    fillers: FillerMaker,
    /// Strings that were passed.
    passed_string_count: u32,
    /// Of the row of a node: its values so far, and where the name stands in `out`.
    row: [i64; MAX_FIELDS],
    field_index: usize,
    name_range: (usize, usize),
    unescaped_text: Vec<u8>,
}

impl<'f> SnapshotCopier<'f> {
    fn new(facts: &'f SnapshotFacts, names: &'f NameMap) -> Self {
        SnapshotCopier {
            facts,
            names,
            out: Vec::new(),
            fillers: FillerMaker::default(),
            passed_string_count: 0,
            row: [0; MAX_FIELDS],
            field_index: 0,
            name_range: (0, 0),
            unescaped_text: Vec::new(),
        }
    }

    /// Numbers stay, but values of strings that are names too go to entries of their own.
    fn copy_nodes(&mut self, bytes: &[u8]) {
        let SnapshotCopier { facts, out, row, field_index, name_range: name, .. } = self;
        let fields = facts.layout.node_fields;
        copy_numbers(bytes, out, |out, start, number| {
            row[*field_index] = number;
            if *field_index == fields.name {
                *name = (start, out.len());
            }
            *field_index += 1;
            if *field_index == fields.width {
                *field_index = 0;
                let known = u8::try_from(row[fields.kind]).ok().zip(u32::try_from(row[fields.name]).ok());
                if let Some(own) = known
                    .filter(|&(kind, name)| facts.is_value_node(kind, name))
                    .and_then(|(_, name)| facts.value_entry_of(name))
                {
                    out.splice(name.0..name.1, own.to_string().into_bytes());
                }
            }
        });
        // The name of a row that goes on in the next piece is written: rows are cut at their ends.
        *field_index = 0;
    }

    fn copy_strings(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(begin) = memchr::memchr(b'"', &bytes[at..]).map(|found| at + found) {
            self.copy_separators(&bytes[at..begin]);
            let end = end_of_string(bytes, begin + 1).unwrap_or(bytes.len() + 1);
            self.copy_string(&bytes[begin + 1..end - 1]);
            at = end.min(bytes.len());
        }
        self.copy_separators(&bytes[at..]);
    }

    fn copy_separators(&mut self, bytes: &[u8]) {
        self.out.extend(bytes.iter().filter(|byte| matches!(byte, b',' | b' ' | b'\n' | b'\r' | b'\t')));
    }

    fn copy_string(&mut self, raw: &[u8]) {
        let SnapshotCopier { facts, names, out, fillers, passed_string_count, unescaped_text: text, .. } = self;
        let at = *passed_string_count;
        *passed_string_count += 1;
        if !facts.is_kept_string(at) {
            out.push(b'"');
            fillers.append_filler(facts.string_units(at), out);
            return out.push(b'"');
        }
        text.clear();
        push_unescaped(raw, text);
        let known = String::from_utf8_lossy(text);
        let renamed = names.rename(known.as_bytes()).map(|name| String::from_utf8_lossy(&name).into_owned());
        let known = renamed.as_deref().unwrap_or(&known);
        let cleaned = without_program_data(known);
        match renamed.is_some() || *cleaned != *known {
            true => out.extend(serde_json::to_vec(&*cleaned).unwrap_or_default()),
            false => out.extend([b"\"", raw, b"\""].concat()),
        }
    }

    /// Behind the last string the entries of values whose text is a name too.
    fn add_value_entries(&mut self) {
        for &string in &self.facts.strings_with_value_entry {
            self.out.extend_from_slice(b",\n\"");
            self.fillers.append_filler(self.facts.string_units(string), &mut self.out);
            self.out.push(b'"');
        }
    }
}

/// Appends numbers and what separates them; what is none becomes 0. Shows each: where it begins in `out`, and its value.
pub(super) fn copy_numbers(bytes: &[u8], out: &mut Vec<u8>, mut see: impl FnMut(&mut Vec<u8>, usize, i64)) {
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
