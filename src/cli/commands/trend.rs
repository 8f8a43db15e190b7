//! `heapdump trend`: what grew over many dumps.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Error, Result};

use crate::analysis::threshold::Threshold;
use crate::answers::problems::problems_of;
use crate::answers::trend::DumpsTrend;
use crate::answers::{
    DiffBy, GroupBy, LeaksOptions, Limits, ProblemRow, TrendBuilder, TrendLimit, TrendOptions, leaks_since,
};
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::AllocationHeapArgs;
use crate::cli::args::options::{CommonArgs, FieldOrWordParser, InputArgs, LenientArgs, RowLimitArgs, ScopeArgs};
use crate::cli::terminal::ask_dump::{ask_each, ask_input, ask_together};
use crate::cli::terminal::session::Session;
use crate::dump::Content;
use crate::filter::FieldSelection;
use crate::report::Format;
use crate::units::{count_with_noun, format_bytes, parse_size};

/// What grew over many dumps: what never shrinks first
///
/// Each type (or group, or path of the dominator tree) with its bytes in the first dump and the last, the median slope
/// from dump to dump, at how many steps it grew, and whether it ever shrank. One that cannot be read is left out.
///
/// Example: heapdump trend monday.hprof tuesday.hprof wednesday.hprof thursday.hprof
///
/// Example: heapdump trend app.log --until 3GiB
///
/// Example: heapdump trend build-*.gcdump --retained --fail-over 100KiB/dump --fail-over '*Cache=1MiB'
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dumps, the oldest first; folders of them, by name; logs of class histograms
    #[arg(required = true, num_args = 1.., value_name = "DUMP")]
    files: Vec<PathBuf>,
    /// What to group by: package, module, owner, function, .status (a field), ... as in stats
    #[arg(long, value_parser = FieldOrWordParser { words: GroupBy::WORDS_OF_TRENDS, of_field: GroupBy::Field }, default_value = "type", value_name = "GROUP", conflicts_with = "paths", hide_possible_values = true)]
    by: (GroupBy, Option<FieldSelection>),
    /// Retained bytes in place of shallow ones; of functions cum in place of flat
    #[arg(long, visible_alias = "cum")]
    retained: bool,
    /// Paths of the dominator tree by type in place of types
    #[arg(long, conflicts_with = "retained")]
    paths: bool,
    /// Rows that are the same in all dumps too
    #[arg(long, hide_short_help = true)]
    all: bool,
    /// Leave out rows that change by less: a size, or a share of the last heap
    #[arg(long, value_name = "SIZE", default_value = "0.1%", hide_short_help = true)]
    min_growth: Threshold,
    /// What explains the growth: the causes that leaks names between the first dump and the last
    #[arg(long, hide_short_help = true)]
    causes: bool,
    /// How long until the heap has so much, at this pace: by the heap as a whole, and by each row alone
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    until: Option<u64>,
    /// A column for each dump, with its bytes
    #[arg(long, hide_short_help = true)]
    wide: bool,
    /// Put the dumps in the order in which they were taken
    #[arg(long, hide_short_help = true)]
    sort_by_time: bool,
    /// Fail when a row grows and never shrinks, over 4 dumps or more
    #[arg(long)]
    grows: bool,
    /// Fail when the heap grows by more, or rows that match do: 10%, 20MiB, 100KiB/dump, '*Cache=1MiB'; of shallow bytes,
    /// with --retained of retained ones; PATTERN as for --type
    #[arg(long, value_name = "[PATTERN=]SIZE[/dump]")]
    fail_over: Vec<TrendLimit>,
    #[command(flatten)]
    lenient: LenientArgs,
    #[command(flatten)]
    limit: RowLimitArgs,
    #[command(flatten)]
    heaps: AllocationHeapArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let input = &args.common.input.with_frame_names_for(args.by.0)?;
    let (mut answer, failed, problems) = ask_trend(session, &args.files, input, args.options()?)?;
    if args.causes {
        let read = answer.dumps.iter().filter(|dump| dump.format.is_some()).map(|dump| PathBuf::from(&dump.file));
        let read: Vec<PathBuf> = read.collect();
        let ends = [read.first(), read.last()].into_iter().flatten().cloned().collect::<Vec<_>>();
        ask_together(session, &ends, input, |asked| {
            let [first, last] = asked else { return Ok(CommandOutcome::Answered) };
            let options =
                LeaksOptions { rows: args.limit.row_limit_here(&args.common.output), ..LeaksOptions::default() };
            let found = leaks_since(first.dump, last.dump, &options).map_err(|error| last.explain(error))?;
            answer.causes = found.suspects.cause_sentences();
            Ok(CommandOutcome::Answered)
        })?;
    }
    answer.notes().iter().filter(|_| !input.read.quiet).for_each(|note| session.print_sentence(note));
    session.print_answer(&answer, &args.common.output)?;
    let style = args.common.output.style();
    let has_causes = style.format == Format::Json || style.format == Format::Table && style.is_terminal;
    let pace = answer.pace_sentence(format_bytes);
    pace.iter().chain(&answer.causes).filter(|_| !has_causes).for_each(|text| session.print_sentence(text));
    let growing = answer.growth_sentences.iter().filter(|_| args.grows);
    let over = answer.limit_results.iter().map(|over| over.sentence(input.read.strict));
    over.chain(growing.clone().cloned()).for_each(|text| session.print_sentence(&text));
    let is_over = answer.limit_results.iter().any(|over| over.is_over) || growing.count() > 0;
    if let Some(failed) = failed {
        return Ok(failed);
    }
    if input.read.strict && answer.limit_results.iter().any(|over| !over.is_over) {
        return Ok(CommandOutcome::Failed);
    }
    // Growth is that from the first dump to the last, but where it is asked for from dump to dump; in the order of time
    // these may be any.
    let depends_on_all = args.sort_by_time || args.grows || args.fail_over.iter().any(TrendLimit::is_per_dump);
    let last = problems.len().saturating_sub(1);
    let problems = problems.iter().enumerate().filter(|(at, _)| depends_on_all || *at == 0 || *at == last);
    if is_over {
        // What the last dump lacks is no growth.
        let since = problems.filter(|(at, _)| args.sort_by_time || *at != last);
        args.lenient.fail_if_cut_over_limits(since.map(|(_, (file, problems))| (file.as_str(), &problems[..])))?;
        return Ok(CommandOutcome::NegativeAnswer);
    }
    let problems = problems.map(|(_, (file, problems))| (file.as_str(), &problems[..]));
    args.lenient.fail_if_cut_within_limits(args.grows || !args.fail_over.is_empty(), problems)?;
    Ok(args.scope.outcome_of_several(session, answer.matches_nothing(), input.read.quiet))
}

