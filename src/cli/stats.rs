//! `heapdump stats`: how much is in the heap, by type, package, section, module or generation.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::allocations::HeapArgs;
use super::common::{Common, sort_key};
use super::groups::{By, Groups};
use super::load::{self, Opened, OpenedDump, Place, open_dump};
use super::output::{bold, fields, print_sentence, problems_json};
use super::progress::Progress;
use super::several::ask_each;
use super::stats_limits::{Limit, Verdict, check_limits};
use super::stats_rows::{Histogram, Row, estimated_total, sort_rows, total};
use super::{Outcome, indexed, stats_allocations};
use crate::analysis::histogram::Tally;
use crate::analysis::retained_sets::{exact_retained_bytes, most_steps_of_exact, topmost_of_sets};
use crate::graph::{NodeId, SectionId};
use crate::input;
use crate::report::{Report, Style, format_count};

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
    #[arg(long, conflicts_with_all = ["retained", "domain", "keep_unreachable", "exclude_roots"])]
    shallow: bool,
    #[command(flatten)]
    heaps: HeapArgs,
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
    if !limits.is_empty() && args.common.input.type_pattern.is_some() {
        bail!("--fail-over names its types itself: leave --type out");
    }
    if args.files.len() > 1 {
        return run_several(args, &limits);
    }
    let file = args.files.first().map(PathBuf::as_path);
    let Answer { report, nothing_matches, verdict } = match args.shallow {
        true => ask_shallow(args, &limits, &Place::find(file)?, None)?,
        false => ask(args, &limits, open_dump(file, &args.common)?)?,
    };
    args.common.output.print(&report)?;
    verdict.sentences.iter().for_each(|sentence| print_sentence(sentence));
    let outcome = args.common.outcome(nothing_matches);
    Ok(if verdict.is_over { Outcome::No } else { outcome })
}

fn run_several(args: &Args, limits: &[Limit]) -> Result<Outcome> {
    let common = &args.common;
    let mut answers = ask_each(&args.files, common, |place, file| {
        if args.shallow {
            return ask_shallow(args, limits, place, Some(file));
        }
        load::read_dump(place, Some(file), common)?.lend(|opened| {
            load::warn_of_dump(&opened, Some(file), common.output.quiet);
            ask(args, limits, opened)
        })
    })?;
    let nothing_matches = answers.of_files.iter().all(|(_, answer)| answer.nothing_matches);
    let is_over = answers.of_files.iter().any(|(_, answer)| answer.verdict.is_over);
    let matched = common.outcome(nothing_matches);
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
            let report = stats_allocations::report(&opened, &args.heaps, &args.common)?;
            let nothing_matches = report.table.row_count == 0 && args.common.input.type_pattern.is_some();
            Ok(Answer { report, nothing_matches, verdict: Verdict::default() })
        }
    }
}

fn ask_graph(args: &Args, limits: &[Limit], opened: Opened<'_>) -> Result<Answer> {
    args.heaps.refuse_on_objects()?;
    let input = &args.common.input;
    let pattern = input.pattern()?;
    let order = order(args, true)?;
    let graph = opened.graph;
    let section = input.section(graph)?;
    let wanted = pattern.map(|pattern| pattern.select(graph));
    let groups = Groups::new(graph, args.by, section, wanted.as_deref(), input.raw_types)?;
    let reachable = opened.reachable();
    let tallies = groups.tally(&reachable);
    let estimates = if graph.is_sample() { groups.estimated() } else { Vec::new() };
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
        sort_rows(&mut rows, order, args.common.output.reverse);
        // Rows that are not shown are not computed, unless the order rests on them.
        let shown = if order == "retained_bytes" { rows.len() } else { args.common.output.rows(rows.len()) };
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
    let json = graph_json(args, &opened, section, &totals, &rows);
    let summary = graph_summary(&opened, &totals, &rows, args, &args.common.output.style());
    Ok(answer(args, limits, rows, order, json, summary))
}

