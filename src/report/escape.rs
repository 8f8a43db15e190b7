//! Names from a dump are data: nothing in them may steer a terminal.

use std::borrow::Cow;

/// Control characters, and those that turn the direction of text, as `\u{1b}`; the rest as it is.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for ch in text.chars() {
        if steers(ch) {
            escaped.extend(ch.escape_unicode());
        } else {
            escaped.push(ch);
        }
    }
    escaped.into()
}

/// C0, DEL, C1, line and paragraph separators, and bidirectional controls.
pub(super) fn steers(ch: char) -> bool {
    ch.is_control()
        || matches!(ch, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::escape_controls;

    #[test]
    fn escape_sequences_become_text() {
        assert_eq!(escape_controls("Evil\u{1b}[31mRed\n\u{9b}\u{202e}"), "Evil\\u{1b}[31mRed\\u{a}\\u{9b}\\u{202e}");
        assert_eq!(escape_controls("Spiel.Größe"), "Spiel.Größe");
    }
}
