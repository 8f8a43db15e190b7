//! Sections of a dump, and the ids of their objects.

use serde::{Deserialize, Serialize};

use super::NodeId;
use super::id_map::IdRankMap;

/// Form in which original ids are printed: one canonical form per format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum IdStyle {
    /// `1ce056`
    #[default]
    Hex,
    /// `0x00436E90`, with this many digits.
    Padded(u8),
    /// `0x7f2da4800010`
    Prefixed,
    /// `@1234`, in decimal
    Decimal,
}

impl IdStyle {
    /// The id that a user typed in this style; `None` when it is none. Case, leading zeros, `0x` and `@` do not matter.
    pub fn parse(self, text: &str) -> Option<u64> {
        let (digits, radix) = match self {
            IdStyle::Decimal => (text.strip_prefix('@').unwrap_or(text), 10),
            _ => (text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text), 16),
        };
        let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        is_number.then(|| u64::from_str_radix(digits, radix).ok()).flatten()
    }

    /// The word for this style, as `heapgraph` files have it.
    pub(crate) fn word(self) -> String {
        match self {
            IdStyle::Hex => "hex".into(),
            IdStyle::Padded(digits) => format!("padded-{digits}"),
            IdStyle::Prefixed => "address".into(),
            IdStyle::Decimal => "number".into(),
        }
    }

    /// The style of a word, as [`word`](Self::word) gives it.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let padded = || word.strip_prefix("padded-")?.parse().ok().filter(|digits| *digits <= 16).map(IdStyle::Padded);
        let styles = [IdStyle::Hex, IdStyle::Prefixed, IdStyle::Decimal];
        styles.into_iter().find(|style| style.word() == word).or_else(padded)
    }

    /// The id in this style.
    pub fn format(self, id: u64) -> String {
        match self {
            IdStyle::Hex => format!("{id:x}"),
            IdStyle::Padded(digits) => format!("0x{id:0width$X}", width = digits as usize),
            IdStyle::Prefixed => format!("{id:#x}"),
            IdStyle::Decimal => format!("@{id}"),
        }
    }
}

/// A part of the dump with ids of its own: an AppDomain, a heap space, a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// As in the dump; may be empty, need not be unique.
    pub name: String,
    /// Start of the section, in milliseconds since the device was booted.
    pub started_ms: Option<u64>,
    /// End of the section, in the same unit; equal to the start where the dump repeats that.
    pub ended_ms: Option<u64>,
    /// The dump says where the section ends, so it is whole.
    pub complete: bool,
    /// Types the section declares, used or not.
    pub declared_types: u64,
    /// References to 0.
    pub null_references: u64,
    /// References to ids without an object in the section.
    pub dangling_references: u64,
    /// Root records whose object is not in the section.
    pub dangling_roots: u64,
}

/// Ids of a section's objects: the node of an id is its rank behind `first_node`.
#[derive(Debug)]
pub(super) struct SectionIds {
    /// The node of the smallest id.
    pub(super) first_node: u32,
    pub(super) id_map: IdRankMap,
}

impl SectionIds {
    /// The node of an id. O(1).
    #[inline]
    pub(super) fn node_of_id(&self, id: u64) -> Option<NodeId> {
        self.id_map.rank(id).map(|rank| NodeId(self.first_node + rank))
    }
}
