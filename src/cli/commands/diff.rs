//! `heapdump diff OLD NEW`: what grew between two dumps.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::analysis::threshold::{Percent, Threshold, parse_share};
use crate::answers::diff::{DiffOrder, GrowthLimit, GrowthLimits};
use crate::answers::{DiffOptions, diff};
use crate::cli::Outcome;
use crate::cli::args::diff::DiffRowArgs;
use crate::cli::args::heaps::{HeapArgs, fuller_dump_note};
use crate::cli::args::options::{Common, RowArgs, ScopeArgs};
use crate::cli::terminal::{asking::ask_together, session::Session};

/// What grew between two dumps, by type
///
/// Joined by name and never by object id, so the dumps may be of different formats. Types that changed only, largest
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
    /// Fail when the heap grew by more (10%, 20MiB), or types that match did ('*Cache=1MiB')
    #[arg(long, value_name = "[TYPE=]SIZE")]
    fail_over: Vec<GrowthLimit>,
    /// Fail when any type grew by more of its old bytes, or was not there
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    fail_over_type: Option<Percent>,
    /// With --fail-over-type: types that grew by less are no matter; a size, or a share of the old heap
    #[arg(long, value_name = "SIZE", requires = "fail_over_type", hide_short_help = true)]
    min_bytes: Option<Threshold>,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    order: RowArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    let scope = args.scope.options()?;
    anyhow::ensure!(args.files.len() <= 2, "diff compares two dumps; of more, `heapdump trend` says what grew");
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        bail!("standard input is one dump: only one side may be -");
    }
    ask_together(session, &args.files, &args.common.input, |asked| {
        let of_objects = asked.iter().any(|asked| asked.dump.graph().is_some());
        if of_objects && asked.len() < 2 {
            bail!("name two files: heapdump diff OLD NEW");
        }
        let options = DiffOptions { scope: scope.clone(), ..args.options(of_objects, asked.len())? };
        let (old, new) = (&asked[0], &asked[asked.len() - 1]);
        let answer = diff(old.dump, new.dump, &options).map_err(|error| old.explain(error))?;
        answer.fuller_dumps.iter().for_each(|dump| old.note(&fuller_dump_note(dump)));
        answer.unmatched_heaps.sentences().for_each(|sentence| old.note(&format!("note: {sentence}")));
        session.print_answer(&answer, &args.common.output)?;
        answer.over_limits.iter().for_each(|over| session.print_sentence(&over.text));
        let is_over = answer.over_limits.iter().any(|over| over.is_over);
        let is_no = is_over || answer.rows.is_empty() && options.scope.is_choice();
        Ok(if is_no { Outcome::No } else { Outcome::Done })
    })
}

impl Args {
    fn options(&self, of_objects: bool, files: usize) -> Result<DiffOptions> {
        let has_pair = self.heaps.dump.as_ref().is_some_and(|dump| dump.contains(','));
        let growth_limits =
            GrowthLimits { of_some: self.fail_over.clone(), of_each: self.fail_over_type, min_bytes: self.min_bytes };
        let by = self.rows.rows(of_objects, growth_limits.are_of_types())?;
        let orders = DiffOrder::words(self.rows.by, of_objects, self.rows.retained);
        if !of_objects && files < 2 && !has_pair {
            bail!("name two files, or two dumps of one: --dump OLD,NEW");
        }
        Ok(DiffOptions {
            heaps: self.heaps.choice(&self.scope.section, &self.common.input.read),
            by,
            retained: self.rows.retained,
            unchanged: self.rows.all,
            order: self.order.order_of(&orders)?.unwrap_or_default(),
            limits: self.order.limits(&self.common.output),
            growth_limits,
            ..DiffOptions::default()
        })
    }
}
