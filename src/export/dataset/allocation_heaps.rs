//! `allocation_heaps`: a row for each heap of a dump of allocation totals, of all its moments.

use std::io::Write;

use parquet::data_type::ByteArray;

use super::TableName;
use super::error::TableError;
use super::table::{ParquetColumn, signed, small, text_of, write_table};
use crate::allocations::AllocationDump;
use crate::analysis::heap_total::HeapTotal;
use crate::answers::AnswerError;
use crate::answers::heaps::{process_title_of, title_of};

/// Writes the table. O(pairs of backtrace and type), a heap after the other.
pub(super) fn write<W: Write + Send>(dump: &AllocationDump, id: &ByteArray, out: W) -> Result<W, TableError> {
    let heaps = &dump.heaps;
    let mut totals = Vec::with_capacity(heaps.len());
    for heap in heaps {
        let total = HeapTotal::compute(heap);
        if total.pairs_left_out > 0 {
            return Err(AnswerError::TooManyPairs(title_of(heap)).into());
        }
        totals.push(total.total);
    }
    let columns = [
        ParquetColumn::constant("dump", id),
        ParquetColumn::new("heap", |row| small(row + 1)),
        ParquetColumn::new("moment", |row| small(heaps[row].dump)),
        ParquetColumn::new("pid", |row| heaps[row].pid),
        ParquetColumn::new("process", |row| text_of(&process_title_of(&heaps[row]))),
        ParquetColumn::new("allocator", |row| text_of(&heaps[row].allocator)),
        ParquetColumn::new("total_bytes", |row| signed(totals[row].bytes)),
        ParquetColumn::new("allocations", |row| totals[row].allocations.map(signed)),
    ];
    Ok(write_table(out, TableName::AllocationHeaps, heaps.len(), &columns)?)
}
