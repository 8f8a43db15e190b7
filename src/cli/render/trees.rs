//! Trees: `heapdump dominators`, `breakdown`, `referrers`, and `roots` of many objects.

use super::shared_columns::{CLASS, REFERENCE, group_name, hide_priority, note_inferred_roots, root_text};
use crate::answers::breakdown::{Axis, Breakdown, BreakdownHeap, BreakdownRow};
use crate::answers::dominator_tree::{DominatorGroups, DominatorNodes, DominatorRow, DominatorRows};
use crate::answers::figure::{
    ALLOCATIONS, BYTES, DOMINATED_OBJECTS, ID, KIND, LEVEL, NAME, OBJECTS, REFERENCES, REFERRERS, RETAINED, SHALLOW,
    SHARE, TOPMOST_OBJECTS, TYPE,
};
use crate::answers::histogram::HistogramRow;
use crate::answers::referrers::ReferrerRow;
use crate::answers::roots::merged_paths::MergedPathRow;
use crate::answers::tree::{LazyTree, TreeRow};
use crate::answers::{DominatorTree, Figure, MergedRootPaths, Referrers, step_text, type_words};
use crate::report::{
    Cell, Column, Columns, Outline, OutlineRow, Present, Style, Table, TextPage, count_with_noun, escape_controls,
    format_count,
};

impl Present for DominatorTree<'_> {
    const COMMAND: &'static str = "dominators";

    fn table(&self, style: &Style) -> Table<'_> {
        match &self.rows {
            DominatorRows::Objects { nodes } => table_of_objects(nodes),
            DominatorRows::Groups(groups) => table_of_groups(groups, style),
        }
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(format!(
            "{} in {} reachable from roots{}{}\n",
            style.bold(&style.bytes_in_sentence(self.reachable_bytes)),
            count_with_noun(self.reachable_objects, "objects"),
            if self.roots_inferred { " (inferred: the dump has none)" } else { "" },
            if self.has_requested_roots { " or given roots on request" } else { "" },
        ));
        match &self.rows {
            DominatorRows::Objects { nodes } => page.draw_tree(&dominator_outline(nodes, self.order, style)),
            DominatorRows::Groups(groups) => page.draw_table(&table_of_groups(groups, &style)),
        }
    }
}

fn table_of_objects<'t>(nodes: &'t DominatorNodes<'_>) -> Table<'t> {
    Columns::new()
        .add(LEVEL, |place: &mut TreeRow<DominatorRow<'t>>| place.depth)
        .add(RETAINED, |place| place.row.retained_bytes)
        .add(SHARE, |place| place.row.share)
        .add(SHALLOW, |place| place.row.shallow_bytes)
        .add(DOMINATED_OBJECTS, |place| place.row.dominated_objects)
        .add(ID, |place| std::mem::take(&mut place.row.id))
        .add_if(nodes.has_class_objects(), CLASS, |place| place.row.class)
        .add_if(nodes.has_reference_names(), REFERENCE, |place| place.row.reference.take())
        .add(TYPE, |place| place.row.type_name)
        .table(nodes.len(), 0, |at| nodes.get(at))
}

fn dominator_outline<'t>(nodes: &'t DominatorNodes<'_>, order: Figure, style: Style) -> Outline<'t> {
    Outline {
        figures: vec![
            ("retained", 0),
            ("share", 2),
            ("shallow", hide_priority(SHALLOW, Some(order), 3)),
            ("objects", hide_priority(DOMINATED_OBJECTS, Some(order), 1)),
        ],
        row_title: "object",
        has_header: style.has_header,
        depths_and_hidden_counts: nodes.depths_and_hidden_counts(),
        options_for_all: "-n 0",
        row_at: Box::new(move |at| {
            let row = nodes.get(at).row;
            OutlineRow {
                figures: vec![
                    style.bytes_in_column(row.retained_bytes),
                    format!("{:.1}%", row.share * 100.0),
                    style.bytes_in_column(row.shallow_bytes),
                    format_count(row.dominated_objects.into()),
                ],
                start: format!("{}  ", row.id),
                name: step_text(nodes.reference_text(at).as_deref(), &nodes.type_text(at)),
                ..OutlineRow::default()
            }
        }),
    }
}

fn table_of_groups<'t>(groups: &'t DominatorGroups, style: &Style) -> Table<'t> {
    let (rows, style) = (groups.rows.as_slice(), *style);
    let figures = [OBJECTS, SHALLOW, TOPMOST_OBJECTS, RETAINED].into_iter();
    let columns = figures
        .fold(Columns::new(), |columns, figure| columns.add(figure, move |row: &mut &HistogramRow| row.figure(figure)));
    columns.add(groups.group_by.figure(), move |row| group_name(row, &style)).table(
        rows.len(),
        groups.rows_hidden,
        |at| &rows[at],
    )
}

