//! The calls of a server: which wait, which is answered, which were cancelled; and the messages it writes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ChildStdin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use super::worker::{Order, write_line};

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
    /// Where orders to the worker go, while there is one, and the number of the last one.
    orders: Option<ChildStdin>,
    number: u64,
}

impl Calls {
    fn is_cancelled(&self) -> bool {
        self.running.as_ref().is_some_and(|(id, _)| self.open.get(id) == Some(&true))
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
        let Calls { running, orders, number, .. } = &mut *calls;
        if let (true, Some(orders)) = (running.as_ref().is_some_and(|(running, _)| *running == id), orders) {
            // A worker that is gone needs none.
            _ = Order::Cancel { number: *number }.write(orders);
        }
    }

    /// The call that is answered was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.calls().is_cancelled()
    }

    /// Takes the place where a worker reads its orders, or none.
    pub(super) fn set_worker(&self, orders: Option<ChildStdin>) {
        self.calls().orders = orders;
    }

    /// Orders the worker to answer, unless the call was cancelled. Returns whether it did; error: there is no worker.
    pub(super) fn order(&self, line: &[OsString]) -> io::Result<bool> {
        let mut calls = self.calls();
        if calls.is_cancelled() {
            return Ok(false);
        }
        calls.number += 1;
        let number = calls.number;
        let orders = calls.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        Order::Answer { number, line: line.to_vec() }.write(orders)?;
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
