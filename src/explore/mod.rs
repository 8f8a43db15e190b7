//! A browser for the terminal: a dump looked at row by row.
//!
//! `state` is what is shown and what each key makes of it, without a terminal; `ask` has the workers, which turn questions
//! into `lists` by way of `answers`; `draw` makes cells of the state, only of what is on the screen; `terminal` enters and
//! leaves, reads keys, and runs the loop. Not here: opening dumps, options.

mod act;
mod ask;
mod draw;
mod export;
mod frame;
mod keys;
mod list;
mod lists;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod typing;
mod view;
mod watch;

pub use ask::{Dumps, WriteIndex};
pub use state::Look;
pub use view::{Context, Tab};
pub use watch::Watching;

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
    fn keep(self) -> Dumps {
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

/// Shows the dumps on the terminal until the user has seen enough.
///
/// # Errors
/// When the terminal cannot be used, or a dump cannot be read.
pub fn explore(setup: Setup<'_>) -> Result<Ended, String> {
    terminal::run(setup)
}
