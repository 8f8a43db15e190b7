//! Roots with which a dump is seen.

use crate::analysis::reachability::{add_unreachable_roots, infer_roots};
use crate::analysis::reachability::{compute_reachable, compute_reachable_from};
use crate::graph::{HeapGraph, NodeSet, Root, RootKind};
use crate::input::{FormatInfo, Observer, Phase};

/// Roots with which a dump is seen. The default is what the dump says; roots that its format lacks are always inferred.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RootPolicy {
    /// Kinds that are left out, by the words of `RootKind::name`.
    pub excluded_kinds: Vec<String>,
    /// Objects that no strong root reaches get roots of their own.
    pub keep_unreachable: bool,
}

impl RootPolicy {
    /// Returns true if the roots are those of the dump.
    pub fn is_as_dumped(&self) -> bool {
        self.excluded_kinds.is_empty() && !self.keep_unreachable
    }

    /// Changes the roots of a graph that has those of the dump. O(objects + references) with `keep_unreachable`.
    pub(super) fn apply(&self, graph: &mut HeapGraph, observer: &dyn Observer) {
        if !self.excluded_kinds.is_empty() {
            graph.exclude_roots(&self.excluded_kinds);
        }
        if self.keep_unreachable {
            observer.phase_begun(Phase::FindingUnreachable);
            add_unreachable_roots(graph);
        }
    }
}

/// The kind of roots that a user names to be left out, as [`RootPolicy::excluded_kinds`] takes it. Weak roots hold nothing,
/// so leaving them out is no mistake.
pub fn parse_excluded_root_kind(text: &str) -> Option<String> {
    let weak = text.get(..5).filter(|start| matches!(&*start.to_lowercase(), "weak " | "weak-"));
    let kind = RootKind::from_words(&text[weak.map_or(0, str::len)..])?;
    Some(format!("{}{}", if weak.is_some() { "weak " } else { "" }, kind.name()))
}

/// Infers the roots of a dump whose format has none.
pub(super) fn infer_missing_roots(graph: &mut HeapGraph, info: &FormatInfo, observer: &dyn Observer) {
    if info.has_no_roots {
        observer.phase_begun(Phase::InferringRoots);
        infer_roots(graph);
    }
}

/// Objects that strong roots reach as the dump was loaded, recorded or inferred: whatever the user left out or asked for.
pub(super) fn reachable_as_dumped(graph: &HeapGraph) -> NodeSet {
    match graph.roots().iter().any(Root::is_strong_in_dump) {
        true => compute_reachable_from(graph, Root::is_strong_in_dump),
        false => compute_reachable(graph),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_excluded_root_kind;

    #[test]
    fn kinds_are_named_as_they_are_shown_or_with_dashes() {
        for (text, kind) in [
            ("static", Some("static")),
            ("Thread-Block", Some("thread-block")),
            ("weak handle", Some("weak handle")),
            ("WEAK-jni-global", Some("weak jni-global")),
            ("weak", None),
            ("weakhandle", None),
            ("kind 7", Some("kind 7")),
            ("", None),
            ("größe", None),
        ] {
            assert_eq!(parse_excluded_root_kind(text).as_deref(), kind, "{text}");
        }
    }
}
