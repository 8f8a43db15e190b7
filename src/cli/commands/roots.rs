//! `heapdump roots OBJID`: why is it alive.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::roots::merged_paths::{KeptRows, merged_paths_to};
use crate::answers::{Limits, MergedPathsOptions, RootPathsOptions, merged_paths, root_paths};
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{CommonArgs, RowLimitArgs, ScopeArgs, parse_min_size, parse_patterns};
use crate::cli::terminal::ask_dump::ask;
use crate::cli::terminal::session::Session;

/// Lines of a tree on a terminal where nothing else is asked: about 40 with those around it.
const TREE_LINES_ON_TERMINAL: usize = 36;

/// Why an object is alive: paths to it from GC roots
///
/// Each is the shortest path from one object that a root holds. Weak roots hold nothing; --all-kinds shows them. Exit code 1 when no strong root reaches the object.
///
/// With --type the paths of all objects of some types, merged by type from the roots down. Objects that another of
/// them holds count there: their own rows retain 0.
///
/// Example: heapdump roots 7fe45 dump.txt
///
/// Example: heapdump roots --type BubbleGame.Level dump.txt
///
/// Example: heapdump roots 7fe45 dump.txt --merge
///
/// Example: heapdump roots 7fe45 dump.txt --paths 3 -f json | jq '.paths[].root.kind'
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "heapdump roots [OPTIONS] OBJID [FILE]\n       heapdump roots [OPTIONS] <--type PATTERN | --where EXPR> [FILE]"
)]
pub(crate) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(id = "words", value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    object_and_file: Vec<OsString>,
    /// Paths from this many different rooted objects, shortest first; 0 for all
    #[arg(long, default_value_t = 1, default_value_if("merge", "true", "0"), value_name = "N", conflicts_with_all = ["type_pattern", "not_type", "filter"])]
    paths: usize,
    /// All paths as one tree, merged by type from the roots down
    #[arg(long, conflicts_with_all = ["type_pattern", "not_type", "filter"])]
    merge: bool,
    /// Walk around objects of these types: known holders that are not in question
    #[arg(long, value_name = "TYPE")]
    exclude: Vec<String>,
    /// Walk weak roots too
    #[arg(long)]
    all_kinds: bool,
    /// Also show the steps inside known collections, and those from a loader to a class, which every class has
    #[arg(long, hide_short_help = true)]
    all_steps: bool,
    /// Of trees, leave out rows of fewer of the objects or paths, in percent; the largest of each level stays [default: none; in tables on a terminal without -n all but the largest rows, some 40 lines]
    #[arg(long, value_name = "PERCENT", conflicts_with = "paths")]
    min_percent: Option<f64>,
    #[command(flatten)]
    limit: RowLimitArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: CommonArgs,
}

/// A question for paths.
#[derive(Debug)]
pub(crate) enum PathsQuestion {
    /// Paths to one object.
    ToObject(RootPathsOptions),
    /// The same as one tree.
    MergedToObject(RootPathsOptions, KeptRows),
    /// Paths to all objects of a scope, as one tree.
    MergedToScope(MergedPathsOptions),
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let (question, file) = args.options()?;
    let output = &args.common.output;
    ask(session, file.as_deref(), &args.common.input, |asked| {
        let (PathsQuestion::ToObject(RootPathsOptions { avoided_types: avoided, .. })
        | PathsQuestion::MergedToObject(RootPathsOptions { avoided_types: avoided, .. }, _)
        | PathsQuestion::MergedToScope(MergedPathsOptions { avoided_types: avoided, .. })) = &question;
        asked.note_unmatched_patterns("--exclude", avoided);
        let (why, is_empty) = match &question {
            PathsQuestion::ToObject(options) => {
                let answer = root_paths(asked.dump, options).map_err(|error| asked.explain(error))?;
                session.print_answer(&answer, output)?;
                (answer.no_path_reason(args.all_kinds), false)
            }
            PathsQuestion::MergedToObject(options, kept_rows) => {
                let answer = merged_paths_to(asked.dump, options, *kept_rows).map_err(|error| asked.explain(error))?;
                session.print_answer(&answer, output)?;
                return Ok(if answer.reachable_objects > 0 {
                    CommandOutcome::Answered
                } else {
                    CommandOutcome::NegativeAnswer
                });
            }
            PathsQuestion::MergedToScope(options) => {
                let answer = merged_paths(asked.dump, options).map_err(|error| asked.explain(error))?;
                session.print_answer(&answer, output)?;
                (answer.no_path_reason(args.all_kinds), answer.objects == 0)
            }
        };
        let Some(why) = why else { return Ok(args.scope.outcome_with_note(asked, is_empty)) };
        asked.print_unless_quiet(&why);
        Ok(CommandOutcome::NegativeAnswer)
    })
}

impl Args {
    /// The question, and the file of the dump.
    pub(crate) fn options(&self) -> Result<(PathsQuestion, Option<PathBuf>)> {
        let scope = self.scope.options()?;
        let avoided = parse_patterns("--exclude", &self.exclude, false)?;
        let (style, all_kinds) = (self.common.output.style(), self.all_kinds);
        let is_tree = self.merge || scope.chooses_some();
        let is_drawn = style.draws_tables();
        let is_cut = is_tree && self.limit.limit.is_none() && is_drawn;
        // What is for programs is complete.
        let all_steps = self.all_steps || is_tree && !is_drawn;
        let kept_rows = match parse_min_size(None, self.min_percent)? {
            Some(share) => KeptRows::AtLeast(share),
            None if is_cut => KeptRows::LargestOnLines(TREE_LINES_ON_TERMINAL),
            None => KeptRows::All,
        };
        // The largest rows of the tree are fewer than a terminal's rows of one level may be.
        let is_limited = !matches!(kept_rows, KeptRows::LargestOnLines(_));
        let rows = self.limit.row_limit_here(&self.common.output).filter(|_| is_limited);
        let limits = Limits { rows, reverse: false };
        if scope.chooses_some() {
            if self.object_and_file.len() > 1 {
                bail!("--type and --where ask for all objects that match: leave OBJID out");
            }
            let options = MergedPathsOptions {
                avoided_types: avoided,
                with_weak_roots: all_kinds,
                with_all_steps: all_steps,
                limits,
                kept_rows,
                ..MergedPathsOptions::of(scope)
            };
            return Ok((PathsQuestion::MergedToScope(options), self.object_and_file.first().map(Into::into)));
        }
        if self.min_percent.is_some() && !self.merge {
            bail!("--min-percent leaves rows out of the trees of --merge, --type and --where; -n limits paths");
        }
        let (object, file) = split_object_and_file(&self.object_and_file);
        let Some(object) = object else {
            bail!("which object? heapdump roots OBJID [FILE], or --type PATTERN or --where EXPR for all that match");
        };
        let paths = (self.paths > 0).then_some(self.paths);
        let to = RootPathsOptions::new(parse_object_id(&object)?);
        let options = RootPathsOptions {
            scope,
            max_paths: paths,
            avoided_types: avoided,
            with_weak_roots: all_kinds,
            limits,
            with_all_steps: all_steps,
            ..to
        };
        Ok((
            if self.merge {
                PathsQuestion::MergedToObject(options, kept_rows)
            } else {
                PathsQuestion::ToObject(options)
            },
            file,
        ))
    }
}
