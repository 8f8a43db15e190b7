//! Heaps as pprof profiles: a sample for each stack and type, with what was allocated right there.
//!
//! docs/formats/pprof.md has the fields. A frame's name is the only thing known of it: each is a function, a location of its
//! own, and one line.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;

use super::ExportError;
use super::error::verify_index_file;
use super::memory_infra::{MEMORY_BYTES_PER_ROW, heap_of_objects};
use crate::allocations::{AllocationHeap, CountingMode, NameId, NameTable};
use crate::analysis::allocation_totals::{AllocationTotals, TotalsOptions};
use crate::answers::allocation_heaps::{FullerDump, check_totals_memory, heap_title};
use crate::answers::{AllocationHeapChoice, AnswerError};
use crate::dump::{Content, OpenDump};

/// Options for writing a profile.
#[derive(Debug, Clone, Default)]
pub struct PprofOptions {
    /// The heaps; of objects the section.
    pub heaps: AllocationHeapChoice,
    /// Levels of stacks; what is deeper counts for the last. Default: 64 of objects, else all.
    pub depth: Option<u32>,
}

/// Writes heaps of allocation totals, or objects as one heap whose stacks are the types on the way down the dominator tree:
/// then what a path has with all below it is retained. Several heaps have their titles as outermost frames. Packed by gzip.
/// Returns a memory dump that holds more heaps than the one that was chosen by default. O(entries x depth).
///
/// # Errors
/// When the dump has no such heaps or section, when there is not the memory, or when `out` cannot be written to.
pub fn write_pprof(
    dump: &OpenDump,
    options: &PprofOptions,
    out: &mut dyn Write,
) -> Result<Option<FullerDump>, ExportError> {
    verify_index_file(dump)?;
    let depth = options.depth.map_or(usize::MAX, |depth| depth as usize);
    match dump.content() {
        Content::Objects(graph) => {
            let (names, heap) = heap_of_objects(dump, graph, &options.heaps, options.depth)?;
            write_heaps(&names, &[&heap], depth, out)?;
            Ok(None)
        }
        Content::Allocations(allocations) => {
            let chosen = options.heaps.choose(allocations)?;
            check_totals_memory(dump, &chosen.heaps, MEMORY_BYTES_PER_ROW)?;
            write_heaps(&allocations.names, &chosen.heaps, depth, out)?;
            Ok(chosen.fuller_dump)
        }
        Content::Histograms(_) => Err(AnswerError::NeedsObjects.into()),
    }
}

fn write_heaps(names: &NameTable, heaps: &[&AllocationHeap], depth: usize, out: &mut dyn Write) -> io::Result<()> {
    let titles: Vec<String> = heaps.iter().map(|heap| heap_title(heap)).collect();
    let mut profile = ProfileWriter {
        out: GzEncoder::new(out, Compression::default()),
        names,
        texts: vec![""],
        number_by_text: FxHashMap::from_iter([("", 0)]),
        function_id_by_name: FxHashMap::default(),
        has_allocation_counts: heaps.iter().flat_map(|heap| &heap.entries).any(|entry| entry.allocations().is_some()),
    };
    let is_total = heaps.iter().all(|heap| heap.allocator_name == "alloc");
    let kinds = if is_total { ["alloc_objects", "alloc_space"] } else { ["inuse_objects", "inuse_space"] };
    for (kind, unit) in kinds.into_iter().zip(["count", "bytes"]).skip(usize::from(!profile.has_allocation_counts)) {
        let kind = [number_field(1, profile.text_number(kind)), number_field(2, profile.text_number(unit))].concat();
        profile.write_bytes_field(1, &kind)?;
    }
    let mut functions = vec![false];
    for (heap, title) in heaps.iter().zip(&titles) {
        let outermost = (heaps.len() > 1).then_some(&**title);
        profile.write_heap_samples(heap, outermost, depth, &mut functions)?;
    }
    let program = heaps.first().map_or("", |heap| &heap.process_name);
    // With functions: nobody is to look for the program's symbols.
    let mapping = [number_field(1, 1), number_field(5, profile.text_number(program)), number_field(7, 1)].concat();
    profile.write_bytes_field(3, &mapping)?;
    for (id, _) in (0..).zip(&functions).filter(|(_, is_function)| **is_function) {
        profile.write_bytes_field(
            4,
            &[number_field(1, id), number_field(2, 1), bytes_field(4, &number_field(1, id))].concat(),
        )?;
        profile.write_bytes_field(5, &[number_field(1, id), number_field(2, id)].concat())?;
    }
    let default = number_field(14, profile.text_number(kinds[1]));
    profile.out.write_all(&default)?;
    for text in std::mem::take(&mut profile.texts) {
        profile.write_bytes_field(6, text.as_bytes())?;
    }
    profile.out.finish()?;
    Ok(())
}

/// What was allocated at a node itself.
pub(super) struct OwnAmount {
    pub(super) frame: u32,
    pub(super) type_name: Option<NameId>,
    pub(super) bytes: u64,
    allocations: u64,
}

