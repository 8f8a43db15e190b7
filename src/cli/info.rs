//! `heapdump info`: what is this file.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde_json::json;

use super::common::{Common, LimitArgs, SortArgs};
use super::info_facts::{Lines, Rows, records_json};
use super::load::{Opened, OpenedDump, open_without_warnings};
use super::output::problems_json;
use super::{Outcome, info_allocations, info_several};
use crate::analysis::histogram::{Tally, tally_section};
use crate::graph::{HeapGraph, Section, SectionId};
use crate::input::SnapshotFacts;
use crate::report::{Members, Style, count_of, format_count};

/// What is this file: format, sections, records, problems
///
/// Also its version, the program that wrote it, whether the dump's own totals agree with what was read, and every kind
/// of problem met, with its count and first place.
///
/// Example: heapdump info dump.txt
///
/// Example: heapdump info *.gcdump --sort shallow
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The dump, or several for a row each; - for standard input
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) limit: LimitArgs,
    #[command(flatten)]
    pub(super) order: SortArgs,
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn run(args: &Args) -> Result<Outcome> {
    if args.files.len() > 1 {
        return info_several::run(args);
    }
    for (is_given, option) in
        [(args.limit.limit.is_some(), "-n"), (args.order.sort.is_some(), "--sort"), (args.order.reverse, "--reverse")]
    {
        if is_given {
            bail!("{option}: what is told of one file has an order of its own; of several there is a table");
        }
    }
    let opened = match open_without_warnings(args.files.first().map(PathBuf::as_path), &args.common.input)? {
        OpenedDump::Graph(opened) => opened,
        OpenedDump::Allocations(opened) => return info_allocations::run(&opened, &args.common),
    };
    let tallies = tallies(&opened);
    let style = args.common.output.style();
    let rows = rows(&opened, &tallies);
    let report = rows.report(|json| put_fields(&opened, &tallies, json), || text(&opened, &tallies, &style));
    args.common.output.print(&report)?;
    Ok(Outcome::Done)
}

/// What each section holds.
pub(super) fn tallies(opened: &Opened<'_>) -> Vec<Tally> {
    opened.progress.phase("marking reachable objects");
    let reachable = opened.reachable();
    (0..opened.graph.sections().len())
        .map(|number| tally_section(opened.graph, reachable, SectionId::new(number)))
        .collect()
}

fn duration_ms(section: &Section) -> Option<u64> {
    let (start, end) = (section.started_ms?, section.ended_ms?);
    // The clock is 32 bits of milliseconds since boot and wraps after 49.7 days; equal stamps mean nobody measured.
    (start != end).then(|| end.wrapping_sub(start) & u64::from(u32::MAX))
}

/// Root records by kind: of each section, and of all. One pass over the roots.
struct RootCounts {
    of_sections: Vec<BTreeMap<String, u64>>,
    all: BTreeMap<String, u64>,
}

impl RootCounts {
    fn of(graph: &HeapGraph) -> Self {
        let mut counts =
            RootCounts { of_sections: vec![BTreeMap::new(); graph.sections().len()], all: BTreeMap::new() };
        for root in graph.roots() {
            let kind = format!("{}{}", if root.is_weak() { "weak " } else { "" }, root.kind.name());
            *counts.of_sections[graph.section_of(root.node).index()].entry(kind.clone()).or_insert(0) += 1;
            *counts.all.entry(kind).or_insert(0) += 1;
        }
        counts
    }
}

pub(super) fn put_fields(opened: &Opened<'_>, tallies: &[Tally], json: &mut Members<'_>) -> io::Result<()> {
    let (graph, facts) = (opened.graph, &opened.facts);
    let roots = RootCounts::of(graph);
    json.put("format", facts.format)?;
    json.put("title", facts.title)?;
    json.put("version", &facts.version)?;
    json.put("producer", &facts.producer)?;
    json.put("encoding", &facts.encoding)?;
    json.put("compression", &facts.compression)?;
    json.put_objects("sections", tallies.len(), |at, json| {
        let (id, section, tally) = (SectionId::new(at), &graph.sections()[at], &tallies[at]);
        let kinds = &roots.of_sections[at];
        let references: u64 = graph
            .section_nodes(id)
            .map(|index| graph.references(crate::graph::NodeId::new(index)).len() as u64)
            .sum::<u64>()
            .saturating_sub(graph.dependent_reference_count());
        json.put("number", &id.number())?;
        json.put("name", &section.name)?;
        json.put("started", &section.started_ms)?;
        json.put("ended", &section.ended_ms)?;
        json.put("duration_ms", &duration_ms(section))?;
        json.put("complete", &section.complete)?;
        json.put("types", &section.declared_types)?;
        json.put("objects", &tally.objects)?;
        json.put("shallow_bytes", &tally.shallow_bytes)?;
        json.put("reachable_objects", &tally.reachable_objects)?;
        json.put("reachable_bytes", &tally.reachable_bytes)?;
        json.put("references", &references)?;
        json.put("null_references", &section.null_references)?;
        json.put("dangling_references", &section.dangling_references)?;
        json.put("roots", &kinds.values().sum::<u64>())?;
        json.put("roots_by_kind", kinds)?;
        json.put("dangling_roots", &section.dangling_roots)
    })?;
    json.put("records", &records_json(facts))?;
    json.put("trailer", &facts.trailer)?;
    json.put("problems", &problems_json(&opened.diagnostics))?;
    if graph.roots_inferred() {
        json.put("roots_inferred", &true)?;
    }
    if let Some((objects, bytes)) = facts.sampled {
        json.put("sampled", &json!({"objects_multiplier": objects, "bytes_multiplier": bytes}))?;
    }
    if facts.snapshots.is_empty() {
        return Ok(());
    }
    json.put_objects("snapshots", facts.snapshots.len(), |at, json| {
        let snapshot = &facts.snapshots[at];
        json.put("number", &(at + 1))?;
        json.put("taken_at", &snapshot.unix_ms.map(utc))?;
        json.put("complete", &snapshot.complete)?;
        json.put("objects", &snapshot.objects)?;
        json.put("shallow_bytes", &snapshot.shallow_bytes)?;
        json.put("references", &snapshot.references)?;
        json.put("chosen", &snapshot.chosen)
    })
}

