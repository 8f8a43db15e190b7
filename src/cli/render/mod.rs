//! Answers as tables and texts: one file an answer. Columns, titles and sentences are decided here; what they say is the
//! answer's.

pub(crate) mod histogram;
pub(crate) mod info;
mod object;
pub(crate) mod objects;
pub(crate) mod rows;

pub(crate) use info::{InfoOfFile, InfoOfFiles};
