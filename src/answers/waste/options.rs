//! Kinds of waste, and which are asked for.

use serde::Serialize;

use crate::analysis::threshold::Threshold;
use crate::answers::figure::{OBJECTS, WASTED_BYTES, figures_of};
use crate::answers::holders::KnownCollections;
use crate::answers::{CommandLine, Figure, Limits};
use crate::filter::Filter;

/// A kind of waste.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WasteKind {
    /// Strings with a text that others have too.
    DuplicateStrings,
    /// Arrays of primitive values with the contents of others.
    DuplicateArrays,
    /// Collections without an element.
    EmptyCollections,
    /// Collections that use a quarter of their table at most.
    SparseCollections,
    /// Maps whose entries are in few buckets.
    CollidingMaps,
    /// Collections with a hundredth of the heap's objects or more.
    HugeCollections,
    /// Numbers that are objects.
    BoxedNumbers,
    /// Arrays of primitive values that are all zero.
    ZeroArrays,
    /// Arrays of references that are null for three quarters or more.
    SparseArrays,
    /// Arrays without an element, told by their size.
    EmptyArrays,
    /// Many arrays of one type and size.
    SameSizeArrays,
}

impl WasteKind {
    /// All kinds, by their names.
    pub const WORDS: &[(&str, WasteKind)] = &[
        ("duplicate-strings", WasteKind::DuplicateStrings),
        ("duplicate-arrays", WasteKind::DuplicateArrays),
        ("empty-collections", WasteKind::EmptyCollections),
        ("sparse-collections", WasteKind::SparseCollections),
        ("colliding-maps", WasteKind::CollidingMaps),
        ("huge-collections", WasteKind::HugeCollections),
        ("boxed-numbers", WasteKind::BoxedNumbers),
        ("zero-arrays", WasteKind::ZeroArrays),
        ("sparse-arrays", WasteKind::SparseArrays),
        ("empty-arrays", WasteKind::EmptyArrays),
        ("same-size-arrays", WasteKind::SameSizeArrays),
    ];

    /// Its name: `duplicate-strings`.
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The kind in words for people.
    pub fn words(self) -> &'static str {
        match self {
            WasteKind::DuplicateStrings => "copies of texts",
            WasteKind::DuplicateArrays => "copies of arrays of numbers",
            WasteKind::EmptyCollections => "without an element",
            WasteKind::SparseCollections => "room for four times as much",
            WasteKind::CollidingMaps => "four entries or more to a used bucket",
            WasteKind::HugeCollections => "1 % of the heap's objects or more",
            WasteKind::BoxedNumbers => "numbers that are objects",
            WasteKind::ZeroArrays => "nothing but zeros",
            WasteKind::SparseArrays => "three quarters null, or more",
            WasteKind::EmptyArrays => "arrays without an element",
            WasteKind::SameSizeArrays => "16 or more of one size, 1 % of the heap",
        }
    }
}

/// Kinds of waste that are asked for, and known collections.
#[derive(Debug, Clone, Default)]
pub struct WasteOptions {
    /// Kinds; all if there is none.
    pub kinds: Vec<WasteKind>,
    /// Types that are collections.
    pub collections: KnownCollections,
    /// Only objects that fulfil an expression.
    pub filter: Option<Filter>,
    /// The order of a kind's rows: one of [`ORDERS`](Self::ORDERS), largest first; ties by the other, then by names. Default:
    /// wasted bytes.
    pub order: Option<Figure>,
    /// Number of rows of each kind.
    pub limits: Limits,
    /// Wasted bytes that are too many: a size, or a share of the heap.
    pub fail_over: Option<Threshold>,
}

type RowSortValues = fn(u64, u64) -> (u64, u64);
/// By figure, from the wasted bytes and the objects of a row: the value, and what equal ones are ordered by.
pub(super) const ORDER_COLUMNS: [(Figure, RowSortValues); 2] =
    [(WASTED_BYTES, |wasted, objects| (wasted, objects)), (OBJECTS, |wasted, objects| (objects, wasted))];

impl WasteOptions {
    /// Figures that rows can be ordered by.
    pub const ORDERS: [Figure; 2] = figures_of(&ORDER_COLUMNS);

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("waste");
        line.add_repeated_option("--kind", self.kinds.iter().map(|kind| kind.name()));
        self.collections.add_to(&mut line);
        line.add_repeated_option("--where", self.filter.iter().flat_map(Filter::texts));
        line.add_option("--fail-over", self.fail_over.map(|limit| limit.to_string()).as_deref());
        line.add_sort_option(self.order, WASTED_BYTES);
        self.limits.add_to(&mut line);
        line
    }

    /// Without being told all kinds; but where a dump has values, sizes of arrays say less than these.
    pub(super) fn asks_for(&self, kind: WasteKind, has_values: bool) -> bool {
        let by_size = matches!(kind, WasteKind::EmptyArrays | WasteKind::SameSizeArrays);
        if self.kinds.is_empty() { !(has_values && by_size) } else { self.kinds.contains(&kind) }
    }
}
