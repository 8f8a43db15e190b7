//! The screen: `BrowserState` to cells. Only what is on the screen is formatted.

mod help;
mod rows;
mod text;

use std::time::Duration;

use super::screen_cells::{CellStyle, Color, Rect, ScreenBuffer};
use super::state::{BrowserState, ClickTarget, ClickTargets, MAX_COLUMNS_WITHOUT_PANE, Prompt};
use crate::dump::Phase;
use crate::names::{display_columns, fit_name, shorten_middle, text_start};
use crate::report::{progress_line, progress_prefix};
use crate::units::{count_with_noun, format_count};
use text::{TextPen, cut_middle, end_that_fits};

/// The smallest screen that a list fits.
const MIN_SCREEN_SIZE: (u16, u16) = (40, 8);

/// Draws everything, and remembers what can be clicked.
pub(super) fn draw_screen(state: &mut BrowserState, area: Rect, buffer: &mut ScreenBuffer) {
    let pen = TextPen { look: state.screen_look };
    state.click_targets.clear();
    if area.width < MIN_SCREEN_SIZE.0 || area.height < MIN_SCREEN_SIZE.1 {
        let text = format!("needs {} x {}", MIN_SCREEN_SIZE.0, MIN_SCREEN_SIZE.1);
        buffer.put_text(0, 0, text, area.width.into(), CellStyle::new());
        return;
    }
    if state.dumps.is_none() {
        draw_loading(state, area, buffer, pen);
        return;
    }
    let mut click_targets = draw_tabs(state, area, buffer, pen);
    click_targets.extend(draw_breadcrumbs(state, area, buffer, pen));
    let body = Rect { y: 2, height: area.height - 4, ..area };
    if let Some(first) = state.first_help_line {
        state.first_help_line = Some(help::draw_help(state, first, body, buffer, pen));
    } else if area.width > MAX_COLUMNS_WITHOUT_PANE && state.side_pane.is_some() {
        let left = body.width * 5 / 8;
        rows::draw_list(state, Rect { width: left, ..body }, buffer, pen);
        rows::draw_side_pane(state, Rect { x: left + 2, width: body.width - left - 2, ..body }, buffer, pen);
    } else {
        rows::draw_list(state, body, buffer, pen);
    }
    let (command_line, key_line) = (area.height - 2, area.height - 1);
    draw_command(state, Rect { y: command_line, height: 1, ..area }, buffer, pen);
    draw_last_line(state, Rect { y: key_line, height: 1, ..area }, buffer, pen);
    state.click_targets.extend(click_targets);
}

fn draw_loading(state: &BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let progress = state.read_progress;
    let file = state.context.dump_paths.get(progress.file_number).or(state.context.dump_paths.last());
    let prefix = file.map_or(String::new(), |file| progress_prefix(&file.to_string_lossy()));
    let (name, bytes) = match progress.phase.unwrap_or(Phase::Reading) {
        Phase::Reading if progress.total_bytes > 0 && progress.done_bytes >= progress.total_bytes => {
            ("resolving references", None)
        }
        Phase::Reading => (Phase::Reading.name(), Some((progress.done_bytes, progress.total_bytes))),
        step => (step.name(), None),
    };
    let line = |at: u16| Rect { x: 2, y: area.height / 3 + at, width: area.width.saturating_sub(4), height: 1 };
    let elapsed = progress.elapsed.max(Duration::from_millis(1));
    pen.put_cut(buffer, line(0), "heapdump explore", pen.bold());
    let text = progress_line(&prefix, name, elapsed, bytes, line(2).width.into());
    pen.put_cut(buffer, line(2), &text, CellStyle::new());
    if progress.object_count > 0 {
        let so_far = if bytes.is_some() { " so far" } else { "" };
        let objects = format!("{}{so_far}", count_with_noun(progress.object_count, "objects"));
        pen.put_cut(buffer, line(3), &objects, CellStyle::new());
    }
    let hint = "q ends; `heapdump index` once, and the next time it is there at once";
    pen.put_cut(buffer, line(4), hint, pen.dim());
}

fn draw_tabs(state: &BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) -> ClickTargets {
    let tabs = state.tabs();
    let full: usize = tabs.iter().map(|tab| tab.title(state.context.has_object_graph).len() + 4).sum();
    let is_narrow = full > area.width.into();
    let mut column = 0u16;
    let mut click_targets = Vec::new();
    for (at, tab) in tabs.iter().enumerate() {
        let title = tab.title(state.context.has_object_graph);
        let text = match at == state.tab_index || !is_narrow {
            true => format!(" {} {title} ", tab.tab_number()),
            false => format!(" {} ", tab.tab_number()),
        };
        let style = if at == state.tab_index { pen.reverse() } else { pen.dim() };
        let end = buffer.put_text(column, 0, &text, (area.width - column).into(), style);
        click_targets.push((0, column..end, ClickTarget::Tab(*tab)));
        column = end;
    }
    let names: Vec<String> = state
        .context
        .dump_paths
        .iter()
        .map(|path| match path.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => path.display().to_string(),
        })
        .collect();
    let names = if names.is_empty() { "standard input".into() } else { names.join(" > ") };
    let names = pen.escaped(&names);
    let rest = Rect { x: column, width: area.width - column, ..area };
    let head = format!("  {names}  {}", pen.escaped(&state.dump_summary));
    let is_whole = display_columns(&head) <= usize::from(rest.width);
    let head =
        if is_whole { head } else { format!("  {}", shorten_middle(&names, usize::from(rest.width).max(5) - 2)) };
    pen.put_cut(buffer, rest, &head, pen.dim());
    click_targets
}

