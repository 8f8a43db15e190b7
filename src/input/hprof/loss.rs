//! The loss of a dump that is cut or damaged.

use super::assemble::Assembler;
use super::codes::*;
use crate::input::{Code, Loss};

/// The loss; `None` of a dump that is whole.
pub(super) fn loss_of(assembler: &Assembler<'_>, has_no_roots: bool) -> Option<Loss> {
    let problems = assembler.diagnostics.sorted();
    let count = |code: &Code| problems.iter().find(|problem| problem.is(code)).map_or(0, |one| one.count);
    let reader = assembler.reader;
    let unread = reader.lost.unread + assembler.content.unread_bytes;
    let lost_bytes = reader.lost.missing + unread + reader.lost.behind;
    let is_cut = count(&TRUNCATED) + count(&NO_END) > 0;
    if lost_bytes == 0 && !is_cut {
        return None;
    }
    let mut lost = Vec::new();
    let mut add = |is_lost: bool, what: &str| lost.extend(is_lost.then(|| what.to_string()));
    add(reader.lost.missing > 0, "the end of the last record");
    add(count(&BAD_SUBRECORD) + count(&BAD_RECORD) > 0, "what stands behind entries that cannot be read");
    add(has_no_roots, "all root records");
    add(count(&NO_END) > 0, "the end record, and whatever came before it");
    let classes = count(&NO_CLASS_DUMP);
    add(classes > 0, &format!("descriptions of classes: {classes} that objects are of have none"));
    // A segment says how long it is, and not how many follow it.
    let is_all_known = count(&NO_END) == 0;
    Some(Loss { read_bytes: reader.end().saturating_sub(unread), lost_bytes, is_all_known, lost })
}
