//! A folder in the process's own file system that nobody but its user can look into. As root, everything there goes through
//! descriptors: the file system belongs to somebody who may be hostile.

use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::SystemTime;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Gid, Mode, OFlags, ResolveFlags, Uid, fchmod, fchown, flock, fstat,
    mkdirat, mknodat, openat, openat2, unlinkat,
};
use rustix::io::Errno;

use super::process::Process;
use super::refusal::Refusal;
use crate::files::ExitAction;

const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A file, or a FIFO that nobody has opened for writing, and no link.
const OPEN_FILE_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FOLDER_PREFIX: &str = ".heapdump-";
/// The one thing in it that the process is told of.
const DUMP_NAME: &str = "f";

/// Opens a folder, or a socket, below the root of a process as that process would.
pub(super) fn open_in_root(process: &Process, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let root =
        rustix::fs::open(process.proc_path("root"), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// Such a folder. When it is dropped, or a signal ends the program, it is removed with all in it.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    /// The folder itself, open: to be reached while the process lives.
    folder: OwnedFd,
    /// The path of the dump in it, as the process sees it.
    pub(super) dump_path_in_process: String,
    removal: ExitAction,
}

impl PrivateFolder {
    /// Makes one in `place`, which is opened as `parent`, for the user of `process`.
    pub(super) fn create(process: &Process, parent: OwnedFd, place: &str) -> Result<Self, Refusal> {
        let failed =
            |error| Refusal::system(&format!("process {}: no folder can be made in {place}", process.pid), error);
        // Keys of the standard library's hash maps are random.
        let random = RandomState::new().hash_one(process.start_ticks);
        let name = format!("{FOLDER_PREFIX}{}-{random:016x}", process.namespace_pid);
        let kept = (parent.try_clone().map_err(as_errno).map_err(failed)?, name.clone());
        let make = || Ok(mkdirat(&parent, name.as_str(), Mode::RWXU)?);
        let made = ExitAction::make_with_undo(make, move || remove_folder(kept.0.as_fd(), &kept.1));
        let ((), removal) = made.map_err(as_errno).map_err(failed)?;
        let folder = open_folder(parent.as_fd(), &name).map_err(failed)?;
        // Whoever may rename what is in `place` may have put another folder there.
        if !is_ours_and_empty(&folder).map_err(failed)? {
            return Err(failed(Errno::EXIST));
        }
        // Held to the end, so that another run does not take it for a leftover.
        flock(&folder, FlockOperation::NonBlockingLockExclusive).map_err(failed)?;
        fchmod(&folder, Mode::RWXU).map_err(failed)?;
        let inside = match place {
            // Relative paths are relative to the directory of the process.
            "" => format!("{name}/{DUMP_NAME}"),
            place => format!("{place}/{name}/{DUMP_NAME}"),
        };
        Ok(PrivateFolder { folder, dump_path_in_process: inside, removal })
    }

    /// Makes a FIFO in it and opens it for reading.
    pub(super) fn make_fifo(&self, process: &Process) -> Result<OwnedFd, Refusal> {
        let failed = |error| Refusal::system(&format!("process {}: no FIFO can be made", process.pid), error);
        mknodat(&self.folder, DUMP_NAME, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(failed)?;
        let fifo = self.open_dump_file().map_err(failed)?;
        fchmod(&fifo, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        if let Some((uid, gid)) = owner_to_set_for(process) {
            fchown(&fifo, uid, gid).map_err(failed)?;
        }
        self.let_process_write(process)?;
        Ok(fifo)
    }

    pub(super) fn let_process_write(&self, process: &Process) -> Result<(), Refusal> {
        let Some((uid, gid)) = owner_to_set_for(process) else { return Ok(()) };
        fchown(&self.folder, uid, gid)
            .map_err(|error| Refusal::system(&format!("process {}: its folder", process.pid), error))
    }

    /// Opens the file that the process has written.
    pub(super) fn open_dump_file(&self) -> rustix::io::Result<OwnedFd> {
        openat(&self.folder, DUMP_NAME, OPEN_FILE_FLAGS, Mode::empty())
    }

    pub(super) fn remove(self) {
        drop(self.removal);
    }
}

fn as_errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// User and group that a file must be given to: root makes files for others.
fn owner_to_set_for(process: &Process) -> Option<(Option<Uid>, Option<Gid>)> {
    let is_own = rustix::process::geteuid().as_raw() == process.uid;
    (!is_own).then(|| (Some(Uid::from_raw(process.uid)), Some(Gid::from_raw(process.gid))))
}

fn open_folder(parent: impl AsFd, name: &str) -> rustix::io::Result<OwnedFd> {
    openat(parent, name, FOLDER_FLAGS | OFlags::NOFOLLOW, Mode::empty())
}

fn is_ours_and_empty(folder: &OwnedFd) -> rustix::io::Result<bool> {
    let names = Dir::read_from(folder)?.flatten();
    let is_empty = names.into_iter().all(|entry| [c".", c".."].contains(&entry.file_name()));
    Ok(is_empty && fstat(folder)?.st_uid == rustix::process::geteuid().as_raw())
}

/// Removes a folder of ours and the files in it. The process may just be making one there.
fn remove_folder(parent: impl AsFd, name: &str) {
    const MAX_TRIES: u32 = 3;
    for _ in 0..MAX_TRIES {
        remove_files_in(&parent, name);
        if unlinkat(&parent, name, AtFlags::REMOVEDIR) != Err(Errno::NOTEMPTY) {
            return;
        }
    }
}

fn remove_files_in(parent: impl AsFd, name: &str) {
    // What is gone already, or cannot be removed, is left as it is: nobody is there to be told.
    if let Ok(folder) = open_folder(&parent, name) {
        let names = Dir::read_from(&folder).into_iter().flatten().flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name().to_owned()).collect();
        for name in names.iter().filter(|name| ![c".", c".."].contains(&name.as_c_str())) {
            // A process may wait for a reader of a FIFO whose run was killed: it would wait for ever.
            let reader = openat(&folder, name.as_c_str(), OPEN_FILE_FLAGS, Mode::empty());
            let _ = unlinkat(&folder, name.as_c_str(), AtFlags::empty());
            drop(reader);
        }
    }
}

/// Removes folders that runs at this process have left and that no run holds.
pub(super) fn remove_leftover_folders(process: &Process, parent: impl AsFd) {
    let prefix = format!("{FOLDER_PREFIX}{}-", process.namespace_pid);
    let Ok(listed) = openat(&parent, ".", FOLDER_FLAGS, Mode::empty()) else { return };
    let entries = Dir::read_from(&listed).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().to_str().ok().map(String::from)).collect();
    for name in names.iter().filter(|name| name.starts_with(&prefix)) {
        let Ok(folder) = open_folder(&parent, name) else { continue };
        let own = [rustix::process::geteuid().as_raw(), process.uid];
        let is_own = fstat(&folder).is_ok_and(|facts| own.contains(&facts.st_uid));
        if is_own && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove_folder(&parent, name);
        }
    }
}

