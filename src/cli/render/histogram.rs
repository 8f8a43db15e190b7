//! `heapdump stats`.

use crate::answers::histogram::{
    EstimateRow, Histogram, HistogramRow, LimitCheck, ObjectTotals, RetainedBy, RowAmount, Totals,
};
use crate::answers::{GroupBy, ReachedBy};
use crate::report::{Cell, Column, Present, Style, Table, TextPage, Unit, count_of, escape_controls};
use crate::units::format_bytes;

impl Present for Histogram {
    const COMMAND: &'static str = "stats";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = self.rows.as_slice();
        let (key, title) = name_column(self.group_by);
        let with_estimate = self.sample.is_some() && rows.iter().any(|row| estimate_of(row).is_some());
        let with_modules = rows.iter().any(|row| row.module.is_some());
        let with_retained = self.retained.is_some();
        let mut columns = match self.totals {
            Totals::Objects(_) | Totals::Counted(_) => vec![
                Column::new("objects", "Objects", Unit::Count),
                Column::new("shallow_bytes", "Shallow", Unit::Bytes),
            ],
            Totals::Allocations(_) => vec![
                Column::new("total_bytes", "Bytes", Unit::Bytes),
                Column::new("allocations", "Allocations", Unit::Count),
            ],
        };
        if let Totals::Objects(_) = self.totals {
            columns.push(Column::new("reachable_objects", "Reachable #", Unit::Count).hide_priority(3));
            columns.push(Column::new("reachable_bytes", "Reachable", Unit::Bytes));
        }
        if with_estimate {
            columns.push(Column::new("estimated_objects", "Heap # (est.)", Unit::Count).hide_priority(2));
            columns.push(Column::new("estimated_bytes", "Heap (est.)", Unit::Bytes));
        }
        if with_retained {
            columns.push(Column::new("retained_bytes", "Retained", Unit::Bytes));
        }
        if with_modules {
            columns.push(Column::new("module", "Module", Unit::Word).hide_priority(1));
        }
        columns.push(Column::new(key, title, Unit::Text));
        Table {
            columns,
            row_count: rows.len(),
            rows_hidden: self.rows_hidden,
            row: Box::new(move |at| {
                let row = &rows[at];
                let mut cells = amount_cells(&row.amount);
                if with_estimate {
                    let estimate = estimate_of(row);
                    cells.push(Cell::number(estimate.map(|estimate| estimate.estimated_objects)));
                    cells.push(Cell::number(estimate.map(|estimate| estimate.estimated_bytes)));
                }
                if with_retained {
                    cells.push(Cell::number(row.retained_bytes));
                }
                if with_modules {
                    cells.push(Cell::text(row.module.as_deref().unwrap_or("(none)")));
                }
                cells.push(Cell::text(row.name()));
                cells
            }),
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        match &self.totals {
            Totals::Objects(totals) => self.object_lines(totals, page),
            Totals::Counted(totals) => {
                let size = page.style().bold(&page.style().bytes(totals.shallow_bytes));
                let types = count_of(totals.types as u64, plural(self.group_by));
                page.line(format!("{size} in {} of {types}\n", count_of(totals.objects, "objects")));
            }
            Totals::Allocations(totals) => {
                for heap in self.heaps.iter().flatten() {
                    let size = page.style().bold(&page.style().bytes(heap.total_bytes));
                    let allocations = heap.allocations.map(|count| format!(" in {}", count_of(count, "allocations")));
                    page.line(format!("{size}{}: {}", allocations.unwrap_or_default(), escape_controls(&heap.title)));
                }
                if totals.other_bytes > 0 {
                    let other = page.style().bytes(totals.other_bytes);
                    page.line(format!("{other} of types too small to be dumped, or of none"));
                }
                page.line("");
            }
        }
        let table = self.table(page.style());
        page.table(&table);
    }
}

