//! Files under a name of one's own while they are not whole: one run writes them, and what a run that was killed has left
//! goes with the next one.

use std::fs::File;
use std::io;
use std::path::Path;

use super::system::{identity_at, identity_of, lock, set_mode};
use super::unfinished::UnfinishedFile;

/// Other runs that may come between.
const MAX_TRIES: usize = 8;

/// A new file of this name, which no other run takes until it is closed.
pub(super) fn create_locked(folder: &Path, name: &str, mode: u32) -> io::Result<(File, UnfinishedFile)> {
    let path = folder.join(name);
    let mut builder = tempfile::Builder::new();
    builder.prefix(name).suffix("").rand_bytes(0);
    set_mode(&mut builder, mode);
    for _ in 0..MAX_TRIES {
        match UnfinishedFile::create_with(|| builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind())))
        {
            Ok((file, unfinished)) => {
                if lock(&file)? && is_path_of_file(&file, &path) {
                    return Ok((file, unfinished));
                }
                // Another run took it for a leftover before it was locked: the name is that run's to take away.
                unfinished.give_up_name();
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => remove_leftover(&path)?,
            Err(error) => return Err(error),
        }
    }
    Err(in_use_error())
}

fn in_use_error() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "another run is writing it")
}

/// Takes away what a run that is no more has left under a name of its own. Error: when another run is writing it, or it
/// is no file, and those of the file system.
pub fn remove_leftover(path: &Path) -> io::Result<()> {
    let facts = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        facts => facts?,
    };
    if !facts.is_file() {
        let what = format!("{} is there, and is no file of an unfinished run", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    if !lock(&file)? {
        return Err(in_use_error());
    }
    // It may have got its name meanwhile, and a new one lie there: that is not to be taken.
    if is_path_of_file(&file, path) { std::fs::remove_file(path) } else { Ok(()) }
}

/// Returns true if the open file is the one that has this name now.
fn is_path_of_file(file: &File, path: &Path) -> bool {
    let own = identity_of(file);
    own.is_some() && own == path.symlink_metadata().ok().and_then(|facts| identity_at(path, &facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Inputs, OutputTarget};
    use std::io::Write;

    #[test]
    fn leftovers_go_and_work_of_others_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = OutputTarget::find(Some(&folder.path().join("a")), &Inputs::new()).expect("a place");
        std::fs::write(folder.path().join(".a.tmp"), "left").expect("written");
        let mut out = target.begin_locked(".a.tmp").expect("begun");
        out.write_all(b"whole").expect("written");
        assert_eq!(target.begin_locked(".a.tmp").expect_err("taken").kind(), io::ErrorKind::ResourceBusy);
        let settled = out.complete().expect("on the disk");
        assert!(!folder.path().join("a").exists());
        assert_eq!(target.begin_locked(".a.tmp").expect_err("taken").kind(), io::ErrorKind::ResourceBusy);
        settled.publish().expect("renamed");
        assert_eq!(std::fs::read(folder.path().join("a")).expect("there"), b"whole");
        drop(target.begin_locked(".a.tmp").expect("begun").complete().expect("on the disk"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
        std::fs::create_dir(folder.path().join(".a.tmp")).expect("made");
        assert_eq!(target.begin_locked(".a.tmp").expect_err("a folder").kind(), io::ErrorKind::AlreadyExists);
    }

    /// Runs that begin, are killed or end at the same time never write one file together.
    #[test]
    fn one_run_at_a_time_holds_a_name() {
        use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
        let folder = tempfile::tempdir().expect("a folder");
        let (is_held, held) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (folder, is_held, held) = (folder.path(), &is_held, &held);
                scope.spawn(move || {
                    let target = OutputTarget::find(Some(&folder.join("a")), &Inputs::new()).expect("a place");
                    let mut round = 0;
                    while round < 30 {
                        // Another one is at work.
                        let Ok(mut out) = target.begin_locked(".a.tmp") else {
                            std::thread::yield_now();
                            continue;
                        };
                        round += 1;
                        assert!(!is_held.swap(true, Ordering::SeqCst), "two hold the name");
                        held.fetch_add(1, Ordering::SeqCst);
                        let text = format!("{number} {round}");
                        out.write_all(text.as_bytes()).expect("written");
                        let settled = out.complete().expect("on the disk");
                        is_held.store(false, Ordering::SeqCst);
                        match round % 3 {
                            0 => drop(settled),
                            _ => settled.publish().expect("renamed"),
                        }
                    }
                });
            }
        });
        assert_eq!(held.into_inner(), 8 * 30);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
