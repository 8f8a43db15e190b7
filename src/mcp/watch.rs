//! The calls of a server: which wait, which is answered, which were cancelled; and the messages it writes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::orders::{Order, write_line};

/// A worker that goes on so long after its order was cancelled is ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches the calls of a server, which are answered one after the other, and writes its messages.
pub struct Watch {
    out: Mutex<Box<dyn Write + Send>>,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// Ids of calls that wait or are answered, and whether they were cancelled.
    open: HashMap<String, bool>,
    running: Option<(String, Option<Value>)>,
    /// Since when the one that is answered is cancelled.
    cancelled: Option<Instant>,
    worker: Option<Child>,
    /// Of the last order.
    number: u64,
}

impl Calls {
    fn is_cancelled(&self) -> bool {
        self.running.as_ref().is_some_and(|(id, _)| self.open.get(id) == Some(&true))
    }

    fn give(&mut self, order: &Order) -> io::Result<()> {
        let orders = self.worker.as_mut().and_then(|worker| worker.stdin.as_mut());
        order.write(orders.ok_or(io::ErrorKind::BrokenPipe)?)
    }
}

impl Watch {
    /// Writes to `out`.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Watch { out: Mutex::new(Box::new(out)), calls: Mutex::default() }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a message, whole.
    pub(super) fn send(&self, message: &impl Serialize) -> io::Result<()> {
        write_line(&self.out, message)
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
        calls.running = Some((id, token));
        calls.cancelled = None;
        true
    }

    /// The call has its answer. Returns false if it was cancelled, so that nobody waits for it.
    pub(super) fn end(&self) -> bool {
        let mut calls = self.calls();
        calls.running.take().and_then(|(id, _)| calls.open.remove(&id)) == Some(false)
    }

    /// Cancels a call that waits or is answered; of others nothing is known.
    pub(super) fn cancel(&self, id: &Value) {
        let mut calls = self.calls();
        let id = id.to_string();
        let Some(is_cancelled) = calls.open.get_mut(&id) else { return };
        *is_cancelled = true;
        if calls.running.as_ref().is_some_and(|(running, _)| *running == id) {
            calls.cancelled = Some(Instant::now());
            let order = Order::Cancel { number: calls.number };
            // A worker that is gone needs none.
            _ = calls.give(&order);
        }
    }

    /// Ends a worker that does not answer to being cancelled. To be called from time to time.
    pub(super) fn look_after_worker(&self) {
        let mut calls = self.calls();
        let is_late = calls.cancelled.is_some_and(|since| since.elapsed() > PATIENCE) && calls.running.is_some();
        if let Some(worker) = &mut calls.worker {
            // One that has ended is known to the system until it is asked about.
            _ = if is_late { worker.kill() } else { worker.try_wait().map(drop) };
        }
    }

    /// The call that is answered was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.calls().is_cancelled()
    }

    /// Has a worker, which reads its orders from its standard input.
    pub(super) fn set_worker(&self, worker: Child) {
        self.calls().worker = Some(worker);
    }

    /// Ends the worker. Returns how it ended.
    pub(super) fn end_worker(&self) -> Option<ExitStatus> {
        let mut worker = self.calls().worker.take()?;
        // It has ended already, unless what it wrote was no report.
        _ = worker.kill();
        worker.wait().ok()
    }

    /// Orders the worker to answer, unless the call was cancelled. Returns whether it did; error: there is no worker.
    pub(super) fn order(&self, line: &[OsString]) -> io::Result<bool> {
        let mut calls = self.calls();
        if calls.is_cancelled() {
            return Ok(false);
        }
        calls.number += 1;
        let order = Order::Answer { number: calls.number, line: line.to_vec() };
        calls.give(&order)?;
        Ok(true)
    }

    /// Tells how far the call is, to who asked for it.
    pub(super) fn progress(&self, progress: f64, message: &str) {
        let Some((_, Some(token))) = self.calls().running.clone() else { return };
        let params = json!({"progressToken": token, "progress": progress, "message": message});
        // Who does not read this does not read the answer either, which is where it shows.
        _ = self.send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
    }
}
