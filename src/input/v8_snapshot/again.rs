//! A snapshot that was read again, with all its strings, to tell of single objects.

use std::sync::{Arc, Mutex};

use super::block::NOWHERE;
use super::layout::Kind;
use super::snapshot::Snapshot;
use super::stacks::Stacks;
use crate::graph::NodeId;

/// Characters of a text that is put together; V8 cuts others there.
pub(super) const MOST_TEXT_CHARS: usize = 1024;
/// Parts of a text that is asked for whole: more than any program has, and no more work than a moment.
const MOST_PARTS_OF_WHOLE: usize = 1 << 24;
/// Parts of a text that are looked at.
const MOST_PARTS: usize = 100_000;

/// A snapshot that was read again.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) snapshot: Snapshot,
    /// By node: its ordinal.
    pub(super) ordinals: Vec<u32>,
    /// Tables of maps and sets, ascending, with the objects they belong to.
    pub(super) tables: Vec<(u32, u32)>,
    /// Stacks, in recordings of allocations.
    pub(super) stacks: Stacks,
    pub(super) distances: Mutex<Option<Arc<Vec<u32>>>>,
}

impl Read {
    pub(super) fn ordinal(&self, node: NodeId) -> Option<u32> {
        self.ordinals.get(node.index()).copied()
    }

    /// The edge of a node's reference, counted as the graph counts them.
    pub(super) fn edge(&self, ordinal: u32, nth: usize) -> Option<usize> {
        let snapshot = &self.snapshot;
        let is_kept = |&edge: &usize| {
            let target = snapshot.targets[edge];
            target != NOWHERE && !snapshot.is_category(target)
        };
        snapshot.edges(ordinal).filter(is_kept).nth(nth)
    }

    /// Hands the whole text of a string node to `take`, part by part until that returns false. Returns whether the snapshot
    /// has all of it; `None` for what is no string.
    pub(super) fn whole(&self, ordinal: u32, take: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        let snapshot = &self.snapshot;
        if !matches!(snapshot.kind(ordinal), Kind::String | Kind::ConsString | Kind::SlicedString) {
            return None;
        }
        let (mut open, mut is_whole) = (vec![ordinal], true);
        for _ in 0..MOST_PARTS_OF_WHOLE {
            let Some(part) = open.pop() else { return Some(is_whole) };
            let before = open.len();
            if snapshot.kind(part) == Kind::ConsString {
                open.extend(["second", "first"].iter().filter_map(|side| snapshot.field(part, side)));
            }
            if open.len() == before {
                let text = snapshot.strings.name(snapshot.names[part as usize]);
                let units = text.chars().map(char::len_utf16).sum::<usize>();
                is_whole &= units != MOST_TEXT_CHARS && snapshot.field(part, "truncated").is_none();
                if !take(text.as_bytes()) {
                    return Some(false);
                }
            }
        }
        Some(false)
    }

    /// UTF-16 units of a string node that is not put together: those that the snapshot has, or how many it says there were.
    pub(super) fn length(&self, ordinal: u32) -> Option<u64> {
        let snapshot = &self.snapshot;
        let name = |node: u32| snapshot.strings.name(snapshot.names[node as usize]);
        if let Some(number) = snapshot.field(ordinal, "length") {
            return name(snapshot.field(number, "value").unwrap_or(number)).parse().ok();
        }
        let units = |node: u32| name(node).chars().map(|next| next.len_utf16() as u64).sum();
        matches!(snapshot.kind(ordinal), Kind::String | Kind::SlicedString).then(|| units(ordinal))
    }

    /// The text of a string node; a concatenated one is put together from its parts.
    pub(super) fn text(&self, ordinal: u32) -> Option<String> {
        let snapshot = &self.snapshot;
        let name = || snapshot.strings.name(snapshot.names[ordinal as usize]).into_owned();
        match snapshot.kind(ordinal) {
            Kind::String | Kind::SlicedString => return Some(name()),
            Kind::ConsString => {}
            _ => return None,
        }
        let (mut text, mut chars) = (String::new(), 0);
        let mut open = vec![ordinal];
        for _ in 0..MOST_PARTS {
            let Some(part) = open.pop().filter(|_| chars < MOST_TEXT_CHARS) else { break };
            if snapshot.kind(part) == Kind::ConsString {
                open.extend(["second", "first"].iter().filter_map(|side| snapshot.field(part, side)));
            } else {
                let own = snapshot.strings.name(snapshot.names[part as usize]);
                let more = own.chars().take(MOST_TEXT_CHARS - chars);
                text.extend(more);
                chars = text.chars().count();
            }
        }
        Some(if text.is_empty() { name() } else { text })
    }
}
