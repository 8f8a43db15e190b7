//! The calls of a server: which wait, which is answered, which were cancelled; and the messages it writes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::worker_protocol::{WorkerOrder, write_line};

/// A worker that goes on so long after its order was cancelled gets no more orders, which ends it; after twice as long it is
/// ended by force.
const CANCEL_GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Watches the calls of a server, which are answered one after the other, and writes its messages.
pub struct CallMonitor {
    out: Mutex<Box<dyn Write + Send>>,
    calls: Mutex<CallStates>,
}

#[derive(Default)]
struct CallStates {
    /// Ids of calls that wait or are answered, and whether they were cancelled.
    is_cancelled_by_id: HashMap<String, bool>,
    /// Of the call that is answered: its id, and the token of who wants its progress.
    running_id_and_token: Option<(String, Option<Value>)>,
    /// Since when the one that is answered is cancelled.
    cancelled_at: Option<Instant>,
    worker: Option<WorkerProcess>,
    /// Of the order that was given last.
    last_order_number: u64,
}

struct WorkerProcess {
    process: Child,
    /// To the thread that writes to it: a worker that does not read holds nobody else up. None when there are no more.
    orders: Option<Sender<WorkerOrder>>,
}

impl CallStates {
    fn is_running_cancelled(&self) -> bool {
        self.running_id_and_token.as_ref().is_some_and(|(id, _)| self.is_cancelled_by_id.get(id) == Some(&true))
    }

    /// Of a worker that is gone the reports end.
    fn send_order(&self, order: WorkerOrder) {
        if let Some(WorkerProcess { orders: Some(orders), .. }) = &self.worker {
            _ = orders.send(order);
        }
    }
}

impl CallMonitor {
    /// Writes to `out`.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        CallMonitor { out: Mutex::new(Box::new(out)), calls: Mutex::default() }
    }

    fn lock_calls(&self) -> MutexGuard<'_, CallStates> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a message, whole.
    pub(super) fn send_message(&self, message: &impl Serialize) -> io::Result<()> {
        write_line(&self.out, message)
    }

    /// A call waits to be answered. Returns false if one of that id does already.
    pub(super) fn open_call(&self, id: &Value) -> bool {
        let mut calls = self.lock_calls();
        let is_new = !calls.is_cancelled_by_id.contains_key(&id.to_string());
        calls.is_cancelled_by_id.entry(id.to_string()).or_insert(false);
        is_new
    }

    /// A call is answered from now on. Returns false if it was cancelled.
    pub(super) fn begin_call(&self, id: &Value, token: Option<Value>) -> bool {
        let mut calls = self.lock_calls();
        let id = id.to_string();
        if calls.is_cancelled_by_id.get(&id) != Some(&false) {
            calls.is_cancelled_by_id.remove(&id);
            return false;
        }
        calls.running_id_and_token = Some((id, token));
        calls.cancelled_at = None;
        true
    }

    /// The call has its answer. Returns false if it was cancelled, so that nobody waits for it.
    pub(super) fn end_call(&self) -> bool {
        let mut calls = self.lock_calls();
        calls.running_id_and_token.take().and_then(|(id, _)| calls.is_cancelled_by_id.remove(&id)) == Some(false)
    }

    /// Cancels a call that waits or is answered; of others nothing is known.
    pub(super) fn cancel_call(&self, id: &Value) {
        let mut calls = self.lock_calls();
        let id = id.to_string();
        let Some(is_cancelled) = calls.is_cancelled_by_id.get_mut(&id) else { return };
        *is_cancelled = true;
        if calls.running_id_and_token.as_ref().is_some_and(|(running, _)| *running == id) {
            calls.cancelled_at = Some(Instant::now());
            calls.send_order(WorkerOrder::Cancel { number: calls.last_order_number });
        }
    }

    /// Ends a worker that does not answer to being cancelled. To be called from time to time.
    pub(super) fn end_unresponsive_worker(&self) {
        let mut calls = self.lock_calls();
        let cancelled =
            calls.cancelled_at.filter(|_| calls.running_id_and_token.is_some()).map(|since| since.elapsed());
        let Some(worker) = &mut calls.worker else { return };
        if cancelled > Some(CANCEL_GRACE_PERIOD) {
            // It takes away what it has not written to the end.
            worker.orders = None;
        }
        // One that has ended is known to the system until it is asked about.
        _ = if cancelled > Some(2 * CANCEL_GRACE_PERIOD) {
            worker.process.kill()
        } else {
            worker.process.try_wait().map(drop)
        };
    }

    /// The call that is answered was cancelled.
    pub(super) fn is_running_cancelled(&self) -> bool {
        self.lock_calls().is_running_cancelled()
    }

    /// Takes a worker that was started, and starts the thread that writes its orders to its standard input.
    pub(super) fn set_worker(&self, mut process: Child) -> io::Result<()> {
        let mut input = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (orders, given) = channel::<WorkerOrder>();
        self.lock_calls().worker = Some(WorkerProcess { process, orders: Some(orders) });
        let write = move || _ = given.iter().try_for_each(|order| order.write(&mut input));
        std::thread::Builder::new().name("orders".into()).spawn(write).map(drop)
    }

    /// Ends the worker. Returns how it ended.
    pub(super) fn end_worker(&self) -> Option<ExitStatus> {
        let mut worker = self.lock_calls().worker.take()?.process;
        // It has ended already, unless what it wrote was no report.
        _ = worker.kill();
        worker.wait().ok()
    }

    /// Orders the worker to answer, unless the call was cancelled. Returns whether it did.
    pub(super) fn order_answer(&self, line: &[OsString]) -> bool {
        let mut calls = self.lock_calls();
        if calls.is_running_cancelled() {
            return false;
        }
        calls.last_order_number += 1;
        calls.send_order(WorkerOrder::Answer { number: calls.last_order_number, line: line.to_vec() });
        true
    }

    /// Tells how far the call is, to who asked for it.
    pub(super) fn report_progress(&self, progress: f64, message: &str) {
        let Some((_, Some(token))) = self.lock_calls().running_id_and_token.clone() else { return };
        let params = json!({"progressToken": token, "progress": progress, "message": message});
        // Who does not read this does not read the answer either, which is where it shows.
        _ = self.send_message(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
    }
}
