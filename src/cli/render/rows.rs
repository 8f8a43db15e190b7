//! Objects and roots wherever an answer names them: columns, cells and words, safe for a terminal.

use crate::answers::{ObjectRow, RootRow};
use crate::report::{Cell, Column, Unit, escape_controls};

/// A root in a line: `static BubbleGame.Events.EventBus (pinned)`.
pub(crate) fn root_text(root: &RootRow) -> String {
    escape_controls(&root.text()).into_owned()
}

/// A root for people who do not know the kinds: `a static variable of BubbleGame.Events.EventBus, pinned`.
pub(crate) fn root_words(root: &RootRow) -> String {
    escape_controls(&root.words()).into_owned()
}

/// The last columns of a table of objects: the type, and before it the class that a class object stands for, where the
/// dump has class objects.
pub(crate) fn type_columns(has_classes: bool) -> Vec<Column> {
    let class = has_classes.then(|| Column::new("class", "Class", Unit::Word).hide_priority(1));
    class.into_iter().chain([Column::new("type", "Type", Unit::Text)]).collect()
}

/// An object's cells for [`type_columns`].
pub(crate) fn type_cells<'c>(row: ObjectRow, has_classes: bool) -> impl Iterator<Item = Cell<'c>> {
    let class = has_classes.then(|| row.class.map_or(Cell::Missing, Cell::text));
    class.into_iter().chain([Cell::text(row.type_name)])
}

/// The same for a row that is no object but has a text.
pub(crate) fn text_cells<'c>(text: String, has_classes: bool) -> impl Iterator<Item = Cell<'c>> {
    has_classes.then_some(Cell::Missing).into_iter().chain([Cell::text(text)])
}
