//! A list: figures, a bar, ids, names.

use super::text::{TextPen, wrapped_lines};
use crate::answers::{step_text, type_with_value};
use crate::explore::frame::ViewFrame;
use crate::explore::list::{ListRow, Listing, RowStyle, RowTarget};
use crate::explore::screen_cells::{CellStyle, Color, Rect, ScreenBuffer};
use crate::explore::state::{BrowserState, ClickTarget};
use crate::names::{FigureWidth, columns_of, figures_shown, min_columns, name_lines, row_lines};
use crate::report::progress_line;

/// Cells of a figure with the blank before it.
const FIGURE_CELLS: usize = 11;
const SHARE_CELLS: usize = 7;
/// What goes first where names want their room.
const BAR_HIDE_PRIORITY: u8 = u8::MAX;
const SHARE_HIDE_PRIORITY: u8 = 80;
/// Cells of what the further lines of a row are of.
const DETAIL_LABEL_CELLS: usize = 13;

struct ColumnPlaces {
    /// By figure: its first cell, and how many it has; `None` where there is no room for it.
    figures: Vec<Option<(u16, u16)>>,
    share: Option<u16>,
    /// The first cell of the bar, and how many it has.
    bar: Option<(u16, u16)>,
    id: u16,
    name: u16,
}

impl ColumnPlaces {
    /// `id_width`: cells of the ids; `name_width`: those that names take at least.
    fn new(frame: &ViewFrame, listing: &Listing, id_width: usize, name_width: usize, screen: usize) -> Self {
        let bar_cells = if screen < 100 { 10 } else { 20 };
        let mut widths: Vec<FigureWidth> = Vec::new();
        for (at, column) in listing.figures.iter().enumerate() {
            let hide_priority = if frame.sort.column == Some(at) { 0 } else { column.hide_priority };
            // A blank before the title, and a mark of the order.
            widths.push(FigureWidth { columns: FIGURE_CELLS.max(column.figure.title.len() + 2), hide_priority });
            if at == 0 && listing.whole.is_some() {
                widths.push(FigureWidth { columns: SHARE_CELLS, hide_priority: SHARE_HIDE_PRIORITY });
                widths.push(FigureWidth { columns: bar_cells + 1, hide_priority: BAR_HIDE_PRIORITY });
            }
        }
        let others = 1 + if id_width > 0 { id_width + 1 } else { 0 };
        let shown = figures_shown(&widths, others + name_width.min(screen * 3 / 5), screen);
        let mut next = 0;
        let mut places = widths.iter().enumerate().map(|(at, width)| {
            let place = shown.contains(&at).then_some((next, width.columns as u16));
            next += place.map_or(0, |(_, cells)| cells);
            place
        });
        let mut columns = ColumnPlaces { figures: Vec::new(), share: None, bar: None, id: 0, name: 0 };
        for at in 0..listing.figures.len() {
            columns.figures.extend(places.next());
            if at == 0 && listing.whole.is_some() {
                columns.share = places.next().flatten().map(|(first, _)| first);
                columns.bar = places.next().flatten().map(|(first, cells)| (first + 1, cells - 1));
            }
        }
        drop(places);
        columns.id = next + u16::from(next > 0);
        columns.name = columns.id + if id_width > 0 { id_width as u16 + 1 } else { 0 };
        columns
    }
}

/// A row's name behind the name of its reference, and what stands before both.
fn lead_and_name(row: &ListRow, pen: TextPen) -> (String, String) {
    // A title says itself what it is of.
    let lead = if row.look == RowStyle::Title { String::new() } else { pen.escaped(&row.lead) };
    let lead = if lead.trim().is_empty() { lead } else { lead + " " };
    let reference = Some(row.reference.as_str()).filter(|name| !name.is_empty());
    (lead, pen.escaped(&step_text(reference, &row.name)))
}

/// Between a reference and what it leads to.
const REFERENCE_GAP_TEXT: &str = "  ";

