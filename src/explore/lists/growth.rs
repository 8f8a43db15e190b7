//! Growth since an older dump.

use crate::answers::diff::{
    ALLOCATIONS_DELTA, DiffBy, DiffOptions, DiffRow, Measure, OBJECTS_DELTA, RETAINED_DELTA, SHALLOW_DELTA,
    TOTAL_DELTA, TOTAL_NEW, TOTAL_OLD, diff,
};
use crate::answers::{AnswerError, GroupBy, type_words};
use crate::explore::listing::{ListColumn, ListPart, ListRow, Listing, RowTarget};
use crate::explore::setup::BrowsedDumps;
use crate::explore::view::CommandContext;
use crate::units::{format_bytes, saturating_signed};

pub(super) fn list_growth(dumps: BrowsedDumps, by: DiffBy, context: &CommandContext) -> Result<Listing, AnswerError> {
    let Some(old) = dumps.old else { return Err(AnswerError::TooFewDumps(1, 2)) };
    let retained = context.growth_has_retained(by);
    let answer = diff(old, dumps.new, &DiffOptions { by, with_retained: retained, ..DiffOptions::default() })?;
    let headline = answer.headline(format_bytes, str::to_string);
    let list = &answer.rows;
    let is_types = matches!(by, DiffBy::Groups(GroupBy::Type)) && !list.are_of_allocations();
    let row = |at: usize| {
        let DiffRow { name, change, .. } = list.get(at);
        let mut figures = vec![change.growth(Measure::Bytes)];
        figures.extend(retained.then(|| change.growth(Measure::RetainedBytes)));
        figures.push(change.growth(Measure::Count));
        figures.extend([Some(saturating_signed(change.new.bytes)), Some(saturating_signed(change.old.bytes))]);
        let name = name.shortened().into_owned();
        let target = if is_types { RowTarget::Type(name.clone()) } else { RowTarget::NoTarget };
        ListRow { figures, tie_rank: at as u32, ..ListRow::new(type_words(&name).into_owned(), target) }
    };
    let rows: Vec<ListRow> = (0..list.len()).map(row).collect();
    let figures: Vec<ListColumn> = if list.are_of_allocations() {
        vec![
            ListColumn::of_growth(TOTAL_DELTA, 0),
            ListColumn::of_growth(ALLOCATIONS_DELTA, 72).unsorted(),
            ListColumn::new(TOTAL_NEW, 60),
            ListColumn::new(TOTAL_OLD, 90).unsorted(),
        ]
    } else {
        let (first, counted) = match by {
            DiffBy::RootKinds => ("Held", "Roots"),
            DiffBy::Paths => ("Retained", "Objects"),
            _ => ("Shallow", "Objects"),
        };
        let retained = retained.then(|| ListColumn::of_growth(RETAINED_DELTA, 60).titled("Retained"));
        let mut figures = vec![ListColumn::of_growth(SHALLOW_DELTA, 0).titled(first)];
        figures.extend(retained);
        figures.extend([
            ListColumn::of_growth(OBJECTS_DELTA, 72).titled(counted),
            ListColumn::new(TOTAL_NEW, 90).unsorted(),
            ListColumn::new(TOTAL_OLD, 100).unsorted(),
        ]);
        figures
    };
    let title = match by {
        DiffBy::Paths | DiffBy::Backtraces => "Path",
        DiffBy::RootKinds => "Kind of roots",
        _ => "Type",
    };
    Ok(Listing {
        header_lines: vec![headline],
        sorted_by_column: Some(0),
        empty_text: "nothing changed".into(),
        ..Listing::new(&figures, title, vec![ListPart::Rows(rows)])
    })
}
