//! Leak suspects: what, held by what, where it piles up, what is inside.

use crate::answers::diff::RETAINED_DELTA;
use crate::answers::figure::RETAINED;
use crate::answers::leaks::{SuspectView, leaks, leaks_since};
use crate::answers::{AnswerError, LeaksOptions, ObjectId, ScopeOptions};
use crate::dump::OpenDump;
use crate::explore::listing::{ListColumn, ListPart, ListRow, Listing, RowTarget};
use crate::explore::setup::BrowsedDumps;
use crate::units::{count_with_noun, format_bytes, format_count, saturating_signed};

/// Suspects that are listed; below a threshold of a tenth there are seldom more.
const MAX_SUSPECTS_LISTED: usize = 100;

pub(super) fn list_suspects(dumps: BrowsedDumps) -> Result<Listing, AnswerError> {
    let options = LeaksOptions { rows: Some(MAX_SUSPECTS_LISTED), with_unchanged: true, ..LeaksOptions::default() };
    let answer = match dumps.old {
        Some(old) => leaks_since(old, dumps.new, &options)?,
        None => leaks(dumps.new, &options)?,
    };
    let rows = answer
        .suspects
        .iter()
        .zip(0u32..)
        .map(|(suspect, tie_rank)| ListRow { tie_rank, ..suspect_row(dumps.new, &suspect) });
    let rows: Vec<ListRow> = rows.collect();
    let mut figures = vec![ListColumn::new(RETAINED, 0).unsorted()];
    figures.extend(dumps.old.map(|_| ListColumn::of_growth(RETAINED_DELTA, 0).titled("Growth").unsorted()));
    let parts = vec![ListPart::Rows(rows)];
    Ok(Listing {
        share_total: Some(saturating_signed(answer.reachable_bytes)),
        empty_text: format!(
            "nothing retains {} or more, a tenth of what is reachable",
            format_bytes(answer.threshold_bytes)
        ),
        ..Listing::new(&figures, "Suspect", parts)
    })
}

fn suspect_row(dump: &'static OpenDump, suspect: &SuspectView<'_>) -> ListRow {
    let point = &suspect.accumulation_point;
    let node = |id: &str| id.parse::<ObjectId>().ok()?.find(dump.graph()?, &ScopeOptions::default()).ok();
    let piling = node(&point.object.id);
    let held = match suspect.path.row() {
        Some(path) => {
            let through = if path.length() > 0 { format!(", through {}", path.expression()) } else { String::new() };
            format!("{}{through}", path.holders_in_words())
        }
        None => "nothing that the dump names".into(),
    };
    let piles = match (point.members, point.member_type) {
        (Some(members), Some(type_name)) => format!(": {} × {type_name}", format_count(members)),
        _ if point.shape == "single" => ": the bytes are in the object itself".into(),
        _ => String::new(),
    };
    let (lead, name) = match &suspect.row.id {
        Some(id) => (id.clone(), suspect.row.type_name),
        None => (format!("{} of", count_with_noun(suspect.row.objects as u64, "objects")), suspect.row.type_name),
    };
    let more = [
        ("held by", held),
        ("piles up in", format!("{} {}{piles}", point.object.id, point.object.type_text())),
        ("inside", suspect.contents_in_words.clone()),
    ];
    let mut figures = vec![Some(saturating_signed(suspect.row.retained_bytes))];
    figures.extend(suspect.growth.map(|growth| Some(growth.retained_bytes_delta)));
    ListRow {
        figures,
        // A group's first object would be any; where it piles up is what is looked at.
        id: suspect.row.id.clone().unwrap_or_else(|| point.object.id.clone()),
        node: suspect.row.id.as_deref().and_then(node).or(piling),
        leading_text: lead,
        details: suspect.sentence.iter().map(|sentence| ("cause", sentence.clone())).chain(more).collect(),
        ..ListRow::new(name, piling.map_or(RowTarget::NoTarget, RowTarget::Object))
    }
}