/// A trend, the end of the command if a dump could not be read, and of each one that was its problems.
type AskedTrend = (DumpsTrend, Option<CommandOutcome>, Vec<(String, Vec<ProblemRow>)>);

/// Asks the dumps of a series, of which a folder stands for its files, one after another.
pub(super) fn ask_trend(
    session: &Session,
    files: &[PathBuf],
    input: &InputArgs,
    options: TrendOptions,
) -> Result<AskedTrend> {
    let dumps = TrendBuilder::new(options);
    let problems = Mutex::new(Vec::new());
    let note = |text: &str| {
        if !input.read.quiet {
            session.print_sentence(text);
        }
    };
    let (_, failed) = ask_each(session, &with_folders_expanded(files, note)?, false, input, |place, file| {
        dumps.announce_dump(file);
        ask_input(session, place, Some(file), input, |asked| {
            let histograms = match asked.dump.content() {
                Content::Histograms(all) if input.read.snapshot.is_none() => Some(all),
                _ => None,
            };
            // Of a log all histograms are asked.
            if histograms.is_some() {
                asked.print_problems()
            } else {
                asked.print_problems_and_notes()
            }
            let of_dump = (file.to_string(), problems_of(asked.dump.diagnostics()));
            problems.lock().unwrap_or_else(PoisonError::into_inner).push(of_dump);
            let added = histograms
                .map_or_else(|| dumps.add_dump(asked.dump), |all| dumps.add_histograms(asked.dump, all, file));
            added.map_err(|error| asked.explain(error))
        })
        .map(drop)
    })?;
    let answer = dumps.finish().map_err(|error| Error::msg(error.advice()))?;
    Ok((answer, failed, problems.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// What the files of one series have in common: the end of their names, without that of a packing, and, where `collect` has named
/// them (`heap-PID-TIME`), the process.
fn series_key(path: &Path) -> (OsString, Option<String>) {
    let is_packed = path.extension().is_some_and(|end| end == "gz" || end == "zst");
    let plain = if is_packed { path.with_extension("") } else { path.to_path_buf() };
    let name = plain.file_stem().unwrap_or_default().to_string_lossy();
    let pid = match name.strip_prefix("heap-").map(|rest| rest.split('-').collect::<Vec<_>>()).as_deref() {
        Some([pid, _day, _time]) => Some(pid.to_string()),
        _ => None,
    };
    (plain.extension().unwrap_or_default().to_owned(), pid)
}

/// The files of each folder in its place, by name, without those that are hidden. A folder of histograms may have a dump too, which
/// the last one called for, or histograms of another process: of several series the one with the most files is meant.
fn with_folders_expanded(files: &[PathBuf], note: impl Fn(&str)) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for file in files {
        if !file.is_dir() {
            found.push(file.clone());
            continue;
        }
        let entries = file.read_dir().with_context(|| file.display().to_string())?.flatten();
        let entries = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        inside.sort();
        let series = inside.iter().fold(HashMap::new(), |mut counts: HashMap<_, (usize, &Path)>, path| {
            let (count, last) = counts.entry(series_key(path)).or_insert((0, path));
            (*count, *last) = (*count + 1, path);
            counts
        });
        // Of as many files the last one by name.
        let most = series.into_iter().max_by_key(|(_, most)| *most).map(|(key, _)| key);
        let (series, others): (Vec<PathBuf>, Vec<PathBuf>) =
            inside.into_iter().partition(|path| Some(series_key(path)) == most);
        if let [first, ..] = &others[..] {
            let (folder, others) = (file.display(), count_with_noun(others.len() as u64, "files"));
            note(&format!("note: {folder}: {others} of another kind or process left out: {}", first.display()));
        }
        found.extend(series);
    }
    Ok(found)
}

impl Args {
    /// The question that these words ask, without a dump.
    pub(crate) fn options(&self) -> Result<TrendOptions> {
        self.scope.refuse_types_beside_type_limits(self.fail_over.iter().any(TrendLimit::limits_types))?;
        Ok(TrendOptions {
            scope: self.scope.options()?,
            heaps: self.heaps.heap_choice(&self.scope.section, &self.common.input.read),
            by: if self.paths { DiffBy::Paths } else { DiffBy::Groups(self.by.0) },
            field: self.by.1.clone(),
            judges_retained: self.retained,
            with_unchanged: self.all,
            min_growth: self.min_growth,
            judges_growth: self.grows,
            sorts_by_time: self.sort_by_time,
            until_bytes: self.until,
            is_wide: self.wide,
            limits: Limits { rows: self.limit.row_limit_here(&self.common.output), reverse: false },
            growth_limits: self.fail_over.clone(),
        })
    }
}
