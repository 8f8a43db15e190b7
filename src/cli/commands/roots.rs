//! `heapdump roots OBJID`: why is it alive.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::analysis::selection::TypePattern;
use crate::answers::{RootPathsOptions, ScopeOptions, root_paths};
use crate::cli::Outcome;
use crate::cli::args::object::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, TypeArgs};
use crate::cli::commands::roots_by_type;
use crate::cli::render::root_paths::why_not;
use crate::cli::terminal::asking::{ask, print_answer};
use crate::cli::terminal::load::open_graph;
use crate::cli::terminal::output::print_sentence;

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
    let exclude = args.exclude.iter().map(|text| TypePattern::parse(text).map_err(anyhow::Error::msg));
    let avoided: Vec<TypePattern> = exclude.collect::<Result<_>>().context("--exclude")?;
    let (object, file): (_, Option<PathBuf>) = match (&pattern, &args.words[..]) {
        (None, words) => split_object_and_file(words),
        (Some(_), words) if words.len() > 1 => bail!("--type asks for all objects of a type: leave OBJID out"),
        (Some(_), words) => (None, words.first().map(PathBuf::from)),
    };
    if object.is_none() && pattern.is_none() {
        bail!("which object? heapdump roots OBJID [FILE], or --type PATTERN for all of a type");
    }
    if args.limit.limit.is_some() && pattern.is_none() {
        bail!("-n: one object has no rows to leave out; --paths says how many paths there are, --type has a tree");
    }
    let Some(object) = object else { return by_type(args, file, &avoided) };
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
        let why = why_not(&answer, args.all_kinds);
        why.iter().filter(|_| !args.common.is_quiet()).for_each(|why| print_sentence(why));
        Ok(if why.is_none() { Outcome::Done } else { Outcome::No })
    })
}

fn by_type(args: &Args, file: Option<PathBuf>, exclude: &[TypePattern]) -> Result<Outcome> {
    let opened = open_graph(file.as_deref(), &args.common.input)?;
    let graph = opened.graph;
    let mut avoided = vec![false; graph.type_count()];
    for pattern in exclude {
        avoided.iter_mut().zip(pattern.select(graph)).for_each(|(avoided, selected)| *avoided |= selected);
    }
    let (Some(pattern), Some(text)) = (args.types.pattern()?, &args.types.type_pattern) else { return Ok(Outcome::No) };
    let nodes = args.section.find(graph)?.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
    let question = roots_by_type::Question {
        pattern: text,
        wanted: pattern.select(graph),
        avoided,
        nodes,
        all_kinds: args.all_kinds,
    };
    roots_by_type::run(&question, opened, &args.common.output, &args.limit)
}
