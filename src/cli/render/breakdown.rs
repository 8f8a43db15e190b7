//! `heapdump breakdown`.

use crate::answers::breakdown::{Axis, Breakdown, BreakdownHeap, BreakdownRow};
use crate::answers::figure::{ALLOCATIONS, BYTES, KIND, NAME};
use crate::answers::tree::TreeRow;
use crate::report::{
    Cell, Column, Columns, Outline, OutlineRow, Present, Style, Table, TextPage, count_of, escape_controls,
    format_count,
};

/// Deep rows are not pushed off the screen.
const MAX_INDENT: usize = 40;

impl Present for Breakdown<'_> {
    const COMMAND: &'static str = "breakdown";

    fn table(&self, style: &Style) -> Table<'_> {
        let indent = style.is_for_people();
        let rows: Vec<(&BreakdownHeap<'_>, &TreeRow<BreakdownRow<'_>>)> =
            self.heaps.iter().flat_map(|heap| heap.tree.rows().iter().map(move |row| (heap, row))).collect();
        type Row<'r, 'd> = (&'r BreakdownHeap<'d>, &'r TreeRow<BreakdownRow<'d>>);
        Columns::new()
            .add(Column::count("dump", "Dump"), |(heap, _): &mut Row<'_, '_>| heap.heap.dump)
            .add(Column::word("pid", "Process"), |(heap, _)| heap.heap.pid.unwrap_or(0).to_string())
            .add(Column::word("allocator", "Allocator"), |(heap, _)| heap.heap.allocator.as_deref().unwrap_or("-"))
            .add(BYTES, |(_, place)| place.row.bytes)
            .add(ALLOCATIONS, |(_, place)| place.row.allocations)
            .add(Column::word("exact", "Exact"), |(_, place)| match place.row.is_lower_bound {
                true => "at-least",
                false => "exact",
            })
            .add(Column::count("depth", "Depth"), |(_, place)| place.depth)
            .add(KIND, |(_, place)| place.row.kind.name())
            .add(NAME, move |(_, TreeRow { depth, row, .. })| match indent {
                true => Cell::text(format!("{:1$}{2}", "", 2 * (*depth as usize).min(MAX_INDENT), label(row))),
                false => Cell::text(row.name),
            })
            .table(rows.len(), 0, move |at| rows[at])
    }

    fn text(&self, page: &mut TextPage<'_>) {
        for (place, heap) in self.heaps.iter().enumerate() {
            if place > 0 {
                page.line("");
            }
            let title = page.style().bold(&escape_controls(&heap.heap.title));
            page.paragraph(format!("{title}\n"));
            let style = *page.style();
            page.tree(&outline(heap, style));
        }
    }
}

fn outline<'t>(heap: &'t BreakdownHeap<'_>, style: Style) -> Outline<'t> {
    let rows = heap.tree.rows();
    let whole = heap.heap.total_bytes.max(1) as f64;
    let is_counted = rows.iter().any(|place| place.row.allocations.is_some());
    let (count_title, title) = match &heap.heap.allocator {
        Some(_) => (is_counted.then_some("allocations"), "backtrace, [type]"),
        None => (Some("objects"), "type"),
    };
    Outline {
        figures: [("bytes", 11), ("share", 7)].into_iter().chain(count_title.map(|title| (title, 11))).collect(),
        gap: 2,
        title,
        header: true,
        deepest: rows.iter().map(|row| row.depth as usize).max().unwrap_or(0),
        row_count: rows.len(),
        // Rows stand for those left out: no line says so.
        options_for_all: "",
        row: Box::new(move |at| {
            let TreeRow { depth, hidden_after, row } = &rows[at];
            let size = style.size(row.bytes);
            let size = if row.is_lower_bound { format!("≥ {size}") } else { size };
            let count = is_counted.then(|| row.allocations.map_or_else(|| "-".to_string(), format_count));
            let share = format!("{:.1}%", row.bytes as f64 * 100.0 / whole);
            OutlineRow {
                depth: *depth as usize,
                // Said in the row itself, which stands for them.
                hidden_after: 0,
                hidden_figures: Vec::new(),
                figures: [size, share].into_iter().chain(count).collect(),
                start: String::new(),
                name: label(row),
                end: match hidden_after {
                    0 => String::new(),
                    hidden => format!(" ({})", count_of((*hidden).into(), "rows")),
                },
            }
        }),
    }
}

/// The name, in brackets where it is a type's or stands for types.
fn label(row: &BreakdownRow<'_>) -> String {
    let name = if row.name.is_empty() { "\"\"" } else { row.name };
    if row.axis == Axis::Type { format!("[{name}]") } else { name.to_string() }
}
