//! `heapdump dominators [OBJID]`: what would be freed with what.

use anyhow::{Result, bail};

use crate::answers::dominator_tree::DominatorOrder;
use crate::answers::{DominatorTreeOptions, GroupBy, Limits, ScopeOptions, dominator_tree};
use crate::cli::Outcome;
use crate::cli::args::groups::By;
use crate::cli::args::object::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, sort_key};
use crate::cli::terminal::asking::{ask, print_answer};
use crate::cli::terminal::output::print_sentence;

/// What would be freed with what: the dominator tree
///
/// From the top, or below one object, by retained size. An object retains what only it keeps alive: all of that would be freed with it. With --type the tree begins at the
/// topmost objects of those types.
///
/// Example: heapdump dominators dump.txt -n 10 --depth 3
///
/// Example: heapdump dominators dump.txt --by package
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump dominators [OPTIONS] [OBJID] [FILE]")]
pub(crate) struct Args {
    /// The object to begin at [default: the top], and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    /// Levels below the start, at most 500; not every reader of JSON takes so many: -f jsonl has them flat
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "by", value_parser = clap::value_parser!(u32).range(1..=500))]
    depth: u32,
    /// Group the objects: all of a group, and what its topmost members retain
    #[arg(long, value_enum, value_name = "GROUP")]
    by: Option<By>,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    order: SortArgs,
    #[command(flatten)]
    types: TypeArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    // With --type a lone word is FILE.
    let (object, file) = match &args.words[..] {
        [file] if args.types.type_pattern.is_some() => (None, Some(file.into())),
        words => split_object_and_file(words),
    };
    let known = [("retained_bytes", "retained"), ("shallow_bytes", "shallow"), ("dominated_objects", "objects")];
    let order = match sort_key(args.order.sort.as_deref(), "retained_bytes", &known)? {
        "shallow_bytes" => DominatorOrder::ShallowBytes,
        "dominated_objects" => DominatorOrder::Objects,
        _ => DominatorOrder::RetainedBytes,
    };
    let types = args.types.pattern()?;
    if object.is_some() && types.is_some() && args.by.is_none() {
        bail!("--type begins at the objects of a type, OBJID at one object: leave one of them out");
    }
    let options = DominatorTreeOptions {
        scope: ScopeOptions { section: args.section.domain.clone(), types },
        object: object.as_deref().map(parse_object_id).transpose()?,
        depth: args.depth,
        group_by: args.by.map(GroupBy::from),
        types_apart: args.common.input.read.raw_types,
        order,
        limits: Limits { rows: args.limit.limit_here(), reverse: args.order.reverse },
    };
    ask(file.as_deref(), &args.common.input, |asked| {
        let quiet = args.common.is_quiet();
        asked.warn(None, quiet);
        let answer = dominator_tree(asked.dump, &options).map_err(|error| asked.explain(error))?;
        if let Some(object) = &answer.unreachable {
            print_sentence(&format!("{object} is not reachable from any strong root"));
        }
        print_answer(&answer, &args.common.output)?;
        match answer.unreachable {
            Some(_) => Ok(Outcome::No),
            None => Ok(args.types.outcome(answer.rows.is_empty() && args.types.type_pattern.is_some(), quiet)),
        }
    })
}
