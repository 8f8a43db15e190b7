//! `heapdump list`: the objects themselves, one a row.

use std::path::PathBuf;

use anyhow::Result;

use crate::answers::objects::ObjectOrder;
use crate::answers::{Limits, ObjectsOptions, ScopeOptions, objects};
use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, sort_key};
use crate::cli::terminal::asking::{ask, print_answer, print_lines};

/// The objects themselves, one a row
///
/// Their ids, sizes, number of references and types, largest shallow size first.
///
/// Example: heapdump list dump.txt --type 'BubbleGame.*' --sort retained -n 20
///
/// Example: heapdump list dump.txt --type 'Byte[]' --ids | xargs -I{} heapdump roots {} dump.txt
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Bare ids, one a line
    #[arg(long, conflicts_with_all = ["format", "human", "bytes", "no_header", "color"])]
    ids: bool,
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
    let options = args.options()?;
    ask(args.file.as_deref(), &args.common.input, |asked| {
        asked.warn(None, args.common.is_quiet());
        let answer = objects(asked.dump, &options).map_err(|error| asked.explain(error))?;
        match args.ids {
            true => print_lines((0..answer.objects.len()).map(|row| answer.objects.id(row)))?,
            false => print_answer(&answer, &args.common.output)?,
        }
        let nothing_matches = answer.found == 0 && args.types.type_pattern.is_some();
        Ok(args.types.outcome(nothing_matches, args.common.is_quiet()))
    })
}

impl Args {
    fn options(&self) -> Result<ObjectsOptions> {
        let known = [
            ("shallow_bytes", "shallow"),
            ("retained_bytes", "retained"),
            ("id", "id"),
            ("references", "refs"),
            ("type", "type"),
        ];
        let order = match sort_key(self.order.sort.as_deref(), "shallow_bytes", &known)? {
            "retained_bytes" => ObjectOrder::RetainedBytes,
            "id" => ObjectOrder::Id,
            "references" => ObjectOrder::References,
            "type" => ObjectOrder::Type,
            _ => ObjectOrder::ShallowBytes,
        };
        Ok(ObjectsOptions {
            scope: ScopeOptions { section: self.section.domain.clone(), types: self.types.pattern()? },
            order,
            limits: Limits { rows: self.limit.limit_here(), reverse: self.order.reverse },
            ids_only: self.ids,
        })
    }
}
