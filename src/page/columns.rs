//! Data for the page's script: columns, of as many rows as the budgets allow.

use std::collections::BTreeMap;
use std::iter::once;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::prune::RowBudget;
use crate::answers::Figure;
use crate::answers::histogram::HistogramRow;
use crate::units::{ColumnUnit, saturating_signed};

/// Rows that stand on the page; the rest is added up.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageBudgets {
    pub(super) map_rows: RowBudget,
    pub(super) object_rows: RowBudget,
    pub(super) type_row_count: usize,
    /// Bytes of the names of types.
    pub(super) type_name_bytes: usize,
    pub(super) group_row_count: usize,
    pub(super) grown_type_count: usize,
    pub(super) shrunk_type_count: usize,
    pub(super) path_count: usize,
}

impl Default for PageBudgets {
    fn default() -> Self {
        PageBudgets {
            map_rows: RowBudget { rows: 1500, children_per_row: 200 },
            object_rows: RowBudget { rows: 3500, children_per_row: 200 },
            type_row_count: 4000,
            type_name_bytes: 450_000,
            group_row_count: 600,
            grown_type_count: 600,
            shrunk_type_count: 100,
            path_count: 100,
        }
    }
}

impl PageBudgets {
    /// Fewer objects first, then fewer types, then less of everything; `None` when there is nothing left to take.
    pub(super) fn smaller(&self) -> Option<Self> {
        let mut next = *self;
        if next.object_rows.rows > 400 {
            next.object_rows.rows /= 2;
        } else if next.type_row_count > 100 {
            next.type_row_count /= 2;
            next.type_name_bytes /= 2;
        } else if next.map_rows.rows > 100 {
            next.map_rows.rows /= 2;
            next.path_count /= 2;
            next.grown_type_count /= 2;
        } else {
            return None;
        }
        Some(next)
    }
}

/// The data that the page's script reads.
#[derive(Serialize, Default)]
pub(super) struct PageData {
    pub(super) file: String,
    /// Options of every command.
    #[serde(rename = "words")]
    pub(super) command_options: Vec<String>,
    pub(super) reachable_bytes: u64,
    /// Names of types; the columns have their numbers.
    pub(super) names: Vec<String>,
    /// By name: letters of the namespace, and the class, where that is not what stands behind the last dot.
    pub(super) classes: BTreeMap<usize, (usize, String)>,
    /// By name a letter: whose the type is, or that it is plain data.
    pub(super) kinds: String,
    pub(super) types: FigureTable<u32>,
    pub(super) groups: Vec<GroupColumns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) growth: Option<FigureTable<u32>>,
    pub(super) maps: Vec<MapColumns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) objects: Option<LargestObjectColumns>,
    /// By row of the largest objects: why it is alive.
    pub(super) paths: BTreeMap<usize, PathData>,
    /// By suspect a text for a ticket, as Markdown.
    pub(super) tickets: Vec<String>,
    /// Rows that stand in no column, for the sections' words.
    #[serde(skip)]
    pub(super) left_out: LeftOutRows,
}

/// Rows that have no room on the page, added up.
#[derive(Debug, Default)]
pub(super) struct LeftOutRows {
    pub(super) type_count: u64,
    pub(super) object_count_of_types: u64,
    pub(super) bytes_of_types: u64,
    pub(super) grown_type_count: u64,
}

/// Rows with a name and figures; the script reads them by column.
#[derive(Default)]
pub(super) struct FigureTable<N> {
    /// The first is the one that bars are of.
    pub(super) figures: Vec<Figure>,
    /// So many of them, the first, say by how much something grew.
    pub(super) growth_column_count: usize,
    pub(super) rows: Vec<(N, Vec<Option<i64>>)>,
}

impl<N> FigureTable<N> {
    pub(super) fn new(rows: &[HistogramRow], figures: &[Figure], mut name: impl FnMut(&HistogramRow) -> N) -> Self {
        let figures_of =
            |row: &HistogramRow| figures.iter().map(|&figure| row.figure(figure).map(saturating_signed)).collect();
        let rows = rows.iter().map(|row| (name(row), figures_of(row))).collect();
        FigureTable { figures: figures.to_vec(), growth_column_count: 0, rows }
    }

    /// The heads of its columns: bars, figures, and the names.
    pub(super) fn heads<'h>(&self, title: &'h str) -> Vec<&'h str> {
        let titles = self.figures.iter().map(|figure| figure.title);
        once("").chain(titles).chain(once(title)).collect()
    }
}

impl<N: Serialize> Serialize for FigureTable<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns = serializer.serialize_map(None)?;
        let kinds = self.figures.iter().zip(0..);
        let kinds = kinds
            .map(|(figure, at)| (figure.sort_word, figure.unit == ColumnUnit::Bytes, at < self.growth_column_count));
        columns.serialize_entry("figures", &kinds.collect::<Vec<_>>())?;
        columns.serialize_entry("name", &self.rows.iter().map(|(name, _)| name).collect::<Vec<_>>())?;
        for (at, figure) in self.figures.iter().enumerate() {
            let values: Vec<Option<i64>> = self.rows.iter().map(|(_, figures)| figures[at]).collect();
            columns.serialize_entry(figure.sort_word, &values)?;
        }
        columns.end()
    }
}

#[derive(Serialize)]
pub(super) struct GroupColumns {
    /// The address of its section, and what its rows are called.
    pub(super) noun: &'static str,
    #[serde(flatten)]
    pub(super) table: FigureTable<String>,
}

/// A tree of names: the first row is the whole.
#[derive(Serialize, Default)]
pub(super) struct MapColumns {
    pub(super) title: String,
    pub(super) noun: &'static str,
    pub(super) minimum_bytes: u64,
    /// -1 for what adds up others.
    pub(super) name: Vec<i64>,
    pub(super) parent: Vec<i64>,
    pub(super) bytes: Vec<u64>,
    pub(super) objects: Vec<Option<u64>>,
    /// By row: how many rows it adds up.
    pub(super) hidden: BTreeMap<usize, u64>,
    /// By row: objects of the longest chain folded into it.
    pub(super) deep: BTreeMap<usize, u64>,
    /// By row: the suspect that it shows, from 1.
    pub(super) marks: BTreeMap<usize, usize>,
    /// By row that is one object: its id.
    pub(super) ids: BTreeMap<usize, String>,
    /// By row that is one object: the name of the reference by which it is held.
    pub(super) references: BTreeMap<usize, String>,
}

/// The largest objects of the dominator tree, as a tree; the script reads them by column.
#[derive(Serialize, Default)]
pub(super) struct LargestObjectColumns {
    pub(super) id: Vec<String>,
    /// -1 for what adds up others.
    pub(super) name: Vec<i64>,
    pub(super) parent: Vec<i64>,
    pub(super) shallow: Vec<Option<u64>>,
    pub(super) retained: Vec<u64>,
    pub(super) objects: Vec<u64>,
    /// By row that stands for a run of objects, one below the other: how many they are. Its shallow bytes are theirs.
    pub(super) runs: BTreeMap<usize, u64>,
    /// By row: the name of the reference by which its object is held.
    pub(super) references: BTreeMap<usize, String>,
    /// By row: what its object says of itself, where the dump knows.
    pub(super) said: BTreeMap<usize, String>,
    #[serde(skip)]
    pub(super) minimum_bytes: u64,
}

/// A path that keeps an object alive.
#[derive(Serialize)]
pub(super) struct PathData {
    pub(super) root: String,
    /// Id, name, whether all paths lead through it, and how the object before refers to it; a gap has no name.
    pub(super) steps: Vec<(String, i64, u8, String)>,
}
