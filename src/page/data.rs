//! The columns of the answers.

use std::collections::BTreeMap;

use super::PageOptions;
use super::ask::{Page, PageContent};
use super::columns::{AllocatedColumns, Budgets, Data, GroupColumns, LeftOut, MapColumns, TypeColumns, words_of};
use super::growth::growth_columns;
use super::names::{Meaning, NameTable, shown};
use super::trees::HeapSource;
use crate::answers::breakdown::HeapOrSection;
use crate::answers::histogram::{HistogramRow, RowAmount};
use crate::answers::{GroupBy, Histogram};

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
