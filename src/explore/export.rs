//! The rows of a view in a file.

use std::path::Path;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::listing::{ArrangedRows, ListColumn, ListPart, ListRow, Listing, RowStyle};
use super::setup::BrowsedDumps;
use crate::answers::browse::HeapBrowser;
use crate::dump::inputs_of;
use crate::files::OutputTarget;
use crate::report::{Cell, Column, ColumnUnit, Columns, Format, Present, Style, Table, write_answer};
use crate::units::count_with_noun;

/// Rows that are to be written.
#[derive(Debug, Clone)]
pub(super) struct ListExport {
    pub(super) listing: Arc<Listing>,
    pub(super) rows: ArrangedRows,
    pub(super) file_path: String,
    /// A file of that name may be replaced.
    pub(super) replaces_existing: bool,
}

/// That the file is there already.
pub(super) const FILE_EXISTS_TEXT: &str = "is there already";

impl ListExport {
    /// Writes the file; the result in words.
    pub(super) fn write(&self, dumps: BrowsedDumps) -> Result<String, String> {
        let path = Path::new(self.file_path.trim());
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Format::Csv,
            Some("json") => Format::Json,
            _ => return Err("the name ends with .csv or .json".into()),
        };
        if path.exists() && !self.replaces_existing {
            return Err(FILE_EXISTS_TEXT.into());
        }
        let failed = |why: String| format!("cannot write {}: {why}", path.display());
        let paths = dumps.all().map(|dump| dump.path());
        let target = OutputTarget::find(Some(path), &inputs_of(paths, Some(path)))
            .map_err(|error| format!("{} {error}", path.display()))?;
        let browser = if self.listing.has_objects() { HeapBrowser::of(dumps.new).ok() } else { None };
        let rows = ExportedRows { export: self, browser, places: self.places_without_titles() };
        let mut out = target.begin_lazily(|| {});
        write_answer(&rows, &mut out, &Style { format, ..Style::PLAIN }).map_err(|error| failed(error.to_string()))?;
        // Rows were read for it that no screen has shown.
        let mut checks = dumps.all().filter_map(|dump| dump.index_check());
        if let Some(why) = checks.find_map(|check| check.damage()) {
            return Err(failed(format!("the index is damaged: {why}")));
        }
        out.finish().map_err(|error| failed(error.to_string()))?;
        Ok(format!("wrote {} to {}", count_with_noun(rows.len() as u64, "rows"), path.display()))
    }
}

struct ExportedRows<'e> {
    export: &'e ListExport,
    browser: Option<HeapBrowser<'static>>,
    /// The places of all but titles; `None` for all.
    places: Option<Vec<usize>>,
}

fn column_key(column: &ListColumn) -> String {
    let title = column.figure.title.to_lowercase();
    let unit = if column.figure.unit == ColumnUnit::Bytes && title != "bytes" { "_bytes" } else { "" };
    format!("{title}{unit}{}", if column.is_growth { "_delta" } else { "" })
}

impl ListExport {
    /// The places of all rows that are no titles, where there are titles.
    fn places_without_titles(&self) -> Option<Vec<usize>> {
        let is_title = |row: &ListRow| row.style == RowStyle::Title && row.leading_text.is_empty();
        let has_titles = self.listing.parts.iter().any(|part| match part {
            ListPart::Rows(rows) => rows.iter().any(is_title),
            ListPart::Objects { .. } => false,
        });
        let is_row = |&at: &usize| {
            let row = self.rows.get(at).and_then(|row| self.listing.stored_row(row));
            !row.is_some_and(is_title)
        };
        has_titles.then(|| (0..self.rows.row_count).filter(is_row).collect())
    }
}

impl ExportedRows<'_> {
    fn len(&self) -> usize {
        self.places.as_ref().map_or(self.export.rows.row_count, Vec::len)
    }

    fn row(&self, at: usize) -> ListRow {
        let at = self.places.as_ref().map_or(at, |places| places[at]);
        let row = self.export.rows.get(at).and_then(|row| self.export.listing.row(row, self.browser.as_ref()));
        row.unwrap_or_else(|| ListRow::title(""))
    }
}

impl Serialize for ExportedRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("rows", ExportedRowList(self))])
    }
}

struct ExportedRowList<'e>(&'e ExportedRows<'e>);

impl Serialize for ExportedRowList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let figures = &self.0.export.listing.columns;
        serializer.collect_seq((0..self.0.len()).map(|at| ExportedRow { row: self.0.row(at), columns: figures }))
    }
}

struct ExportedRow<'e> {
    row: ListRow,
    columns: &'e [ListColumn],
}

impl Serialize for ExportedRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (figure, own) in self.columns.iter().zip(&self.row.figures) {
            map.serialize_entry(&column_key(figure), own)?;
        }
        if !self.row.id.is_empty() {
            map.serialize_entry("id", &self.row.id)?;
        }
        if let Some(level) = self.row.level {
            map.serialize_entry("level", &level)?;
        }
        if !relation(&self.row).is_empty() {
            map.serialize_entry("relation", &relation(&self.row))?;
        }
        map.serialize_entry("name", &self.row.name)?;
        if !self.row.details.is_empty() {
            map.serialize_entry("details", &detail_lines(&self.row))?;
        }
        map.end()
    }
}

/// The text before the name, where that is not its id.
fn relation(row: &ListRow) -> String {
    // Marks of trees and paths are for the screen.
    let lead = if row.level.is_some() { "" } else { row.leading_text.trim() };
    let lead = Some(lead).filter(|lead| *lead != row.id && *lead != "+").unwrap_or_default();
    [lead, row.reference.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Further lines, each with its blanks put right.
fn detail_lines(row: &ListRow) -> Vec<String> {
    let words =
        |(label, text): &(&str, String)| format!("{label} {}", text.split_whitespace().collect::<Vec<_>>().join(" "));
    row.details.iter().map(words).collect()
}

impl Present for ExportedRows<'_> {
    const COMMAND: &'static str = "explore";

    fn table<'t>(&'t self, _: &Style) -> Table<'t> {
        let figures = &self.export.listing.columns;
        let add = |columns: Columns<'t, ListRow>, (at, figure): (usize, &ListColumn)| {
            let signed = figure.is_growth;
            let column = Column::named(&column_key(figure), ColumnUnit::Count);
            columns.add(column, move |row: &mut ListRow| match row.figures.get(at).copied().flatten() {
                None => Cell::Missing,
                Some(figure) if signed => Cell::Signed(figure),
                Some(figure) => Cell::Number(figure.unsigned_abs()),
            })
        };
        let columns = figures.iter().enumerate().fold(Columns::new(), add);
        columns
            .add(Column::word("id", "Id"), |row: &mut ListRow| std::mem::take(&mut row.id))
            .add(Column::named("level", ColumnUnit::Count), |row| {
                row.level.map_or(Cell::Missing, |level| Cell::Number(level.into()))
            })
            .add(Column::word("relation", "Relation"), |row| relation(row))
            .add(Column::text("name", "Name"), |row| std::mem::take(&mut row.name))
            .add(Column::text("details", "Details"), |row| detail_lines(row).join("; "))
            .table(self.len(), 0, move |at| self.row(at))
    }
}
