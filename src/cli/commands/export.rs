//! `heapdump export --to NAME`: the heap in other tools' forms.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::AnswerError;
use crate::cli::CommandOutcome;
use crate::cli::args::export::{DatasetArgs, ExportForm, FormArgs};
use crate::cli::args::heaps::{HeapArgs, fuller_dump_note};
use crate::cli::args::object::parse_object_id;
use crate::cli::args::options::{InputArgs, SectionArgs};
use crate::cli::terminal::asking::ask;
#[cfg(feature = "parquet")]
use crate::cli::terminal::dataset::export_each;
use crate::cli::terminal::load::DumpInput;
use crate::cli::terminal::session::Session;
use crate::cli::terminal::target::{find_target, write_export};
use crate::export::{MemoryInfraOptions, write_dot, write_flamegraph, write_folded, write_memory_infra};

/// The dump in other tools' forms
///
/// parquet: tables for DuckDB, Spark and their like in the folder of -o, of any number of dumps (docs/fleet.md):
/// types/*.parquet and so on, but objects/*/*.parquet and object_references/*/*.parquet, which have a folder for each dump.
/// folded: the dominator tree by type, a line per path, for speedscope and flame graph tools. flamegraph: the same as an SVG. dot: the neighbourhood of one object (--object), or what it retains, for Graphviz. memory-infra: heap dumps as
/// Chromium's trace viewer reads them; of objects, a backtrace is the types on the way down the dominator tree.
///
/// Example: heapdump export --to flamegraph dump.txt -o heap.svg
///
/// Example: heapdump export --to memory-infra dump.txt > trace.json
///
/// Example: heapdump export --to parquet dumps/*.gcdump -o tables --label build=1234
///
/// Example: heapdump export --to dot --object 7fe45 dump.txt | dot -Tsvg > object.svg
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input. parquet takes several
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The form
    #[arg(long, value_enum, value_name = "NAME")]
    to: ExportForm,
    /// Where to write; - for standard output, which is the default. parquet: a folder
    #[arg(short, long, alias = "output", value_name = "PATH")]
    output_file: Option<PathBuf>,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    rows: DatasetArgs,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let Args { files, to, form, rows, heaps, section, input, .. } = args;
    form.check(*to, heaps, section, rows)?;
    if *to == ExportForm::Parquet {
        #[cfg(feature = "parquet")]
        return export_each(session, files, args.output_file.as_deref(), rows, &form.filter, input);
        #[cfg(not(feature = "parquet"))]
        bail!("this heapdump was built without the feature parquet");
    }
    if files.len() > 1 {
        bail!("--to {} takes one dump", to.name());
    }
    let file = files.first().map(PathBuf::as_path);
    let target = find_target(&[DumpInput::find(file)?], args.output_file.as_deref())?;
    let object = form.object.as_deref().map(parse_object_id).transpose()?;
    let rule = if *to == ExportForm::MemoryInfra { form.cutoff()? } else { None };
    let paths = form.paths(object.clone(), section)?;
    ask(session, file, input, |asked| {
        let dump = asked.dump;
        if *to == ExportForm::MemoryInfra {
            let heaps = heaps.choice(section, &input.read);
            let options = MemoryInfraOptions { heaps, depth: form.depth, rule };
            let fuller = write_export(asked, &target, |out| write_memory_infra(dump, &options, out))?;
            fuller.iter().for_each(|dump| asked.note(&fuller_dump_note(dump)));
            return Ok(CommandOutcome::Done);
        }
        dump.graph().ok_or_else(|| asked.explain(AnswerError::NotObjects))?;
        if *to == ExportForm::Dot {
            let options = form.drawing(object.clone(), section)?;
            write_export(asked, &target, |out| write_dot(dump, &options, out))?;
            return Ok(CommandOutcome::Done);
        }
        let has_any = write_export(asked, &target, |out| match to {
            ExportForm::Folded => write_folded(dump, &paths, out),
            _ => write_flamegraph(dump, &paths, out),
        })?;
        Ok(form.filter.outcome(session, "", !has_any, input.read.quiet))
    })
}
