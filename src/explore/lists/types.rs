//! Types, and groups of them.

use crate::answers::figure::{ALLOCATED_BYTES, ALLOCATIONS, OBJECTS, REACHABLE_BYTES, RETAINED, SHALLOW};
use crate::answers::histogram::{HistogramRow, histogram};
use crate::answers::{AnswerError, GroupBy, Histogram, HistogramOptions, Limits, RetainedBy, ScopeOptions, type_words};
use crate::dump::OpenDump;
use crate::explore::listing::{ListColumn, ListPart, ListRow, Listing, RowTarget, tie_ranks};
use crate::explore::view::{BrowserView, CommandContext, TypeGroup};
use crate::units::saturating_signed;

pub(super) fn list_types(
    dump: &OpenDump,
    group: Option<&TypeGroup>,
    context: &CommandContext,
) -> Result<Listing, AnswerError> {
    let scope = group.map_or_else(ScopeOptions::default, |group| group.scope.clone());
    let options = context.histogram_options(GroupBy::Type, scope, Some(RETAINED), Limits::default());
    Ok(listing_of_histogram(&histogram(dump, &options)?, &options, |row, _| RowTarget::Type(row.name().to_string())))
}

pub(super) fn list_groups(dump: &OpenDump, by: GroupBy, context: &CommandContext) -> Result<Listing, AnswerError> {
    let options = context.histogram_options(by, ScopeOptions::default(), Some(RETAINED), Limits::default());
    let have_modules = dump.graph().is_some_and(|graph| graph.types().have_modules());
    let group = |row: &HistogramRow, number| {
        let group = TypeGroup::new(by, row.name(), number, have_modules);
        group.map_or(RowTarget::NoTarget, |group| RowTarget::View(Box::new(BrowserView::Types(Some(group)))))
    };
    Ok(listing_of_histogram(&histogram(dump, &options)?, &options, group))
}

fn listing_of_histogram(
    answer: &Histogram,
    options: &HistogramOptions,
    target: impl Fn(&HistogramRow, u32) -> RowTarget,
) -> Listing {
    let totals = &answer.totals;
    let (columns, whole) = match totals.figure(REACHABLE_BYTES) {
        _ if answer.heaps.is_some() => {
            (vec![ListColumn::new(ALLOCATED_BYTES, 0), ListColumn::new(ALLOCATIONS, 72).unsorted()], totals.bytes())
        }
        Some(reachable) if options.retained.is_some() => {
            (vec![ListColumn::new(RETAINED, 0), ListColumn::new(SHALLOW, 90), ListColumn::new(OBJECTS, 72)], reachable)
        }
        _ => (vec![ListColumn::new(SHALLOW, 0), ListColumn::new(OBJECTS, 72)], totals.bytes()),
    };
    let rows = answer.rows.as_slice();
    // Ties are in the order of names.
    let ties = tie_ranks(rows, &|a, b| (a.name(), &a.module, a.group()).cmp(&(b.name(), &b.module, b.group())));
    let made = rows.iter().zip(ties).map(|(row, tie_rank)| {
        let figures = columns.iter().map(|column| row.figure(column.figure).map(saturating_signed)).collect();
        let mut name = type_words(&row.name_with_loader(true)).into_owned();
        name.extend(
            row.module.iter().filter(|_| row.module.as_deref() != Some("")).map(|module| format!(" ({module})")),
        );
        ListRow { figures, tie_rank, ..ListRow::new(name, target(row, row.group())) }
    });
    Listing {
        share_total: Some(saturating_signed(whole)),
        sorted_by_column: Some(0),
        empty_text: "no objects".into(),
        ..Listing::new(&columns, answer.group_by.title_and_plural().0, vec![ListPart::Rows(made.collect())])
    }
}

/// Exact retained bytes of all objects of a type. O(objects + references).
pub(crate) fn exact_retained_bytes(dump: &OpenDump, scope: &ScopeOptions) -> Result<u64, AnswerError> {
    let options =
        HistogramOptions { scope: scope.clone(), retained: Some(RetainedBy::Exact), ..HistogramOptions::default() };
    let answer = histogram(dump, &options)?;
    Ok(answer.rows.as_slice().iter().filter_map(|row| row.retained_bytes).sum())
}
