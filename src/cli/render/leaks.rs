//! `heapdump leaks`.

use crate::answers::Leaks;
use crate::answers::leaks::SuspectRow;
use crate::report::{Column, Columns, Present, Style, Table, TextPage, escape_controls, escape_markdown};

impl Present for Leaks<'_> {
    const COMMAND: &'static str = "leaks";
    const IS_PROSE: bool = true;

    fn table(&self, _: &Style) -> Table<'_> {
        Columns::new()
            .add(Column::word("kind", "Kind"), |row: &mut SuspectRow<'_>| row.kind.name())
            .add(Column::word("id", "Object"), |row| row.id.take())
            .add(Column::count("objects", "Objects"), |row| row.objects)
            .add(Column::bytes("retained_bytes", "Retained"), |row| row.retained_bytes)
            .add(Column::share("share", "Share"), |row| row.share)
            .add(Column::text("type", "Type"), |row| row.type_name)
            .table(self.suspects.len(), 0, |at| self.suspects.row(at))
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
        for (number, text) in self.suspects.paragraphs(page.style().terminal).enumerate() {
            page.line(page.style().bold(&format!("Suspect {}", number + 1)));
            page.paragraph(&escape_controls(&text));
            page.line("");
        }
        if self.omitted.beyond_limit > 0 {
            page.line(format!("{} more; -n 0 shows all", self.omitted.beyond_limit));
        }
        if self.roots_inferred {
            page.line("Roots are inferred: this format has no root records.");
        }
    }

    fn markdown(&self, page: &mut TextPage<'_>) {
        for (number, suspect) in self.suspects.iter().enumerate() {
            page.line(format!("### Suspect {}\n\n{}\n", number + 1, escape_markdown(&suspect.text)));
        }
    }
}
