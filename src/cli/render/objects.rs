//! `heapdump list`.

use super::rows::{CLASS, TRUNCATED, VALUE, shown};
use crate::answers::ObjectList;
use crate::answers::figure::{ID, REFERENCES, RETAINED, SHALLOW, TYPE, TYPE_WORD};
use crate::answers::objects::ListedObject;
use crate::report::{Column, Columns, Format, Present, Style, Table, TextPage, Unit};

impl Present for ObjectList<'_> {
    const COMMAND: &'static str = "list";

    fn table<'t>(&'t self, style: &Style) -> Table<'t> {
        let (rows, is_drawn) = (&self.objects, style.terminal && style.format == Format::Table);
        let for_people = style.is_for_people();
        let is_column = rows.are_saying() && !is_drawn;
        let type_column = if is_column { TYPE_WORD } else { TYPE };
        let columns = Columns::new()
            .add(ID, |row: &mut ListedObject<'_>| std::mem::take(&mut row.id))
            .add(SHALLOW, |row| row.shallow_bytes)
            .add(RETAINED, |row| row.retained_bytes)
            .add(REFERENCES, |row| row.references)
            .add_if(rows.has_distances(), Column::count("distance", "Distance"), |row| {
                row.distance.flatten().map(u64::from)
            })
            .add_if(rows.has_classes(), CLASS, |row| row.class.flatten());
        let add_field = |columns: Columns<'t, _>, (place, path): (usize, &str)| {
            columns.add(Column::named(path, Unit::Word), move |row: &mut ListedObject<'_>| {
                let value = row.fields.as_ref().and_then(|fields| fields.at(place)).cloned();
                value.map(|value| shown(value, for_people))
            })
        };
        let columns = rows.fields().enumerate().fold(columns, add_field);
        columns
            .add(type_column, move |row| if is_drawn { row.type_text() } else { row.type_name.to_string() })
            .add_if(is_column, VALUE, move |row| row.value.take().flatten().map(|value| shown(value, for_people)))
            .add_if((rows.are_saying() || rows.fields().next().is_some()) && !for_people, TRUNCATED, |row| {
                row.truncated
            })
            .table(rows.len(), self.found - rows.len(), move |at| if is_drawn { rows.saying(at) } else { rows.get(at) })
    }

    fn text(&self, page: &mut TextPage<'_>) {
        if self.roots_inferred {
            page.paragraph("Retained sizes rest on inferred roots: the dump has none.");
        }
        let table = self.table(page.style());
        page.table(&table);
    }
}
