//! Options of a diff: rows, their order and limits, and the combinations that make sense.

use super::limits::GrowthLimits;
use crate::answers::diff_figures::{SHALLOW_DELTA, TOTAL_DELTA};
use crate::answers::heaps::HeapChoice;
use crate::answers::{CommandLine, DiffBy, Figure, GroupBy, Limits, ScopeOptions};

/// Options of a diff.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Objects of either dump.
    pub scope: ScopeOptions,
    /// Heaps, of allocation totals. The memory dump may be a pair, `1,8`: of the old side and of the new one.
    pub heaps: HeapChoice,
    /// Kind of the rows.
    pub by: DiffBy,
    /// Retained bytes of groups too: a lower bound, by the dominator tree.
    pub retained: bool,
    /// Rows that did not change too.
    pub unchanged: bool,
    /// The order of the rows: one of [`orders`](DiffBy::orders), figures largest first, by percent what was not there first of
    /// all; ties by growth in bytes. Default: growth in bytes.
    pub order: Option<Figure>,
    /// Number and direction of rows.
    pub limits: Limits,
    /// The most that everything and types may grow by. Those of types act where the rows are types.
    pub growth_limits: GrowthLimits,
}

impl DiffOptions {
    /// The command line that asks the same of two dumps, or of two memory dumps of one.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("diff");
        match self.by {
            DiffBy::Groups(GroupBy::Type) => &mut line,
            DiffBy::Groups(by) => line.option("--by", Some(by.name())),
            DiffBy::Paths => line.word("--paths"),
            DiffBy::RootKinds => line.word("--roots"),
            DiffBy::Backtraces => line.option("--by", Some("backtrace")),
            DiffBy::Objects => line.option("--by", Some("object")),
        };
        line.switch("--retained", self.retained);
        line.switch("--all", self.unchanged);
        line.sort(self.order.filter(|order| *order != TOTAL_DELTA), SHALLOW_DELTA);
        self.growth_limits.add_to(&mut line);
        self.scope.add_to(&mut line);
        self.heaps.add_to(&mut line);
        self.limits.add_to(&mut line);
        line
    }
}

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
    /// Kind of rows with these switches, in dumps of objects or of allocation totals.
    ///
    /// # Errors
    /// If the dumps have no such rows, in words for the command line.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::selection::TypePattern;
    use std::path::Path;

    #[test]
    fn the_command_line_asks_the_same() {
        let options = DiffOptions {
            scope: ScopeOptions {
                types: TypePattern::parse("A b").ok().map(Into::into),
                ..ScopeOptions::of_section(Some("2"))
            },
            by: DiffBy::Paths,
            unchanged: true,
            order: Some(crate::answers::figure::NAME),
            limits: Limits { rows: Some(5), reverse: true },
            growth_limits: GrowthLimits { of_some: vec!["12.5%".parse().unwrap()], ..GrowthLimits::default() },
            ..DiffOptions::default()
        };
        let paths = [Path::new("old.txt"), Path::new("new.txt")];
        assert_eq!(
            options.command_line().for_shell(paths),
            "heapdump diff --paths --all --sort name --fail-over 12.5% --type 'A b' --domain 2 --reverse -n 5 old.txt new.txt"
        );
        assert_eq!(DiffOptions::default().command_line().for_shell(paths), "heapdump diff -n 0 old.txt new.txt");
    }
}
