//! Figures and names of answers, each declared once: its key in JSON and CSV, its title, and the word of `--sort` for it.
//! Tables, trees, orders, the page and the browser are made of these.

pub use crate::units::Unit;

/// A figure of a row, or another column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// The key in JSON, CSV and pipes.
    pub key: &'static str,
    /// The title for people.
    pub title: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// The short word of `--sort` for it, which takes the key too.
    pub word: &'static str,
}

impl Figure {
    pub(crate) const fn new(key: &'static str, title: &'static str, unit: Unit, word: &'static str) -> Self {
        Figure { key, title, unit, word }
    }

    pub(crate) const fn count(key: &'static str, title: &'static str) -> Self {
        Figure::new(key, title, Unit::Count, key)
    }

    pub(crate) const fn bytes(key: &'static str, title: &'static str, word: &'static str) -> Self {
        Figure::new(key, title, Unit::Bytes, word)
    }

    pub(crate) const fn word(key: &'static str, title: &'static str) -> Self {
        Figure::new(key, title, Unit::Word, key)
    }

    pub(crate) const fn text(key: &'static str, title: &'static str) -> Self {
        Figure::new(key, title, Unit::Text, key)
    }

    pub(crate) const fn titled(self, title: &'static str) -> Self {
        Figure { title, ..self }
    }

    pub(crate) const fn with_sort_word(self, word: &'static str) -> Self {
        Figure { word, ..self }
    }

    /// Returns true if the word asks for it: its own, its key, of the column with the names `name`.
    pub fn matches_sort_word(self, word: &str) -> bool {
        word == self.word || word == self.key || self.unit == Unit::Text && word == NAME.word
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
/// Objects that strong roots reach.
pub const REACHABLE_OBJECTS: Figure = Figure::new("reachable_objects", "Reachable #", Unit::Count, "reachable-objects");
/// Bytes of the objects that strong roots reach.
pub const REACHABLE: Figure = Figure::bytes("reachable_bytes", "Reachable", "reachable");
/// Objects of libraries that are charged to an owner.
pub const CHARGED_OBJECTS: Figure = Figure::count("charged_objects", "Charged #");
/// Their shallow bytes.
pub const CHARGED: Figure = Figure::bytes("charged_bytes", "Charged", "charged_bytes");
/// Objects of the heap that a sample stands for.
pub const ESTIMATED_OBJECTS: Figure = Figure::count("estimated_objects", "Heap # (est.)");
/// Their shallow bytes.
pub const ESTIMATED: Figure = Figure::bytes("estimated_bytes", "Heap (est.)", "estimated_bytes");
/// Objects that would be freed with an object, itself included.
pub const DOMINATED: Figure = Figure::new("dominated_objects", "Objects", Unit::Count, "objects");
/// Allocated bytes.
pub const TOTAL: Figure = Figure::bytes("total_bytes", "Bytes", "bytes");
/// Allocations.
pub const ALLOCATIONS: Figure = Figure::count("allocations", "Allocations");
/// Bytes that a function allocated itself, in the word of pprof.
pub const FLAT: Figure = Figure::bytes("flat_bytes", "Flat", "flat");
/// Allocations that it made itself.
pub const FLAT_ALLOCATIONS: Figure = Figure::count("flat_allocations", "Flat #");
/// Bytes that a function allocated with all that it called.
pub const CUM: Figure = Figure::bytes("cum_bytes", "Cum", "cum");
/// Allocations that it made with all that it called.
pub const CUM_ALLOCATIONS: Figure = Figure::count("cum_allocations", "Cum #");
/// Bytes of a place in a tree, or of all copies of a text.
pub const BYTES: Figure = Figure::bytes("bytes", "Bytes", "bytes");
/// Bytes that need not be there.
pub const WASTED: Figure = Figure::bytes("wasted_bytes", "Wasted", "wasted");
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

pub(crate) const TOPMOST: Figure = Figure::count("topmost_objects", "Topmost");
pub(crate) const SHARE: Figure = Figure::new("share", "Share", Unit::Share, "share");
pub(crate) const TYPE_WORD: Figure = Figure::word("type", "Type");
pub(crate) const PATH: Figure = Figure::text("path", "Path by type");
pub(crate) const LEVEL: Figure = Figure::count("level", "Level");
pub(crate) const EXAMPLE: Figure = Figure::word("example", "Example");
pub(crate) const SENTENCE: Figure = Figure::text("sentence", "Sentence");
pub(crate) const KIND: Figure = Figure::word("kind", "Kind");
