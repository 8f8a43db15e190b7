//! Questions and their answers as plain data: one module a question, with an options struct, a function, and a result
//! whose serde form is the documented JSON of the command of that name.
//!
//! An answer holds what its forms need and borrows from the dump where it may have millions of rows: those are made one
//! by one when they are written. Beside each options struct one function writes the command line that asks the same.
//!
//! Not here: command lines, styles, input and output (see `cli`, `report`), algorithms (see `analysis`).

mod advice;
pub mod biggest;
pub mod breakdown;
pub mod browse;
mod command_line;
pub mod detached;
pub mod diff;
mod diff_limits;
mod diff_rows;
mod diff_words;
pub mod dominator_tree;
mod error;
pub mod figure;
pub mod files_info;
pub(crate) mod groups;
pub mod heaps;
pub mod histogram;
mod histogram_options;
mod histogram_rows;
mod histogram_words;
pub mod holders;
pub mod info;
mod info_fields;
mod info_lines;
pub mod leaks;
pub mod libraries;
pub(crate) mod loader_row;
pub mod merged_paths;
pub mod object;
mod object_diff;
mod object_id;
pub mod object_rows;
pub mod objects;
mod owners;
pub mod path_lines;
mod paths;
pub mod problems;
pub mod properties;
mod reachability;
mod reference_names;
pub mod referrers;
mod requested_roots;
pub mod root_paths;
mod rows;
mod scope;
pub mod strings;
pub mod survivors;
pub mod threads;
pub mod tree;
pub mod trend;
pub mod type_map;
pub mod values;
pub mod waste;

pub use breakdown::{Breakdown, BreakdownOptions, breakdown};
pub use command_line::CommandLine;
pub use diff::{Diff, DiffBy, DiffOptions, diff};
pub use dominator_tree::{DominatorTree, DominatorTreeOptions, dominator_tree};
pub use error::AnswerError;
pub use figure::Figure;
pub use files_info::InfoOfFiles;
pub use groups::GroupBy;
pub use heaps::HeapChoice;
pub use histogram::{Histogram, HistogramOptions, RetainedBy, histogram};
pub use info::{Info, InfoOptions, info};
pub use leaks::{Leaks, LeaksOptions, leaks, leaks_since};
pub use merged_paths::{KeptRows, MergedPathsOptions, MergedRootPaths, merged_paths};
pub use object::{ObjectAnswer, ObjectOptions, object};
pub use object_id::{NotAnObjectId, ObjectId};
pub use objects::{ObjectList, ObjectsOptions, objects};
pub use owners::OwnTypes;
pub use paths::{NamedRow, PathRow, PathStep, PathSteps};
pub use problems::{ProblemRow, cut_sentence, cut_word};
pub use reachability::Reachability;
pub use referrers::{Referrers, ReferrersOptions, referrers};
pub use requested_roots::ReachedBy;
pub use root_paths::{RootPathsAnswer, RootPathsOptions, root_paths};
pub use rows::{ObjectRow, RootRow};
pub use scope::{Limits, Scope, ScopeOptions};
pub use strings::{StringsAnswer, StringsOptions, strings};
pub use survivors::{Survivors, survivors};
pub use threads::{Threads, ThreadsOptions, threads};
pub use tree::{Tree, TreeRow};
pub use trend::{DumpsTrend, MIN_JUDGED, TrendLimit, TrendOfDumps, TrendOptions};
pub use waste::{Waste, WasteKind, WasteOptions, waste};