fn draw_breadcrumbs(state: &BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) -> ClickTargets {
    let texts: Vec<String> =
        state.current_tab_frames().iter().map(|frame| pen.escaped(&frame.view.breadcrumb())).collect();
    let between = if pen.look.is_ascii_only { " > " } else { " › " };
    let width = usize::from(area.width);
    let texts: Vec<String> = texts.iter().map(|text| pen.escaped(&fit_name(text, width / 3))).collect();
    // The beginning and as much of the end as there is room for.
    let mut first_shown = texts.len().saturating_sub(1);
    let mut used = texts.last().map_or(0, |text| display_columns(text))
        + texts.first().map_or(0, |text| display_columns(text))
        + 6
        + 3;
    while first_shown > 1 && used + display_columns(&texts[first_shown - 1]) + 3 <= width {
        first_shown -= 1;
        used += display_columns(&texts[first_shown]) + 3;
    }
    let style = pen.color(Color::Cyan);
    let mut column = 0u16;
    let mut click_targets = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        if 0 < at && at < first_shown {
            continue;
        }
        if at > 0 {
            let gap = if at == first_shown && first_shown > 1 {
                format!("{between}{}{between}", pen.ellipsis())
            } else {
                between.into()
            };
            column = buffer.put_text(column, 1, gap, (area.width - column).into(), pen.dim());
        }
        let end = buffer.put_text(column, 1, text, (area.width - column).into(), style);
        click_targets.push((1, column..end, ClickTarget::Breadcrumb(at)));
        column = end;
    }
    click_targets
}

fn draw_command(state: &BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let Some(frame) = state.current_frame() else { return };
    let place = match frame.rows.row_count {
        0 => String::new(),
        len => format!("{}/{}", format_count(frame.cursor as u64 + 1), format_count(len as u64)),
    };
    let left = Rect { width: area.width.saturating_sub(place.len() as u16 + 2), ..area };
    let command = format!("$ {}", pen.escaped(&state.print_command().unwrap_or_default()));
    pen.put_cut(buffer, left, &command_that_fits(&command, left.width.into()), pen.color(Color::Green));
    buffer.put_text(area.width - place.len() as u16, area.y, place, usize::from(area.width), pen.dim());
}

fn draw_last_line(state: &BrowserState, area: Rect, buffer: &mut ScreenBuffer, pen: TextPen) {
    let room = usize::from(area.width);
    let (text, style) = match (&state.prompt, &state.status_note) {
        (Some(prompt), _) => {
            let text = match prompt {
                Prompt::Find(text) => format!("/{text}"),
                Prompt::GoToObject(text) => format!("go to (an id, or: type PATTERN): {text}"),
                Prompt::Export(text) => format!("write rows to (name.csv or name.json): {text}"),
                Prompt::ReplaceFile(file) => format!("{file} is there already; replace it? y/n"),
            };
            let text = pen.escaped(&text);
            // The end of what is typed is what matters.
            let end = buffer.put_text(0, area.y, end_that_fits(&text, room - 1), room - 1, CellStyle::new());
            buffer.put_text(end, area.y, " ", 1, pen.reverse());
            return;
        }
        (None, Some(note)) => (pen.escaped(note), pen.bold()),
        (None, None) if state.first_help_line.is_some() => (help::HELP_KEYS.to_string(), pen.dim()),
        (None, None) => (help::active_keys_line(state), pen.dim()),
    };
    let text = if state.status_note.is_some() { cut_middle(&text, room, pen) } else { keys_that_fit(&text, room) };
    buffer.put_text(0, area.y, text, room, style);
}

/// The beginning and the last word of a command, where there is no room for all words.
fn command_that_fits(command: &str, room: usize) -> String {
    let Some((front, last)) = command.rsplit_once(' ').filter(|_| display_columns(command) > room) else {
        return command.to_string();
    };
    let last = shorten_middle(last, 30.min(room / 2));
    let room = room.saturating_sub(display_columns(&last) + 3);
    let front = text_start(front, room + 1);
    format!("{} … {last}", front.rsplit_once(' ').map_or("$", |(words, _)| words))
}

/// As many of the keys as there is room for; `?` names them all.
fn keys_that_fit(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_string();
    }
    let tail = if text.ends_with(help::CLOSE_HELP_TEXT) { help::CLOSE_HELP_TEXT } else { "? keys" };
    let mut shown = String::new();
    for key in text.split("  ").filter(|key| *key != tail) {
        if shown.len() + key.len() + 2 + tail.len() > room {
            break;
        }
        shown += key;
        shown += "  ";
    }
    shown + tail
}

impl TextPen {
    fn color(self, color: Color) -> CellStyle {
        CellStyle { color: self.look.has_color.then_some(color), ..CellStyle::new() }
    }

    fn reverse(self) -> CellStyle {
        CellStyle { is_reversed: true, ..CellStyle::new() }
    }

    fn dim(self) -> CellStyle {
        CellStyle { is_dim: true, ..CellStyle::new() }
    }

    fn bold(self) -> CellStyle {
        CellStyle { is_bold: true, ..CellStyle::new() }
    }
}