/// A time in milliseconds since 1970, as `2026-11-20T06:04:12.898Z`.
fn utc(unix_ms: i64) -> String {
    let (days, ms) = (unix_ms.div_euclid(86_400_000), unix_ms.rem_euclid(86_400_000));
    // Years begin in March, so that the leap day is the last; eras are of 400 years.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year_of_era + carry;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
}

/// Which of several snapshots, in words.
fn snapshot_text(snapshot: &SnapshotFacts, style: &Style) -> String {
    let time = snapshot.unix_ms.map_or(String::new(), |ms| format!("{}, ", utc(ms)));
    let complete = if snapshot.complete { "complete" } else { "incomplete" };
    let chosen = if snapshot.chosen { ", read here" } else { "" };
    format!(
        "{time}{}, {}, {}, {complete}{chosen}",
        count_of(snapshot.objects, "objects"),
        style.bytes(snapshot.shallow_bytes),
        count_of(snapshot.references, "references")
    )
}

fn rows(opened: &Opened<'_>, tallies: &[Tally]) -> Rows {
    let (graph, facts) = (opened.graph, &opened.facts);
    let mut rows = Rows::default();
    rows.say("format", Some(facts.format.to_string()));
    rows.say("version", facts.version.clone());
    rows.say("producer", facts.producer.clone());
    rows.say_encoding(facts);
    for (at, (section, tally)) in graph.sections().iter().zip(tallies).enumerate() {
        let field = |name: &str| format!("section.{}.{name}", at + 1);
        rows.say(field("name"), Some(section.name.clone()));
        rows.say(field("started"), section.started_ms.map(|ms| ms.to_string()));
        rows.say(field("ended"), section.ended_ms.map(|ms| ms.to_string()));
        rows.say(field("complete"), Some(section.complete.to_string()));
        rows.say(field("objects"), Some(tally.objects.to_string()));
        rows.say(field("shallow_bytes"), Some(tally.shallow_bytes.to_string()));
    }
    for (at, snapshot) in facts.snapshots.iter().enumerate() {
        let field = |name: &str| format!("snapshot.{}.{name}", at + 1);
        rows.say(field("taken_at"), snapshot.unix_ms.map(utc));
        rows.say(field("complete"), Some(snapshot.complete.to_string()));
        rows.say(field("objects"), Some(snapshot.objects.to_string()));
        rows.say(field("shallow_bytes"), Some(snapshot.shallow_bytes.to_string()));
        rows.say(field("chosen"), Some(snapshot.chosen.to_string()));
    }
    if let Some((objects, bytes)) = facts.sampled {
        rows.say("sampled", Some(format!("{objects} {bytes}")));
    }
    rows.say_records(facts);
    for (kind, count) in RootCounts::of(graph).all {
        rows.say(format!("roots.{}", kind.replace(' ', "-")), Some(count.to_string()));
    }
    rows.say("roots_inferred", graph.roots_inferred().then(|| "true".to_string()));
    rows.say("trailer", facts.trailer.clone());
    rows.say_problems(&opened.diagnostics);
    rows
}

fn text(opened: &Opened<'_>, tallies: &[Tally], style: &Style) -> String {
    let (graph, facts) = (opened.graph, &opened.facts);
    let mut lines = Lines::new(style);
    lines.say_format(facts);
    for (at, (section, tally)) in graph.sections().iter().zip(tallies).enumerate() {
        let times = match (section.started_ms, duration_ms(section)) {
            (Some(start), Some(duration)) => format!(", taken {start} ms after boot in {duration} ms"),
            (Some(start), None) => format!(", taken {start} ms after boot"),
            _ => String::new(),
        };
        lines.say(
            &format!("section {}", at + 1),
            format!(
                "{}: {}, {}{times}",
                section.name,
                count_of(tally.objects, "objects"),
                style.bytes(tally.shallow_bytes)
            ),
        );
    }
    for (at, snapshot) in facts.snapshots.iter().enumerate() {
        lines.say(&format!("snapshot {}", at + 1), snapshot_text(snapshot, style));
    }
    if facts.snapshots.len() > 1 {
        lines.say("", "--snapshot N takes another one");
    }
    if let Some((objects, bytes)) = facts.sampled {
        lines.say("sampled", format!("figures of the heap are estimates: objects x{objects:.3}, bytes x{bytes:.3}"));
    }
    lines.say_records(facts);
    let roots: Vec<String> =
        RootCounts::of(graph).all.iter().map(|(kind, count)| format!("{} {kind}", format_count(*count))).collect();
    let inferred = if graph.roots_inferred() { " (inferred: the dump has none)" } else { "" };
    lines.say("roots", format!("{}{inferred}", if roots.is_empty() { "none".into() } else { roots.join(", ") }));
    if let Some(trailer) = &facts.trailer {
        lines.say("trailer", trailer.clone());
    }
    lines.say_problems(&opened.diagnostics);
    lines.text
}
