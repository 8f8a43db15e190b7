//! Lists of objects: what one dominates, those of a type, and all that is said of one.

use crate::answers::browse::HeapBrowser;
use crate::answers::figure::{ALLOCATIONS, BYTES, RETAINED};
use crate::answers::object::{ObjectAnswer, ObjectOptions, object as ask_object};
use crate::answers::{AnswerError, ObjectId, ScopeOptions, type_words};
use crate::dump::OpenDump;
use crate::explore::listing::{ListColumn, ListPart, ListRow, Listing, OBJECT_COLUMNS, RowTarget, tie_ranks};
use crate::explore::view::BrowsedObject;
use crate::graph::{NodeId, Reference};
use crate::units::{count_with_noun, format_bytes, format_count, saturating_signed};

/// References that are named; an array of millions is read once for each.
const MAX_REFERENCES_NAMED: usize = 200;

/// Objects that one directly dominates, or that nothing single does.
pub(super) fn list_dominated(
    dump: &'static OpenDump,
    of: Option<&BrowsedObject>,
    by_type: bool,
) -> Result<Listing, AnswerError> {
    let browser = HeapBrowser::of(dump)?;
    let nodes = browser.dominated_by(of.map(|place| place.node))?;
    let sizes = of.map(|place| browser.sizes(place.node));
    let whole = match sizes {
        Some(sizes) => sizes.retained_bytes_and_objects.map_or(0, |(bytes, _)| bytes),
        None => browser.reachable_bytes(),
    };
    let empty = match of {
        Some(_) => "it keeps nothing else alive",
        None => "no strong root holds anything",
    };
    let parts = match by_type {
        false => vec![ListPart::of_objects(nodes)],
        true => {
            let merged = browser.merged_by_type(&nodes);
            let ties = tie_ranks(&merged, &|a, b| a.type_name.cmp(&b.type_name));
            let alone: Vec<NodeId> = merged.iter().filter_map(|row| row.only_object).collect();
            let names = of.map(|place| browser.reference_names_of_dominated(place.node, &alone));
            let mut names = names.unwrap_or_default().into_iter();
            let rows = merged.into_iter().zip(ties).map(|(row, tie_rank)| {
                let figures = [row.retained_bytes, row.shallow_bytes, row.dominated_objects]
                    .map(|figure| Some(saturating_signed(figure)));
                let (id, lead, name) = match row.only_object.map(|only| browser.row(only)) {
                    Some(row) => (row.id.clone(), String::new(), row.type_text()),
                    None => {
                        let lead = format!("{} ×", format_count(row.member_count));
                        (String::new(), lead, type_words(&row.type_name).into_owned())
                    }
                };
                let reference = row.only_object.and_then(|_| names.next().flatten()).unwrap_or_default();
                let target =
                    row.only_object.map_or_else(|| RowTarget::MergedType(row.type_name.clone()), RowTarget::Object);
                ListRow {
                    figures: figures.into(),
                    id,
                    leading_text: lead,
                    reference,
                    tie_rank,
                    ..ListRow::new(name, target)
                }
            });
            vec![ListPart::Rows(rows.collect())]
        }
    };
    let stacks = || dump.details()?.allocations(dump.graph()?).ok()?;
    let has_other_tree = of.is_none() && stacks().is_some();
    let figures = match (by_type, has_other_tree) {
        (false, _) => OBJECT_COLUMNS,
        (true, false) => MERGED_COLUMNS,
        (true, true) => [MERGED_COLUMNS[0], MERGED_COLUMNS[1], MERGED_COLUMNS[2].unsorted()],
    };
    Ok(Listing {
        share_total: Some(saturating_signed(whole)),
        sorted_by_column: Some(0),
        has_allocation_tree: has_other_tree,
        empty_text: empty.into(),
        ..Listing::new(&figures, "Object", parts)
    })
}

/// The columns of objects that are merged by type, which are sorted as `breakdown` sorts.
const MERGED_COLUMNS: [ListColumn; 3] = [
    ListColumn { command_order: Some(BYTES), ..OBJECT_COLUMNS[0] },
    OBJECT_COLUMNS[1].unsorted(),
    ListColumn { command_order: Some(ALLOCATIONS), ..OBJECT_COLUMNS[2] },
];

pub(super) fn list_objects_of_type(
    dump: &'static OpenDump,
    type_name: &str,
    scope: &ScopeOptions,
) -> Result<Listing, AnswerError> {
    let browser = HeapBrowser::of(dump)?;
    // `list` has no order by what an object dominates.
    let mut figures = OBJECT_COLUMNS;
    figures[2].command_order = None;
    Ok(Listing {
        share_total: Some(saturating_signed(browser.reachable_bytes())),
        sorted_by_column: Some(0),
        empty_text: format!("no objects of {type_name}"),
        ..Listing::new(&figures, "Object", vec![ListPart::of_objects(browser.objects_in_scope(scope)?)])
    })
}

const ROWS_BESIDE_LIST: usize = 100;

