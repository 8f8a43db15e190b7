//! A list: figures, a bar, ids, names.

use super::text::{TextPen, wrapped_lines};
use crate::answers::{step_text, type_with_value};
use crate::explore::listing::{ListRow, Listing, RowStyle, RowTarget};
use crate::explore::screen_cells::{CellStyle, Color, Rect, ScreenBuffer};
use crate::explore::state::{BrowserState, ClickTarget};
use crate::explore::view_frame::ViewFrame;
use crate::names::{FigureWidth, display_columns, min_name_columns, name_lines, row_lines, shown_figure_indices};
use crate::report::progress_line;

/// Cells of a figure with the blank before it.
const FIGURE_CELLS: usize = 11;
const SHARE_CELLS: usize = 7;
/// What goes first where names want their room.
const BAR_HIDE_PRIORITY: u8 = u8::MAX;
const SHARE_HIDE_PRIORITY: u8 = 80;
/// Cells of what the further lines of a row are of.
const DETAIL_LABEL_CELLS: usize = 13;

/// The first cells of the columns of a list.
struct ColumnPlaces {
    /// By figure: its first cell, and how many it has; `None` where there is no room for it.
    figures: Vec<Option<(u16, u16)>>,
    share_start: Option<u16>,
    /// The first cell of the bar, and how many it has.
    bar: Option<(u16, u16)>,
    id_start: u16,
    name_start: u16,
}

impl ColumnPlaces {
    /// `id_width`: cells of the ids; `name_width`: those that names take at least.
    fn new(frame: &ViewFrame, listing: &Listing, id_width: usize, name_width: usize, screen: usize) -> Self {
        let bar_cells = if screen < 100 { 10 } else { 20 };
        let mut widths: Vec<FigureWidth> = Vec::new();
        for (at, column) in listing.columns.iter().enumerate() {
            let hide_priority = if frame.sort_order.column == Some(at) { 0 } else { column.hide_priority };
            // A blank before the title, and a mark of the order.
            widths.push(FigureWidth { columns: FIGURE_CELLS.max(column.figure.title.len() + 2), hide_priority });
            if at == 0 && listing.share_total.is_some() {
                widths.push(FigureWidth { columns: SHARE_CELLS, hide_priority: SHARE_HIDE_PRIORITY });
                widths.push(FigureWidth { columns: bar_cells + 1, hide_priority: BAR_HIDE_PRIORITY });
            }
        }
        let others = 1 + if id_width > 0 { id_width + 1 } else { 0 };
        let shown = shown_figure_indices(&widths, others + name_width.min(screen * 3 / 5), screen);
        let mut next = 0;
        let mut places = widths.iter().enumerate().map(|(at, width)| {
            let place = shown.contains(&at).then_some((next, width.columns as u16));
            next += place.map_or(0, |(_, cells)| cells);
            place
        });
        let mut columns =
            ColumnPlaces { figures: Vec::new(), share_start: None, bar: None, id_start: 0, name_start: 0 };
        for at in 0..listing.columns.len() {
            columns.figures.extend(places.next());
            if at == 0 && listing.share_total.is_some() {
                columns.share_start = places.next().flatten().map(|(first, _)| first);
                columns.bar = places.next().flatten().map(|(first, cells)| (first + 1, cells - 1));
            }
        }
        drop(places);
        columns.id_start = next + u16::from(next > 0);
        columns.name_start = columns.id_start + if id_width > 0 { id_width as u16 + 1 } else { 0 };
        columns
    }
}

/// A row's name behind the name of its reference, and what stands before both.
fn lead_and_name(row: &ListRow, pen: TextPen) -> (String, String) {
    // A title says itself what it is of.
    let lead = if row.style == RowStyle::Title { String::new() } else { pen.escaped(&row.leading_text) };
    let lead = if lead.trim().is_empty() { lead } else { lead + " " };
    let reference = Some(row.reference.as_str()).filter(|name| !name.is_empty());
    (lead, pen.escaped(&step_text(reference, &row.name)))
}

/// Between a reference and what it leads to.
const REFERENCE_GAP_TEXT: &str = "  ";

