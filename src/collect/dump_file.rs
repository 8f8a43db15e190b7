//! The file a dump goes to: 0600 and without a name until it is whole, so that a run that is killed leaves nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{Mode, OFlags};

use super::part_file::{
    OWNER_ONLY_MODE, create_part_file, link_unnamed, link_unnamed_over, remove_dead_part_files,
    rename_without_replacing, try_lock,
};
use super::refusal::{Refusal, RefusalCode};
use crate::files::{ExitAction, RawOutput, folder_of, free_bytes, nameless_file_in};
use crate::units::format_bytes;

/// Ends the name of a dump of which a part was lost.
const INCOMPLETE_SUFFIX: &str = ".incomplete";

/// How the bytes are written.
#[derive(Debug)]
enum Encoder {
    Plain(RawOutput),
    Gzip(Box<GzEncoder<RawOutput>>),
}

/// Fate of the bytes when they are whole.
#[derive(Debug)]
enum UnfinishedDump {
    /// A file without a name gets one.
    Unnamed,
    /// A file of another name is renamed, or taken away.
    PartFile { path: PathBuf, removal: Option<ExitAction> },
    /// They are where they belong.
    Stream,
}

/// File of a dump, looked at before anything is asked of a process.
#[derive(Debug)]
pub(super) struct DumpFile {
    out: Encoder,
    unfinished: UnfinishedDump,
    path: PathBuf,
    replaces_existing: bool,
    /// Bytes of the dump, before compression.
    pub(super) written_bytes: u64,
    /// The most that it may have.
    max_bytes: u64,
}

impl DumpFile {
    /// Opens the file's folder and a file without a name in it; `-` is standard output. Error: `exists` without
    /// `replaces`; `not-permitted`, `no-space` or `system` where no file can be made.
    pub(super) fn create(path: &Path, replaces: bool) -> Result<Self, Refusal> {
        Self::create_with(path, replaces, open_unnamed_file)
    }

    /// The same; `open_unnamed` opens a file without a name in a folder, or says that there are none.
    pub(super) fn create_with(
        path: &Path,
        replaces: bool,
        open_unnamed: impl FnOnce(&Path) -> io::Result<File>,
    ) -> Result<Self, Refusal> {
        let file = |out, unfinished| DumpFile {
            out,
            unfinished,
            path: path.to_path_buf(),
            replaces_existing: replaces,
            written_bytes: 0,
            max_bytes: u64::MAX,
        };
        if path.as_os_str() == "-" {
            return Ok(file(Encoder::Plain(RawOutput::StandardOutput(io::stdout())), UnfinishedDump::Stream));
        }
        let cannot = |error: io::Error| Refusal::system(&format!("cannot write {}", path.display()), error);
        let facts = fs::symlink_metadata(path).ok();
        if let Some(facts) = &facts {
            let behind = fs::metadata(path).ok().unwrap_or_else(|| facts.clone());
            if behind.is_dir() {
                return Err(Refusal::new(RefusalCode::System, format!("{} is a folder", path.display())));
            }
            // A file that this process has open may have no name.
            let is_open = folder_of(path) == Path::new("/proc/self/fd");
            if is_open || !behind.is_file() && !behind.is_symlink() {
                let stream = File::options().append(true).open(path).map_err(cannot)?;
                return Ok(file(Encoder::Plain(RawOutput::File(stream, 0)), UnfinishedDump::Stream));
            }
            if !replaces {
                return Err(already_exists_refusal(path));
            }
        }
        remove_dead_part_files(path);
        let (raw, unfinished) = match open_unnamed(folder_of(path)) {
            Ok(unnamed) => {
                // It has another name for a moment when it replaces a file.
                let _ = try_lock(&unnamed);
                (unnamed, UnfinishedDump::Unnamed)
            }
            Err(error) if means_no_unnamed_files(&error) => {
                let (raw, part, removal) = create_part_file(path).map_err(cannot)?;
                (raw, UnfinishedDump::PartFile { path: part, removal: Some(removal) })
            }
            Err(error) => return Err(cannot(error)),
        };
        // Whatever the user's mask says.
        raw.set_permissions(fs::Permissions::from_mode(OWNER_ONLY_MODE)).map_err(cannot)?;
        let raw = RawOutput::File(raw, 0);
        let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
        let out = match is_gzip {
            true => Encoder::Gzip(Box::new(GzEncoder::new(raw, Compression::fast()))),
            false => Encoder::Plain(raw),
        };
        Ok(file(out, unfinished))
    }

