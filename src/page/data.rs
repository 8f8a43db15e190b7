//! What the page says: answers asked once, and the columns that its script reads.

use std::collections::BTreeMap;

use serde::Serialize;

use super::PageOptions;
use super::growth::{GrowthColumns, growth_by_path, growth_by_type, growth_columns};
use super::names::{Meaning, NameTable, shown};
use super::prune::Budget;
use super::trees::HeapSource;
use crate::answers::biggest::{Biggest, ReasonsAlive, biggest, reasons_alive};
use crate::answers::breakdown::{Breakdown, BreakdownOptions, HeapOrSection};
use crate::answers::diff::Diff;
use crate::answers::histogram::{HistogramOrder, HistogramRow, RowAmount, Totals};
use crate::answers::leaks::Leaks;
use crate::answers::libraries::LibraryNames;
use crate::answers::type_map::{TypeMap, TypeMapOptions, type_map};
use crate::answers::{
    AnswerError, GroupBy, Histogram, HistogramOptions, Info, InfoOptions, LeaksOptions, RetainedBy, ScopeOptions,
    breakdown, histogram, info, leaks, leaks_since,
};
use crate::dump::OpenDump;

/// Rows that stand on the page; the rest is added up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budgets {
    pub(super) map: Budget,
    pub(super) objects: Budget,
    pub(super) types: usize,
    /// Bytes of the names of types.
    pub(super) type_name_bytes: usize,
    pub(super) groups: usize,
    pub(super) grown: usize,
    pub(super) shrunk: usize,
    pub(super) paths: usize,
}

impl Default for Budgets {
    fn default() -> Self {
        Budgets {
            map: Budget { rows: 1500, children: 200 },
            objects: Budget { rows: 3500, children: 200 },
            types: 4000,
            type_name_bytes: 450_000,
            groups: 600,
            grown: 600,
            shrunk: 100,
            paths: 100,
        }
    }
}

impl Budgets {
    /// Fewer objects first, then fewer types, then less of everything; `None` when there is nothing left to take.
    pub(super) fn smaller(&self) -> Option<Self> {
        let mut next = *self;
        if next.objects.rows > 400 {
            next.objects.rows /= 2;
        } else if next.types > 100 {
            next.types /= 2;
            next.type_name_bytes /= 2;
        } else if next.map.rows > 100 {
            next.map.rows /= 2;
            next.paths /= 2;
            next.grown /= 2;
        } else {
            return None;
        }
        Some(next)
    }
}

/// All answers of the page.
pub(super) struct Page<'d> {
    pub(super) info: Info,
    pub(super) histogram: Histogram,
    pub(super) groups: Vec<(GroupBy, Histogram)>,
    pub(super) diff: Option<Diff>,
    pub(super) grown_paths: Option<Diff>,
    pub(super) old_totals: Option<Totals>,
    pub(super) content: PageContent<'d>,
    is_library: LibraryNames,
}

/// What only one of the models has.
pub(super) enum PageContent<'d> {
    Objects(Box<ObjectPage<'d>>),
    Allocations(Breakdown<'d>),
}

/// Of a dump of objects.
pub(super) struct ObjectPage<'d> {
    pub(super) leaks: Leaks<'d>,
    pub(super) map: TypeMap<'d>,
    pub(super) biggest: Biggest<'d>,
    pub(super) reasons: ReasonsAlive<'d>,
}

impl<'d> Page<'d> {
    /// Asks everything.
    pub(super) fn ask(
        old: Option<&'d OpenDump>,
        dump: &'d OpenDump,
        options: &PageOptions,
    ) -> Result<Self, AnswerError> {
        let scope = ScopeOptions { section: options.section.clone(), types: None };
        let is_graph = dump.graph().is_some();
        let types = HistogramOptions {
            scope: scope.clone(),
            retained: is_graph.then_some(RetainedBy::Minimum),
            order: if is_graph { HistogramOrder::RetainedBytes } else { HistogramOrder::Bytes },
            ..HistogramOptions::default()
        };
        let histogram_of = |by: GroupBy| histogram(dump, &HistogramOptions { group_by: by, ..types.clone() });
        let mut groups = Vec::new();
        if is_graph {
            let by_module = histogram_of(GroupBy::Module).ok().map(|answer| (GroupBy::Module, answer));
            groups.push(by_module.map_or_else(|| histogram_of(GroupBy::Package).map(|a| (GroupBy::Package, a)), Ok)?);
            if dump.graph().is_some_and(|graph| graph.sections().len() > 1) {
                groups.push((GroupBy::Section, histogram_of(GroupBy::Section)?));
            }
        }
        let content = if is_graph {
            let leaks_options = LeaksOptions {
                threshold: options.threshold,
                libraries: options.libraries.clone(),
                scope: scope.clone(),
                rows: Some(SUSPECTS),
                ..LeaksOptions::default()
            };
            PageContent::Objects(Box::new(ObjectPage {
                leaks: match old {
                    Some(old) => leaks_since(old, dump, &leaks_options)?,
                    None => leaks(dump, &leaks_options)?,
                },
                map: type_map(dump, &TypeMapOptions { section: options.section.clone() })?,
                biggest: biggest(dump, options.section.as_deref())?,
                reasons: reasons_alive(dump)?,
            }))
        } else {
            PageContent::Allocations(breakdown(
                dump,
                &BreakdownOptions { scope: scope.clone(), ..BreakdownOptions::default() },
            )?)
        };
        Ok(Page {
            info: info(dump, &InfoOptions::default())?,
            histogram: histogram_of(GroupBy::Type)?,
            groups,
            diff: old.map(|old| growth_by_type(old, dump, &scope)).transpose()?,
            grown_paths: old.and_then(|old| growth_by_path(old, dump, &scope)),
            old_totals: old.map(|old| totals_of(old, &scope)).transpose()?,
            content,
            is_library: LibraryNames::of(&dump.info().format, &options.libraries),
        })
    }
}

