//! A list as the browser has it: rows that are made when they are seen, and their order.

use std::cmp::Ordering;

use super::view::BrowserView;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::browse::{HeapBrowser, ObjectSizes};
use crate::answers::figure::{ColumnUnit, DOMINATED_OBJECTS, Figure, RETAINED, SHALLOW};
use crate::graph::NodeId;
use crate::names::row_lines;
use crate::sort;
use crate::units::{format_bytes, format_count, saturating_signed, sign_prefix};

/// A column of figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListColumn {
    pub(super) figure: Figure,
    /// By how much something grew: with a sign.
    pub(super) is_growth: bool,
    /// The order for `--sort`; none where the command cannot be sorted by it.
    pub(super) command_order: Option<Figure>,
    /// Where there is no room for all of them beside names, those with the highest number go first; 0 stays.
    pub(super) hide_priority: u8,
}

impl ListColumn {
    pub(super) const fn new(figure: Figure, hide_priority: u8) -> Self {
        ListColumn { figure, is_growth: false, command_order: Some(figure), hide_priority }
    }

    pub(super) const fn of_growth(figure: Figure, hide_priority: u8) -> Self {
        ListColumn { is_growth: true, ..ListColumn::new(figure, hide_priority) }
    }

    pub(super) const fn titled(self, title: &'static str) -> Self {
        ListColumn { figure: self.figure.with_title(title), ..self }
    }

    /// The same where the command cannot be sorted by it.
    pub(super) const fn unsorted(self) -> Self {
        ListColumn { command_order: None, ..self }
    }

    /// A figure in words; sizes as plain bytes where that is wanted.
    pub(super) fn figure_text(self, figure: i64, plain: bool) -> String {
        let size = figure.unsigned_abs();
        let words =
            if self.figure.unit == ColumnUnit::Bytes && !plain { format_bytes(size) } else { format_count(size) };
        let sign = if self.is_growth || figure < 0 { sign_prefix(figure) } else { "" };
        format!("{sign}{words}")
    }
}

/// Where a row leads.
#[derive(Debug, Clone, Default)]
pub(super) enum RowTarget {
    #[default]
    NoTarget,
    Object(NodeId),
    /// Objects of this type.
    Type(String),
    /// Those objects below one place that are of this type.
    MergedType(String),
    View(Box<BrowserView>),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RowStyle {
    #[default]
    Plain,
    Title,
    /// An object on all paths.
    OnAllPaths,
    /// A row that holds nothing, or is left out.
    Faint,
}

/// A row of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct ListRow {
    /// By column of figures.
    pub(super) figures: Vec<Option<i64>>,
    pub(super) id: String,
    /// A mark or a count before the name: `←`, `12 ×`.
    pub(super) leading_text: String,
    /// The name of the reference that leads to it: `static Zoo.bus`, `.next`.
    pub(super) reference: String,
    pub(super) name: String,
    pub(super) target: RowTarget,
    /// The object of the row, where that is another than its target.
    pub(super) node: Option<NodeId>,
    pub(super) style: RowStyle,
    /// Levels of a tree above it, or steps of a path.
    pub(super) level: Option<u32>,
    /// Further lines of the row, by what they are of.
    pub(super) details: Vec<(&'static str, String)>,
    /// Its place among rows whose figures are alike.
    pub(super) tie_rank: u32,
}

impl ListRow {
    pub(super) fn new(name: impl Into<String>, target: RowTarget) -> Self {
        ListRow { name: name.into(), target, ..ListRow::default() }
    }

    /// Is it what is looked for? Names without what is added to them, as the option `--type` sees them.
    fn matches_find(&self, pattern: &TypePattern) -> bool {
        match &self.target {
            RowTarget::Type(name) | RowTarget::MergedType(name) => pattern.matches(name),
            RowTarget::View(view) => view.findable_name().is_some_and(|name| pattern.matches(name)),
            _ => pattern.matches(&self.name),
        }
    }

