//! Files that are read: how they are opened, what an output must not be, and whose mode it must not exceed.

use std::fs::{File, Metadata};
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::mode::MAX_OUTPUT_MODE;
use super::system::{FileIdentity, file_behind, identity_at, identity_of, mode_of, open_without_links};

/// A regular file that is read.
#[derive(Debug)]
struct InputFile {
    name: String,
    identity: FileIdentity,
    /// Rights that an output may have because of it.
    output_mode: u32,
}

/// The inputs of a command that writes a file. Only regular files count: others cannot be written over, and their modes
/// say nothing about what comes out of them.
#[derive(Debug)]
pub struct Inputs {
    files: Vec<InputFile>,
}

/// Set by [`refuse_links`].
static REFUSES_LINKS: AtomicBool = AtomicBool::new(false);

/// From now on [`open`] follows no link: of a process that reads for others, and was told paths that had none when they
/// were checked.
pub fn refuse_links() {
    REFUSES_LINKS.store(true, Ordering::Relaxed);
}

/// Opens a file to be read. Error: those of the file system; after [`refuse_links`] also when there is a link at any place
/// of the path, or no regular file at its end.
pub fn open(path: &Path) -> io::Result<File> {
    if !REFUSES_LINKS.load(Ordering::Relaxed) {
        return File::open(path);
    }
    let file = open_without_links(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

const HASH_BUFFER_BYTES: usize = 1 << 20;
const STANDARD_INPUT: &str = "standard input";

impl Inputs {
    /// Standard input alone, which is never written over, even where something else is read.
    pub fn new() -> Self {
        let mut inputs = Inputs { files: Vec::new() };
        inputs.add_facts(STANDARD_INPUT, facts_of_standard_stream(file_behind(io::stdin())), |_| MAX_OUTPUT_MODE);
        inputs
    }

    /// Adds standard input, for a command that reads it.
    pub fn add_standard_input(&mut self) {
        self.add_facts(STANDARD_INPUT, facts_of_standard_stream(file_behind(io::stdin())), mode_of);
    }

    /// Adds a file. One that is not there will be told by whoever reads it.
    pub fn add_file(&mut self, path: &Path) {
        let facts = path.metadata().ok().map(|facts| (identity_at(path, &facts), facts));
        self.add_facts(&path.display().to_string(), facts.map(|(identity, facts)| (facts, identity)), mode_of);
    }

    /// Adds the file that a command reads, or standard input for `None`.
    pub fn add_dump(&mut self, path: Option<&Path>) {
        match path {
            Some(path) => self.add_file(path),
            None => self.add_standard_input(),
        }
    }

    fn add_facts(&mut self, name: &str, facts: Option<FileFacts>, mode: impl Fn(&Metadata) -> u32) {
        if let Some((facts, Some(identity))) = facts.filter(|(facts, _)| facts.is_file()) {
            self.files.push(InputFile { name: name.to_string(), identity, output_mode: mode(&facts) });
        }
    }

    /// The name of the input that this file is; `None` where it is none.
    pub(super) fn name_of_input(&self, (facts, identity): &FileFacts) -> Option<&str> {
        let identity = identity.as_ref().filter(|_| facts.is_file())?;
        self.files.iter().find(|input| input.identity == *identity).map(|input| input.name.as_str())
    }

    /// Rights that every input gives its readers.
    pub(super) fn common_mode(&self) -> u32 {
        self.files.iter().fold(MAX_OUTPUT_MODE, |mode, input| mode & input.output_mode)
    }
}

impl Default for Inputs {
    fn default() -> Self {
        Self::new()
    }
}

/// Metadata of a file, and its identity, where it has one.
pub(super) type FileFacts = (Metadata, Option<FileIdentity>);

/// The same of the file behind standard input or output.
pub(super) fn facts_of_standard_stream(file: Option<File>) -> Option<FileFacts> {
    let file = file?;
    Some((file.metadata().ok()?, identity_of(&file)))
}

/// Feeds all bytes of a file to `hasher`. O(bytes). Error: when it cannot be read.
pub(crate) fn hash_file(path: &Path, hasher: &mut impl Hasher) -> io::Result<()> {
    let mut file = open(path)?;
    let mut buffer = vec![0; HASH_BUFFER_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => hasher.write(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(all(test, any(target_os = "linux", target_vendor = "apple")))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_is_followed_at_any_place_of_a_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        std::fs::create_dir(root.join("a")).expect("a folder");
        std::fs::write(root.join("a/file"), "own").expect("written");
        symlink("a", root.join("folder")).expect("a link");
        symlink("file", root.join("a/link")).expect("a link");
        let read = |name: &str| open_without_links(&root.join(name)).and_then(std::io::read_to_string);
        assert_eq!(read("a/file").expect("there"), "own");
        assert!(["a/link", "folder/file", "a/not", "a/file/x"].iter().all(|name| read(name).is_err()));
    }
}