/// Deep rows are not pushed off the screen.
const MAX_INDENTED_LEVELS: usize = 40;

impl Present for Breakdown<'_> {
    const COMMAND: &'static str = "breakdown";

    fn table(&self, style: &Style) -> Table<'_> {
        let indent = style.is_for_people();
        let has_reference_names = self.heaps.iter().any(|heap| heap.tree.has_reference_names());
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
            .add_if(has_reference_names && !indent, REFERENCE, |(_, place)| place.row.reference_names.as_deref())
            .add(NAME, move |(_, TreeRow { depth, row, .. })| match indent {
                true => Cell::text(format!(
                    "{:1$}{2}",
                    "",
                    2 * (*depth as usize).min(MAX_INDENTED_LEVELS),
                    breakdown_label(row, row.name)
                )),
                false => Cell::text(row.name),
            })
            .table(rows.len(), 0, move |at| rows[at])
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        for (place, heap) in self.heaps.iter().enumerate() {
            if place > 0 {
                page.line("");
            }
            let title = page.style().bold(&escape_controls(&heap.heap.title));
            page.paragraph(format!("{title}\n"));
            let style = *page.style();
            page.draw_tree(&breakdown_outline(heap, style));
        }
    }
}

fn breakdown_outline<'t>(heap: &'t BreakdownHeap<'_>, style: Style) -> Outline<'t> {
    let rows = heap.tree.rows();
    let whole = heap.heap.total_bytes.max(1) as f64;
    let is_counted = rows.iter().any(|place| place.row.allocations.is_some());
    let (count_title, title) = match &heap.heap.allocator {
        Some(_) => (is_counted.then_some("allocations"), "backtrace, [type]"),
        None => (Some("objects"), "type"),
    };
    Outline {
        figures: [("bytes", 0), ("share", 2)].into_iter().chain(count_title.map(|title| (title, 1))).collect(),
        row_title: title,
        has_header: true,
        // Rows that stand for those left out say so themselves.
        depths_and_hidden_counts: rows.iter().map(|row| (row.depth, 0)).collect(),
        options_for_all: "",
        row_at: Box::new(move |at| {
            let TreeRow { hidden_after, row, .. } = &rows[at];
            let size = style.bytes_in_column(row.bytes);
            let size = if row.is_lower_bound { format!("≥ {size}") } else { size };
            let count = is_counted.then(|| row.allocations.map_or_else(|| "-".to_string(), format_count));
            let share = format!("{:.1}%", row.bytes as f64 * 100.0 / whole);
            let rows = match hidden_after {
                0 => String::new(),
                hidden => format!(" ({})", count_with_noun((*hidden).into(), "rows")),
            };
            let figures = [size, share].into_iter().chain(count).collect();
            OutlineRow { figures, name: breakdown_label(row, &type_words(row.name)) + &rows, ..OutlineRow::default() }
        }),
    }
}

/// The name, in brackets where it is a type's or stands for types.
fn breakdown_label(row: &BreakdownRow<'_>, name: &str) -> String {
    let name = if name.is_empty() { "\"\"" } else { name };
    let name = if row.axis == Axis::Type { format!("[{name}]") } else { name.to_string() };
    step_text(row.reference_names.as_deref(), &name)
}

