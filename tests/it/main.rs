//! Every integration test in one program, a theme a module: one link instead of twenty, and shared tools that are checked
//! for being used.

mod common;

mod architecture;
mod breakdown;
mod choosing;
mod cli;
#[cfg(target_os = "linux")]
mod collect;
#[cfg(target_os = "linux")]
mod collect_container;
#[cfg(target_os = "linux")]
mod collect_live;
#[cfg(target_os = "linux")]
mod collect_safety;
mod collect_series;
mod counted_fields;
mod counting;
mod damage;
mod detection;
mod diff;
mod dotnet;
mod escape;
#[cfg(feature = "explore")]
mod explore;
mod export;
mod figures;
mod filter;
mod fixtures;
#[cfg(feature = "parquet")]
mod fleet;
mod golden;
mod heapgraph;
mod histograms;
mod hostile_values;
mod hprof;
mod hprof_damage;
mod hprof_groups;
mod hprof_shapes;
mod index;
mod json_keys;
mod leak_shapes;
mod leaks;
mod leaks_live;
mod lists;
mod manual;
mod mcp;
mod memory;
mod memory_infra;
mod memory_of_inputs;
mod names;
mod object_changes;
mod objects;
mod oracle;
mod outputs;
mod owners;
mod package;
#[cfg(unix)]
mod packaging;
mod phd;
mod pprof;
mod questions_on_values;
mod readme;
mod redact;
mod referrers;
mod regressions;
mod report;
mod ruby;
mod same_heap;
mod samples;
mod secrets;
mod several;
mod streaming;
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
