//! Options of `stats`: what is counted, by what, and in which order.

use anyhow::{Context, Error, Result, bail};
use clap::Args;

use crate::analysis::selection::TypePattern;
use crate::answers::histogram::SizeLimit;
use crate::answers::{GroupBy, HistogramOptions, OwnTypes, RetainedBy};
use crate::cli::args::heaps::HeapArgs;
use crate::cli::args::options::{Common, LenientArgs, RowArgs, ScopeArgs, parse_patterns, words};
use crate::units::parse_size;

/// The question of `stats`.
#[derive(Debug, Args)]
pub(crate) struct HistogramArgs {
    /// What to group by; package=2: by two levels of packages
    #[arg(long, value_parser = words(GroupBy::OF_HISTOGRAMS), default_value = "type", value_name = "GROUP")]
    by: GroupBy,
    /// Retained bytes too: at least so much would be freed with all objects of a row, by the dominator tree; `exact` walks
    /// the heap without each row's objects, once for every 63 rows: takes seconds on a large dump, less with -n
    #[arg(long, value_parser = words(RetainedBy::WORDS), num_args = 0..=1, require_equals = true, default_missing_value = "minimum", value_name = "HOW")]
    retained: Option<RetainedBy>,
    /// Types of libraries, besides those of the runtime, where bytes go to their owners
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    library: Vec<String>,
    /// Types of the program, whatever they are called
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    mine: Vec<String>,
    /// Fail when the objects of all types that match take more, for instance --fail-over 'System.Byte[]=20MB': shallow bytes,
    /// with --retained retained ones, added up; PATTERN as for --type
    #[arg(long, value_name = "TYPE=SIZE")]
    pub(crate) fail_over: Vec<String>,
    #[command(flatten)]
    pub(crate) lenient: LenientArgs,
    /// Histogram only, in one pass with memory for types alone
    #[arg(long, conflicts_with_all = ["retained", "filter", "domain", "keep_unreachable", "exclude_roots", "dump", "process", "allocator"])]
    pub(crate) shallow: bool,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl HistogramArgs {
    /// The same as the library takes it, but for the order, which depends on what a dump holds.
    pub(crate) fn options(&self) -> Result<HistogramOptions> {
        let size_limits = self.fail_over.iter().map(|text| parse_limit(text)).collect::<Result<Vec<_>>>()?;
        if !size_limits.is_empty() && self.by != GroupBy::Type {
            bail!("--fail-over limits types: leave --by out");
        }
        self.scope.check_limits(!size_limits.is_empty())?;
        if self.shallow && !matches!(self.by, GroupBy::Type | GroupBy::Package | GroupBy::PackageLevels(_)) {
            bail!("--shallow counts types only: leave it out to group by {}", self.by.name());
        }
        if !self.by.is_owner() && self.library.len() + self.mine.len() > 0 {
            bail!("--library and --mine say whose types are whose: add --by owner");
        }
        if self.by.is_owner() && self.retained.is_some() {
            bail!("--by owner charges bytes, it does not add up what is retained: leave --retained out");
        }
        let libraries = parse_patterns("--library", &self.library, false)?;
        let own_types = OwnTypes { libraries, mine: parse_patterns("--mine", &self.mine, false)? };
        Ok(HistogramOptions {
            own_types,
            scope: self.scope.options()?,
            heaps: self.heaps.choice(&self.scope.section, &self.common.input.read),
            group_by: self.by,
            types_apart: self.common.input.read.raw_types,
            retained: self.retained,
            limits: self.rows.limits(&self.common.output),
            size_limits,
            ..HistogramOptions::default()
        })
    }

    /// Returns true if an option acts on objects only.
    pub(crate) fn needs_objects(&self) -> bool {
        self.by != GroupBy::Type
            || self.retained.is_some()
            || !self.fail_over.is_empty()
            || self.scope.filter.words().is_some()
    }

    /// The options in the order that was asked for, which depends on what there is: objects with their references,
    /// objects that are only counted, allocation totals.
    pub(crate) fn ordered(
        &self,
        options: &HistogramOptions,
        with_graph: bool,
        of_allocations: bool,
    ) -> Result<HistogramOptions> {
        self.rows.check_retained(of_allocations || self.retained.is_some())?;
        let order = self.rows.order(&options.orders(with_graph, of_allocations))?;
        Ok(HistogramOptions { order, ..options.clone() })
    }
}

fn parse_limit(text: &str) -> Result<SizeLimit> {
    let wrong = || format!("--fail-over {text}: write it as TYPE=SIZE");
    let (name, size) = text.rsplit_once('=').with_context(wrong)?;
    let types = TypePattern::parse(name).map_err(Error::msg).with_context(wrong)?;
    Ok(SizeLimit { text: text.to_string(), types, bytes: parse_size(size).map_err(Error::msg).with_context(wrong)? })
}
