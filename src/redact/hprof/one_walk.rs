//! The copy of a file whose names and classes come before its objects, in one walk: what other walks would find out is assumed, and
//! checked on the way. Texts that are kept are put into the copy when it is written, from the parts of the file in which they are.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use rustc_hash::FxHashSet;

use super::fact_scan::FactScan;
use super::facts::{HprofFacts, InstancePlanCache, KeptTexts, ObjectAddresses, keep_part, zero_all_but_parts};
use super::gathered_facts::header_of;
use super::value_remover::{KnownObjects, ValueRemover};
use super::walk::{HprofWalk, count_at};
use crate::input::ReadError;
use crate::input::hprof::records::{SubRecordLength, sub_record_length};
use crate::input::hprof::wire::{id_at_with_width, sub_record_tags};
use crate::redact::dump_file::DumpFile;
use crate::redact::kept_fields::KeptFields;
use crate::redact::options::{LostBytes, RedactError, RedactOptions, RedactedCopy};

/// Bytes of a part of the file whose ids are known, but for its last entry.
const BLOCK_BYTES: u64 = 1 << 20;
/// Parts at most: of a file with more of them, in segments of a few bytes, nothing is assumed.
const MAX_BLOCKS: usize = 1 << 18;

/// Writes a copy without values. `None` where what was assumed is not so, and what was written is nothing. Memory grows with the
/// texts and classes of a file.
pub(in crate::redact) fn redact_in_one_walk(
    file: &DumpFile,
    options: &RedactOptions,
    out: &mut (impl Write + Seek),
) -> Result<Option<RedactedCopy>, RedactError> {
    let source = file.open()?;
    let is_plain = source.compression.is_empty() && options.equality_hash.is_none();
    let (Some(file_bytes), true) = (source.file_bytes, is_plain) else { return Ok(None) };
    let header = header_of(&source)?;
    let mut start =
        HprofWalk::new(source, &header, None, FactScan::of_start(header.id_bytes, &options.kept_fields), None);
    start.run(&header)?;
    let facts_left = start.visitor.fact_count;
    let mut facts = start.visitor.end_start();
    let mut assumed = ObjectAddresses::new(header.id_bytes);
    facts.class_name_ids.keys().for_each(|&class| assumed.add(class));
    // Without classes there are no objects.
    let Some(&class) = facts.class_name_ids.keys().next() else { return Ok(None) };
    let objects = AssumedObjects {
        assumed,
        class,
        met: std::mem::take(&mut facts.object_addresses),
        kept_texts: facts.kept_texts_by_dump.get_mut(1).map(std::mem::take).unwrap_or_default(),
        holders: FxHashSet::default(),
        facts_left,
        has_dump: false,
        blocks: Vec::new(),
        is_wrong: false,
    };
    let remover = ValueRemover::new(&facts, objects, &options.kept_fields, None, &options.names);
    let mut walk = HprofWalk::new(file.open()?, &header, None, remover, Some(out));
    let bytes = walk.run(&header)?;
    if let Some(error) = walk.write_error {
        return Err(RedactError::Write(error));
    }
    let (objects, surplus) = (walk.visitor.objects, walk.written_surplus);
    let is_whole = walk.lost.bytes == 0 && !walk.lost.is_cut && bytes == file_bytes;
    if !is_whole || objects.is_wrong || !objects.assumed.are_among(&objects.met) {
        return Ok(None);
    }
    if !objects.kept_texts.is_empty() {
        let file = file.open_seekable().map_err(ReadError::from)?;
        let mut blocks = Blocks { blocks: objects.blocks, file, id_bytes: header.id_bytes };
        let kept = blocks.find_kept_arrays(&facts, &options.kept_fields, objects.kept_texts)?;
        blocks.write_kept_arrays(kept, |offset, elements| {
            out.seek(SeekFrom::Start(offset.wrapping_add_signed(surplus)))?;
            out.write_all(elements)
        })?;
    }
    Ok(Some(RedactedCopy { format: "hprof", bytes, lost: LostBytes::default(), has_values: true, has_names: true }))
}

/// Objects that are met, and those that must be there if nothing is to be replaced.
struct AssumedObjects {
    assumed: ObjectAddresses,
    met: ObjectAddresses,
    /// One of the classes that are assumed.
    class: u64,
    kept_texts: KeptTexts,
    /// Holders of kept texts: of an id that comes again the first counts.
    holders: FxHashSet<u64>,
    /// Records with names and classes that may come.
    facts_left: u64,
    has_dump: bool,
    /// Where the objects are that were met.
    blocks: Vec<Block>,
    is_wrong: bool,
}

impl KnownObjects for AssumedObjects {
    fn unused_id(&self) -> u64 {
        0
    }

    #[inline]
    fn may_hold_object(&mut self, id: u64) -> bool {
        // Null is as good as what is known: chosen without a branch, which nobody could foresee.
        self.assumed.add(if id == 0 { self.class } else { id });
        true
    }