/// The facts on an object that stand beside a list. Error: why there is nothing, in words.
pub(crate) fn list_side_pane_facts(dump: &'static OpenDump, place: &BrowsedObject) -> Result<Listing, String> {
    list_object_facts(dump, place, ROWS_BESIDE_LIST).map_err(|error| error.to_string())
}

/// All that is said of an object: who holds it, what it refers to, what it dominates, its fields; so many rows of each.
pub(super) fn list_object_facts(
    dump: &'static OpenDump,
    place: &BrowsedObject,
    rows: usize,
) -> Result<Listing, AnswerError> {
    let browser = HeapBrowser::of(dump)?;
    let id: ObjectId = place.id.parse().map_err(|_| AnswerError::NoSuchObject(place.id.clone()))?;
    let answer = ask_object(dump, &ObjectOptions { max_references: Some(0), ..ObjectOptions::new(id) })?;
    let below = browser.dominated_by(Some(place.node)).unwrap_or_default();
    let (names, referrer_names) = browser.reference_and_referrer_names(place.node, MAX_REFERENCES_NAMED.min(rows));
    let referrers = browser.referrers(place.node)?;
    let references = browser.references(place.node);
    let mut parts = Vec::new();
    let held = match referrers.len() {
        0 if answer.roots.is_empty() && answer.reachability.is_reached() => "No object refers to it".into(),
        0 if answer.roots.is_empty() => "Nothing holds it".into(),
        0 => "No object holds it".into(),
        count => format!("Who holds it: {}", count_with_noun(count as u64, "references")),
    };
    parts.push(ListPart::Rows(vec![ListRow::title(held)]));
    parts.push(ListPart::Rows(
        answer
            .roots
            .iter()
            .map(|root| ListRow { leading_text: "root".into(), ..ListRow::new(root.short_text(), RowTarget::NoTarget) })
            .collect(),
    ));
    parts.push(references_part(&referrers[..rows.min(referrers.len())], referrer_names, "←"));
    if !references.is_empty() {
        let title = format!("What it refers to: {}", count_with_noun(references.len() as u64, "references"));
        parts.push(ListPart::Rows(vec![ListRow::title(title)]));
        parts.push(references_part(&references[..rows.min(references.len())], names, "→"));
    }
    if !below.is_empty() {
        let title = format!("What only it keeps alive, directly: {}", count_with_noun(below.len() as u64, "objects"));
        parts.push(ListPart::Rows(vec![ListRow::title(title)]));
        let places = browser.sorted_places(&below, (0..below.len() as u32).collect(), RETAINED, false, rows);
        parts.push(ListPart::of_objects(places.into_iter().take(rows).map(|at| below[at as usize]).collect()));
    }
    parts.extend(value_parts(&answer));
    Ok(Listing {
        header_lines: heading_lines(&answer),
        empty_text: String::new(),
        ..Listing::new(&OBJECT_COLUMNS, "Object", parts)
    })
}

fn references_part(references: &[Reference], names: Vec<Option<String>>, arrow: &'static str) -> ListPart {
    let weak = references.iter().zip(0u32..).filter(|(reference, _)| reference.is_weak).map(|(_, at)| at);
    ListPart::Objects {
        nodes: references.iter().map(|reference| reference.node).collect(),
        references: names,
        leading_text: arrow,
        faint_places: weak.collect(),
    }
}

/// The fields, or the first elements, with their values.
fn value_parts(answer: &ObjectAnswer<'_>) -> Vec<ListPart> {
    let mut rows: Vec<ListRow> = Vec::new();
    for field in answer.fields.iter().flatten() {
        let label = if field.is_static { format!("static {}", field.label()) } else { field.label() };
        rows.push(ListRow { reference: format!("{label} ="), ..ListRow::new(field.words(), RowTarget::NoTarget) });
    }
    for (at, element) in answer.object.elements.iter().flatten().enumerate() {
        rows.push(ListRow { reference: format!("[{at}] ="), ..ListRow::new(element.words(), RowTarget::NoTarget) });
    }
    if rows.is_empty() {
        return Vec::new();
    }
    vec![ListPart::Rows(vec![ListRow::title("Fields and values")]), ListPart::Rows(rows)]
}

fn heading_lines(answer: &ObjectAnswer<'_>) -> Vec<String> {
    let object = &answer.object;
    let mut lines = vec![object.row.type_text()];
    let shallow = format_bytes(object.row.shallow_bytes);
    lines.push(match (object.retained_bytes, &answer.dominator) {
        (Some(retained), Some(dominator)) => format!(
            "{shallow}, retains {}; goes with {} {}",
            format_bytes(retained),
            dominator.id,
            dominator.type_text()
        ),
        (Some(retained), None) => {
            format!("{shallow}, retains {}; no single object keeps it alive", format_bytes(retained))
        }
        (None, _) if answer.reachability.is_reached() => shallow,
        (None, _) => {
            format!("{shallow}; not reachable from any strong root{}", answer.reachability.left_out_roots_text())
        }
    });
    lines
}
