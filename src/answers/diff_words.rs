//! The words for rows and orders of a diff, and which go together.

use super::diff::DiffBy;
use super::diff_rows::{
    GONE_BYTES, GROWTH, NEW, NEW_BYTES, OBJECTS_DELTA, PERCENT, RETAINED_DELTA, SHALLOW_DELTA, TOTAL_DELTA, TOTAL_NEW,
    TOTAL_OLD,
};
use super::figure::TYPE;
use super::{AnswerError, Figure};
use crate::dump::OpenDump;
use crate::input::Runtime;

/// Switches beside what rows are grouped by.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiffFlags {
    /// Retained bytes too.
    pub retained: bool,
    /// Rows are paths.
    pub paths: bool,
    /// Rows are kinds of roots.
    pub roots: bool,
    /// Rows that did not change too.
    pub unchanged: bool,
    /// Types have limits.
    pub type_limits: bool,
}

impl DiffBy {
    /// What the rows are of, with these switches, in dumps of objects or of allocation totals.
    ///
    /// # Errors
    /// When the dumps have no such rows, in words for the command line.
    pub fn with(self, flags: DiffFlags, of_objects: bool) -> Result<DiffBy, &'static str> {
        let DiffFlags { retained, paths, roots, unchanged, type_limits } = flags;
        match self {
            by if type_limits && (paths || roots || by != DiffBy::default()) => {
                Err("--fail-over TYPE=SIZE and --fail-over-type limit types: leave --by, --paths and --roots out")
            }
            _ if !of_objects && (retained || paths || roots) => {
                Err("the dumps hold allocation totals, no objects: leave --retained, --paths and --roots out")
            }
            by if !of_objects && (by == DiffBy::default() || by == DiffBy::Backtraces) => Ok(by),
            _ if !of_objects => Err("the dumps hold allocation totals: --by is type or backtrace"),
            DiffBy::Objects if retained || unchanged => {
                Err("--by object has what new objects retain together: leave --retained and --all out")
            }
            _ if paths => Ok(DiffBy::Paths),
            _ if roots => Ok(DiffBy::RootKinds),
            DiffBy::Backtraces => Err("--by backtrace: the dumps hold objects; --paths shows where what grew hangs"),
            by => Ok(by),
        }
    }
}

/// Types of two dumps compare, or an error.
///
/// # Errors
/// When the dumps are of different runtimes.
pub(super) fn check_runtimes(old: &OpenDump, new: &OpenDump) -> Result<(), AnswerError> {
    let [old, new] = [old, new].map(|dump| &*dump.info().format);
    match Runtime::of_format(old) == Runtime::of_format(new) {
        true => Ok(()),
        false => Err(AnswerError::MixedFormats(old.to_string(), new.to_string())),
    }
}

impl DiffBy {
    /// What the rows of a diff can be ordered by.
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
