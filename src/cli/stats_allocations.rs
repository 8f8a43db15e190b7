//! `heapdump stats` on allocation totals: how much there is per heap, and by type.

use std::collections::HashMap;

use anyhow::Result;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::allocations::{heap_json, heap_title, refuse_left_out};
use super::common::sort_key;
use super::load::OpenedAllocations;
use super::output::{bold, fields, problems_json};
use super::stats::Args;
use crate::allocations::{NameId, add_counts};
use crate::analysis::allocation_top::Top;
use crate::analysis::allocation_totals::Amount;
use crate::report::{Cell, Column, Report, Table, Unit, count_of, escape_controls};

/// The answer; of the dump nothing is borrowed.
pub(super) fn report(opened: &OpenedAllocations<'_>, args: &Args) -> Result<Report<'static>> {
    let order = sort_key(
        args.order.sort.as_deref(),
        "total_bytes",
        &[("total_bytes", "bytes"), ("allocations", "allocations"), ("type", "type")],
    )?;
    let pattern = args.types.pattern()?;
    let names = &opened.dump.names;
    let chosen = args.heaps.choose(opened.dump, &args.section, &args.common.input.read)?;
    let style = args.common.output.style();
    let mut types: HashMap<NameId, Amount> = HashMap::new();
    let (mut total, mut of_types) = (Amount::default(), 0u64);
    let mut heaps_json: Vec<Value> = Vec::new();
    let mut summary = String::new();
    let tops: Vec<Top> = chosen.par_iter().map(|heap| Top::compute(heap)).collect();
    for (heap, top) in chosen.into_iter().zip(tops) {
        refuse_left_out(heap, top.pairs_left_out)?;
        let whole = top.total;
        total.bytes = total.bytes.saturating_add(whole.bytes);
        total.allocations = add_counts(total.allocations, whole.allocations);
        let of_heap = top.types.iter().fold(0u64, |sum, amount| sum.saturating_add(amount.total.bytes));
        of_types = of_types.saturating_add(of_heap);
        for amount in &top.types {
            let known = types.entry(amount.type_name).or_default();
            known.bytes = known.bytes.saturating_add(amount.total.bytes);
            known.allocations = add_counts(known.allocations, amount.total.allocations);
        }
        let allocations =
            whole.allocations.map_or(String::new(), |count| format!(" in {}", count_of(count, "allocations")));
        let title = escape_controls(&heap_title(heap)).into_owned();
        summary += &format!("{}{allocations}: {title}\n", bold(&style.bytes(whole.bytes), &style));
        heaps_json.push(heap_json(heap, &whole).into());
    }
    let mut rows: Vec<(String, Amount)> = types
        .iter()
        .map(|(&name, &amount)| (names.text(name), amount))
        .filter(|(name, _)| pattern.as_ref().is_none_or(|pattern| pattern.matches(name)))
        .map(|(name, amount)| (name.to_string(), amount))
        .collect();
    rows.sort_by(|(name_a, a), (name_b, b)| {
        let by_figure = match order {
            "total_bytes" => b.bytes.cmp(&a.bytes),
            "allocations" => b.allocations.cmp(&a.allocations),
            _ => std::cmp::Ordering::Equal,
        };
        by_figure.then_with(|| name_a.cmp(name_b))
    });
    if args.order.reverse {
        rows.reverse();
    }
    let other = total.bytes.saturating_sub(of_types);
    if other > 0 {
        summary += &format!("{} of types too small to be dumped, or of none\n", style.bytes(other));
    }
    let shown = args.limit.rows(rows.len());
    let fields = fields(json!({
        "format": opened.facts.format,
        "totals": {
            "total_bytes": total.bytes,
            "allocations": total.allocations,
            "types": rows.len(),
            "other_bytes": other,
        },
        "problems": problems_json(&opened.diagnostics),
        "heaps": heaps_json,
    }));
    Ok(Report {
        command: "stats",
        fields: Box::new(move |json| json.put_all(&fields)),
        table: Table {
            columns: vec![
                Column::new("total_bytes", "Bytes", Unit::Bytes),
                Column::new("allocations", "Allocations", Unit::Count),
                Column::new("type", "Type", Unit::Text),
            ],
            row_count: shown,
            rows_hidden: rows.len() - shown,
            row: Box::new(move |row| {
                let (name, amount) = &rows[row];
                vec![Cell::Number(amount.bytes), Cell::number(amount.allocations), Cell::text(name.clone())]
            }),
        },
        rows_key: Some("types"),
        nested: None,
        summary: format!("{summary}\n"),
        text: None,
        markdown: None,
    })
}
