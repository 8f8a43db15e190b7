//! `heapdump leaks`.

use crate::answers::Leaks;
use crate::report::{Cell, Column, Present, Style, Table, TextPage, Unit, escape_controls, escape_markdown};

impl Present for Leaks<'_> {
    const COMMAND: &'static str = "leaks";

    fn table(&self, _: &Style) -> Table<'_> {
        Table {
            columns: vec![
                Column::new("kind", "Kind", Unit::Word),
                Column::new("id", "Object", Unit::Word),
                Column::new("objects", "Objects", Unit::Count),
                Column::new("retained_bytes", "Retained", Unit::Bytes),
                Column::new("share", "Share", Unit::Share),
                Column::new("type", "Type", Unit::Text),
            ],
            row_count: self.suspects.len(),
            rows_hidden: 0,
            row: Box::new(|at| {
                let row = self.suspects.row(at);
                vec![
                    Cell::text(row.kind.name()),
                    row.id.map_or(Cell::Missing, Cell::text),
                    Cell::Number(row.objects as u64),
                    Cell::Number(row.retained_bytes),
                    Cell::Share(row.share),
                    Cell::text(row.type_name),
                ]
            }),
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        match (self.suspects.is_empty(), self.omitted.of_other_types) {
            (true, 0) => {
                let least = self.suspects.size(self.threshold_bytes);
                page.line(format!("No suspects: nothing retains {least} or more."));
            }
            (true, others) => page.line(format!("No suspects of these types; {others} of others.")),
            _ => {}
        }
        for (number, suspect) in self.suspects.iter().enumerate() {
            let title = page.style().bold(&format!("Suspect {}", number + 1));
            page.line(title);
            page.paragraph(&escape_controls(&suspect.text));
            page.line("");
        }
        if self.omitted.beyond_limit > 0 {
            page.line(format!("{} more; -n 0 shows all", self.omitted.beyond_limit));
        }
        if self.roots_inferred {
            page.line("Roots are inferred: this format has no root records.");
        }
    }

    /// Headings and paragraphs.
    fn markdown(&self, page: &mut TextPage<'_>) {
        for (number, suspect) in self.suspects.iter().enumerate() {
            page.line(format!("### Suspect {}\n\n{}\n", number + 1, escape_markdown(&suspect.text)));
        }
    }
}
