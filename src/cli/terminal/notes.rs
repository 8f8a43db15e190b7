//! Notes and warnings on a dump, on standard error.

use crate::cli::terminal::session::Session;
use crate::graph::HeapGraph;
use crate::input::{Diagnostics, FormatInfo, POSSIBLE_REPEAT};

/// Notes on an object graph besides its problems.
pub(crate) fn note_of_graph(session: &Session, graph: &HeapGraph, facts: &FormatInfo, file: Option<&str>) {
    let snapshots = &facts.snapshots;
    if let (true, Some(chosen)) = (snapshots.len() > 1, snapshots.iter().position(|snapshot| snapshot.chosen)) {
        let all = snapshots.len();
        session.print_note(
            "note",
            file,
            &format!("snapshot {} of {all}; --snapshot N reads another, info lists them", chosen + 1),
        );
    }
    if graph.node_count() > 0 && graph.strong_roots().next().is_none() {
        let left_out = graph.roots().iter().any(|root| root.excluded);
        let which = if left_out { "no root that --exclude-roots leaves" } else { "no root" };
        let hint = "--keep-unreachable makes roots of what is left";
        session.print_note("note", file, &format!("{which} holds anything, so nothing is reachable; {hint}"));
    }
    if graph.roots_inferred() {
        session.print_note("note", file, "roots are inferred, for the dump has no root records");
    }
}

/// One line on standard error for each kind of problem.
pub(crate) fn warn(session: &Session, diagnostics: &Diagnostics, file: Option<&str>) {
    for problem in diagnostics.sorted() {
        if !problem.is_note() {
            session.print_note("warning", file, &problem.to_string());
        }
    }
}

/// The same where only types were counted: a repeat is no more than possible there.
pub(crate) fn warn_of_counted(session: &Session, diagnostics: &Diagnostics, file: Option<&str>) {
    warn(session, diagnostics, file);
    if let Some(problem) = diagnostics.sorted().into_iter().find(|problem| problem.is(&POSSIBLE_REPEAT)) {
        session.print_note("note", file, &problem.to_string());
    }
}
