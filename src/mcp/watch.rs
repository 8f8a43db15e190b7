//! The call that is answered: its progress, whether it shall stop, and what was said beside its answer.

use std::collections::HashMap;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::input::{Observer, Phase};

/// Between two messages of progress.
const BETWEEN: Duration = Duration::from_millis(200);

/// What unwinds a call that was cancelled.
pub(super) struct Cancelled;

/// Watches the calls of a server, which are answered one after the other, and writes its messages.
pub struct Watch {
    out: Mutex<Box<dyn Write + Send>>,
    calls: Mutex<Calls>,
    is_cancelled: AtomicBool,
}

#[derive(Default)]
struct Calls {
    /// Ids of calls that wait or are answered, and whether they were cancelled.
    open: HashMap<String, bool>,
    running: Option<Running>,
    said: Vec<String>,
}

struct Running {
    id: String,
    token: Option<Value>,
    phase: Phase,
    /// Phases that are over, and the part of this one that is.
    done: f64,
    told: Instant,
}

impl Watch {
    /// Writes to `out`.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Watch { out: Mutex::new(Box::new(out)), calls: Mutex::default(), is_cancelled: AtomicBool::new(false) }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a message, whole.
    pub(super) fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(message)?;
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// A call waits to be answered. Returns false if one of that id does already.
    pub(super) fn open(&self, id: &Value) -> bool {
        let mut calls = self.calls();
        let is_new = !calls.open.contains_key(&id.to_string());
        calls.open.entry(id.to_string()).or_insert(false);
        is_new
    }

    /// A call is answered from now on. Returns false if it was cancelled.
    pub(super) fn begin(&self, id: &Value, token: Option<Value>) -> bool {
        let mut calls = self.calls();
        let id = id.to_string();
        if calls.open.get(&id) != Some(&false) {
            calls.open.remove(&id);
            return false;
        }
        self.is_cancelled.store(false, Ordering::Relaxed);
        calls.said.clear();
        calls.running = Some(Running { id, token, phase: Phase::Reading, done: 0.0, told: Instant::now() });
        true
    }

    /// The call has its answer. Returns false if it was cancelled, so that nobody waits for it.
    pub(super) fn end(&self) -> bool {
        let mut calls = self.calls();
        calls.running.take().and_then(|running| calls.open.remove(&running.id)) == Some(false)
    }

    /// Cancels a call that waits or is answered; of others nothing is known.
    pub(super) fn cancel(&self, id: &Value) {
        let mut calls = self.calls();
        let id = id.to_string();
        if let Some(is_cancelled) = calls.open.get_mut(&id) {
            *is_cancelled = true;
            let is_running = calls.running.as_ref().is_some_and(|running| running.id == id);
            self.is_cancelled.fetch_or(is_running, Ordering::Relaxed);
        }
    }

    /// What was said since this was asked last.
    pub fn take_said(&self) -> Vec<String> {
        std::mem::take(&mut self.calls().said)
    }

    /// The part of a phase that is done, 0 to 1. It is told from time to time, to who asked for it.
    fn progress(&self, phase: Option<Phase>, part: f64) {
        let mut calls = self.calls();
        let Some(running) = &mut calls.running else { return };
        let before = running.done;
        if let Some(phase) = phase.filter(|phase| *phase != running.phase) {
            running.phase = phase;
            running.done = running.done.floor() + 1.0;
        }
        // A phase that begins again, of the next of several dumps, is another one.
        let is_again = running.done.floor() + part < running.done;
        running.done = running.done.floor() + f64::from(u8::from(is_again)) + part.min(0.999);
        let Some(token) = running.token.clone().filter(|_| running.done > before && running.told.elapsed() >= BETWEEN)
        else {
            return;
        };
        running.told = Instant::now();
        let params = json!({"progressToken": token, "progress": running.done, "message": running.phase.name()});
        drop(calls);
        // Who does not read this does not read the answer either, which is where it shows.
        _ = self.send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
    }

    /// Leaves the call from within, where nothing half done is left: analyses keep what is finished alone.
    fn leave_if_cancelled(&self) {
        if self.is_cancelled() {
            resume_unwind(Box::new(Cancelled));
        }
    }
}

impl Observer for Watch {
    fn phase(&self, phase: Phase) {
        self.progress(Some(phase), 0.0);
        // Reading asks itself.
        if phase != Phase::Reading {
            self.leave_if_cancelled();
        }
    }

    fn bytes_read(&self, done: u64, total: Option<u64>) {
        if let Some(total) = total.filter(|total| *total > 0) {
            self.progress(None, done as f64 / total as f64);
        }
    }

    fn steps(&self, done: u64, total: u64) {
        self.progress(None, done as f64 / total.max(1) as f64);
        self.leave_if_cancelled();
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    fn note(&self, sentence: &str) {
        self.calls().said.push(sentence.to_string());
    }
}
