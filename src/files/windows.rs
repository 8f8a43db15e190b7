//! Calls to Windows about files, and about Ctrl-C.
#![allow(
    unsafe_code,
    reason = "calls of the system that no crate of the tree wraps; the standard library locks files from Rust 1.89 on"
)]

use std::fs::{File, Metadata};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::path::Path;

use tempfile::TempPath;
use windows_sys::Win32::Foundation::{ERROR_INVALID_FUNCTION, ERROR_LOCK_VIOLATION, ERROR_NOT_SUPPORTED};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, GetDiskFreeSpaceExW, GetFileInformationByHandle, LOCKFILE_EXCLUSIVE_LOCK,
    LOCKFILE_FAIL_IMMEDIATELY, LockFileEx,
};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};

use super::mode::MAX_OUTPUT_MODE;

/// Identity of a file, whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    volume: u32,
    file: u64,
}

/// Identity of the file of a name.
pub(super) fn identity_at(path: &Path, facts: &Metadata) -> Option<Identity> {
    // Of a pipe it would wait for somebody.
    if facts.is_file() { identity_of(&File::open(path).ok()?) } else { None }
}

pub(super) fn identity_of(file: &File) -> Option<Identity> {
    let mut facts = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open while the file is borrowed; `facts` is what the call fills.
    let is_known = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut facts) } != 0;
    let number = u64::from(facts.nFileIndexHigh) << 32 | u64::from(facts.nFileIndexLow);
    // File systems without numbers of files say 0.
    (is_known && number != 0).then_some(Identity { volume: facts.dwVolumeSerialNumber, file: number })
}

/// Opens a file to be read. Links are followed: who may make them here is an administrator.
pub(super) fn open_without_links(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The file behind standard input or output.
pub(super) fn file_behind(stream: impl AsHandle) -> Option<File> {
    stream.as_handle().try_clone_to_owned().ok().map(File::from)
}

/// Rights that a file gives its readers: who may read it is the folder's to say here.
pub(super) fn mode_of(_: &Metadata) -> u32 {
    MAX_OUTPUT_MODE
}

/// Nothing: a new file has the rights of its folder.
pub(super) fn set_mode(_: &mut tempfile::Builder<'_, '_>, _: u32) {}

/// Is it the name of a device, whatever folder it stands in? `NUL` and `CON` are.
pub(super) fn is_device(path: &Path) -> bool {
    std::path::absolute(path).is_ok_and(|path| path.as_os_str().as_encoded_bytes().starts_with(br"\\.\"))
}

/// Gives a file its name, in place of what has that name now. What somebody has open there, as an index that is mapped,
/// may not be replaced, but renamed: it gets the name of an unfinished file, and goes when nobody has it open any more.
pub(super) fn rename(file: TempPath, target: &Path) -> io::Result<()> {
    let Err(error) = file.persist(target) else { return Ok(()) };
    let old = error.path.with_extension("old.part");
    if std::fs::rename(target, &old).is_err() {
        return Err(error.error);
    }
    let renamed = error.path.persist(target).map_err(|error| error.error);
    match &renamed {
        // While it is open it stays, and goes with a later run.
        Ok(()) => _ = std::fs::remove_file(old),
        // Nobody else is told if this fails too.
        Err(_) => _ = std::fs::rename(old, target),
    }
    renamed
}

pub(super) fn free_bytes_in(folder: &Path) -> Option<u64> {
    let name: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: `name` ends with a zero; of the three places for figures two may be missing.
    let is_known =
        unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut free, std::ptr::null_mut(), std::ptr::null_mut()) } != 0;
    is_known.then_some(free)
}

/// Locks a file until it is closed; false when another run has it. Where files cannot be locked nobody is in the way.
pub(super) fn lock(file: &File) -> io::Result<bool> {
    // Of the file one byte that no content reaches: a locked one could not be written through another handle.
    let far = OVERLAPPED_0_0 { Offset: 0, OffsetHigh: i32::MAX as u32 };
    let mut place = OVERLAPPED { Anonymous: OVERLAPPED_0 { Anonymous: far }, ..OVERLAPPED::default() };
    let how = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    // SAFETY: the handle is open while the file is borrowed, and is none of those whose calls end later: `place` is used
    // during the call alone.
    if unsafe { LockFileEx(file.as_raw_handle(), how, 0, 1, 0, &raw mut place) } != 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error().map(i32::cast_unsigned) {
        Some(ERROR_LOCK_VIOLATION) => Ok(false),
        Some(ERROR_NOT_SUPPORTED | ERROR_INVALID_FUNCTION) => Ok(true),
        _ => Err(error),
    }
}

/// The number of the user who owns a file: none here.
pub fn owner_of(_: &Metadata) -> Option<u32> {
    None
}

/// May what `owner` wrote stand for `dump`? Always: who may write into the folder of a dump is the folder's to say.
pub fn is_trusted_owner(_: Option<u32>, _: Option<&Path>) -> bool {
    true
}

#[cfg(feature = "cli")]
pub(super) mod signals {
    use std::io;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use windows_sys::Win32::Foundation::STATUS_CONTROL_C_EXIT;
    use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
    use windows_sys::core::BOOL;

    use crate::files::at_end::run_all;

    static SIGNAL_HAS_COME: AtomicBool = AtomicBool::new(false);
    static WATCHED: OnceLock<()> = OnceLock::new();

    pub(in crate::files) fn wait_if_signalled() {
        while SIGNAL_HAS_COME.load(Ordering::SeqCst) {
            std::thread::park();
        }
    }

    /// Begins to wait for Ctrl-C, Ctrl-Break and the end of the console, once.
    pub(in crate::files) fn watch() -> io::Result<()> {
        if WATCHED.set(()).is_err() {
            return Ok(());
        }
        // SAFETY: the system calls the function in a thread of its own, in which all may be done that a thread may do.
        match unsafe { SetConsoleCtrlHandler(Some(console_control_handler), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    unsafe extern "system" fn console_control_handler(_: u32) -> BOOL {
        SIGNAL_HAS_COME.store(true, Ordering::SeqCst);
        run_all();
        // The code that the system's own handler gives.
        std::process::exit(STATUS_CONTROL_C_EXIT)
    }
}
