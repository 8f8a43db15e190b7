//! Amounts of one dump by name: for answers that compare dumps.

use std::collections::BTreeMap;

use super::groups::{Groups, TypesApart};
use super::{AnswerError, GroupBy, Scope, ScopeOptions};
use crate::analysis::diff::{Amounts, PATH_DEPTH, held_by_root_kind, places_by_path, places_by_path_bytes};
use crate::analysis::histogram::Tally;
use crate::analysis::type_tree::TypeTree;
use crate::dump::{AnswerNeed, OpenDump};

/// Kinds of rows of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiffBy {
    /// Types, or other groups of objects. Of allocation totals types alone.
    Groups(GroupBy),
    /// Paths of types in the dominator tree: what grew under what. Of objects.
    Paths,
    /// Kinds of roots, with what only roots of that kind hold. Of objects.
    RootKinds,
    /// Backtraces. Of allocation totals.
    Backtraces,
    /// Objects that came and went, by type. Of two dumps of one process, in formats whose ids stay with their objects.
    Objects,
}

impl DiffBy {
    /// Groups of one model or the other, by the words for them. Paths and kinds of roots have none.
    pub const WORDS: &[(&str, DiffBy)] = &[
        ("type", DiffBy::Groups(GroupBy::Type)),
        ("package", DiffBy::Groups(GroupBy::Package)),
        ("domain", DiffBy::Groups(GroupBy::Section)),
        ("module", DiffBy::Groups(GroupBy::Module)),
        ("backtrace", DiffBy::Backtraces),
        ("object", DiffBy::Objects),
    ];

    /// The word for one row, and several in a sentence.
    pub(in crate::answers) fn titles(self) -> (&'static str, &'static str) {
        match self {
            DiffBy::Groups(by) => (by.name(), by.titles().1),
            DiffBy::Paths => ("path", "paths"),
            DiffBy::RootKinds => ("root-kind", "kinds of roots"),
            DiffBy::Backtraces => ("backtrace", "backtraces"),
            DiffBy::Objects => ("object", "types"),
        }
    }
}

impl Default for DiffBy {
    fn default() -> Self {
        DiffBy::Groups(GroupBy::Type)
    }
}

/// A dump of objects, by name.
pub(in crate::answers) struct Side {
    pub(in crate::answers) totals: Tally,
    pub(in crate::answers) rows: BTreeMap<String, Amounts>,
    /// Memory that the rows of this dump and of the one before it take, where names are long.
    pub(in crate::answers) row_bytes: u64,
    pub(in crate::answers) roots_inferred: bool,
}

impl Side {
    /// `row_bytes`: what the rows of the other dump take.
    ///
    /// # Errors
    /// If the dump does not have what is asked for, or it takes more memory than it may.
    pub(in crate::answers) fn find(
        dump: &OpenDump,
        objects: &ScopeOptions,
        by: DiffBy,
        retained: bool,
        row_bytes: u64,
    ) -> Result<Self, AnswerError> {
        let scope = objects.resolve(dump)?;
        let graph = scope.graph();
        let group_by = if let DiffBy::Groups(by) = by { by } else { GroupBy::Type };
        let groups = Groups::new(&scope, group_by, TypesApart::Never)?;
        let tallies = groups.tally(dump.reachable());
        let mut totals = Tally::default();
        tallies.iter().for_each(|tally| totals.add(tally));
        let mut side = Side { totals, rows: BTreeMap::new(), row_bytes, roots_inferred: graph.roots_inferred() };
        match by {
            DiffBy::RootKinds => side.rows = held_by_root_kind(graph),
            DiffBy::Paths => side.add_paths(dump, &scope, objects)?,
            DiffBy::Objects => {}
            DiffBy::Groups(_) | DiffBy::Backtraces => {
                let rows = groups.names.iter().zip(&tallies).filter(|(_, tally)| tally.objects > 0);
                side.rows = rows
                    .map(|(name, tally)| {
                        let count = Some(tally.objects);
                        (name.clone(), Amounts { count, bytes: tally.shallow_bytes, retained_bytes: 0 })
                    })
                    .collect();
                if retained {
                    side.add_retained(dump, &groups)?;
                }
            }
        }
        Ok(side)
    }

    fn add_retained(&mut self, dump: &OpenDump, groups: &Groups<'_>) -> Result<(), AnswerError> {
        for (name, topmost) in groups.names.iter().zip(groups.topmost(dump)?) {
            if let Some(row) = self.rows.get_mut(name) {
                row.retained_bytes = topmost.retained_bytes;
            }
        }
        Ok(())
    }

    fn add_paths(&mut self, dump: &OpenDump, scope: &Scope<'_>, objects: &ScopeOptions) -> Result<(), AnswerError> {
        let graph = scope.graph();
        let (dominators, _) = dump.dominators()?;
        dump.check_answer(AnswerNeed::Descent, 0)?;
        let children = dominators.children();
        let tops = scope.top_level(dominators).into_iter();
        let tree =
            TypeTree::build_of(graph, dominators, &children, tops, PATH_DEPTH, scope.chosen(dominators).as_ref());
        self.row_bytes += places_by_path_bytes(graph, &tree);
        dump.check_answer(AnswerNeed::Descent, self.row_bytes)?;
        self.rows = places_by_path(graph, &tree).map_err(|_| AnswerError::PathsTooLong)?;
        if let Some(pattern) = &objects.types {
            self.rows.retain(|path, _| pattern.matches(path));
        }
        Ok(())
    }
}
