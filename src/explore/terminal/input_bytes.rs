//! Keys and mouse, as a terminal writes them.

use crate::explore::input_events::{KeyPress, Mouse};
use crate::explore::state::BrowserMessage;

/// Bytes of the longest sequence that means anything; of a longer one the beginning is dropped.
const MAX_SEQUENCE_BYTES: usize = 64;

/// Takes all that is whole; with `is_all` nothing follows, and what is left stands alone.
pub(super) fn take_messages(bytes: &mut Vec<u8>, is_all: bool) -> Vec<BrowserMessage> {
    let mut msgs = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        match first_message(rest) {
            Some((msg, length)) => {
                msgs.extend(msg);
                at += length;
            }
            None if is_all || rest.len() > MAX_SEQUENCE_BYTES => {
                msgs.extend((rest[0] == 0x1b).then_some(BrowserMessage::Key(KeyPress::Escape)));
                at += 1;
            }
            None => break,
        }
    }
    bytes.drain(..at);
    msgs
}

/// The first key, or what the mouse did, and its bytes; `None` where more bytes are to come.
fn first_message(bytes: &[u8]) -> Option<(Option<BrowserMessage>, usize)> {
    let key = |key: KeyPress, length: usize| Some((Some(BrowserMessage::Key(key)), length));
    match bytes[0] {
        b'\r' | b'\n' => key(KeyPress::Enter, 1),
        0x08 | 0x7f => key(KeyPress::Backspace, 1),
        control @ 0x01..=0x1a => key(KeyPress::Ctrl(char::from(control + b'a' - 1)), 1),
        0x1b => match *bytes.get(1)? {
            b'[' => csi_message(bytes),
            b'O' => Some((named_key(*bytes.get(2)?, 0).map(BrowserMessage::Key), 3)),
            // Pressed just before another key.
            _ => key(KeyPress::Escape, 1),
        },
        0x20..=0x7e => key(KeyPress::Char(char::from(bytes[0])), 1),
        _ => {
            let length = match bytes[0] {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return Some((None, 1)),
            };
            let text = std::str::from_utf8(bytes.get(..length)?);
            Some(match text.ok().and_then(|text| text.chars().next()) {
                Some(ch) => (Some(BrowserMessage::Key(KeyPress::Char(ch))), length),
                None => (None, 1),
            })
        }
    }
}

/// Behind `ESC [`: numbers, and a letter that says what they are.
fn csi_message(bytes: &[u8]) -> Option<(Option<BrowserMessage>, usize)> {
    let end = 2 + bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))?;
    let text = std::str::from_utf8(&bytes[2..end]).unwrap_or_default();
    let is_mouse = text.starts_with('<');
    let mut numbers = text.trim_start_matches('<').split(';').map(|number| number.parse::<u16>().unwrap_or(0));
    let mut number = || numbers.next().unwrap_or(0);
    let msg = match (is_mouse, bytes[end]) {
        (true, letter) => mouse_event(letter, number(), number(), number()).map(BrowserMessage::Mouse),
        (false, letter) => named_key(letter, number()).map(BrowserMessage::Key),
    };
    Some((msg, end + 1))
}

fn named_key(letter: u8, number: u16) -> Option<KeyPress> {
    Some(match (letter, number) {
        (b'A', _) => KeyPress::Up,
        (b'B', _) => KeyPress::Down,
        (b'C', _) => KeyPress::Right,
        (b'D', _) => KeyPress::Left,
        (b'H', _) | (b'~', 1 | 7) => KeyPress::Home,
        (b'F', _) | (b'~', 4 | 8) => KeyPress::End,
        (b'~', 5) => KeyPress::PageUp,
        (b'~', 6) => KeyPress::PageDown,
        (b'M', _) => KeyPress::Enter,
        _ => return None,
    })
}

/// Buttons as xterm numbers them, places from 1.
fn mouse_event(letter: u8, button: u16, column: u16, line: u16) -> Option<Mouse> {
    match (letter, button) {
        (b'M', 0) => Some(Mouse::Click(column.saturating_sub(1), line.saturating_sub(1))),
        (b'M', 64) => Some(Mouse::WheelUp),
        (b'M', 65) => Some(Mouse::WheelDown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8], is_all: bool) -> (Vec<String>, usize) {
        let mut left = bytes.to_vec();
        let msgs = take_messages(&mut left, is_all);
        let word = |msg: BrowserMessage| match msg {
            BrowserMessage::Key(KeyPress::Char(ch)) => ch.to_string(),
            BrowserMessage::Key(key) => format!("{key:?}"),
            BrowserMessage::Mouse(mouse) => format!("{mouse:?}"),
            other => panic!("{other:?}"),
        };
        (msgs.into_iter().map(word).collect(), left.len())
    }

    #[test]
    fn bytes_are_keys() {
        let all = |bytes: &[u8]| keys(bytes, true).0.join(" ");
        assert_eq!(all("jG/ä日\r\x7f\x04".as_bytes()), "j G / ä 日 Enter Backspace Ctrl('d')");
        assert_eq!(
            all(b"\x1b[A\x1b[B\x1bOC\x1b[D\x1b[5~\x1b[6~\x1b[H\x1b[4~"),
            "Up Down Right Left PageUp PageDown Home End"
        );
        assert_eq!(all(b"\x1b[<0;50;6M\x1b[<0;50;6m\x1b[<65;1;1M\x1b[<64;1;1M"), "Click(49, 5) WheelDown WheelUp");
        assert_eq!(all(b"\x1b[1;5A\x1b[200~x\xff"), "Up x");
        assert_eq!(all(b"\x1bj\x1b"), "Escape j Escape");
    }

    /// However the bytes come, the keys are the same; what is not whole waits.
    #[test]
    fn pieces_are_put_together() {
        let text = "j\x1b[B日\x1b[<0;9;9Mq".as_bytes();
        for cut in 0..=text.len() {
            let mut left = text[..cut].to_vec();
            let mut count = take_messages(&mut left, false).len();
            left.extend(&text[cut..]);
            count += take_messages(&mut left, false).len();
            assert!(count == 5 && left.is_empty(), "{cut}");
        }
        assert_eq!(keys(b"\x1b[", false), (Vec::new(), 2));
        assert_eq!(keys(b"\x1b[", true), (vec!["Escape".into(), "[".into()], 0));
    }
}
