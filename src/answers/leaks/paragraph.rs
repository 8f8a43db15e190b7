//! A suspect in a paragraph that can be pasted into a ticket.

use super::causes::MAX_DESCRIBED_SUSPECTS;
use super::special_cases;
use super::suspect_view::{SuspectKind, SuspectPath, SuspectView};
use super::suspects::Suspects;
use crate::analysis::leaks::LeakSuspect;
use crate::answers::ObjectRow;
use crate::graph::RootKind;
use crate::units::{count_with_noun, format_count};

/// Types inside a suspect that the paragraph names.
const MAX_TYPES_NAMED: usize = 3;
/// Objects of a path that the paragraph names.
const MAX_STEPS_NAMED: usize = 6;

/// The evidence in sentences, a line for each question: subject, sizes and growth; what keeps it alive; where memory piles
/// up. Names are as in the dump.
pub(super) fn evidence_lines(
    suspects: &Suspects<'_>,
    at: usize,
    view: &SuspectView<'_>,
    largest: &ObjectRow,
) -> Vec<String> {
    let (suspect, is_explained) = (&suspects.suspects[at], at < MAX_DESCRIBED_SUSPECTS);
    let mut lines = vec![subject_sentence(suspects, view, largest) + &growth_sentence(suspects, view)];
    lines.push(holders_sentence(suspects, view, &suspects.path_of_cause(at)));
    lines.push(accumulation_sentence(suspects, suspect, view, is_explained));
    if is_explained {
        lines.push(special_cases::special_case_sentences(suspects, suspect, view));
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// All of a suspect: the cause, the evidence, contents, what to do.
pub(super) fn suspect_lines(suspects: &Suspects<'_>, view: &SuspectView<'_>) -> Vec<String> {
    let mut lines: Vec<String> = view.sentence.iter().chain(&view.evidence).cloned().collect();
    lines.push(format!("Inside: {}.", view.contents_in_words));
    lines.extend(view.advice.map(|advice| format!("What to do: {advice}.")));
    lines.push(format!("Look further with: {}", suspects.look_further_command(view)));
    lines
}

fn object_name(object: &ObjectRow) -> String {
    format!("{} ({})", object.type_text(), object.id)
}

fn subject_sentence(suspects: &Suspects<'_>, view: &SuspectView<'_>, largest: &ObjectRow) -> String {
    let row = &view.row;
    let mut text = match row.kind {
        SuspectKind::Object => format!("One {} retains", object_name(largest)),
        SuspectKind::Group if view.element.is_some() => "No single object holds them; together they retain".into(),
        SuspectKind::Group => {
            format!(
                "{} of {} that no single object holds together retain",
                format_count(row.objects as u64),
                row.type_name
            )
        }
    };
    text += &format!(
        " {}, {:.1} % of {}, in {}.",
        suspects.size_in_words(row.retained_bytes),
        row.share * 100.0,
        suspects.reached_words,
        count_with_noun(row.retained_objects, "objects")
    );
    if let Some(owner) = &view.owner {
        text += &format!(" It belongs to {}.", object_name(owner));
    }
    text
}

fn growth_sentence(suspects: &Suspects<'_>, view: &SuspectView<'_>) -> String {
    let Some(growth) = &view.growth else { return String::new() };
    let then = suspects.size_in_words(growth.retained_bytes_old);
    let change = suspects.size_in_words(growth.retained_bytes_delta.unsigned_abs());
    // Of all that the cause keeps: the object may hold more.
    match growth.retained_bytes_delta {
        1.. => format!(" What is kept grew by {change}, from {then}."),
        0 => " What is kept did not grow.".into(),
        _ => format!(" What is kept shrank by {change}, from {then}."),
    }
}

fn holders_sentence(suspects: &Suspects<'_>, view: &SuspectView<'_>, way: &SuspectPath<'_>) -> String {
    let Some(path) = way.row() else { return String::new() };
    let whose = match &view.element {
        Some(element) if element.objects > 1 => "They are kept alive by",
        None if view.row.objects > 1 => "The largest is kept alive by",
        _ => "It is kept alive by",
    };
    let (length, from) = (path.length(), way.explained_from());
    let max_steps = if suspects.with_all_steps { usize::MAX } else { MAX_STEPS_NAMED };
    let steps_from = |from: usize| {
        steps_in_words(length - from, max_steps, |places| path.step_texts(places.start + from..places.end + from))
    };
    let module = path.node_ids().nth(from).and_then(|start| suspects.modules.get(&start));
    if (1..length).contains(&from) || length > 0 && module.is_some() {
        let module = module.map(|module| format!("module {module}"));
        let steps = Some(steps_from(from)).filter(|steps| !steps.is_empty());
        let words: Vec<String> = module.into_iter().chain(steps).collect();
        return format!("{whose} {}.", words.join(", through "));
    }
    let is_unreferenced = path.root().kind == RootKind::Unreferenced.name();
    let through = match length {
        0 => ".".to_string(),
        _ => format!(", through {}.", steps_from(0)),
    };
    match length {
        0 if is_unreferenced => return "Nothing in the dump refers to it (root inferred).".into(),
        _ if is_unreferenced => {
            let (all, first) = (steps_from(0), path.step_texts(0..1).concat());
            return format!("{whose} {all}, and nothing in the dump refers to {first} (root inferred).");
        }
        _ => {}
    }
    format!("{whose} {}{through}", suspects.holders_in_words(&path))
}

/// Text of the steps, of more than so many shortened in the middle.
fn steps_in_words(count: usize, max_steps: usize, types: impl Fn(std::ops::Range<usize>) -> Vec<String>) -> String {
    if count <= max_steps {
        return types(0..count).join(" -> ");
    }
    let half = max_steps / 2;
    let (first, last) = (types(0..half).join(" -> "), types(count - half..count).join(" -> "));
    format!("{first} -> ... {} more ... -> {last}", count - 2 * half)
}

fn accumulation_sentence(
    suspects: &Suspects<'_>,
    suspect: &LeakSuspect,
    view: &SuspectView<'_>,
    is_explained: bool,
) -> String {
    let point = &view.accumulation_point;
    let is_largest = suspect.accumulation.node == suspect.largest_object();
    let is_group = view.row.objects > 1;
    let what = match (point.members, point.member_type) {
        (Some(count), Some(member_type)) => {
            let what = match point.shape {
                "linked-list" => "a linked list",
                "hash-table" => "a hash table",
                "array" => "an array",
                _ => "a collection",
            };
            let keeping = view.keeping.as_ref().map_or(String::new(), |keeping| {
                let all = if keeping.objects == count { "each" } else { "most of them" };
                format!(", {all} keeping a {}", keeping.type_name)
            });
            Some(format!("{what} of {} {member_type}{keeping}", format_count(count)))
        }
        _ => None,
    };
    let is_itself = what.is_none() && point.shape == "single" && !is_group;
    if what.is_none() && !is_itself && (is_largest || is_group) {
        return String::new();
    }
    let field = (is_explained && !is_group).then(|| special_cases::fields_to_accumulation(suspects, suspect)).flatten();
    let field = field.map_or(String::new(), |field| format!(", its {field}"));
    let place = if is_largest { "there".to_string() } else { format!("in {}{field}", object_name(&point.object)) };
    let is_collection = is_explained && point.members.is_some();
    let count = is_collection.then(|| special_cases::collection_size_clause(suspects, suspect)).flatten();
    let count = count.map_or(String::new(), |count| format!(" ({count})"));
    let what = what.map_or(String::new(), |what| format!(", {what}{count}"));
    let share = point.retained_bytes as f64 / view.row.retained_bytes.max(1) as f64;
    let size =
        if share < 0.995 { format!(", {}", suspects.size_in_words(point.retained_bytes)) } else { String::new() };
    match is_itself {
        true if is_largest => "The bytes are in the object itself.".to_string(),
        true => format!("The bytes are in {} itself{size}.", &place["in ".len()..]),
        false => format!("The memory piles up {place}{what}{size}."),
    }
}

/// The largest types and what is kept, else the application's own largest if they are all a library's.
pub(super) fn contents_in_words(
    suspects: &Suspects<'_>,
    suspect: &LeakSuspect,
    element: crate::graph::TypeId,
) -> String {
    let held = &suspect.held_types;
    let is_own = |type_id: crate::graph::TypeId| !suspects.library_types.contains(type_id);
    let (mut named, others) = held.split_at(held.len().min(MAX_TYPES_NAMED));
    let own = others.iter().find(|held| is_own(held.type_id));
    let own = own.filter(|_| !named.iter().any(|held| is_own(held.type_id)));
    let extra = others.iter().find(|held| held.type_id == element).or(own);
    if extra.is_some() {
        named = &named[..MAX_TYPES_NAMED - 1];
    }
    let types: Vec<String> = named
        .iter()
        .chain(extra)
        .map(|held| {
            let name = suspects.graph.type_name(held.type_id);
            format!("{} {name} ({})", format_count(held.objects), suspects.size_in_words(held.shallow_bytes))
        })
        .collect();
    types.join(", ")
}
