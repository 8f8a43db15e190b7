//! `heaps_v2`: columns of what was allocated itself, with maps that later dumps of a process add to.
//!
//! ```text
//! "heaps_v2":{"version":1,
//!   "maps":{"strings":[{"id":1,"string":"main"}],"nodes":[{"id":8,"name_sid":7,"parent":6}],"types":[{"id":0,"name_sid":4}]},
//!   "allocators":{"malloc":{"counts":[..],"sizes":[..],"types":[..],"nodes":[..]}}}
//! ```

use serde::de::{MapAccess, SeqAccess};

use super::values::{Element, Elements, Id, Member, Members, Number, Scalar, ignore};
use crate::allocations::{NameId, Names};

/// The maps and columns of one event.
#[derive(Default)]
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
#[derive(Clone, Copy)]
pub(super) struct NodeRow {
    pub(super) id: u64,
    pub(super) name_sid: u64,
    pub(super) parent: Option<u64>,
}

/// The columns of an allocator. What is no number stands as `None`, so that the rows keep their places.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) counts: Vec<Option<u64>>,
    pub(super) sizes: Vec<Option<u64>>,
    pub(super) types: Vec<Option<u64>>,
    pub(super) nodes: Vec<Option<u64>>,
}

pub(super) struct HeapsV2Reader<'a> {
    pub(super) heaps: &'a mut HeapsV2,
    pub(super) names: &'a mut Names,
}

impl Member for HeapsV2Reader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let (heaps, names) = (&mut *self.heaps, &mut *self.names);
        match key {
            "version" => heaps.version = map.next_value_seed(Scalar(Number))?,
            "maps" => map.next_value_seed(Members(&mut MapsReader { heaps, names }))?,
            "allocators" => {
                map.next_value_seed(Members(&mut AllocatorsReader { allocators: &mut heaps.allocators, names }))?;
            }
            _ => ignore(map)?,
        }
        Ok(())
    }
}

struct MapsReader<'a> {
    heaps: &'a mut HeapsV2,
    names: &'a mut Names,
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
        map.next_value_seed(Elements(RowsReader { heaps, names: self.names, row }))
    }
}

struct RowsReader<'a> {
    heaps: &'a mut HeapsV2,
    names: &'a mut Names,
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
            "string" => self.row.string = map.next_value_seed(Scalar(Id(self.names)))?,
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
}

impl Member for AllocatorsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let mut columns = Columns::default();
        let read = map.next_value_seed(Members(&mut ColumnsReader(&mut columns)));
        self.allocators.push((self.names.intern(key), columns));
        read
    }
}

struct ColumnsReader<'a>(&'a mut Columns);

impl Member for ColumnsReader<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let column = match key {
            "counts" => &mut self.0.counts,
            "sizes" => &mut self.0.sizes,
            "types" => &mut self.0.types,
            "nodes" => &mut self.0.nodes,
            _ => return ignore(map),
        };
        map.next_value_seed(Elements(NumbersReader(column)))
    }
}

struct NumbersReader<'a>(&'a mut Vec<Option<u64>>);

impl Element for NumbersReader<'_> {
    fn next<'de, A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<Option<()>, A::Error> {
        Ok(seq.next_element_seed(Scalar(Number))?.map(|value| self.0.push(value)))
    }
}
