//! Files that are read: what an output must not be, and whose mode it must not exceed.

use std::fs::{File, Metadata};
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;

/// What a file is recognised by, whatever it is called.
#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// What a file is recognised by: its path without links.
#[cfg(not(unix))]
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity(std::path::PathBuf);

#[cfg(unix)]
impl Identity {
    fn of(_: &Path, facts: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Identity { device: facts.dev(), inode: facts.ino() })
    }
}

#[cfg(not(unix))]
impl Identity {
    fn of(path: &Path, _: &Metadata) -> Option<Self> {
        path.canonicalize().ok().map(Identity)
    }
}

/// What an output always has: whoever writes it may write it.
#[cfg(unix)]
const OWNER_WRITES: u32 = 0o200;
/// The permission bits that an output could have.
pub(super) const ANY_MODE: u32 = 0o666;

#[cfg(unix)]
pub(super) fn mode_of(facts: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    facts.permissions().mode() & ANY_MODE | OWNER_WRITES
}

#[cfg(not(unix))]
pub(super) fn mode_of(_: &Metadata) -> u32 {
    ANY_MODE
}

#[derive(Debug)]
struct Input {
    name: String,
    identity: Identity,
    mode: u32,
}

/// The inputs of a command that writes a file. Only regular files count: others cannot be written over, and their modes
/// say nothing about what comes out of them.
#[derive(Debug)]
pub struct Inputs {
    files: Vec<Input>,
}

/// Bytes that are hashed at a time.
const HASHED_BYTES: usize = 1 << 20;
const STANDARD_INPUT: &str = "standard input";

impl Inputs {
    /// Standard input alone, which is never written over, even where something else is read.
    pub fn new() -> Self {
        let mut inputs = Inputs { files: Vec::new() };
        inputs.add_facts(STANDARD_INPUT, Path::new("/dev/stdin"), standard_facts(std::io::stdin()), |_| ANY_MODE);
        inputs
    }

    /// Adds standard input, for a command that reads it.
    pub fn add_standard_input(&mut self) {
        self.add_facts(STANDARD_INPUT, Path::new("/dev/stdin"), standard_facts(std::io::stdin()), mode_of);
    }

    /// Adds a file. One that is not there will be told by whoever reads it.
    pub fn add(&mut self, path: &Path) {
        self.add_facts(&path.display().to_string(), path, path.metadata().ok(), mode_of);
    }

    /// Adds the file that a command reads, or standard input for `None`.
    pub fn add_dump(&mut self, path: Option<&Path>) {
        match path {
            Some(path) => self.add(path),
            None => self.add_standard_input(),
        }
    }

    fn add_facts(&mut self, name: &str, path: &Path, facts: Option<Metadata>, mode: impl Fn(&Metadata) -> u32) {
        let Some(facts) = facts.filter(Metadata::is_file) else { return };
        let Some(identity) = Identity::of(path, &facts) else { return };
        self.files.push(Input { name: name.to_string(), identity, mode: mode(&facts) });
    }

    /// The name of the input that a file is.
    pub(super) fn name_of(&self, path: &Path, facts: &Metadata) -> Option<&str> {
        let identity = Identity::of(path, facts).filter(|_| facts.is_file())?;
        self.files.iter().find(|input| input.identity == identity).map(|input| input.name.as_str())
    }

    /// What every input lets its readers do.
    pub(super) fn mode(&self) -> u32 {
        self.files.iter().fold(ANY_MODE, |mode, input| mode & input.mode)
    }
}

impl Default for Inputs {
    fn default() -> Self {
        Self::new()
    }
}

/// What the system says of the file behind standard input or output.
#[cfg(unix)]
pub(super) fn standard_facts(stream: impl std::os::fd::AsFd) -> Option<Metadata> {
    std::fs::File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()
}

#[cfg(not(unix))]
pub(super) fn standard_facts<T>(_: T) -> Option<Metadata> {
    None
}

/// Feeds all bytes of a file to `hasher`. O(bytes).
///
/// # Errors
/// When it cannot be read.
pub(crate) fn hash_file(path: &Path, hasher: &mut impl Hasher) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; HASHED_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => hasher.write(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The number of the user who owns a file, where files have owners.
#[cfg(unix)]
pub fn owner_of(facts: &Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(facts.uid())
}

/// The number of the user who owns a file, where files have owners.
#[cfg(not(unix))]
pub fn owner_of(_: &Metadata) -> Option<u32> {
    None
}

/// May what `owner` wrote stand for `dump`? Only when that user is the one who runs this program, or owns the dump and
/// could have changed that as well.
#[cfg(unix)]
pub fn is_trusted_owner(owner: Option<u32>, dump: Option<&Path>) -> bool {
    let Some(owner) = owner else { return true };
    let of_dump = || dump.and_then(|dump| owner_of(&dump.metadata().ok()?));
    owner == rustix::process::geteuid().as_raw() || of_dump() == Some(owner)
}

/// May what `owner` wrote stand for `dump`? Always, where files have no owners.
#[cfg(not(unix))]
pub fn is_trusted_owner(_: Option<u32>, _: Option<&Path>) -> bool {
    true
}
