//! `heaps_v2`: columns of what was allocated itself, with maps that later dumps of a process add to.
//!
//! ```text
//! "heaps_v2":{"version":1,
//!   "maps":{"strings":[{"id":1,"string":"main"}],"nodes":[{"id":8,"name_sid":7,"parent":6}],"types":[{"id":0,"name_sid":4}]},
//!   "allocators":{"malloc":{"counts":[..],"sizes":[..],"types":[..],"nodes":[..]}}}
//! ```

use rustc_hash::FxHashSet;
use serde::de::{MapAccess, SeqAccess};

use super::extract::{ExtractedArray, ExtractedArrays};
use super::values::{Element, Elements, Member, Members, Name, Number, Scalar, ignore};
use crate::allocations::{NameId, Names};

/// The maps and columns of one event.
#[derive(Debug, Default)]
pub(super) struct HeapsV2 {
    pub(super) version: Option<u64>,
    /// (id, text)
    pub(super) strings: Vec<(u64, NameId)>,
    pub(super) nodes: Vec<NodeRow>,
    /// (id, string id)
    pub(super) types: Vec<(u64, u64)>,
    pub(super) allocators: Vec<(NameId, Columns)>,
}

/// A node of the backtrace tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodeRow {
    pub(super) id: u64,
    pub(super) name_sid: u64,
    pub(super) parent: Option<u64>,
}

/// The columns of an allocator.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) counts: Column,
    pub(super) sizes: Column,
    pub(super) types: Column,
    pub(super) nodes: Column,
}

/// A column of numbers.
#[derive(Debug, Default)]
pub(super) struct Column {
    numbers: Vec<u64>,
    /// Rows that hold something else; they keep their places.
    other: FxHashSet<usize>,
}

impl HeapsV2 {
    /// Bytes of memory they take, with the tables that are made of them.
    pub(super) fn memory_bytes(&self) -> usize {
        const PLACE_BYTES: usize = 48;
        let rows = self.strings.len() + self.nodes.len() + self.types.len();
        let columns = self.allocators.iter().flat_map(|(_, columns)| {
            [&columns.counts, &columns.sizes, &columns.types, &columns.nodes].map(Column::memory_bytes)
        });
        rows * (size_of::<NodeRow>() + PLACE_BYTES)
            + self.allocators.len() * size_of::<(NameId, Columns)>()
            + columns.sum::<usize>()
    }
}

impl Column {
    fn memory_bytes(&self) -> usize {
        8 * self.numbers.capacity() + 16 * self.other.capacity()
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The number in a row; `None` for other things, and behind the end.
    pub(super) fn at(&self, row: usize) -> Option<u64> {
        let number = self.numbers.get(row).copied();
        if self.other.is_empty() || !self.other.contains(&row) { number } else { None }
    }

    fn push(&mut self, number: Option<u64>) {
        if number.is_none() {
            self.other.insert(self.numbers.len());
        }
        self.numbers.push(number.unwrap_or(0));
    }
}

pub(super) struct HeapsV2Reader<'a> {
    pub(super) heaps: &'a mut HeapsV2,
    pub(super) names: &'a mut Names,
    pub(super) arrays: &'a mut ExtractedArrays,
}

impl Member for HeapsV2Reader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let (heaps, names, arrays) = (&mut *self.heaps, &mut *self.names, &mut *self.arrays);
        match key {
            "version" => heaps.version = map.next_value_seed(Scalar(Number))?,
            "maps" => map.next_value_seed(Members(&mut MapsReader { heaps, names, arrays }))?,
            "allocators" => {
                let allocators = &mut heaps.allocators;
                map.next_value_seed(Members(&mut AllocatorsReader { allocators, names, arrays }))?;
            }
            _ => ignore(map)?,
        }
        Ok(())
    }
}

struct MapsReader<'a> {
    heaps: &'a mut HeapsV2,
    names: &'a mut Names,
    arrays: &'a mut ExtractedArrays,
}