    /// A file without a name, with a limit to its bytes as in [`with_limit`](Self::with_limit), beside this one or in the temporary
    /// folder; and the same to be read. Error: what the system says.
    pub(super) fn create_nameless_beside(&self, most: Option<u64>) -> Result<(Self, File), Refusal> {
        let folder = self.folder().unwrap_or_else(std::env::temp_dir);
        let cannot = |error| Refusal::system(&format!("no file can be made in {}", folder.display()), error);
        let raw = nameless_file_in(&folder).map_err(cannot)?;
        let reader = raw.try_clone().map_err(cannot)?;
        let most = most.or_else(|| free_bytes(&raw).map(|free| free - free / 10)).unwrap_or(u64::MAX);
        let file = DumpFile {
            out: Encoder::Plain(RawOutput::File(raw, 0)),
            unfinished: UnfinishedDump::Stream,
            path: folder.join("(no name)"),
            replaces_existing: false,
            written_bytes: 0,
            max_bytes: most,
        };
        Ok((file, reader))
    }

    /// With a limit to the dump's bytes: `most`, else the free disk less a tenth, where it is compressed ten times as many.
    pub(super) fn with_limit(mut self, most: Option<u64>) -> Self {
        let times = if matches!(self.out, Encoder::Gzip(_)) { 10 } else { 1 };
        let file = self.file().filter(|_| !matches!(self.unfinished, UnfinishedDump::Stream));
        let free = file.and_then(free_bytes).map(|free| (free - free / 10).saturating_mul(times));
        self.max_bytes = most.or(free).unwrap_or(u64::MAX);
        self
    }

    /// As the user wrote it.
    pub(super) fn display_name(&self) -> String {
        if self.path.as_os_str() == "-" { "standard output".into() } else { self.path.display().to_string() }
    }

