//! Figures and names of answers, each declared once: its key in JSON and CSV, its title, and the word of `--sort` for it.
//! Tables, trees, orders, the page and the browser are made of these.

pub use crate::units::ColumnUnit;

/// A figure of a row, or another column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// The key in JSON, CSV and pipes.
    pub key: &'static str,
    /// The title for people.
    pub title: &'static str,
    /// Unit of the values.
    pub unit: ColumnUnit,
    /// The short word of `--sort` for it, which takes the key too.
    pub sort_word: &'static str,
}

impl Figure {
    pub(crate) const fn new(key: &'static str, title: &'static str, unit: ColumnUnit, word: &'static str) -> Self {
        Figure { key, title, unit, sort_word: word }
    }

    pub(crate) const fn count(key: &'static str, title: &'static str) -> Self {
        Figure::new(key, title, ColumnUnit::Count, key)
    }

    pub(crate) const fn bytes(key: &'static str, title: &'static str, word: &'static str) -> Self {
        Figure::new(key, title, ColumnUnit::Bytes, word)
    }

    pub(crate) const fn word(key: &'static str, title: &'static str) -> Self {
        Figure::new(key, title, ColumnUnit::Word, key)
    }

    pub(crate) const fn text(key: &'static str, title: &'static str) -> Self {
        Figure::new(key, title, ColumnUnit::Text, key)
    }

    pub(crate) const fn with_title(self, title: &'static str) -> Self {
        Figure { title, ..self }
    }

    pub(crate) const fn with_sort_word(self, word: &'static str) -> Self {
        Figure { sort_word: word, ..self }
    }

    /// Returns true if the word asks for it: its own, its key, of the column with the names `name`.
    pub fn matches_sort_word(self, word: &str) -> bool {
        word == self.sort_word || word == self.key || self.unit == ColumnUnit::Text && word == NAME.sort_word
    }
}

pub(in crate::answers) const fn figures_of<K, const N: usize>(orders: &[(Figure, K); N]) -> [Figure; N] {
    let mut figures = [NAME; N];
    let mut at = 0;
    while at < N {
        figures[at] = orders[at].0;
        at += 1;
    }
    figures
}

/// Objects.
pub const OBJECTS: Figure = Figure::count("objects", "Objects");
/// Bytes of the objects themselves.
pub const SHALLOW: Figure = Figure::bytes("shallow_bytes", "Shallow", "shallow");
/// Bytes that would be freed.
pub const RETAINED: Figure = Figure::bytes("retained_bytes", "Retained", "retained");
/// Bytes outside the heap that objects own.
pub const OFF_HEAP: Figure = Figure::bytes("off_heap_bytes", "Off heap", "off-heap");
/// Objects that strong roots reach.
pub const REACHABLE_OBJECTS: Figure =
    Figure::new("reachable_objects", "Reachable #", ColumnUnit::Count, "reachable-objects");
/// Bytes of the objects that strong roots reach.
pub const REACHABLE_BYTES: Figure = Figure::bytes("reachable_bytes", "Reachable", "reachable");
/// Objects of libraries that are charged to an owner.
pub const CHARGED_OBJECTS: Figure = Figure::count("charged_objects", "Charged #");
/// Their shallow bytes.
pub const CHARGED_BYTES: Figure = Figure::bytes("charged_bytes", "Charged", "charged_bytes");
/// Objects of the heap that a sample stands for.
pub const ESTIMATED_OBJECTS: Figure = Figure::count("estimated_objects", "Heap # (est.)");
/// Their shallow bytes.
pub const ESTIMATED_BYTES: Figure = Figure::bytes("estimated_bytes", "Heap (est.)", "estimated_bytes");
/// Objects that would be freed with an object, itself included.
pub const DOMINATED_OBJECTS: Figure = Figure::new("dominated_objects", "Objects", ColumnUnit::Count, "objects");
/// Allocated bytes.
pub const ALLOCATED_BYTES: Figure = Figure::bytes("total_bytes", "Bytes", "bytes");
/// Allocations.
pub const ALLOCATIONS: Figure = Figure::count("allocations", "Allocations");
/// Bytes that a function allocated itself, in the word of pprof.
pub const FLAT_BYTES: Figure = Figure::bytes("flat_bytes", "Flat", "flat");
/// Allocations that it made itself.
pub const FLAT_ALLOCATIONS: Figure = Figure::count("flat_allocations", "Flat #");
/// Bytes that a function allocated with all that it called.
pub const CUM_BYTES: Figure = Figure::bytes("cum_bytes", "Cum", "cum");
/// Allocations that it made with all that it called.
pub const CUM_ALLOCATIONS: Figure = Figure::count("cum_allocations", "Cum #");
/// Bytes of a place in a tree, or of all copies of a text.
pub const BYTES: Figure = Figure::bytes("bytes", "Bytes", "bytes");
/// Bytes that need not be there.
pub const WASTED_BYTES: Figure = Figure::bytes("wasted_bytes", "Wasted", "wasted");
/// Copies of a text.
pub const COPIES: Figure = Figure::count("copies", "Copies");
/// References from an object, or those that a row stands for.
pub const REFERENCES: Figure = Figure::count("references", "References");
/// Objects that refer to others.
pub const REFERRERS: Figure = Figure::count("referrers", "Referrers");
/// Frames of a stack.
pub const FRAMES: Figure = Figure::count("frames", "Frames");
/// Objects on a stack.
pub const LOCALS: Figure = Figure::count("locals", "Locals");
/// Sections of a dump.
pub const SECTIONS: Figure = Figure::count("sections", "Sections");
/// Problems met in a dump.
pub const PROBLEMS: Figure = Figure::count("problems", "Problems");
/// The format of a dump.
pub const FORMAT: Figure = Figure::word("format", "Format");
/// The name of a file.
pub const FILE: Figure = Figure::text("file", "File");
/// The id of an object.
pub const ID: Figure = Figure::word("id", "Object");
/// The name of a type.
pub const TYPE: Figure = Figure::text("type", "Type");
/// A name of its own.
pub const NAME: Figure = Figure::text("name", "Name");

pub(crate) const TOPMOST_OBJECTS: Figure = Figure::count("topmost_objects", "Topmost");
pub(crate) const SHARE: Figure = Figure::new("share", "Share", ColumnUnit::Share, "share");
/// The name of a type in a column that others follow: without blanks.
pub(crate) const TYPE_WORD: Figure = Figure::word("type", "Type");
pub(crate) const PATH: Figure = Figure::text("path", "Path by type");
pub(crate) const LEVEL: Figure = Figure::count("level", "Level");
pub(crate) const EXAMPLE: Figure = Figure::word("example", "Example");
pub(crate) const SENTENCE: Figure = Figure::text("sentence", "Sentence");
pub(crate) const KIND: Figure = Figure::word("kind", "Kind");
