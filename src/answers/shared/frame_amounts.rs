//! Amounts by the names of frames, of several heaps together: what functions, lines, files or modules allocated themselves,
//! and with all that they called.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::allocation_heaps::{HeapRow, check_totals_memory, heap_title};
use super::{AnswerError, GroupBy};
use crate::allocations::{AllocationDump, AllocationHeap, FrameNaming, NameId};
use crate::analysis::allocation_totals::AllocationAmount;
use crate::analysis::frame_totals::{AmountsByFrame, FlatAndCum, cum_bytes_of_names, totals_by_frame_name};
use crate::analysis::type_patterns::TypePattern;
use crate::dump::OpenDump;

/// Memory for a node or an entry where figures include what is below: in the totals by node, and those by name.
const MEMORY_BYTES_PER_ROW: u64 = 400;
/// The name of what has no stack.
const NO_STACK_NAME: &str = "(no stack)";

/// Amounts of heaps.
pub(in crate::answers) struct FrameAmounts<'d> {
    /// All there is.
    pub(in crate::answers) total: AllocationAmount,
    pub(in crate::answers) by_name: BTreeMap<&'d str, FlatAndCum>,
    pub(in crate::answers) heaps: Vec<HeapRow>,
    /// By pattern: bytes on stacks that have a name that matches, each stack once.
    pub(in crate::answers) cum_bytes_of_patterns: Vec<u64>,
}

impl<'d> FrameAmounts<'d> {
    /// The amounts. O(frames + entries), and O(frames) for each pattern. Error: if frames are named by something else, or there
    /// is no memory.
    pub(in crate::answers) fn compute<'p>(
        dump: &OpenDump,
        allocations: &'d AllocationDump,
        heaps: &[&AllocationHeap],
        frame_names: FrameNaming,
        patterns: impl Iterator<Item = &'p TypePattern> + Clone,
    ) -> Result<Self, AnswerError> {
        if allocations.frame_naming != frame_names {
            let by = GroupBy::of_frames(frame_names);
            return Err(AnswerError::NoSuchGroups(by, "more of frames than their functions"));
        }
        check_totals_memory(dump, heaps, MEMORY_BYTES_PER_ROW)?;
        let mut amounts = FrameAmounts {
            total: AllocationAmount::default(),
            by_name: BTreeMap::new(),
            heaps: Vec::new(),
            cum_bytes_of_patterns: vec![0; patterns.clone().count()],
        };
        for heap in heaps {
            let totals = AmountsByFrame::compute(heap);
            if totals.left_out_pair_count > 0 {
                return Err(AnswerError::TooManyBacktraceTypePairs(heap_title(heap)));
            }
            let total = totals.total();
            amounts.total.add(total.bytes, total.allocations);
            amounts.heaps.push(HeapRow::new(heap, &total));
            for (name, of_name) in totals_by_frame_name(heap, &totals) {
                let name = Some(allocations.names.text(name)).filter(|name| !name.is_empty()).unwrap_or(NO_STACK_NAME);
                amounts.by_name.entry(name).or_default().add_amounts(&of_name);
            }
            for (bytes, pattern) in amounts.cum_bytes_of_patterns.iter_mut().zip(patterns.clone()) {
                let mut known: FxHashMap<NameId, bool> = FxHashMap::default();
                let matches =
                    |name: NameId| *known.entry(name).or_insert_with(|| pattern.matches(allocations.names.text(name)));
                *bytes = bytes.saturating_add(cum_bytes_of_names(heap, &totals, matches));
            }
        }
        let is_there =
            |FlatAndCum { cum, .. }: &mut FlatAndCum| cum.bytes > 0 || cum.allocations.is_some_and(|count| count > 0);
        amounts.by_name.retain(|_, of_name| is_there(of_name));
        Ok(amounts)
    }
}
