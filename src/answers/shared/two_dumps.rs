//! Conditions for two dumps to be compared, and retained bytes of a set of objects.

use super::AnswerError;
use crate::analysis::object_changes::{ObjectChanges, compare_objects};
use crate::analysis::retained_sets::{NO_SET, max_steps_of_exact, retained_exact_by_set};
use crate::dump::{OpenDump, Phase};
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::input::Runtime;

/// Types of two dumps compare, or an error.
///
/// # Errors
/// If the dumps are of different runtimes.
pub fn check_runtimes(old: &OpenDump, new: &OpenDump) -> Result<(), AnswerError> {
    let [old, new] = [old, new].map(|dump| &*dump.info().format);
    match Runtime::of_format(old) == Runtime::of_format(new) {
        true => Ok(()),
        false => Err(AnswerError::MixedFormats(old.to_string(), new.to_string())),
    }
}

/// Compares the objects of two dumps of one process.
///
/// # Errors
/// If ids of the format do not stay with their objects, or the dumps are not of one process.
pub fn changes_of(old: &OpenDump, new: &OpenDump) -> Result<ObjectChanges, AnswerError> {
    let of = |dump: &'_ OpenDump| dump.graph().is_some_and(HeapGraph::has_lasting_ids);
    if !of(old) || !of(new) {
        return Err(AnswerError::NoLastingIds);
    }
    let (Some(old), Some(new)) = (old.graph(), new.graph()) else { return Err(AnswerError::NotObjects) };
    let changes = compare_objects(old, new);
    match changes.are_of_one_process() {
        true => Ok(changes),
        false => Err(AnswerError::OtherProcess { alike: changes.alike, of: changes.kept }),
    }
}

/// Bytes that would be freed if all objects of a set went, and those of its objects that no strong root reaches: at least
/// the bytes of all its objects.
///
/// # Errors
/// If it takes too much work or memory.
pub fn retained_of(dump: &OpenDump, graph: &HeapGraph, set: &NodeSet) -> Result<u64, AnswerError> {
    dump.check_exact_retained()?;
    dump.phase(Phase::RemovingTypes);
    let set_of = |node: NodeId| if set.contains(node) { 0 } else { NO_SET };
    let bytes = retained_exact_by_set(graph, &[0], set_of, max_steps_of_exact(graph), |_| {});
    let bytes = bytes.map_err(|_| AnswerError::SetTooLarge(set.len() as u64))?;
    let reachable = dump.reachable();
    let unreached =
        graph.objects(0..graph.node_count()).filter(|(node, ..)| set.contains(*node) && !reachable.contains(*node));
    Ok(unreached.fold(bytes.first().copied().unwrap_or(0), |sum, (_, _, bytes)| sum.saturating_add(bytes)))
}
