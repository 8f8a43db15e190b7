//! `heapdump stats`: how much is in the heap, by type, package, section, module or generation.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, bail};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};

use crate::analysis::type_patterns::TypePattern;
use crate::answers::histogram::{FailOverLimit, FieldFigures, FieldFunction, histogram_of_counted_types};
use crate::answers::{GroupBy, Histogram, HistogramOptions, RetainedBy, TypeOwnership, histogram};
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::{AllocationHeapArgs, fuller_dump_note};
use crate::cli::args::options::{
    CommonArgs, FieldOrWordParser, InputArgs, LenientArgs, ReadArgs, RowArgs, ScopeArgs, parse_patterns, word_parser,
};
use crate::cli::terminal::ask_dump::{AskedDump, ask_each, ask_input, ask_without_problems, print_problems_of_counted};
use crate::cli::terminal::dump_input::{DumpInput, count_types};
use crate::cli::terminal::session::Session;
use crate::dump::Content;
use crate::filter::FieldSelection;
use crate::units::parse_size;

/// How much is in the heap, by type
///
/// Objects and shallow bytes, and how much of both GC roots reach; the rest is garbage not yet collected (on .NET
/// also what is on the frozen heap, which is alive without a root). By package: by what stands before the last dot of a type's name.
///
/// Example: heapdump stats dump.txt.gz -n 10
///
/// Example: heapdump stats dump.txt --retained --sort retained
///
/// Example: heapdump stats monday.gcdump friday.gcdump --type Cache
///
/// Example: heapdump stats heap.pb.gz --by function --sort cum
///
/// Example: heapdump stats dump.txt -f csv | sort -t, -k2 -rn | head
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump, or several; - for standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What to group by; package=2: by two levels of packages
    ///
    /// Of allocations function, of profiles line, file and module too: flat is what each allocated itself, cum with all it called.
    /// size and label=KEY: by values of a label of a profile's samples. .status, .user.name: by values of a field
    #[arg(long, value_parser = StatsGroupParser, default_value = "type", value_name = "GROUP")]
    by: StatsGroup,
    /// Retained bytes too: at least so much would be freed with all objects of a row, by the dominator tree; `exact` walks
    /// the heap without each row's objects, once for every 63 rows: takes seconds on a large dump, less with -n
    #[arg(long, value_parser = word_parser(RetainedBy::WORDS), num_args = 0..=1, require_equals = true, default_missing_value = "minimum", value_name = "HOW")]
    retained: Option<RetainedBy>,
    /// Bytes outside the heap too, of direct and mapped buffers and of arenas of Java
    #[arg(long, hide_short_help = true)]
    off_heap: bool,
    /// With --by superclass: the tree of classes, each with its own objects and with those of all that extend it
    #[arg(long, hide_short_help = true)]
    tree: bool,
    /// Sum of the numbers in fields, as .size,.user.age
    ///
    /// A column each, beside it how many objects have no number there
    #[arg(long, value_name = "FIELDS")]
    sum: Vec<String>,
    /// Least number in fields
    #[arg(long, value_name = "FIELDS", hide_short_help = true)]
    min: Vec<String>,
    /// Largest number in fields
    #[arg(long, value_name = "FIELDS", hide_short_help = true)]
    max: Vec<String>,
    /// Mean of the numbers in fields
    #[arg(long, value_name = "FIELDS", hide_short_help = true)]
    mean: Vec<String>,
    /// Types of libraries, besides those of the runtime, where bytes go to their owners
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    library: Vec<String>,
    /// Types of the program, whatever they are called
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    mine: Vec<String>,
    /// Fail when the objects of all types that match take more, for instance --fail-over 'System.Byte[]=20MB': shallow bytes,
    /// with --retained retained ones, added up; PATTERN as for --type
    #[arg(long, value_name = "TYPE=SIZE")]
    fail_over: Vec<String>,
    #[command(flatten)]
    lenient: LenientArgs,
    /// Histogram only, in one pass with memory for types alone
    ///
    /// Of Java heap dumps (HPROF) also --by .status and --sum .total: in up to three passes more, with memory for the groups and for
    /// what the fields refer to
    #[arg(long, conflicts_with_all = ["retained", "filter", "domain", "keep_unreachable", "exclude_roots", "dump", "process", "allocator"])]
    shallow: bool,
    #[command(flatten)]
    heaps: AllocationHeapArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let (files, options) = (&args.files, args.options()?);
    let (input, output) = (&args.input()?, &args.common.output);
    if files.len() > 1 {
        let (answers, failed) = ask_each(session, files, false, input, |place, file| match args.shallow {
            true => histogram_by_counting(args, session, &options, place, Some(file)),
            false => {
                Ok(ask_input(session, place, Some(file), input, |asked| histogram_of_dump(args, &options, asked))?.1)
            }
        })?;
        session.print_each_answer(&answers, output)?;
        let outcome = print_limits_for_outcome(args, session, &answers, None)?;
        return Ok(failed.unwrap_or(outcome));
    }
    let file = files.first().map(PathBuf::as_path);
    let print = |answer, asked: Option<&AskedDump<'_>>| {
        session.print_answer(&answer, output)?;
        print_limits_for_outcome(args, session, &[(String::new(), answer)], asked)
    };
    match args.shallow {
        true => print(histogram_by_counting(args, session, &options, &DumpInput::find(file)?, None)?, None),
        false => {
            let with_values = args.scope.filter.as_written().is_some() || args.off_heap || args.reads_fields();
            ask_without_problems(session, file, input, with_values, |asked| {
                print(histogram_of_dump(args, &options, asked)?, Some(asked))
            })
        }
    }
}

