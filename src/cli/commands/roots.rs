//! `heapdump roots OBJID`: why is it alive.

use std::path::Path;

use anyhow::{Result, bail};

use crate::answers::roots::merged_paths::{KeptRows, merged_paths_to};
use crate::answers::{Limits, MergedPathsOptions, RootPathsOptions, merged_paths, root_paths};
use crate::cli::Outcome;
use crate::cli::args::object::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{parse_patterns, parse_smallest};
pub(crate) use crate::cli::args::roots::Args;
use crate::cli::terminal::asking::ask;
use crate::cli::terminal::session::Session;
use crate::report::Format;

/// Lines of a tree on a terminal where nothing else is asked: about 40 with those around it.
const LINES_ON_TERMINAL: usize = 36;

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    let scope = args.scope.options()?;
    let avoided = parse_patterns("--exclude", &args.exclude, false)?;
    let style = args.common.output.style();
    let is_tree = args.merge || scope.is_choice();
    let is_cut = is_tree && args.limit.limit.is_none() && style.terminal && style.format == Format::Table;
    let kept_rows = match parse_smallest(None, args.min_percent)? {
        Some(share) => KeptRows::OfShare(share),
        None if is_cut => KeptRows::Largest(LINES_ON_TERMINAL),
        None => KeptRows::All,
    };
    // The largest rows of the tree are fewer than a terminal's rows of one level may be.
    let rows =
        if matches!(kept_rows, KeptRows::Largest(_)) { None } else { args.limit.limit_here(&args.common.output) };
    let limits = Limits { rows, reverse: false };
    if scope.is_choice() {
        if args.words.len() > 1 {
            bail!("--type and --where ask for all objects that match: leave OBJID out");
        }
        let all_kinds = args.all_kinds;
        let options = MergedPathsOptions { avoided, all_kinds, limits, kept_rows, ..MergedPathsOptions::of(scope) };
        return by_type(args, session, &options);
    }
    if args.min_percent.is_some() && !args.merge {
        bail!("--min-percent leaves rows out of the trees of --merge, --type and --where; -n limits paths");
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
        limits,
        ..RootPathsOptions::new(parse_object_id(&object)?)
    };
    ask(session, file.as_deref(), &args.common.input, |asked| {
        asked.warn();
        asked.note_unmatched("--exclude", &options.avoided);
        if args.merge {
            let answer = merged_paths_to(asked.dump, &options, kept_rows).map_err(|error| asked.explain(error))?;
            session.print_answer(&answer, &args.common.output)?;
            return Ok(if answer.reachable_objects > 0 { Outcome::Done } else { Outcome::No });
        }
        let answer = root_paths(asked.dump, &options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        let Some(why) = answer.why_not(args.all_kinds) else { return Ok(Outcome::Done) };
        asked.note(&why);
        Ok(Outcome::No)
    })
}

fn by_type(args: &Args, session: &Session, options: &MergedPathsOptions) -> Result<Outcome> {
    ask(session, args.words.first().map(Path::new), &args.common.input, |asked| {
        asked.warn();
        asked.note_unmatched("--exclude", &options.avoided);
        let answer = merged_paths(asked.dump, options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        let Some(why) = answer.why_not(args.all_kinds) else {
            return Ok(args.scope.outcome(asked, answer.objects == 0));
        };
        asked.note(&why);
        Ok(Outcome::No)
    })
}
