//! Events of the loop.

use crate::explore::setup::Loaded;
use crate::explore::state::Msg;

/// An event of the loop.
pub(super) enum Event {
    Msg(Msg),
    /// The loader has ended.
    Loaded(Box<Result<Loaded, String>>),
    /// The terminal is gone.
    Gone,
}
