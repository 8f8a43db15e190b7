//! The columns of the answers.

use super::PageOptions;
use super::ask::{PageAnswers, PageContent};
use super::columns::{Budgets, Data, FigureTable, GroupColumns, LeftOut, words_of};
use super::growth::growth_table;
use super::names::{NameMeaning, NameTable, shown};
use super::trees::HeapSource;
use crate::answers::figure::{ALLOCATIONS, OBJECTS, REACHABLE, RETAINED, SHALLOW, TOTAL};
use crate::answers::histogram::HistogramRow;
use crate::answers::{GroupBy, Histogram};

impl PageAnswers<'_> {
    /// The columns, of as many rows as the budgets allow.
    pub(super) fn data(&self, budgets: &Budgets, options: &PageOptions) -> Data {
        let mut names = NameTable::default();
        let mut data = Data {
            file: shown(options.file_word()),
            words: options.read_words.clone(),
            reachable_bytes: self.reachable_bytes(),
            ..Data::default()
        };
        let rows = self.types_that_fit(budgets, &mut data.left_out);
        match &self.content {
            PageContent::Objects(page) => {
                let figures = [RETAINED, OBJECTS, SHALLOW, REACHABLE];
                data.types = Some(FigureTable::new(rows, &figures, |row| names.number(row.name())));
                data.groups = self.groups.iter().map(|(by, answer)| group_columns(*by, answer, budgets)).collect();
                data.maps.push(page.map_columns(budgets, &mut names));
                page.add_objects(budgets, &mut names, &mut data);
            }
            PageContent::Allocations(answer) => {
                data.allocated = Some(FigureTable::new(rows, &[TOTAL, ALLOCATIONS], |row| names.number(row.name())));
                data.maps = answer
                    .heaps
                    .iter()
                    .map(|heap| HeapSource::new(&heap.tree).columns(shown(&heap.heap.title), budgets, &mut names))
                    .collect();
            }
        }
        data.growth = self.diff.as_ref().map(|diff| growth_table(diff, budgets, &mut names, &mut data.left_out));
        let meaning = |name: &String| NameMeaning::of(name, self.is_library.contains(name)).letter();
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

fn group_columns(by: GroupBy, answer: &Histogram, budgets: &Budgets) -> GroupColumns {
    let (id, noun) = words_of(by);
    let rows = answer.rows.as_slice();
    let name = |row: &HistogramRow| Some(shown(row.name())).filter(|name| !name.is_empty()).unwrap_or("(none)".into());
    let table = FigureTable::new(&rows[..rows.len().min(budgets.groups)], &[RETAINED, OBJECTS, SHALLOW], name);
    GroupColumns { id, noun, table }
}
