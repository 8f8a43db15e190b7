//! The object `GCHeapDump`, the file's only one: the heap, and what is known of its process.

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_f32, le_i32, le_i64, le_u8, le_u32};

use super::memory_graph::{MemoryGraph, skip_past_end_tag};
use super::serialization::{FoundObject, ObjectReader, Parsed, TaggedValue, tagged_value, text};
use crate::graph::{Generation, GenerationRange, MemoryShare};

/// A file's content.
#[derive(Debug, Default)]
pub(super) struct HeapDump<'a> {
    pub(super) version: i32,
    pub(super) graph: MemoryGraph<'a>,
    /// Of objects and of bytes; 1 in a dump that is no sample.
    pub(super) object_and_byte_multipliers: (f32, f32),
    /// Of objects by type; empty in a dump that is no sample.
    pub(super) type_multipliers: Vec<f32>,
    /// There is an account of the heap's segments: the dump is of a heap that was walked, dead objects and all.
    pub(super) has_segments: bool,
    pub(super) generation_ranges: Vec<GenerationRange>,
    /// In units of 100 ns since the year 1; 0 where unknown.
    pub(super) ticks: i64,
    pub(super) process_name: Option<String>,
    pub(super) process_id: i32,
    pub(super) tool: Option<String>,
    /// Counts of runtime and COM callable wrappers.
    pub(super) wrapper_counts: (u32, u32),
    /// The offset from which the fields behind the heap could not be read.
    pub(super) unread_from_offset: Option<usize>,
    /// Where texts of the machine and of what was printed while the dump was taken stand, with their lengths.
    pub(super) private_ranges: Vec<std::ops::Range<usize>>,
}

/// A reason for which nothing can be read.
pub(super) enum UnreadableReason {
    /// A version that is not read: its number.
    UnsupportedVersion(i32),
    /// Cut or damaged before the heap.
    Damaged,
}

impl<'a> HeapDump<'a> {
    pub(super) fn read(file: &'a [u8], content: &'a [u8], share: &mut MemoryShare) -> Result<Self, UnreadableReason> {
        let mut objects = ObjectReader::new(file);
        let Ok((rest, FoundObject::Begun(head, _))) = objects.object_start(content) else {
            return Err(UnreadableReason::Damaged);
        };
        // Version 8 and those before had the heap's account in other places.
        if head.version < 9 {
            return Err(UnreadableReason::UnsupportedVersion(head.version));
        }
        let mut dump =
            HeapDump { version: head.version, object_and_byte_multipliers: (1.0, 1.0), ..HeapDump::default() };
        let Ok((rest, FoundObject::Begun(head, _))) = objects.object_start(rest) else {
            return Err(UnreadableReason::Damaged);
        };
        let behind;
        (dump.graph, behind) = MemoryGraph::read(&mut objects, &head, rest, share);
        if let Some(mut rest) = behind {
            dump.unread_from_offset =
                dump.read_fields_behind_heap(&mut objects, &mut rest).err().map(|_| objects.offset(rest));
        }
        Ok(dump)
    }

