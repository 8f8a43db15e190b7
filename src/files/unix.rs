//! Calls to a Unix about files, and about signals that end the program.

#[cfg(target_os = "linux")]
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use tempfile::TempPath;

use super::mode::MAX_OUTPUT_MODE;

/// Identity of a file, whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// Identity of the file of a name.
pub(super) fn identity_at(_: &Path, facts: &Metadata) -> Option<FileIdentity> {
    Some(FileIdentity { device: facts.dev(), inode: facts.ino() })
}

pub(super) fn identity_of(file: &File) -> Option<FileIdentity> {
    identity_at(Path::new(""), &file.metadata().ok()?)
}

/// Opens a file to be read, step by step, so that no link is followed, and waits for nobody.
#[cfg(target_os = "linux")]
pub(super) fn open_without_links(path: &Path) -> io::Result<File> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::ISDIR.into()) };
    let (common, none) = (OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    let step = |at: OwnedFd, name: &OsStr| openat(at, name, common | OFlags::PATH | OFlags::DIRECTORY, none);
    let mut at = rustix::fs::open(".", common | OFlags::PATH, none)?;
    for part in folder.components() {
        at = step(at, part.as_os_str())?;
    }
    Ok(openat(at, name, common | OFlags::NONBLOCK, none)?.into())
}

/// The same by a flag of macOS (`O_NONBLOCK`, and `O_NOFOLLOW_ANY` of `sys/fcntl.h`).
#[cfg(target_vendor = "apple")]
pub(super) fn open_without_links(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(0x2000_0004).open(path)
}

/// Elsewhere links are followed.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn open_without_links(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The file behind standard input or output.
pub(super) fn file_behind(stream: impl AsFd) -> Option<File> {
    stream.as_fd().try_clone_to_owned().ok().map(File::from)
}

/// Right that an output always has: whoever writes it may write it.
const OWNER_WRITE_MODE: u32 = 0o200;

/// Rights that a file gives its readers, as the mode of an output.
pub(super) fn mode_of(facts: &Metadata) -> u32 {
    facts.permissions().mode() & MAX_OUTPUT_MODE | OWNER_WRITE_MODE
}

/// Sets the rights that the file gives its readers; the system takes off what the user's mask says.
pub(super) fn set_mode(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    builder.permissions(std::fs::Permissions::from_mode(mode));
}

/// Is it the name of a device, whatever folder it stands in?
pub(super) fn is_device(_: &Path) -> bool {
    false
}

/// Gives a file its name, in place of what has that name now.
pub(super) fn rename(file: TempPath, target: &Path) -> io::Result<()> {
    file.persist(target).map_err(|error| error.error)
}

/// Free bytes on the file system of an open file or folder.
pub(crate) fn free_bytes(place: impl AsFd) -> Option<u64> {
    rustix::fs::fstatvfs(place).ok().map(|facts| facts.f_bavail.saturating_mul(facts.f_frsize))
}

pub(super) fn free_bytes_in(folder: &Path) -> Option<u64> {
    File::open(folder).ok().and_then(free_bytes)
}

/// Locks a file until it is closed; false when another run has it. Where files cannot be locked nobody is in the way.
pub(super) fn lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(Errno::NOTSUP | Errno::NOLCK | Errno::NOSYS) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// The number of the user who owns a file, where files have owners.
pub fn owner_of(facts: &Metadata) -> Option<u32> {
    Some(facts.uid())
}

/// May what `owner` wrote stand for `dump`? Only when that user is not known, is the one who runs this program, or owns the
/// dump and could have changed that as well.
pub fn is_trusted_owner(owner: Option<u32>, dump: Option<&Path>) -> bool {
    let Some(owner) = owner else { return true };
    let of_dump = || dump.and_then(|dump| owner_of(&dump.metadata().ok()?));
    owner == rustix::process::geteuid().as_raw() || of_dump() == Some(owner)
}

#[cfg(feature = "cli")]
pub(super) mod signals {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, LazyLock, Mutex, PoisonError};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    use crate::files::at_exit::run_all;

    /// Set by the handler itself, before the thread that ends the program runs.
    static SIGNAL_RECEIVED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

    pub(in crate::files) fn wait_if_signalled() {
        while SIGNAL_RECEIVED.load(Ordering::SeqCst) {
            std::thread::park();
        }
    }

    /// Begins to wait for signals, once, when the first file is made: until then there is nothing to put right.
    pub(in crate::files) fn watch() -> io::Result<()> {
        static WATCHED: Mutex<bool> = Mutex::new(false);
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        if *watched {
            return Ok(());
        }
        let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
        let wanted: Vec<i32> = ends.into_iter().filter(|&signal| !is_ignored(signal)).collect();
        let mut signals = Signals::new(&wanted)?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            run_all();
            let _ = emulate_default_handler(signal);
            // Only if the system would not let it end so.
            std::process::abort();
        })?;
        for signal in wanted {
            flag::register(signal, Arc::clone(&SIGNAL_RECEIVED))?;
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
