//! `heapdump export --to NAME`: the heap in other tools' forms; an option that does not act in a form is refused there.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

#[cfg(feature = "parquet")]
use anyhow::anyhow;
use anyhow::{Error, Result, bail};
use clap::ValueEnum;

use crate::analysis::cutoff::Cutoff;
use crate::analysis::threshold::Threshold;
use crate::answers::{AnswerError, ObjectId};
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::{AllocationHeapArgs, fuller_dump_note, parse_object_id};
use crate::cli::args::options::{InputArgs, SectionArgs, WhereArgs, parse_min_size};
use crate::cli::terminal::ask_dump::ask;
#[cfg(feature = "parquet")]
use crate::cli::terminal::dataset::export_each_to_dataset;
use crate::cli::terminal::dump_input::DumpInput;
use crate::cli::terminal::output_target::{find_target, write_export};
use crate::cli::terminal::session::Session;
use crate::dump::Content;
#[cfg(feature = "parquet")]
use crate::export::dataset::{DatasetOptions, TableChoice, TableName, labels_of};
use crate::export::{
    DotOptions, FoldedOptions, HeapgraphOptions, MemoryInfraOptions, PprofOptions, write_dot, write_flamegraph,
    write_folded, write_heapgraph, write_memory_infra, write_pprof,
};

/// The dump in other tools' forms
///
/// parquet: tables for DuckDB, Spark and their like in the folder of -o, of any number of dumps (docs/fleet.md):
/// types/*.parquet and so on, but objects/*/*.parquet and object_references/*/*.parquet, which have a folder for each dump.
/// folded: the dominator tree by type, or the stacks of allocation totals, a line per path, for speedscope and flame graph tools;
/// paths below 0.1 % count for the one above (--min-bytes). flamegraph: the same as an SVG. dot: the neighbourhood of one object (--object), or what it retains, for Graphviz. memory-infra: heap dumps as
/// Chromium's trace viewer reads them; of objects, a backtrace is the types on the way down the dominator tree.
/// pprof: the same for go tool pprof, Pyroscope, Parca and speedscope: what a path has with all below it is retained.
/// heapgraph: every object with its references, and every root, as lines of JSON that scripts read and heapdump reads back
/// (docs/heapgraph.md).
///
/// Example: heapdump export --to flamegraph dump.txt -o heap.svg
///
/// Example: heapdump export --to memory-infra dump.txt > trace.json
///
/// Example: heapdump export --to pprof dump.txt -o heap.pb.gz
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
    /// Without texts, numbers and keys of objects, and without names of threads
    #[arg(long, hide_short_help = true)]
    no_values: bool,
    #[command(flatten)]
    form_options: ExportFormArgs,
    #[command(flatten)]
    dataset_options: DatasetArgs,
    #[command(flatten)]
    heaps: AllocationHeapArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let Args { files, to, form_options: form, dataset_options: rows, heaps, section, input, .. } = args;
    form.refuse_options_of_other_forms(*to, heaps, section, rows)?;
    session.hides_values.store(args.no_values, Ordering::Relaxed);
    if *to == ExportForm::Parquet {
        #[cfg(feature = "parquet")]
        return export_each_to_dataset(
            session,
            files,
            args.output_file.as_deref(),
            rows.options(&form.filter, input)?,
            &form.filter,
            input,
        );
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
    let paths = FoldedOptions {
        heaps: heaps.heap_choice(section, &input.read),
        ..form.folded_options(object.clone(), section)?
    };
    ask(session, file, input, |asked| {
        let dump = asked.dump;
        // A class histogram has types, which are paths too, and allocation totals have stacks.
        let has_paths = match dump.content() {
            Content::Objects(_) => true,
            Content::Histograms(_) => *to == ExportForm::Folded,
            Content::Allocations(_) => matches!(to, ExportForm::Folded | ExportForm::Flamegraph),
        };
        if !has_paths && !matches!(to, ExportForm::MemoryInfra | ExportForm::Pprof) {
            dump.graph().ok_or_else(|| asked.explain(AnswerError::NeedsObjects))?;
        }
        let has_any = match to {
            ExportForm::Folded => write_export(asked, &target, |out| write_folded(dump, &paths, out))?,
            ExportForm::Flamegraph => write_export(asked, &target, |out| write_flamegraph(dump, &paths, out))?,
            ExportForm::Dot => {
                let options = form.dot_options(object.clone(), section)?;
                write_export(asked, &target, |out| write_dot(dump, &options, out))?;
                true
            }
            ExportForm::MemoryInfra => {
                let heaps = heaps.heap_choice(section, &input.read);
                let options = MemoryInfraOptions { heaps, depth: form.depth, cutoff: rule };
                let fuller = write_export(asked, &target, |out| write_memory_infra(dump, &options, out))?;
                fuller.iter().for_each(|dump| asked.print_unless_quiet(&fuller_dump_note(dump)));
                true
            }
            ExportForm::Pprof => {
                let options = PprofOptions { heaps: heaps.heap_choice(section, &input.read), depth: form.depth };
                let fuller = write_export(asked, &target, |out| write_pprof(dump, &options, out))?;
                fuller.iter().for_each(|dump| asked.print_unless_quiet(&fuller_dump_note(dump)));
                true
            }
            ExportForm::Heapgraph => {
                let options = HeapgraphOptions { with_names: form.names };
                write_export(asked, &target, |out| write_heapgraph(dump, &options, out))?;
                true
            }
            // Written above, of all dumps together.
            ExportForm::Parquet => true,
        };
        Ok(form.filter.outcome_with_note(session, "", !has_any, input.read.quiet))
    })
}

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// A line per path of types or functions: `A;B;C bytes`
    Folded,
    /// An SVG flame graph of the same
    Flamegraph,
    /// A graph for Graphviz
    Dot,
    /// Chromium's heap dump format
    MemoryInfra,
    /// A profile for go tool pprof and its like
    Pprof,
    /// Objects, references and roots as lines of JSON
    Heapgraph,
    /// Tables for DuckDB, Spark and their like, of one dump or many
    Parquet,
}