impl Member for MapsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let heaps = &mut *self.heaps;
        let row: fn(&mut HeapsV2, &Row) = match key {
            "strings" => |heaps, row| heaps.strings.extend(row.id.zip(row.string)),
            "nodes" => |heaps, row| {
                if let (Some(id), Some(name_sid)) = (row.id, row.name_sid) {
                    heaps.nodes.push(NodeRow { id, name_sid, parent: row.parent });
                }
            },
            "types" => |heaps, row| heaps.types.extend(row.id.zip(row.name_sid)),
            _ => return ignore(map),
        };
        map.next_value_seed(Elements(RowsReader { heaps, names: self.names, arrays: self.arrays, row }))
    }
}

struct RowsReader<'a> {
    heaps: &'a mut HeapsV2,
    names: &'a mut Names,
    arrays: &'a mut ExtractedArrays,
    row: fn(&mut HeapsV2, &Row),
}

impl Element for RowsReader<'_> {
    fn next<'de, A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<Option<()>, A::Error> {
        let mut reader = RowReader { row: Row::default(), names: self.names };
        let found = seq.next_element_seed(Members(&mut reader))?;
        if found.is_some() {
            (self.row)(self.heaps, &reader.row);
        }
        Ok(found)
    }

    fn on_placeholder(&mut self, number: u64) {
        match self.arrays.take(number) {
            Some(ExtractedArray::Strings(texts)) => {
                for (id, text) in texts.iter() {
                    let row = Row { id: Some(id), string: Some(self.names.intern(text)), ..Row::default() };
                    (self.row)(self.heaps, &row);
                }
            }
            Some(ExtractedArray::Rows(rows)) => {
                for (id, name_sid, parent) in rows {
                    (self.row)(self.heaps, &Row { id: Some(id), string: None, name_sid: Some(name_sid), parent });
                }
            }
            _ => {}
        }
    }
}

/// A row of any of the three maps.
#[derive(Default)]
struct Row {
    id: Option<u64>,
    string: Option<NameId>,
    name_sid: Option<u64>,
    parent: Option<u64>,
}

struct RowReader<'a> {
    row: Row,
    names: &'a mut Names,
}

impl Member for RowReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "id" => self.row.id = map.next_value_seed(Scalar(Number))?,
            "string" => self.row.string = map.next_value_seed(Scalar(Name(self.names)))?,
            "name_sid" => self.row.name_sid = map.next_value_seed(Scalar(Number))?,
            "parent" => self.row.parent = map.next_value_seed(Scalar(Number))?,
            _ => ignore(map)?,
        }
        Ok(())
    }
}

struct AllocatorsReader<'a> {
    allocators: &'a mut Vec<(NameId, Columns)>,
    names: &'a mut Names,
    arrays: &'a mut ExtractedArrays,
}

impl Member for AllocatorsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let mut columns = Columns::default();
        let read = map.next_value_seed(Members(&mut ColumnsReader { columns: &mut columns, arrays: self.arrays }));
        self.allocators.push((self.names.intern(key), columns));
        read
    }
}

struct ColumnsReader<'a> {
    columns: &'a mut Columns,
    arrays: &'a mut ExtractedArrays,
}

impl Member for ColumnsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let column = match key {
            "counts" => &mut self.columns.counts,
            "sizes" => &mut self.columns.sizes,
            "types" => &mut self.columns.types,
            "nodes" => &mut self.columns.nodes,
            _ => return ignore(map),
        };
        map.next_value_seed(Elements(NumbersReader { column, arrays: self.arrays }))
    }
}

struct NumbersReader<'a> {
    column: &'a mut Column,
    arrays: &'a mut ExtractedArrays,
}

impl Element for NumbersReader<'_> {
    fn next<'de, A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<Option<()>, A::Error> {
        Ok(seq.next_element_seed(Scalar(Number))?.map(|value| self.column.push(value)))
    }

    fn on_placeholder(&mut self, number: u64) {
        if let Some(ExtractedArray::Numbers(numbers)) = self.arrays.take(number) {
            self.column.numbers.extend(numbers);
        }
    }
}
