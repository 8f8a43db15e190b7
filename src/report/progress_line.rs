//! The line that shows progress: what is being done, how fast a file is read and how long that will still take, or how
//! long a step has been at work.

use std::time::Duration;

use super::{escape_controls, format_bytes};
use crate::names::shorten_middle;

/// A bar of fewer characters shows nothing.
const MIN_BAR_WIDTH: usize = 8;
/// Characters of a file's name beside the bar.
const MAX_NAME_WIDTH: usize = 30;

/// A file's name before what is done with it, shortened; which folder it is in matters less.
pub fn progress_prefix(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{}: ", shorten_middle(&escape_controls(name), MAX_NAME_WIDTH))
}

/// The whole line: `reading [=====>     ] 1.2 GiB of 3.0 GiB, 310.5 MiB/s, 6 s left`, `computing dominators, 12 s`.
/// `bytes`: those done, and those there are, 0 where that is unknown; `None` for work that is not told in bytes. `width`:
/// columns of the terminal.
pub fn progress_line(prefix: &str, name: &str, elapsed: Duration, bytes: Option<(u64, u64)>, width: usize) -> String {
    let Some((done, total)) = bytes else {
        return match elapsed.as_secs() {
            0 => format!("{prefix}{name}"),
            _ => format!("{prefix}{name}, {}", duration_text(elapsed)),
        };
    };
    // By the average since the start, which jumps about less than any other.
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let per_second = format!("{}/s", format_bytes(rate as u64));
    if total == 0 || done == 0 {
        return format!("{prefix}{name}, {}, {per_second}", format_bytes(done));
    }
    let left = (total.saturating_sub(done) as f64 / rate).min(1e6).ceil();
    let left = duration_text(Duration::from_secs_f64(left));
    let figures = format!("{} of {}, {per_second}, {left} left", format_bytes(done), format_bytes(total));
    // The bar takes what the words leave, if that is enough to show anything.
    let room = width.saturating_sub(prefix.chars().count() + name.len() + figures.len() + 5);
    if room < MIN_BAR_WIDTH {
        return format!("{prefix}{name}, {figures}");
    }
    let full = (room as u128 * u128::from(done) / u128::from(total)) as usize;
    format!("{prefix}{name} [{:=<full$}{:room$}] {figures}", "", ">", room = room - full)
}

/// `7 s`, `2 min 5 s`.
fn duration_text(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left_are_those_of_the_file() {
        let second = Duration::from_secs(1);
        let reading =
            |prefix, elapsed, done, total, width| progress_line(prefix, "reading", elapsed, Some((done, total)), width);
        let line = reading("", second, 1 << 20, 4 << 20, 80);
        assert_eq!(line, "reading [=======>                     ] 1.0 MiB of 4.0 MiB, 1.0 MiB/s, 3 s left");
        assert_eq!(line.len(), 79);
        let line = reading("a: ", second, 1 << 20, 200 << 20, 50);
        assert_eq!(line, "a: reading, 1.0 MiB of 200.0 MiB, 1.0 MiB/s, 3 min 19 s left");
        // The end of a pipe is not known; before the first byte nothing is.
        assert_eq!(reading("", 2 * second, 3 << 20, 0, 80), "reading, 3.0 MiB, 1.5 MiB/s");
        assert_eq!(reading("", Duration::ZERO, 0, 10, 80), "reading, 0 B, 0 B/s");
        assert!(reading("", Duration::ZERO, u64::MAX - 1, u64::MAX, 80).ends_with("1 s left"));
        let computing = |prefix, elapsed| progress_line(prefix, "computing dominators", elapsed, None, 80);
        assert_eq!(computing("b: ", Duration::ZERO), "b: computing dominators");
        assert_eq!(computing("", 125 * second), "computing dominators, 2 min 5 s");
    }
}
