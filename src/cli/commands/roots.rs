//! `heapdump roots OBJID`: why is it alive.

use std::path::Path;

use anyhow::{Result, bail};

use crate::answers::{Limits, MergedPathsOptions, RootPathsOptions, merged_paths, root_paths};
use crate::cli::Outcome;
use crate::cli::args::object::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{Common, LimitArgs, ScopeArgs, parse_patterns, parse_smallest};
use crate::cli::render::root_paths::why_not;
use crate::cli::terminal::{asking::ask, session::Session};

/// Why an object is alive: paths to it from GC roots
///
/// Each is the shortest path from one object that a root holds. Weak roots hold nothing; --all-kinds shows them.
/// Exit code 1 when no strong root reaches the object.
///
/// With --type the paths of all objects of some types, merged by type from the roots down. Objects that another of
/// them holds count there: their own rows retain 0.
///
/// Example: heapdump roots 7fe45 dump.txt
///
/// Example: heapdump roots --type BubbleGame.Level dump.txt
///
/// Example: heapdump roots 7fe45 dump.txt --paths 3 -f json | jq '.paths[].root.kind'
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    override_usage = "heapdump roots [OPTIONS] OBJID [FILE]\n       heapdump roots [OPTIONS] <--type PATTERN | --where EXPR> [FILE]"
)]
pub(crate) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    /// Paths from this many different rooted objects, shortest first; 0 for all
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with_all = ["type_pattern", "filter"])]
    paths: usize,
    /// Walk around objects of these types: known holders that are not in question
    #[arg(long, value_name = "TYPE")]
    exclude: Vec<String>,
    /// Walk weak roots too
    #[arg(long)]
    all_kinds: bool,
    /// With --type or --where, leave out rows of fewer of the objects, in percent [default: 2 on a terminal without -n]
    #[arg(long, value_name = "PERCENT", conflicts_with = "paths")]
    min_percent: Option<f64>,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    let scope = args.scope.options()?;
    let avoided = parse_patterns("--exclude", &args.exclude)?;
    if scope.is_choice() {
        if args.words.len() > 1 {
            bail!("--type and --where ask for all objects that match: leave OBJID out");
        }
        let limits = Limits { rows: args.limit.limit_here(), reverse: false };
        let all_kinds = args.all_kinds;
        let is_cut = args.limit.limit.is_none() && args.common.output.style().terminal;
        let min_share = parse_smallest(None, args.min_percent.or(is_cut.then_some(2.0)))?;
        let options = MergedPathsOptions { avoided, all_kinds, limits, min_share, ..MergedPathsOptions::of(scope) };
        return by_type(args, session, &options);
    }
    let (object, file) = split_object_and_file(&args.words);
    let Some(object) = object else {
        bail!("which object? heapdump roots OBJID [FILE], or --type PATTERN or --where EXPR for all that match");
    };
    let options = RootPathsOptions {
        scope,
        paths: (args.paths > 0).then_some(args.paths),
        avoided,
        all_kinds: args.all_kinds,
        limits: Limits { rows: args.limit.limit_here(), reverse: false },
        ..RootPathsOptions::new(parse_object_id(&object)?)
    };
    ask(session, file.as_deref(), &args.common.input, |asked| {
        asked.warn();
        let answer = root_paths(asked.dump, &options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        let Some(why) = why_not(&answer, args.all_kinds) else { return Ok(Outcome::Done) };
        asked.note(&why);
        Ok(Outcome::No)
    })
}

fn by_type(args: &Args, session: &Session, options: &MergedPathsOptions) -> Result<Outcome> {
    ask(session, args.words.first().map(Path::new), &args.common.input, |asked| {
        asked.warn();
        let answer = merged_paths(asked.dump, options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        Ok(if answer.reachable_objects > 0 { Outcome::Done } else { Outcome::No })
    })
}
