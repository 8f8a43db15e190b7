//! What the loop waits for.

use crate::explore::setup::Loaded;
use crate::explore::state::Msg;

/// What the loop waits for.
pub(super) enum Event {
    Msg(Msg),
    /// The loader has ended.
    Loaded(Box<Result<Loaded, String>>),
    /// The terminal is gone.
    Gone,
}
