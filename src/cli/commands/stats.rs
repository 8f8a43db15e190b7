//! `heapdump stats`: how much is in the heap, by type, package, section, module or generation.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;

use crate::analysis::selection::TypePattern;
use crate::answers::histogram::{HistogramOrder, LimitCheck, SizeLimit, histogram_of_counts};
use crate::answers::{AnswerError, Histogram, HistogramOptions, Limits, RetainedBy, ScopeOptions, histogram};
use crate::cli::Outcome;
use crate::cli::args::groups::By;
use crate::cli::args::heaps::{HeapArgs, note_fuller_dump};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, sort_key};
use crate::cli::terminal::asking::{Asked, ask, ask_one_of_several, print_answer, print_each};
use crate::cli::terminal::each_file::ask_each;
use crate::cli::terminal::load::{self, Place};
use crate::cli::terminal::output::print_sentence;
use crate::report::{format_bytes, parse_size};

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
/// Example: heapdump stats dump.txt -f csv | sort -t, -k2 -rn | head
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump, or several; - for standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What to group by
    #[arg(long, value_enum, default_value = "type", value_name = "GROUP")]
    by: By,
    /// Retained bytes too: at least so much would be freed with all objects of a row; `exact` takes each row out
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "minimum", value_name = "HOW")]
    retained: Option<How>,
    /// Fail when a type's objects take more, for instance --fail-over 'System.Byte[]=20MB'; PATTERN as for --type
    #[arg(long, value_name = "TYPE=SIZE")]
    fail_over: Vec<String>,
    /// Histogram only, in one pass with memory for types alone
    #[arg(long, conflicts_with_all = ["retained", "domain", "keep_unreachable", "exclude_roots", "dump", "process", "allocator"])]
    shallow: bool,
    #[command(flatten)]
    heaps: HeapArgs,
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

/// How retained bytes of a row are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    /// By the dominator tree: a lower bound
    Minimum,
    /// By marking the heap without the row's objects
    Exact,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let options = args.options()?;
    let input = &args.common.input;
    let answers = match &args.files[..] {
        [_, _, ..] => {
            let answers = ask_each(&args.files, input, |place, file| match args.shallow {
                true => count(args, &options, place, Some(file)),
                false => ask_one_of_several(place, file, input, |asked| question(args, &options, asked, Some(file))),
            })?;
            print_each(&answers.of_files, &args.common.output)?;
            answers
        }
        files => {
            let file = files.first().map(PathBuf::as_path);
            if args.shallow {
                let answer = count(args, &options, &Place::find(file)?, None)?;
                print_answer(&answer, &args.common.output)?;
                return Ok(args.outcome(&[(String::new(), answer)]));
            }
            return ask(file, input, |asked| {
                let answer = question(args, &options, asked, None)?;
                print_answer(&answer, &args.common.output)?;
                Ok(args.outcome(&[(String::new(), answer)]))
            });
        }
    };
    Ok(answers.outcome(args.outcome(&answers.of_files)))
}

/// The answer of a dump, its problems said before.
fn question(args: &Args, options: &HistogramOptions, asked: &Asked<'_>, file: Option<&str>) -> Result<Histogram> {
    asked.warn(file, args.common.is_quiet());
    let is_graph = asked.dump.graph().is_some();
    let has_options_of_objects = args.by != By::Type || args.retained.is_some() || !options.size_limits.is_empty();
    if !is_graph && has_options_of_objects {
        bail!("the dump holds allocation totals, no objects: leave --by, --retained and --fail-over out");
    }
    let options = HistogramOptions { order: args.sort_order(is_graph, !is_graph)?, ..options.clone() };
    let answer = histogram(asked.dump, &options).map_err(|error| match error {
        AnswerError::TooMuchWork(what) => anyhow!(
            "--retained=exact: {what}; -n N takes out the first N of an order by another column than retained, \
             --retained alone gives the lower bound of all"
        ),
        error => asked.explain(error),
    })?;
    if let (Some(fuller), false) = (&answer.fuller_dump, args.common.is_quiet()) {
        note_fuller_dump(fuller);
    }
    Ok(answer)
}

