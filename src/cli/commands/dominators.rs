//! `heapdump dominators [OBJID]`: what would be freed with what.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::{DominatorTreeOptions, GroupBy, dominator_tree};
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{CommonArgs, RowArgs, ScopeArgs, word_parser};
use crate::cli::terminal::{ask_dump::ask, session::Session};

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
    #[arg(id = "words", value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    object_and_file: Vec<OsString>,
    /// Levels below the start, at most 500; not every reader of JSON takes so many: -f jsonl has them flat
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "by", value_parser = clap::value_parser!(u32).range(1..=500))]
    depth: u32,
    /// Group the objects: all of a group, and what its topmost members retain
    #[arg(long, value_parser = word_parser(GroupBy::WORDS_OF_DOMINATORS), value_name = "GROUP")]
    by: Option<GroupBy>,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let (options, file) = args.options()?;
    ask(session, file.as_deref(), &args.common.input, |asked| {
        let answer = dominator_tree(asked.dump, &options).map_err(|error| asked.explain(error))?;
        if let Some(object) = &answer.unreachable_object_id {
            session.print_sentence(&format!("{object} is not reachable from any strong root"));
        }
        session.print_answer(&answer, &args.common.output)?;
        let is_empty = answer.unreachable_object_id.is_none() && answer.rows.is_empty();
        let outcome = args.scope.outcome_with_note(asked, is_empty);
        Ok(answer.unreachable_object_id.map_or(outcome, |_| CommandOutcome::NegativeAnswer))
    })
}

impl Args {
    /// The question, and the file of the dump.
    pub(crate) fn options(&self) -> Result<(DominatorTreeOptions, Option<PathBuf>)> {
        // With --type or --where a lone word is FILE.
        let (object, file) = match &self.object_and_file[..] {
            [file] if self.scope.chooses_some() => (None, Some(file.into())),
            words => split_object_and_file(words),
        };
        let order = self.rows.order(&DominatorTreeOptions::ORDERS)?;
        let scope = self.scope.options()?;
        if object.is_some() && scope.chooses_some() && self.by.is_none() {
            bail!("--type and --where begin at the objects that match, OBJID at one object: leave one of them out");
        }
        let options = DominatorTreeOptions {
            scope,
            object: object.as_deref().map(parse_object_id).transpose()?,
            depth: self.depth,
            group_by: self.by,
            splits_same_name_types: self.common.input.read.raw_types,
            order,
            limits: self.rows.limits(&self.common.output),
        };
        Ok((options, file))
    }
}
