//! `heapdump referrers`.

use super::rows::REFERENCE;
use crate::answers::Referrers;
use crate::answers::figure::{LEVEL, REFERENCES, REFERRERS, SHALLOW, TYPE};
use crate::answers::referrers::ReferrerRow;
use crate::answers::tree::{LazyTree, TreeRow};
use crate::report::{
    Columns, Outline, OutlineRow, Present, Style, Table, TextPage, count_of, escape_controls, format_count,
    width_of_sizes,
};

impl Present for Referrers<'_> {
    const COMMAND: &'static str = "referrers";

    fn table(&self, _: &Style) -> Table<'_> {
        Columns::new()
            .add(LEVEL, |place: &mut TreeRow<ReferrerRow<'_>>| place.depth)
            .add(REFERRERS, |place| place.row.referrers)
            .add(REFERENCES, |place| place.row.references)
            .add(SHALLOW, |place| place.row.shallow_bytes)
            .add_if(self.referrers.have_names(), REFERENCE, |place| place.row.reference.take())
            .add(TYPE, |place| place.row.type_name)
            .table(self.referrers.len(), 0, |at| self.referrers.get(at))
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let objects = count_of(self.of.objects, "objects");
        let of = match &self.of.words {
            Some(words) => words.clone(),
            None => {
                let part = |word: &str, text: &Option<String>| text.as_ref().map(|text| format!(" {word} {text}"));
                let parts = [part("of", &self.of.pattern), part("where", &self.of.filter)];
                format!("{objects}{}", parts.into_iter().flatten().collect::<String>())
            }
        };
        page.paragraph(format!("What refers to {}\n", escape_controls(&of)));
        page.tree(&Outline {
            figures: vec![
                ("referrers", 11),
                ("references", 11),
                ("shallow", width_of_sizes(self.referrers.largest_bytes(), &style)),
            ],
            gap: 1,
            title: "referred to by",
            header: style.header,
            deepest: self.referrers.deepest(),
            row_count: self.referrers.len(),
            options_for_all: "-n 0",
            row: Box::new(move |at| {
                let TreeRow { depth, hidden_after, row } = self.referrers.get(at);
                let name = row.reference.map_or(String::new(), |name| format!("{name}  "));
                OutlineRow {
                    depth: depth as usize,
                    hidden_after: hidden_after.into(),
                    figures: vec![
                        format_count(row.referrers),
                        format_count(row.references),
                        style.size(row.shallow_bytes),
                    ],
                    name: name + row.type_name,
                    ..OutlineRow::default()
                }
            }),
        });
    }
}