    pub(super) fn title(text: impl Into<String>) -> Self {
        ListRow { style: RowStyle::Title, ..ListRow::new(text, RowTarget::NoTarget) }
    }
}

/// Rows of one kind, one after another.
#[derive(Debug)]
pub(super) enum ListPart {
    Rows(Vec<ListRow>),
    /// Objects; names of the references that lead to the first of them.
    Objects {
        nodes: Vec<NodeId>,
        references: Vec<Option<String>>,
        leading_text: &'static str,
        faint_places: Vec<u32>,
    },
}

impl ListPart {
    pub(super) fn of_objects(nodes: Vec<NodeId>) -> Self {
        ListPart::Objects { nodes, references: Vec::new(), leading_text: "", faint_places: Vec::new() }
    }

    fn len(&self) -> usize {
        match self {
            ListPart::Rows(rows) => rows.len(),
            ListPart::Objects { nodes, .. } => nodes.len(),
        }
    }
}

pub(super) const OBJECT_COLUMNS: [ListColumn; 3] =
    [ListColumn::new(RETAINED, 0), ListColumn::new(SHALLOW, 90), ListColumn::new(DOMINATED_OBJECTS, 72)];

pub(super) fn figures_of_object(sizes: ObjectSizes) -> Vec<Option<i64>> {
    let ObjectSizes { shallow_bytes, retained_bytes_and_objects: retained } = sizes;
    vec![
        retained.map(|(bytes, _)| saturating_signed(bytes)),
        Some(saturating_signed(shallow_bytes)),
        retained.map(|(_, objects)| saturating_signed(objects)),
    ]
}

/// The list of a view: its columns, its rows, and the texts around them.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) columns: Vec<ListColumn>,
    /// The whole that shares of the first column are of; `None` where it has none.
    pub(super) share_total: Option<i64>,
    /// Above the names, which are the last column.
    pub(super) name_column_title: &'static str,
    pub(super) header_lines: Vec<String>,
    pub(super) parts: Vec<ListPart>,
    /// The column by which it comes in order; `None` for an order that is none of sizes, and cannot be changed.
    pub(super) sorted_by_column: Option<usize>,
    /// The dump has stacks that allocated as well: `breakdown` shows their tree, not this one.
    pub(super) has_allocation_tree: bool,
    /// In place of rows, where there are none.
    pub(super) empty_text: String,
}

