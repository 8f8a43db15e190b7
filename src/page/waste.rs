//! The section on waste: each kind with the fields that hold most of it.

use super::ask::{PageContent, waste_options};
use super::html::Html;
use super::names::shown;
use super::sections::Sections;
use super::tables::{bar_cell, cell, share, table_close, table_open, type_name};
use crate::answers::Waste;
use crate::answers::waste::WasteKindRow;
use crate::units::{count_of, format_bytes, format_count};

impl Sections<'_, '_> {
    /// The answer, where the dump has what it takes and wastes anything.
    pub(super) fn waste_answer(&self) -> Option<&Waste> {
        match &self.page.content {
            PageContent::Objects(objects) => objects.waste.as_ref(),
            PageContent::Allocations(_) => None,
        }
    }

    pub(super) fn waste(&self, html: &mut Html) {
        let Some(waste) = self.waste_answer() else { return };
        let totals = &waste.totals;
        html.markup("<section id=\"waste\"><h2>Waste: what could be smaller</h2><p class=\"under\">");
        html.text(format!(
            "{} of {}, {}, by kind and by the field that holds it. No byte counts twice.",
            format_bytes(totals.wasted_bytes),
            format_bytes(totals.heap_bytes),
            share(totals.wasted_bytes, totals.heap_bytes)
        ));
        if let Some(note) = waste.redaction_note() {
            html.text(format!(" Mind that {note}."));
        }
        html.markup("</p>\n");
        for kind in waste.kinds.iter().filter(|kind| !kind.rows.is_empty()) {
            self.kind_of_waste(kind, html);
        }
        self.command(&waste_options().command_line(), html);
        html.markup("</section>\n");
    }

    fn kind_of_waste(&self, kind: &WasteKindRow, html: &mut Html) {
        html.markup("<h3>").text(kind.kind.name()).markup("</h3><p class=\"under\">");
        html.text(format!(
            "{}: {} in {}",
            kind.kind.words(),
            format_bytes(kind.wasted_bytes),
            count_of(kind.objects, "objects")
        ));
        html.markup("</p>\n");
        table_open(html, kind.kind.name(), &["", "Wasted", "Objects", "Example", "Type", "Held by"]);
        let largest = kind.rows.iter().map(|row| row.wasted_bytes).max().unwrap_or(0);
        for row in &kind.rows {
            html.markup("<tr>");
            bar_cell(html, row.wasted_bytes, largest);
            cell(html, format_bytes(row.wasted_bytes));
            cell(html, format_count(row.objects));
            html.markup("<td><span class=\"id\">").text(&row.example).markup("</span></td><td class=\"name\">");
            type_name(html, &row.shown_type());
            html.markup("</td><td class=\"name\">").text(shown(&row.held_by)).markup("</td></tr>");
        }
        table_close(html);
    }
}
