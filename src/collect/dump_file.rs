//! The file a dump goes to: 0600 and without a name until it is whole, so that a run that is killed leaves nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::process::Process;
use super::refusal::{Refusal, RefusalCode};
use crate::files::{AtEnd, Raw};
use crate::units::format_bytes;

const OWNER_ONLY: u32 = 0o600;
/// Ends the name of a dump of which a part was lost.
const INCOMPLETE: &str = ".incomplete";

#[derive(Debug)]
enum Encoder {
    Plain(Raw),
    Gzip(Box<GzEncoder<Raw>>),
}

/// What becomes of the bytes when they are whole.
#[derive(Debug)]
enum Place {
    /// A file without a name gets one.
    Unnamed,
    /// A file of another name is renamed, or taken away.
    Part { path: PathBuf, removal: AtEnd },
    /// They are where they belong.
    Stream,
}

/// Where a dump is to go, looked at before anything is asked of a process.
#[derive(Debug)]
pub(super) struct DumpFile {
    out: Encoder,
    place: Place,
    path: PathBuf,
    replaces: bool,
    /// Bytes of the dump, before compression.
    written: u64,
}

impl DumpFile {
    /// Opens the file's folder and a file without a name in it; `-` is standard output.
    ///
    /// # Errors
    /// `exists` without `replaces`; `not-permitted`, `no-space` or `system` where no file can be made.
    pub(super) fn create(path: &Path, replaces: bool) -> Result<Self, Refusal> {
        let file = |out, place| DumpFile { out, place, path: path.to_path_buf(), replaces, written: 0 };
        if path.as_os_str() == "-" {
            return Ok(file(Encoder::Plain(Raw::StandardOutput(io::stdout())), Place::Stream));
        }
        let cannot = |error: io::Error| Refusal::system(&format!("cannot write {}", path.display()), error);
        let facts = fs::symlink_metadata(path).ok();
        if let Some(facts) = &facts {
            let behind = fs::metadata(path).ok().unwrap_or_else(|| facts.clone());
            if behind.is_dir() {
                return Err(Refusal::new(RefusalCode::System, format!("{} is a folder", path.display())));
            }
            if !behind.is_file() && !behind.is_symlink() {
                let stream = File::options().append(true).open(path).map_err(cannot)?;
                return Ok(file(Encoder::Plain(Raw::File(stream)), Place::Stream));
            }
            if !replaces {
                return Err(exists(path));
            }
        }
        let folder = folder_of(path);
        let (raw, place) = match open_unnamed(folder) {
            Ok(unnamed) => (unnamed, Place::Unnamed),
            Err(error) if is_without_unnamed(&error) => {
                let part = part_of(path);
                remove_dead_parts(path);
                let raw = File::options()
                    .write(true)
                    .create_new(true)
                    .mode(OWNER_ONLY)
                    .custom_flags(OFlags::NOFOLLOW.bits() as i32)
                    .open(&part)
                    .map_err(cannot)?;
                let own = part.clone();
                let removal = AtEnd::new(move || drop(fs::remove_file(own))).map_err(cannot)?;
                (raw, Place::Part { path: part, removal })
            }
            Err(error) => return Err(cannot(error)),
        };
        // Whatever the user's mask says.
        raw.set_permissions(fs::Permissions::from_mode(OWNER_ONLY)).map_err(cannot)?;
        let raw = Raw::File(raw);
        let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
        let out = match is_gzip {
            true => Encoder::Gzip(Box::new(GzEncoder::new(raw, Compression::fast()))),
            false => Encoder::Plain(raw),
        };
        Ok(file(out, place))
    }

    /// As the user wrote it.
    pub(super) fn name(&self) -> String {
        if self.path.as_os_str() == "-" { "standard output".into() } else { self.path.display().to_string() }
    }

