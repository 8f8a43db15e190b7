//! The columns of the answers.

use super::PageOptions;
use super::columns::{FigureTable, GroupColumns, LeftOutRows, PageBudgets, PageData};
use super::names::{NameTable, TypeCategory, escaped_name, namespace_and_class, plain_namespace_bytes};
use super::page_answers::{PageAnswers, PageContent};
use super::trees::heap_map_columns;
use crate::answers::diff::{Diff, DiffRow, Measure, NEW_OBJECTS, OBJECTS_DELTA, RETAINED_DELTA, SHALLOW_DELTA};
use crate::answers::figure::{
    ALLOCATED_BYTES, ALLOCATIONS, CUM_ALLOCATIONS, CUM_BYTES, FLAT_ALLOCATIONS, FLAT_BYTES, OBJECTS, REACHABLE_BYTES,
    RETAINED, SHALLOW,
};
use crate::answers::histogram::HistogramRow;
use crate::answers::{Figure, GroupBy, Histogram};
use crate::units::saturating_signed;

impl PageAnswers<'_> {
    /// The columns, of as many rows as the budgets allow.
    pub(super) fn page_data(&self, budgets: &PageBudgets, options: &PageOptions) -> PageData {
        let mut names = NameTable::default();
        let mut data = PageData {
            file: escaped_name(options.file_argument()),
            command_options: options.read_option_words.clone(),
            reachable_bytes: self.reachable_bytes(),
            ..PageData::default()
        };
        let rows = self.types_that_fit(budgets, &mut data.left_out);
        data.groups = self.groups.iter().map(|(by, answer)| group_columns(*by, answer, budgets)).collect();
        match &self.content {
            PageContent::Objects(page) => {
                let figures = [RETAINED, OBJECTS, SHALLOW, REACHABLE_BYTES];
                data.types = FigureTable::new(rows, &figures, |row| names.intern(row.name()));
                data.maps.push(page.map_columns(budgets, &mut names));
                page.add_objects_and_paths(budgets, &mut names, &mut data);
            }
            PageContent::Allocations(answer) => {
                data.types = FigureTable::new(rows, &[ALLOCATED_BYTES, ALLOCATIONS], |row| names.intern(row.name()));
                for heap in &answer.heaps {
                    data.maps.push(heap_map_columns(&heap.tree, escaped_name(&heap.heap.title), budgets, &mut names));
                }
            }
        }
        data.growth =
            self.growth_by_type.as_ref().map(|diff| growth_table(diff, budgets, &mut names, &mut data.left_out));
        let meaning = |name: &String| TypeCategory::of(name, self.library_names.contains(name)).letter();
        data.kinds = names.names().iter().map(meaning).collect();
        for (at, name) in names.names().iter().enumerate() {
            let (namespace, class) = namespace_and_class(name);
            let is_plain = namespace.len() == plain_namespace_bytes(name) && name[namespace.len()..] == class;
            data.classes.extend((!is_plain).then(|| (at, (namespace.encode_utf16().count(), class))));
        }
        data.names = names.into_names();
        data
    }

    /// The types for the page: so many rows, and so many bytes of names.
    fn types_that_fit(&self, budgets: &PageBudgets, left_out: &mut LeftOutRows) -> &[HistogramRow] {
        let rows = self.histogram.rows.as_slice();
        let mut bytes = 0;
        let fits = |row: &HistogramRow| {
            bytes += escaped_name(row.name()).len() + 40;
            bytes <= budgets.type_name_bytes
        };
        let count = rows.iter().take(budgets.type_row_count).map(fits).take_while(|fits| *fits).count();
        left_out.type_count = (rows.len() - count) as u64;
        left_out.object_count_of_types =
            rows[count..].iter().fold(0, |sum, row| sum.saturating_add(row.count().unwrap_or(0)));
        left_out.bytes_of_types = rows[count..].iter().fold(0, |sum, row| sum.saturating_add(row.bytes()));
        &rows[..count]
    }
}

fn group_columns(by: GroupBy, answer: &Histogram, budgets: &PageBudgets) -> GroupColumns {
    let rows = answer.rows.as_slice();
    let name =
        |row: &HistogramRow| Some(escaped_name(row.name())).filter(|name| !name.is_empty()).unwrap_or("(none)".into());
    let of_frames = [FLAT_BYTES, CUM_BYTES, FLAT_ALLOCATIONS, CUM_ALLOCATIONS];
    let figures = if answer.heaps.is_some() { &of_frames[..] } else { &[RETAINED, OBJECTS, SHALLOW] };
    let table = FigureTable::new(&rows[..rows.len().min(budgets.group_row_count)], figures, name);
    GroupColumns { noun: by.title_and_plural().1, table }
}

/// By type: retained bytes, bytes, objects or allocations, and how many of these there were and are.
fn growth_table(
    diff: &Diff,
    budgets: &PageBudgets,
    names: &mut NameTable,
    left_out: &mut LeftOutRows,
) -> FigureTable<u32> {
    let is_of_allocations = diff.rows.are_of_allocations();
    let (bytes, count) = if is_of_allocations { ("Bytes ±", "Allocations") } else { ("Shallow ±", "Objects") };
    let figures = vec![
        RETAINED_DELTA.with_title("Retained ±"),
        SHALLOW_DELTA.with_title(bytes),
        OBJECTS_DELTA.with_title(count),
        Figure::count("old", "Old"),
        NEW_OBJECTS,
    ];
    // Rows come in order of growth: those that grew most, and those that shrank most.
    let keep = (0..diff.rows.len())
        .filter(|&at| at < budgets.grown_type_count || at + budgets.shrunk_type_count >= diff.rows.len());
    left_out.grown_type_count = (diff.rows.len() - keep.clone().count()) as u64;
    let row = |at: usize| {
        let DiffRow { name, change, .. } = diff.rows.get(at);
        let retained = change.growth(Measure::RetainedBytes).filter(|_| !is_of_allocations);
        let [before, after] = [change.old.count, change.new.count].map(|count| count.map(saturating_signed));
        let figures = vec![retained, change.growth(Measure::Bytes), change.growth(Measure::Count), before, after];
        (names.intern(&name.shortened()), figures)
    };
    FigureTable { figures, growth_column_count: 3, rows: keep.map(row).collect() }
}
