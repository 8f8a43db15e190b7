//! Causes of leaks: what grew in number, and the way that explains why it is kept. Ids in, ids out: which references
//! explain what, and what types are for, is said by a [`Ways`] and by [`TypeNature`]s.
//!
//! Each object has one named parent: that on the best way to it ([`BestPaths`]). The tree of best ways is merged into rows by
//! type and reference ([`RowTree`]); rows of two dumps are joined by their path of keys, and a walk from the top follows what
//! grew until it spreads over many like objects ([`Search`]). Dominators give the figures alone.

mod best_paths;
mod cause;
mod evidence;
mod nature;
mod rows;
mod search;
#[cfg(test)]
mod tests;

pub use best_paths::{BestPaths, CUT, Start, Step, Ways};
pub use cause::{Cause, Causes};
pub use evidence::{
    AccumulationPoint, Evidence, HeldType, LeakSuspect, OtherHeldTypes, Shape, SuspectSubject, largest_types,
};
pub use nature::{Owner, TypeNature};
pub use rows::{ELEMENT, ObjectFacts, Row, RowTree};
pub use search::{Grown, Search};
