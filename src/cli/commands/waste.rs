//! `heapdump waste`: what could be smaller, by kind and by the field that holds it.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};

use crate::answers::holders::KnownCollections;
use crate::answers::problems::problems_of;
use crate::answers::{Limits, WasteKind, WasteOptions, waste};
use crate::cli::CommandOutcome;
use crate::cli::args::options::{CommonArgs, LenientArgs, RowArgs, WhereArgs, word_parser};
use crate::cli::terminal::{ask_dump::ask, session::Session};

/// What could be smaller, by the field that holds it
///
/// Duplicate strings and arrays, empty, sparse, colliding and huge collections, boxed numbers, arrays of zeros and of nulls.
/// No byte counts twice. A table lists which classes are collections; --collections adds to it.
///
/// Example: heapdump waste app.hprof
///
/// Example: heapdump waste app.hprof --kind sparse-collections -n 20
///
/// Example: heapdump waste app.hprof --kind duplicate-strings --fail-over 5%
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Only this kind, with details; repeatable
    #[arg(long, value_parser = word_parser(WasteKind::WORDS), value_name = "KIND", value_delimiter = ',', hide_possible_values = false)]
    kind: Vec<WasteKind>,
    /// More classes that are collections: lines as `app.Ring size=count table=slots`
    #[arg(long, value_name = "FILE")]
    collections: Option<PathBuf>,
    /// Fail when more is wasted: a size, or a share of the heap as 5%
    #[arg(long, value_name = "SIZE|SHARE")]
    fail_over: Option<String>,
    #[command(flatten)]
    lenient: LenientArgs,
    #[command(flatten)]
    filter: WhereArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    common: CommonArgs,
}

/// Rows of each kind on a terminal, where all kinds are shown.
const OVERVIEW_ROWS_PER_KIND: usize = 5;

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let options = args.options()?;
    ask(session, args.file.as_deref(), &args.common.input, |asked| {
        let answer = waste(asked.dump, &options).map_err(|error| asked.explain(error))?;
        [answer.redaction_note(), answer.untold_note()]
            .iter()
            .flatten()
            .for_each(|note| asked.print_unless_quiet(note));
        session.print_answer(&answer, &args.common.output)?;
        let Some(over) = answer.over_limit_sentence() else {
            args.lenient.fail_if_cut_within_limits(
                args.fail_over.is_some(),
                [("", &problems_of(asked.dump.diagnostics())[..])],
            )?;
            return Ok(args.filter.outcome_with_note(
                session,
                "",
                answer.matches_nothing,
                args.common.input.read.quiet,
            ));
        };
        session.print_sentence(&over);
        Ok(CommandOutcome::NegativeAnswer)
    })
}

impl Args {
    /// The question that these words ask, without a dump.
    pub(crate) fn options(&self) -> Result<WasteOptions> {
        let read = |path: &PathBuf| -> Result<(String, String)> {
            let name = path.display().to_string();
            let text = std::fs::read(path).with_context(|| name.clone())?;
            Ok((name, String::from_utf8_lossy(&text).into_owned()))
        };
        let limits = self.rows.limits(&self.common.output);
        let is_overview = self.kind.is_empty() && self.rows.limit.limit.is_none();
        let fail_over = self.fail_over.as_deref().map(str::parse).transpose();
        Ok(WasteOptions {
            kinds: self.kind.clone(),
            collections: KnownCollections { added_file: self.collections.as_ref().map(read).transpose()? },
            filter: self.filter.filter()?,
            order: self.rows.order(&WasteOptions::ORDERS)?,
            limits: Limits {
                rows: limits.rows.map(|rows| if is_overview { OVERVIEW_ROWS_PER_KIND } else { rows }),
                ..limits
            },
            fail_over: fail_over.map_err(|why| anyhow!("--fail-over: {why}"))?,
        })
    }
}
