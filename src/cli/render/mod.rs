//! Answers as tables and texts, answers that look alike in one file: columns, titles, sentences. What they say is the answer's.

#[cfg(all(feature = "collect", target_os = "linux"))]
mod collect;
mod flat_answers;
mod growth;
mod leaks;
mod objects;
mod root_paths;
mod shared_columns;
mod threads;
mod trees;
