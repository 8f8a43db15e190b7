//! Targets of outputs.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::inputs::{FileFacts, Inputs, facts_of_standard_stream};
use super::mode::MAX_OUTPUT_MODE;
use super::system::{file_behind, identity_at, is_device, mode_of};

/// Links behind links that are followed.
const MAX_LINKS: usize = 40;

/// The reason for which something cannot be an output, in words behind its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// It is the input of this name.
    #[error("is an input ({0}), which would be lost")]
    Input(String),
    /// It is a link to what is not there.
    #[error("is a link to {0}, which is not there")]
    BrokenLink(PathBuf),
    #[error("is a folder")]
    /// It is a folder.
    Folder,
    #[error("is a link that leads nowhere")]
    /// It is a link to itself.
    EndlessLink,
    /// Something else than a regular file has the name, which nobody typed.
    #[error("is a link or no regular file: it is not replaced, and not followed")]
    NotRegularFile,
    /// Its folder is not there, or may not be looked into.
    #[error("cannot be written: {0}")]
    Io(io::Error),
}

/// How an output is written.
#[derive(Debug)]
pub(super) enum TargetPlace {
    StandardOutput,
    /// Written to as it is.
    Stream(PathBuf),
    /// Written aside and renamed.
    File(PathBuf),
}

/// Target of an output: looked at before the work begins, written when it is done.
#[derive(Debug)]
pub struct OutputTarget {
    pub(super) place: TargetPlace,
    name: String,
    /// At most; the user's mask takes its part off.
    pub(super) mode: u32,
}

impl OutputTarget {
    /// Standard output, for `None`, `-` and its names in the file system; else the file of this name. Error: when it is
    /// one of the inputs, or cannot be a file.
    pub fn find(path: Option<&Path>, inputs: &Inputs) -> Result<Self, TargetError> {
        Self::find_following(path, inputs, MAX_LINKS)
    }

    /// The file of a name that the program chose: somebody else may have put something there, so links are not
    /// followed, and only a regular file is replaced. Error: as [`find`](Self::find), and when something else has the
    /// name.
    pub fn find_without_links(path: &Path, inputs: &Inputs) -> Result<Self, TargetError> {
        let target = Self::find_following(Some(path), inputs, 0)?;
        if matches!(target.place, TargetPlace::File(_)) { Ok(target) } else { Err(TargetError::NotRegularFile) }
    }

    fn find_following(path: Option<&Path>, inputs: &Inputs, links: usize) -> Result<Self, TargetError> {
        let (place, facts) = match path.filter(|path| path.as_os_str() != "-") {
            Some(path) => resolve(path, links)?,
            None => (TargetPlace::StandardOutput, None),
        };
        let facts: Option<FileFacts> = match &place {
            TargetPlace::StandardOutput => facts_of_standard_stream(file_behind(io::stdout())),
            TargetPlace::Stream(path) | TargetPlace::File(path) => facts.map(|facts| {
                let identity = identity_at(path, &facts);
                (facts, identity)
            }),
        };
        if let Some(input) = facts.as_ref().and_then(|facts| inputs.name_of_input(facts)) {
            return Err(TargetError::Input(input.to_string()));
        }
        let name = match (&place, path) {
            (TargetPlace::StandardOutput, _) | (_, None) => "standard output".to_string(),
            (_, Some(path)) => path.display().to_string(),
        };
        // Who could not read what is replaced cannot read what replaces it.
        let before = facts.filter(|(facts, _)| facts.is_file()).map_or(MAX_OUTPUT_MODE, |(facts, _)| mode_of(&facts));
        Ok(OutputTarget { place, name, mode: inputs.common_mode() & before })
    }

    /// As the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Is it a file, which gets its name when it is whole?
    pub fn is_file(&self) -> bool {
        matches!(self.place, TargetPlace::File(_))
    }

    /// Is it standard output?
    pub fn is_standard_output(&self) -> bool {
        matches!(self.place, TargetPlace::StandardOutput)
    }
}

/// Follows links, so many at most, to what will be written, and what is there now.
fn resolve(path: &Path, most_links: usize) -> Result<(TargetPlace, Option<Metadata>), TargetError> {
    if path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(last.into())) {
        return Err(TargetError::Folder);
    }
    if is_device(path) {
        return Ok((TargetPlace::Stream(path.to_path_buf()), None));
    }
    let mut path = path.to_path_buf();
    for links in 0..=most_links {
        let Some(name) = path.file_name() else { return Err(TargetError::Folder) };
        let not_there = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound if links > 0 => TargetError::BrokenLink(path.clone()),
            _ => TargetError::Io(error),
        };
        let folder = folder_of(&path).canonicalize().map_err(not_there)?;
        let own = folder.join(name);
        if let Some(is_own) = is_own_descriptor_folder(&folder) {
            let facts = own.metadata().map_err(TargetError::Io)?;
            let is_standard_output = is_own && name == OsStr::new("1");
            return Ok((
                if is_standard_output { TargetPlace::StandardOutput } else { TargetPlace::Stream(own) },
                Some(facts),
            ));
        }
        let facts = match own.symlink_metadata() {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound && links == 0 => {
                return Ok((TargetPlace::File(own), None));
            }
            Err(error) => return Err(not_there(error)),
        };
        if facts.is_symlink() {
            path = folder.join(own.read_link().map_err(TargetError::Io)?);
        } else if facts.is_dir() {
            return Err(TargetError::Folder);
        } else if facts.is_file() {
            return Ok((TargetPlace::File(own), Some(facts)));
        } else {
            return Ok((TargetPlace::Stream(own), Some(facts)));
        }
    }
    Err(if most_links == 0 { TargetError::NotRegularFile } else { TargetError::EndlessLink })
}

/// The folder that a file is in; `.` for a bare name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// For a folder of a process's open files: are they ours? What they lead to is written to whatever it is: the shell that
/// opened it has it still.
fn is_own_descriptor_folder(folder: &Path) -> Option<bool> {
    let text = folder.to_str()?;
    if text == "/dev/fd" {
        return Some(true);
    }
    let process = text.strip_prefix("/proc/")?.strip_suffix("/fd")?;
    let process = process.split('/').next()?.parse::<u32>().ok()?;
    Some(process == std::process::id())
}

/// Opens what is written to as it is.
pub(super) fn open_stream(path: &Path) -> io::Result<File> {
    // A file behind a descriptor may have been written to before.
    File::options().append(true).open(path)
}
