//! Files that are not whole yet. They go when the program is ended by a signal, which then ends it as it would have.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use super::at_end::{ACTIONS, AtEnd, run_all};
use super::system;
#[cfg(feature = "cli")]
use super::system::signals;

/// Whoever makes, renames or removes one holds this, so that a signal finds them all.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Folders that were made for files, each behind the one it is in.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn remove(files: &mut Vec<PathBuf>) {
    for file in files.drain(..) {
        // It may be gone by itself; nobody is left to be told.
        let _ = std::fs::remove_file(file);
    }
    remove_empty_folders();
}

/// Makes a folder and those it is in. It goes with [`remove_empty_folders`], and when a signal ends the program, unless there is
/// something in it.
///
/// # Errors
/// Those of the file system.
#[cfg(feature = "parquet")]
pub(crate) fn create_folders(folder: &Path) -> io::Result<()> {
    signals::watch(put_all_right)?;
    let _held = lock();
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let new: Vec<PathBuf> = folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
    folders.extend(new.into_iter().rev());
    std::fs::create_dir_all(folder)
}

/// Takes away the folders that were made and in which nothing is.
pub(crate) fn remove_empty_folders() {
    for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..).rev() {
        let _ = std::fs::remove_dir(folder);
    }
}

/// Takes away what is not whole. For whoever ends the process in the middle of something.
pub fn remove_unfinished() {
    remove(&mut lock());
}

/// Takes away what is not whole, and runs what was kept for the end, as a terminal to be put right. While the result is
/// held nothing is made or renamed any more.
fn put_all_right() -> MutexGuard<'static, Vec<PathBuf>> {
    let mut files = lock();
    remove(&mut files);
    run_all();
    files
}

/// Ends the program in the middle of its work, with this exit code: puts all right, and then runs `report`.
#[cfg(feature = "cli")]
pub(crate) fn end_program(report: impl FnOnce(), code: i32) -> ! {
    let _held = put_all_right();
    report();
    std::process::exit(code)
}

/// Waits for the end if a signal has come that ends the program: an exit code of its own, or an output made of input
/// that ended with the same signal, would be in the way.
pub fn give_way_to_signals() {
    signals::give_way();
}

/// Begins to wait for signals that end the program, in a thread that has the rights of this one.
///
/// # Errors
/// What the system says.
pub fn watch_signals() -> io::Result<()> {
    signals::watch(put_all_right)
}

/// A file that is not whole yet: taken away when it is dropped, or when a signal ends the program.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: Option<TempPath>,
}

impl Unfinished {
    /// Makes one.
    pub(super) fn make(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(std::fs::File, Self)> {
        signals::watch(put_all_right)?;
        let mut files = lock();
        let (file, path) = make()?.into_parts();
        files.push(path.to_path_buf());
        Ok((file, Unfinished { path: Some(path) }))
    }

    /// Leaves what has its name where it is: it is another's.
    pub(super) fn give_up_name(mut self) {
        if let Some(mut path) = self.path.take() {
            let mut files = lock();
            files.retain(|file| *file != *path);
            path.disable_cleanup(true);
        }
    }

    /// Gives it its name, in place of what has that name now.
    pub(super) fn rename(mut self, target: &Path) -> io::Result<()> {
        let Some(path) = self.path.take() else { return Ok(()) };
        signals::give_way();
        let mut files = lock();
        let own = path.to_path_buf();
        let renamed = system::rename(path, target);
        files.retain(|file| *file != own);
        renamed
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut files = lock();
            files.retain(|file| *file != *path);
            drop(path);
        }
    }
}

/// Without the command line the signals are the program's own to handle.
#[cfg(not(feature = "cli"))]
mod signals {
    pub(super) fn watch(_: crate::files::at_end::PutRight) -> std::io::Result<()> {
        Ok(())
    }

    pub(super) fn give_way() {}
}

impl AtEnd {
    /// Keeps an action for the end. When the program ends already, it runs at once, and this never returns.
    ///
    /// # Errors
    /// When signals cannot be waited for.
    pub fn new(action: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        watch_signals()?;
        Ok(ACTIONS.add(action))
    }

    /// Makes something, and keeps the action that takes it away again. No signal ends the program between the two; where actions
    /// are being run already, nothing is made, and this never returns: not for use in an action. `make` is to be short, and must
    /// neither make nor drop another of these.
    ///
    /// # Errors
    /// Those of `make`, and when signals cannot be waited for: nothing has been made then.
    pub fn make<T>(
        make: impl FnOnce() -> io::Result<T>,
        action: impl FnOnce() + Send + 'static,
    ) -> io::Result<(T, Self)> {
        watch_signals()?;
        ACTIONS.make(make, action)
    }
}
