//! Answers as tables and texts, one file an answer: columns, titles, sentences. What they say is the answer's.

mod breakdown;
#[cfg(all(feature = "collect", target_os = "linux"))]
mod collect;
pub(crate) mod diff;
mod dominator_tree;
pub(crate) mod histogram;
pub(crate) mod info;
pub(crate) mod leaks;
pub(crate) mod manual;
mod merged_paths;
mod object;
pub(crate) mod objects;
mod referrers;
pub(crate) mod root_paths;
pub(crate) mod rows;
mod strings;
mod threads;
mod trend;
mod waste;