/// Options of the forms. An option that does not act in a form is refused there.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportFormArgs {
    /// The object to begin at
    #[arg(long, value_name = "OBJID")]
    pub(crate) object: Option<String>,
    /// dot: what the object retains in place of its neighbourhood
    #[arg(id = "retained", long = "retained")]
    retained_subgraph: bool,
    /// Levels below the start [default: 100, at most 500; dot: 2; memory-infra and pprof: 64 for objects, else all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) depth: Option<u32>,
    /// Leave out what is smaller: a size, or a share [default: 0.1%; memory-infra: 1KiB for objects, else none]
    #[arg(long, value_name = "SIZE")]
    min_bytes: Option<String>,
    /// memory-infra: leave out less than this share, in percent, of its list so far (Chromium 49 has 0.8)
    #[arg(long, value_name = "PERCENT", conflicts_with = "min_bytes", hide_short_help = true)]
    min_percent: Option<f64>,
    /// dot: objects at most [default: 100]
    #[arg(long, value_name = "N")]
    max_objects: Option<usize>,
    /// heapgraph: names of references, texts and places of allocation too; slower
    #[arg(long, hide_short_help = true)]
    names: bool,
    #[command(flatten)]
    pub(crate) filter: WhereArgs,
}

/// Options of a dataset of tables.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tables")]
pub(crate) struct DatasetArgs {
    /// parquet: summary (the default), all (objects and references too), or names with commas between them
    #[arg(long, value_name = "NAMES")]
    pub(crate) tables: Option<String>,
    /// parquet: the table fields too, what each field of each object holds
    #[arg(long)]
    pub(crate) values: bool,
    /// parquet: what else is to be known of the dumps, a pair of the map "labels"
    #[arg(long = "label", value_name = "NAME=TEXT")]
    pub(crate) labels: Vec<String>,
    /// parquet: the dump's name in the tables [default: the file's name and a checksum]
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// parquet: write dumps anew that are there already
    #[arg(long)]
    pub(crate) replace: bool,
}

/// As deep as `dominators` and `breakdown` go: a line repeats all names above it.
const MAX_FOLDED_DEPTH: u32 = 500;

impl ExportForm {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }
}