pub(super) fn draw_list(state: &mut BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let Some(frame) = state.current_frame() else { return };
    let Some(listing) = &frame.listing else {
        draw_waiting(state, frame, area, buffer, pen);
        return;
    };
    let lines_above = listing.shown_header_lines((area.width, state.screen_size.1));
    let above = lines_above.len();
    for (line, text) in lines_above.iter().enumerate() {
        let place = Rect { y: area.y + line as u16, ..area };
        pen.put_cut(buffer, place, text, if line == 0 { pen.bold() } else { CellStyle::new() });
    }
    let body = Rect { y: area.y + above as u16 + 1, height: area.height.saturating_sub(above as u16 + 1), ..area };
    let rows: Vec<ListRow> = (frame.first_shown_row
        ..(frame.first_shown_row + usize::from(body.height)).min(frame.rows.row_count))
        .map(|at| {
            let row = frame.row(at, state.browser.as_ref()).map(|row| row_with_texts(state, frame, at, row));
            row.unwrap_or_else(|| ListRow::new("…", RowTarget::NoTarget))
        })
        .collect();
    let are_cards = rows.iter().any(|row| !row.details.is_empty());
    let id_width = if are_cards { 0 } else { rows.iter().map(|row| display_columns(&row.id)).max().unwrap_or(0) };
    // Columns that went stay away while the list is gone through.
    let name_width = rows.iter().filter(|row| row.style != RowStyle::Title).map(|row| {
        let (lead, name) = lead_and_name(row, pen);
        display_columns(&lead) + min_name_columns(&name)
    });
    let name_width = name_width.max().unwrap_or(0).max(frame.min_name_cells);
    let columns = ColumnPlaces::new(frame, listing, id_width, name_width, area.width.into());
    draw_column_titles(frame, listing, &columns, Rect { y: body.y - 1, height: 1, ..area }, buffer, pen);
    if rows.is_empty() {
        let text = if frame.find_text.is_empty() {
            listing.empty_text.clone()
        } else {
            format!("nothing matches {}", frame.find_text)
        };
        let place = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..body };
        pen.put_cut(buffer, place, &text, CellStyle::new());
        return;
    }
    let texts: Vec<RowTexts> = rows.iter().map(|row| RowTexts::new(row, &columns, area.width.into(), pen)).collect();
    // The row under the cursor is on the screen with all of its lines.
    let cursor = (frame.cursor - frame.first_shown_row).min(rows.len() - 1);
    let mut used = 0;
    let fits = |texts: &&RowTexts| {
        used += texts.line_count();
        used <= usize::from(body.height)
    };
    let first = cursor + 1 - texts[..=cursor].iter().rev().take_while(fits).count().max(1);
    let mut targets = Vec::new();
    let (mut y, mut drawn) = (body.y, 0);
    for (at, (row, texts)) in rows.iter().zip(&texts).enumerate().skip(first) {
        if y >= body.bottom() {
            break;
        }
        let place = Rect { y, height: (texts.line_count() as u16).min(body.bottom() - y), ..area };
        draw_row(state, frame, listing, row, texts, &columns, place, buffer, pen);
        if frame.first_shown_row + at == frame.cursor {
            let name = Rect { height: (texts.name_lines.len() as u16).min(place.height), ..place };
            buffer.set_reversed(name);
        }
        targets.extend(
            place.line_rects().map(|line| (line.y, line.x..line.right(), ClickTarget::Row(frame.first_shown_row + at))),
        );
        drawn += usize::from(place.height as usize == texts.line_count());
        y += texts.line_count() as u16;
    }
    state.click_targets.extend(targets);
    if let Some(frame) = state.current_frame_mut() {
        (frame.first_shown_row, frame.min_name_cells, frame.drawn_row_count) =
            (frame.first_shown_row + first, name_width, drawn.max(1));
    }
}

/// The lines of a row.
struct RowTexts {
    leading_text: String,
    name_lines: Vec<String>,
    /// The first cell of the name's further lines.
    indent: usize,
    detail_lines: Vec<String>,
}

