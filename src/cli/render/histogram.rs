//! `heapdump stats`.

use crate::answers::histogram::{Histogram, HistogramRow, ObjectTotals, Totals};
use crate::answers::{GroupBy, ReachedBy};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, count_of, escape_controls};

const CHARGED: (Column, Column) =
    (Column::count("charged_objects", "Charged #"), Column::bytes("charged_bytes", "Charged"));

impl Present for Histogram {
    const COMMAND: &'static str = "stats";

    fn table(&self, style: &Style) -> Table<'_> {
        let rows = self.rows.as_slice();
        let with_loader = style.is_for_people();
        let with_estimate = self.sample.is_some() && rows.iter().any(|row| row.estimate().is_some());
        let with_charged = self.group_by.is_owner();
        let with_graph = matches!(self.totals, Totals::Objects(_)) && !with_charged;
        let columns = match self.totals {
            Totals::Objects(_) | Totals::Counted(_) => Columns::new()
                .add(Column::count("objects", "Objects"), |row: &mut &HistogramRow| row.count())
                .add(Column::bytes("shallow_bytes", "Shallow"), |row| row.bytes()),
            Totals::Allocations(_) => Columns::new()
                .add(Column::bytes("total_bytes", "Bytes"), |row: &mut &HistogramRow| row.bytes())
                .add(Column::count("allocations", "Allocations"), |row| row.count()),
        };
        let reachable = Column::count("reachable_objects", "Reachable #").hide_priority(3);
        let estimated = Column::count("estimated_objects", "Heap # (est.)").hide_priority(2);
        let module = Column::word("module", "Module").hide_priority(1);
        let location = Column::word("location", "Constructor").hide_priority(1);
        let (charged_count, charged) = CHARGED;
        columns
            .add_if(with_charged, charged_count, |row| row.charged().map(|(objects, _)| objects))
            .add_if(with_charged, charged, |row| row.charged().map(|(_, bytes)| bytes))
            .add_if(with_graph, reachable, |row| row.reachable().map(|(objects, _)| objects))
            .add_if(with_graph, Column::bytes("reachable_bytes", "Reachable"), |row| {
                row.reachable().map(|(_, bytes)| bytes)
            })
            .add_if(with_estimate, estimated, |row| row.estimate().map(|estimate| estimate.estimated_objects))
            .add_if(with_estimate, Column::bytes("estimated_bytes", "Heap (est.)"), |row| {
                row.estimate().map(|estimate| estimate.estimated_bytes)
            })
            .add_if(self.retained.is_some(), Column::bytes("retained_bytes", "Retained"), |row| row.retained_bytes)
            .add_if(rows.iter().any(|row| row.module.is_some()), module, |row| {
                row.module.as_deref().unwrap_or("(none)")
            })
            .add_if(rows.iter().any(|row| row.location.is_some()), location, |row| {
                row.location.map_or(String::new(), |location| location.text())
            })
            .add(name_column(self.group_by), move |row| row.name_with_loader(with_loader))
            .table(rows.len(), self.rows_hidden, |at| &rows[at])
    }

    fn text(&self, page: &mut TextPage<'_>) {
        match &self.totals {
            Totals::Objects(totals) => self.object_lines(totals, page),
            Totals::Counted(totals) => {
                let size = page.style().bold(&page.style().bytes(totals.shallow_bytes));
                let types = count_of(totals.types as u64, self.group_by.titles().1);
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
            count_of(totals.types as u64, self.group_by.titles().1),
        ));
        page.line(format!(
            "{} in {} reachable from roots{}, {share:.1} %{}",
            style.bytes(roots.shallow_bytes),
            count_of(roots.objects, "objects"),
            if self.roots_inferred { " (inferred: the dump has none)" } else { "" },
            if given_roots.objects > 0 { "; the others were given roots on request" } else { "" },
        ));
        if let Some(matching) = &self.matching {
            let size = style.bold(&style.bytes(matching.matching_bytes));
            let objects = count_of(matching.matching_objects, "objects");
            page.line(format!("{size} in {objects} where {}", escape_controls(&matching.filter)));
        }
        let (alive, lost) = (count_of(no_root.objects, "objects"), count_of(excluded_roots.objects, "objects"));
        match no_root.objects {
            count if count == 0 || !self.unrooted_are_alive => {}
            1 => page.line(format!("{alive} has no root but is alive: it is on the frozen heap")),
            _ => page.line(format!("{alive} have no root but are alive: they are on the frozen heap")),
        }
        if excluded_roots.objects > 0 {
            let whose = if excluded_roots.objects == 1 { "its" } else { "their" };
            page.line(format!("{lost} lost {whose} roots on request (--exclude-roots)"));
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
        self.retained.iter().for_each(|retained| page.line(retained.statement()));
        page.line("");
    }
}

/// What the limits of types came to, for standard error. `file` is the dump's name where there are several.
pub(crate) fn limit_sentences(file: &str, answer: &Histogram) -> impl Iterator<Item = String> {
    let file = if file.is_empty() { String::new() } else { format!("{file}: ") };
    answer.limit_checks.iter().filter_map(move |check| match check.bytes {
        None => Some(format!("{file}note: no type in the dump matches --fail-over {}", check.pattern)),
        Some(_) => check.is_over().then(|| format!("{file}{}", check.statement())),
    })
}

/// The column with a group's name.
pub(crate) fn name_column(by: GroupBy) -> Column {
    Column::text(if by == GroupBy::Type { "type" } else { "group" }, by.titles().0)
}
