//! Growth since an older dump.

use crate::answers::diff::{
    ALLOCATIONS_DELTA, AllocationDiffName, DiffBy, DiffOptions, DiffRows, OBJECTS_DELTA, RETAINED_DELTA, SHALLOW_DELTA,
    TOTAL_DELTA, TOTAL_NEW, TOTAL_OLD, delta, diff,
};
use crate::answers::{AnswerError, GroupBy};
use crate::explore::dumps::Dumps;
use crate::explore::list::{Column, Listing, Part, Row, Target, signed};
use crate::explore::view::Context;
use crate::units::format_bytes;

pub(super) fn growth(dumps: Dumps, by: DiffBy, context: &Context) -> Result<Listing, AnswerError> {
    let Some(old) = dumps.old else { return Err(AnswerError::TooFewDumps(1, 2)) };
    let retained = context.retained_growth(by);
    let answer = diff(old, dumps.new, &DiffOptions { by, retained, ..DiffOptions::default() })?;
    let headline = answer.headline(format_bytes, str::to_string);
    let is_types = matches!(by, DiffBy::Groups(GroupBy::Type));
    let mut rows: Vec<Row> = Vec::new();
    let figures: Vec<Column> = match &answer.rows {
        DiffRows::Objects(list) => {
            for (name, change) in &list.rows {
                let (old, new) = (change.old, change.new);
                let mut figures = vec![Some(delta(old.bytes, new.bytes))];
                if retained {
                    figures.push(Some(delta(old.retained_bytes, new.retained_bytes)));
                }
                figures.extend([Some(delta(old.count, new.count)), Some(signed(new.bytes)), Some(signed(old.bytes))]);
                let target = if is_types { Target::Type(name.clone()) } else { Target::Nowhere };
                rows.push(Row { figures, tie: rows.len() as u32, ..Row::new(name.clone(), target) });
            }
            let (first, counted) = match by {
                DiffBy::RootKinds => ("Held", "Roots"),
                DiffBy::Paths => ("Retained", "Objects"),
                _ => ("Shallow", "Objects"),
            };
            let retained = retained.then(|| Column::of_growth(RETAINED_DELTA, 60).titled("Retained"));
            let mut figures = vec![Column::of_growth(SHALLOW_DELTA, 0).titled(first)];
            figures.extend(retained);
            figures.extend([
                Column::of_growth(OBJECTS_DELTA, 72).titled(counted),
                Column::new(TOTAL_NEW, 90).unsorted(),
                Column::new(TOTAL_OLD, 100).unsorted(),
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
                rows.push(Row { figures, tie: at as u32, ..Row::new(name, Target::Nowhere) });
            }
            vec![
                Column::of_growth(TOTAL_DELTA, 0),
                Column::of_growth(ALLOCATIONS_DELTA, 72).unsorted(),
                Column::new(TOTAL_NEW, 60),
                Column::new(TOTAL_OLD, 90).unsorted(),
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
        ..Listing::new(&figures, title, vec![Part::Made(rows)])
    })
}