    /// The folder of the file, where it is a file.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        (!matches!(self.place, Place::Stream)).then(|| folder_of(&self.path).to_path_buf())
    }

    /// Is there room for about `expected` bytes, and a tenth?
    ///
    /// # Errors
    /// `no-space`.
    pub(super) fn check_space(&self, expected: u64) -> Result<(), Refusal> {
        match (&self.out, self.folder()) {
            // Compressed it takes a fraction that is not known before.
            (Encoder::Plain(Raw::File(file)), Some(folder)) => {
                check_space(file, expected, &folder.display().to_string())
            }
            _ => Ok(()),
        }
    }

    /// Bytes of the dump so far, before compression.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Writes a part of the dump.
    ///
    /// # Errors
    /// `no-space` and what else the system says.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let result = match &mut self.out {
            Encoder::Plain(out) => out.write_all(bytes),
            Encoder::Gzip(out) => out.write_all(bytes),
        };
        self.written += bytes.len() as u64;
        result.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> Refusal {
        match Refusal::system(&format!("cannot write {}", self.name()), error) {
            Refusal { code: RefusalCode::NoSpace, .. } => Refusal::new(
                RefusalCode::NoSpace,
                format!("disk full after {} of {}", format_bytes(self.written), self.name()),
            )
            .hint("-o puts it elsewhere; a name that ends in .gz compresses it"),
            refusal => refusal,
        }
    }

    /// The dump is whole: brings it to the disk and gives it its name.
    ///
    /// # Errors
    /// `exists` where another file has got the name; what the system says.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        let replaces = self.replaces;
        let path = self.path.clone();
        self.finish_as(&path, replaces)
    }

    /// Keeps a dump that is not whole, under a name that says so. Gives the name.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn keep_incomplete(self) -> Result<Option<PathBuf>, Refusal> {
        if matches!(self.place, Place::Stream) {
            return Ok(None);
        }
        let mut name = self.path.clone().into_os_string();
        name.push(INCOMPLETE);
        let path = PathBuf::from(name);
        self.finish_as(&path, true)?;
        Ok(Some(path))
    }

    fn finish_as(mut self, path: &Path, replaces: bool) -> Result<(), Refusal> {
        let flushed = match &mut self.out {
            Encoder::Plain(out) => out.flush(),
            Encoder::Gzip(out) => out.try_finish(),
        };
        flushed.map_err(|error| self.failed(error))?;
        let raw = match &self.out {
            Encoder::Plain(raw) => raw,
            Encoder::Gzip(encoder) => encoder.get_ref(),
        };
        let (Raw::File(file), false) = (raw, matches!(self.place, Place::Stream)) else { return Ok(()) };
        file.sync_all().map_err(|error| self.failed(error))?;
        crate::files::give_way_to_signals();
        let named = match &self.place {
            Place::Unnamed if replaces => {
                let part = part_of(path);
                // One of this process's number, of a run that is over.
                let _ = fs::remove_file(&part);
                link(file, &part).and_then(|()| fs::rename(&part, path).inspect_err(|_| drop(fs::remove_file(&part))))
            }
            Place::Unnamed => link(file, path),
            Place::Part { path: part, .. } if replaces => fs::rename(part, path),
            Place::Part { path: part, .. } => fs::hard_link(part, path).and_then(|()| fs::remove_file(part)),
            Place::Stream => Ok(()),
        };
        match named {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(exists(path)),
            named => named.map_err(|error| self.failed(error))?,
        }
        // So that the name survives a loss of power too; not every file system can do that.
        let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
        if let Place::Part { removal, .. } = self.place {
            removal.forget();
        }
        Ok(())
    }
}

/// Is there room for `expected` bytes and a tenth on the file system of `place`?
pub(super) fn check_space(place: impl AsFd, expected: u64, name: &str) -> Result<(), Refusal> {
    // What the system does not tell stops nobody.
    let Ok(facts) = rustix::fs::fstatvfs(place) else { return Ok(()) };
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    if free >= expected.saturating_add(expected / 10) {
        return Ok(());
    }
    let text = format!("about {} expected, {} free in {name}", format_bytes(expected), format_bytes(free));
    Err(Refusal::new(RefusalCode::NoSpace, text).hint("-o puts it elsewhere; --yes goes on all the same"))
}