/// The answer of a dump, after its problems on standard error.
fn histogram_of_dump(args: &Args, options: &HistogramOptions, asked: &AskedDump<'_>) -> Result<Histogram> {
    asked.print_problems_and_notes();
    let is_graph = asked.dump.graph().is_some();
    let of_allocations = matches!(asked.dump.content(), Content::Allocations(_));
    if of_allocations && args.needs_objects() {
        bail!("the dump holds allocation totals, no objects: leave --by, --retained, --where and sums of fields out");
    }
    asked.note_unmatched_owner_patterns(&options.type_ownership);
    let options = args.with_order(options, is_graph, of_allocations)?;
    let answer = histogram(asked.dump, &options).map_err(|error| asked.explain(error))?;
    let fuller = answer.fuller_dump.iter().map(fuller_dump_note);
    fuller.chain(answer.no_owner_note()).for_each(|note| asked.print_unless_quiet(&note));
    Ok(answer)
}

/// The answer of a dump that is only counted.
fn histogram_by_counting(
    args: &Args,
    session: &Session,
    options: &HistogramOptions,
    input: &DumpInput,
    file: Option<&str>,
) -> Result<Histogram> {
    let options = args.with_order(options, false, false)?;
    let counted = count_types(session, input, file, &args.common.input, args.reads_fields())?;
    let mut missing = BTreeSet::new();
    match &counted.instances {
        None if args.by.field.is_some() => bail!(args.shallow_groups_error()),
        None if args.reads_fields() => {
            bail!("--sum, --min, --max and --mean are of objects in groups: leave --shallow out")
        }
        Some(instances) => {
            missing = options.field_names().filter(|name| !instances.have_field(name)).collect();
        }
        None => {}
    }
    let quiet = args.common.input.read.quiet;
    if !quiet {
        print_problems_of_counted(session, &counted.diagnostics, file);
    }
    let answer = histogram_of_counted_types(&counted, &options).map_err(|error| Error::msg(error.advice()))?;
    if !missing.is_empty() && !quiet {
        let names: Vec<String> = missing.iter().map(|name| format!(".{name}")).collect();
        session.print_note("note", file, &format!("no object has a field {}", names.join(" or ")));
    }
    Ok(answer)
}

