//! `heapdump stats`: how much is in the heap, by type, package, section, module or generation.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::allocations::HeapArgs;
use super::common::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, sort_key};
use super::groups::{By, Groups};
use super::load::{self, Opened, OpenedDump, Place, open_dump};
use super::output::{bold, fields, print_sentence, problems_json};
use super::several::ask_each;
use super::stats_limits::{Limit, Verdict, check_limits};
use super::stats_requested::RequestedRoots;
use super::stats_rows::{Histogram, Row, sort_rows, total};
use super::{Outcome, stats_allocations};
use crate::analysis::histogram::{Estimate, Tally};
use crate::analysis::retained_sets::{exact_retained_bytes, most_steps_of_exact, topmost_of_sets};
use crate::graph::{NodeId, SectionId};
use crate::report::{Report, Style, count_of};

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
pub(super) struct Args {
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
    pub(super) heaps: HeapArgs,
    #[command(flatten)]
    pub(super) limit: LimitArgs,
    #[command(flatten)]
    pub(super) order: SortArgs,
    #[command(flatten)]
    pub(super) types: TypeArgs,
    #[command(flatten)]
    pub(super) section: SectionArgs,
    #[command(flatten)]
    pub(super) common: Common,
}

/// How retained bytes of a row are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    /// By the dominator tree: a lower bound
    Minimum,
    /// By marking the heap without the row's objects
    Exact,
}

/// What a dump answered.
struct Answer {
    report: Report<'static>,
    nothing_matches: bool,
    verdict: Verdict,
}

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let limits = args.fail_over.iter().map(|text| Limit::parse(text)).collect::<Result<Vec<_>>>()?;
    if !limits.is_empty() && args.by != By::Type {
        bail!("--fail-over limits types: leave --by out");
    }
    if !limits.is_empty() && args.types.type_pattern.is_some() {
        bail!("--fail-over names its types itself: leave --type out");
    }
    if args.files.len() > 1 {
        return run_several(args, &limits);
    }
    let file = args.files.first().map(PathBuf::as_path);
    let Answer { report, nothing_matches, verdict } = match args.shallow {
        true => ask_shallow(args, &limits, &Place::find(file)?, None)?,
        false => ask(args, &limits, open_dump(file, &args.common.input)?)?,
    };
    args.common.output.print(&report)?;
    verdict.sentences.iter().for_each(|sentence| print_sentence(sentence));
    let outcome = args.types.outcome(nothing_matches, args.common.is_quiet());
    Ok(if verdict.is_over { Outcome::No } else { outcome })
}

fn run_several(args: &Args, limits: &[Limit]) -> Result<Outcome> {
    let common = &args.common;
    args.types.pattern()?;
    let mut answers = ask_each(&args.files, &common.input, |place, file| {
        if args.shallow {
            return ask_shallow(args, limits, place, Some(file));
        }
        load::read_dump(place, Some(file), &common.input)?.lend(|opened| {
            load::warn_of_dump(&opened, Some(file), common.is_quiet());
            ask(args, limits, opened)
        })
    })?;
    let nothing_matches = answers.of_files.iter().all(|(_, answer)| answer.nothing_matches);
    let is_over = answers.of_files.iter().any(|(_, answer)| answer.verdict.is_over);
    let matched = args.types.outcome(nothing_matches, common.is_quiet());
    let outcome = answers.outcome(if is_over { Outcome::No } else { matched });
    let mut sentences = Vec::new();
    let mut reports = Vec::new();
    for (file, answer) in std::mem::take(&mut answers.of_files) {
        sentences.extend(answer.verdict.sentences.iter().map(|sentence| format!("{file}: {sentence}")));
        reports.push((file, answer.report));
    }
    common.output.print_several("stats", &reports)?;
    sentences.iter().for_each(|sentence| print_sentence(sentence));
    Ok(outcome)
}

fn ask(args: &Args, limits: &[Limit], opened: OpenedDump<'_>) -> Result<Answer> {
    match opened {
        OpenedDump::Graph(opened) => ask_graph(args, limits, opened),
        OpenedDump::Allocations(_) if args.by != By::Type || args.retained.is_some() || !limits.is_empty() => {
            bail!("the dump holds allocation totals, no objects: leave --by, --retained and --fail-over out")
        }
        OpenedDump::Allocations(opened) => {
            let report = stats_allocations::report(&opened, args)?;
            let nothing_matches = report.table.row_count == 0 && args.types.type_pattern.is_some();
            Ok(Answer { report, nothing_matches, verdict: Verdict::default() })
        }
    }
}

