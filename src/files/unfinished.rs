//! Files that are not whole yet. They go when the program is ended by a signal, which then ends it as it would have.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
#[cfg(feature = "parquet")]
use std::sync::{Mutex, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use super::at_exit::{self, EXIT_ACTIONS, ExitAction, ExitActionKind};
use super::system;
#[cfg(feature = "cli")]
use super::system::signals;

/// Folders that were made for files, each behind the one it is in.
#[cfg(feature = "parquet")]
static CREATED_FOLDERS: Mutex<Vec<ExitAction>> = Mutex::new(Vec::new());

/// Makes a folder and those it is in. It goes with [`remove_created_empty_folders`], and when a signal ends the program, unless
/// there is something in it. Error: those of the file system.
#[cfg(feature = "parquet")]
pub(crate) fn create_folders(folder: &Path) -> io::Result<()> {
    let mut folders = CREATED_FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let new: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in new.into_iter().rev() {
        let own = folder.to_path_buf();
        let make = || std::fs::create_dir_all(folder);
        folders.push(ExitAction::make_with_undo(make, move || drop(std::fs::remove_dir(own)))?.1);
    }
    Ok(())
}

/// Takes away the folders that were made and in which nothing is.
#[cfg(feature = "parquet")]
pub(crate) fn remove_created_empty_folders() {
    CREATED_FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..).rev().for_each(drop);
}

/// Takes away what is not whole. For whoever ends the process in the middle of something.
pub fn remove_unfinished() {
    at_exit::remove_unfinished_files();
}

/// Ends the program in the middle of its work, with this exit code: puts all right, and then runs `report`.
#[cfg(feature = "cli")]
pub(crate) fn end_program(report: impl FnOnce(), code: i32) -> ! {
    at_exit::run_all();
    report();
    std::process::exit(code)
}

/// Waits for the end if a signal has come that ends the program: an exit code of its own, or an output made of input
/// that ended with the same signal, would be in the way.
pub fn wait_if_signalled() {
    signals::wait_if_signalled();
}

/// Begins to wait for signals that end the program, in a thread that has the rights of this one. Error: what the system
/// says.
pub fn watch_signals() -> io::Result<()> {
    signals::watch()
}

/// A file that is not whole yet: taken away when it is dropped, or when a signal ends the program.
#[derive(Debug)]
pub(super) struct UnfinishedFile {
    path: TempPath,
    removal: ExitAction,
}

impl UnfinishedFile {
    pub(super) fn create_with(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(File, Self)> {
        watch_signals()?;
        let known = Arc::new(OnceLock::new());
        let own = Arc::clone(&known);
        let make = || {
            let (file, mut path) = make()?.into_parts();
            path.disable_cleanup(true);
            let _ = known.set(path.to_path_buf());
            Ok((file, path))
        };
        // It may be gone by itself; nobody is left to be told.
        let remove = move || own.get().into_iter().for_each(|path| drop(std::fs::remove_file(path)));
        let ((file, path), removal) = EXIT_ACTIONS.make_with_undo(ExitActionKind::RemoveFile, make, remove)?;
        Ok((file, UnfinishedFile { path, removal }))
    }

    /// Leaves what has its name where it is: it is another's.
    pub(super) fn give_up_name(self) {
        self.removal.forget();
    }

    /// Gives it its name, in place of what has that name now.
    pub(super) fn rename(self, target: &Path) -> io::Result<()> {
        let UnfinishedFile { path, removal } = self;
        signals::wait_if_signalled();
        removal.run_unless_ending(|| system::rename(path, target))?;
        removal.forget();
        Ok(())
    }
}

/// Without the command line the signals are the program's own to handle.
#[cfg(not(feature = "cli"))]
mod signals {
    pub(super) fn watch() -> std::io::Result<()> {
        Ok(())
    }

    pub(super) fn wait_if_signalled() {}
}

impl ExitAction {
    /// Keeps an action for the end. When the program ends already, it runs at once, and this never returns. Error: when
    /// signals cannot be waited for.
    pub fn new(action: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        watch_signals()?;
        Ok(EXIT_ACTIONS.add(action))
    }

    /// Makes something, and keeps the action that takes it away again. No signal ends the program between the two;
    /// where actions are being run already, nothing is made, and this never returns: not for use in an action. `make`
    /// is to be short, and must neither make nor drop another of these. Error: those of `make`, and when signals cannot
    /// be waited for: nothing has been made then.
    pub fn make_with_undo<T>(
        make: impl FnOnce() -> io::Result<T>,
        action: impl FnOnce() + Send + 'static,
    ) -> io::Result<(T, Self)> {
        watch_signals()?;
        EXIT_ACTIONS.make_with_undo(ExitActionKind::Other, make, action)
    }
}
