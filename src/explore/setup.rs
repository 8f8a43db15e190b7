//! The setup of the browser, the dumps that it shows, and its end.

use std::sync::Arc;

use super::load_progress::LoadProgress;
use super::view::{CommandContext, Tab};
use crate::dump::OpenDump;

/// The dumps that are looked at. They stay open as long as the program runs.
#[derive(Debug, Clone, Copy)]
pub struct BrowsedDumps {
    /// The dump.
    pub new: &'static OpenDump,
    /// The one since which it grew.
    pub old: Option<&'static OpenDump>,
}

impl BrowsedDumps {
    /// Both, the older one first.
    pub(super) fn all(self) -> impl Iterator<Item = &'static OpenDump> {
        self.old.into_iter().chain([self.new])
    }
}

/// Writes the index of the dump.
pub type WriteIndex = Arc<dyn Fn(&OpenDump) -> Result<String, String> + Send + Sync>;

/// Opens the dumps, in a thread of its own; an error in words.
pub type LoadDumps = Box<dyn FnOnce(&LoadProgress) -> Result<LoadedDumps, String> + Send>;

/// Colours and characters of the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScreenLook {
    /// Colours; without them bold, dim and reverse alone.
    pub has_color: bool,
    /// ASCII alone.
    pub is_ascii_only: bool,
}

/// The setup of the browser.
pub struct BrowserSetup<'s> {
    /// Names and options of the dumps, for commands.
    pub context: CommandContext,
    /// Colours and characters.
    pub screen_look: ScreenLook,
    /// The view and the object at the start. Default: the dominators, of two dumps their growth.
    pub start_tab_and_object: (Option<Tab>, Option<String>),
    /// The mouse is the browser's, not the terminal's.
    pub takes_mouse: bool,
    /// Opens the dumps.
    pub load_dumps: LoadDumps,
    /// Writes the index of the dump, where there can be one.
    pub write_index: Option<WriteIndex>,
    /// Called when they are open.
    pub on_opened: &'s dyn Fn(BrowsedDumps),
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
    pub(super) fn leak_until_exit(self) -> BrowsedDumps {
        let keep = |dump: OpenDump| -> &'static OpenDump { Box::leak(Box::new(dump)) };
        BrowsedDumps { new: keep(self.new), old: self.old.map(keep) }
    }
}

/// The end of the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserEnd {
    /// The user has seen enough.
    Quit,
    /// An index turned out damaged: what was shown may be wrong.
    IndexDamaged,
    /// There is no terminal any more.
    TerminalGone,
}
