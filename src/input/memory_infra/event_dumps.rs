//! The `dumps` of a memory dump event: heaps in their two forms, and the memory map of the process.
//!
//! ```text
//! "heaps":{"malloc":{"entries":[{"size":"9860","count":"195","bt":""},{"size":"408","bt":"0","type":"1"},...]}}
//! "heaps_v2":{"version":1,
//!   "maps":{"strings":[{"id":1,"string":"main"}],"nodes":[{"id":8,"name_sid":7,"parent":6}],"types":[{"id":0,"name_sid":4}]},
//!   "allocators":{"malloc":{"counts":[..],"sizes":[..],"types":[..],"nodes":[..]}}}
//! ```
//!
//! `heaps_v2` are columns of what was allocated itself, with maps that later dumps of a process add to.

use rustc_hash::FxHashSet;

use super::raw_ids::RawEntry;
use crate::allocations::NameId;

/// The content of an event's `dumps`.
#[derive(Debug, Default)]
pub(super) struct EventDumps {
    /// `detailed`, `light` or `background`, as the trace has it.
    pub(super) level_of_detail: String,
    /// By allocator, in the order of the file.
    pub(super) heaps: Vec<(NameId, Vec<RawEntry>)>,
    pub(super) heaps_v2: Option<HeapsV2>,
    /// The memory map of the process.
    pub(super) regions: Vec<MappedRegion>,
}

impl EventDumps {
    pub(super) fn memory_bytes(&self) -> usize {
        // Lists have room for four rows at least.
        let room = |length: usize| if length == 0 { 0 } else { length.next_power_of_two().max(4) };
        let entries: usize = self.heaps.iter().map(|(_, entries)| room(entries.len())).sum();
        self.level_of_detail.len()
            + room(self.heaps.len()) * size_of::<(NameId, Vec<RawEntry>)>()
            // With half as much again for the tables that make a heap of them.
            + entries * size_of::<RawEntry>() * 3 / 2
            + self.heaps_v2.as_ref().map_or(0, HeapsV2::memory_bytes)
            + room(self.regions.len()) * size_of::<MappedRegion>()
    }
}

/// A region of the process's memory that a file is mapped into.
#[derive(Debug, Clone, Copy)]
pub(super) struct MappedRegion {
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) file: NameId,
}

/// The maps and columns of one event.
#[derive(Debug, Default)]
pub(super) struct HeapsV2 {
    pub(super) version: Option<u64>,
    /// (id, text)
    pub(super) strings: Vec<(u64, NameId)>,
    pub(super) nodes: Vec<NodeOrTypeRow>,
    /// (id, string id)
    pub(super) types: Vec<(u64, u64)>,
    pub(super) allocators: Vec<(NameId, EntryColumns)>,
}

/// A row of `nodes`: a node of the backtrace tree. Rows of `types` are read as such, too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodeOrTypeRow {
    pub(super) id: u64,
    pub(super) name_sid: u64,
    pub(super) parent: Option<u64>,
}

/// The entries of an allocator, in columns.
#[derive(Debug, Default)]
pub(super) struct EntryColumns {
    pub(super) counts: NumberColumn,
    pub(super) sizes: NumberColumn,
    pub(super) types: NumberColumn,
    pub(super) nodes: NumberColumn,
}

/// A column of numbers, some of whose rows may hold something else.
#[derive(Debug, Default)]
pub(super) struct NumberColumn {
    numbers: Vec<u64>,
    /// Rows that hold something else; they keep their places.
    non_numbers: FxHashSet<usize>,
}

impl HeapsV2 {
    /// Bytes of memory they take, with the tables that are made of them.
    fn memory_bytes(&self) -> usize {
        const TABLE_SLOT_BYTES: usize = 48;
        let rows = self.strings.len() + self.nodes.len() + self.types.len();
        let columns = self.allocators.iter().flat_map(|(_, columns)| {
            let EntryColumns { counts, sizes, types, nodes } = columns;
            [counts, sizes, types, nodes]
                .map(|column| 8 * column.numbers.capacity() + 16 * column.non_numbers.capacity())
        });
        rows * (size_of::<NodeOrTypeRow>() + TABLE_SLOT_BYTES)
            + self.allocators.len() * size_of::<(NameId, EntryColumns)>()
            + columns.sum::<usize>()
    }
}

impl NumberColumn {
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The number in a row; `None` for other things, and behind the end.
    pub(super) fn at(&self, row: usize) -> Option<u64> {
        let number = self.numbers.get(row).copied();
        if self.non_numbers.is_empty() || !self.non_numbers.contains(&row) { number } else { None }
    }

    pub(super) fn push(&mut self, number: Option<u64>) {
        if number.is_none() {
            self.non_numbers.insert(self.numbers.len());
        }
        self.numbers.push(number.unwrap_or(0));
    }

    pub(super) fn extend(&mut self, numbers: Vec<u64>) {
        self.numbers.extend(numbers);
    }
}
