//! The object under the cursor, beside the list.

use super::text::{Pen, cut};
use crate::explore::cells::{Buffer, Rect, Style};
use crate::explore::list::RowLook;
use crate::explore::state::BrowserState;

pub(super) fn draw(state: &BrowserState, area: Rect, buffer: &mut Buffer, pen: Pen) {
    let Some((_, Some(listing))) = state.pane.as_ref().map(|pane| (pane.node, &pane.listing)) else { return };
    let room = usize::from(area.width);
    let mut y = area.y;
    for (line, text) in listing.above.iter().enumerate() {
        let style = if line == 0 { pen.bold() } else { Style::new() };
        buffer.put(area.x, y, cut(&pen.escaped(text), room, pen), room, style);
        y += 1;
    }
    for at in 0..listing.len() {
        if y >= area.bottom() {
            break;
        }
        let Some(row) = listing.row(at, state.browser.as_ref()) else { continue };
        let text = match row.look {
            RowLook::Title => row.name,
            _ => [row.lead.as_str(), row.id.as_str(), row.name.as_str()]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" "),
        };
        let style = if row.look == RowLook::Title { pen.bold() } else { Style::new() };
        buffer.put(area.x, y, cut(&pen.escaped(&text), room, pen), room, style);
        y += 1;
    }
}
