//! What the browser is to show, and how it ended.

use super::dumps::{Dumps, WriteIndex};
use super::state::Look;
use super::view::{Context, Tab};
use super::watch::Watching;
use crate::dump::OpenDump;

/// Opens the dumps, in a thread of its own; an error in words.
pub type Load = Box<dyn FnOnce(&Watching) -> Result<Loaded, String> + Send>;

/// What the browser is to show.
pub struct Setup<'s> {
    /// What its commands are told of the dumps.
    pub context: Context,
    /// How it is drawn.
    pub look: Look,
    /// Where it begins: a view, an object. Default: the dominators, of two dumps what grew.
    pub start: (Option<Tab>, Option<String>),
    /// The mouse is the browser's, not the terminal's.
    pub mouse: bool,
    /// Opens the dumps.
    pub load: Load,
    /// Writes the index of the dump, where there can be one.
    pub write_index: Option<WriteIndex>,
    /// Told when they are open.
    pub opened: &'s dyn Fn(Dumps),
}

/// Dumps that were opened.
#[derive(Debug)]
pub struct Loaded {
    /// The dump.
    pub new: OpenDump,
    /// The one since which it grew.
    pub old: Option<OpenDump>,
}

impl Loaded {
    /// Keeps them until the process ends: workers may be in the middle of something when the user has seen enough, and
    /// nobody waits for them.
    pub(super) fn keep(self) -> Dumps {
        let keep = |dump: OpenDump| -> &'static OpenDump { Box::leak(Box::new(dump)) };
        Dumps { new: keep(self.new), old: self.old.map(keep) }
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The user has seen enough.
    Quit,
    /// An index turned out damaged: what was shown may be wrong.
    Damaged,
    /// There is no terminal any more.
    Gone,
}