/// How much there was in the older dump.
fn totals_of(old: &OpenDump, scope: &ScopeOptions) -> Result<Totals, AnswerError> {
    Ok(histogram(old, &HistogramOptions { scope: scope.clone(), ..HistogramOptions::default() })?.totals)
}

/// Suspects on the page.
pub(super) const SUSPECTS: usize = 12;

/// The columns.
#[derive(Serialize)]
pub(super) struct Data {
    pub(super) file: String,
    /// Options of every command.
    pub(super) words: Vec<String>,
    pub(super) reachable_bytes: u64,
    pub(super) names: Vec<String>,
    pub(super) kinds: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) types: Option<TypeColumns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allocated: Option<AllocatedColumns>,
    pub(super) groups: Vec<GroupColumns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) growth: Option<GrowthColumns>,
    pub(super) maps: Vec<MapColumns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) objects: Option<ObjectColumns>,
    pub(super) paths: BTreeMap<usize, PathData>,
    pub(super) tickets: Vec<String>,
    /// Rows that stand in no column, for the sections' words.
    #[serde(skip)]
    pub(super) left_out: LeftOut,
}

/// What the budgets left out.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    pub(super) types: u64,
    pub(super) type_objects: u64,
    pub(super) type_bytes: u64,
    pub(super) grown: u64,
}

#[derive(Serialize, Default)]
pub(super) struct TypeColumns {
    pub(super) name: Vec<u32>,
    pub(super) objects: Vec<u64>,
    pub(super) shallow: Vec<u64>,
    pub(super) reachable: Vec<u64>,
    pub(super) retained: Vec<u64>,
}

#[derive(Serialize, Default)]
pub(super) struct AllocatedColumns {
    pub(super) name: Vec<u32>,
    pub(super) bytes: Vec<u64>,
    pub(super) allocations: Vec<Option<u64>>,
}

#[derive(Serialize, Default)]
pub(super) struct GroupColumns {
    pub(super) id: &'static str,
    pub(super) noun: &'static str,
    pub(super) name: Vec<String>,
    pub(super) objects: Vec<u64>,
    pub(super) shallow: Vec<u64>,
    pub(super) retained: Vec<u64>,
}

/// A tree of names: the first row is the whole.
#[derive(Serialize, Default)]
pub(super) struct MapColumns {
    pub(super) title: String,
    pub(super) noun: &'static str,
    pub(super) minimum: u64,
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
}

#[derive(Serialize, Default)]
pub(super) struct ObjectColumns {
    pub(super) id: Vec<String>,
    /// -1 for what adds up others.
    pub(super) name: Vec<i64>,
    pub(super) parent: Vec<i64>,
    pub(super) shallow: Vec<Option<u64>>,
    pub(super) retained: Vec<u64>,
    pub(super) objects: Vec<u64>,
    /// By row that stands for a run of objects, one below the other: how many they are. Its shallow bytes are theirs.
    pub(super) runs: BTreeMap<usize, u64>,
    /// By row: what its object says of itself, where the dump knows.
    pub(super) said: BTreeMap<usize, String>,
    #[serde(skip)]
    pub(super) minimum: u64,
}

#[derive(Serialize)]
pub(super) struct PathData {
    pub(super) root: String,
    /// Id, name, whether all paths lead through it, and how the object before refers to it; a gap has no name.
    pub(super) steps: Vec<(String, i64, u8, String)>,
}

