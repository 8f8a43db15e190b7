//! A screen in cells, before it is sent to a terminal: texts with their styles, each at its place.

use unicode_width::UnicodeWidthChar;

/// A part of the screen, in cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rect {
    pub(super) x: u16,
    pub(super) y: u16,
    pub(super) width: u16,
    pub(super) height: u16,
}

impl Rect {
    /// The line below it.
    pub(super) fn bottom(self) -> u16 {
        self.y.saturating_add(self.height)
    }

    /// The column behind it.
    pub(super) fn right(self) -> u16 {
        self.x.saturating_add(self.width)
    }

    /// Its lines from above to below.
    pub(super) fn line_rects(self) -> impl Iterator<Item = Rect> {
        (self.y..self.bottom()).map(move |y| Rect { y, height: 1, ..self })
    }
}

/// Colours of the terminal's own palette, as ECMA-48 (SGR) numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Color {
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Cyan = 36,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CellStyle {
    /// The terminal's own where there is none.
    pub(super) color: Option<Color>,
    pub(super) is_bold: bool,
    pub(super) is_dim: bool,
    pub(super) is_reversed: bool,
}

impl CellStyle {
    /// The terminal's own.
    pub(super) fn new() -> Self {
        CellStyle::default()
    }

    /// This style with what the other one sets besides.
    pub(super) fn with_patch(self, other: CellStyle) -> Self {
        CellStyle {
            color: other.color.or(self.color),
            is_bold: self.is_bold || other.is_bold,
            is_dim: self.is_dim || other.is_dim,
            is_reversed: self.is_reversed || other.is_reversed,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenCell {
    /// Nothing in a cell that the character before it takes too.
    pub(super) symbol: Option<char>,
    /// Characters that take no cell of their own: accents.
    pub(super) combining_marks: String,
    pub(super) style: CellStyle,
}

impl ScreenCell {
    pub(super) const BLANK: ScreenCell = ScreenCell {
        symbol: Some(' '),
        combining_marks: String::new(),
        style: CellStyle { color: None, is_bold: false, is_dim: false, is_reversed: false },
    };

    /// The characters to be seen in it.
    #[cfg(test)]
    pub(super) fn chars(&self) -> impl Iterator<Item = char> {
        self.symbol.into_iter().chain(self.combining_marks.chars())
    }
}

/// The cells of a screen, line by line.
#[derive(Debug)]
pub(super) struct ScreenBuffer {
    width: u16,
    cells: Vec<ScreenCell>,
}

impl ScreenBuffer {
    pub(super) fn new((width, height): (u16, u16)) -> Self {
        ScreenBuffer { width, cells: vec![ScreenCell::BLANK; usize::from(width) * usize::from(height)] }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &[ScreenCell]> {
        self.cells.chunks(usize::from(self.width).max(1))
    }

    fn line_from(&mut self, x: u16, y: u16) -> &mut [ScreenCell] {
        let start = usize::from(y) * usize::from(self.width);
        let line = start + usize::from(x.min(self.width))..start + usize::from(self.width);
        self.cells.get_mut(line).unwrap_or_default()
    }

    /// Puts as much of a text as fits `room` cells and the line. Gives the column behind it.
    pub(super) fn put_text(&mut self, x: u16, y: u16, text: impl AsRef<str>, room: usize, style: CellStyle) -> u16 {
        let cells = self.line_from(x, y);
        let room = room.min(cells.len());
        let mut end = 0;
        for symbol in text.as_ref().chars() {
            // Characters that steer a terminal have no width.
            let Some(width) = symbol.width() else { continue };
            if end + width > room {
                break;
            }
            for cell in &mut cells[end..end + width] {
                *cell = ScreenCell { symbol: None, combining_marks: String::new(), style };
            }
            match width {
                0 => {
                    // Behind the character that it belongs to.
                    if let Some(cell) = cells[..end].iter_mut().rfind(|cell| cell.symbol.is_some()) {
                        cell.combining_marks.push(symbol);
                    }
                }
                _ => cells[end].symbol = Some(symbol),
            }
            end += width;
        }
        x + end as u16
    }

    /// Shows foreground and background the other way round.
    pub(super) fn set_reversed(&mut self, area: Rect) {
        for y in area.y..area.bottom() {
            for cell in self.line_from(area.x, y).iter_mut().take(area.width.into()) {
                cell.style.is_reversed = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(buffer: &ScreenBuffer) -> String {
        buffer.lines().flatten().flat_map(ScreenCell::chars).collect()
    }

    #[test]
    fn texts_end_where_their_room_does() {
        let mut buffer = ScreenBuffer::new((6, 2));
        assert_eq!(buffer.put_text(1, 0, "abc", 2, CellStyle::new()), 3);
        // A wide character that does not fit is left out, whatever follows; an accent takes no room.
        assert_eq!(buffer.put_text(1, 1, "e\u{301}日本x", 4, CellStyle::new()), 4);
        assert_eq!(shown(&buffer), " ab    e\u{301}日  ");
        assert_eq!(buffer.put_text(4, 0, "x\u{1b}yz", 9, CellStyle::new()), 6);
        assert_eq!(shown(&buffer), " ab xy e\u{301}日  ");
        for (x, y) in [(6, 0), (9, 0), (0, 2), (u16::MAX, u16::MAX)] {
            assert_eq!(buffer.put_text(x, y, "abc", 3, CellStyle::new()), x, "outside of it");
        }
        buffer.set_reversed(Rect { x: 5, y: 0, width: 9, height: 9 });
        assert_eq!(buffer.lines().flatten().filter(|cell| cell.style.is_reversed).count(), 2);
    }
}