    /// The folder of the file, where it is a file.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        (!matches!(self.unfinished, UnfinishedDump::Stream)).then(|| folder_of(&self.path).to_path_buf())
    }

    /// Is there room for about `expected` bytes, and a tenth? Error: `no-space`.
    pub(super) fn check_space(&self, expected: u64) -> Result<(), Refusal> {
        match (&self.out, self.folder()) {
            // Compressed it takes a fraction that is not known before.
            (Encoder::Plain(RawOutput::File(file, _)), Some(folder)) => {
                check_space(file, expected, &folder.display().to_string())
            }
            _ => Ok(()),
        }
    }

    /// Guard that takes the file away when the run fails; the caller has to see to it from here on.
    pub(super) fn take_removal(&mut self) -> Option<ExitAction> {
        match &mut self.unfinished {
            UnfinishedDump::PartFile { removal, .. } => removal.take(),
            _ => None,
        }
    }

    /// Gives the guard back.
    pub(super) fn put_removal(&mut self, given: Option<ExitAction>) {
        if let UnfinishedDump::PartFile { removal, .. } = &mut self.unfinished {
            *removal = given;
        }
    }

    /// Writes a part of the dump. Error: `too-large` behind the limit, `no-space` and what else the system says.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if bytes.len() as u64 > self.max_bytes.saturating_sub(self.written_bytes) {
            let text = format!("more than {} came for {}", format_bytes(self.max_bytes), self.display_name());
            return Err(Refusal::new(RefusalCode::TooLarge, text).with_hint(
                "--max-size allows more; without it that is the free disk less a tenth, ten times as much in .gz",
            ));
        }
        let result = match &mut self.out {
            Encoder::Plain(out) => out.write_all(bytes),
            Encoder::Gzip(out) => out.write_all(bytes),
        };
        self.written_bytes += bytes.len() as u64;
        result.map_err(|error| self.write_refusal(error))
    }

    fn write_refusal(&self, error: io::Error) -> Refusal {
        match Refusal::system(&format!("cannot write {}", self.display_name()), error) {
            Refusal { code: RefusalCode::NoSpace, .. } => Refusal::new(
                RefusalCode::NoSpace,
                format!("disk full after {} of {}", format_bytes(self.written_bytes), self.display_name()),
            )
            .with_hint("-o puts it elsewhere; a name that ends in .gz compresses it"),
            refusal => refusal,
        }
    }

    /// The dump is whole: brings it to the disk and gives it its name. Error: `exists` where another file has got the
    /// name; what the system says.
    pub(super) fn finish(mut self) -> Result<(), Refusal> {
        let (path, replaces) = (self.path.clone(), self.replaces_existing);
        self.sync_to_disk()?;
        self.give_name(&path, replaces)
    }

    /// Keeps a dump that is not whole, under a name that says so and that no other file has. Gives the name. Error:
    /// what the system says.
    pub(super) fn keep_incomplete(mut self) -> Result<Option<PathBuf>, Refusal> {
        const MAX_NAMES: u32 = 1000;
        self.sync_to_disk()?;
        if matches!(self.unfinished, UnfinishedDump::Stream) {
            return Ok(None);
        }
        for number in 1..MAX_NAMES {
            let mut name = self.path.clone().into_os_string();
            name.push(INCOMPLETE_SUFFIX);
            if number > 1 {
                name.push(format!(".{number}"));
            }
            let path = PathBuf::from(name);
            match self.give_name(&path, self.replaces_existing) {
                Err(Refusal { code: RefusalCode::Exists, .. }) => {}
                named => return named.map(|()| Some(path)),
            }
        }
        Err(already_exists_refusal(&self.path))
    }

    /// Brings all of it to the disk.
    fn sync_to_disk(&mut self) -> Result<(), Refusal> {
        let flushed = match &mut self.out {
            Encoder::Plain(out) => out.flush(),
            Encoder::Gzip(out) => out.try_finish(),
        };
        flushed.map_err(|error| self.write_refusal(error))?;
        match self.file() {
            Some(file) if !matches!(self.unfinished, UnfinishedDump::Stream) => {
                file.sync_all().map_err(|error| self.write_refusal(error))
            }
            _ => Ok(()),
        }
    }

    fn file(&self) -> Option<&File> {
        let raw = match &self.out {
            Encoder::Plain(raw) => raw,
            Encoder::Gzip(encoder) => encoder.get_ref(),
        };
        match raw {
            RawOutput::File(file, _) => Some(file),
            RawOutput::StandardOutput(_) => None,
        }
    }

    fn give_name(&mut self, path: &Path, replaces: bool) -> Result<(), Refusal> {
        let Some(file) = self.file() else { return Ok(()) };
        crate::files::wait_if_signalled();
        let named = match &self.unfinished {
            UnfinishedDump::Unnamed if replaces => link_unnamed_over(file, path),
            UnfinishedDump::Unnamed => link_unnamed(file, path),
            UnfinishedDump::PartFile { path: part, .. } if replaces => fs::rename(part, path),
            UnfinishedDump::PartFile { path: part, .. } => rename_without_replacing(part, path),
            UnfinishedDump::Stream => return Ok(()),
        };
        match named {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(already_exists_refusal(path)),
            named => named.map_err(|error| self.write_refusal(error))?,
        }
        // So that the name survives a loss of power too; not every file system can do that.
        let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
        if let Some(removal) = self.take_removal() {
            removal.forget();
        }
        Ok(())
    }
}