    /// Reads the fields behind the heap; `rest` stays before the one that cannot be read.
    fn read_fields_behind_heap(
        &mut self,
        objects: &mut ObjectReader<'a>,
        rest: &mut &'a [u8],
    ) -> Result<(), nom::Err<()>> {
        let (after, _) = le_u8::<_, ()>(*rest)?;
        let (after, count) = le_f32(after)?;
        (*rest, self.object_and_byte_multipliers.1) = le_f32(after)?;
        self.object_and_byte_multipliers.0 = count;
        let (after, found) = objects.object_start(rest)?;
        *rest = if matches!(found, FoundObject::Begun(..)) { skip_past_end_tag(after)?.0 } else { after };
        let (after, found) = objects.object_start(rest)?;
        *rest = match found {
            FoundObject::Begun(..) => self.read_segments(objects, after)?.0,
            _ => after,
        };
        *rest = self.skip_private_text(objects, rest)?;
        (*rest, self.ticks) = le_i64(*rest)?;
        *rest = self.skip_private_text(objects, rest)?;
        (*rest, self.process_name) = text(rest)?;
        (*rest, self.process_id) = le_i32(*rest)?;
        (*rest, _) = le_i64(*rest)?;
        (*rest, _) = le_i64(*rest)?;
        let (after, count) = le_u32(*rest)?;
        let (after, multipliers): (_, &[u8]) = take(4 * count as usize)(after)?;
        self.type_multipliers = multipliers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        *rest = after;
        loop {
            let (after, value) = tagged_value(rest)?;
            *rest = after;
            match value {
                TaggedValue::End => return Ok(()),
                TaggedValue::Text(tool) => self.tool = tool,
                TaggedValue::ObjectFollows => {
                    let (after, found) = objects.object_start(rest)?;
                    *rest = if matches!(found, FoundObject::Begun(..)) {
                        self.read_interop_counts(after)?.0
                    } else {
                        after
                    };
                }
                _ => {}
            }
        }
    }

    /// A text that no answer needs. Its characters, which may take several bytes each, are noted.
    fn skip_private_text(&mut self, objects: &ObjectReader<'a>, input: &'a [u8]) -> Result<&'a [u8], nom::Err<()>> {
        let (rest, _) = text(input)?;
        self.private_ranges.push(objects.offset(input) + 4..objects.offset(rest));
        Ok(rest)
    }

    /// `i64 bytes, i32 count`, segments `i64 start, end, gen0End .. gen3End`, from version 1 on `gen4End`.
    fn read_segments(&mut self, objects: &mut ObjectReader<'a>, input: &'a [u8]) -> Parsed<'a, ()> {
        self.has_segments = true;
        let (rest, _) = le_i64(input)?;
        let (mut rest, count) = le_u32(rest)?;
        for _ in 0..count {
            let found;
            (rest, found) = objects.object_start(rest)?;
            let FoundObject::Begun(head, _) = found else { continue };
            let mut numbers = [0i64; 7];
            for number in numbers.iter_mut().take(if head.version >= 1 { 7 } else { 6 }) {
                (rest, *number) = le_i64(rest)?;
            }
            (rest, ()) = skip_past_end_tag(rest)?;
            self.add_generations_of_segment(numbers.map(|number| number as u64));
        }
        skip_past_end_tag(rest)
    }

    /// An object is of the first generation, from the last to 0, whose end lies above it.
    fn add_generations_of_segment(&mut self, [start, end, gen0, gen1, gen2, gen3, gen4]: [u64; 7]) {
        let mut from = start;
        let numbered = Generation::Numbered;
        for (until, generation) in [
            (gen4, Generation::Pinned),
            (gen3, Generation::Large),
            (gen2, numbered(2)),
            (gen1, numbered(1)),
            (gen0, numbered(0)),
        ] {
            let until = until.min(end);
            if until > from {
                self.generation_ranges.push(GenerationRange { start: from, end: until, generation });
                from = until;
            }
        }
    }

    /// `i32 total`; unless it is 0: counts of runtime callable and COM callable wrappers, interfaces and modules, and
    /// these, 40, 32 and 33 bytes each and with a string.
    fn read_interop_counts(&mut self, input: &'a [u8]) -> Parsed<'a, ()> {
        let (rest, total) = le_i32(input)?;
        if total == 0 {
            return skip_past_end_tag(rest);
        }
        let (rest, (runtime, com, interfaces, modules)) = (le_u32, le_u32, le_u32, le_u32).parse(rest)?;
        self.wrapper_counts = (runtime, com);
        let (rest, _) = take(40 * runtime as usize)(rest)?;
        let (rest, _) = take(32 * com as usize)(rest)?;
        let (mut rest, _) = take(33 * interfaces as usize)(rest)?;
        for _ in 0..modules {
            (rest, _) = take(16usize)(rest)?;
            (rest, _) = text(rest)?;
        }
        skip_past_end_tag(rest)
    }
}