/// The answer of a dump that is only counted.
fn count(args: &Args, options: &HistogramOptions, place: &Place, file: Option<&str>) -> Result<Histogram> {
    if !matches!(args.by, By::Type | By::Package) {
        bail!("--shallow counts types only: leave it out to group by {}", args.by.name());
    }
    let options = HistogramOptions { order: args.sort_order(false, false)?, ..options.clone() };
    let read = &args.common.input.read;
    let counted = load::count_types(place, file, read)?;
    load::warn(&counted.diagnostics, file, read.quiet);
    load::note_problem(&counted.diagnostics, &crate::input::POSSIBLE_REPEAT, file, read.quiet);
    Ok(histogram_of_counts(&counted, &options)?)
}

impl Args {
    fn options(&self) -> Result<HistogramOptions> {
        let size_limits = self.fail_over.iter().map(|text| parse_limit(text)).collect::<Result<Vec<_>>>()?;
        if !size_limits.is_empty() && self.by != By::Type {
            bail!("--fail-over limits types: leave --by out");
        }
        if !size_limits.is_empty() && self.types.type_pattern.is_some() {
            bail!("--fail-over names its types itself: leave --type out");
        }
        Ok(HistogramOptions {
            scope: ScopeOptions { section: self.section.domain.clone(), types: self.types.pattern()? },
            heaps: self.heaps.choice(&self.section, &self.common.input.read),
            group_by: self.by.of_objects(),
            types_apart: self.common.input.read.raw_types,
            retained: self.retained.map(|how| match how {
                How::Minimum => RetainedBy::Minimum,
                How::Exact => RetainedBy::Exact,
            }),
            limits: Limits { rows: self.limit.limit_here(), reverse: self.order.reverse },
            size_limits,
            ..HistogramOptions::default()
        })
    }

    /// What `--sort` means for objects with their graph, for objects that are only counted, or for allocations.
    fn sort_order(&self, with_graph: bool, of_allocations: bool) -> Result<HistogramOrder> {
        let mut known = match of_allocations {
            true => vec![("total_bytes", "bytes"), ("allocations", "allocations"), ("type", "type")],
            false => vec![("objects", "objects"), ("shallow_bytes", "shallow"), (self.by.key(), self.by.name())],
        };
        if with_graph {
            known.extend([("reachable_objects", "reachable-objects"), ("reachable_bytes", "reachable")]);
        }
        if self.retained.is_some() {
            known.push(("retained_bytes", "retained"));
        }
        Ok(match sort_key(self.order.sort.as_deref(), known[usize::from(!of_allocations)].0, &known)? {
            "total_bytes" | "shallow_bytes" => HistogramOrder::Bytes,
            "objects" | "allocations" => HistogramOrder::Count,
            "reachable_objects" => HistogramOrder::ReachableObjects,
            "reachable_bytes" => HistogramOrder::ReachableBytes,
            "retained_bytes" => HistogramOrder::RetainedBytes,
            _ => HistogramOrder::Name,
        })
    }

    /// How the command ends, with what the limits of each file came to on standard error.
    fn outcome(&self, answers: &[(String, Histogram)]) -> Outcome {
        let nothing_matches = answers.iter().all(|(_, answer)| answer.rows.as_slice().is_empty());
        let has_pattern = self.types.type_pattern.is_some();
        let outcome = self.types.outcome(nothing_matches && has_pattern, self.common.is_quiet());
        let mut is_over = false;
        for (file, check) in
            answers.iter().flat_map(|(file, answer)| answer.limit_checks.iter().map(move |c| (file, c)))
        {
            is_over |= check.is_over();
            let file = if file.is_empty() { String::new() } else { format!("{file}: ") };
            limit_sentence(check).iter().for_each(|sentence| print_sentence(&format!("{file}{sentence}")));
        }
        if is_over { Outcome::No } else { outcome }
    }
}

fn parse_limit(text: &str) -> Result<SizeLimit> {
    let wrong = || format!("--fail-over {text}: write it as TYPE=SIZE");
    let (name, size) = text.rsplit_once('=').with_context(wrong)?;
    let types = TypePattern::parse(name).map_err(anyhow::Error::msg).with_context(wrong)?;
    Ok(SizeLimit { types, bytes: parse_size(size).map_err(anyhow::Error::msg).with_context(wrong)? })
}

fn limit_sentence(check: &LimitCheck) -> Option<String> {
    let LimitCheck { pattern, limit_bytes, bytes } = check;
    match *bytes {
        None => Some(format!("note: no type in the dump matches --fail-over {pattern}")),
        Some(bytes) if bytes > *limit_bytes => Some(format!(
            "{pattern} takes {} ({bytes} bytes), over the limit of {}",
            format_bytes(bytes),
            format_bytes(*limit_bytes)
        )),
        Some(_) => None,
    }
}
