//! Groups of objects as users ask for them: by type, package, section, module or generation.

use anyhow::{Error, Result, anyhow};
use clap::ValueEnum;

use crate::answers::groups::Groups;
use crate::answers::{AnswerError, GroupBy, Scope};
use crate::graph::{HeapGraph, SectionId};

/// What to group by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Type,
    Package,
    Domain,
    Module,
    Generation,
}

impl By {
    /// As typed, and as JSON has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            By::Type => "type",
            By::Package => "package",
            By::Domain => "domain",
            By::Module => "module",
            By::Generation => "generation",
        }
    }

    /// The key of the column with the group's name.
    pub(crate) fn key(self) -> &'static str {
        if self == By::Type { "type" } else { "group" }
    }

    /// The column's title.
    pub(crate) fn title(self) -> &'static str {
        match self {
            By::Type => "Type",
            By::Package => "Package",
            By::Domain => "Section",
            By::Module => "Module",
            By::Generation => "Generation",
        }
    }

    /// The key of the rows in JSON.
    pub(crate) fn rows_key(self) -> &'static str {
        if self == By::Type { "types" } else { "groups" }
    }

    /// What the library calls it.
    pub(crate) fn of_objects(self) -> GroupBy {
        match self {
            By::Type => GroupBy::Type,
            By::Package => GroupBy::Package,
            By::Domain => GroupBy::Section,
            By::Module => GroupBy::Module,
            By::Generation => GroupBy::Generation,
        }
    }
}

/// The groups of the objects of one section or of all, of the wanted types or of all.
pub(crate) fn group<'d>(
    graph: &'d HeapGraph,
    by: By,
    section: Option<SectionId>,
    wanted: Option<&[bool]>,
    apart: bool,
) -> Result<Groups<'d>> {
    let scope = Scope::of(graph, section, wanted.map(<[bool]>::to_vec));
    Groups::new(&scope, by.of_objects(), apart).map_err(explain)
}

/// Why there are no such groups, in words that name the option.
pub(crate) fn explain(error: AnswerError) -> Error {
    match error {
        AnswerError::NoSuchGroups(GroupBy::Generation, _) => anyhow!("--by generation: {error}{GENERATIONS_HINT}"),
        AnswerError::NoSuchGroups(by, _) => anyhow!("--by {}: {error}", by.name()),
        error => error.into(),
    }
}

/// How to get generations into a trace.
const GENERATIONS_HINT: &str =
    "; a .nettrace does when the keyword GCHeapSurvivalAndMovement (0x400000) was asked for as well: 0x1D80001";