impl RowTexts {
    fn new(row: &ListRow, columns: &ColumnPlaces, width: usize, pen: TextPen) -> Self {
        let (lead, name) = lead_and_name(row, pen);
        let first = match row.style {
            RowStyle::Title => 0,
            // What is no object has all of the line.
            _ => {
                usize::from(if row.id.is_empty() { columns.id_start } else { columns.name_start })
                    + display_columns(&lead)
            }
        };
        let indent = if row.style == RowStyle::Title { 2 } else { first.min(width / 2) };
        let name = name_lines(&name, width.saturating_sub(first), width.saturating_sub(indent));
        let detail_lines = row
            .details
            .iter()
            .flat_map(|(label, text)| row_lines(&format!("  {label:DETAIL_LABEL_CELLS$}"), &pen.escaped(text), width));
        // A blank line after a row of several.
        let detail_lines = detail_lines.chain((!row.details.is_empty()).then(String::new)).collect();
        RowTexts { leading_text: lead, name_lines: name, indent, detail_lines }
    }

    fn line_count(&self) -> usize {
        self.name_lines.len() + self.detail_lines.len()
    }
}

/// A row of an object with what that says of itself, and how it is held by what is above it, once that is read.
fn row_with_texts(state: &BrowserState, frame: &ViewFrame, at: usize, mut row: ListRow) -> ListRow {
    let Some(node) = frame.rows.get(at).and_then(|row| frame.listing.as_ref()?.object_of_row(row)) else { return row };
    if let Some(text) = state.value_texts.of(node)
        && !row.name.ends_with(text)
        && !row.name.contains(&format!(" {text} ("))
        && !row.name.starts_with("class ")
    {
        row.name = type_with_value(&row.name, text);
    }
    if frame.view.holder_of_rows().is_some()
        && let Some(reference) = state.reference_names.of(node)
    {
        row.reference = reference.to_string();
    }
    row
}

fn draw_column_titles(
    frame: &ViewFrame,
    listing: &Listing,
    columns: &ColumnPlaces,
    area: Rect,
    buffer: &mut ScreenBuffer,
    pen: TextPen,
) {
    let style = pen.bold();
    for (at, (figure, column)) in listing.columns.iter().zip(&columns.figures).enumerate() {
        let Some(column) = column else { continue };
        let is_sorted = frame.sort_order.column == Some(at)
            && (listing.sorted_by_column != Some(at) || frame.sort_order.is_reversed);
        let mark = match (is_sorted, frame.sort_order.is_reversed, pen.look.is_ascii_only) {
            _ if frame.is_being_sorted() && frame.sort_order.column == Some(at) => pen.ellipsis(),
            (false, ..) => "",
            (_, false, false) => "↓",
            (_, true, false) => "↑",
            (_, false, true) => "v",
            (_, true, true) => "^",
        };
        put_right_aligned(buffer, area, *column, &format!("{mark}{}", figure.figure.title), style);
    }
    if let Some(share) = columns.share_start {
        buffer.put_text(area.x + share + 2, area.y, "Share", 5, style);
    }
    let place = Rect { x: area.x + columns.id_start, width: area.width.saturating_sub(columns.id_start), ..area };
    // As many of its words as there is room for.
    let title = row_lines("", listing.name_column_title, place.width.into());
    pen.put_cut(buffer, place, &title[0], style);
}

fn put_right_aligned(buffer: &mut ScreenBuffer, area: Rect, (column, cells): (u16, u16), text: &str, style: CellStyle) {
    let blanks = usize::from(cells).saturating_sub(display_columns(text)) as u16;
    let room = area.width.saturating_sub(column + blanks);
    buffer.put_text(area.x + column + blanks, area.y, text, room.into(), style);
}

