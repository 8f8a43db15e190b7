//! Things that several questions share: the objects they are about, groups, figures, rows and limits, trees, names of references,
//! values, errors.
//!
//! Not here: a question. Words that questions have in common are, `DiffBy` of `diff` and `trend` say.

pub mod allocation_heaps;
pub(in crate::answers) mod command_line;
pub mod detached_nodes;
pub(in crate::answers) mod dump_comparison;
pub(in crate::answers) mod entry_steps;
pub(in crate::answers) mod error;
pub(in crate::answers) mod field_groups;
pub mod figure;
pub(in crate::answers) mod frame_amounts;
pub(in crate::answers) mod frames;
pub(in crate::answers) mod group_by;
pub(in crate::answers) mod grouped_strings;
pub(crate) mod groups;
pub(crate) mod histogram_row;
pub mod holders;
pub mod libraries;
pub(in crate::answers) mod limit_result;
pub mod object_data;
pub(in crate::answers) mod object_texts;
pub(in crate::answers) mod off_heap;
pub(in crate::answers) mod owners;
pub(in crate::answers) mod paths;
pub mod problems;
pub(in crate::answers) mod reference_names;
pub(in crate::answers) mod rows;
pub(in crate::answers) mod scope;
pub(in crate::answers) mod times_and_file_names;
pub mod tree;
pub mod type_treemap;
pub mod values;

pub use allocation_heaps::AllocationHeapChoice;
pub use command_line::CommandLine;
pub use dump_comparison::DiffBy;
pub use error::{AnswerError, MIN_JUDGED_DUMPS};
pub use figure::Figure;
pub use group_by::GroupBy;
pub use owners::TypeOwnership;
#[cfg(feature = "cli")]
pub(crate) use paths::remove_inner_steps;
pub use paths::{PathNodeRow, PathRow, PathStep, PathSteps};
pub use problems::{ProblemRow, cut_sentence, cut_word};
pub use rows::{ObjectRow, Reachability, RootRow, step_text, type_with_value, type_words};
pub use scope::{Limits, ObjectId, ObjectIdError, Scope, ScopeOptions};
pub use tree::{Tree, TreeRow};
