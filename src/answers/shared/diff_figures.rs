//! The figures of a diff, and which of them its rows can be ordered by.

use super::figure::{Figure, KIND, PATH, TYPE, Unit};
use super::{DiffBy, GroupBy};
use crate::analysis::diff::Measure;

/// A column of a diff, and what it is of.
#[derive(Debug, Clone, Copy)]
pub struct DiffColumn {
    /// Key and title.
    pub figure: Figure,
    /// The measure that it compares.
    pub of: Measure,
    /// The side that it is of, or both.
    pub at: DiffSide,
}

/// A side of a diff, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffSide {
    /// The old dump.
    Old,
    /// The new one.
    New,
    /// From one to the other.
    Growth,
}

/// Old value, new value, and growth.
const fn sides(old: (&'static str, &'static str), new: (&'static str, &'static str), growth: Figure) -> [Figure; 3] {
    [Figure::new(old.0, old.1, growth.unit, old.0), Figure::new(new.0, new.1, growth.unit, new.0), growth]
}

const RETAINED: [Figure; 3] =
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
/// Growth in allocations.
pub const ALLOCATIONS_DELTA: Figure = Figure::count("allocations_delta", "Allocations");
const TOTAL: [Figure; 3] = [TOTAL_OLD, TOTAL_NEW, TOTAL_DELTA];
const ALLOCATIONS: [Figure; 3] = sides(("allocations_old", "Old"), ("allocations_new", "New"), ALLOCATIONS_DELTA);
/// Objects in the new dump: those that came, or all of a row.
pub const NEW: Figure = Figure::count("new", "New");
/// Their bytes.
pub const NEW_BYTES: Figure = Figure::bytes("new_bytes", "New\nbytes", "new_bytes");
/// Objects in the old dump alone.
pub const GONE: Figure = Figure::count("gone", "Gone");
/// Bytes of objects in the old dump alone.
pub const GONE_BYTES: Figure = Figure::bytes("gone_bytes", "Gone\nbytes", "gone_bytes");
/// New bytes without those that are gone.
pub const GROWTH: Figure = Figure::bytes("growth", "Growth", "growth");

impl DiffBy {
    /// The column with the names of rows.
    pub fn name_figure(self) -> Figure {
        match self {
            DiffBy::RootKinds => Figure { unit: Unit::Text, ..KIND },
            DiffBy::Paths | DiffBy::Backtraces => PATH,
            DiffBy::Groups(by) => by.figure(),
            DiffBy::Objects => TYPE,
        }
    }

    /// The key of the rows in JSON.
    pub(in crate::answers) fn rows_key(self) -> &'static str {
        match self {
            DiffBy::RootKinds => "kinds",
            DiffBy::Paths | DiffBy::Backtraces => "paths",
            DiffBy::Groups(GroupBy::Type) | DiffBy::Objects => "types",
            DiffBy::Groups(_) => "groups",
        }
    }

    /// The columns of rows but their name.
    pub(in crate::answers) fn columns(self, of_objects: bool, retained: bool) -> Vec<DiffColumn> {
        use DiffSide::{Growth, New, Old};
        use Measure::{Bytes, Count, Retained};
        let sides = |of: Measure, figures: [Figure; 3]| {
            [Old, New, Growth].into_iter().zip(figures).map(move |(at, figure)| DiffColumn { figure, of, at })
        };
        let (count, bytes) = match self {
            DiffBy::Objects => {
                let columns =
                    [(NEW, Count, New), (NEW_BYTES, Bytes, New), (GONE, Count, Old), (GONE_BYTES, Bytes, Old)];
                return columns.map(|(figure, of, at)| DiffColumn { figure, of, at }).to_vec();
            }
            _ if !of_objects => return sides(Bytes, TOTAL).chain(sides(Count, ALLOCATIONS)).collect(),
            DiffBy::RootKinds => (ROOTS, HELD),
            DiffBy::Paths | DiffBy::Backtraces => (OBJECTS, RETAINED),
            DiffBy::Groups(_) => (OBJECTS, SHALLOW),
        };
        let retained = retained.then(|| sides(Retained, RETAINED)).into_iter().flatten();
        sides(Count, count).chain(sides(Bytes, bytes)).chain(retained).collect()
    }

    /// Figures that the rows of a diff can be ordered by.
    pub fn orders(self, of_objects: bool, retained: bool) -> Vec<Figure> {
        let mut orders = match (self, of_objects) {
            (DiffBy::Objects, _) => vec![GROWTH, NEW, NEW_BYTES, GONE_BYTES, TYPE],
            (DiffBy::Groups(by), true) => vec![SHALLOW_DELTA, OBJECTS_DELTA, PERCENT, by.figure()],
            (_, true) => vec![SHALLOW_DELTA, OBJECTS_DELTA, PERCENT, TYPE],
            (by, false) => vec![TOTAL_DELTA, PERCENT, TOTAL_NEW, TOTAL_OLD, by.name_figure().called("name")],
        };
        orders.extend(retained.then_some(RETAINED_DELTA));
        orders
    }
}
