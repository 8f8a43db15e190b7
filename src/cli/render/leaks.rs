//! `heapdump leaks`.

use crate::answers::figure::{EXAMPLE, ID, KIND, OBJECTS, RETAINED, SENTENCE, SHALLOW, SHARE, TYPE};
use crate::answers::leaks::{SurvivorRow, SuspectRow};
use crate::answers::{Leaks, Survivors, cut_sentence};
use crate::report::{Columns, Present, Style, Table, TextPage, count_with_noun, escape_controls, escape_markdown};

impl Present for Leaks<'_> {
    const COMMAND: &'static str = "leaks";
    const IS_PROSE: bool = true;

    fn table(&self, _: &Style) -> Table<'_> {
        Columns::new()
            .add(KIND, |(row, _): &mut (SuspectRow<'_>, Option<&str>)| row.kind.name())
            .add(ID, |(row, _)| row.id.take())
            .add(OBJECTS, |(row, _)| row.objects)
            .add(RETAINED, |(row, _)| row.retained_bytes)
            .add(SHARE, |(row, _)| row.share)
            .add(TYPE, |(row, _)| row.type_name)
            .add(SENTENCE, |(_, sentence)| *sentence)
            .table(self.suspects.len(), 0, |at| (self.suspects.row(at), self.suspects.cause_sentence(at)))
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        match (self.suspects.is_empty(), self.omitted.of_other_types) {
            (true, 0) => {
                let least = self.suspects.size_in_words(self.threshold_bytes);
                let what = if self.is_of_growth { "nothing grew by" } else { "nothing retains" };
                page.paragraph(format!("No suspects: {what} {least} or more."));
            }
            (true, others) => page.paragraph(format!("No suspects of these types; {others} of others.")),
            _ => {}
        }
        for (number, lines) in self.suspects.lines(page.style().is_terminal).enumerate() {
            page.line(page.style().bold(&format!("Suspect {}", number + 1)));
            for (at, line) in lines.iter().enumerate() {
                let line = format!("{}{}", if at == 0 { "" } else { "  " }, escape_controls(line));
                // The command at the end is copied.
                if at + 1 == lines.len() { page.command(line) } else { page.paragraph(line) }
            }
            page.line("");
        }
        for row in &self.detached {
            page.paragraph(escape_controls(&row.text()));
            page.line("");
        }
        if self.omitted.beyond_limit > 0 {
            page.line(format!("{} more; -n 0 shows all", self.omitted.beyond_limit));
        }
        if self.omitted.unchanged > 0 {
            let count = count_with_noun(self.omitted.unchanged as u64, "large objects");
            page.line(format!("{count} did not grow; --all shows them"));
        }
        let cut = cut_sentence(&self.problems);
        if let Some(cut) = &cut {
            page.paragraph(format!("{cut}."));
        }
        if self.roots_inferred && cut.is_none() {
            page.paragraph("Roots are inferred: the dump has no root records.");
        } else if self.roots_inferred {
            page.paragraph("Roots are inferred: none were read.");
        }
    }

    fn write_markdown(&self, page: &mut TextPage<'_>) {
        for (number, suspect) in self.suspects.iter().enumerate() {
            page.line(format!("### Suspect {}\n", number + 1));
            for text in suspect.sentence.iter().chain([&suspect.evidence.join(" ")]) {
                page.line(format!("{}\n", escape_markdown(text)));
            }
            page.line(format!("- Inside: {}", escape_markdown(&suspect.contents_in_words)));
            if let Some(advice) = suspect.advice {
                page.line(format!("- What to do: {}", escape_markdown(advice)));
            }
            page.line(format!(
                "- Look further with: {}\n",
                escape_markdown(&self.suspects.look_further_command(&suspect))
            ));
        }
        for row in &self.detached {
            page.line(format!("{}\n", escape_markdown(&row.text())));
        }
    }
}

impl Present for Survivors<'_> {
    const COMMAND: &'static str = "leaks";
    const IS_PROSE: bool = true;

    fn table(&self, _: &Style) -> Table<'_> {
        Columns::new()
            .add(OBJECTS, |row: &mut SurvivorRow<'_>| row.objects)
            .add(SHALLOW, |row| row.shallow_bytes)
            .add(RETAINED, |row| row.retained_bytes)
            .add(EXAMPLE, |row| std::mem::take(&mut row.example))
            .add(TYPE, |row| row.type_name)
            .table(self.types.len(), self.types.rows_hidden, |at| self.types.get(at))
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        page.paragraph(self.sentence());
        self.causes.iter().for_each(|cause| page.paragraph(escape_controls(cause)));
        for row in self.types.iter() {
            page.line("");
            page.paragraph(escape_controls(&row.text()));
        }
        if self.types.rows_hidden > 0 {
            page.line(format!("\n{}; -n 0 shows all", count_with_noun(self.types.rows_hidden as u64, "more types")));
        }
    }
}
