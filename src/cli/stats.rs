//! `heapdump stats`: how much is in the heap, by type, package or section.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::json;

use super::Outcome;
use super::common::{Common, sort_key};
use super::load::{self, Opened, Place, open_graph};
use super::output::{bold, fields, problems_json};
use super::progress::Progress;
use crate::analysis::histogram::{self, Tally, package_of};
use crate::analysis::reachability::compute_reachable;
use crate::graph::{HeapGraph, SectionId, TypeId};
use crate::input;
use crate::report::{Cell, Column, Report, Style, Table, Unit, format_bytes, format_count};

/// How much is in the heap, by type: objects, shallow bytes, and how much of both GC roots reach.
///
/// Example: heapdump stats dump.txt.gz -n 10
/// Example: heapdump stats dump.txt -f csv | sort -t, -k2 -rn | head
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// What to group by
    #[arg(long, value_enum, default_value = "type", value_name = "GROUP")]
    by: By,
    /// Histogram only, in one pass with memory for types alone
    #[arg(long, conflicts_with_all = ["domain", "keep_unreachable", "exclude_roots"])]
    shallow: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Type,
    Package,
    Domain,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Type => "type",
            By::Package => "package",
            By::Domain => "domain",
        }
    }
}

/// A row of the histogram.
struct Group {
    name: String,
    tally: Tally,
}

const NO_PACKAGE: &str = "(none)";

pub(super) fn run(args: &Args) -> Result<Outcome> {
    if args.shallow { run_shallow(args) } else { run_graph(args) }
}

fn run_graph(args: &Args) -> Result<Outcome> {
    let pattern = args.common.input.pattern()?;
    let order = order(args, true)?;
    let opened = open_graph(args.file.as_deref(), &args.common)?;
    let graph = opened.graph;
    let section = args.common.input.section(graph)?;
    opened.progress.phase("marking reachable objects");
    let reachable = compute_reachable(graph);
    let wanted: Option<Vec<bool>> = pattern.map(|pattern| pattern.select(graph));
    let ranges: Vec<SectionId> = match section {
        Some(section) => vec![section],
        None => (0..graph.sections().len()).map(SectionId::new).collect(),
    };
    let tally_of = |section: SectionId| {
        let mut tallies = histogram::tally_types(graph, &reachable, graph.section_nodes(section));
        if let Some(wanted) = &wanted {
            tallies
                .iter_mut()
                .zip(wanted)
                .filter(|(_, wanted)| !**wanted)
                .for_each(|(tally, _)| *tally = Tally::default());
        }
        tallies
    };
    let groups = if args.by == By::Domain {
        ranges
            .iter()
            .map(|&section| Group { name: section_name(graph, section), tally: histogram::total(&tally_of(section)) })
            .collect()
    } else {
        // All sections at once unless one was asked for: their nodes follow one another.
        let tallies = match section {
            Some(section) => tally_of(section),
            None => {
                let mut tallies = histogram::tally_types(graph, &reachable, 0..graph.node_count());
                if let Some(wanted) = &wanted {
                    tallies
                        .iter_mut()
                        .zip(wanted)
                        .filter(|(_, wanted)| !**wanted)
                        .for_each(|(tally, _)| *tally = Tally::default());
                }
                tallies
            }
        };
        group_types(&tallies, args.by, |index| graph.type_name(TypeId::new(index)).to_string())
    };
    drop(opened.progress);
    let opened_facts = (&opened.facts, &opened.diagnostics);
    let references = |section: SectionId| -> u64 {
        graph.section_nodes(section).map(|index| graph.references(crate::graph::NodeId::new(index)).len() as u64).sum()
    };
    let mut totals = Tally::default();
    groups.iter().for_each(|group| totals.add(&group.tally));
    let sections: Vec<_> = ranges.iter().map(|&section| &graph.sections()[section.index()]).collect();
    let roots = graph
        .roots()
        .iter()
        .filter(|root| section.is_none_or(|section| graph.section_nodes(section).contains(&root.node.index())))
        .count();
    let mut json = fields(json!({
        "format": opened_facts.0.format,
        "sections": sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>(),
        "totals": {
            "objects": totals.objects,
            "shallow_bytes": totals.shallow_bytes,
            "types": groups.len(),
            "references": section.map_or(graph.reference_count() as u64, references),
            "roots": roots,
            "reachable_objects": totals.reachable_objects,
            "reachable_bytes": totals.reachable_bytes,
            "dangling_references": sections.iter().map(|section| section.dangling_references).sum::<u64>(),
            "null_references": sections.iter().map(|section| section.null_references).sum::<u64>(),
        },
        "problems": problems_json(opened_facts.1),
    }));
    if graph.roots_inferred() {
        json.insert("roots_inferred".into(), true.into());
    }
    if args.by != By::Type {
        json.insert("by".into(), args.by.name().into());
    }
    let style = args.common.output.style();
    let summary =
        graph_summary(&Opened { progress: Progress::start(true), ..opened }, &totals, groups.len(), args.by, &style);
    finish(args, groups, order, json, summary, true)
}

fn graph_summary(opened: &Opened, totals: &Tally, rows: usize, by: By, style: &Style) -> String {
    let graph = opened.graph;
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    let what = match by {
        By::Type => "types",
        By::Package => "packages",
        By::Domain => "sections",
    };
    let inferred = if graph.roots_inferred() { " (roots inferred: the dump has none)" } else { "" };
    format!(
        "{} in {} objects of {} {what}\n{} in {} objects reachable from roots{inferred}, {:.1} %\n\n",
        bold(&format_bytes(totals.shallow_bytes), style),
        format_count(totals.objects),
        format_count(rows as u64),
        format_bytes(totals.reachable_bytes),
        format_count(totals.reachable_objects),
        share(totals.reachable_bytes, totals.shallow_bytes),
    )
}

