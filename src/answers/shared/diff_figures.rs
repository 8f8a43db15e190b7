//! The figures of a diff, and which of them its rows can be ordered by.

use super::figure::{Figure, KIND, PATH, TYPE, Unit};
use super::{DiffBy, GroupBy};

/// The figures of rows of objects, old, new and by how much they grew; their name, and the key where they are.
pub(crate) struct DiffFigures {
    pub(crate) count: [Figure; 3],
    pub(crate) bytes: [Figure; 3],
    pub(crate) name: Figure,
    pub(crate) rows: &'static str,
}

/// Old value, new value, and growth.
const fn sides(old: (&'static str, &'static str), new: (&'static str, &'static str), growth: Figure) -> [Figure; 3] {
    [Figure::new(old.0, old.1, growth.unit, old.0), Figure::new(new.0, new.1, growth.unit, new.0), growth]
}

pub(crate) const RETAINED: [Figure; 3] =
    sides(("retained_bytes_old", "Retained\nold"), ("retained_bytes_new", "Retained\nnew"), RETAINED_DELTA);
const SHALLOW: [Figure; 3] =
    sides(("shallow_bytes_old", "Shallow\nold"), ("shallow_bytes_new", "Shallow\nnew"), SHALLOW_DELTA);
const OBJECTS: [Figure; 3] = sides(("objects_old", "Objects\nold"), ("objects_new", "Objects\nnew"), OBJECTS_DELTA);
const ROOTS: [Figure; 3] =
    sides(("roots_old", "Roots\nold"), ("roots_new", "Roots\nnew"), Figure::count("roots_delta", "Roots\n+-"));
const HELD: [Figure; 3] = sides(
    ("held_bytes_old", "Held alone\nold"),
    ("held_bytes_new", "Held alone\nnew"),
    Figure::bytes("held_bytes_delta", "Held alone\n+-", "held_bytes_delta"),
);
/// Growth in shallow bytes; of paths in what they retain, of kinds of roots in what these alone hold.
pub const SHALLOW_DELTA: Figure = Figure::bytes("shallow_bytes_delta", "Shallow\n+-", "shallow");
/// Growth in objects; of kinds of roots in roots.
pub const OBJECTS_DELTA: Figure = Figure::new("objects_delta", "Objects\n+-", Unit::Count, "objects");
/// Growth in retained bytes.
pub const RETAINED_DELTA: Figure = Figure::bytes("retained_bytes_delta", "Retained\n+-", "retained");
/// Growth in bytes as a share of the old ones.
pub const PERCENT: Figure = Figure::new("percent", "+%", Unit::Share, "percent");
/// Bytes of a row in the old dump, of allocations or of objects.
pub const TOTAL_OLD: Figure = Figure::bytes("total_bytes_old", "Old", "old");
/// Bytes of a row in the new dump, of allocations or of objects.
pub const TOTAL_NEW: Figure = Figure::bytes("total_bytes_new", "New", "new");
/// By how many they grew.
pub const TOTAL_DELTA: Figure = Figure::bytes("total_bytes_delta", "Growth", "delta");
pub(crate) const ALLOCATIONS_DELTA: Figure = Figure::count("allocations_delta", "Allocations");
/// Objects in the new dump: those that came, or all of a row.
pub const NEW: Figure = Figure::count("new", "New");
/// Their bytes.
pub const NEW_BYTES: Figure = Figure::bytes("new_bytes", "New\nbytes", "new_bytes");
pub(crate) const GONE: Figure = Figure::count("gone", "Gone");
/// Bytes of objects in the old dump alone.
pub const GONE_BYTES: Figure = Figure::bytes("gone_bytes", "Gone\nbytes", "gone_bytes");
/// New bytes without those that are gone.
pub const GROWTH: Figure = Figure::bytes("growth", "Growth", "growth");

impl DiffBy {
    /// The figures of rows of objects.
    pub(crate) fn figures(self) -> DiffFigures {
        let (count, bytes, name, rows) = match self {
            DiffBy::RootKinds => (ROOTS, HELD, Figure { unit: Unit::Text, ..KIND }, "kinds"),
            DiffBy::Paths | DiffBy::Backtraces => (OBJECTS, RETAINED, PATH, "paths"),
            DiffBy::Groups(GroupBy::Type) | DiffBy::Objects => (OBJECTS, SHALLOW, TYPE, "types"),
            DiffBy::Groups(by) => (OBJECTS, SHALLOW, by.figure(), "groups"),
        };
        DiffFigures { count, bytes, name, rows }
    }

    /// Figures that the rows of a diff can be ordered by.
    pub fn orders(self, of_objects: bool, retained: bool) -> Vec<Figure> {
        let mut orders = match (self, of_objects) {
            (DiffBy::Objects, _) => vec![GROWTH, NEW, NEW_BYTES, GONE_BYTES, TYPE],
            (DiffBy::Groups(by), true) => vec![SHALLOW_DELTA, OBJECTS_DELTA, PERCENT, by.figure()],
            (_, true) => vec![SHALLOW_DELTA, OBJECTS_DELTA, PERCENT, TYPE],
            (by, false) => vec![TOTAL_DELTA, PERCENT, TOTAL_NEW, TOTAL_OLD, by.figures().name.called("name")],
        };
        orders.extend(retained.then_some(RETAINED_DELTA));
        orders
    }
}