impl Page<'_> {
    /// The columns, of as many rows as the budgets allow.
    pub(super) fn data(&self, budgets: &Budgets, options: &PageOptions) -> Data {
        let mut names = NameTable::default();
        let mut data = Data {
            file: shown(options.file_word()),
            words: options.read_words.clone(),
            reachable_bytes: self.reachable_bytes(),
            names: Vec::new(),
            kinds: String::new(),
            types: None,
            allocated: None,
            groups: Vec::new(),
            growth: None,
            maps: Vec::new(),
            objects: None,
            paths: BTreeMap::new(),
            tickets: Vec::new(),
            left_out: LeftOut::default(),
        };
        let rows = self.types_that_fit(budgets, &mut data.left_out);
        match &self.content {
            PageContent::Objects(page) => {
                data.types = Some(type_columns(rows, &mut names));
                data.groups = self.groups.iter().map(|(by, answer)| group_columns(*by, answer, budgets)).collect();
                data.maps.push(page.map_columns(budgets, &mut names));
                page.add_objects(budgets, &mut names, &mut data);
            }
            PageContent::Allocations(answer) => {
                data.allocated = Some(allocated_columns(rows, &mut names));
                data.maps = answer
                    .heaps
                    .iter()
                    .map(|heap| {
                        let HeapOrSection::Heap(row) = &heap.heap else { return MapColumns::default() };
                        let title = shown(&row.title);
                        HeapSource::new(&heap.tree).columns(title, budgets, &mut names)
                    })
                    .collect();
            }
        }
        data.growth = self.diff.as_ref().map(|diff| growth_columns(diff, budgets, &mut names, &mut data.left_out));
        let meaning = |name: &String| Meaning::of(name, self.is_library.contains(name)).letter();
        data.kinds = names.names().iter().map(meaning).collect();
        data.names = names.into_names();
        data
    }

    /// Bytes that strong roots reach; of allocation totals all bytes.
    pub(super) fn reachable_bytes(&self) -> u64 {
        match &self.histogram.totals {
            Totals::Objects(totals) => totals.reachable_bytes,
            Totals::Counted(totals) => totals.shallow_bytes,
            Totals::Allocations(totals) => totals.total_bytes,
        }
    }

    /// The types for the page: so many rows, and so many bytes of names.
    fn types_that_fit(&self, budgets: &Budgets, left_out: &mut LeftOut) -> &[HistogramRow] {
        let rows = self.histogram.rows.as_slice();
        let mut bytes = 0;
        let fits = |row: &HistogramRow| {
            bytes += shown(row.name()).len() + 40;
            bytes <= budgets.type_name_bytes
        };
        let count = rows.iter().take(budgets.types).map(fits).take_while(|fits| *fits).count();
        left_out.types = (rows.len() - count) as u64;
        left_out.type_objects = rows[count..].iter().fold(0, |sum, row| sum.saturating_add(row.count().unwrap_or(0)));
        left_out.type_bytes = rows[count..].iter().fold(0, |sum, row| sum.saturating_add(row.bytes()));
        &rows[..count]
    }
}

fn type_columns(rows: &[HistogramRow], names: &mut NameTable) -> TypeColumns {
    let mut columns = TypeColumns::default();
    for row in rows {
        let RowAmount::Objects { objects, shallow_bytes, reachable_bytes, .. } = row.amount else { continue };
        columns.name.push(names.number(row.name()));
        columns.objects.push(objects);
        columns.shallow.push(shallow_bytes);
        columns.reachable.push(reachable_bytes);
        columns.retained.push(row.retained_bytes.unwrap_or(0));
    }
    columns
}

fn allocated_columns(rows: &[HistogramRow], names: &mut NameTable) -> AllocatedColumns {
    let mut columns = AllocatedColumns::default();
    for row in rows {
        let RowAmount::Allocations { total_bytes, allocations } = row.amount else { continue };
        columns.name.push(names.number(row.name()));
        columns.bytes.push(total_bytes);
        columns.allocations.push(allocations);
    }
    columns
}

/// The address of a group's section and what its rows are called.
pub(super) fn words_of(by: GroupBy) -> (&'static str, &'static str) {
    match by {
        GroupBy::Module => ("modules", "modules"),
        GroupBy::Section => ("sections", "sections"),
        _ => ("packages", "packages"),
    }
}

fn group_columns(by: GroupBy, answer: &Histogram, budgets: &Budgets) -> GroupColumns {
    let (id, noun) = words_of(by);
    let mut columns = GroupColumns { id, noun, ..GroupColumns::default() };
    for row in answer.rows.as_slice().iter().take(budgets.groups) {
        let RowAmount::Objects { objects, shallow_bytes, .. } = row.amount else { continue };
        let name = shown(row.name());
        columns.name.push(if name.is_empty() { "(none)".into() } else { name });
        columns.objects.push(objects);
        columns.shallow.push(shallow_bytes);
        columns.retained.push(row.retained_bytes.unwrap_or(0));
    }
    columns
}