fn run_shallow(args: &Args) -> Result<Outcome> {
    if args.by == By::Domain {
        bail!("--shallow counts types only: leave it out to group by domain");
    }
    let pattern = args.common.input.pattern()?;
    let order = order(args, false)?;
    args.common.input.check_snapshot()?;
    let place = Place::find(args.file.as_deref())?;
    let progress = Progress::start(args.common.output.quiet);
    let source = place.open(&progress)?;
    let options = args.common.input.read_options();
    let counted = input::count_types(source, &options).with_context(|| place.name())?;
    drop(progress);
    load::warn(&counted.diagnostics, args.common.output.quiet);
    let types: Vec<&(String, u64, u64)> = counted
        .types
        .iter()
        .filter(|(name, ..)| pattern.as_ref().is_none_or(|pattern| pattern.matches(name)))
        .collect();
    let tallies: Vec<Tally> = types
        .iter()
        .map(|&&(_, objects, shallow_bytes)| Tally { objects, shallow_bytes, ..Tally::default() })
        .collect();
    let totals = histogram::total(&tallies);
    let groups = group_types(&tallies, args.by, |index| types[index].0.clone());
    let mut json = fields(json!({
        "format": counted.facts.format,
        "sections": counted.sections,
        "totals": {"objects": totals.objects, "shallow_bytes": totals.shallow_bytes, "types": groups.len()},
        "problems": problems_json(&counted.diagnostics),
    }));
    if args.by != By::Type {
        json.insert("by".into(), args.by.name().into());
    }
    let style = args.common.output.style();
    let summary = format!(
        "{} in {} objects of {} types\n\n",
        bold(&format_bytes(totals.shallow_bytes), &style),
        format_count(totals.objects),
        format_count(groups.len() as u64)
    );
    finish(args, groups, order, json, summary, false)
}

/// Groups with objects, types of one name or one package together.
fn group_types(tallies: &[Tally], by: By, name: impl Fn(usize) -> String) -> Vec<Group> {
    let mut groups = BTreeMap::<String, Tally>::new();
    for (index, tally) in tallies.iter().enumerate().filter(|(_, tally)| tally.objects > 0) {
        let name = name(index);
        let group = match by {
            By::Package => package_of(&name).unwrap_or(NO_PACKAGE).to_string(),
            _ => name,
        };
        groups.entry(group).or_default().add(tally);
    }
    groups.into_iter().map(|(name, tally)| Group { name, tally }).collect()
}

/// The section's name, with its number where another has the same.
pub(super) fn section_name(graph: &HeapGraph, section: SectionId) -> String {
    let name = &graph.sections()[section.index()].name;
    let same = graph.sections().iter().filter(|other| other.name == *name).count();
    if same > 1 { format!("{}#{name}", section.number()) } else { name.clone() }
}

fn order(args: &Args, with_reachable: bool) -> Result<&'static str> {
    let key = args.by.name();
    let mut known = vec![("objects", "objects"), ("shallow_bytes", "shallow"), (name_key(args.by), key)];
    if with_reachable {
        known.extend([("reachable_objects", "reachable-objects"), ("reachable_bytes", "reachable")]);
    }
    sort_key(args.common.output.sort.as_deref(), "shallow_bytes", &known)
}

fn name_key(by: By) -> &'static str {
    if by == By::Type { "type" } else { "group" }
}

fn finish(
    args: &Args,
    mut groups: Vec<Group>,
    order: &str,
    fields: serde_json::Map<String, serde_json::Value>,
    summary: String,
    with_reachable: bool,
) -> Result<Outcome> {
    let value = |group: &Group| match order {
        "objects" => group.tally.objects,
        "reachable_objects" => group.tally.reachable_objects,
        "reachable_bytes" => group.tally.reachable_bytes,
        "shallow_bytes" => group.tally.shallow_bytes,
        _ => 0,
    };
    groups.sort_by(|a, b| value(b).cmp(&value(a)).then_with(|| a.name.cmp(&b.name)));
    if args.common.output.reverse {
        groups.reverse();
    }
    let matched = !groups.is_empty() || args.common.input.type_pattern.is_none();
    let rows = args.common.output.rows(groups.len());
    let key = name_key(args.by);
    let title = match args.by {
        By::Type => "Type",
        By::Package => "Package",
        By::Domain => "Section",
    };
    let mut columns =
        vec![Column::new("objects", "Objects", Unit::Count), Column::new("shallow_bytes", "Shallow", Unit::Bytes)];
    if with_reachable {
        columns.push(Column::new("reachable_objects", "Reachable objects", Unit::Count));
        columns.push(Column::new("reachable_bytes", "Reachable", Unit::Bytes));
    }
    columns.push(Column::new(key, title, Unit::Text));
    let report = Report {
        command: "stats",
        fields,
        table: Table {
            columns,
            row_count: rows,
            rows_hidden: groups.len() - rows,
            row: Box::new(|row| {
                let Group { name, tally } = &groups[row];
                let mut cells = vec![Cell::Number(tally.objects), Cell::Number(tally.shallow_bytes)];
                if with_reachable {
                    cells.push(Cell::Number(tally.reachable_objects));
                    cells.push(Cell::Number(tally.reachable_bytes));
                }
                cells.push(Cell::text(name.as_str()));
                cells
            }),
        },
        rows_key: Some(if args.by == By::Type { "types" } else { "groups" }),
        summary,
        text: None,
    };
    args.common.output.print(&report)?;
    Ok(if matched { Outcome::Done } else { Outcome::No })
}
