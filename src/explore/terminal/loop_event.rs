//! Events of the loop.

use crate::explore::setup::LoadedDumps;
use crate::explore::state::BrowserMessage;

pub(super) enum LoopEvent {
    Message(BrowserMessage),
    Loaded(Box<Result<LoadedDumps, String>>),
    /// The terminal is gone.
    TerminalGone,
}
