//! Strings of a dump by their texts.

use rayon::prelude::*;
use serde::Serialize;

use super::AnswerError;
use crate::dump::{NoValues, OpenDump};
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::input::{ObjectDetails, StringColumns};
use crate::units::{format_bytes, format_count};

/// Figures of many strings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StringTotals {
    /// String objects.
    pub strings: u64,
    /// Shallow bytes of these, and of the arrays of their characters, each once.
    pub bytes: u64,
    /// Different texts.
    pub distinct: u64,
    /// Bytes that go to copies beyond the largest one of each text.
    pub wasted_bytes: u64,
}

/// Strings that are blotted out: of NUL characters alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RedactedStrings {
    /// String objects.
    pub strings: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl RedactedStrings {
    pub(in crate::answers) fn redaction_note(self, strings: u64) -> String {
        format!(
            "the dump is redacted: {} of {} strings ({}) are zeros alone, and not counted as duplicates",
            format_count(self.strings),
            format_count(strings),
            format_bytes(self.bytes)
        )
    }
}

/// All copies of a text.
#[derive(Debug, Clone, Copy)]
pub struct TextGroup {
    /// Where the copies begin in `GroupedStrings::places_by_text`.
    places_start: u32,
    pub copies: u32,
    pub bytes: u64,
    pub wasted_bytes: u64,
}

/// Strings by their texts. 28 bytes a string while they are read, and 24 a text.
#[derive(Debug)]
pub struct GroupedStrings {
    pub strings: StringColumns,
    /// Places in `strings`, ascending by text; those without a known text last.
    places_by_text: Vec<u32>,
    pub groups: Vec<TextGroup>,
    pub totals: StringTotals,
    pub redacted: Option<RedactedStrings>,
}

/// At least so many texts of NULs alone, and a tenth of all that have characters: those are blotted out.
const MIN_REDACTED_STRINGS: u64 = 20;

impl GroupedStrings {
    /// Groups strings. O(strings x log strings), on all threads.
    pub fn new(graph: &HeapGraph, strings: StringColumns) -> Self {
        let mut order: Vec<u32> = (0..strings.len() as u32).collect();
        order.par_sort_unstable_by_key(|&at| (strings.key(at as usize), at));
        let unknown = order.partition_point(|&at| !strings.key(at as usize).is_known());
        order.rotate_left(unknown);
        let known = order.len() - unknown;
        let mut grouped = GroupedStrings {
            strings,
            places_by_text: order,
            groups: Vec::new(),
            totals: StringTotals::default(),
            redacted: None,
        };
        let groups = grouped.places_by_text[..known]
            .chunk_by(|&a, &b| grouped.strings.key(a as usize) == grouped.strings.key(b as usize))
            .scan(0, |first, copies| {
                let group = grouped.text_group_of(graph, *first, copies);
                *first += copies.len() as u32;
                Some(group)
            });
        let mut groups: Vec<TextGroup> = groups.collect();
        let blank: Vec<&TextGroup> = groups.iter().filter(|group| grouped.is_all_nuls(group)).collect();
        let blank = RedactedStrings {
            strings: blank.iter().map(|group| u64::from(group.copies)).sum(),
            bytes: blank.iter().map(|group| group.bytes).sum(),
        };
        if blank.strings >= MIN_REDACTED_STRINGS && blank.strings >= grouped.strings.len() as u64 / 10 {
            grouped.redacted = Some(blank);
            groups.iter_mut().filter(|group| grouped.is_all_nuls(group)).for_each(|group| group.wasted_bytes = 0);
        }
        grouped.totals = StringTotals {
            strings: grouped.strings.len() as u64,
            bytes: grouped.string_and_array_bytes(graph),
            distinct: groups.len() as u64,
            wasted_bytes: groups.iter().map(|group| group.wasted_bytes).sum(),
        };
        grouped.groups = groups;
        grouped
    }

    /// Only strings of some objects, grouped anew; the totals stay those of all.
    pub fn only_of_objects(self, graph: &HeapGraph, objects: &NodeSet) -> Self {
        let GroupedStrings { mut strings, totals, redacted, .. } = self;
        strings.retain(|node| objects.contains(node));
        let mut grouped = GroupedStrings::new(graph, strings);
        let mut groups = std::mem::take(&mut grouped.groups);
        // Too few may be left to be known as blotted out; among all strings they are.
        let is_blotted = |group: &&mut TextGroup| redacted.is_some() && grouped.is_all_nuls(group);
        groups.iter_mut().filter(is_blotted).for_each(|group| group.wasted_bytes = 0);
        GroupedStrings { groups, totals, redacted, ..grouped }
    }

    /// Shallow bytes of all strings and their arrays.
    fn string_and_array_bytes(&self, graph: &HeapGraph) -> u64 {
        let mut seen = NodeSet::new(graph.node_count());
        let own = |at: usize| graph.shallow_bytes(self.strings.node(at));
        let array = |at: usize, seen: &mut NodeSet| {
            self.strings.array(at).filter(|&array| seen.insert(array)).map_or(0, |array| graph.shallow_bytes(array))
        };
        (0..self.strings.len()).map(|at| own(at) + array(at, &mut seen)).sum()
    }

    fn text_group_of(&self, graph: &HeapGraph, first: u32, copies: &[u32]) -> TextGroup {
        let array_bytes = |at: u32| self.strings.array(at as usize).map_or(0, |array| graph.shallow_bytes(array));
        let own_bytes = |at: u32| graph.shallow_bytes(self.strings.node(at as usize));
        let largest = copies.iter().map(|&at| own_bytes(at) + array_bytes(at)).max().unwrap_or(0);
        let mut bytes: u64 = copies.iter().map(|&at| own_bytes(at) + array_bytes(at)).sum();
        if copies.len() > 1 {
            // An array that copies share counts once.
            let mut arrays: Vec<NodeId> = copies.iter().filter_map(|&at| self.strings.array(at as usize)).collect();
            arrays.sort_unstable();
            let again = arrays.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| graph.shallow_bytes(pair[0]));
            bytes -= again.sum::<u64>();
        }
        TextGroup { places_start: first, copies: copies.len() as u32, bytes, wasted_bytes: bytes - largest }
    }

    /// Returns true for a text of NULs alone.
    fn is_all_nuls(&self, group: &TextGroup) -> bool {
        self.strings.key(self.places_by_text[group.places_start as usize] as usize).is_all_zero()
    }

    /// Returns true if copies of the text are duplicates.
    pub fn is_duplicate(&self, group: &TextGroup) -> bool {
        group.copies > 1 && !(self.redacted.is_some() && self.is_all_nuls(group))
    }

    /// The copies of a text, by their places in `strings`, ascending.
    pub fn copies(&self, group: &TextGroup) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.places_by_text[group.places_start as usize..][..group.copies as usize].iter().map(|&at| at as usize)
    }

    /// The first copy of a text.
    pub fn first_copy(&self, group: &TextGroup) -> usize {
        self.places_by_text[group.places_start as usize] as usize
    }
}

/// Returns the reader of a dump's texts.
pub fn text_details(dump: &OpenDump) -> Result<&dyn ObjectDetails, AnswerError> {
    match dump.values() {
        Ok(details) => Ok(details),
        Err(NoValues::NotInFormat(format)) => match dump.details() {
            Some(details) if details.has_texts() => Ok(details),
            _ => Err(AnswerError::NoValues(NoValues::NotInFormat(format))),
        },
        Err(why) => Err(AnswerError::NoValues(why)),
    }
}
