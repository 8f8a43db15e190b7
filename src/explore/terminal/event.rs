//! Events of the loop.

use crate::explore::setup::LoadedDumps;
use crate::explore::state::Msg;

pub(super) enum LoopEvent {
    Msg(Msg),
    Loaded(Box<Result<LoadedDumps, String>>),
    /// The terminal is gone.
    Gone,
}