impl Listing {
    pub(super) fn new(figures: &[ListColumn], title: &'static str, parts: Vec<ListPart>) -> Self {
        Listing {
            columns: figures.to_vec(),
            name_column_title: title,
            parts,
            empty_text: "nothing".into(),
            ..Listing::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(ListPart::len).sum()
    }

    /// Returns true if it has objects whose rows are made when they are seen.
    pub(super) fn has_objects(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ListPart::Objects { .. }))
    }

    /// The lines above the list on a screen of this width and height: a third of it at most.
    pub(super) fn shown_header_lines(&self, (width, height): (u16, u16)) -> Vec<String> {
        let lines = self.header_lines.iter().flat_map(|text| row_lines("", text, width.into()));
        lines.take(usize::from(height) / 3).collect()
    }

    /// The part that a row is in, and its number there.
    fn part_of_row(&self, row: usize) -> Option<(&ListPart, usize)> {
        let mut at = row;
        for part in &self.parts {
            match at.checked_sub(part.len()) {
                None => return Some((part, at)),
                Some(rest) => at = rest,
            }
        }
        None
    }

    /// The object of a row, if it is one.
    pub(super) fn object_of_row(&self, row: usize) -> Option<NodeId> {
        match self.part_of_row(row)? {
            (ListPart::Objects { nodes, .. }, at) => nodes.get(at).copied(),
            (ListPart::Rows(rows), at) => match rows.get(at)? {
                ListRow { node: Some(node), .. } | ListRow { target: RowTarget::Object(node), .. } => Some(*node),
                _ => None,
            },
        }
    }

    pub(super) fn stored_row(&self, row: usize) -> Option<&ListRow> {
        match self.part_of_row(row)? {
            (ListPart::Rows(rows), at) => rows.get(at),
            (ListPart::Objects { .. }, _) => None,
        }
    }

    pub(super) fn is_title_row(&self, row: usize) -> bool {
        self.stored_row(row).is_some_and(|row| row.style == RowStyle::Title)
    }

    /// A row. O(log objects).
    pub(super) fn row(&self, row: usize, browser: Option<&HeapBrowser<'static>>) -> Option<ListRow> {
        let (part, at) = self.part_of_row(row)?;
        let (nodes, references, lead, faint) = match part {
            ListPart::Rows(rows) => return rows.get(at).cloned(),
            ListPart::Objects { nodes, references, leading_text: lead, faint_places: faint } => {
                (nodes, references, lead, faint)
            }
        };
        let (node, browser) = (*nodes.get(at)?, browser?);
        let object = browser.row(node);
        Some(ListRow {
            figures: figures_of_object(browser.sizes(node)),
            id: object.id.clone(),
            leading_text: lead.to_string(),
            reference: references.get(at).cloned().flatten().unwrap_or_default(),
            style: if faint.binary_search(&(at as u32)).is_ok() { RowStyle::Faint } else { RowStyle::Plain },
            ..ListRow::new(object.type_text(), RowTarget::Object(node))
        })
    }

    /// The largest figure of the first column among all rows: what the bars are drawn by. O(rows that were made).
    pub(super) fn largest_first_figure(&self, first: Option<usize>, browser: Option<&HeapBrowser<'static>>) -> i64 {
        let made = self.parts.iter().filter_map(|part| match part {
            ListPart::Rows(rows) => rows.iter().filter_map(|row| *row.figures.first()?).max(),
            ListPart::Objects { .. } => None,
        });
        let first = first.and_then(|row| *self.row(row, browser)?.figures.first()?);
        made.chain(first).max().unwrap_or(0)
    }
}

/// By row its place in an order, which decides between rows whose figures are alike.
pub(super) fn tie_ranks<T>(rows: &[T], order: &dyn Fn(&T, &T) -> Ordering) -> Vec<u32> {
    let mut in_order: Vec<usize> = (0..rows.len()).collect();
    sort::rows_by(&mut in_order, &|&a, &b| order(&rows[a], &rows[b]));
    let mut ties = vec![0; rows.len()];
    in_order.iter().zip(0..).for_each(|(&row, rank)| ties[row] = rank);
    ties
}

/// By what a list is sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SortOrder {
    /// A column of figures; that which the list comes by, or another.
    pub(super) column: Option<usize>,
    pub(super) is_reversed: bool,
}

/// Some rows of a list, in an order.
#[derive(Debug, Clone, Default)]
pub(super) struct ArrangedRows {
    /// The rows by number, as far as they are in order; `None` for all as they come.
    pub(super) rows: Option<Vec<u32>>,
    pub(super) row_count: usize,
    pub(super) largest_first_figure: i64,
}

impl ArrangedRows {
    pub(super) fn get(&self, at: usize) -> Option<usize> {
        match &self.rows {
            None => (at < self.row_count).then_some(at),
            Some(rows) => rows.get(at).map(|&row| row as usize),
        }
    }
}

