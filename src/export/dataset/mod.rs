//! Many dumps as a dataset of Parquet files, for engines that answer free questions on one machine or many: a folder a
//! table, a file a dump. The tables and their columns are described in `docs/fleet.md`.
//!
//! A file is written under a name of one's own beside its place, brought to the disk and renamed; the row of `dumps` comes
//! last: a dump without it is not there. Nothing is changed in place.
//!
//! Every number is signed, byte counts are bytes, and no walk over the heap is left to the engine: what dominates what is
//! in columns. Not here: which files are asked for, progress (see `cli`).

mod allocations;
mod dominator_paths;
mod dump_place;
mod dump_writer;
mod dumps;
mod error;
mod field_rows;
mod object_heap;
mod objects;
mod parquet_table;
mod roots_and_suspects;
mod table_names;
mod type_references;
mod types;

pub use dump_place::ExistingDump;
pub use dump_writer::{BegunDump, DatasetOptions, DumpWriter, begin_dump, labels_of};
pub use error::DatasetError;
pub use table_names::{TableChoice, TableName};
