//! Files of another name, `.FILE.PID.part`: what a dump is written to where files without a name are not to be had, and what it
//! is called for a moment when it replaces a file. A run that is killed leaves one; the next run removes it.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};

use crate::files::{ExitAction, folder_of};

/// Permissions of a dump and of what becomes one.
pub(super) const OWNER_ONLY_MODE: u32 = 0o600;
const PART_SUFFIX: &str = ".part";
/// Names for such files beside each other: runs of other containers have the same number.
const MAX_PART_FILES: u32 = 100;

/// Gives a file without a name one.
pub(super) fn link_unnamed(file: &File, path: &Path) -> io::Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Gives a file without a name one that another file has.
pub(super) fn link_unnamed_over(file: &File, path: &Path) -> io::Result<()> {
    let (part, removal) = (0..MAX_PART_FILES)
        .map(|number| part_path(path, number))
        .find_map(|part| match make_removed_at_end(&part, || link_unnamed(file, &part)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            linked => Some(linked.map(|((), removal)| (part, removal))),
        })
        .unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))?;
    fs::rename(part, path)?;
    removal.forget();
    Ok(())
}

/// Renames a file if none has the new name. Not every file system knows that request, or links.
pub(super) fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        renamed => return Ok(renamed?),
    }
    match fs::hard_link(from, to) {
        Ok(()) => return fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {}
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

fn part_prefix(path: &Path) -> String {
    format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy())
}

/// `.FILE.PID.part`, `.FILE.PID-1.part`
fn part_path(path: &Path, number: u32) -> PathBuf {
    let number = if number == 0 { String::new() } else { format!("-{number}") };
    folder_of(path).join(format!("{}{}{number}{PART_SUFFIX}", part_prefix(path), std::process::id()))
}

/// Makes a file that is removed at the end.
fn make_removed_at_end<T>(path: &Path, make: impl FnOnce() -> io::Result<T>) -> io::Result<(T, ExitAction)> {
    let path = path.to_path_buf();
    ExitAction::make_with_undo(make, move || drop(fs::remove_file(path)))
}

/// Locked for as long as it is open. Returns false if another run holds the lock.
pub(super) fn try_lock(file: &File) -> bool {
    // Where there are no locks, a leftover stays.
    !matches!(flock(file, FlockOperation::NonBlockingLockExclusive), Err(rustix::io::Errno::WOULDBLOCK))
}

/// A file of another name, which no other run takes for a leftover.
pub(super) fn create_part_file(path: &Path) -> io::Result<(File, PathBuf, ExitAction)> {
    for part in (0..MAX_PART_FILES).map(|number| part_path(path, number)) {
        let mut options = File::options();
        options.write(true).create_new(true).mode(OWNER_ONLY_MODE).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let (file, removal) = match make_removed_at_end(&part, || options.open(&part)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        };
        let own = file.metadata()?.ino();
        // Between the two steps another run may have taken it for one.
        if try_lock(&file) && fs::symlink_metadata(&part).is_ok_and(|facts| facts.ino() == own) {
            return Ok((file, part, removal));
        }
        // It is another run's, or gone.
        removal.forget();
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Takes away what runs have left that were killed: files of this user that nobody holds.
pub(super) fn remove_dead_part_files(path: &Path) {
    let prefix = part_prefix(path);
    for entry in folder_of(path).read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(PART_SUFFIX));
        if !number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit() || c == '-')) {
            continue;
        }
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let Ok(file) = File::options().write(true).custom_flags(flags).open(entry.path()) else { continue };
        let is_own = |facts: &fs::Metadata| facts.is_file() && facts.uid() == rustix::process::geteuid().as_raw();
        if file.metadata().is_ok_and(|facts| is_own(&facts))
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_nobody_holds_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let names = || -> Vec<String> {
            let entries = folder.path().read_dir().expect("a folder").flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let held = create_part_file(&path).expect("a file");
        // Of the same number, in another container.
        let other = create_part_file(&path).expect("a second file");
        for name in [".a.4194305.part", ".a.1-3.part", ".b.4194305.part", ".a.x.part"] {
            fs::write(folder.path().join(name), "").expect("written");
        }
        std::os::unix::fs::symlink(folder.path().join(".b.4194305.part"), folder.path().join(".a.7.part"))
            .expect("made");
        remove_dead_part_files(&path);
        let mut left = names();
        left.sort();
        let own = std::process::id();
        let mut expected = [".a.7.part", ".a.x.part", ".b.4194305.part"].map(String::from).to_vec();
        expected.extend([format!(".a.{own}.part"), format!(".a.{own}-1.part")]);
        expected.sort();
        assert_eq!(left, expected);
        drop((held, other));
        assert_eq!(names().len(), 3);
    }
}
