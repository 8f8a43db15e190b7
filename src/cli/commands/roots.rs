//! `heapdump roots OBJID`: why is it alive.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::analysis::selection::TypePattern;
use crate::answers::{Limits, MergedPathsOptions, RootPathsOptions, ScopeOptions, root_paths};
use crate::cli::Outcome;
use crate::cli::args::object::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, TypeArgs};
use crate::cli::commands::roots_by_type::merged_roots;
use crate::cli::render::root_paths::why_not;
use crate::cli::terminal::{asking::ask, asking::print_answer, output::print_sentence};

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
    override_usage = "heapdump roots [OPTIONS] OBJID [FILE]\n       heapdump roots [OPTIONS] --type PATTERN [FILE]"
)]
pub(crate) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    /// Paths from this many different rooted objects, shortest first; 0 for all
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "type_pattern")]
    paths: usize,
    /// Walk around objects of these types: known holders that are not in question
    #[arg(long, value_name = "TYPE")]
    exclude: Vec<String>,
    /// Walk weak roots too
    #[arg(long)]
    all_kinds: bool,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    types: TypeArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let pattern = args.types.pattern()?;
    let avoided = args.exclude.iter().map(|text| TypePattern::parse(text).map_err(anyhow::Error::msg));
    let avoided: Vec<TypePattern> = avoided.collect::<Result<_>>().context("--exclude")?;
    if let Some(types) = pattern {
        if args.words.len() > 1 {
            bail!("--type asks for all objects of a type: leave OBJID out");
        }
        return by_type(args, types, avoided, args.words.first().map(PathBuf::from));
    }
    let (object, file) = split_object_and_file(&args.words);
    let Some(object) = object else {
        bail!("which object? heapdump roots OBJID [FILE], or --type PATTERN for all of a type");
    };
    if args.limit.limit.is_some() {
        bail!("-n: one object has no rows to leave out; --paths says how many paths there are, --type has a tree");
    }
    let options = RootPathsOptions {
        scope: ScopeOptions { section: args.section.domain.clone(), types: None },
        paths: (args.paths > 0).then_some(args.paths),
        avoided,
        all_kinds: args.all_kinds,
        ..RootPathsOptions::new(parse_object_id(&object)?)
    };
    ask(file.as_deref(), &args.common.input, |asked| {
        asked.warn(None, args.common.is_quiet());
        let answer = root_paths(asked.dump, &options).map_err(|error| asked.explain(error))?;
        print_answer(&answer, &args.common.output)?;
        let Some(why) = why_not(&answer, args.all_kinds) else { return Ok(Outcome::Done) };
        (!args.common.is_quiet()).then(|| print_sentence(&why));
        Ok(Outcome::No)
    })
}

fn by_type(args: &Args, types: TypePattern, avoided: Vec<TypePattern>, file: Option<PathBuf>) -> Result<Outcome> {
    let options = MergedPathsOptions {
        section: args.section.domain.clone(),
        avoided,
        all_kinds: args.all_kinds,
        limits: Limits { rows: args.limit.limit_here(), reverse: false },
        ..MergedPathsOptions::new(types)
    };
    merged_roots(file.as_deref(), &options, &args.common)
}
