//! Outputs: one place for indexes, exports and whatever else makes a file.
//!
//! - A regular file is written aside, in the folder it will be in, brought to the disk and renamed: it is whole or not
//!   there, and what was there before stays until then. Through a symbolic link the file behind it is replaced.
//! - What is no regular file (a device, a FIFO, a descriptor such as `/dev/stdout`) is written to, never replaced.
//! - No output is one of the inputs, by whatever name.
//! - Nobody may read an output who may not read the inputs: it has their modes at most, and the user's mask.
//! - When the program is ended by a signal, nothing that is not whole is left.

mod at_exit;
mod inputs;
mod locked_file;
mod many_files;
mod mode;
mod output;
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod system;
mod target;
mod unfinished;

pub use at_exit::ExitAction;
pub(crate) use inputs::hash_file;
pub use inputs::{Inputs, open, refuse_links};
#[cfg(feature = "parquet")]
pub(crate) use locked_file::remove_leftover;
pub use many_files::map_each_file;
pub use output::{CompleteOutput, LazyOutput, Output, free_temporary_bytes, nameless_file};
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) use output::{RawOutput, nameless_file_in};
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) use system::free_bytes;
pub use system::{is_trusted_owner, owner_of};
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) use target::folder_of;
pub use target::{OutputTarget, TargetError};
#[cfg(feature = "cli")]
pub(crate) use unfinished::end_program;
#[cfg(feature = "parquet")]
pub(crate) use unfinished::{create_folders, remove_created_empty_folders};
pub use unfinished::{remove_unfinished, wait_if_signalled, watch_signals};