    #[inline]
    fn may_be_object(&mut self, id: u64, offset: u64, bytes: usize) -> bool {
        self.met.add(id);
        let end = offset + bytes as u64;
        match self.blocks.last_mut() {
            Some(block) if block.end == offset && offset - block.start < BLOCK_BYTES => {
                block.end = end;
                block.least_id = block.least_id.min(id);
                block.greatest_id = block.greatest_id.max(id);
            }
            _ => {
                self.is_wrong |= self.blocks.len() == MAX_BLOCKS;
                self.blocks.push(Block { start: offset, end, least_id: id, greatest_id: id });
            }
        }
        true
    }

    fn note_unknown(&mut self) {
        self.is_wrong = true;
    }

    fn begin_dump(&mut self) {
        // Another has classes of its own.
        self.is_wrong |= std::mem::replace(&mut self.has_dump, true);
    }

    fn note_fact(&mut self) {
        match self.facts_left.checked_sub(1) {
            Some(left) => self.facts_left = left,
            None => self.is_wrong = true,
        }
    }

    fn note_heap(&mut self) {
        // Android writes classes among objects.
        self.is_wrong = true;
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.is_wrong
    }

    fn note_kept_texts(&mut self, holder: u64, texts: impl Iterator<Item = u64>) {
        if self.holders.insert(holder) {
            self.kept_texts.extend(texts.filter(|&text| text != 0).map(|text| (text, Vec::new())));
        }
    }
}

/// Whole entries that follow one another, and the ids of the objects among them.
struct Block {
    start: u64,
    end: u64,
    least_id: u64,
    greatest_id: u64,
}

/// The parts of a file, to be read again.
struct Blocks {
    blocks: Vec<Block>,
    file: File,
    id_bytes: usize,
}

impl Blocks {
    /// Adds to the strings that are kept the arrays of their characters.
    fn find_kept_arrays(
        &mut self,
        facts: &HprofFacts,
        keep: &KeptFields,
        mut kept: KeptTexts,
    ) -> Result<KeptTexts, RedactError> {
        let (id_bytes, strings) = (self.id_bytes, kept.clone());
        let (mut met, mut plans) = (FxHashSet::default(), InstancePlanCache::new(false));
        self.visit_entries(&strings, sub_record_tags::INSTANCE, |id, _, data| {
            let class = id_at_with_width(data, 5 + id_bytes, id_bytes).unwrap_or(0);
            let plan = plans.plan_for(facts, 1, class, keep, count_at(data, 5 + 2 * id_bytes));
            if let Some(plan) = plan.filter(|plan| plan.character_array_offset.is_some() && met.insert(id)) {
                // An array of this id would be another object.
                kept.insert(id, vec![(0, 0)]);
                if let Some(array) = plan.characters_of_string(&data[9 + 2 * id_bytes..], id_bytes) {
                    keep_part(&mut kept, array);
                }
            }
            Ok(())
        })?;
        Ok(kept)
    }

    /// Calls for each array of kept characters, the first of its id, with the offset of its elements and what is left of them.
    fn write_kept_arrays(
        &mut self,
        mut kept: KeptTexts,
        mut write: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), RedactError> {
        let (head_bytes, ids) = (10 + self.id_bytes, kept.clone());
        self.visit_entries(&ids, sub_record_tags::PRIMITIVE_ARRAY, |id, offset, data| {
            let Some(parts) = kept.remove(&id) else { return Ok(()) };
            let (head, elements) = data.split_at_mut(head_bytes);
            zero_all_but_parts(elements, head[head_bytes - 1], &parts);
            write(offset + head_bytes as u64, elements)
        })
    }

    /// Calls for entries of a kind and some ids, in the order of the file, with id, offset and bytes.
    fn visit_entries(
        &mut self,
        wanted: &KeptTexts,
        tag: u8,
        mut see: impl FnMut(u64, u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<(), RedactError> {
        let mut ids: Vec<u64> = wanted.keys().copied().collect();
        ids.sort_unstable();
        let mut bytes = Vec::new();
        for block in &self.blocks {
            let first = ids.partition_point(|&id| id < block.least_id);
            if ids.get(first).is_none_or(|&id| id > block.greatest_id) {
                continue;
            }
            bytes.resize((block.end - block.start) as usize, 0);
            let read = self.file.seek(SeekFrom::Start(block.start)).and_then(|_| self.file.read_exact(&mut bytes));
            read.map_err(ReadError::from)?;
            let mut rest = &mut bytes[..];
            while let SubRecordLength::Known(length) = sub_record_length(rest, self.id_bytes)
                // The last may be longer than what was noted.
                && let Some((entry, behind)) = std::mem::take(&mut rest).split_at_mut_checked(length as usize)
            {
                let id = id_at_with_width(entry, 1, self.id_bytes).unwrap_or(0);
                if entry[0] == tag && wanted.contains_key(&id) {
                    see(id, block.end - (entry.len() + behind.len()) as u64, entry)?;
                }
                rest = behind;
            }
        }
        Ok(())
    }
}
