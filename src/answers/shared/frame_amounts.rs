//! Amounts by the names of frames, of several heaps together: what functions, lines, files or modules allocated themselves,
//! and with all that they called.

use std::collections::BTreeMap;

use super::heaps::{HeapRow, heap_title};
use super::{AnswerError, GroupBy};
use crate::allocations::{AllocationDump, AllocationHeap, FrameNames};
use crate::analysis::allocation_totals::{AllocationAmount, AllocationTotals, TotalsOptions};
use crate::analysis::frame_totals::{FlatAndCum, totals_by_frame_name};
use crate::dump::OpenDump;

/// Memory for a node or an entry: in the totals by node, and those by name.
const BYTES_PER_ROW: u64 = 400;
/// The name of what has no stack.
const NO_STACK: &str = "(no stack)";

/// Totals, amounts by name, and the heaps they are of.
type FrameAmounts<'d> = (AllocationAmount, BTreeMap<&'d str, FlatAndCum>, Vec<HeapRow>);

/// The amounts. O(frames + entries). Error: if frames are named by something else, or there is no memory.
pub(in crate::answers) fn amounts_by_frame_name<'d>(
    dump: &OpenDump,
    allocations: &'d AllocationDump,
    heaps: &[&AllocationHeap],
    frame_names: FrameNames,
) -> Result<FrameAmounts<'d>, AnswerError> {
    if allocations.frame_names != frame_names {
        let by = [GroupBy::Function, GroupBy::Line, GroupBy::File, GroupBy::Module];
        let by = by.into_iter().find(|by| by.frame_names() == Some(frame_names)).unwrap_or_default();
        return Err(AnswerError::NoSuchGroups(by, "more of frames than their functions"));
    }
    let rows: usize = heaps.iter().map(|heap| heap.row_count()).sum();
    dump.check_rows(rows as u64, BYTES_PER_ROW)?;
    let (mut whole, mut by_name, mut heap_rows) = (AllocationAmount::default(), BTreeMap::new(), Vec::new());
    for heap in heaps {
        let totals = AllocationTotals::compute(heap, &TotalsOptions::WHOLE);
        if totals.pairs_left_out > 0 {
            return Err(AnswerError::TooManyPairs(heap_title(heap)));
        }
        let total = totals.total_at(0);
        whole.add(total.bytes, total.allocations);
        heap_rows.push(HeapRow::new(heap, &total));
        for (name, amounts) in totals_by_frame_name(heap, &totals) {
            let name = Some(allocations.names.text(name)).filter(|name| !name.is_empty()).unwrap_or(NO_STACK);
            by_name.entry(name).or_insert_with(FlatAndCum::default).add(&amounts);
        }
    }
    by_name.retain(|_, FlatAndCum { cum, .. }| cum.bytes > 0 || cum.allocations.is_some_and(|count| count > 0));
    Ok((whole, by_name, heap_rows))
}
