//! The lines on the terminal, and those that are sent when they change.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::explore::screen_cells::{CellStyle, ScreenBuffer, ScreenCell};

/// The lines that are known to be on the terminal.
#[derive(Default)]
pub(super) struct Screen {
    size: (u16, u16),
    /// Each line as it was sent.
    lines: Vec<String>,
}

impl Screen {
    /// Sends the lines that are not there yet, at once.
    pub(super) fn send_changed_lines(
        &mut self,
        size: (u16, u16),
        buffer: &ScreenBuffer,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut sent = String::new();
        if size != self.size {
            sent.push_str("\x1b[0m\x1b[2J");
            *self = Screen { size, lines: Vec::new() };
        }
        let lines: Vec<String> = buffer.lines().map(line_for_terminal).collect();
        for (at, line) in lines.iter().enumerate().filter(|&(at, line)| self.lines.get(at) != Some(line)) {
            // Writing to a string does not fail.
            _ = write!(sent, "\x1b[{};1H{line}", at + 1);
        }
        self.lines = lines;
        out.write_all(sent.as_bytes())
    }
}

/// A line as a terminal takes it, from its first column on (ECMA-48).
fn line_for_terminal(cells: &[ScreenCell]) -> String {
    let used = cells.iter().rposition(|cell| *cell != ScreenCell::BLANK).map_or(0, |last| last + 1);
    let mut text = String::from("\x1b[0m");
    let mut style = CellStyle::new();
    let mut is_sure = true;
    for (column, cell) in cells[..used].iter().enumerate() {
        let Some(symbol) = cell.symbol else {
            is_sure = false;
            continue;
        };
        if !is_sure {
            // Terminals differ in how wide some characters are.
            _ = write!(text, "\x1b[{}G", column + 1);
        }
        if cell.style != style {
            style = cell.style;
            text.push_str("\x1b[0");
            for (has, code) in [(style.is_bold, ";1"), (style.is_dim, ";2"), (style.is_reversed, ";7")] {
                text.push_str(if has { code } else { "" });
            }
            if let Some(color) = style.color {
                _ = write!(text, ";{}", color as u8);
            }
            text.push('m');
        }
        text.push(symbol);
        text.push_str(&cell.combining_marks);
        is_sure = cell.combining_marks.is_empty();
    }
    if style != CellStyle::new() {
        text.push_str("\x1b[0m");
    }
    // Behind the last column the cursor stands on it still.
    if used < cells.len() {
        text.push_str("\x1b[K");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::screen_cells::Color;

    #[test]
    fn lines_that_stand_there_are_not_sent_again() {
        let mut screen = Screen::default();
        let mut sent = |size, buffer: &ScreenBuffer| {
            let mut out = Vec::new();
            screen.send_changed_lines(size, buffer, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let mut buffer = ScreenBuffer::new((4, 2));
        buffer.put_text(
            0,
            0,
            "日e\u{301}x",
            4,
            CellStyle { color: Some(Color::Cyan), is_dim: true, ..CellStyle::new() },
        );
        let first = "\x1b[1;1H\x1b[0m\x1b[0;2;36m日\x1b[3Ge\u{301}\x1b[4Gx\x1b[0m";
        assert_eq!(sent((4, 2), &buffer), format!("\x1b[0m\x1b[2J{first}\x1b[2;1H\x1b[0m\x1b[K"));
        assert_eq!(sent((4, 2), &buffer), "");
        buffer.put_text(1, 1, "ab", 2, CellStyle { is_bold: true, is_reversed: true, ..CellStyle::new() });
        assert_eq!(sent((4, 2), &buffer), "\x1b[2;1H\x1b[0m \x1b[0;1;7mab\x1b[0m\x1b[K");
        assert!(sent((5, 2), &buffer).starts_with("\x1b[0m\x1b[2J"), "of another size");
    }
}