impl Histogram {
    fn object_lines(&self, totals: &ObjectTotals, page: &mut TextPage<'_>) {
        let style = *page.style();
        let ReachedBy { roots, given_roots, excluded_roots, no_root, .. } = totals.reached_by;
        let share = match totals.shallow_bytes {
            0 => 0.0,
            whole => roots.shallow_bytes as f64 * 100.0 / whole as f64,
        };
        page.line(format!(
            "{} in {} of {}",
            style.bold(&style.bytes(totals.shallow_bytes)),
            count_of(totals.objects, "objects"),
            count_of(totals.types as u64, plural(self.group_by)),
        ));
        page.line(format!(
            "{} in {} reachable from roots{}, {share:.1} %{}",
            style.bytes(roots.shallow_bytes),
            count_of(roots.objects, "objects"),
            if self.roots_inferred { " (inferred: the dump has none)" } else { "" },
            if given_roots.objects > 0 { "; the others were given roots on request" } else { "" },
        ));
        match no_root.objects {
            0 => {}
            _ if !self.unrooted_are_alive => {}
            1 => page.line("1 object has no root but is alive: it is on the frozen heap"),
            count => {
                let objects = count_of(count, "objects");
                page.line(format!("{objects} have no root but are alive: they are on the frozen heap"));
            }
        }
        match excluded_roots.objects {
            0 => {}
            1 => page.line("1 object lost its roots on request (--exclude-roots)"),
            count => {
                page.line(format!("{} lost their roots on request (--exclude-roots)", count_of(count, "objects")));
            }
        }
        if let (Some(sample), Some(estimate)) = (self.sample, totals.estimate) {
            page.line(format!(
                "a sample: figures of the heap are estimates, {} in {} (objects x{:.2}, bytes x{:.2})",
                style.bytes(estimate.estimated_bytes),
                count_of(estimate.estimated_objects, "objects"),
                sample.objects,
                sample.bytes,
            ));
        }
        match self.retained {
            Some(RetainedBy::Minimum) => {
                page.line("retained: at least so much would be freed with all objects of a row");
            }
            Some(RetainedBy::Exact) => page.line("retained: so much would be freed with all objects of a row"),
            None => {}
        }
        page.line("");
    }
}

/// What the limits of types came to, for standard error. `file` is the dump's name where there are several.
pub(crate) fn limit_sentences(file: &str, answer: &Histogram) -> impl Iterator<Item = String> {
    let file = if file.is_empty() { String::new() } else { format!("{file}: ") };
    answer.limit_checks.iter().filter_map(move |LimitCheck { pattern, limit_bytes, bytes }| match *bytes {
        None => Some(format!("{file}note: no type in the dump matches --fail-over {pattern}")),
        Some(bytes) if bytes > *limit_bytes => Some(format!(
            "{file}{pattern} takes {} ({bytes} bytes), over the limit of {}",
            format_bytes(bytes),
            format_bytes(*limit_bytes)
        )),
        Some(_) => None,
    })
}

fn amount_cells(amount: &RowAmount) -> Vec<Cell<'static>> {
    match *amount {
        RowAmount::Objects { objects, shallow_bytes, reachable_objects, reachable_bytes, .. } => {
            [objects, shallow_bytes, reachable_objects, reachable_bytes].map(Cell::Number).into()
        }
        RowAmount::Counted { objects, shallow_bytes } => [objects, shallow_bytes].map(Cell::Number).into(),
        RowAmount::Allocations { total_bytes, allocations } => {
            vec![Cell::Number(total_bytes), Cell::number(allocations)]
        }
    }
}

fn estimate_of(row: &HistogramRow) -> Option<EstimateRow> {
    match row.amount {
        RowAmount::Objects { estimate, .. } => estimate,
        _ => None,
    }
}

/// The key and title of the column with a group's name.
pub(crate) fn name_column(by: GroupBy) -> (&'static str, &'static str) {
    match by {
        GroupBy::Type => ("type", "Type"),
        GroupBy::Package => ("group", "Package"),
        GroupBy::Section => ("group", "Section"),
        GroupBy::Module => ("group", "Module"),
        GroupBy::Generation => ("group", "Generation"),
    }
}

/// Several groups, in words.
pub(crate) fn plural(by: GroupBy) -> &'static str {
    match by {
        GroupBy::Type => "types",
        GroupBy::Package => "packages",
        GroupBy::Section => "sections",
        GroupBy::Module => "modules",
        GroupBy::Generation => "generations",
    }
}
