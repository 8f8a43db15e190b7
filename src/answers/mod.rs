//! Questions and their answers as plain data: one file or folder a question, with an options struct, a function, and a result
//! whose serde form is the documented JSON of the command of that name.
//!
//! An answer holds what its forms need and borrows from the dump where it may have millions of rows: those are made one
//! by one when they are written. Beside each options struct one function writes the command line that asks the same.
//!
//! Code that two questions need lies in `shared`, which knows no question, or in `analysis`: no question uses another.
//!
//! Not here: command lines, styles, input and output (see `cli`, `report`), algorithms (see `analysis`).

pub mod breakdown;
pub mod browse;
pub mod diff;
pub mod dominator_tree;
pub mod histogram;
pub mod info;
pub mod leaks;
pub mod object;
pub mod objects;
pub mod referrers;
pub mod roots;
pub mod secrets;
mod shared;
pub mod strings;
pub mod threads;
pub mod trend;
pub mod waste;

pub use breakdown::{Breakdown, BreakdownOptions, breakdown};
pub use diff::{Diff, DiffOptions, diff};
pub use dominator_tree::{DominatorTree, DominatorTreeOptions, dominator_tree};
pub use histogram::{Histogram, HistogramOptions, ReachedBy, RetainedBy, histogram};
pub use info::{Info, InfoOfFiles, InfoOptions, info};
pub use leaks::{Leaks, LeaksOptions, Survivors, leaks, leaks_since, survivors};
pub use object::{ObjectAnswer, ObjectOptions, object};
pub use objects::{ObjectList, ObjectsOptions, objects};
pub use referrers::{Referrers, ReferrersOptions, referrers};
pub use roots::merged_paths::{KeptRows, MergedPathsOptions, MergedRootPaths, merged_paths};
pub use roots::{RootPathsAnswer, RootPathsOptions, root_paths};
pub use secrets::{Secrets, SecretsOptions, secrets};
pub use shared::*;
pub use strings::{StringsAnswer, StringsOptions, strings};
pub use threads::{Threads, ThreadsOptions, threads};
pub use trend::{DumpsTrend, TrendBuilder, TrendLimit, TrendOptions};
pub use waste::{Waste, WasteKind, WasteOptions, waste};