fn graph_json(
    args: &Args,
    opened: &Opened,
    section: Option<SectionId>,
    totals: &Tally,
    rows: &[Row],
) -> Map<String, Value> {
    let graph = opened.graph;
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
        json.insert("unreachable_are_alive".into(), true.into());
    }
    if opened.facts.sampled.is_some() {
        json.insert("sampled".into(), true.into());
        let (objects, bytes) = estimated_total(rows);
        more(&mut json, "estimated_objects", objects.into());
        more(&mut json, "estimated_bytes", bytes.into());
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

fn graph_summary(opened: &Opened, totals: &Tally, rows: &[Row], args: &Args, style: &Style) -> String {
    let share = match totals.shallow_bytes {
        0 => 0.0,
        whole => totals.reachable_bytes as f64 * 100.0 / whole as f64,
    };
    let inferred = if opened.graph.roots_inferred() { " (inferred: the dump has none)" } else { "" };
    let retained = match args.retained {
        Some(How::Minimum) => "retained: at least so much would be freed with all objects of a row\n",
        Some(How::Exact) => "retained: so much would be freed with all objects of a row\n",
        None => "",
    };
    let unrooted = totals.objects - totals.reachable_objects;
    let alive = match unrooted {
        0 => String::new(),
        _ if !opened.facts.unrooted_are_alive => String::new(),
        _ => format!(
            "{} objects have no root and are alive all the same: they are on the frozen heap\n",
            format_count(unrooted)
        ),
    };
    let sampled = match opened.facts.sampled {
        Some((objects, bytes)) => {
            let (all, all_bytes) = estimated_total(rows);
            format!(
                "a sample: figures of the heap are estimates, {} in {} objects (objects x{objects:.2}, bytes x{bytes:.2})\n",
                style.bytes(all_bytes),
                format_count(all)
            )
        }
        None => String::new(),
    };
    format!(
        "{} in {} objects of {} {}\n{} in {} objects reachable from roots{inferred}, {share:.1} %\n{alive}{sampled}{retained}\n",
        bold(&style.bytes(totals.shallow_bytes), style),
        format_count(totals.objects),
        format_count(rows.len() as u64),
        args.by.plural(),
        style.bytes(totals.reachable_bytes),
        format_count(totals.reachable_objects),
    )
}

fn ask_shallow(args: &Args, limits: &[Limit], place: &Place, file: Option<&str>) -> Result<Answer> {
    if !matches!(args.by, By::Type | By::Package) {
        bail!("--shallow counts types only: leave it out to group by {}", args.by.name());
    }
    let input = &args.common.input;
    let pattern = input.pattern()?;
    let order = order(args, false)?;
    let progress = Progress::start(args.common.output.quiet, file);
    // An index has no records to count: its dump has.
    let behind = match place {
        Place::Path(path) => indexed::dump_of(path)?.map(Place::Path),
        Place::Stdin => None,
    };
    let place = behind.as_ref().unwrap_or(place);
    let source = place.open(&progress)?;
    let counted = input::count_types(source, &input.read_options()?).with_context(|| place.name())?;
    input.check_snapshot(&counted.facts)?;
    drop(progress);
    load::warn(&counted.diagnostics, file, args.common.output.quiet);
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
        "{} in {} objects of {} {}\n\n",
        bold(&style.bytes(totals.shallow_bytes), &style),
        format_count(totals.objects),
        format_count(rows.len() as u64),
        args.by.plural(),
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
    sort_key(args.common.output.sort.as_deref(), "shallow_bytes", &known)
}

fn answer(
    args: &Args,
    limits: &[Limit],
    mut rows: Vec<Row>,
    order: &str,
    fields: Map<String, Value>,
    summary: String,
) -> Answer {
    sort_rows(&mut rows, order, args.common.output.reverse);
    let nothing_matches = rows.is_empty() && args.common.input.type_pattern.is_some();
    let verdict = check_limits(limits, &rows);
    let histogram = Histogram {
        shown: args.common.output.rows(rows.len()),
        rows,
        by: args.by,
        with_graph: !args.shallow,
        with_retained: args.retained.is_some(),
    };
    Answer { report: histogram.report(fields, summary), nothing_matches, verdict }
}
