//! The histogram of `heapdump stats`: its rows, their order, its columns.

use serde_json::{Map, Value};

use super::groups::By;
use crate::analysis::histogram::{Estimate, Tally};
use crate::report::{Cell, Column, Report, Table, Unit};

/// A row of the histogram.
pub(super) struct Row {
    pub(super) name: String,
    /// The group's number, for what is computed only for rows that are shown.
    pub(super) group: u32,
    /// Tells types of one name apart, with --raw-types.
    pub(super) module: Option<String>,
    pub(super) tally: Tally,
    pub(super) retained_bytes: Option<u64>,
    /// Of the heap, in a dump that is a sample.
    pub(super) estimate: Option<Estimate>,
}

pub(super) fn total(rows: &[Row]) -> Tally {
    let mut sum = Tally::default();
    rows.iter().for_each(|row| sum.add(&row.tally));
    sum
}

/// Orders the rows by a column, largest first; by name where none of them is a figure.
pub(super) fn sort_rows(rows: &mut [Row], order: &str, reverse: bool) {
    let value = |row: &Row| match order {
        "objects" => row.tally.objects,
        "reachable_objects" => row.tally.reachable_objects,
        "reachable_bytes" => row.tally.reachable_bytes,
        "retained_bytes" => row.retained_bytes.unwrap_or(0),
        "shallow_bytes" => row.tally.shallow_bytes,
        _ => 0,
    };
    rows.sort_by(|a, b| value(b).cmp(&value(a)).then_with(|| (&a.name, &a.module).cmp(&(&b.name, &b.module))));
    if reverse {
        rows.reverse();
    }
}

/// Rows in their order, and which columns they fill.
pub(super) struct Histogram {
    pub(super) rows: Vec<Row>,
    /// Rows that are shown.
    pub(super) shown: usize,
    pub(super) by: By,
    pub(super) with_graph: bool,
    pub(super) with_retained: bool,
}

impl Histogram {
    /// The answer, with what JSON and people get above the rows.
    pub(super) fn report(self, fields: Map<String, Value>, summary: String) -> Report<'static> {
        let mut columns =
            vec![Column::new("objects", "Objects", Unit::Count), Column::new("shallow_bytes", "Shallow", Unit::Bytes)];
        if self.with_graph {
            columns.push(Column::new("reachable_objects", "Reachable #", Unit::Count).spare(3));
            columns.push(Column::new("reachable_bytes", "Reachable", Unit::Bytes));
        }
        let with_estimates = self.rows.iter().any(|row| row.estimate.is_some());
        if with_estimates {
            columns.push(Column::new("estimated_objects", "Heap # (est.)", Unit::Count).spare(2));
            columns.push(Column::new("estimated_bytes", "Heap (est.)", Unit::Bytes));
        }
        if self.with_retained {
            columns.push(Column::new("retained_bytes", "Retained", Unit::Bytes));
        }
        let with_modules = self.rows.iter().any(|row| row.module.is_some());
        if with_modules {
            columns.push(Column::new("module", "Module", Unit::Word).spare(1));
        }
        columns.push(Column::new(self.by.key(), self.by.title(), Unit::Text));
        Report {
            command: "stats",
            fields: Box::new(move |json| json.put_all(&fields)),
            rows_key: Some(self.by.rows_key()),
            table: Table {
                columns,
                row_count: self.shown,
                rows_hidden: self.rows.len() - self.shown,
                row: Box::new(move |row| {
                    let Row { name, module, tally, retained_bytes, estimate, .. } = &self.rows[row];
                    let mut cells = vec![Cell::Number(tally.objects), Cell::Number(tally.shallow_bytes)];
                    if self.with_graph {
                        cells.push(Cell::Number(tally.reachable_objects));
                        cells.push(Cell::Number(tally.reachable_bytes));
                    }
                    if with_estimates {
                        cells.push(Cell::number(estimate.map(|estimate| estimate.objects.round() as u64)));
                        cells.push(Cell::number(estimate.map(|estimate| estimate.bytes.round() as u64)));
                    }
                    if self.with_retained {
                        cells.push(Cell::number(*retained_bytes));
                    }
                    if with_modules {
                        cells.push(Cell::text(module.clone().unwrap_or_else(|| "(none)".into())));
                    }
                    cells.push(Cell::text(name.clone()));
                    cells
                }),
            },
            nested: None,
            summary,
            text: None,
            markdown: None,
        }
    }
}