impl ExportFormArgs {
    /// Fails on options that act in other forms only.
    pub(crate) fn refuse_options_of_other_forms(
        &self,
        to: ExportForm,
        heaps: &AllocationHeapArgs,
        section: &SectionArgs,
        rows: &DatasetArgs,
    ) -> Result<()> {
        let (paths, dot, trace) =
            (&[ExportForm::Folded, ExportForm::Flamegraph][..], &[ExportForm::Dot][..], &[ExportForm::MemoryInfra][..]);
        let stacks = &[ExportForm::MemoryInfra, ExportForm::Pprof][..];
        let tables = vec![ExportForm::Parquet];
        let options = [
            ("--object", self.object.is_some(), [paths, dot].concat()),
            ("--where", self.filter.as_written().is_some(), [paths, &tables].concat()),
            ("--retained", self.retained_subgraph, dot.to_vec()),
            ("--names", self.names, vec![ExportForm::Heapgraph]),
            ("--max-objects", self.max_objects.is_some(), dot.to_vec()),
            ("--min-bytes", self.min_bytes.is_some(), [paths, trace].concat()),
            ("--min-percent", self.min_percent.is_some(), trace.to_vec()),
            ("--dump", heaps.dump.is_some(), [paths, stacks].concat()),
            ("--process", heaps.process.is_some(), [paths, stacks].concat()),
            ("--allocator", heaps.allocator.is_some(), [paths, stacks].concat()),
            ("--depth", self.depth.is_some(), [paths, dot, stacks].concat()),
            ("--domain", section.domain.is_some(), [paths, dot, stacks].concat()),
            ("--tables", rows.tables.is_some(), tables.clone()),
            ("--values", rows.values, tables.clone()),
            ("--label", !rows.labels.is_empty(), tables.clone()),
            ("--id", rows.id.is_some(), tables.clone()),
            ("--replace", rows.replace, tables),
        ];
        for (option, is_given, forms) in options {
            if is_given && !forms.contains(&to) {
                let names: Vec<String> = forms.iter().map(|form| format!("--to {}", form.name())).collect();
                bail!("{option} acts with {} only, not with --to {}", names.join(" and "), to.name());
            }
        }
        if matches!(to, ExportForm::Folded | ExportForm::Flamegraph)
            && self.depth.is_some_and(|depth| depth > MAX_FOLDED_DEPTH)
        {
            bail!("--depth: paths of types have 1 to {MAX_FOLDED_DEPTH} levels");
        }
        Ok(())
    }

    /// The cut-off rule of the memory-infra format, if one is asked for.
    pub(crate) fn cutoff(&self) -> Result<Option<Cutoff>> {
        Ok(parse_min_size(self.min_bytes.as_deref(), self.min_percent)?.map(|min_size| match min_size {
            Threshold::Bytes(bytes) => Cutoff::BelowBytes(bytes),
            Threshold::Share(share) => Cutoff::BelowShare(share),
        }))
    }

    /// The paths of folded stacks and of a flame graph.
    pub(crate) fn folded_options(&self, object: Option<ObjectId>, section: &SectionArgs) -> Result<FoldedOptions> {
        let filter = self.filter.filter()?;
        let mut options = FoldedOptions { object, section: section.domain.clone(), filter, ..FoldedOptions::default() };
        if let Some(depth) = self.depth {
            options.depth = depth as usize;
        }
        if let Some(text) = &self.min_bytes {
            options.min_size = text.parse().map_err(Error::msg)?;
        }
        Ok(options)
    }

    /// The objects of a drawing.
    pub(crate) fn dot_options(&self, object: Option<ObjectId>, section: &SectionArgs) -> Result<DotOptions> {
        let Some(object) = object else { bail!("--to dot draws one object: say which with --object OBJID") };
        let mut options = DotOptions::around(object);
        options.section = section.domain.clone();
        options.draws_retained = self.retained_subgraph;
        options.depth = self.depth.unwrap_or(options.depth);
        options.max_objects = self.max_objects.unwrap_or(options.max_objects);
        Ok(options)
    }
}

#[cfg(feature = "parquet")]
impl DatasetArgs {
    fn options(&self, filter: &WhereArgs, input: &InputArgs) -> Result<DatasetOptions> {
        let tables = self.tables.as_deref().map(|text| text.parse().map_err(|why| anyhow!("--tables: {why}")));
        let tables: TableChoice = tables.transpose()?.unwrap_or_default();
        Ok(DatasetOptions {
            filter: filter.filter()?,
            tables: if self.values { tables.with(TableName::Fields) } else { tables },
            labels: labels_of(&self.labels).map_err(|why| anyhow!("--label: {why}"))?,
            replaces_existing: self.replace,
            id: self.id.clone(),
            reading_options: input.input_option_words(),
        })
    }
}