fn ask_graph(args: &Args, limits: &[Limit], opened: Opened<'_>) -> Result<Answer> {
    args.heaps.refuse_on_objects()?;
    let pattern = args.types.pattern()?;
    let order = order(args, true)?;
    let graph = opened.graph;
    let section = args.section.find(graph)?;
    let wanted = pattern.map(|pattern| pattern.select(graph));
    let groups = Groups::new(graph, args.by, section, wanted.as_deref(), args.common.input.read.raw_types)?;
    let reachable = opened.reachable();
    let tallies = groups.tally(reachable);
    let (estimates, estimated) = if graph.is_sample() { groups.estimated() } else { Default::default() };
    let mut rows: Vec<Row> = groups
        .names
        .iter()
        .zip(&tallies)
        .enumerate()
        .filter(|(_, (_, tally))| tally.objects > 0)
        .map(|(group, (name, tally))| Row {
            name: name.clone(),
            group: group as u32,
            tally: *tally,
            retained_bytes: None,
            estimate: estimates.get(group).copied(),
            module: groups.modules.get(group).cloned(),
        })
        .collect();
    let totals = total(&rows);
    if args.retained == Some(How::Minimum) || (args.retained.is_some() && order == "retained_bytes") {
        let (dominators, retained) = opened.dominators()?;
        let children = dominators.children();
        let topmost = topmost_of_sets(dominators, retained, &children, 0, groups.names.len(), |node| groups.of(node));
        rows.iter_mut().for_each(|row| row.retained_bytes = Some(topmost[row.group as usize].retained_bytes));
    }
    if args.retained == Some(How::Exact) {
        opened.progress.phase("taking types out");
        sort_rows(&mut rows, order, args.order.reverse);
        // Rows that are not shown are not computed, unless the order rests on them.
        let shown = if order == "retained_bytes" { rows.len() } else { args.limit.rows(rows.len()) };
        let sets: Vec<u32> = rows[..shown].iter().map(|row| row.group).collect();
        opened.check_exact()?;
        let Ok(exact) = exact_retained_bytes(graph, &sets, |node| groups.of(node), most_steps_of_exact(graph)) else {
            bail!(
                "--retained=exact: taking {shown} {} out one by one is too much work; -n N takes out the first N of an \
                 order by another column than retained, --retained alone gives the lower bound of all",
                args.by.plural()
            );
        };
        rows.iter_mut().zip(exact).for_each(|(row, bytes)| row.retained_bytes = Some(bytes));
    }
    let whole = Whole { totals, estimated, requested: RequestedRoots::find(graph, &groups, &totals) };
    let json = graph_json(args, &opened, section, &whole, &rows);
    let summary = graph_summary(&opened, &whole, rows.len(), args, &args.common.output.style());
    Ok(answer(args, limits, rows, order, json, summary))
}

/// What there is in all.
struct Whole {
    totals: Tally,
    /// Of the heap, in a dump that is a sample.
    estimated: Estimate,
    requested: RequestedRoots,
}

fn graph_json(
    args: &Args,
    opened: &Opened,
    section: Option<SectionId>,
    whole: &Whole,
    rows: &[Row],
) -> Map<String, Value> {
    let (graph, totals) = (opened.graph, &whole.totals);
    let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
    let references = match section {
        Some(_) => nodes.clone().map(|index| graph.references(NodeId::new(index)).len() as u64).sum(),
        None => graph.reference_count() as u64,
    };
    let dependent = graph.dependent_reference_count();
    let sections = match section {
        Some(section) => &graph.sections()[section.index()..=section.index()],
        None => graph.sections(),
    };
    let mut json = fields(json!({
        "format": opened.facts.format,
        "sections": sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>(),
        "totals": {
            "objects": totals.objects,
            "shallow_bytes": totals.shallow_bytes,
            "types": rows.len(),
            "references": references.saturating_sub(dependent),
            "roots": graph.roots().iter().filter(|root| nodes.contains(&root.node.index())).count(),
            "reachable_objects": totals.reachable_objects,
            "reachable_bytes": totals.reachable_bytes,
            "dangling_references": sections.iter().map(|section| section.dangling_references).sum::<u64>(),
            "null_references": sections.iter().map(|section| section.null_references).sum::<u64>(),
        },
        "problems": problems_json(&opened.diagnostics),
    }));
    let more = |json: &mut Map<String, Value>, key: &str, value: Value| {
        if let Some(totals) = json.get_mut("totals").and_then(Value::as_object_mut) {
            totals.insert(key.into(), value);
        }
    };
    if dependent > 0 {
        more(&mut json, "dependent_references", dependent.into());
    }
    if opened.facts.unrooted_are_alive {
        json.insert("unreachable_are_alive".into(), (whole.requested.lost.objects == 0).into());
    }
    if opened.facts.sampled.is_some() {
        json.insert("sampled".into(), true.into());
        more(&mut json, "estimated_objects", (whole.estimated.objects.round() as u64).into());
        more(&mut json, "estimated_bytes", (whole.estimated.bytes.round() as u64).into());
    }
    for (what, given) in whole.requested.figures() {
        more(&mut json, what, given.into());
    }
    if graph.roots_inferred() {
        json.insert("roots_inferred".into(), true.into());
    }
    if args.by != By::Type {
        json.insert("by".into(), args.by.name().into());
    }
    match args.retained {
        Some(How::Minimum) => json.insert("retained".into(), "minimum".into()),
        Some(How::Exact) => json.insert("retained".into(), "exact".into()),
        None => None,
    };
    json
}

