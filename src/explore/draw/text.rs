//! Texts in cells: harmless, cut, and drawn bars.

use unicode_width::UnicodeWidthChar;

use crate::escape::escape_controls;
use crate::explore::screen_cells::{CellStyle, Rect, ScreenBuffer};
use crate::explore::setup::ScreenLook;
use crate::names::display_columns;

/// Draws texts with a look.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextPen {
    pub(super) look: ScreenLook,
}

impl TextPen {
    /// A text from a dump, harmless; of ASCII alone where the terminal has no more.
    pub(super) fn escaped(self, text: &str) -> String {
        let text = escape_controls(text);
        if !self.look.is_ascii_only || text.is_ascii() {
            return text.into_owned();
        }
        let mut ascii = String::with_capacity(text.len());
        for ch in text.chars() {
            match ch {
                '…' => ascii.push('~'),
                '›' | '→' => ascii.push('>'),
                '←' => ascii.push('<'),
                '↓' => ascii.push('v'),
                '↑' => ascii.push('^'),
                '×' => ascii.push('x'),
                ch if ch.is_ascii() => ascii.push(ch),
                ch => ascii.extend(ch.escape_unicode()),
            }
        }
        ascii
    }

    /// Draws a text in the first line of an area, harmless and cut. Gives the column behind it.
    pub(super) fn put_cut(self, buffer: &mut ScreenBuffer, area: Rect, text: &str, style: CellStyle) -> u16 {
        let room = usize::from(area.width);
        buffer.put_text(area.x, area.y, cut_middle(&self.escaped(text), room, self), room, style)
    }

    pub(super) fn ellipsis(self) -> &'static str {
        if self.look.is_ascii_only { "~" } else { "…" }
    }

    /// A bar: so much of a whole, in so many cells.
    pub(super) fn bar_text(self, share: f64, cells: usize) -> String {
        let eighths = (share.clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize;
        if self.look.is_ascii_only {
            return "#".repeat((eighths + 4) / 8);
        }
        let mut bar = "█".repeat(eighths / 8);
        if !eighths.is_multiple_of(8) {
            bar.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
        }
        bar
    }
}

/// As much of the beginning, or of the end, as fits.
fn chars_that_fit(chars: impl Iterator<Item = char>, cells: usize) -> Vec<char> {
    let mut used = 0;
    chars
        .take_while(|ch| {
            used += ch.width().unwrap_or(0);
            used <= cells
        })
        .collect()
}

/// A text in so many cells at most: what is longer loses its middle.
pub(super) fn cut_middle(text: &str, cells: usize, pen: TextPen) -> String {
    if display_columns(text) <= cells {
        return text.to_string();
    }
    let room = cells.saturating_sub(1);
    let start: String = chars_that_fit(text.chars(), room / 2).into_iter().collect();
    let end: String = chars_that_fit(text.chars().rev(), room - room / 2).into_iter().rev().collect();
    if cells == 0 { String::new() } else { format!("{start}{}{end}", pen.ellipsis()) }
}

/// A text in lines of so many cells, broken between words; a longer word has a line of its own.
pub(super) fn wrapped_lines(text: &str, cells: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && display_columns(&line) + 1 + display_columns(word) > cells {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// As much of the end of a text as so many cells hold.
pub(super) fn end_that_fits(text: &str, cells: usize) -> String {
    chars_that_fit(text.chars().rev(), cells).into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEN: TextPen = TextPen { look: ScreenLook { has_color: true, is_ascii_only: false } };

    #[test]
    fn texts_fit_their_cells() {
        for text in ["", "a", "System.Collections.Generic.List", "日本語のクラス.名前", "e\u{301}e\u{301}e\u{301}"]
        {
            for cells in 0..40 {
                let shown = cut_middle(text, cells, PEN);
                assert!(display_columns(&shown) <= cells, "{shown} in {cells}");
                assert!(display_columns(&end_that_fits(text, cells)) <= cells);
            }
        }
        assert_eq!(cut_middle("System.Collections.List", 11, PEN), "Syste….List");
        assert_eq!(cut_middle("日本語のクラス", 7, PEN), "日…ス");
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(PEN.bar_text(1.0, 3), "███");
        assert_eq!(PEN.bar_text(0.5, 3), "█▌");
        assert_eq!(PEN.bar_text(0.0, 3), "");
        assert_eq!(TextPen { look: ScreenLook { is_ascii_only: true, ..PEN.look } }.bar_text(0.5, 3), "##");
    }

    #[test]
    fn names_are_harmless() {
        assert_eq!(PEN.escaped("a\u{202E}b\x1b[2J"), "a\\u{202e}b\\u{1b}[2J");
        let ascii = TextPen { look: ScreenLook { is_ascii_only: true, ..PEN.look } };
        assert_eq!(ascii.escaped("日 › x…"), "\\u{65e5} > x~");
    }
}