fn unlink(parent: &OwnedFd, name: &str) {
    // It may be gone; if it cannot be removed, nobody is there to be told.
    let _ = unlinkat(parent, name, AtFlags::empty());
}

/// Removes such a file that a run has left that was killed. One that is younger may be another tool's, just now.
pub(super) fn remove_old_attach_file(process: &Process, parent: &OwnedFd, name: &str) {
    const MIN_STALE_SECONDS: i64 = 2;
    let Ok(facts) = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
    let own = [rustix::process::geteuid().as_raw(), process.uid];
    let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
    if is_file && facts.st_size == 0 && own.contains(&facts.st_uid) && now - facts.st_mtime >= MIN_STALE_SECONDS {
        unlink(parent, name);
    }
}

/// A file of this name and size 0 in a folder, for as long as this is not dropped; `wait` is called before it is removed.
pub(super) fn place_attach_file(
    process: &Process,
    parent: &OwnedFd,
    name: &str,
    wait: impl FnOnce() + Send + 'static,
) -> rustix::io::Result<ExitAction> {
    let kept = (parent.try_clone().map_err(as_errno)?, name.to_string());
    let removal = move || {
        wait();
        unlink(&kept.0, &kept.1);
    };
    let ((), removal) =
        ExitAction::make_with_undo(|| Ok(make_attach_file(process, parent, name)?), removal).map_err(as_errno)?;
    Ok(removal)
}

