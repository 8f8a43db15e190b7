//! `heapdump diff OLD NEW`: what grew between two dumps.

use std::path::PathBuf;

use anyhow::{Error, Result, bail};

use crate::analysis::threshold::{Percent, Threshold, parse_share};
use crate::answers::diff::{DiffFlags, GrowthLimit, GrowthLimits, LimitResult};
use crate::answers::{DiffBy, DiffOptions, GroupBy, diff};
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::{AllocationHeapArgs, fuller_dump_note};
use crate::cli::args::options::{CommonArgs, FieldOrWordParser, LenientArgs, NamedProblems, RowArgs, ScopeArgs};
use crate::cli::terminal::ask_dump::ask_together;
use crate::cli::terminal::session::Session;
use crate::dump::Content;
use crate::filter::FieldSelection;

/// What grew between two dumps, by type
///
/// Joined by name and never by object id, so the dumps may be of different formats of one runtime. Types that changed only, largest
/// growth first. Exit code 1 when something grew by more than --fail-over or --fail-over-type.
///
/// Of allocations --by function has flat (what a function allocated itself) and cum (with all it called); limits are of cum.
/// Of allocation totals two dumps of one trace can be compared too, with --dump OLD,NEW, and a profile that is a difference
/// (pprof -base, -diff_base) is one file; of V8 snapshots of one process
/// object by object, with --by object.
///
/// Example: heapdump diff monday.txt friday.txt -n 10
///
/// Example: heapdump diff before.txt after.txt --fail-over 10% --fail-over-type 50% --min-bytes 1MiB || echo leaking
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump diff [OPTIONS] OLD NEW")]
pub(crate) struct Args {
    /// The earlier and the later dump; one of them may be -
    #[arg(value_names = ["OLD", "NEW"], num_args = 1.., required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    diff_rows: DiffRowArgs,
    #[command(flatten)]
    growth_limits: GrowthLimitArgs,
    #[command(flatten)]
    heaps: AllocationHeapArgs,
    #[command(flatten)]
    limit_and_order: RowArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    args.scope.options()?;
    anyhow::ensure!(args.files.len() <= 2, "diff compares two dumps; of more, `heapdump trend` says what grew");
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        bail!("standard input is one dump: only one side may be -");
    }
    let input = match args.diff_rows.by.0 {
        DiffBy::Groups(by) => args.common.input.with_frame_names_for(by)?,
        _ => args.common.input.clone(),
    };
    ask_together(session, &args.files, &input, |asked| {
        let of_objects = asked.iter().any(|asked| !matches!(asked.dump.content(), Content::Allocations(_)));
        if of_objects && asked.len() < 2 {
            bail!("name two files: heapdump diff OLD NEW");
        }
        let mut options = args.options(of_objects, asked.len())?;
        if let ([asked], None) = (asked, &options.heaps.memory_dump) {
            match asked.dump.content() {
                Content::Allocations(dump) if dump.dumps.len() == 2 => options.heaps.memory_dump = Some("1,2".into()),
                _ => bail!("name two files, or two dumps of one: --dump OLD,NEW"),
            }
        }
        let (old, new) = (&asked[0], &asked[asked.len() - 1]);
        let answer = diff(old.dump, new.dump, &options).map_err(|error| old.explain(error))?;
        answer.fuller_dumps.iter().for_each(|dump| old.print_unless_quiet(&fuller_dump_note(dump)));
        answer.unmatched_heaps.sentences().for_each(|sentence| old.print_unless_quiet(&format!("note: {sentence}")));
        session.print_answer(&answer, &args.common.output)?;
        let is_strict = args.common.input.read.strict;
        answer.limit_results.iter().for_each(|over| session.print_sentence(&over.sentence(is_strict)));
        let [old_name, new_name] = [old, new].map(|asked| asked.file.unwrap_or_default());
        let problems = [(old_name, &answer.problems.old[..]), (new_name, &answer.problems.new)];
        let outcome = args.growth_limits.outcome(&answer.limit_results, is_strict, problems)?;
        if answer.rows.is_empty() && options.scope.chooses_some() && outcome == CommandOutcome::Answered {
            let is_empty = answer.old.is_empty() && answer.new.is_empty();
            if !is_empty {
                old.print_unless_quiet("what matches is the same in both dumps");
                // A limit that is kept is the answer yes.
                if args.growth_limits.has_limits() {
                    return Ok(outcome);
                }
            }
            args.scope.outcome_with_note(new, is_empty);
            return Ok(CommandOutcome::NegativeAnswer);
        }
        Ok(outcome)
    })
}

