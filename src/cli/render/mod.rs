//! Answers as tables and texts: one file an answer. Columns, titles and sentences are decided here; what they say is the
//! answer's.

mod histogram;
mod info;

pub(super) use info::{InfoOfFile, InfoOfFiles};
