//! One file a command: its arguments, and a run in four steps: arguments, options of the question, answer, print.
//!
//! Not here: what is computed (see `answers`), how it looks (see `render`).

pub(crate) mod breakdown;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod collect;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod dominators;
#[cfg(feature = "explore")]
pub(crate) mod explore;
pub(crate) mod export;
pub(crate) mod index;
pub(crate) mod info;
pub(crate) mod leaks;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod redact;
pub(crate) mod referrers;
pub(crate) mod report;
pub(crate) mod roots;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod strings;
pub(crate) mod threads;
pub(crate) mod trend;
pub(crate) mod waste;