fn graph_summary(opened: &Opened, whole: &Whole, rows: usize, args: &Args, style: &Style) -> String {
    let Whole { totals, estimated, requested } = whole;
    let share = match totals.shallow_bytes {
        0 => 0.0,
        whole => requested.from_roots.shallow_bytes as f64 * 100.0 / whole as f64,
    };
    let inferred = if opened.graph.roots_inferred() { " (inferred: the dump has none)" } else { "" };
    let retained = match args.retained {
        Some(How::Minimum) => "retained: at least so much would be freed with all objects of a row\n",
        Some(How::Exact) => "retained: so much would be freed with all objects of a row\n",
        None => "",
    };
    let requested_words = requested.words(opened.facts.unrooted_are_alive);
    let given = if requested.given.objects > 0 { "; the others were given roots on request" } else { "" };
    let sampled = match opened.facts.sampled {
        Some((objects, bytes)) => {
            format!(
                "a sample: figures of the heap are estimates, {} in {} (objects x{objects:.2}, bytes x{bytes:.2})\n",
                style.bytes(estimated.bytes.round() as u64),
                count_of(estimated.objects.round() as u64, "objects")
            )
        }
        None => String::new(),
    };
    format!(
        "{} in {} of {}\n{} in {} reachable from roots{inferred}, {share:.1} %{given}\n{requested_words}{sampled}{retained}\n",
        bold(&style.bytes(totals.shallow_bytes), style),
        count_of(totals.objects, "objects"),
        count_of(rows as u64, args.by.plural()),
        style.bytes(requested.from_roots.shallow_bytes),
        count_of(requested.from_roots.objects, "objects"),
    )
}

fn ask_shallow(args: &Args, limits: &[Limit], place: &Place, file: Option<&str>) -> Result<Answer> {
    if !matches!(args.by, By::Type | By::Package) {
        bail!("--shallow counts types only: leave it out to group by {}", args.by.name());
    }
    let read = &args.common.input.read;
    let pattern = args.types.pattern()?;
    let order = order(args, false)?;
    let counted = load::count_types(place, file, read)?;
    load::warn(&counted.diagnostics, file, read.quiet);
    load::note_problem(&counted.diagnostics, &crate::input::POSSIBLE_REPEAT, file, read.quiet);
    let mut groups = BTreeMap::<&str, Tally>::new();
    for (name, objects, shallow_bytes) in &counted.types {
        if pattern.as_ref().is_none_or(|pattern| pattern.matches(name)) {
            let tally = Tally { objects: *objects, shallow_bytes: *shallow_bytes, ..Tally::default() };
            groups.entry(args.by.of_type_name(name)).or_default().add(&tally);
        }
    }
    let rows: Vec<Row> = groups
        .into_iter()
        .map(|(name, tally)| Row {
            name: name.to_string(),
            group: 0,
            tally,
            retained_bytes: None,
            estimate: None,
            module: None,
        })
        .collect();
    let totals = total(&rows);
    let mut json = fields(json!({
        "format": counted.facts.format,
        "sections": counted.sections,
        "totals": {"objects": totals.objects, "shallow_bytes": totals.shallow_bytes, "types": rows.len()},
        "problems": problems_json(&counted.diagnostics),
    }));
    if args.by != By::Type {
        json.insert("by".into(), args.by.name().into());
    }
    let style = args.common.output.style();
    let summary = format!(
        "{} in {} of {}\n\n",
        bold(&style.bytes(totals.shallow_bytes), &style),
        count_of(totals.objects, "objects"),
        count_of(rows.len() as u64, args.by.plural()),
    );
    Ok(answer(args, limits, rows, order, json, summary))
}

fn order(args: &Args, with_graph: bool) -> Result<&'static str> {
    let mut known = vec![("objects", "objects"), ("shallow_bytes", "shallow"), (args.by.key(), args.by.name())];
    if with_graph {
        known.extend([("reachable_objects", "reachable-objects"), ("reachable_bytes", "reachable")]);
    }
    if args.retained.is_some() {
        known.push(("retained_bytes", "retained"));
    }
    sort_key(args.order.sort.as_deref(), "shallow_bytes", &known)
}

fn answer(
    args: &Args,
    limits: &[Limit],
    mut rows: Vec<Row>,
    order: &str,
    fields: Map<String, Value>,
    summary: String,
) -> Answer {
    sort_rows(&mut rows, order, args.order.reverse);
    let nothing_matches = rows.is_empty() && args.types.type_pattern.is_some();
    let verdict = check_limits(limits, &rows);
    let histogram = Histogram {
        shown: args.limit.rows(rows.len()),
        rows,
        by: args.by,
        with_graph: !args.shallow,
        with_retained: args.retained.is_some(),
    };
    Answer { report: histogram.report(fields, summary), nothing_matches, verdict }
}