/// Puts the rows of a list that match in order; the first `first` at least. O(rows), and a sort of those.
pub(super) fn arrange(
    listing: &Listing,
    browser: Option<&HeapBrowser<'static>>,
    sort: SortOrder,
    find: Option<&TypePattern>,
    first: usize,
) -> ArrangedRows {
    let mut rows: Option<Vec<u32>> = find.map(|pattern| matching_rows(listing, browser, pattern, false));
    let is_as_it_comes = !sort.is_reversed && (sort.column.is_none() || sort.column == listing.sorted_by_column);
    let objects = match &listing.parts[..] {
        [ListPart::Objects { nodes, .. }] if listing.sorted_by_column.is_some() => Some(nodes),
        _ => None,
    };
    let mut sorted = usize::MAX;
    if let (Some(nodes), Some(browser)) = (objects, browser) {
        // Objects come by section and id, and places in the list are as good as ids.
        let order = OBJECT_COLUMNS[sort.column.or(listing.sorted_by_column).unwrap_or(0)].figure;
        let places = rows.take().unwrap_or_else(|| (0..nodes.len() as u32).collect());
        sorted = first.min(places.len());
        rows = Some(browser.sorted_places(nodes, places, order, sort.is_reversed, first));
    } else if !is_as_it_comes && listing.sorted_by_column.is_some() {
        let mut places = rows.take().unwrap_or_else(|| (0..listing.len() as u32).collect());
        let column = sort.column.or(listing.sorted_by_column).unwrap_or(0);
        let key = |place: u32| {
            listing
                .stored_row(place as usize)
                .map(|row| (row.figures.get(column).copied().flatten(), row.tie_rank))
                .unwrap_or_default()
        };
        sort::rows_by(&mut places, &|&a, &b| -> Ordering {
            let ((figure, tie_rank), (other, place)) = (key(a), key(b));
            let ordering = other.cmp(&figure).then(tie_rank.cmp(&place));
            if sort.is_reversed { ordering.reverse() } else { ordering }
        });
        rows = Some(places);
    }
    let len = rows.as_ref().map_or(listing.len(), Vec::len);
    let retained = |nodes: &[NodeId], browser: &HeapBrowser<'static>, rows: &[u32]| {
        let of_row =
            |&row: &u32| browser.sizes(nodes[row as usize]).retained_bytes_and_objects.map_or(0, |(bytes, _)| bytes);
        saturating_signed(rows.iter().map(of_row).max().unwrap_or(0))
    };
    let largest_figure = match (objects, browser, &rows) {
        (Some(nodes), Some(browser), Some(rows)) if !is_as_it_comes => retained(nodes, browser, rows),
        _ => listing
            .largest_first_figure(rows.as_ref().map_or(Some(0), |rows| rows.first().map(|&row| row as usize)), browser),
    };
    if let Some(rows) = &mut rows {
        rows.truncate(sorted);
        rows.shrink_to_fit();
    }
    ArrangedRows { rows, row_count: len, largest_first_figure: largest_figure }
}

/// The places, in the order that is shown, of the rows that a pattern matches. O(rows).
pub(super) fn matching_places(
    listing: &Listing,
    browser: Option<&HeapBrowser<'static>>,
    shown: &ArrangedRows,
    pattern: &TypePattern,
) -> Vec<u32> {
    let found = matching_rows(listing, browser, pattern, true);
    let Some(rows) = &shown.rows else { return found };
    let matches_find = |row: &u32| found.binary_search(row).is_ok();
    (0u32..).zip(rows).filter(|(_, row)| matches_find(row)).map(|(at, _)| at).collect()
}

/// The rows that a pattern matches, by number, ascending; `with_references`: by the
/// references that lead to them, too.
fn matching_rows(
    listing: &Listing,
    browser: Option<&HeapBrowser<'static>>,
    pattern: &TypePattern,
    with_references: bool,
) -> Vec<u32> {
    let mut places = Vec::new();
    let mut start = 0u32;
    for part in &listing.parts {
        match part {
            ListPart::Rows(rows) => {
                let leads_there = |row: &ListRow| with_references && pattern.matches(&row.reference);
                let matches_find =
                    |row: &ListRow| row.style != RowStyle::Title && (row.matches_find(pattern) || leads_there(row));
                places.extend(rows.iter().zip(start..).filter(|(row, _)| matches_find(row)).map(|(_, at)| at));
            }
            ListPart::Objects { nodes, references, .. } => {
                let mut found = browser.map_or(Vec::new(), |browser| browser.places_of_types(nodes, pattern));
                if with_references {
                    let leads_there = |name: &Option<String>| name.as_ref().is_some_and(|name| pattern.matches(name));
                    found.extend((0u32..).zip(references).filter(|(_, name)| leads_there(name)).map(|(at, _)| at));
                    found.sort_unstable();
                    found.dedup();
                }
                places.extend(found.into_iter().map(|at| start + at));
            }
        }
        start += part.len() as u32;
    }
    places
}
