//! `heapdump strings`.

use super::rows::{TRUNCATED, hidden};
use crate::answers::StringsAnswer;
use crate::answers::figure::{BYTES, COPIES, EXAMPLE, WASTED};
use crate::answers::strings::TextRow;
use crate::report::{Column, Columns, Format, Present, Style, Table, TextPage, count_of};

/// Holders in a line for people.
const MOST_HOLDERS: usize = 1;

impl Present for StringsAnswer<'_> {
    const COMMAND: &'static str = "strings";

    fn table(&self, style: &Style) -> Table<'_> {
        let (rows, is_drawn) = (&self.strings, style.terminal && style.format == Format::Table);
        let style = *style;
        let holders = if is_drawn { Column::text } else { Column::word }("holders", "Held by");
        Columns::new()
            .add(COPIES, |row: &mut TextRow| row.copies)
            .add(hidden(BYTES, 1), |row| row.bytes)
            .add(WASTED, |row| row.wasted_bytes)
            .add(hidden(EXAMPLE, 2), |row| std::mem::take(&mut row.example))
            .add_if(rows.have_holders(), holders, move |row| {
                let held_by = row.held_by(if is_drawn { MOST_HOLDERS } else { usize::MAX });
                // The texts have the rest of the line.
                held_by.map(|text| if is_drawn { style.fit(style.width * 2 / 3, &text) } else { text })
            })
            .add(Column::text("text", "Text"), move |row| match is_drawn {
                true => row.words(),
                false if style.is_for_people() => row.in_table(),
                false => std::mem::take(&mut row.text),
            })
            .add_if(!style.is_for_people(), TRUNCATED, |row| row.truncated)
            .table(rows.len(), self.found - rows.len(), |at| rows.get(at))
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let totals = &self.totals;
        page.paragraph(format!(
            "{} in {}, {}; {} would be freed if each text were there once.",
            style.bold(&style.bytes(totals.bytes)),
            count_of(totals.strings, "strings"),
            count_of(totals.distinct, "different texts"),
            style.bold(&style.bytes(totals.wasted_bytes)),
        ));
        if let Some(matching) = &self.matching {
            page.paragraph(format!(
                "{} with {} match: {}.",
                count_of(matching.strings, "strings"),
                count_of(matching.distinct, "different texts"),
                style.bytes(matching.bytes)
            ));
        }
        page.line("");
        page.table(&self.table(&style));
    }
}
