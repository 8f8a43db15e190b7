//! The screen while a dump is read.

use std::time::Duration;

use super::text::{Pen, cut};
use crate::dump::Phase;
use crate::explore::cells::{Buffer, Rect, Style};
use crate::explore::state::BrowserState;
use crate::report::{progress_line, progress_prefix};
use crate::units::count_of;

pub(super) fn draw(state: &BrowserState, area: Rect, buffer: &mut Buffer, pen: Pen) {
    let progress = state.progress;
    let file = state.context.paths.get(progress.file).or(state.context.paths.last());
    let prefix = file.map_or(String::new(), |file| progress_prefix(&file.to_string_lossy()));
    let room = usize::from(area.width).saturating_sub(4);
    let step = progress.phase.unwrap_or(Phase::Reading);
    let (name, bytes) = match step {
        Phase::Reading if progress.total > 0 && progress.done >= progress.total => ("resolving references", None),
        Phase::Reading => (step.name(), Some((progress.done, progress.total))),
        step => (step.name(), None),
    };
    let elapsed = progress.elapsed.max(Duration::from_millis(1));
    let line = progress_line(&prefix, name, elapsed, bytes, room);
    let y = area.height / 3;
    buffer.put(2, y, "heapdump explore", room, pen.bold());
    buffer.put(2, y + 2, cut(&pen.escaped(&line), room, pen), room, Style::new());
    if progress.objects > 0 {
        let so_far = if bytes.is_some() { " so far" } else { "" };
        let objects = count_of(progress.objects, "objects");
        buffer.put(2, y + 3, format!("{objects}{so_far}"), room, Style::new());
    }
    let hint = "q ends; `heapdump index` once, and the next time it is there at once";
    buffer.put(2, y + 4, cut(hint, room, pen), room, pen.dim());
}
