//! Keys and mouse, from a thread of their own: the loop never waits for the terminal, and this thread never asks one that
//! is gone.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use super::loop_event::LoopEvent;
use super::system::KeyReader;
use super::terminal_guard::TerminalGuard;

/// A thread that reads keys until this is dropped.
pub(super) struct KeyThread(Arc<AtomicBool>);

impl Drop for KeyThread {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Begins to read; `resized` is set when the size of the terminal changes. The thread takes no key any more when the keys are
/// dropped: they are for another browser then, which has a thread of its own.
pub(super) fn start_key_thread(
    guard: &TerminalGuard,
    events: Sender<LoopEvent>,
    resized: &Arc<AtomicBool>,
) -> KeyThread {
    let is_over = Arc::new(AtomicBool::new(false));
    let keys = KeyThread(Arc::clone(&is_over));
    let Some(terminal) = guard.key_terminal() else { return keys };
    let mut reader = KeyReader::new(terminal, resized);
    let read = move || {
        loop {
            match reader.next(&is_over) {
                Ok(_) if is_over.load(Ordering::SeqCst) => return,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(_) => {
                    // Nobody listens when the program is about to end.
                    _ = events.send(LoopEvent::TerminalGone);
                    return;
                }
                Ok(msgs) => {
                    if msgs.into_iter().any(|msg| events.send(LoopEvent::Message(msg)).is_err()) {
                        return;
                    }
                }
            }
        }
    };
    // Without it there are no keys, and signals end the program.
    _ = std::thread::Builder::new().name("keys".into()).spawn(read);
    keys
}
