//! A browser for the terminal: a dump looked at row by row.
//!
//! `state` is what is shown and what each key makes of it, without a terminal; `tasks` has the workers, which turn questions
//! into `lists` by way of `answers`; `draw` makes cells of the state, only of what is on the screen; `terminal` enters and
//! leaves, reads keys, and runs the loop. Not here: opening dumps, options.

mod actions;
mod command;
mod draw;
mod export;
mod input_events;
mod listing;
mod lists;
mod load_progress;
mod screen_cells;
mod setup;
mod state;
mod tasks;
mod terminal;
#[cfg(test)]
mod tests;
mod view;
mod view_frame;

pub use load_progress::LoadProgress;
pub use setup::{BrowsedDumps, BrowserEnd, BrowserSetup, LoadDumps, LoadedDumps, ScreenLook, WriteIndex};
pub use view::{CommandContext, Tab};

/// Shows the dumps on the terminal until the user has seen enough. Error: when the terminal cannot be used, or a dump
/// cannot be read.
pub fn explore(setup: BrowserSetup<'_>) -> Result<BrowserEnd, String> {
    terminal::run_browser(setup)
}
