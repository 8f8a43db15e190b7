//! The keys of a view.

use super::text::{TextPen, cut_middle, wrapped_lines};
use crate::answers::diff::DiffBy;
use crate::explore::screen_cells::{CellStyle, Rect, ScreenBuffer};
use crate::explore::state::BrowserState;
use crate::explore::view::BrowserView;
use crate::units::format_count;

/// The keys of a view's own, in words.
fn keys_of_view(view: &BrowserView, is_objects: bool) -> &'static [(&'static str, &'static str)] {
    match view {
        BrowserView::Suspects => &[("Enter", "what it keeps alive"), ("o", "object"), ("p", "paths")],
        BrowserView::Types(_) if is_objects => &[("Enter", "objects"), ("p", "paths"), ("r", "exact retained")],
        BrowserView::Types(_) => &[],
        BrowserView::Dominators { is_merged_by_type: true, .. } => {
            &[("Enter", "in"), ("o", "object"), ("p", "paths"), ("t", "object by object")]
        }
        BrowserView::Dominators { .. } => &[("Enter", "in"), ("o", "object"), ("p", "paths"), ("t", "by type")],
        BrowserView::Groups(_) => &[("Enter", "types"), ("g", "other groups")],
        BrowserView::Growth(DiffBy::Groups(_)) if is_objects => &[("Enter", "objects"), ("t", "types, paths, roots")],
        BrowserView::Growth(_) if is_objects => &[("t", "types, paths, roots")],
        BrowserView::Growth(_) => &[("t", "types, stacks")],
        BrowserView::Objects { .. } => &[("Enter", "object"), ("p", "paths")],
        BrowserView::Object(_) => &[("Enter", "object of the row"), ("p", "paths to this one")],
        BrowserView::Paths(..) => &[("Enter", "object"), ("+", "more paths")],
        BrowserView::MergedPaths { .. } => &[("Enter", "objects")],
        BrowserView::AllocationHeaps | BrowserView::AllocationFrames { .. } => &[("Enter", "in")],
    }
}

/// The keys that work now, in a line.
pub(super) fn active_keys_line(state: &BrowserState) -> String {
    let Some(frame) = state.current_frame() else { return String::new() };
    let pen = TextPen { look: state.screen_look };
    let mut keys: Vec<String> = keys_of_view(&frame.view, state.context.has_object_graph)
        .iter()
        .map(|(key, what)| format!("{key} {what}"))
        .collect();
    let has_id = frame.row(frame.cursor, state.browser.as_ref()).is_some_and(|row| !row.id.is_empty());
    if state.current_tab_frames().len() > 1 {
        keys.insert(keys.len().min(1), "h back".into());
    }
    let find = super::text::cut_middle(&pen.escaped(&frame.find_text), 12, pen);
    keys.push(match frame.match_count() {
        Some(count) => format!("n N of {} (/{find})  Esc no find", format_count(count as u64)),
        None if find.is_empty() => "/ find".into(),
        None => format!("Esc all (/{find})"),
    });
    keys.extend(frame.has_other_orders().then(|| "s sort".to_string()));
    keys.extend(has_id.then(|| "y id".to_string()));
    keys.extend(["e command", "? keys", "q quit"].map(String::from));
    keys.join("  ")
}

/// The last of the keys: it leaves the help.
pub(super) const CLOSE_HELP_TEXT: &str = "any other key back";
/// The keys that work while the keys are shown.
pub(super) const HELP_KEYS: &str = "j k ^d ^u up and down  g G first, last  q quit  any other key back";

const COMMON_KEYS: [(&str, &str); 16] = [
    ("j k ↓ ↑", "a row down, up; ^d ^u half a page, PgDn PgUp a page"),
    ("g G", "first, last row (Home, End)"),
    ("l → Enter", "in"),
    ("h ← b", "back, as it was left (Backspace)"),
    ("1 to 5", "views, each where it was left; once more: its beginning"),
    (":", "go to an id, or: type PATTERN"),
    ("o  p", "the object; paths to it from roots, of a type merged"),
    ("/  n N", "find as --type does: text, glob, /regex/; next, previous"),
    ("Esc", "all rows again; then back"),
    ("s  S", "order by the next column; turn the order"),
    ("y Y e", "copy the id, the whole name, the command (OSC 52)"),
    ("x", "write the rows to a file, CSV or JSON"),
    ("w", "write the index: the next start takes no time"),
    ("m", "sizes as bytes"),
    ("mouse", "wheel, click, click again; Shift-drag selects text"),
    ("q ^C ^Z ^L", "quit; suspend; draw the screen anew"),
];

/// The keys of this view, then all keys, then what is to be known of the dump, from a line on. Gives the line that it
/// begins with: there is no end below the last one.
pub(super) fn draw_help(
    state: &BrowserState,
    first: usize,
    area: Rect,
    buffer: &mut ScreenBuffer,
    pen: TextPen,
) -> usize {
    let Some(frame) = state.current_frame() else { return 0 };
    let own = keys_of_view(&frame.view, state.context.has_object_graph)
        .iter()
        .filter(|(key, _)| !["o", "p", "Enter"].contains(key));
    let warnings = state.warnings.iter().map(|warning| ("!", warning.as_str()));
    let room = usize::from(area.width).saturating_sub(14);
    let all = own.chain(&COMMON_KEYS).map(|(key, what)| (*key, *what)).chain(warnings);
    let lines: Vec<(&str, String)> = all
        .flat_map(|(key, what)| {
            let what = wrapped_lines(&pen.escaped(what), room).into_iter();
            what.enumerate().map(move |(line, what)| (if line == 0 { key } else { "" }, what))
        })
        .collect();
    let height = usize::from(area.height);
    let first = first.min(lines.len().saturating_sub(height));
    for (line, (key, what)) in lines.iter().skip(first).take(height).enumerate() {
        let y = area.y + line as u16;
        buffer.put_text(area.x + 2, y, pen.escaped(key), 11, pen.bold());
        buffer.put_text(area.x + 14, y, cut_middle(what, room, pen), room, CellStyle::new());
    }
    first
}
