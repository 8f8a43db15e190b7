//! `heapdump diff OLD NEW`: what grew between two dumps.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::diff::GrowthLimit;
use crate::answers::{DiffOptions, diff};
use crate::cli::CommandOutcome;
use crate::cli::args::diff::{DiffRowArgs, GrowthArgs};
use crate::cli::args::heaps::{HeapArgs, fuller_dump_note};
use crate::cli::args::options::{Common, RowArgs, ScopeArgs};
use crate::cli::terminal::{asking::ask_together, session::Session};

/// What grew between two dumps, by type
///
/// Joined by name and never by object id, so the dumps may be of different formats of one runtime. Types that changed only, largest
/// growth first. Exit code 1 when something grew by more than --fail-over or --fail-over-type.
///
/// Of allocation totals two dumps of one trace can be compared too, with --dump OLD,NEW; of V8 snapshots of one process
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
    rows: DiffRowArgs,
    #[command(flatten)]
    growth: GrowthArgs,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    order: RowArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    args.scope.options()?;
    anyhow::ensure!(args.files.len() <= 2, "diff compares two dumps; of more, `heapdump trend` says what grew");
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        bail!("standard input is one dump: only one side may be -");
    }
    ask_together(session, &args.files, &args.common.input, |asked| {
        let of_objects = asked.iter().any(|asked| asked.dump.graph().is_some());
        if of_objects && asked.len() < 2 {
            bail!("name two files: heapdump diff OLD NEW");
        }
        let options = args.options(of_objects, asked.len())?;
        let (old, new) = (&asked[0], &asked[asked.len() - 1]);
        let answer = diff(old.dump, new.dump, &options).map_err(|error| old.explain(error))?;
        answer.fuller_dumps.iter().for_each(|dump| old.note(&fuller_dump_note(dump)));
        answer.unmatched_heaps.sentences().for_each(|sentence| old.note(&format!("note: {sentence}")));
        session.print_answer(&answer, &args.common.output)?;
        let is_strict = args.common.input.read.strict;
        answer.over_limits.iter().for_each(|over| session.print_sentence(&over.sentence(is_strict)));
        let [old_name, new_name] = [old, new].map(|asked| asked.file.unwrap_or_default());
        let problems = [(old_name, &answer.problems.old[..]), (new_name, &answer.problems.new)];
        let outcome = args.growth.outcome(&answer.over_limits, is_strict, problems)?;
        if answer.rows.is_empty() && options.scope.is_choice() && outcome == CommandOutcome::Done {
            let is_empty = answer.old.is_empty() && answer.new.is_empty();
            if !is_empty {
                old.note("what matches is the same in both dumps");
                // A limit that is kept is the answer yes.
                if args.growth.has_limits() {
                    return Ok(outcome);
                }
            }
            args.scope.outcome(new, is_empty);
            return Ok(CommandOutcome::No);
        }
        Ok(outcome)
    })
}

impl Args {
    /// The question, of dumps of objects or of allocation totals, in so many files.
    pub(crate) fn options(&self, of_objects: bool, files: usize) -> Result<DiffOptions> {
        let has_pair = self.heaps.dump.as_ref().is_some_and(|dump| dump.contains(','));
        let growth_limits = self.growth.limits();
        self.scope.check_limits(growth_limits.of_some.iter().any(GrowthLimit::is_of_types))?;
        let by = self.rows.rows(of_objects, growth_limits.are_of_types())?;
        self.order.check_retained(!of_objects || self.rows.retained)?;
        let orders = self.rows.by.orders(of_objects, self.rows.retained);
        if !of_objects && files < 2 && !has_pair {
            bail!("name two files, or two dumps of one: --dump OLD,NEW");
        }
        Ok(DiffOptions {
            scope: self.scope.options()?,
            heaps: self.heaps.choice(&self.scope.section, &self.common.input.read),
            by,
            retained: self.rows.retained,
            unchanged: self.rows.all,
            order: self.order.order(&orders)?,
            limits: self.order.limits(&self.common.output),
            growth_limits,
        })
    }
}
