//! `heapdump breakdown`.

use crate::answers::breakdown::{Axis, Breakdown, BreakdownHeap, BreakdownObject, BreakdownRow, HeapOrSection, Kind};
use crate::answers::tree::TreeRow;
use crate::report::{
    Cell, Column, Format, Outline, OutlineRow, Present, Style, Table, TextPage, Unit, escape_controls, format_count,
};

/// Deep rows are not pushed off the screen.
const MAX_INDENT: usize = 40;

impl Present for Breakdown<'_> {
    const COMMAND: &'static str = "breakdown";

    fn table(&self, style: &Style) -> Table<'_> {
        let indent = matches!(style.format, Format::Table | Format::Markdown);
        let rows: Vec<(&BreakdownHeap<'_>, &TreeRow<BreakdownRow<'_>>)> =
            self.heaps.iter().flat_map(|heap| heap.tree.rows().iter().map(move |row| (heap, row))).collect();
        Table {
            columns: vec![
                Column::new("dump", "Dump", Unit::Count),
                Column::new("pid", "Process", Unit::Word),
                Column::new("allocator", "Allocator", Unit::Word),
                Column::new("bytes", "Bytes", Unit::Bytes),
                Column::new("allocations", "Allocations", Unit::Count),
                Column::new("exact", "Exact", Unit::Word),
                Column::new("depth", "Depth", Unit::Count),
                Column::new("kind", "Kind", Unit::Word),
                Column::new("name", "Name", Unit::Text),
            ],
            row_count: rows.len(),
            rows_hidden: 0,
            row: Box::new(move |at| {
                let (heap, TreeRow { depth, row, .. }) = rows[at];
                let (dump, pid, allocator) = match &heap.heap {
                    HeapOrSection::Heap(heap) => (heap.dump, heap.pid, heap.allocator.as_str()),
                    HeapOrSection::Objects(objects) => (objects.dump, 0, "-"),
                };
                let name = match indent {
                    true => Cell::text(format!("{:1$}{2}", "", 2 * (*depth as usize).min(MAX_INDENT), label(row))),
                    false => Cell::text(row.name),
                };
                vec![
                    Cell::Number(dump as u64),
                    Cell::text(pid.to_string()),
                    Cell::text(allocator),
                    Cell::Number(row.bytes),
                    Cell::number(row.allocations),
                    Cell::text(if row.is_lower_bound { "at-least" } else { "exact" }),
                    Cell::Number((*depth).into()),
                    Cell::text(kind_name(row.kind)),
                    name,
                ]
            }),
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        for (place, heap) in self.heaps.iter().enumerate() {
            if place > 0 {
                page.line("");
            }
            let title = page.style().bold(&escape_controls(&title_of(&heap.heap)));
            page.line(format!("{title}\n"));
            let style = *page.style();
            page.tree(&outline(heap, style));
        }
    }
}

fn title_of(heap: &HeapOrSection) -> String {
    let objects = match heap {
        HeapOrSection::Heap(heap) => return heap.title.clone(),
        HeapOrSection::Objects(objects) => objects,
    };
    if let Some(object) = &objects.object {
        let class = object.class.as_ref().map_or(String::new(), |class| format!(" {class}"));
        let BreakdownObject { id, type_name, .. } = object;
        return format!("{id}, {type_name}{class}: types on the way down the dominator tree");
    }
    let whole = match (&objects.section, &objects.process) {
        (Some((number, name)), _) if name.is_empty() => format!("section {number}"),
        (Some((number, name)), _) => format!("section {number} ({name})"),
        (None, Some(name)) => name.clone(),
        (None, None) => "all sections".to_string(),
    };
    format!("{whole}, types on the way down the dominator tree")
}

fn outline<'t>(heap: &'t BreakdownHeap<'_>, style: Style) -> Outline<'t> {
    let rows = heap.tree.rows();
    let whole = heap.total_bytes().max(1) as f64;
    let is_counted = rows.iter().any(|place| place.row.allocations.is_some());
    let (count_title, title) = match &heap.heap {
        HeapOrSection::Heap(_) => (is_counted.then_some("allocations"), "backtrace, [type]"),
        HeapOrSection::Objects(_) => (Some("objects"), "type"),
    };
    Outline {
        figures: [("bytes", 11), ("share", 7)].into_iter().chain(count_title.map(|title| (title, 11))).collect(),
        gap: 2,
        title,
        header: true,
        max_indent: MAX_INDENT,
        row_count: rows.len(),
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
                figures: [size, share].into_iter().chain(count).collect(),
                start: String::new(),
                name: label(row),
                end: match hidden_after {
                    0 => String::new(),
                    hidden => format!(" with {} more", format_count((*hidden).into())),
                },
            }
        }),
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Root => "root",
        Kind::Backtrace => "backtrace",
        Kind::Type => "type",
        Kind::SelfCost => "self",
        Kind::Other => "other",
    }
}

/// The name, in brackets where it is a type's or stands for types.
fn label(row: &BreakdownRow<'_>) -> String {
    let name = if row.name.is_empty() { "\"\"" } else { row.name };
    if row.axis == Axis::Type { format!("[{name}]") } else { name.to_string() }
}
