//! Every integration test in one program, a theme a module: one link instead of twenty, and shared tools that are checked
//! for being used.

mod common;

mod architecture;
mod breakdown;
mod cli;
#[cfg(target_os = "linux")]
mod collect;
#[cfg(target_os = "linux")]
mod collect_container;
#[cfg(target_os = "linux")]
mod collect_live;
#[cfg(target_os = "linux")]
mod collect_safety;
mod damage;
mod detection;
mod diff;
mod dotnet;
#[cfg(feature = "explore")]
mod explore;
mod export;
mod filter;
mod findings_escape;
mod findings_linear;
mod findings_memory;
mod findings_outputs;
mod findings_readers;
mod findings_types;
mod fixtures;
#[cfg(feature = "parquet")]
mod fleet;
mod golden;
mod hprof;
mod hprof_damage;
mod hprof_groups;
mod hprof_shapes;
mod index;
mod json_keys;
mod leaks;
mod lists;
mod manual;
mod memory;
mod memory_infra;
mod newcomers;
mod object_changes;
mod objects;
mod oracle;
mod owners;
mod package;
#[cfg(unix)]
mod packaging;
mod phd;
mod readme;
mod referrers;
mod regressions;
mod report;
mod same_heap;
mod samples;
mod several;
mod strings;
mod terminal;
mod threads;
mod trees;
mod trend;
mod v8_snapshot;
mod values;
mod waste;
mod whole_texts;
#[cfg(all(target_os = "linux", feature = "explore"))]
mod windows;