impl Present for Referrers<'_> {
    const COMMAND: &'static str = "referrers";

    fn table(&self, _: &Style) -> Table<'_> {
        Columns::new()
            .add(LEVEL, |place: &mut TreeRow<ReferrerRow<'_>>| place.depth)
            .add(REFERRERS, |place| place.row.referrers)
            .add(REFERENCES, |place| place.row.references)
            .add(SHALLOW, |place| place.row.shallow_bytes)
            .add_if(self.referrers.names.is_some(), REFERENCE, |place| place.row.reference.take())
            .add(TYPE, |place| place.row.type_name)
            .table(self.referrers.len(), 0, |at| self.referrers.get(at))
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let objects = count_with_noun(self.of.objects, "objects");
        let of = match &self.of.object_in_words {
            Some(words) => words.clone(),
            None => {
                let part = |word: &str, text: &Option<String>| text.as_ref().map(|text| format!(" {word} {text}"));
                let parts = [part("of", &self.of.pattern), part("where", &self.of.filter)];
                format!("{objects}{}", parts.into_iter().flatten().collect::<String>())
            }
        };
        page.paragraph_breaking_words(format!("What refers to {}\n", escape_controls(&of)));
        page.draw_tree(&Outline {
            figures: vec![
                ("referrers", 0),
                ("references", hide_priority(REFERENCES, Some(self.order), 1)),
                ("shallow", hide_priority(SHALLOW, Some(self.order), 2)),
            ],
            row_title: "referred to by",
            has_header: style.has_header,
            depths_and_hidden_counts: self.referrers.depths_and_hidden_counts(),
            options_for_all: "-n 0",
            row_at: Box::new(move |at| {
                let row = self.referrers.get(at).row;
                OutlineRow {
                    figures: vec![
                        format_count(row.referrers),
                        format_count(row.references),
                        style.bytes_in_column(row.shallow_bytes),
                    ],
                    name: step_text(row.reference.as_deref(), &type_words(row.type_name)),
                    ..OutlineRow::default()
                }
            }),
        });
    }
}

impl Present for MergedRootPaths<'_> {
    const COMMAND: &'static str = "roots";

    fn table(&self, _: &Style) -> Table<'_> {
        let of_one = self.object.is_some();
        Columns::new()
            .add(LEVEL, |place: &mut TreeRow<MergedPathRow<'_>>| place.depth)
            .add_if(of_one, Column::count("paths", "Paths"), |place| place.row.paths)
            .add_if(!of_one, OBJECTS, |place| place.row.objects)
            .add_if(!of_one, RETAINED, |place| place.row.retained_bytes)
            .add(Column::count("chain_objects", "Chain"), |place| place.row.chain_objects)
            .add_if(self.tree.names.is_some(), REFERENCE, |place| place.row.reference.take())
            .add(TYPE, |place| match &place.row.root {
                Some(root) => Cell::text(format!("{} <- {}", place.row.type_name, root_text(root))),
                None => Cell::text(place.row.type_name),
            })
            .table(self.tree.len(), 0, |at| self.tree.get(at))
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        if self.objects == 0 {
            return;
        }
        let (style, of_one) = (*page.style(), self.object.is_some());
        let (count, rest) = self.sentence();
        page.paragraph_breaking_words(format!("{}{}\n", style.bold(&count), escape_controls(&rest)));
        page.draw_tree(&Outline {
            figures: match of_one {
                true => vec![("paths", 0)],
                false => vec![("objects", 0), ("retained", 1)],
            },
            row_title: "held by",
            has_header: style.has_header,
            depths_and_hidden_counts: self.tree.depths_and_hidden_counts(),
            options_for_all: self.tree.options_for_all_rows(),
            row_at: Box::new(move |at| {
                let row = self.tree.get(at).row;
                let type_text = row.type_text();
                let name = match &row.root {
                    Some(root) => format!("{}: {type_text}", root.short_text()),
                    None => step_text(row.reference.as_deref(), &type_text),
                };
                let figures = |count: Option<u64>, bytes: Option<u64>| {
                    let (count, bytes) = (count.map(format_count), bytes.map(|bytes| style.bytes_in_column(bytes)));
                    count.into_iter().chain(bytes).collect::<Vec<_>>()
                };
                let (count, bytes) = self.tree.hidden_totals_after(at);
                OutlineRow {
                    hidden_figures: figures(Some(count), (!of_one).then_some(bytes)),
                    figures: figures(row.paths.or(row.objects), row.retained_bytes),
                    name,
                    ..OutlineRow::default()
                }
            }),
        });
        note_inferred_roots(self.roots_inferred, page);
    }
}
