//! `heapdump list`: the objects themselves, one a row.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::answers::{ObjectsOptions, objects};
use crate::cli::CommandOutcome;
use crate::cli::args::data_args::DataArgs;
use crate::cli::args::options::{CommonArgs, RowArgs, ScopeArgs};
use crate::cli::terminal::{ask_dump::ask, session::Session};
use crate::filter::FieldSelection;
use crate::report::{Format, json_text};

/// The objects themselves, one a row
///
/// Their ids, sizes, number of references and types, largest shallow size first.
///
/// Example: heapdump list dump.txt --type 'BubbleGame.*' --sort retained -n 20
///
/// Example: heapdump list dump.txt --where "retained > 1MiB and type ~ 'Cache'"
///
/// Example: heapdump list app.hprof --type =shop.Order --deep 2 -f jsonl | jq '.json.items | length'
///
/// Example: heapdump list dump.txt --type 'Byte[]' --ids | xargs -I{} heapdump roots {} dump.txt
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Bare ids, one a line
    #[arg(id = "ids", long = "ids", conflicts_with_all = ["format", "human", "bytes", "no_header", "color"])]
    ids_only: bool,
    /// What the objects say: texts, numbers, names, where the format has them
    #[arg(long, conflicts_with = "ids")]
    values: bool,
    /// Nodes that were taken out of their page, in V8 snapshots
    #[arg(long)]
    detached: bool,
    /// Fields of the objects to show, as .id,.user.name: the values of the whole dump are read once
    #[arg(long, value_name = "FIELDS", conflicts_with = "ids")]
    select: Option<String>,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let options = args.options()?;
    ask(session, args.file.as_deref(), &args.common.input, |asked| {
        let answer = objects(asked.dump, &options).map_err(|error| asked.explain(error))?;
        match args.ids_only {
            true => session.print_lines((0..answer.objects.len()).map(|row| answer.objects.id(row)))?,
            // What is nested is no cell of a table.
            false if options.data.is_some() && args.common.output.style().format == Format::JsonLines => {
                session.print_lines(answer.objects.iter().map(|row| json_text(&row)))?;
            }
            false => {
                session.print_answer(&answer, &args.common.output)?;
                answer.unreached_note().iter().for_each(|note| asked.print_unless_quiet(note));
            }
        }
        if args.detached && answer.found == 0 && asked.has_matching_type(&args.scope.types) {
            let of_what = if args.scope.chooses_some() { "of what is asked for " } else { "" };
            asked.print_unless_quiet(&format!("no node {of_what}is detached"));
            return Ok(CommandOutcome::NegativeAnswer);
        }
        Ok(args.scope.outcome_with_note(asked, answer.found == 0))
    })
}

impl Args {
    /// The question that these words ask, without a dump.
    pub(crate) fn options(&self) -> Result<ObjectsOptions> {
        Ok(ObjectsOptions {
            scope: self.scope.options()?,
            order: self.rows.order(&ObjectsOptions::ORDERS)?,
            limits: self.rows.limits(&self.common.output),
            ids_only: self.ids_only,
            with_values: self.values,
            only_detached: self.detached,
            selected_fields: self.select.as_deref().map(FieldSelection::parse).transpose().context("--select")?,
            data: self.data.options(&self.common.output, &[Format::Json, Format::JsonLines])?,
        })
    }
}
