//! A list: figures, a bar, ids, names.

use super::text::{Pen, cut, width, wrapped};
use crate::explore::cells::{Buffer, Color, Rect, Style};
use crate::explore::frame::ViewFrame;
use crate::explore::list::{ListRow, Listing, RowLook};
use crate::explore::state::BrowserState;
use crate::report::progress_line;

/// Cells of a figure with the blank before it.
const FIGURE_CELLS: u16 = 11;
const SHARE_CELLS: u16 = 7;

/// The places of the columns.
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
    fn new(listing: &Listing, id_width: usize, screen: u16) -> Self {
        let mut next = 0;
        let mut columns = ColumnPlaces { figures: Vec::new(), share: None, bar: None, id: 0, name: 0 };
        for (at, figure) in listing.figures.iter().enumerate() {
            if screen < figure.from_width {
                columns.figures.push(None);
                continue;
            }
            // A blank before the title, and a mark of the order.
            let cells = FIGURE_CELLS.max(figure.figure.title.len() as u16 + 2);
            columns.figures.push(Some((next, cells)));
            next += cells;
            if at == 0 && listing.whole.is_some() {
                columns.share = Some(next);
                next += SHARE_CELLS;
                let cells = match screen {
                    100.. => 20,
                    64.. => 10,
                    _ => 0,
                };
                if cells > 0 {
                    columns.bar = Some((next + 1, cells));
                    next += cells + 1;
                }
            }
        }
        let gap = u16::from(next > 0);
        columns.id = next + gap;
        columns.name = columns.id + if id_width > 0 { id_width as u16 + 1 } else { 0 };
        columns
    }
}

pub(super) fn draw(state: &BrowserState, area: Rect, buffer: &mut Buffer, pen: Pen) {
    let Some(frame) = state.frame() else { return };
    let Some(listing) = &frame.listing else {
        waiting(state, frame, area, buffer, pen);
        return;
    };
    let above = listing.above.len().min(usize::from(state.size.1) / 3);
    for (line, text) in listing.above.iter().take(above).enumerate() {
        let line_area = Rect { y: area.y + line as u16, ..area };
        pen.put(buffer, line_area, text, if line == 0 { pen.bold() } else { Style::new() });
    }
    let titles = area.y + above as u16;
    let page = state.rows_on_page();
    let rows: Vec<(usize, Option<ListRow>)> = (frame.top..(frame.top + page).min(frame.rows.len))
        .map(|at| (at, frame.row(at, state.browser.as_ref()).map(|row| with_text(state, frame, at, row))))
        .collect();
    let id_width = rows.iter().filter_map(|(_, row)| Some(width(&row.as_ref()?.id))).max().unwrap_or(0);
    let id_width = if listing.height > 1 { 0 } else { id_width.min(usize::from(area.width) / 2) };
    let columns = ColumnPlaces::new(listing, id_width, area.width);
    draw_titles(frame, listing, &columns, Rect { y: titles, height: 1, ..area }, buffer, pen);
    let first = titles + 1;
    if rows.is_empty() {
        let text = if frame.find().is_empty() {
            listing.empty_text.clone()
        } else {
            format!("nothing matches {}", frame.find())
        };
        let place = Rect { x: area.x + 2, y: first, width: area.width.saturating_sub(2), ..area };
        pen.put(buffer, place, &text, Style::new());
        return;
    }
    for (line, (at, row)) in rows.iter().enumerate() {
        let y = first + line as u16 * listing.height;
        let place = Rect { y, height: listing.height.min(area.bottom().saturating_sub(y)), ..area };
        let Some(row) = row else {
            buffer.put(place.x + 2, y, pen.ellipsis(), place.width.into(), Style::new());
            continue;
        };
        draw_row(state, frame, listing, row, &columns, place, buffer, pen);
        if *at == frame.cursor {
            buffer.reverse(Rect { height: 1, ..place });
        }
    }
}

/// A row of an object with what that says of itself, once that is read.
fn with_text(state: &BrowserState, frame: &ViewFrame, at: usize, mut row: ListRow) -> ListRow {
    let node = frame.rows.get(at).and_then(|row| frame.listing.as_ref()?.node(row));
    if let Some(Some(said)) = node.and_then(|node| state.texts.get(&node))
        && !row.name.ends_with(said.as_str())
        && !row.name.contains(" of ")
    {
        row.name = format!("{} {said}", row.name);
    }
    row
}

fn draw_titles(
    frame: &ViewFrame,
    listing: &Listing,
    columns: &ColumnPlaces,
    area: Rect,
    buffer: &mut Buffer,
    pen: Pen,
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
        put_right(buffer, area, *column, &format!("{mark}{}", figure.figure.title), style);
    }
    if let Some(share) = columns.share {
        buffer.put(area.x + share + 2, area.y, "Share", 5, style);
    }
    let place = Rect { x: area.x + columns.id, width: area.width.saturating_sub(columns.id), ..area };
    pen.put(buffer, place, listing.title, style);
}

