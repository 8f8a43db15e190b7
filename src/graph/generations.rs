//! Generations of a collector, as ranges of addresses; nodes are numbered by address, so they are runs of nodes.

use crate::sort;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::SectionIds;

/// Part of the heap in which the collector keeps an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Generation {
    /// Generation 0, 1 or 2.
    Numbered(u8),
    /// The heap of large objects.
    Large,
    /// The heap of pinned objects.
    Pinned,
    /// In no range: the frozen heap, whose objects are never collected.
    Outside,
}

impl Generation {
    /// Returns true if objects of it are in one of the dump's ranges.
    pub fn is_in_range(self) -> bool {
        self != Generation::Outside
    }

    /// The generation of a name, as [`name`](Self::name) gives it.
    pub(crate) fn from_name(text: &str) -> Option<Self> {
        let numbered = || text.strip_prefix("gen")?.parse().ok().map(Generation::Numbered);
        let others = [Generation::Large, Generation::Pinned, Generation::Outside];
        others.into_iter().find(|generation| generation.name() == text).or_else(numbered)
    }

    /// As users see it.
    pub fn name(self) -> String {
        match self {
            Generation::Numbered(number) => format!("gen{number}"),
            Generation::Large => "loh".into(),
            Generation::Pinned => "poh".into(),
            Generation::Outside => "(none)".into(),
        }
    }
}

/// A range of addresses of one generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerationRange {
    /// The first address.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// Generation of the range.
    pub generation: Generation,
}

/// Consecutive nodes of one generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerationRun {
    /// Their indices.
    pub nodes: Range<usize>,
    /// Generation of the nodes.
    pub generation: Generation,
}

/// All nodes by generation, or nothing when there are no ranges. Where ranges overlap, the one that begins later wins
/// from there on.
pub(super) fn generation_runs(ranges: &[GenerationRange], maps: &[SectionIds]) -> Vec<GenerationRun> {
    let [map] = maps else { return Vec::new() };
    if ranges.is_empty() {
        return Vec::new();
    }
    let mut sorted = ranges.to_vec();
    sort::rows_by_key(&mut sorted, |range| (range.start, range.end));
    let mut runs = Vec::new();
    let mut next = 0;
    let mut push = |until: usize, generation: Generation, next: &mut usize| {
        if until > *next {
            runs.push(GenerationRun { nodes: *next..until, generation });
            *next = until;
        }
    };
    for (at, range) in sorted.iter().enumerate() {
        let end = sorted.get(at + 1).map_or(range.end, |following| range.end.min(following.start));
        push(map.id_map.count_below(range.start) as usize, Generation::Outside, &mut next);
        push(map.id_map.count_below(end) as usize, range.generation, &mut next);
    }
    push(map.id_map.len(), Generation::Outside, &mut next);
    runs
}
