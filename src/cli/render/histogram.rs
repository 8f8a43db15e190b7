//! `heapdump stats`.

use crate::answers::GroupBy;
use crate::answers::histogram::{Histogram, HistogramRow, Totals};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, escape_controls};

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
            .add(name_column(self.group_by), move |row| {
                // A section without a name.
                Some(row.name_with_loader(with_loader)).filter(|name| !with_loader || !name.is_empty())
            })
            .table(rows.len(), self.rows_hidden, |at| &rows[at])
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        for (size, rest) in self.sentences(|bytes| style.bytes(bytes)) {
            page.paragraph(format!("{}{}", style.bold(&size), escape_controls(&rest)));
        }
        page.line("");
        let table = self.table(&style);
        page.table(&table);
    }
}

/// The column with a group's name.
pub(crate) fn name_column(by: GroupBy) -> Column {
    Column::text(if by == GroupBy::Type { "type" } else { "group" }, by.titles().0)
}