/// Is there room for `expected` bytes and a tenth on the file system of an open file or folder?
pub(super) fn check_space(unfinished: impl AsFd, expected: u64, name: &str) -> Result<(), Refusal> {
    // What the system does not tell stops nobody.
    let Some(free) = free_bytes(unfinished) else { return Ok(()) };
    if free >= expected.saturating_add(expected / 10) {
        return Ok(());
    }
    let text = format!("about {} expected, {} free in {name}", format_bytes(expected), format_bytes(free));
    Err(Refusal::new(RefusalCode::NoSpace, text).with_hint("-o puts it elsewhere; --yes goes on all the same"))
}

fn already_exists_refusal(path: &Path) -> Refusal {
    let text = format!("{} exists (--force replaces it)", path.display());
    Refusal::new(RefusalCode::Exists, text).with_hint("nothing was asked of the process")
}

fn open_unnamed_file(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::from_raw_mode(OWNER_ONLY_MODE)).map(File::from)?)
}

/// File systems without unnamed files say so in one of these ways.
fn means_no_unnamed_files(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL, Errno::NOENT];
    let code = Errno::from_io_error(error);
    // A folder that is not there is said when the named file is made.
    code.is_some_and(|code| known.contains(&code))
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
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, OWNER_ONLY_MODE);
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
        assert_eq!(file.written_bytes, 10_000);
        let kept = file.keep_incomplete().expect("kept").expect("a file");
        assert_eq!(names(folder.path()), ["a.gz.incomplete"]);
        let mut unpacked = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(File::open(kept).expect("there")), &mut unpacked)
            .expect("gzip");
        assert_eq!(unpacked, [7; 10_000]);
    }

    #[test]
    fn a_second_incomplete_dump_does_not_replace_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let keep = |replaces| {
            let mut file = DumpFile::create(&path, replaces).expect("a file");
            file.write(b"new").expect("written");
            file.keep_incomplete().expect("kept").expect("a file")
        };
        fs::write(folder.path().join("a.incomplete"), "mine").expect("written");
        assert_eq!(keep(false), folder.path().join("a.incomplete.2"));
        assert_eq!(fs::read(folder.path().join("a.incomplete")).expect("there"), b"mine");
        assert_eq!(keep(true), folder.path().join("a.incomplete"));
        assert_eq!(fs::read(folder.path().join("a.incomplete")).expect("there"), b"new");
    }

    fn without_unnamed(path: &Path, replaces: bool) -> Result<DumpFile, Refusal> {
        DumpFile::create_with(path, replaces, |_| Err(rustix::io::Errno::OPNOTSUPP.into()))
    }

    #[test]
    fn a_file_system_without_unnamed_files_does_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let part = format!(".a.{}.part", std::process::id());
        let mut file = without_unnamed(&path, false).expect("a file");
        file.write(b"whole").expect("written");
        assert_eq!(names(folder.path()), [part.as_str()]);
        assert_eq!(
            fs::metadata(folder.path().join(&part)).expect("there").permissions().mode() & 0o777,
            OWNER_ONLY_MODE
        );
        file.finish().expect("named");
        assert_eq!((fs::read(&path).expect("there"), names(folder.path())), (b"whole".to_vec(), vec!["a".to_string()]));
        // Another file has got the name meanwhile.
        fs::remove_file(&path).expect("removed");
        let late = without_unnamed(&path, false).expect("a file");
        fs::write(&path, "mine").expect("written");
        assert_eq!(late.finish().expect_err("there").code, RefusalCode::Exists);
        assert_eq!((fs::read(&path).expect("there"), names(folder.path())), (b"mine".to_vec(), vec!["a".to_string()]));
        without_unnamed(&path, true).expect("a file").finish().expect("named");
        assert_eq!((fs::read(&path).expect("there"), names(folder.path())), (b"".to_vec(), vec!["a".to_string()]));
    }

    #[test]
    fn room_is_checked() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = DumpFile::create(&folder.path().join("a"), false).expect("a file");
        assert!(file.check_space(10).is_ok());
        assert_eq!(file.check_space(u64::MAX / 2).expect_err("too much").code, RefusalCode::NoSpace);
    }
}
