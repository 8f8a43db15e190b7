//! Types, and groups of them.

use crate::answers::histogram::{HistogramOrder, HistogramRow, Totals, histogram};
use crate::answers::{AnswerError, GroupBy, Histogram, HistogramOptions, Limits, RetainedBy, ScopeOptions};
use crate::dump::OpenDump;
use crate::explore::list::signed;
use crate::explore::list::{Figure, Listing, Part, Row, Target, Unit};
use crate::explore::view::{Context, Group, View};

const RETAINED: Figure = Figure::new("Retained", Unit::Bytes, Some("retained"), 0);
const SHALLOW: Figure = Figure::new("Shallow", Unit::Bytes, Some("shallow"), 72);
const OBJECTS: Figure = Figure::new("Objects", Unit::Count, Some("objects"), 90);
/// Without the dominator tree.
const SHALLOW_FIRST: Figure = Figure::new("Shallow", Unit::Bytes, Some("shallow"), 0);
const BYTES: Figure = Figure::new("Bytes", Unit::Bytes, Some("bytes"), 0);
const ALLOCATIONS: Figure = Figure::new("Allocations", Unit::Count, None, 72);

/// All types, or those of a group.
pub(super) fn types(dump: &OpenDump, group: Option<&Group>, context: &Context) -> Result<Listing, AnswerError> {
    let scope = group.map_or_else(ScopeOptions::default, |group| group.scope.clone());
    let order = HistogramOrder::RetainedBytes;
    let options = context.histogram_options(GroupBy::Type, scope, order, Limits::default());
    Ok(listing(&histogram(dump, &options)?, &options, |row, _| Target::Type(row.name().to_string())))
}

/// Groups of types.
pub(super) fn groups(dump: &OpenDump, by: GroupBy, context: &Context) -> Result<Listing, AnswerError> {
    let order = HistogramOrder::RetainedBytes;
    let options = context.histogram_options(by, ScopeOptions::default(), order, Limits::default());
    let have_modules = dump.graph().is_some_and(|graph| graph.types().have_modules());
    let group = |row: &HistogramRow, number| {
        let group = Group::new(by, row.name(), number, have_modules);
        group.map_or(Target::Nowhere, |group| Target::View(Box::new(View::Types(Some(group)))))
    };
    Ok(listing(&histogram(dump, &options)?, &options, group))
}

fn listing(answer: &Histogram, options: &HistogramOptions, target: impl Fn(&HistogramRow, u32) -> Target) -> Listing {
    let (figures, whole) = match &answer.totals {
        Totals::Objects(totals) if options.retained.is_some() => {
            (&[RETAINED, SHALLOW, OBJECTS][..], totals.reachable_bytes)
        }
        Totals::Objects(totals) => (&[SHALLOW_FIRST, OBJECTS][..], totals.shallow_bytes),
        Totals::Counted(totals) => (&[SHALLOW_FIRST, OBJECTS][..], totals.shallow_bytes),
        Totals::Allocations(totals) => (&[BYTES, ALLOCATIONS][..], totals.total_bytes),
    };
    let rows = answer.rows.as_slice();
    // Ties are in the order of names.
    let mut by_name: Vec<usize> = (0..rows.len()).collect();
    by_name.sort_by(|&a, &b| {
        (rows[a].name(), &rows[a].module, rows[a].group()).cmp(&(rows[b].name(), &rows[b].module, rows[b].group()))
    });
    let mut ties = vec![0u32; rows.len()];
    by_name.iter().zip(0u32..).for_each(|(&row, rank)| ties[row] = rank);
    let made = rows.iter().zip(ties).map(|(row, tie)| {
        let retained = options.retained.is_some().then(|| row.retained_bytes.map(signed));
        let figures = retained.into_iter().chain([Some(signed(row.bytes())), row.count().map(signed)]).collect();
        let mut name = row.name_with_loader(true).into_owned();
        name.extend(
            row.module.iter().filter(|_| row.module.as_deref() != Some("")).map(|module| format!(" ({module})")),
        );
        Row { figures, tie, ..Row::new(name, target(row, row.group())) }
    });
    Listing {
        whole: Some(signed(whole)),
        sorted_by: Some(0),
        empty: "no objects".into(),
        ..Listing::new(figures, answer.group_by.titles().0, vec![Part::Made(made.collect())])
    }
}

/// What all objects of a type retain, exactly. O(objects + references).
pub(crate) fn exact_retained(dump: &OpenDump, scope: &ScopeOptions) -> Result<u64, AnswerError> {
    let options =
        HistogramOptions { scope: scope.clone(), retained: Some(RetainedBy::Exact), ..HistogramOptions::default() };
    let answer = histogram(dump, &options)?;
    Ok(answer.rows.as_slice().iter().filter_map(|row| row.retained_bytes).sum())
}
