//! The rows of a diff, in one model or the other, and limits of growth.

use anyhow::{Error, Result};

use super::options::{LenientArgs, NamedProblems, words};
use crate::analysis::threshold::{Percent, Threshold, parse_share};
use crate::answers::DiffBy;
use crate::answers::diff::{DiffFlags, GrowthLimit, GrowthLimits, OverLimit};
use crate::cli::CommandOutcome;

/// The rows of a diff.
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

/// Limits of growth.
#[derive(Debug, clap::Args)]
pub(crate) struct GrowthArgs {
    /// Fail when the heap, or all types that match, grew by more: 10%, '*Cache=1MiB'
    ///
    /// A size or a share, of shallow bytes; of types that match together (PATTERN as for --type), with --retained of retained bytes, added up.
    #[arg(long, value_name = "[TYPE=]SIZE")]
    fail_over: Vec<GrowthLimit>,
    /// Fail when any type grew by more than this share, or is new
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    fail_over_type: Option<Percent>,
    /// With --fail-over-type: ignore types that grew by less: a size, or a share of the old heap
    #[arg(long, value_name = "SIZE", requires = "fail_over_type", hide_short_help = true)]
    min_bytes: Option<Threshold>,
    #[command(flatten)]
    lenient: LenientArgs,
}

impl GrowthArgs {
    /// The end of the command, where `over` is the result of the limits. A cut NEW that passes no limit says nothing, and
    /// what a cut OLD lacks is no growth.
    pub(crate) fn outcome(
        &self,
        over: &[OverLimit],
        is_strict: bool,
        dumps: [NamedProblems<'_>; 2],
    ) -> Result<CommandOutcome> {
        if is_strict && over.iter().any(|over| !over.is_over) {
            return Ok(CommandOutcome::Failed);
        }
        if over.iter().any(|over| over.is_over) {
            self.lenient.check_growth([dumps[0]])?;
            return Ok(CommandOutcome::No);
        }
        self.lenient.check(self.has_limits(), dumps)?;
        Ok(CommandOutcome::Done)
    }

    pub(crate) fn has_limits(&self) -> bool {
        !self.fail_over.is_empty() || self.fail_over_type.is_some()
    }

    /// The limits.
    pub(crate) fn limits(&self) -> GrowthLimits {
        GrowthLimits { of_some: self.fail_over.clone(), of_each: self.fail_over_type, min_bytes: self.min_bytes }
    }
}

impl DiffRowArgs {
    /// The kind of the rows.
    pub(crate) fn rows(&self, of_objects: bool, type_limits: bool) -> Result<DiffBy> {
        let DiffRowArgs { by: _, retained, paths, roots, all: unchanged } = *self;
        let flags = DiffFlags { retained, paths, roots, unchanged, type_limits };
        self.by.with(flags, of_objects).map_err(Error::msg)
    }
}
