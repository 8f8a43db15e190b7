//! Keys and mouse, from a thread of their own: the loop never waits for the terminal.

use std::sync::mpsc::Sender;
use std::time::Duration;

use ratatui::crossterm::event::{
    Event as TerminalEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
    poll, read,
};

use super::Event;
use super::guard::Guard;
use crate::explore::keys::{Key, Mouse};
use crate::explore::state::Msg;

/// Begins to read. The thread lives as long as the program.
pub(super) fn start(_entered: &Guard, events: Sender<Event>) {
    let reader = move || {
        loop {
            let event = match poll(Duration::from_secs(3600)) {
                Ok(false) => continue,
                Ok(true) => read(),
                Err(error) => Err(error),
            };
            let event = match event {
                Ok(event) => msg(event).map(Event::Msg),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => None,
                Err(_) => Some(Event::Gone),
            };
            let is_gone = matches!(event, Some(Event::Gone));
            let is_unheard = event.is_some_and(|event| events.send(event).is_err());
            if is_gone || is_unheard {
                return;
            }
        }
    };
    // Without it there are no keys, and signals end the program.
    _ = std::thread::Builder::new().name("keys".into()).spawn(reader);
}

fn msg(event: TerminalEvent) -> Option<Msg> {
    match event {
        TerminalEvent::Key(key) if key.kind != KeyEventKind::Release => key_of(key).map(Msg::Key),
        TerminalEvent::Mouse(mouse) => mouse_of(mouse).map(Msg::Mouse),
        TerminalEvent::Resize(width, height) => Some(Msg::Resize(width, height)),
        _ => None,
    }
}

fn key_of(key: KeyEvent) -> Option<Key> {
    let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('h') if has_control => Key::Backspace,
        KeyCode::Char(ch) if has_control => Key::Ctrl(ch.to_ascii_lowercase()),
        KeyCode::Char(ch) => Key::Char(ch),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

fn mouse_of(mouse: MouseEvent) -> Option<Mouse> {
    Some(match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Mouse::Click(mouse.column, mouse.row),
        MouseEventKind::ScrollDown => Mouse::WheelDown,
        MouseEventKind::ScrollUp => Mouse::WheelUp,
        _ => return None,
    })
}
