//! What the process that speaks and the one that answers tell each other: lines of JSON.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::page::Told;

/// What a worker is told.
#[derive(Serialize, Deserialize)]
pub(super) enum Order {
    /// Answer this line of the program.
    Answer { number: u64, line: Vec<OsString> },
    /// Nobody waits for the answer to this order any more.
    Cancel { number: u64 },
}

/// What a worker tells.
#[derive(Serialize, Deserialize)]
pub(super) enum Report {
    Progress {
        progress: f64,
        message: String,
    },
    Sentence(String),
    Answer(Told),
    /// Why there is none, in a sentence; nothing of an order that was cancelled.
    Failed(String),
}

/// Writes a value as a line, whole.
pub(super) fn write_line(out: &Mutex<impl Write + ?Sized>, value: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(value)? + "\n";
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    out.write_all(line.as_bytes())?;
    out.flush()
}

impl Order {
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write_line(&Mutex::new(out), self)
    }
}