pub(super) fn draw(state: &mut BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let Some(frame) = state.frame() else { return };
    let Some(listing) = &frame.listing else {
        draw_waiting(state, frame, area, buffer, pen);
        return;
    };
    let lines_above = listing.lines_above((area.width, state.size.1));
    let above = lines_above.len();
    for (line, text) in lines_above.iter().enumerate() {
        let place = Rect { y: area.y + line as u16, ..area };
        pen.put(buffer, place, text, if line == 0 { pen.bold() } else { CellStyle::new() });
    }
    let body = Rect { y: area.y + above as u16 + 1, height: area.height.saturating_sub(above as u16 + 1), ..area };
    let rows: Vec<ListRow> = (frame.first_shown_row
        ..(frame.first_shown_row + usize::from(body.height)).min(frame.rows.len))
        .map(|at| {
            let row = frame.row(at, state.browser.as_ref()).map(|row| row_with_texts(state, frame, at, row));
            row.unwrap_or_else(|| ListRow::new("…", RowTarget::NoTarget))
        })
        .collect();
    let are_cards = rows.iter().any(|row| !row.details.is_empty());
    let id_width = if are_cards { 0 } else { rows.iter().map(|row| columns_of(&row.id)).max().unwrap_or(0) };
    // Columns that went stay away while the list is gone through.
    let name_width = rows.iter().filter(|row| row.look != RowStyle::Title).map(|row| {
        let (lead, name) = lead_and_name(row, pen);
        columns_of(&lead) + min_columns(&name)
    });
    let name_width = name_width.max().unwrap_or(0).max(frame.name_width);
    let columns = ColumnPlaces::new(frame, listing, id_width, name_width, area.width.into());
    draw_titles(frame, listing, &columns, Rect { y: body.y - 1, height: 1, ..area }, buffer, pen);
    if rows.is_empty() {
        let text =
            if frame.find.is_empty() { listing.empty_text.clone() } else { format!("nothing matches {}", frame.find) };
        let place = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..body };
        pen.put(buffer, place, &text, CellStyle::new());
        return;
    }
    let texts: Vec<RowTexts> = rows.iter().map(|row| RowTexts::new(row, &columns, area.width.into(), pen)).collect();
    // The row under the cursor is on the screen with all of its lines.
    let cursor = (frame.cursor - frame.first_shown_row).min(rows.len() - 1);
    let mut used = 0;
    let fits = |texts: &&RowTexts| {
        used += texts.height();
        used <= usize::from(body.height)
    };
    let first = cursor + 1 - texts[..=cursor].iter().rev().take_while(fits).count().max(1);
    let mut targets = Vec::new();
    let (mut y, mut drawn) = (body.y, 0);
    for (at, (row, texts)) in rows.iter().zip(&texts).enumerate().skip(first) {
        if y >= body.bottom() {
            break;
        }
        let place = Rect { y, height: (texts.height() as u16).min(body.bottom() - y), ..area };
        draw_row(state, frame, listing, row, texts, &columns, place, buffer, pen);
        if frame.first_shown_row + at == frame.cursor {
            let name = Rect { height: (texts.name.len() as u16).min(place.height), ..place };
            buffer.reverse(name);
        }
        targets.extend(
            place.rows().map(|line| (line.y, line.x..line.right(), ClickTarget::Row(frame.first_shown_row + at))),
        );
        drawn += usize::from(place.height as usize == texts.height());
        y += texts.height() as u16;
    }
    state.click_targets.extend(targets);
    if let Some(frame) = state.frame_mut() {
        (frame.first_shown_row, frame.name_width, frame.drawn_rows) =
            (frame.first_shown_row + first, name_width, drawn.max(1));
    }
}

struct RowTexts {
    lead: String,
    name: Vec<String>,
    /// The first cell of the name's further lines.
    indent: usize,
    detail_lines: Vec<String>,
}

