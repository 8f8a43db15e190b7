//! Calls to the console of Windows.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::Command;
use crossterm::ansi_support::supports_ansi;
use crossterm::event::{
    DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton,
    MouseEvent, MouseEventKind, poll, read,
};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode, size};

use crate::explore::input_events::{KeyPress, Mouse};
use crate::explore::state::BrowserMessage;

/// Time that a thread waits for keys that may be for another one when they come.
const KEY_WAIT: Duration = Duration::from_millis(100);

/// The console of the process, whatever standard input is.
pub(super) struct Terminal;

impl Terminal {
    /// Fails where there is none, or one that knows no escape sequences.
    pub(super) fn find() -> io::Result<Self> {
        size()?;
        match supports_ansi() {
            true => Ok(Terminal),
            false => Err(io::Error::new(io::ErrorKind::Unsupported, "it knows no escape sequences")),
        }
    }

    /// From now on each key comes by itself, and nothing is done about it.
    pub(super) fn make_raw(&self) -> io::Result<()> {
        enable_raw_mode()
    }

    pub(super) fn take_mouse(&self) -> io::Result<()> {
        EnableMouseCapture.execute_winapi()
    }

    pub(super) fn restore(&self) {
        // The first fails where the mouse was not taken; a console that is gone needs nothing.
        _ = DisableMouseCapture.execute_winapi();
        _ = disable_raw_mode();
    }

    /// Never: a console that goes ends its programs.
    pub(super) fn is_gone(&self) -> bool {
        false
    }
}

/// Writes all of it, if it can be written.
pub(super) fn write_all(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    _ = out.write_all(bytes).and_then(|()| out.flush());
}

pub(super) fn write(bytes: &[u8]) -> io::Result<usize> {
    let mut out = io::stdout().lock();
    let count = out.write(bytes)?;
    out.flush()?;
    Ok(count)
}

/// Nothing: there is nothing that would continue the process.
pub(super) fn suspend() {}

/// Nothing: a file that is mapped cannot be cut.
pub(super) fn restore_terminal_on_cut_index() {}

pub(super) struct KeyReader(Arc<AtomicBool>);

impl KeyReader {
    /// Begins; from now on `resized` is set when the size changes.
    pub(super) fn new(_: &'static Terminal, resized: &Arc<AtomicBool>) -> Self {
        KeyReader(Arc::clone(resized))
    }

    /// Waits for a key, or for the end.
    pub(super) fn next(&mut self, is_over: &AtomicBool) -> io::Result<Vec<BrowserMessage>> {
        while !is_over.load(Ordering::SeqCst) {
            if !poll(KEY_WAIT)? {
                continue;
            }
            let msg = match read()? {
                Event::Key(event) => key_press_of(event).map(BrowserMessage::Key),
                Event::Mouse(event) => mouse_of(event).map(BrowserMessage::Mouse),
                Event::Resize(..) => {
                    self.0.store(true, Ordering::SeqCst);
                    None
                }
                _ => None,
            };
            return Ok(msg.into_iter().collect());
        }
        Ok(Vec::new())
    }
}

fn key_press_of(KeyEvent { code, modifiers, kind, .. }: KeyEvent) -> Option<KeyPress> {
    if kind == KeyEventKind::Release {
        return None;
    }
    // AltGr, which many keyboards have for brackets, comes as both.
    let is_control = modifiers.contains(KeyModifiers::CONTROL) && !modifiers.contains(KeyModifiers::ALT);
    Some(match code {
        KeyCode::Char(letter) if is_control => KeyPress::Ctrl(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => KeyPress::Char(letter),
        KeyCode::Enter => KeyPress::Enter,
        KeyCode::Esc => KeyPress::Escape,
        KeyCode::Backspace => KeyPress::Backspace,
        KeyCode::Up => KeyPress::Up,
        KeyCode::Down => KeyPress::Down,
        KeyCode::Left => KeyPress::Left,
        KeyCode::Right => KeyPress::Right,
        KeyCode::PageUp => KeyPress::PageUp,
        KeyCode::PageDown => KeyPress::PageDown,
        KeyCode::Home => KeyPress::Home,
        KeyCode::End => KeyPress::End,
        _ => return None,
    })
}

fn mouse_of(MouseEvent { kind, column, row, .. }: MouseEvent) -> Option<Mouse> {
    Some(match kind {
        MouseEventKind::Down(MouseButton::Left) => Mouse::Click(column, row),
        MouseEventKind::ScrollUp => Mouse::WheelUp,
        MouseEventKind::ScrollDown => Mouse::WheelDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_other_terminals() {
        let pressed = |code, modifiers| key_press_of(KeyEvent::new(code, modifiers));
        assert_eq!(pressed(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(KeyPress::Char('G')));
        assert_eq!(pressed(KeyCode::Char('C'), KeyModifiers::CONTROL), Some(KeyPress::Ctrl('c')));
        assert_eq!(pressed(KeyCode::Char('['), KeyModifiers::CONTROL | KeyModifiers::ALT), Some(KeyPress::Char('[')));
        assert_eq!(pressed(KeyCode::F(1), KeyModifiers::NONE), None);
        let released = KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(key_press_of(released), None);
    }
}