fn exists(path: &Path) -> Refusal {
    let text = format!("{} exists (--force replaces it)", path.display());
    Refusal::new(RefusalCode::Exists, text).hint("nothing was asked of the process")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn open_unnamed(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::from_raw_mode(OWNER_ONLY)).map(File::from)?)
}

/// File systems without unnamed files say so in one of these ways.
fn is_without_unnamed(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL, Errno::NOENT];
    let code = Errno::from_io_error(error);
    // A folder that is not there is said when the named file is made.
    code.is_some_and(|code| known.contains(&code))
}

/// Gives a file without a name one.
fn link(file: &File, path: &Path) -> io::Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

const PART: &str = ".part";

fn prefix_of(path: &Path) -> String {
    format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy())
}

/// `.FILE.PID.part`
fn part_of(path: &Path) -> PathBuf {
    folder_of(path).join(format!("{}{}{PART}", prefix_of(path), std::process::id()))
}

/// Takes away what runs have left that were killed.
fn remove_dead_parts(path: &Path) {
    let prefix = prefix_of(path);
    for entry in folder_of(path).read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(PART)?.parse().ok());
        if pid.is_some_and(|pid| Process::open(pid).is_err()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().expect("a folder").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_is_whole_or_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.hprof");
        let mut file = DumpFile::create(&path, false).expect("a file");
        file.write(b"half").expect("written");
        assert!(names(folder.path()).is_empty());
        drop(file);
        assert!(names(folder.path()).is_empty());
        let mut file = DumpFile::create(&path, false).expect("a file");
        file.write(b"whole").expect("written");
        file.finish().expect("named");
        assert_eq!(fs::read(&path).expect("there"), b"whole");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, OWNER_ONLY);
        assert_eq!(names(folder.path()), ["a.hprof"]);
    }

    #[test]
    fn a_file_is_replaced_on_request_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let late = DumpFile::create(&path, false).expect("a file");
        fs::write(&path, "old").expect("written");
        assert_eq!(DumpFile::create(&path, false).expect_err("there").code, RefusalCode::Exists);
        assert_eq!(late.finish().expect_err("there").code, RefusalCode::Exists);
        let mut file = DumpFile::create(&path, true).expect("a file");
        file.write(b"new").expect("written");
        file.finish().expect("named");
        assert_eq!((fs::read(&path).expect("there"), names(folder.path())), (b"new".to_vec(), vec!["a".to_string()]));
        assert_eq!(DumpFile::create(folder.path(), true).expect_err("a folder").code, RefusalCode::System);
        let nowhere = folder.path().join("none/a");
        assert_eq!(DumpFile::create(&nowhere, false).expect_err("nowhere").code, RefusalCode::System);
    }

    #[test]
    fn what_is_incomplete_says_so_and_gz_is_compressed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.gz");
        let mut file = DumpFile::create(&path, false).expect("a file");
        file.write(&[7; 10_000]).expect("written");
        assert_eq!(file.written(), 10_000);
        let kept = file.keep_incomplete().expect("kept").expect("a file");
        assert_eq!(names(folder.path()), ["a.gz.incomplete"]);
        let mut unpacked = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(File::open(kept).expect("there")), &mut unpacked)
            .expect("gzip");
        assert_eq!(unpacked, [7; 10_000]);
    }

    #[test]
    fn parts_of_dead_processes_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        for name in [".a.4194305.part", ".a.1.part", ".b.4194305.part"] {
            fs::write(folder.path().join(name), "").expect("written");
        }
        remove_dead_parts(&path);
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, [".a.1.part", ".b.4194305.part"]);
    }

    #[test]
    fn room_is_checked() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = DumpFile::create(&folder.path().join("a"), false).expect("a file");
        assert!(file.check_space(10).is_ok());
        assert_eq!(file.check_space(u64::MAX / 2).expect_err("too much").code, RefusalCode::NoSpace);
    }
}
