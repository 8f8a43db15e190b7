//! Reasons why a dump is not in the dataset.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use super::super::ExportError;
use crate::files::TargetError;

/// The reason why a dump is not in the dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The dump does not have what a table has, takes more memory than it may, or its index is damaged.
    #[error(transparent)]
    Export(ExportError),
    /// A file of the dataset, and why it cannot be written.
    #[error("cannot write {path}: {1}", path = .0.display())]
    Unwritable(PathBuf, io::Error),
    /// A file of the dataset that would replace what it must not, or cannot be a file.
    #[error("{path} {1}", path = .0.display())]
    UnusableTarget(PathBuf, TargetError),
    /// The dump itself cannot be read through for its checksum.
    #[error("cannot be read: {0}")]
    UnreadableDump(io::Error),
    /// Another dump has this id in the dataset.
    #[error("another dump is in the dataset as {0}")]
    IdTaken(String),
    /// A dump that comes through a pipe has no name that an id could be made of.
    #[error("a dump that comes through a pipe needs an id")]
    NoFileName,
    /// The same, and the id that was asked for is taken: by the same dump or by another.
    #[error("a dump is in the dataset as {0}, and what comes through a pipe cannot be compared with it")]
    IdTakenOrSameDump(String),
    /// An expression chooses rows, and no table is asked for that has any.
    #[error("an expression chooses rows of objects, object_references and fields, and none of these is asked for")]
    NoRowsToChoose,
    /// The text is no id.
    #[error(
        "\"{0}\" is no id: a letter, then letters, digits, dots, dashes and underscores, 200 at most, and nothing that \
         an engine takes for a number or a date"
    )]
    InvalidId(String),
}

impl DatasetError {
    /// The error with the options that it is about, and what to do.
    pub fn advice(&self) -> String {
        match self {
            DatasetError::IdTaken(_) => {
                format!("{self}; --replace writes this one in its place, --id another beside it")
            }
            DatasetError::NoFileName => format!("{self}: --id NAME"),
            DatasetError::IdTakenOrSameDump(_) => format!("{self}; --replace writes this one in its place"),
            DatasetError::InvalidId(_) => format!("--id: {self}"),
            DatasetError::NoRowsToChoose => format!("--where: {self}: --tables all, or their names"),
            _ => self.to_string(),
        }
    }
}

impl<E: Into<ExportError>> From<E> for DatasetError {
    fn from(error: E) -> Self {
        DatasetError::Export(error.into())
    }
}

/// The reason why a table is not written: what the dump lacks, or what its file does.
#[derive(Debug)]
pub(super) enum TableError {
    Dataset(DatasetError),
    WriteFile(io::Error),
}

impl TableError {
    /// With the file's name.
    pub(super) fn with_path(self, path: &Path) -> DatasetError {
        match self {
            TableError::Dataset(error) => error,
            TableError::WriteFile(error) => DatasetError::Unwritable(path.to_path_buf(), error),
        }
    }
}

impl<E: Into<DatasetError>> From<E> for TableError {
    fn from(error: E) -> Self {
        TableError::Dataset(error.into())
    }
}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        TableError::WriteFile(match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(error) => io::Error::other(error),
            },
            error => io::Error::other(error.to_string()),
        })
    }
}
