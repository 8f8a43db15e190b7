//! Causes of leaks: what grew in number, and the way that explains why it is kept. Ids in, ids out: which references
//! explain what, and what types are for, is said by a [`ReferenceCosts`] and by [`TypeRole`]s.
//!
//! Each object has one named parent: that on the best path to it ([`BestPaths`]). The tree of best paths is merged into rows by
//! type and reference ([`RowTree`]); rows of two dumps are joined by their path of keys, and a walk from the top follows what
//! grew until it spreads over many like objects ([`GrowthSearch`]). Dominators give the figures alone.

mod best_paths;
mod cause;
mod evidence;
mod growth_search;
mod key_rows;
mod row_tree;
#[cfg(test)]
mod tests;
mod type_role;

pub use best_paths::{BestPaths, CostedReference, MIN_UNEXPLAINED_COST, ReferenceCosts, SearchMemory, StartObject};
pub use cause::{CauseAnalysis, LeakCause};
pub use evidence::{
    AccumulationPoint, AccumulationShape, HeldType, LeakSuspect, OtherHeldTypes, SuspectBuilder, SuspectSubject,
    split_largest_types,
};
pub use growth_search::{GrownPlace, GrowthSearch};
pub use key_rows::merge_rows_of_keys;
pub use row_tree::{ELEMENT_LABEL, LIST_LINK_LABEL, METADATA_LABEL, MergedRow, ObjectFacts, RowTree};
pub use type_role::{CodeOwner, TypeRole};