/// The end of the command, with the limits of each file on standard error; for one dump nearly equal names of types are named.
fn print_limits_for_outcome(
    args: &Args,
    session: &Session,
    answers: &[(String, Histogram)],
    asked: Option<&AskedDump<'_>>,
) -> Result<CommandOutcome> {
    let ReadArgs { quiet, strict, .. } = args.common.input.read;
    let is_empty = answers.iter().all(|(_, answer)| answer.rows.as_slice().is_empty());
    let outcome = match asked {
        Some(asked) => args.scope.outcome_with_note(asked, is_empty),
        None => args.scope.outcome_of_several(session, is_empty, quiet),
    };
    let sentences = answers.iter().flat_map(|(file, answer)| answer.limit_sentences(file, strict));
    sentences.for_each(|text| session.print_sentence(&text));
    let mut checks = answers.iter().flat_map(|(_, answer)| &answer.limit_results);
    if strict && checks.clone().any(|check| !check.is_over) {
        return Ok(CommandOutcome::Failed);
    }
    if checks.any(|check| check.is_over) {
        return Ok(CommandOutcome::NegativeAnswer);
    }
    let dumps = answers.iter().map(|(file, answer)| (file.as_str(), &answer.problems[..]));
    args.lenient.fail_if_cut_within_limits(!args.fail_over.is_empty(), dumps)?;
    Ok(outcome)
}

/// What `--by` asks for: groups, types that are the values of a label, or values of a field.
#[derive(Debug, Clone, Default)]
struct StatsGroup {
    /// What rows are grouped by.
    group: GroupBy,
    /// Key of the label whose values are the types.
    type_label: Option<String>,
    field: Option<FieldSelection>,
}

/// Reads the words of groups, `size` and `label=KEY`.
#[derive(Clone)]
struct StatsGroupParser;

const FIELD_OR_GROUP: FieldOrWordParser<GroupBy> =
    FieldOrWordParser { words: GroupBy::WORDS_OF_HISTOGRAMS, of_field: GroupBy::Field };

/// Key of the label that has the size class of an allocation in profiles of Go.
const GO_SIZE_LABEL: &str = "bytes";

impl TypedValueParser for StatsGroupParser {
    type Value = StatsGroup;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<StatsGroup, clap::Error> {
        let label = match value.to_str() {
            Some("size") => Some(GO_SIZE_LABEL),
            text => text.and_then(|text| text.strip_prefix("label=")).filter(|key| !key.is_empty()),
        };
        if let Some(label) = label {
            return Ok(StatsGroup { type_label: Some(label.to_string()), ..StatsGroup::default() });
        }
        let (group, field) = FIELD_OR_GROUP.parse_ref(command, arg, value)?;
        Ok(StatsGroup { group, field, type_label: None })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words: Vec<PossibleValue> = FIELD_OR_GROUP.possible_values()?.collect();
        Some(Box::new(words.into_iter().chain(["size", "label=KEY"].map(PossibleValue::new))))
    }
}

impl Args {
    /// The dump, with frames named by what rows are grouped by, and types as they are asked for.
    fn input(&self) -> Result<InputArgs> {
        let mut input = self.common.input.with_frame_names_for(self.by.group)?;
        if let Some(label) = &self.by.type_label {
            input.read.type_label = Some(label.clone());
        }
        Ok(input)
    }