impl RowTexts {
    fn new(row: &ListRow, columns: &ColumnPlaces, width: usize, pen: TextPen) -> Self {
        let (lead, name) = lead_and_name(row, pen);
        let first = match row.look {
            RowStyle::Title => 0,
            // What is no object has all of the line.
            _ => usize::from(if row.id.is_empty() { columns.id } else { columns.name }) + columns_of(&lead),
        };
        let indent = if row.look == RowStyle::Title { 2 } else { first.min(width / 2) };
        let name = name_lines(&name, width.saturating_sub(first), width.saturating_sub(indent));
        let detail_lines = row
            .details
            .iter()
            .flat_map(|(label, text)| row_lines(&format!("  {label:DETAIL_LABEL_CELLS$}"), &pen.escaped(text), width));
        // A blank line after a row of several.
        let detail_lines = detail_lines.chain((!row.details.is_empty()).then(String::new)).collect();
        RowTexts { lead, name, indent, detail_lines }
    }

    fn height(&self) -> usize {
        self.name.len() + self.detail_lines.len()
    }
}

/// A row of an object with what that says of itself, and how it is held by what is above it, once that is read.
fn row_with_texts(state: &BrowserState, frame: &ViewFrame, at: usize, mut row: ListRow) -> ListRow {
    let Some(node) = frame.rows.get(at).and_then(|row| frame.listing.as_ref()?.node(row)) else { return row };
    if let Some(text) = state.value_texts.of(node)
        && !row.name.ends_with(text)
        && !row.name.contains(&format!(" {text} ("))
        && !row.name.starts_with("class ")
    {
        row.name = type_with_value(&row.name, text);
    }
    if frame.view.holder().is_some()
        && let Some(reference) = state.reference_names.of(node)
    {
        row.reference = reference.to_string();
    }
    row
}

fn draw_titles(
    frame: &ViewFrame,
    listing: &Listing,
    columns: &ColumnPlaces,
    area: Rect,
    buffer: &mut ScreenBuffer,
    pen: TextPen,
) {
    let style = pen.bold();
    for (at, (figure, column)) in listing.figures.iter().zip(&columns.figures).enumerate() {
        let Some(column) = column else { continue };
        let is_sorted = frame.sort.column == Some(at) && (listing.sorted_by != Some(at) || frame.sort.reverse);
        let mark = match (is_sorted, frame.sort.reverse, pen.look.ascii) {
            _ if frame.is_being_sorted() && frame.sort.column == Some(at) => pen.ellipsis(),
            (false, ..) => "",
            (_, false, false) => "↓",
            (_, true, false) => "↑",
            (_, false, true) => "v",
            (_, true, true) => "^",
        };
        put_right_aligned(buffer, area, *column, &format!("{mark}{}", figure.figure.title), style);
    }
    if let Some(share) = columns.share {
        buffer.put(area.x + share + 2, area.y, "Share", 5, style);
    }
    let place = Rect { x: area.x + columns.id, width: area.width.saturating_sub(columns.id), ..area };
    // As many of its words as there is room for.
    let title = row_lines("", listing.title, place.width.into());
    pen.put(buffer, place, &title[0], style);
}