/// The file is given to the user of the process by its descriptor, never by its name: that may be another file's by then.
fn make_attach_file(process: &Process, parent: &OwnedFd, name: &str) -> rustix::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut made = openat(parent, name, flags, Mode::RUSR | Mode::WUSR);
    if made.as_ref().is_err_and(|error| *error == Errno::EXIST) {
        // Left by a run that was killed: it serves as well, if it is the user's already.
        let facts = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_empty = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_size == 0;
        match facts.st_uid {
            owner if is_empty && owner == process.uid => return Ok(()),
            owner if is_empty && owner == rustix::process::geteuid().as_raw() => {
                unlink(parent, name);
                made = openat(parent, name, flags, Mode::RUSR | Mode::WUSR);
            }
            _ => return Err(Errno::EXIST),
        }
    }
    let file = made?;
    let given = owner_to_set_for(process).map_or(Ok(()), |(uid, gid)| fchown(&file, uid, gid));
    let is_its_own = given.and_then(|()| fstat(&file)).map(|facts| facts.st_uid == process.uid);
    if is_its_own == Ok(true) {
        return Ok(());
    }
    unlink(parent, name);
    Err(is_its_own.err().unwrap_or(Errno::PERM))
}

pub(super) fn open_working_folder(process: &Process) -> rustix::io::Result<OwnedFd> {
    openat(CWD, process.proc_path("cwd"), FOLDER_FLAGS, Mode::empty())
}

pub(super) fn open_below(folder: &OwnedFd, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    openat2(folder, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// A path by which a socket that is open as `O_PATH` can be connected to, however long its own path is.
pub(super) fn descriptor_path(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(folder: &tempfile::TempDir) -> OwnedFd {
        std::fs::File::open(folder.path()).expect("a folder").into()
    }

    #[test]
    fn a_folder_goes_with_all_in_it_and_so_do_leftovers() {
        let process = Process::open(std::process::id()).expect("this process");
        let folder = tempfile::tempdir().expect("a folder");
        let leftover = folder.path().join(format!("{FOLDER_PREFIX}{}-old", process.namespace_pid));
        let other = folder.path().join(format!("{FOLDER_PREFIX}1-old"));
        for path in [&leftover, &other] {
            std::fs::create_dir(path).expect("made");
            std::fs::write(path.join("f.p0"), "").expect("written");
        }
        remove_leftover_folders(&process, parent(&folder));
        assert!(!leftover.exists() && other.exists());
        let private = PrivateFolder::create(&process, parent(&folder), "/x").expect("made");
        private.make_fifo(&process).expect("a FIFO");
        let name = private.dump_path_in_process.strip_prefix("/x/").expect("in place").to_string();
        let facts = std::fs::symlink_metadata(folder.path().join(&name)).expect("there");
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&facts.permissions()), 0o10600);
        // Another run at the same process leaves it alone.
        remove_leftover_folders(&process, parent(&folder));
        assert!(folder.path().join(&name).exists());
        private.remove();
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
    }

    #[test]
    fn a_mark_is_reused_only_when_it_is_empty() {
        let process = Process::open(std::process::id()).expect("this process");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("m");
        let mark_it = || place_attach_file(&process, &parent(&folder), "m", || {});
        std::fs::write(&path, "").expect("written");
        drop(mark_it().expect("reused"));
        assert!(!path.exists());
        drop(mark_it().expect("made"));
        assert!(!path.exists());
        std::fs::write(&path, "").expect("written");
        remove_old_attach_file(&process, &parent(&folder), "m");
        assert!(path.exists(), "it is young");
        let old = SystemTime::now() - std::time::Duration::from_secs(60);
        std::fs::File::options().write(true).open(&path).expect("there").set_modified(old).expect("set");
        remove_old_attach_file(&process, &parent(&folder), "m");
        assert!(!path.exists());
        std::fs::write(&path, "somebody's").expect("written");
        assert!(mark_it().is_err() && path.exists());
        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", &path).expect("a link");
        assert!(mark_it().is_err());
        std::fs::remove_file(&path).expect("removed");
        // Another user's file is neither taken nor given away.
        if rustix::process::geteuid().is_root() {
            std::fs::write(&path, "").expect("written");
            std::os::unix::fs::chown(&path, Some(65534), None).expect("given");
            assert!(mark_it().is_err());
            assert_eq!(std::os::unix::fs::MetadataExt::uid(&path.metadata().expect("there")), 65534);
        }
    }
}
