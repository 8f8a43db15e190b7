//! `heapdump stats`.

use super::rows::hidden;
use crate::answers::figure::{ESTIMATED_OBJECTS, REACHABLE_OBJECTS};
use crate::answers::histogram::{Histogram, HistogramRow};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, escape_controls};

impl Present for Histogram {
    const COMMAND: &'static str = "stats";

    fn table(&self, style: &Style) -> Table<'_> {
        let rows = self.rows.as_slice();
        let with_loader = style.is_for_people();
        let module = Column::word("module", "Module").hide_priority(1);
        let location = Column::word("location", "Constructor").hide_priority(1);
        let columns = self.figures().into_iter().fold(Columns::new(), |columns, figure| {
            let hide_priority = match figure {
                REACHABLE_OBJECTS => 3,
                ESTIMATED_OBJECTS => 2,
                _ => 0,
            };
            columns.add(hidden(figure, hide_priority), move |row: &mut &HistogramRow| row.figure(figure))
        });
        columns
            .add_if(rows.iter().any(|row| row.module.is_some()), module, |row| {
                row.module.as_deref().unwrap_or("(none)")
            })
            .add_if(rows.iter().any(|row| row.location.is_some()), location, |row| {
                row.location.map_or(String::new(), |location| location.text())
            })
            .add(self.group_by.figure(), move |row| {
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
