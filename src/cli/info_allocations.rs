//! `heapdump info` on allocation totals: which heaps there are, of which dump, process and allocator.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Outcome;
use super::allocations::{heap_json, heap_title, processes, totals_at_the_top};
use super::common::Common;
use super::load::OpenedAllocations;
use super::output::{fields, problems_json};
use crate::analysis::allocation_totals::Amount;
use crate::report::{Cell, Column, Report, Table, Unit, escape_controls, format_bytes, format_count};

pub(super) fn run(opened: &OpenedAllocations, common: &Common) -> Result<Outcome> {
    let totals: Vec<Amount> = opened.dump.heaps.iter().map(|heap| totals_at_the_top(heap).at(0)).collect();
    let rows = rows(opened, &totals);
    let report = Report {
        command: "info",
        fields: Box::new(|| json_fields(opened, &totals)),
        table: Table {
            columns: vec![Column::new("field", "Field", Unit::Word), Column::new("value", "Value", Unit::Text)],
            row_count: rows.len(),
            rows_hidden: 0,
            row: Box::new(|row| vec![Cell::text(rows[row].0.as_str()), Cell::text(rows[row].1.as_str())]),
        },
        rows_key: None,
        nested: None,
        summary: String::new(),
        text: Some(Box::new(|| text(opened, &totals))),
        markdown: None,
    };
    common.output.print(&report)?;
    Ok(Outcome::Done)
}

fn json_fields(opened: &OpenedAllocations, totals: &[Amount]) -> Map<String, Value> {
    let (dump, facts) = (opened.dump, &opened.facts);
    let sections: Vec<Value> = processes(dump)
        .into_iter()
        .enumerate()
        .map(|(at, (pid, part))| {
            let heaps = || dump.heaps.iter().filter(|heap| (heap.pid, heap.part) == (pid, part));
            let named = heaps().find(|heap| !heap.process.is_empty());
            json!({
                "number": at + 1,
                "name": named.map(|heap| heap.process.as_str()),
                "pid": pid,
                "part": part,
                "labels": heaps().next().map(|heap| heap.labels.as_str()),
                "heaps": heaps().count(),
            })
        })
        .collect();
    let dumps: Vec<Value> = dump
        .dumps
        .iter()
        .enumerate()
        .map(|(at, time)| json!({"dump": at + 1, "id": time.id, "started_us": time.started_us, "detail": time.detail}))
        .collect();
    let heaps: Vec<Value> =
        dump.heaps.iter().zip(totals).map(|(heap, total)| Value::Object(heap_json(heap, total))).collect();
    let records: Map<String, Value> =
        facts.records.iter().map(|&(kind, count)| (kind.to_string(), count.into())).collect();
    fields(json!({
        "format": facts.format,
        "title": facts.title,
        "version": facts.version,
        "encoding": facts.encoding,
        "compression": facts.compression,
        "sections": sections,
        "dumps": dumps,
        "heaps": heaps,
        "records": records,
        "problems": problems_json(&opened.diagnostics),
    }))
}

/// Field and value, a line each: for pipes.
fn rows(opened: &OpenedAllocations, totals: &[Amount]) -> Vec<(String, String)> {
    let facts = &opened.facts;
    let mut rows = vec![("format".to_string(), facts.format.to_string())];
    let mut say = |field: String, value: Option<String>| rows.extend(value.map(|value| (field, value)));
    say("version".into(), facts.version.clone());
    say("encoding".into(), facts.encoding.map(str::to_string));
    say("compression".into(), (!facts.compression.is_empty()).then(|| facts.compression.join(" ")));
    for (at, (heap, total)) in opened.dump.heaps.iter().zip(totals).enumerate() {
        let field = |name: &str| format!("heap.{}.{name}", at + 1);
        say(field("dump"), Some(heap.dump.to_string()));
        say(field("pid"), Some(heap.pid.to_string()));
        say(field("process"), (!heap.process.is_empty()).then(|| heap.process.clone()));
        say(field("part"), (heap.part > 1).then(|| heap.part.to_string()));
        say(field("allocator"), Some(heap.allocator.clone()));
        say(field("total_bytes"), Some(total.bytes.to_string()));
        say(field("allocations"), total.allocations.map(|count| count.to_string()));
    }
    for &(kind, count) in &facts.records {
        say(format!("records.{kind}"), Some(count.to_string()));
    }
    for problem in opened.diagnostics.sorted() {
        say(format!("problem.{}", problem.code.name), Some(format!("{} {}", problem.count, problem.first_at)));
    }
    rows
}

fn text(opened: &OpenedAllocations, totals: &[Amount]) -> String {
    let (dump, facts) = (opened.dump, &opened.facts);
    let mut text = String::new();
    let mut say = |field: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{field:<12} {}", escape_controls(&value));
    };
    say("format", format!("{} ({})", facts.title, facts.format));
    if let Some(version) = &facts.version {
        say("version", version.clone());
    }
    let packing: String = facts.compression.iter().map(|packing| format!(", {packing}")).collect();
    say("encoding", format!("{}{packing}", facts.encoding.unwrap_or("binary")));
    for (heap, total) in dump.heaps.iter().zip(totals) {
        let allocations =
            total.allocations.map_or(String::new(), |count| format!(" in {} allocations", format_count(count)));
        let labels = if heap.labels.is_empty() { String::new() } else { format!(", {}", heap.labels) };
        say("heap", format!("{}: {}{allocations}{labels}", heap_title(heap), format_bytes(total.bytes)));
    }
    let records: Vec<String> = facts
        .records
        .iter()
        .map(|&(kind, count)| format!("{} {}", format_count(count), kind.replace('_', " ")))
        .collect();
    say("records", records.join(", "));
    let problems = opened.diagnostics.sorted();
    if problems.is_empty() {
        say("problems", "none".into());
    }
    for problem in problems {
        say(
            "problem",
            format!(
                "{} {} ({}, first at {})",
                problem.count, problem.code.meaning, problem.code.name, problem.first_at
            ),
        );
    }
    text
}
