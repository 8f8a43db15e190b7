//! The tables of allocation totals. `allocation_heaps`: a row for each heap of a dump, of all its moments.
//! `allocation_paths`: a row for each backtrace that holds at least a thousandth of its heap, everything below it included,
//! and a row for each type that does there.

use std::io::Write;

use parquet::data_type::ByteArray;

use super::TableName;
use super::error::TableError;
use super::parquet_table::{ParquetColumn, to_byte_array, to_i32, to_i64, write_table};
use crate::allocations::{AllocationDump, AllocationHeap, NameId};
use crate::analysis::allocation_totals::{AllocationAmount, AllocationTotals, TotalsOptions};
use crate::analysis::heap_total::AllocationHeapTotal;
use crate::analysis::threshold::{Percent, Threshold};
use crate::answers::AnswerError;
use crate::answers::allocation_heaps::{heap_title, process_title_of};
use crate::answers::tree::MAX_DEPTH;
use crate::dump::{MemoryError, OpenDump};

/// Writes `allocation_heaps`. O(pairs of backtrace and type), a heap after the other.
pub(super) fn write_heaps<W: Write + Send>(dump: &AllocationDump, id: &ByteArray, out: W) -> Result<W, TableError> {
    let heaps = &dump.heaps;
    let mut totals = Vec::with_capacity(heaps.len());
    for heap in heaps {
        let total = AllocationHeapTotal::compute(heap);
        if total.left_out_pair_count > 0 {
            return Err(AnswerError::TooManyBacktraceTypePairs(heap_title(heap)).into());
        }
        totals.push(total.total);
    }
    let columns = [
        ParquetColumn::constant("dump", id),
        ParquetColumn::new("heap", |row| to_i32(row + 1)),
        ParquetColumn::new("moment", |row| to_i32(heaps[row].dump_number)),
        ParquetColumn::new("pid", |row| heaps[row].pid),
        ParquetColumn::new("process", |row| to_byte_array(&process_title_of(&heaps[row]))),
        ParquetColumn::new("allocator", |row| to_byte_array(&heaps[row].allocator_name)),
        ParquetColumn::new("total_bytes", |row| to_i64(totals[row].bytes)),
        ParquetColumn::new("allocations", |row| totals[row].allocations.map(to_i64)),
    ];
    Ok(write_table(out, TableName::AllocationHeaps, heaps.len(), &columns)?)
}

/// Memory for a node or an entry, in the totals by node.
const MEMORY_BYTES_PER_ROW: u64 = 720;

struct AllocationPathRow {
    heap_number: usize,
    path: String,
    depth: usize,
    /// `None` for all types together.
    type_name: Option<NameId>,
    amount: AllocationAmount,
}

/// Writes `allocation_paths`. O(pairs of backtrace and type), memory for those of one heap.
pub(super) fn write_paths<W: Write + Send>(
    open: &OpenDump,
    dump: &AllocationDump,
    id: &ByteArray,
    out: W,
) -> Result<W, TableError> {
    let mut rows = Vec::new();
    let mut row_bytes = 0;
    for (number, heap) in dump.heaps.iter().enumerate() {
        let needed =
            (heap.frame_and_entry_count() as u64).saturating_mul(MEMORY_BYTES_PER_ROW).saturating_add(row_bytes);
        open.check_rows_memory(1, needed)?;
        let first = rows.len();
        add_path_rows(number + 1, heap, dump, &mut rows, |bytes| {
            open.check_rows_memory(1, needed.saturating_add(bytes))
        })?;
        let own = &mut rows[first..];
        own.sort_by(|a: &AllocationPathRow, b: &AllocationPathRow| {
            (&a.path, row_type_name(dump, a)).cmp(&(&b.path, row_type_name(dump, b)))
        });
        row_bytes += own.iter().map(|row| row.path.len() as u64).sum::<u64>();
    }
    let columns = [
        ParquetColumn::constant("dump", id),
        ParquetColumn::new("heap", |row| to_i32(rows[row].heap_number)),
        ParquetColumn::new("path", |row| to_byte_array(&rows[row].path)).prefix_encoded(),
        ParquetColumn::new("depth", |row| to_i32(rows[row].depth)),
        ParquetColumn::new("type", |row| row_type_name(dump, &rows[row]).map(to_byte_array)),
        ParquetColumn::new("bytes", |row| to_i64(rows[row].amount.bytes)),
        ParquetColumn::new("allocations", |row| rows[row].amount.allocations.map(to_i64)),
    ];
    Ok(write_table(out, TableName::AllocationPaths, rows.len(), &columns)?)
}

fn row_type_name<'d>(dump: &'d AllocationDump, row: &AllocationPathRow) -> Option<&'d str> {
    row.type_name.map(|name| dump.names.text(name))
}

fn add_path_rows(
    number: usize,
    heap: &AllocationHeap,
    dump: &AllocationDump,
    rows: &mut Vec<AllocationPathRow>,
    check_memory: impl Fn(u64) -> Result<(), MemoryError>,
) -> Result<(), TableError> {
    let totals =
        AllocationTotals::compute(heap, &TotalsOptions { max_depth: u32::MAX, is_by_type: true, is_type_wanted: None });
    if totals.left_out_pair_count > 0 {
        return Err(AnswerError::TooManyBacktraceTypePairs(heap_title(heap)).into());
    }
    let least = Threshold::Share(Percent::PER_MILLE).min_bytes_of(totals.total_at(0).bytes).max(1);
    // Rows of the backtraces above, by frame; what is above holds as much at least, unless the dump says otherwise.
    let mut paths: Vec<Option<(String, usize)>> = vec![None; heap.frames.len()];
    let mut path_bytes = 0u64;
    for (at, frame) in heap.frames.iter().enumerate().skip(1) {
        // What a frame has itself is what its callees leave of it, in every heap.
        if frame.is_self_cost() || totals.total_at(at as u32).bytes < least {
            continue;
        }
        let own = dump.names.text(frame.name);
        let path = match &paths[frame.parent() as usize] {
            Some((above, depth)) => (format!("{above} > {own}"), depth + 1),
            None if frame.parent() == 0 => (own.to_string(), 0),
            None => continue,
        };
        // A path repeats the names above it.
        if path.1 >= MAX_DEPTH as usize {
            continue;
        }
        let types = totals.type_amounts_at(at as u32).iter().filter(|amount| amount.total.bytes >= least);
        path_bytes += (path.0.len() as u64).saturating_mul(2 + types.clone().count() as u64);
        check_memory(path_bytes)?;
        let row = |type_name, amount| AllocationPathRow {
            heap_number: number,
            path: path.0.clone(),
            depth: path.1,
            type_name,
            amount,
        };
        rows.push(row(None, totals.total_at(at as u32)));
        rows.extend(types.map(|amount| row(Some(amount.type_name), amount.total)));
        paths[at] = Some(path);
    }
    Ok(())
}
