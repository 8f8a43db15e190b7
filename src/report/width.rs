//! Columns that texts take on a terminal, and texts cut to them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters of a name for which figures are left out.
pub(super) const READABLE: usize = 20;

/// Columns that a text takes on a terminal: letters of some scripts take two.
pub(super) fn columns_of(text: &str) -> usize {
    text.width()
}

/// As much of the start of a text as there is room for.
pub(super) fn start_of(text: &str, room: usize) -> &str {
    let mut width = 0;
    let end = text.char_indices().find(|(_, c)| {
        width += c.width().unwrap_or(1);
        width > room
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// As much of its end.
pub(super) fn end_of(text: &str, room: usize) -> &str {
    let mut width = 0;
    let before = text.char_indices().rev().find(|(_, c)| {
        width += c.width().unwrap_or(1);
        width > room
    });
    &text[before.map_or(0, |(at, c)| at + c.len_utf8())..]
}

/// Both ends of a text that is much too long for the room, which is all that is shown of it; others whole.
pub(super) fn without_middle(text: &str, room: usize) -> std::borrow::Cow<'_, str> {
    // What is left is longer than the room still, so that it is shortened and marked as such.
    let kept = room.max(3) + 1;
    if text.len() <= 8 * kept {
        return text.into();
    }
    let start = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().nth_back(kept).map_or(0, |(at, _)| at);
    if start < end { format!("{}{}", &text[..start], &text[end..]).into() } else { text.into() }
}

/// Takes characters out of the middle, so that `room` columns are enough: both ends of a name tell more than its middle.
pub fn shorten_middle(text: &str, room: usize) -> String {
    if columns_of(text) <= room {
        return text.to_string();
    }
    let room = room.max(3);
    let front = (room - 1) / 2;
    let (start, end) = (start_of(text, front), end_of(text, room - 1 - front));
    // What was cut before brings its mark.
    format!("{}…{}", start.trim_end_matches('…'), end.trim_start_matches('…'))
}