impl Args {
    /// The question, of dumps of objects or of allocation totals, in so many files.
    pub(crate) fn options(&self, of_objects: bool, files: usize) -> Result<DiffOptions> {
        let has_pair = self.heaps.dump.as_ref().is_some_and(|dump| dump.contains(','));
        let growth_limits = self.growth_limits.limits();
        self.scope.refuse_types_beside_type_limits(growth_limits.limits.iter().any(GrowthLimit::limits_types))?;
        let by = self.diff_rows.row_kind(of_objects, growth_limits.has_type_limits())?;
        self.limit_and_order.check_sort_by_retained(!of_objects || self.diff_rows.retained)?;
        let orders = self.diff_rows.by.0.orders(of_objects, self.diff_rows.retained);
        if !of_objects && files < 2 && self.heaps.dump.is_some() && !has_pair {
            bail!("name two files, or two dumps of one: --dump OLD,NEW");
        }
        Ok(DiffOptions {
            scope: self.scope.options()?,
            heaps: self.heaps.heap_choice(&self.scope.section, &self.common.input.read),
            by,
            field: self.diff_rows.by.1.clone(),
            with_retained: self.diff_rows.retained,
            with_unchanged: self.diff_rows.all,
            order: self.limit_and_order.order(&orders)?,
            limits: self.limit_and_order.limits(&self.common.output),
            growth_limits,
        })
    }
}

/// The rows of a diff.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffRowArgs {
    /// What to group by: type, package, domain, module, loader, superclass, owner, .status (a field), backtrace, object, ...
    ///
    /// backtrace and function: of allocations, line and file: of profiles; .user.name: by values of a field; object: which came and went, in V8 snapshots of one process
    #[arg(long, value_parser = FieldOrWordParser { words: DiffBy::WORDS, of_field: DiffBy::Groups(GroupBy::Field) }, default_value = "type", value_name = "GROUP", hide_possible_values = true, conflicts_with_all = ["paths", "roots"])]
    pub(crate) by: (DiffBy, Option<FieldSelection>),
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
pub(crate) struct GrowthLimitArgs {
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

impl GrowthLimitArgs {
    /// The end of the command, where `over` is the result of the limits. A cut NEW that passes no limit says nothing, and
    /// what a cut OLD lacks is no growth.
    pub(crate) fn outcome(
        &self,
        over: &[LimitResult],
        is_strict: bool,
        dumps: [NamedProblems<'_>; 2],
    ) -> Result<CommandOutcome> {
        if is_strict && over.iter().any(|over| !over.is_over) {
            return Ok(CommandOutcome::Failed);
        }
        if over.iter().any(|over| over.is_over) {
            self.lenient.fail_if_cut_over_limits([dumps[0]])?;
            return Ok(CommandOutcome::NegativeAnswer);
        }
        self.lenient.fail_if_cut_within_limits(self.has_limits(), dumps)?;
        Ok(CommandOutcome::Answered)
    }

    pub(crate) fn has_limits(&self) -> bool {
        !self.fail_over.is_empty() || self.fail_over_type.is_some()
    }

    /// The limits.
    pub(crate) fn limits(&self) -> GrowthLimits {
        GrowthLimits {
            limits: self.fail_over.clone(),
            each_type_share: self.fail_over_type,
            each_type_min_growth: self.min_bytes,
        }
    }
}

impl DiffRowArgs {
    /// What the rows are, of `--by`, `--paths` and `--roots`; an error where these contradict each other or the dumps.
    pub(crate) fn row_kind(&self, of_objects: bool, type_limits: bool) -> Result<DiffBy> {
        let DiffRowArgs { by: _, retained, paths, roots, all: with_unchanged } = *self;
        let flags = DiffFlags {
            with_retained: retained,
            by_paths: paths,
            by_root_kinds: roots,
            with_unchanged,
            has_type_limits: type_limits,
        };
        self.by.0.with_flags(flags, of_objects).map_err(Error::msg)
    }
}
