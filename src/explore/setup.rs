//! The setup of the browser, and its end.

use super::dumps::{BrowsedDumps, WriteIndex};
use super::state::ScreenLook;
use super::view::{Context, Tab};
use super::watch::Watching;
use crate::dump::OpenDump;

/// Opens the dumps, in a thread of its own; an error in words.
pub type Load = Box<dyn FnOnce(&Watching) -> Result<LoadedDumps, String> + Send>;

/// The setup of the browser.
pub struct Setup<'s> {
    /// Names and options of the dumps, for commands.
    pub context: Context,
    /// Colours and characters.
    pub look: ScreenLook,
    /// The view and the object at the start. Default: the dominators, of two dumps their growth.
    pub start: (Option<Tab>, Option<String>),
    /// The mouse is the browser's, not the terminal's.
    pub mouse: bool,
    /// Opens the dumps.
    pub load: Load,
    /// Writes the index of the dump, where there can be one.
    pub write_index: Option<WriteIndex>,
    /// Told when they are open.
    pub opened: &'s dyn Fn(BrowsedDumps),
}

/// Dumps that were opened.
#[derive(Debug)]
pub struct LoadedDumps {
    /// The dump.
    pub new: OpenDump,
    /// The one since which it grew.
    pub old: Option<OpenDump>,
}

impl LoadedDumps {
    /// Keeps them until the process ends: workers may be in the middle of something when the user has seen enough, and
    /// nobody waits for them.
    pub(super) fn keep(self) -> BrowsedDumps {
        let keep = |dump: OpenDump| -> &'static OpenDump { Box::leak(Box::new(dump)) };
        BrowsedDumps { new: keep(self.new), old: self.old.map(keep) }
    }
}

/// The end of the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The user has seen enough.
    Quit,
    /// An index turned out damaged: what was shown may be wrong.
    Damaged,
    /// There is no terminal any more.
    Gone,
}
