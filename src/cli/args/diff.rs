//! What the rows of a diff are of: in one model or the other.

use anyhow::{Error, Result};

use super::options::words;
use crate::answers::DiffBy;
use crate::answers::diff::DiffFlags;

/// What the rows of a diff are.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffRowArgs {
    /// What to group by; backtrace: of allocation totals; object: which came and went, in V8 snapshots of one process
    #[arg(long, value_parser = words(DiffBy::WORDS), default_value = "type", value_name = "GROUP", conflicts_with_all = ["paths", "roots"])]
    pub(crate) by: DiffBy,
    /// Retained bytes too: at least so much would be freed with all objects of a row
    #[arg(long)]
    pub(crate) retained: bool,
    /// Paths of the dominator tree by type in place of types: what grew under what
    #[arg(long, conflicts_with_all = ["retained", "roots"])]
    paths: bool,
    /// Kinds of roots in place of types, with what only roots of that kind hold
    #[arg(long, conflicts_with_all = ["retained", "type_pattern", "not_type", "filter", "domain"])]
    roots: bool,
    /// Rows that did not change too
    #[arg(long)]
    pub(crate) all: bool,
}

impl DiffRowArgs {
    /// What the rows are of.
    pub(crate) fn rows(&self, of_objects: bool, type_limits: bool) -> Result<DiffBy> {
        let DiffRowArgs { by: _, retained, paths, roots, all: unchanged } = *self;
        let flags = DiffFlags { retained, paths, roots, unchanged, type_limits };
        self.by.with(flags, of_objects).map_err(Error::msg)
    }
}
