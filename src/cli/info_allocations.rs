//! `heapdump info` on allocation totals: which heaps there are, of which dump, process and allocator.

use anyhow::Result;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::Outcome;
use super::allocations::{heap_json, heap_title, processes};
use super::common::Common;
use super::info_facts::{Lines, Rows, records_json};
use super::load::OpenedAllocations;
use super::output::{fields, problems_json};
use crate::allocations::{AllocationHeap, add_counts};
use crate::analysis::allocation_top::Top;
use crate::analysis::allocation_totals::Amount;
use crate::report::{Style, count_of, escape_controls};

pub(super) fn run(opened: &OpenedAllocations<'_>, common: &Common) -> Result<Outcome> {
    let totals = totals(opened);
    let style = common.output.style();
    let rows = rows(opened, &totals);
    let report = rows.report(|json| json.put_all(&json_fields(opened, &totals)), || text(opened, &totals, &style));
    common.output.print(&report)?;
    Ok(Outcome::Done)
}

/// What each heap holds.
pub(super) fn totals(opened: &OpenedAllocations<'_>) -> Vec<Amount> {
    let total = |heap: &AllocationHeap| {
        let top = Top::compute(heap);
        Amount { at_least: top.total.at_least || top.pairs_left_out > 0, ..top.total }
    };
    opened.dump.heaps.par_iter().map(total).collect()
}

/// What the heaps of the last memory dump that has any hold together.
pub(super) fn total_of_last_dump(opened: &OpenedAllocations<'_>, totals: &[Amount]) -> Amount {
    let mut sum = Amount::default();
    for (_, total) in opened.dump.heaps.iter().zip(totals).filter(|(heap, _)| heap.dump == opened.dump.dumps.len()) {
        sum.bytes = sum.bytes.saturating_add(total.bytes);
        sum.allocations = add_counts(sum.allocations, total.allocations);
    }
    sum
}

pub(super) fn json_fields(opened: &OpenedAllocations<'_>, totals: &[Amount]) -> Map<String, Value> {
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
    fields(json!({
        "format": facts.format,
        "title": facts.title,
        "version": facts.version,
        "encoding": facts.encoding,
        "compression": facts.compression,
        "sections": sections,
        "dumps": dumps,
        "heaps": heaps,
        "records": records_json(facts),
        "problems": problems_json(&opened.diagnostics),
    }))
}

fn rows(opened: &OpenedAllocations<'_>, totals: &[Amount]) -> Rows {
    let facts = &opened.facts;
    let mut rows = Rows::default();
    rows.say("format", Some(facts.format.to_string()));
    rows.say("version", facts.version.clone());
    rows.say_encoding(facts);
    for (at, (heap, total)) in opened.dump.heaps.iter().zip(totals).enumerate() {
        let field = |name: &str| format!("heap.{}.{name}", at + 1);
        rows.say(field("dump"), Some(heap.dump.to_string()));
        rows.say(field("pid"), Some(heap.pid.to_string()));
        rows.say(field("process"), (!heap.process.is_empty()).then(|| heap.process.clone()));
        rows.say(field("part"), (heap.part > 1).then(|| heap.part.to_string()));
        rows.say(field("allocator"), Some(heap.allocator.clone()));
        rows.say(field("total_bytes"), Some(total.bytes.to_string()));
        rows.say(field("allocations"), total.allocations.map(|count| count.to_string()));
    }
    rows.say_records(facts);
    rows.say_problems(&opened.diagnostics);
    rows
}

fn text(opened: &OpenedAllocations<'_>, totals: &[Amount], style: &Style) -> String {
    let (dump, facts) = (opened.dump, &opened.facts);
    let mut lines = Lines::new(style);
    lines.say_format(facts);
    if dump.dumps.len() > 1 {
        for (at, time) in dump.dumps.iter().enumerate() {
            let own = dump.heaps.iter().zip(totals).filter(|(heap, _)| heap.dump == at + 1);
            let (heaps, bytes) =
                own.fold((0, 0u64), |(heaps, bytes), (_, total)| (heaps + 1, bytes.saturating_add(total.bytes)));
            let detail =
                if time.detail.is_empty() { String::new() } else { format!(", {}", escape_controls(&time.detail)) };
            let heaps = count_of(heaps, "heaps");
            lines.say(&format!("dump {}", at + 1), format!("{} in {heaps}{detail}", style.bytes(bytes)));
        }
    }
    for (heap, total) in dump.heaps.iter().zip(totals) {
        let allocations =
            total.allocations.map_or(String::new(), |count| format!(" in {}", count_of(count, "allocations")));
        let labels = if heap.labels.is_empty() { String::new() } else { format!(", {}", heap.labels) };
        lines.say("heap", format!("{}: {}{allocations}{labels}", heap_title(heap), style.bytes(total.bytes)));
    }
    lines.say_records(facts);
    lines.say_problems(&opened.diagnostics);
    lines.text
}