/// What each node has itself: where entries include what is below, all types together, and without what its callees have.
pub(super) fn own_amounts(heap: &AllocationHeap) -> Vec<OwnAmount> {
    if heap.counting_mode == CountingMode::Exclusive {
        let own = heap.entries.iter().map(|entry| OwnAmount {
            frame: entry.frame(),
            type_name: entry.type_name(),
            bytes: entry.bytes(),
            allocations: entry.allocations().unwrap_or(0),
        });
        return own.collect();
    }
    let totals = AllocationTotals::compute(
        heap,
        &TotalsOptions { max_depth: u32::MAX, is_by_type: false, is_type_wanted: None },
    );
    let own = (0..heap.frames.len() as u32).map(|frame| {
        let whole = totals.total_at(frame);
        let start =
            OwnAmount { frame, type_name: None, bytes: whole.bytes, allocations: whole.allocations.unwrap_or(0) };
        totals.callees(frame).iter().fold(start, |own, &callee| {
            let below = totals.total_at(callee);
            let allocations = own.allocations.saturating_sub(below.allocations.unwrap_or(0));
            OwnAmount { bytes: own.bytes.saturating_sub(below.bytes), allocations, ..own }
        })
    });
    own.collect()
}

/// A message that is written field by field, its texts last.
struct ProfileWriter<'a, W: Write> {
    out: GzEncoder<W>,
    names: &'a NameTable,
    texts: Vec<&'a str>,
    number_by_text: FxHashMap<&'a str, u64>,
    function_id_by_name: FxHashMap<NameId, u64>,
    /// Samples have a number of allocations before their bytes.
    has_allocation_counts: bool,
}

impl<'a, W: Write> ProfileWriter<'a, W> {
    /// The number of a text.
    fn text_number(&mut self, text: &'a str) -> u64 {
        *self.number_by_text.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() as u64 - 1
        })
    }

    /// The number of a frame's name, which is its function's id and its location's.
    fn function_id(&mut self, name: NameId) -> u64 {
        if let Some(&known) = self.function_id_by_name.get(&name) {
            return known;
        }
        let text = Some(self.names.text(name)).filter(|text| !text.is_empty()).unwrap_or("(unknown)");
        let number = self.text_number(text);
        self.function_id_by_name.insert(name, number);
        number
    }

    fn write_bytes_field(&mut self, field: u64, content: &[u8]) -> io::Result<()> {
        self.out.write_all(&bytes_field(field, content))
    }

    fn write_heap_samples(
        &mut self,
        heap: &AllocationHeap,
        outermost: Option<&'a str>,
        depth: usize,
        functions: &mut Vec<bool>,
    ) -> io::Result<()> {
        let (mut stack, type_key) = (Vec::new(), self.text_number("type"));
        for own in own_amounts(heap).iter().filter(|own| own.bytes > 0 || own.allocations > 0) {
            stack.clear();
            let mut at = own.frame;
            while at != 0 {
                let frame = heap.frames.get(at);
                // What a caller allocated itself is no function.
                if !frame.is_self_cost() {
                    stack.push(self.function_id(frame.name));
                }
                at = frame.parent();
            }
            // The innermost comes first.
            stack.drain(..stack.len().saturating_sub(depth));
            if stack.is_empty() && outermost.is_none() {
                stack.push(self.text_number("(no stack)"));
            }
            stack.extend(outermost.map(|title| self.text_number(title)));
            for &id in &stack {
                if functions.len() <= id as usize {
                    functions.resize(id as usize + 1, false);
                }
                functions[id as usize] = true;
            }
            let values = [own.allocations, own.bytes].map(|value| value.min(i64::MAX as u64));
            let values = &values[usize::from(!self.has_allocation_counts)..];
            let mut sample =
                [bytes_field(1, &packed_varints(&stack)), bytes_field(2, &packed_varints(values))].concat();
            // The type, where the last frame does not say it.
            if let Some(type_name) = own.type_name.map(|name| self.function_id(name)).filter(|name| *name != stack[0]) {
                sample.extend(bytes_field(3, &[number_field(1, type_key), number_field(2, type_name)].concat()));
            }
            self.write_bytes_field(2, &sample)?;
        }
        Ok(())
    }
}

/// Groups of 7 bits, low ones first (<https://protobuf.dev/programming-guides/encoding/>).
fn push_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// Numbers one behind the other.
fn packed_varints(values: &[u64]) -> Vec<u8> {
    let mut message = Vec::new();
    values.iter().for_each(|&value| push_varint(&mut message, value));
    message
}

/// A field with a number.
fn number_field(field: u64, value: u64) -> Vec<u8> {
    packed_varints(&[field << 3, value])
}

/// A field with a text, a message or packed numbers.
fn bytes_field(field: u64, content: &[u8]) -> Vec<u8> {
    let mut message = packed_varints(&[field << 3 | 2, content.len() as u64]);
    message.extend_from_slice(content);
    message
}
