//! What the rows of a diff are of, and their order: in one model or the other.

use anyhow::{Result, bail};

use super::options::{RowArgs, words};
use crate::answers::diff::DiffOrder;
use crate::answers::{DiffBy, GroupBy};

/// What the rows of a diff are.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffRowArgs {
    /// What to group by; backtrace: of allocation totals
    #[arg(long, value_parser = words(ROWS), default_value = "type", value_name = "GROUP", conflicts_with_all = ["paths", "roots"])]
    by: DiffBy,
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

/// What rows can be of, in one model or the other.
const ROWS: &[(&str, DiffBy)] = &[
    ("type", DiffBy::Groups(GroupBy::Type)),
    ("package", DiffBy::Groups(GroupBy::Package)),
    ("domain", DiffBy::Groups(GroupBy::Section)),
    ("module", DiffBy::Groups(GroupBy::Module)),
    ("backtrace", DiffBy::Backtraces),
];

impl DiffRowArgs {
    /// What the rows are of.
    ///
    /// # Errors
    /// When the dumps have no such rows.
    pub(crate) fn by(&self, of_objects: bool) -> Result<DiffBy> {
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

    /// What `--sort` means.
    ///
    /// # Errors
    /// When there is no such column.
    pub(crate) fn order(&self, rows: &RowArgs, of_objects: bool) -> Result<DiffOrder> {
        let of_names = match self.by {
            DiffBy::Groups(by) if by != GroupBy::Type => [by.name(), "group", "name"],
            _ => ["type", "type", "name"],
        };
        let mut columns: Vec<(&[&str], DiffOrder)> = match of_objects {
            true => vec![
                (&["shallow", "shallow_bytes_delta"], DiffOrder::Growth),
                (&["objects", "objects_delta"], DiffOrder::CountGrowth),
                (&of_names, DiffOrder::Name),
            ],
            false => vec![
                (&["delta", "total_bytes_delta"], DiffOrder::Growth),
                (&["new", "total_bytes_new"], DiffOrder::NewBytes),
                (&["old", "total_bytes_old"], DiffOrder::OldBytes),
                (&["name"], DiffOrder::Name),
            ],
        };
        if self.retained {
            columns.push((&["retained", "retained_bytes_delta"], DiffOrder::RetainedGrowth));
        }
        Ok(rows.order(&columns)?.unwrap_or_default())
    }
}