#[allow(clippy::too_many_arguments, reason = "where, what and how of one row")]
fn draw_row(
    state: &BrowserState,
    frame: &ViewFrame,
    listing: &Listing,
    row: &ListRow,
    texts: &RowTexts,
    columns: &ColumnPlaces,
    area: Rect,
    buffer: &mut ScreenBuffer,
    pen: TextPen,
) {
    let base = match row.style {
        RowStyle::Plain => CellStyle::new(),
        RowStyle::Title | RowStyle::OnAllPaths => pen.bold(),
        RowStyle::Faint => pen.dim(),
    };
    let is_title = row.style == RowStyle::Title;
    for ((figure, column), own) in listing.columns.iter().zip(&columns.figures).zip(&row.figures) {
        if let (Some(column), Some(own)) = (column, own) {
            put_right_aligned(buffer, area, *column, &figure.figure_text(*own, state.shows_plain_bytes), base);
        }
    }
    if let (Some(whole), Some(Some(own))) = (listing.share_total, row.figures.first()) {
        if let Some(share) = columns.share_start {
            let text = format!("{:>6.1}%", *own as f64 * 100.0 / whole.max(1) as f64);
            buffer.put_text(area.x + share, area.y, text, SHARE_CELLS, base);
        }
        if let Some((bar, cells)) = columns.bar {
            let text = pen.bar_text(*own as f64 / frame.rows.largest_first_figure.max(1) as f64, cells.into());
            buffer.put_text(area.x + bar, area.y, text, cells.into(), pen.color(Color::Blue));
        }
    }
    let at = |x: u16, line: usize| Rect { x: area.x + x, y: area.y + line as u16, width: area.width - x, height: 1 };
    let is_seen = |line: usize| line < usize::from(area.height);
    if columns.name_start > columns.id_start && !row.id.is_empty() {
        pen.put_cut(buffer, at(columns.id_start, 0), &row.id, pen.color(Color::Yellow));
    }
    let first =
        if row.id.is_empty() || columns.name_start == columns.id_start { columns.id_start } else { columns.name_start };
    let first = if is_title { 0 } else { first };
    let end = pen.put_cut(buffer, at(first, 0), &texts.leading_text, pen.dim().with_patch(base)) - area.x;
    let style = if row.details.is_empty() { base } else { pen.bold() };
    for (line, text) in texts.name_lines.iter().enumerate().filter(|(line, _)| is_seen(*line)) {
        let place = at(if line == 0 { end } else { texts.indent as u16 }, line);
        pen.put_cut(buffer, place, text, style);
        if line == 0 && !row.reference.is_empty() {
            let reference = text.split(REFERENCE_GAP_TEXT).next().unwrap_or_default();
            pen.put_cut(buffer, place, reference, pen.color(Color::Cyan).with_patch(base));
        }
    }
    for (line, text) in (texts.name_lines.len()..).zip(&texts.detail_lines).filter(|(line, _)| is_seen(*line)) {
        pen.put_cut(buffer, at(0, line), text, CellStyle::new());
    }
}

/// In place of a list that is not there yet, or cannot be.
fn draw_waiting(state: &BrowserState, frame: &ViewFrame, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let room = usize::from(area.width).saturating_sub(2);
    let text = match &frame.error {
        Some(why) => why.clone(),
        None if state.is_dominator_tree_pending && frame.view.needs_dominator_tree() => {
            let line = progress_line("", "computing dominators", state.read_progress.elapsed, None, room);
            format!("{line}; 2 shows the types meanwhile")
        }
        None if frame.is_pending => format!("{} going through the objects", pen.ellipsis()),
        None => String::new(),
    };
    let place = Rect { x: area.x + 2, width: room as u16, ..area };
    for (text, line) in wrapped_lines(&pen.escaped(&text), room).iter().zip(place.line_rects().skip(1)) {
        pen.put_cut(buffer, line, text, CellStyle::new());
    }
}

/// The object under the cursor, beside the list.
pub(super) fn draw_side_pane(state: &BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let Some(listing) = state.side_pane.as_ref().and_then(|pane| pane.listing.as_ref()) else { return };
    let mut lines = area.line_rects();
    for (at, (text, line)) in listing.header_lines.iter().zip(&mut lines).enumerate() {
        pen.put_cut(buffer, line, text, if at == 0 { pen.bold() } else { CellStyle::new() });
    }
    let rows = (0..listing.len()).filter_map(|at| listing.row(at, state.browser.as_ref()));
    let texts = rows.flat_map(|row| {
        let is_title = row.style == RowStyle::Title;
        let (lead, name) = lead_and_name(&row, pen);
        let start = if row.id.is_empty() || is_title { lead } else { format!("{lead}{} ", row.id) };
        row_lines(&start, &name, area.width.into()).into_iter().map(move |text| (text, is_title))
    });
    for ((text, is_title), line) in texts.zip(lines) {
        pen.put_cut(buffer, line, &text, if is_title { pen.bold() } else { CellStyle::new() });
    }
}