fn put_right_aligned(buffer: &mut ScreenBuffer, area: Rect, (column, cells): (u16, u16), text: &str, style: CellStyle) {
    let blanks = usize::from(cells).saturating_sub(columns_of(text)) as u16;
    let room = area.width.saturating_sub(column + blanks);
    buffer.put(area.x + column + blanks, area.y, text, room.into(), style);
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
    let base = match row.look {
        RowStyle::Plain => CellStyle::new(),
        RowStyle::Title | RowStyle::OnAllPaths => pen.bold(),
        RowStyle::Faint => pen.dim(),
    };
    let is_title = row.look == RowStyle::Title;
    for ((figure, column), own) in listing.figures.iter().zip(&columns.figures).zip(&row.figures) {
        if let (Some(column), Some(own)) = (column, own) {
            put_right_aligned(buffer, area, *column, &figure.text(*own, state.plain_bytes), base);
        }
    }
    if let (Some(whole), Some(Some(own))) = (listing.whole, row.figures.first()) {
        if let Some(share) = columns.share {
            let text = format!("{:>6.1}%", *own as f64 * 100.0 / whole.max(1) as f64);
            buffer.put(area.x + share, area.y, text, SHARE_CELLS, base);
        }
        if let Some((bar, cells)) = columns.bar {
            let text = pen.bar(*own as f64 / frame.rows.largest_figure.max(1) as f64, cells.into());
            buffer.put(area.x + bar, area.y, text, cells.into(), pen.color(Color::Blue));
        }
    }
    let at = |x: u16, line: usize| Rect { x: area.x + x, y: area.y + line as u16, width: area.width - x, height: 1 };
    let is_seen = |line: usize| line < usize::from(area.height);
    if columns.name > columns.id && !row.id.is_empty() {
        pen.put(buffer, at(columns.id, 0), &row.id, pen.color(Color::Yellow));
    }
    let first = if row.id.is_empty() || columns.name == columns.id { columns.id } else { columns.name };
    let first = if is_title { 0 } else { first };
    let end = pen.put(buffer, at(first, 0), &texts.lead, pen.dim().patch(base)) - area.x;
    let style = if row.details.is_empty() { base } else { pen.bold() };
    for (line, text) in texts.name.iter().enumerate().filter(|(line, _)| is_seen(*line)) {
        let place = at(if line == 0 { end } else { texts.indent as u16 }, line);
        pen.put(buffer, place, text, style);
        if line == 0 && !row.reference.is_empty() {
            let reference = text.split(REFERENCE_GAP_TEXT).next().unwrap_or_default();
            pen.put(buffer, place, reference, pen.color(Color::Cyan).patch(base));
        }
    }
    for (line, text) in (texts.name.len()..).zip(&texts.detail_lines).filter(|(line, _)| is_seen(*line)) {
        pen.put(buffer, at(0, line), text, CellStyle::new());
    }
}

/// In place of a list that is not there yet, or cannot be.
fn draw_waiting(state: &BrowserState, frame: &ViewFrame, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let room = usize::from(area.width).saturating_sub(2);
    let text = match &frame.error {
        Some(why) => why.clone(),
        None if state.is_tree_pending && frame.view.needs_tree() => {
            let line = progress_line("", "computing dominators", state.progress.elapsed, None, room);
            format!("{line}; 2 shows the types meanwhile")
        }
        None if frame.is_pending => format!("{} going through the objects", pen.ellipsis()),
        None => String::new(),
    };
    let place = Rect { x: area.x + 2, width: room as u16, ..area };
    for (text, line) in wrapped_lines(&pen.escaped(&text), room).iter().zip(place.rows().skip(1)) {
        pen.put(buffer, line, text, CellStyle::new());
    }
}

/// The object under the cursor, beside the list.
pub(super) fn draw_pane(state: &BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let Some(listing) = state.pane.as_ref().and_then(|pane| pane.listing.as_ref()) else { return };
    let mut lines = area.rows();
    for (at, (text, line)) in listing.header_lines.iter().zip(&mut lines).enumerate() {
        pen.put(buffer, line, text, if at == 0 { pen.bold() } else { CellStyle::new() });
    }
    let rows = (0..listing.len()).filter_map(|at| listing.row(at, state.browser.as_ref()));
    let texts = rows.flat_map(|row| {
        let is_title = row.look == RowStyle::Title;
        let (lead, name) = lead_and_name(&row, pen);
        let start = if row.id.is_empty() || is_title { lead } else { format!("{lead}{} ", row.id) };
        row_lines(&start, &name, area.width.into()).into_iter().map(move |text| (text, is_title))
    });
    for ((text, is_title), line) in texts.zip(lines) {
        pen.put(buffer, line, &text, if is_title { pen.bold() } else { CellStyle::new() });
    }
}
