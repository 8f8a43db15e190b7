//! What the rows of a diff are of: in one model or the other.

use anyhow::{Result, bail};

use super::options::words;
use crate::answers::DiffBy;

/// What the rows of a diff are.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffRowArgs {
    /// What to group by; backtrace: of allocation totals
    #[arg(long, value_parser = words(DiffBy::WORDS), default_value = "type", value_name = "GROUP", conflicts_with_all = ["paths", "roots"])]
    pub(crate) by: DiffBy,
    /// Retained bytes too: at least so much would be freed with all objects of a row
    #[arg(long)]
    pub(crate) retained: bool,
    /// Paths of the dominator tree by type in place of types: what grew under what
    #[arg(long, conflicts_with_all = ["retained", "roots"])]
    paths: bool,
    /// Kinds of roots in place of types, with what only roots of that kind hold
    #[arg(long, conflicts_with_all = ["retained", "type_pattern", "domain"])]
    roots: bool,
    /// Rows that did not change too
    #[arg(long)]
    pub(crate) all: bool,
}

impl DiffRowArgs {
    /// What the rows are of.
    ///
    /// # Errors
    /// When the dumps have no such rows.
    pub(crate) fn rows(&self, of_objects: bool) -> Result<DiffBy> {
        match self.by {
            _ if !of_objects && (self.retained || self.paths || self.roots) => {
                bail!("the dumps hold allocation totals, no objects: leave --retained, --paths and --roots out")
            }
            by if !of_objects && (by == DiffBy::default() || by == DiffBy::Backtraces) => Ok(by),
            _ if !of_objects => bail!("the dumps hold allocation totals: --by is type or backtrace"),
            _ if self.paths => Ok(DiffBy::Paths),
            _ if self.roots => Ok(DiffBy::RootKinds),
            DiffBy::Backtraces => {
                bail!("--by backtrace: the dumps hold objects; --paths shows where what grew hangs")
            }
            by => Ok(by),
        }
    }
}
