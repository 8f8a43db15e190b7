//! Pseudo nodes: what makers of dumps put above the heap's objects to say what holds them. They become roots.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::memory_graph::{MemoryGraph, NodeRecord};
use crate::graph::{BuildError, MemoryShare, RootFlags, RootKind};

/// A root: an object by its index in the dump, and why it is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PseudoNodeRoot {
    pub(super) object_index: usize,
    pub(super) meaning: RootMeaning,
}

/// The meaning of the pseudo nodes on the way to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RootMeaning {
    pub(super) kind: RootKind,
    pub(super) flags: u32,
    /// Of a static variable, its type's before it; else what no kind says.
    pub(super) name: Option<Rc<str>>,
}

impl RootMeaning {
    fn new(kind: RootKind, flags: u32) -> Self {
        RootMeaning { kind, flags, name: None }
    }

    /// The meaning with that of a pseudo node below. Makers differ in their words: `[pinning Handles]`,
    /// `[PinnedHandle]`, `[Pinned handles]`.
    fn with_node_below(&self, label: &str) -> Self {
        let words = label.to_ascii_lowercase();
        let has = |word: &str| words.contains(word);
        let named = |meaning: RootMeaning| RootMeaning { name: Some(without_brackets(label).into()), ..meaning };
        let pinned = if has("pinn") { RootFlags::PINNED } else { 0 };
        let weak = if has("weak") { RootFlags::WEAK } else { 0 };
        if let Some(field) = label.strip_prefix("[static var ").and_then(|rest| rest.strip_suffix(']')) {
            return RootMeaning { name: Some(field.into()), ..RootMeaning::new(RootKind::Static, self.flags) };
        }
        if has("thread static var") {
            let meaning = RootMeaning::new(RootKind::Static, RootFlags::THREAD_LOCAL);
            let field = without_brackets(label).split_once("thread static var ").map(|(_, field)| field.into());
            return RootMeaning { name: field, ..meaning };
        }
        if words.starts_with("[static vars") {
            RootMeaning::new(RootKind::Static, 0)
        } else if has("local var") {
            RootMeaning::new(RootKind::Local, pinned)
        } else if has("finalizer") {
            RootMeaning::new(RootKind::Finalizer, 0)
        } else if has("dependent handle") {
            RootMeaning::new(RootKind::Dependent, 0)
        } else if words.starts_with("[ccw") {
            named(RootMeaning::new(RootKind::Com, RootFlags::REF_COUNTED))
        } else if has("com/winrt") || has("refcount") || has("ref count") {
            RootMeaning::new(if has("handle") { RootKind::Handle } else { RootKind::Com }, RootFlags::REF_COUNTED)
        } else if has("handle") {
            RootMeaning::new(RootKind::Handle, pinned | weak)
        } else if has("[.net roots]") || has("other roots") {
            RootMeaning::new(RootKind::Runtime, 0)
        } else {
            named(self.clone())
        }
    }
}

fn without_brackets(label: &str) -> &str {
    label.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(label)
}

/// Does a node of this type stand for a COM callable wrapper? It has an address, but is no object of the heap.
pub(super) fn is_com_wrapper_type(type_name: &str) -> bool {
    type_name.starts_with("[CCW ")
}

/// Everything that pseudo nodes hold, each of them visited once from the dump's root down. Error: if there are more
/// than `share` has room for.
pub(super) fn find_roots(
    graph: &MemoryGraph<'_>,
    is_object: impl Fn(usize) -> bool,
    share: &mut MemoryShare,
) -> Result<Vec<PseudoNodeRoot>, BuildError> {
    /// A root, or a node that was seen and is to be looked into.
    const BYTES_PER_ROOT: usize = size_of::<PseudoNodeRoot>() + 24;
    let mut roots = Vec::new();
    let Ok(top) = usize::try_from(graph.root_index) else { return Ok(roots) };
    let held_by_runtime = RootMeaning::new(RootKind::Runtime, 0);
    if is_object(top) {
        return Ok(vec![PseudoNodeRoot { object_index: top, meaning: held_by_runtime }]);
    }
    let mut seen = FxHashSet::default();
    seen.insert(top);
    let mut pending = vec![(top, held_by_runtime)];
    while let Some((index, above)) = pending.pop() {
        let NodeRecord::Node(node) = graph.record(index) else { continue };
        let label = graph.types[node.type_index].name.as_deref().unwrap_or("");
        let meaning = above.with_node_below(label);
        share
            .set_held_bytes(((roots.len() + pending.len() + seen.len() + node.child_count) * BYTES_PER_ROOT) as u64)?;
        let from = pending.len();
        for child in node.children().filter_map(|child| usize::try_from(child).ok()) {
            if child >= graph.node_count {
                continue;
            }
            if is_object(child) {
                roots.push(PseudoNodeRoot { object_index: child, meaning: meaning.clone() });
            } else if seen.insert(child) {
                pending.push((child, meaning.clone()));
            }
        }
        // In the order of the dump.
        pending[from..].reverse();
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_the_words_of_every_maker() {
        let top = RootMeaning::new(RootKind::Runtime, 0).with_node_below("[.NET Roots]");
        for (label, kind, flags) in [
            ("[static vars]", RootKind::Static, 0),
            ("[thread static vars]", RootKind::Static, RootFlags::THREAD_LOCAL),
            ("[local vars]", RootKind::Local, 0),
            ("[Pinned local vars]", RootKind::Local, RootFlags::PINNED),
            ("[finalizer Handles]", RootKind::Finalizer, 0),
            ("[FinalizerQueue]", RootKind::Finalizer, 0),
            ("[pinning Handles]", RootKind::Handle, RootFlags::PINNED),
            ("[PinnedHandle]", RootKind::Handle, RootFlags::PINNED),
            ("[strong Handles]", RootKind::Handle, 0),
            ("[OtherHandles]", RootKind::Handle, 0),
            ("[Dependent Handles]", RootKind::Dependent, 0),
            ("[COM/WinRT Objects]", RootKind::Com, RootFlags::REF_COUNTED),
        ] {
            assert_eq!(top.with_node_below(label), RootMeaning::new(kind, flags), "{label}");
        }
        let field = top.with_node_below("[static vars]").with_node_below("[static var Demo.Node.Head]");
        assert_eq!((field.kind, field.name.as_deref()), (RootKind::Static, Some("Demo.Node.Head")));
        assert_eq!(top.with_node_below("[JS Roots]").name.as_deref(), Some("JS Roots"));
    }
}
