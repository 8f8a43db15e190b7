//! Growth since an older dump.

use crate::answers::diff::{
    ALLOCATIONS_DELTA, AllocationDiffName, DiffBy, DiffOptions, DiffRows, OBJECTS_DELTA, RETAINED_DELTA, SHALLOW_DELTA,
    TOTAL_DELTA, TOTAL_NEW, TOTAL_OLD, delta, diff,
};
use crate::answers::{AnswerError, GroupBy};
use crate::explore::list::{ListColumn, ListPart, ListRow, Listing, RowTarget, signed};
use crate::explore::setup::BrowsedDumps;
use crate::explore::view::Context;
use crate::units::format_bytes;

pub(super) fn growth(dumps: BrowsedDumps, by: DiffBy, context: &Context) -> Result<Listing, AnswerError> {
    let Some(old) = dumps.old else { return Err(AnswerError::TooFewDumps(1, 2)) };
    let retained = context.retained_growth(by);
    let answer = diff(old, dumps.new, &DiffOptions { by, retained, ..DiffOptions::default() })?;
    let headline = answer.headline(format_bytes, str::to_string);
    let is_types = matches!(by, DiffBy::Groups(GroupBy::Type));
    let mut rows: Vec<ListRow> = Vec::new();
    let figures: Vec<ListColumn> = match &answer.rows {
        DiffRows::Objects(list) => {
            for (name, change) in &list.rows {
                let (old, new) = (change.old, change.new);
                let mut figures = vec![Some(delta(old.bytes, new.bytes))];
                if retained {
                    figures.push(Some(delta(old.retained_bytes, new.retained_bytes)));
                }
                figures.extend([Some(delta(old.count, new.count)), Some(signed(new.bytes)), Some(signed(old.bytes))]);
                let target = if is_types { RowTarget::Type(name.clone()) } else { RowTarget::Nowhere };
                rows.push(ListRow { figures, tie: rows.len() as u32, ..ListRow::new(name.clone(), target) });
            }
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
        }
        DiffRows::ByObject(_) => Vec::new(),
        DiffRows::Allocations(list) => {
            for at in 0..list.len() {
                let row = list.get(at);
                let figures = vec![
                    Some(row.total_bytes_delta),
                    row.allocations_delta,
                    Some(signed(row.total_bytes_new)),
                    Some(signed(row.total_bytes_old)),
                ];
                let name = match &row.name {
                    AllocationDiffName::Type(name) => (*name).to_string(),
                    path => path.shortened().into_owned(),
                };
                rows.push(ListRow { figures, tie: at as u32, ..ListRow::new(name, RowTarget::Nowhere) });
            }
            vec![
                ListColumn::of_growth(TOTAL_DELTA, 0),
                ListColumn::of_growth(ALLOCATIONS_DELTA, 72).unsorted(),
                ListColumn::new(TOTAL_NEW, 60),
                ListColumn::new(TOTAL_OLD, 90).unsorted(),
            ]
        }
    };
    let title = match by {
        DiffBy::Paths | DiffBy::Backtraces => "Path",
        DiffBy::RootKinds => "Kind of roots",
        _ => "Type",
    };
    Ok(Listing {
        above: vec![headline],
        sorted_by: Some(0),
        empty: "nothing changed".into(),
        ..Listing::new(&figures, title, vec![ListPart::Made(rows)])
    })
}
