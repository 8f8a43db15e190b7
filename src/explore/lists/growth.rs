//! What grew since an older dump.

use crate::answers::diff::{AllocationDiffName, DiffBy, DiffOptions, DiffRows, delta, diff};
use crate::answers::{AnswerError, GroupBy};
use crate::explore::dumps::Dumps;
use crate::explore::list::signed;
use crate::explore::list::{Figure, Listing, Part, Row, Target, Unit};
use crate::explore::view::Context;
use crate::units::format_bytes;

pub(super) fn growth(dumps: Dumps, by: DiffBy, context: &Context) -> Result<Listing, AnswerError> {
    let Some(old) = dumps.old else { return Err(AnswerError::TooFewDumps(1, 2)) };
    let retained = context.retained_growth(by);
    let answer = diff(old, dumps.new, &DiffOptions { by, retained, ..DiffOptions::default() })?;
    let headline = answer.headline(format_bytes, str::to_string);
    let is_types = matches!(by, DiffBy::Groups(GroupBy::Type));
    let mut rows: Vec<Row> = Vec::new();
    let figures: Vec<Figure> = match &answer.rows {
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
            let counted = if by == DiffBy::RootKinds { "Roots" } else { "Objects" };
            let (first, sort) = match by {
                DiffBy::RootKinds => ("Held", Some("shallow")),
                DiffBy::Paths => ("Retained", Some("shallow")),
                _ => ("Shallow", Some("shallow")),
            };
            let mut figures = vec![Figure::new(first, Unit::Growth, sort, 0)];
            if retained {
                figures.push(Figure::new("Retained", Unit::Growth, Some("retained"), 60));
            }
            figures.extend([
                Figure::new(counted, Unit::CountGrowth, Some("objects"), 72),
                Figure::new("New", Unit::Bytes, None, 90),
                Figure::new("Old", Unit::Bytes, None, 100),
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
                Figure::new("Growth", Unit::Growth, Some("delta"), 0),
                Figure::new("Allocations", Unit::CountGrowth, None, 72),
                Figure::new("New", Unit::Bytes, Some("new"), 60),
                Figure::new("Old", Unit::Bytes, None, 90),
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
