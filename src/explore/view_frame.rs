//! One step of the way: a view with its list, its cursor, its order and what is looked for in it.

use std::sync::Arc;

use super::listing::{ArrangedRows, ListRow, Listing, RowStyle, SortOrder};
use super::tasks::ListId;
use super::view::BrowserView;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::browse::HeapBrowser;

/// A view on the way here, as it was left.
#[derive(Debug, Default)]
pub(super) struct ViewFrame {
    pub(super) view: BrowserView,
    /// The number it was asked for by.
    pub(super) list_id: ListId,
    pub(super) is_pending: bool,
    /// Asked before the dominator tree was there.
    pub(super) was_asked_before_tree: bool,
    pub(super) listing: Option<Arc<Listing>>,
    pub(super) error: Option<String>,
    pub(super) rows: ArrangedRows,
    pub(super) sort_order: SortOrder,
    /// The text to find, as it was typed.
    pub(super) find_text: String,
    /// The same in the grammar of `--type`; `None` for all rows, and for what is no pattern yet.
    pub(super) find_pattern: Option<TypePattern>,
    /// The places that match, in the order of the rows, where a find does not narrow the list.
    matches: Vec<u32>,
    /// The find and the order that `matches` is of, as it was asked for.
    asked_matches: Option<(SortOrder, String)>,
    /// The order and the find that were asked for.
    asked_arrangement: (SortOrder, String),
    /// Those that `rows` have.
    shown_arrangement: (SortOrder, String),
    /// The word of the order that the list had before it was asked for again.
    previous_order_word: Option<&'static str>,
    /// Place of the row under it, among those that are shown.
    pub(super) cursor: usize,
    pub(super) first_shown_row: usize,
    /// Cells that the names take at least that were drawn so far.
    pub(super) min_name_cells: usize,
    /// Rows that were drawn last; 0 before.
    pub(super) drawn_row_count: usize,
}

impl ViewFrame {
    pub(super) fn new(view: BrowserView) -> Self {
        ViewFrame { view, ..ViewFrame::default() }
    }

    /// Asks again, and stays where it is.
    pub(super) fn drop_answer(&mut self) {
        if let Some(listing) = self.listing.take() {
            // Its columns may be others.
            let column = self.sort_order.column.filter(|_| self.sort_order.column != listing.sorted_by_column);
            self.previous_order_word =
                column.and_then(|column| listing.columns.get(column)?.command_order).map(|order| order.sort_word);
        }
        // What is still on its way is an older question's.
        (self.error, self.is_pending, self.list_id) = (None, false, 0);
        (self.matches, self.asked_matches) = (Vec::new(), None);
        (self.min_name_cells, self.drawn_row_count) = (0, 0);
    }

    /// Asks for something else.
    pub(super) fn drop_answer_and_position(&mut self) {
        self.drop_answer();
        self.previous_order_word = None;
        (self.sort_order, self.cursor, self.first_shown_row) = (SortOrder::default(), 0, 0);
        self.set_find(String::new());
    }

    pub(super) fn take_listing(&mut self, result: Result<(Arc<Listing>, ArrangedRows), String>) {
        self.is_pending = false;
        match result {
            Err(why) => self.error = Some(why),
            Ok((listing, arranged)) => {
                let comes = SortOrder { column: listing.sorted_by_column, is_reversed: false };
                let word = self.previous_order_word.take();
                let same = listing
                    .columns
                    .iter()
                    .position(|column| word.is_some() && column.command_order.map(|order| order.sort_word) == word);
                let column = same.or(listing.sorted_by_column);
                self.sort_order = SortOrder { column, is_reversed: self.sort_order.is_reversed && column.is_some() };
                self.asked_arrangement = (comes, String::new());
                self.shown_arrangement = self.asked_arrangement.clone();
                self.rows = arranged;
                let is_title = listing.row(0, None).is_some_and(|row| row.style == RowStyle::Title);
                if self.cursor == 0 && is_title && self.rows.row_count > 1 {
                    self.cursor = 1;
                }
                self.listing = Some(listing);
            }
        }
    }

    /// Other rows are there; those of an older question are left.
    pub(super) fn take_arranged(&mut self, sort: SortOrder, find: Option<&str>, arranged: ArrangedRows) {
        if self.asked_arrangement.0 == sort && self.asked_arrangement.1 == find.unwrap_or_default() {
            // Other places than those that matched before.
            (self.matches, self.asked_matches) = (Vec::new(), None);
            self.rows = arranged;
            self.shown_arrangement = self.asked_arrangement.clone();
        }
    }

    /// Returns true if rows are still in another order than the one that was asked for.
    pub(super) fn is_being_sorted(&self) -> bool {
        self.listing.is_some() && self.asked_arrangement.0 != self.shown_arrangement.0
    }

    /// Returns true if all rows are there, in the order that is wanted.
    pub(super) fn is_arranged(&self) -> bool {
        let is_part = self.rows.rows.as_ref().is_some_and(|rows| rows.len() < self.rows.row_count);
        self.listing.is_some() && !is_part && self.shown_arrangement == self.wanted_arrangement()
    }

    /// The order, and what is left of the rows.
    fn wanted_arrangement(&self) -> (SortOrder, String) {
        let narrows = self.view.is_narrowed_by_find();
        (self.sort_order, if narrows { self.find_text.clone() } else { String::new() })
    }

    /// Returns true if what is wanted is another order or other rows than those that were asked for.
    pub(super) fn wants_arranging(&self) -> bool {
        let is_pattern = self.find_text.is_empty() || self.find_pattern.is_some() || !self.view.is_narrowed_by_find();
        self.listing.is_some() && is_pattern && self.asked_arrangement != self.wanted_arrangement()
    }

