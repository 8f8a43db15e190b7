//! What the rows of a diff are of, and their order: in one model or the other.

use anyhow::{Result, bail};
use clap::ValueEnum;

use super::options::SortArgs;
use crate::answers::diff::DiffOrder;
use crate::answers::{DiffBy, GroupBy};

/// What the rows of a diff are.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffRowArgs {
    /// What to group by
    #[arg(long, value_enum, default_value = "type", value_name = "GROUP", conflicts_with_all = ["paths", "roots"])]
    by: Axis,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Axis {
    Type,
    Package,
    Domain,
    Module,
    /// Of allocation totals
    Backtrace,
}

impl Axis {
    fn group_by(self) -> Option<GroupBy> {
        match self {
            Axis::Type => Some(GroupBy::Type),
            Axis::Package => Some(GroupBy::Package),
            Axis::Domain => Some(GroupBy::Section),
            Axis::Module => Some(GroupBy::Module),
            Axis::Backtrace => None,
        }
    }
}

impl DiffRowArgs {
    /// What the rows are of.
    ///
    /// # Errors
    /// When the dumps have no such rows.
    pub(crate) fn by(&self, of_objects: bool) -> Result<DiffBy> {
        if !of_objects {
            return match self.by {
                _ if self.retained || self.paths || self.roots => {
                    bail!("the dumps hold allocation totals, no objects: leave --retained, --paths and --roots out")
                }
                Axis::Type => Ok(DiffBy::default()),
                Axis::Backtrace => Ok(DiffBy::Backtraces),
                _ => bail!("the dumps hold allocation totals: --by is type or backtrace"),
            };
        }
        match self.by.group_by() {
            _ if self.paths => Ok(DiffBy::Paths),
            _ if self.roots => Ok(DiffBy::RootKinds),
            Some(by) => Ok(DiffBy::Groups(by)),
            None => bail!("--by backtrace: the dumps hold objects; --paths shows where what grew hangs"),
        }
    }

    /// What `--sort` means.
    ///
    /// # Errors
    /// When there is no such column.
    pub(crate) fn order(&self, sort: &SortArgs, of_objects: bool) -> Result<DiffOrder> {
        let name = self.by.group_by().unwrap_or_default();
        let name_key = if name == GroupBy::Type { "type" } else { "group" };
        let mut columns: Vec<(&[&str], DiffOrder)> = vec![
            (&["delta", "total_bytes_delta"], DiffOrder::Growth),
            (&["new", "total_bytes_new"], DiffOrder::NewBytes),
            (&["old", "total_bytes_old"], DiffOrder::OldBytes),
            (&["name"], DiffOrder::Name),
        ];
        let of_names = [name.name(), name_key, "name"];
        if of_objects {
            columns = vec![
                (&["shallow", "shallow_bytes_delta"], DiffOrder::Growth),
                (&["objects", "objects_delta"], DiffOrder::CountGrowth),
                (&of_names, DiffOrder::Name),
            ];
        }
        if self.retained {
            columns.push((&["retained", "retained_bytes_delta"], DiffOrder::RetainedGrowth));
        }
        sort.column(&columns)
    }
}
