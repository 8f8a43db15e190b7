//! Objects and roots wherever an answer names them: columns and words, safe for a terminal.

use std::borrow::Cow;

use crate::answers::histogram::{FieldNumber, HistogramRow};
use crate::answers::values::ShownValue;
use crate::answers::{Figure, ObjectRow, RootRow, type_words};
use crate::report::{Cell, Column, Style, TextPage, escape_controls};

/// The class that a class object stands for, in dumps that have class objects.
pub(crate) const CLASS: Column = Column::word("class", "Class").with_hide_priority(1);

impl From<Figure> for Column {
    fn from(figure: Figure) -> Self {
        Column::new(figure.key, figure.title, figure.unit)
    }
}

/// A column to be left out on a narrow terminal.
pub(crate) fn hideable_column(figure: Figure, hide_priority: u8) -> Column {
    Column::from(figure).with_hide_priority(hide_priority)
}

/// The place of a figure among those that go on a narrow terminal: rows are never without what they are ordered by.
pub(crate) fn hide_priority(figure: Figure, order: Option<Figure>, place: u8) -> u8 {
    if order == Some(figure) { 0 } else { place }
}

/// The name of a field, or of another way to refer to an object.
pub(crate) const REFERENCE: Column = Column::word("reference", "Reference");
/// The value of an object or a field.
pub(crate) const VALUE: Column = Column::text("value", "Value");

/// The text has more characters than are shown; in forms for programs.
pub(crate) const TRUNCATED: Column = Column::word("truncated", "Truncated");

impl From<ShownValue> for Cell<'_> {
    fn from(value: ShownValue) -> Self {
        if value.is_json_literal() { Cell::JsonLiteral(value.plain_text()) } else { Cell::text(value.plain_text()) }
    }
}

impl From<FieldNumber> for Cell<'_> {
    fn from(number: FieldNumber) -> Self {
        if number.is_json_literal() { Cell::JsonLiteral(number.text()) } else { Cell::text(number.text()) }
    }
}

/// For people as a table shows it, else as it is.
pub(crate) fn value_for_cell(value: ShownValue, for_people: bool) -> ShownValue {
    if for_people { value.in_table() } else { value }
}

/// The name of a type, or those of a path, in words where they are wanted.
pub(crate) fn type_words_if(is_wanted: bool, name: Cow<'_, str>) -> Cow<'_, str> {
    const STEP_SEPARATOR: &str = " > ";
    match is_wanted {
        true => name.split(STEP_SEPARATOR).map(type_words).collect::<Vec<_>>().join(STEP_SEPARATOR).into(),
        false => name,
    }
}

/// The name of a type or group: with its loader for people, and in words on a terminal.
pub(crate) fn group_name<'r>(row: &'r HistogramRow, style: &Style) -> Cow<'r, str> {
    type_words_if(style.draws_tables(), row.name_with_loader(style.is_for_people()))
}

/// A root in a line: `static BubbleGame.Events.EventBus (pinned)`.
pub(crate) fn root_text(root: &RootRow) -> String {
    escape_controls(&root.text()).into_owned()
}

/// A root for people who do not know the kinds: `a static variable of BubbleGame.Events.EventBus, pinned`.
pub(crate) fn root_words(root: &RootRow) -> String {
    escape_controls(&root.words()).into_owned()
}

/// The first line of an answer on one object.
pub(crate) fn write_object_heading(object: &ObjectRow, page: &mut TextPage<'_>) {
    let line = page.style().fitted_row(&format!("{}  ", object.id), &[], &object.type_text());
    page.line(line.replacen(&object.id, &page.style().bold(&object.id), 1));
}

/// The last line of an answer that rests on inferred roots.
pub(crate) fn note_inferred_roots(roots_inferred: bool, page: &mut TextPage<'_>) {
    if roots_inferred {
        page.paragraph("\nRoots are inferred: the dump has no root records.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::ObjectOptions;

    #[test]
    fn a_heading_is_no_wider_than_the_terminal() {
        let dump = crate::open("fixtures/xna_cf/small_1k.txt").unwrap();
        let options = ObjectOptions::new("1#7fe45".parse().unwrap());
        let row = crate::answers::object(&dump, &options).unwrap().object.row;
        let (mut out, style) = (Vec::new(), Style { is_terminal: true, width: 40, ..Style::PLAIN });
        let mut page = TextPage::new(&mut out, style);
        write_object_heading(&ObjectRow { value_words: Some("<p>112</p>".repeat(9)), ..row }, &mut page);
        page.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.len() <= 40) && text.contains("112</p>"), "{text}");
    }
}