    /// The pattern that the rows that are asked for now are to match.
    pub(super) fn take_arrangement_request(&mut self) -> Option<TypePattern> {
        self.asked_arrangement = self.wanted_arrangement();
        self.find_pattern.clone().filter(|_| self.view.is_narrowed_by_find())
    }

    /// The pattern to be asked for, where a find does not leave other rows out.
    pub(super) fn take_find_request(&mut self) -> Option<TypePattern> {
        if self.view.is_narrowed_by_find() || !self.is_arranged() {
            return None;
        }
        let pattern = self.find_pattern.clone()?;
        let wanted = (self.sort_order, self.find_text.clone());
        let is_new = self.asked_matches.as_ref() != Some(&wanted);
        self.asked_matches = Some(wanted);
        is_new.then_some(pattern)
    }

    /// The places of what is looked for are there: leads to the first from here.
    pub(super) fn take_matches(&mut self, sort: SortOrder, find: &str, places: Vec<u32>) {
        if self.sort_order == sort && self.find_text == find {
            self.matches = places;
            let at = self.matches.partition_point(|&place| (place as usize) < self.cursor);
            if let Some(&place) = self.matches.get(at).or(self.matches.first()) {
                self.cursor = place as usize;
            }
        }
    }

    /// Number of rows that match, where others are left too.
    pub(super) fn match_count(&self) -> Option<usize> {
        (!self.view.is_narrowed_by_find() && self.find_pattern.is_some()).then_some(self.matches.len())
    }

    pub(super) fn set_find(&mut self, find: String) {
        if self.find_text == find {
            return;
        }
        let is_open = find.starts_with('/') && (find.len() == 1 || !find.ends_with('/'));
        self.find_pattern = TypePattern::parse(&find).ok().filter(|_| !find.is_empty() && !is_open);
        self.find_text = find;
        self.matches.clear();
        if self.view.is_narrowed_by_find() {
            (self.cursor, self.first_shown_row) = (0, 0);
            if !self.sort_order.column.is_none_or(|column| self.can_sort(column)) {
                let column = self.listing.as_ref().and_then(|listing| listing.sorted_by_column);
                self.sort_order = SortOrder { column, is_reversed: false };
            }
        }
    }

    fn can_sort(&self, column: usize) -> bool {
        let order = self.listing.as_ref().and_then(|listing| listing.columns.get(column)?.command_order);
        order.is_some_and(|order| self.find_text.is_empty() || self.view.sorts_matches_by(order))
    }

    pub(super) fn has_other_orders(&self) -> bool {
        let Some(listing) = self.listing.as_ref().filter(|listing| listing.sorted_by_column.is_some()) else {
            return false;
        };
        (0..listing.columns.len()).filter(|&column| self.can_sort(column)).count() > 1
    }

    /// The next of the rows that are found, or the one before.
    pub(super) fn move_to_next_match(&mut self, steps: isize) {
        if self.view.is_narrowed_by_find() {
            return self.move_cursor_wrapping(steps);
        }
        let at = self.matches.partition_point(|&place| (place as usize) < self.cursor);
        let is_on_one = self.matches.get(at).is_some_and(|&place| place as usize == self.cursor);
        let count = self.matches.len() as isize;
        if count > 0 {
            let next = if steps > 0 { at as isize + isize::from(is_on_one) } else { at as isize - 1 };
            self.cursor = self.matches[next.rem_euclid(count) as usize] as usize;
        }
    }

    /// Moves the cursor and stays within the rows.
    pub(super) fn move_cursor(&mut self, steps: isize) {
        let last = self.rows.row_count.saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(steps).min(last);
    }

    /// The same round and round.
    fn move_cursor_wrapping(&mut self, steps: isize) {
        if self.rows.row_count > 0 {
            self.cursor = (self.cursor as isize + steps).rem_euclid(self.rows.row_count as isize) as usize;
        }
    }

    pub(super) fn scroll_to_cursor(&mut self, page: usize) {
        if self.listing.is_some() && !self.is_pending {
            self.cursor = self.cursor.min(self.rows.row_count.saturating_sub(1));
        }
        self.first_shown_row = self.first_shown_row.clamp((self.cursor + 1).saturating_sub(page), self.cursor);
        // No empty lines below the last row where there are rows above the first.
        self.first_shown_row = self.first_shown_row.min(self.rows.row_count.saturating_sub(page)).min(self.cursor);
    }

    /// The next column that its command can be sorted by. Returns false if there is no other.
    pub(super) fn select_next_sort_column(&mut self) -> bool {
        let Some(listing) = &self.listing else { return false };
        let count = listing.columns.len();
        let Some(now) = self.sort_order.column.filter(|_| listing.sorted_by_column.is_some()) else { return false };
        let mut others = (1..count).map(|step| (now + step) % count);
        let Some(next) = others.find(|&column| self.can_sort(column)) else { return false };
        self.sort_order = SortOrder { column: Some(next), is_reversed: false };
        (self.cursor, self.first_shown_row) = (0, 0);
        true
    }

    pub(super) fn reverse_order(&mut self) {
        if self.listing.as_ref().is_some_and(|listing| listing.sorted_by_column.is_some()) {
            self.sort_order.is_reversed = !self.sort_order.is_reversed;
            (self.cursor, self.first_shown_row) = (0, 0);
        }
    }

    /// The row under the cursor, by its number in the list.
    pub(super) fn selected_row(&self) -> Option<usize> {
        self.rows.get(self.cursor)
    }

    /// A row by its place among those that are shown.
    pub(super) fn row(&self, at: usize, browser: Option<&HeapBrowser<'static>>) -> Option<ListRow> {
        self.listing.as_ref()?.row(self.rows.get(at)?, browser)
    }
}
