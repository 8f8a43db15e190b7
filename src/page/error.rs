//! Reasons why there is no page.

use std::io;

use crate::answers::AnswerError;

/// The reason why there is no page.
#[derive(Debug)]
#[non_exhaustive]
pub enum PageError {
    /// A question could not be answered.
    Answer(AnswerError),
    /// The page could not be written.
    Write(io::Error),
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PageError::Answer(error) => error.fmt(f),
            PageError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PageError {}

impl From<AnswerError> for PageError {
    fn from(error: AnswerError) -> Self {
        PageError::Answer(error)
    }
}

impl From<io::Error> for PageError {
    fn from(error: io::Error) -> Self {
        PageError::Write(error)
    }
}
