//! Files that are not whole yet. They go when the program is ended by a signal, which then ends it as it would have.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

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
    signals::watch()?;
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

/// Ends the program in the middle of its work, with this exit code: takes away what is not whole, runs what was kept for
/// the end, as a terminal to be put right, and then `report`.
#[cfg(feature = "cli")]
pub(crate) fn end_program(report: impl FnOnce(), code: i32) -> ! {
    // Held to the end: nothing is made or renamed any more.
    let mut files = lock();
    remove(&mut files);
    super::at_end::run_all();
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
    signals::watch()
}

/// A file that is not whole yet: taken away when it is dropped, or when a signal ends the program.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: Option<TempPath>,
}

impl Unfinished {
    /// Makes one.
    pub(super) fn make(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(std::fs::File, Self)> {
        signals::watch()?;
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
        let renamed = path.persist(target).map_err(|error| error.error);
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

#[cfg(all(unix, feature = "cli"))]
mod signals {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, LazyLock, Mutex, PoisonError};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// Set by the handler itself, before the thread that ends the program runs.
    static HAS_COME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

    pub(super) fn give_way() {
        while HAS_COME.load(Ordering::SeqCst) {
            std::thread::park();
        }
    }

    /// Begins to wait for signals, once, when the first file is made: until then there is nothing to put right.
    pub(super) fn watch() -> io::Result<()> {
        static WATCHED: Mutex<bool> = Mutex::new(false);
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        if *watched {
            return Ok(());
        }
        let wanted: Vec<i32> = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)).collect();
        let mut signals = Signals::new(&wanted)?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            // Held to the end: nothing is made or renamed any more.
            let mut files = super::lock();
            super::remove(&mut files);
            super::super::at_end::run_all();
            let _ = emulate_default_handler(signal);
            // Only if the system would not let it end so.
            std::process::abort();
        })?;
        for signal in wanted {
            flag::register(signal, Arc::clone(&HAS_COME))?;
        }
        *watched = true;
        Ok(())
    }

    /// Was the program started to live on after this signal, as `nohup` does, or a shell with what it runs beside
    /// itself? Where the system does not tell, only TERM is taken not to be.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
            Some(mask) => mask >> (signal - 1) & 1 == 1,
            None => signal != SIGTERM,
        }
    }
}

/// Without the command line the signals are the program's own to handle.
#[cfg(not(all(unix, feature = "cli")))]
mod signals {
    pub(super) fn watch() -> std::io::Result<()> {
        Ok(())
    }

    pub(super) fn give_way() {}
}