/// Right aligned in a column of figures.
fn put_right(buffer: &mut Buffer, area: Rect, (column, cells): (u16, u16), text: &str, style: Style) {
    let blanks = usize::from(cells).saturating_sub(width(text)) as u16;
    let room = area.width.saturating_sub(column + blanks);
    buffer.put(area.x + column + blanks, area.y, text, room.into(), style);
}

#[allow(clippy::too_many_arguments, reason = "where, what and how of one row")]
fn draw_row(
    state: &BrowserState,
    frame: &ViewFrame,
    listing: &Listing,
    row: &ListRow,
    columns: &ColumnPlaces,
    area: Rect,
    buffer: &mut Buffer,
    pen: Pen,
) {
    let base = match row.look {
        RowLook::Plain => Style::new(),
        RowLook::Title | RowLook::Strong => pen.bold(),
        RowLook::Faint => pen.dim(),
    };
    if row.look == RowLook::Title {
        pen.put(buffer, area, &row.name, base);
        return;
    }
    for ((figure, column), own) in listing.figures.iter().zip(&columns.figures).zip(&row.figures) {
        if let (Some(column), Some(own)) = (column, own) {
            put_right(buffer, area, *column, &figure.text(*own, state.plain_bytes), base);
        }
    }
    if let (Some(whole), Some(Some(own))) = (listing.whole, row.figures.first()) {
        if let Some(share) = columns.share {
            let text = format!("{:>6.1}%", *own as f64 * 100.0 / whole.max(1) as f64);
            buffer.put(area.x + share, area.y, text, SHARE_CELLS.into(), base);
        }
        if let Some((bar, cells)) = columns.bar {
            let text = pen.bar(*own as f64 / frame.rows.largest.max(1) as f64, cells.into());
            buffer.put(area.x + bar, area.y, text, cells.into(), pen.color(Color::Blue));
        }
    }
    let mut column = columns.id;
    if columns.name > columns.id && !row.id.is_empty() {
        let room = usize::from(columns.name - columns.id - 1);
        buffer.put(area.x + column, area.y, cut(&row.id, room, pen), room, pen.color(Color::Yellow));
    }
    // What is no object has all of the line.
    column = if row.id.is_empty() { columns.id } else { columns.name };
    let room = usize::from(area.width.saturating_sub(column));
    let lead = pen.escaped(&row.lead);
    // An id of a suspect is whole; where it came from, at most half.
    let cells = if listing.height > 1 { room } else { room / 2 };
    let lead = if lead.trim().is_empty() { lead } else { format!("{} ", cut(&lead, cells, pen)) };
    let end = buffer.put(area.x + column, area.y, &lead, room, pen.dim().patch(base));
    let place = Rect { x: end, width: area.right().saturating_sub(end), ..area };
    pen.put(buffer, place, &row.name, if listing.height > 1 { pen.bold() } else { base });
    let below = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
    for (text, line) in row.more.iter().zip(below.rows().skip(1)) {
        pen.put(buffer, line, text, Style::new());
    }
}

/// In place of a list that is not there yet, or cannot be.
fn waiting(state: &BrowserState, frame: &ViewFrame, area: Rect, buffer: &mut Buffer, pen: Pen) {
    let room = usize::from(area.width).saturating_sub(2);
    let text = match &frame.error {
        Some(why) => why.clone(),
        None if state.tree_asked && frame.view.needs_tree() => {
            let line = progress_line("", "computing dominators", state.progress.elapsed, None, room);
            format!("{line}; 2 shows the types meanwhile")
        }
        None if frame.is_pending => format!("{} going through the objects", pen.ellipsis()),
        None => String::new(),
    };
    let place = Rect { x: area.x + 2, width: room as u16, ..area };
    for (text, line) in wrapped(&pen.escaped(&text), room).iter().zip(place.rows().skip(1)) {
        pen.put(buffer, line, text, Style::new());
    }
}

/// The object under the cursor, beside the list.
pub(super) fn draw_pane(state: &BrowserState, area: Rect, buffer: &mut Buffer, pen: Pen) {
    let Some(listing) = state.pane.as_ref().and_then(|pane| pane.listing.as_ref()) else { return };
    let mut lines = area.rows();
    for (at, (text, line)) in listing.above.iter().zip(&mut lines).enumerate() {
        pen.put(buffer, line, text, if at == 0 { pen.bold() } else { Style::new() });
    }
    for (row, line) in (0..listing.len()).filter_map(|at| listing.row(at, state.browser.as_ref())).zip(lines) {
        let is_title = row.look == RowLook::Title;
        let parts = [row.lead.as_str(), row.id.as_str(), row.name.as_str()];
        let parts = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let text = if is_title { row.name.clone() } else { parts.join(" ") };
        pen.put(buffer, line, &text, if is_title { pen.bold() } else { Style::new() });
    }
}