    /// The same as the library takes it, but for the order, which depends on what a dump holds.
    pub(crate) fn options(&self) -> Result<HistogramOptions> {
        let size_limits = self.fail_over.iter().map(|text| parse_fail_over_limit(text)).collect::<Result<Vec<_>>>()?;
        let is_of_functions = matches!(self.by.group, GroupBy::Function | GroupBy::Line);
        if !size_limits.is_empty() && self.by.group != GroupBy::Type && !is_of_functions {
            bail!("--fail-over limits types, or functions and lines with all they called: leave --by out");
        }
        self.scope.refuse_types_beside_type_limits(!size_limits.is_empty())?;
        let is_counted =
            matches!(self.by.group, GroupBy::Type | GroupBy::Package | GroupBy::PackageLevels(_) | GroupBy::Field);
        if self.shallow && !is_counted {
            bail!(self.shallow_groups_error());
        }
        if !self.by.group.is_by_owner() && self.library.len() + self.mine.len() > 0 {
            bail!("--library and --mine say whose types are whose: add --by owner");
        }
        if self.by.group.is_by_owner() && self.retained.is_some() {
            bail!("--by owner charges bytes, it does not add up what is retained: leave --retained out");
        }
        if self.tree && (self.by.group != GroupBy::Superclass || !size_limits.is_empty()) {
            bail!("--tree is of classes by what they extend: add --by superclass");
        }
        if self.off_heap && (self.shallow || self.by.group.is_by_owner()) {
            bail!("--off-heap is of objects in groups: leave --shallow and --by owner out");
        }
        let field_figures = self.field_figures()?;
        if !field_figures.is_empty() && self.by.group.is_by_owner() {
            bail!("--sum, --min, --max and --mean are of objects in groups: leave --by owner out");
        }
        let libraries = parse_patterns("--library", &self.library, false)?;
        let type_ownership = TypeOwnership { libraries, mine: parse_patterns("--mine", &self.mine, false)? };
        Ok(HistogramOptions {
            type_ownership,
            scope: self.scope.options()?,
            heaps: self.heaps.heap_choice(&self.scope.section, &self.common.input.read),
            group_by: self.by.group,
            field: self.by.field.clone(),
            as_class_tree: self.tree,
            with_off_heap: self.off_heap,
            field_figures,
            splits_same_name_types: self.common.input.read.raw_types,
            retained: self.retained,
            limits: self.rows.limits(&self.common.output),
            fail_over_limits: size_limits,
            ..HistogramOptions::default()
        })
    }

    fn field_figures(&self) -> Result<FieldFigures> {
        let mut figures = FieldFigures::default();
        for (function, fields) in FieldFunction::ALL.into_iter().zip([&self.sum, &self.min, &self.max, &self.mean]) {
            for text in fields {
                let fields = FieldSelection::parse(text).with_context(|| function.option())?;
                figures.add_fields(function, &fields);
            }
        }
        Ok(figures)
    }

    fn shallow_groups_error(&self) -> String {
        let fields = self.by.field.iter().flat_map(FieldSelection::paths);
        let by = fields.last().unwrap_or(self.by.group.name());
        format!("--shallow counts types only: leave it out to group by {by}")
    }

    /// Returns true if values of fields are asked for.
    fn reads_fields(&self) -> bool {
        self.by.field.is_some() || [&self.sum, &self.min, &self.max, &self.mean].iter().any(|fields| !fields.is_empty())
    }

    /// Returns true if an option acts on objects only.
    fn needs_objects(&self) -> bool {
        self.by.group != GroupBy::Type && self.by.group.frame_names().is_none()
            || self.retained.is_some()
            || self.scope.filter.as_written().is_some()
            || self.off_heap
            || self.reads_fields()
    }

    /// The options in the order that was asked for, which depends on what there is: objects with their references,
    /// objects that are only counted, allocation totals.
    pub(crate) fn with_order(
        &self,
        options: &HistogramOptions,
        with_graph: bool,
        of_allocations: bool,
    ) -> Result<HistogramOptions> {
        self.rows.check_sort_by_retained(of_allocations || self.retained.is_some())?;
        let order = self.rows.order(&options.orders(with_graph, of_allocations))?;
        Ok(HistogramOptions { order, ..options.clone() })
    }
}

fn parse_fail_over_limit(text: &str) -> Result<FailOverLimit> {
    let wrong = || format!("--fail-over {text}: write it as TYPE=SIZE");
    let (name, size) = text.rsplit_once('=').with_context(wrong)?;
    let types = TypePattern::parse(name).map_err(Error::msg).with_context(wrong)?;
    Ok(FailOverLimit {
        text: text.to_string(),
        types,
        bytes: parse_size(size).map_err(Error::msg).with_context(wrong)?,
    })
}
