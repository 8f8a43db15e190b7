//! Stacks of allocation totals, with what was allocated right there: what folded lines and flame graphs are made of.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::ExportError;
use super::memory_infra::MEMORY_BYTES_PER_ROW;
use super::pprof::own_amounts;
use crate::allocations::AllocationDump;
use crate::analysis::frame_totals::AmountsByFrame;
use crate::analysis::threshold::Threshold;
use crate::answers::AllocationHeapChoice;
use crate::answers::allocation_heaps::{check_totals_memory, heap_title};
use crate::dump::OpenDump;
use crate::escape::escape_folded_frame;

/// Paths `A;B;C` with the bytes that were allocated there, by name.
pub(super) struct StackPaths {
    bytes_by_path: BTreeMap<String, u64>,
    /// Bytes of all paths together.
    pub(super) total_bytes: u64,
}

impl StackPaths {
    /// The paths of the heaps that are chosen; of several heaps each begins with the heap's title. A type that the last frame does not
    /// say is the last one. What is deeper than `max_depth`, or less than `min_size`, counts for the path above. O(entries x depth).
    ///
    /// # Errors
    /// When there are no such heaps, or not the memory.
    pub(super) fn new(
        dump: &OpenDump,
        allocations: &AllocationDump,
        heaps: &AllocationHeapChoice,
        max_depth: usize,
        min_size: Threshold,
    ) -> Result<Self, ExportError> {
        let heaps = heaps.choose(allocations)?.heaps;
        check_totals_memory(dump, &heaps, MEMORY_BYTES_PER_ROW)?;
        let amounts: Vec<AmountsByFrame> = heaps.iter().map(|heap| AmountsByFrame::compute(heap)).collect();
        let whole = amounts.iter().fold(0u64, |sum, amounts| sum.saturating_add(amounts.total().bytes));
        let least = min_size.min_bytes_of(whole);
        let text = |name| escape_folded_frame(allocations.names.text(name));
        let mut paths = StackPaths { bytes_by_path: BTreeMap::new(), total_bytes: whole };
        for (heap, amounts) in heaps.iter().zip(&amounts) {
            let title = (heaps.len() > 1).then(|| escape_folded_frame(&heap_title(heap)));
            for own in own_amounts(heap).iter().filter(|own| own.bytes > 0) {
                let mut at = own.frame;
                while at != 0 && amounts.cum_bytes(at) < least {
                    at = heap.frames.parent(at);
                }
                let is_whole = at == own.frame;
                let mut names = Vec::new();
                while at != 0 {
                    let frame = heap.frames.get(at);
                    // What a caller allocated itself is no function.
                    names.extend((!frame.is_self_cost()).then(|| text(frame.name)));
                    at = frame.parent();
                }
                names.extend(title.clone());
                names.reverse();
                let is_cut = names.len() > max_depth;
                names.truncate(max_depth);
                let type_name = own.type_name.map(text).filter(|name| names.last() != Some(name));
                names.extend(type_name.filter(|_| is_whole && !is_cut));
                let path = match (names.is_empty(), is_whole) {
                    (false, _) => names.join(";"),
                    (true, true) => "(no stack)".into(),
                    (true, false) => "<smaller>".into(),
                };
                let bytes = paths.bytes_by_path.entry(path).or_default();
                *bytes = bytes.saturating_add(own.bytes);
            }
        }
        Ok(paths)
    }

    pub(super) fn frame_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.bytes_by_path.keys().flat_map(|path| path.split(';')).map(String::from).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.bytes_by_path.iter().try_for_each(|(path, bytes)| writeln!(out, "{path} {bytes}"))
    }
}
