//! The process that reads dumps and answers, apart from the one that speaks: what ends it (its memory limit, the system, a
//! defect) ends one call, and the next one gets a process of its own. Orders and reports are lines of JSON.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::answer_page::CommandAnswer;
use super::call_monitor::CallMonitor;
use super::worker_protocol::{WorkerOrder, WorkerReport, write_line};
use crate::files::end_program;
use crate::input::{Observer, Phase};

/// Between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Asks worker processes, one after the other.
pub struct WorkerClient {
    monitor: Arc<CallMonitor>,
    /// Makes the command that starts a worker.
    make_command: Box<dyn Fn() -> io::Result<Command>>,
    /// The reports of the one that runs.
    reports: Option<BufReader<ChildStdout>>,
    /// It has answered before, so that it may hold dumps of earlier calls.
    has_answered: bool,
}

impl WorkerClient {
    /// Workers that a command starts, each with the orders as its standard input.
    pub fn new(monitor: Arc<CallMonitor>, command: impl Fn() -> io::Result<Command> + 'static) -> Self {
        WorkerClient { monitor, make_command: Box::new(command), reports: None, has_answered: false }
    }

    /// The answer to a line of the program. A worker that ends and had answered before is replaced, and asked once more.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub fn ask(&mut self, line: &[OsString]) -> Result<CommandAnswer, String> {
        loop {
            let was_used = std::mem::take(&mut self.has_answered);
            match self.ask_once(line) {
                Ok(answer) => {
                    self.has_answered = true;
                    return answer;
                }
                Err(why) if !was_used || self.monitor.is_running_cancelled() => return Err(why),
                Err(_) => {}
            }
        }
    }

    /// Error: why the worker ended.
    fn ask_once(&mut self, line: &[OsString]) -> Result<Result<CommandAnswer, String>, String> {
        let cannot = |why: io::Error| format!("no process can be started to read dumps: {why}; start the server again");
        let mut sentences = Vec::new();
        let reports = match &mut self.reports {
            Some(reports) => reports,
            none => none.insert(start_worker(&self.monitor, (self.make_command)().map_err(cannot)?).map_err(cannot)?),
        };
        if !self.monitor.order_answer(line) {
            return Ok(Err("cancelled".into()));
        }
        for text in reports.lines().map_while(Result::ok) {
            match serde_json::from_str(&text) {
                Ok(WorkerReport::Progress { progress, message }) => self.monitor.report_progress(progress, &message),
                Ok(WorkerReport::Sentence(sentence)) => sentences.push(sentence),
                Ok(WorkerReport::Answer(told)) => return Ok(Ok(CommandAnswer { sentences, ..told })),
                Ok(WorkerReport::Failed(why)) if why.is_empty() => return Ok(Err(sentences.join("\n"))),
                Ok(WorkerReport::Failed(why)) => return Ok(Err(why)),
                Err(_) => break,
            }
        }
        self.reports = None;
        let status = self.monitor.end_worker();
        // One that ends itself says why at last; of any other the last sentence is about its dump.
        let why = sentences.pop().filter(|_| status.is_some_and(|status| status.code() == Some(2)));
        Err(why.unwrap_or_else(|| exit_reason(status)))
    }
}

/// Why there is no answer of a worker that said nothing.
fn exit_reason(status: Option<ExitStatus>) -> String {
    let status = status.map_or_else(String::new, |status| format!(" ({status})"));
    // SIGKILL, which nobody else sends.
    let hint = if status.contains("signal: 9") { "; a system that is short of memory does so" } else { "" };
    format!("the process that read the dump was ended{status}{hint}")
}

/// Starts a worker, and gives it to the monitor. Returns its reports.
fn start_worker(monitor: &CallMonitor, mut command: Command) -> io::Result<BufReader<ChildStdout>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let reports = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    monitor.set_worker(child)?;
    Ok(BufReader::new(reports))
}

/// What unwinds an order that was cancelled.
struct CancelledOrder;

/// The worker's own end: reports progress and sentences, and knows whether the order shall go on.
pub struct WorkerReporter {
    out: Mutex<Box<dyn Write + Send>>,
    current_order_number: AtomicU64,
    /// The last that was cancelled, and so are those before it.
    cancelled_order_number: AtomicU64,
    progress: Mutex<ReportedProgress>,
}

struct ReportedProgress {
    phase: Phase,
    /// Phases that are over, and the part of this one that is.
    done_phases: f64,
    reported_at: Instant,
}

impl ReportedProgress {
    fn new() -> Self {
        ReportedProgress { phase: Phase::Reading, done_phases: 0.0, reported_at: Instant::now() }
    }
}

impl WorkerReporter {
    /// Writes to `out`.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        WorkerReporter {
            out: Mutex::new(Box::new(out)),
            current_order_number: AtomicU64::new(0),
            cancelled_order_number: AtomicU64::new(0),
            progress: Mutex::new(ReportedProgress::new()),
        }
    }

    fn send_report(&self, report: &WorkerReport) -> io::Result<()> {
        write_line(&self.out, report)
    }

    fn lock_progress(&self) -> MutexGuard<'_, ReportedProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets which part of a phase is done, 0 to 1, and reports it from time to time, never less than before.
    fn update_progress(&self, phase: Option<Phase>, part: f64) {
        let mut progress = self.lock_progress();
        let before = progress.done_phases;
        if let Some(phase) = phase.filter(|phase| *phase != progress.phase) {
            progress.phase = phase;
            progress.done_phases = progress.done_phases.floor() + 1.0;
        }
        // A phase that begins again, of the next of several dumps, is another one.
        let is_again = progress.done_phases.floor() + part < progress.done_phases;
        progress.done_phases = progress.done_phases.floor() + f64::from(u8::from(is_again)) + part.min(0.999);
        if progress.done_phases <= before || progress.reported_at.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        progress.reported_at = Instant::now();
        let report = WorkerReport::Progress { progress: progress.done_phases, message: progress.phase.name().into() };
        drop(progress);
        _ = self.send_report(&report);
    }

    /// Leaves the order from within, where nothing half done is left: analyses keep what is finished alone.
    fn unwind_if_cancelled(&self) {
        if self.is_cancelled() {
            resume_unwind(Box::new(CancelledOrder));
        }
    }
}

impl Observer for WorkerReporter {
    fn phase_begun(&self, phase: Phase) {
        self.update_progress(Some(phase), 0.0);
        // Reading asks itself.
        if phase != Phase::Reading {
            self.unwind_if_cancelled();
        }
    }

    fn bytes_read(&self, done: u64, total: Option<u64>) {
        if let Some(total) = total.filter(|total| *total > 0) {
            self.update_progress(None, done as f64 / total as f64);
        }
    }

    fn steps_done(&self, done: u64, total: u64) {
        self.update_progress(None, done as f64 / total.max(1) as f64);
        self.unwind_if_cancelled();
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled_order_number.load(Ordering::Relaxed) >= self.current_order_number.load(Ordering::Relaxed)
    }

    fn note_for_user(&self, sentence: &str) {
        _ = self.send_report(&WorkerReport::Sentence(sentence.to_string()));
    }
}

/// Answers orders until they end, one after the other, on this thread.
///
/// # Errors
/// When the output cannot be written.
pub fn serve_worker_orders(
    reporter: &Arc<WorkerReporter>,
    orders: impl BufRead + Send + 'static,
    answer: &dyn Fn(Vec<OsString>) -> Result<CommandAnswer, String>,
) -> io::Result<()> {
    let (queue, waiting) = channel();
    let own = Arc::clone(reporter);
    std::thread::Builder::new().name("orders".into()).spawn(move || {
        for order in orders.lines().map_while(Result::ok) {
            match serde_json::from_str(&order) {
                Ok(WorkerOrder::Answer { number, line }) => _ = queue.send((number, line)),
                Ok(WorkerOrder::Cancel { number }) => own.cancelled_order_number.store(number, Ordering::Relaxed),
                Err(_) => break,
            }
        }
        // Nobody waits for an answer.
        end_program(|| {}, 0)
    })?;
    for (number, line) in waiting {
        reporter.current_order_number.store(number, Ordering::Relaxed);
        *reporter.lock_progress() = ReportedProgress::new();
        let report = match catch_unwind(AssertUnwindSafe(|| answer(line))) {
            Ok(Ok(told)) => WorkerReport::Answer(told),
            Ok(Err(why)) => WorkerReport::Failed(why),
            Err(panic) if panic.is::<CancelledOrder>() => WorkerReport::Failed("cancelled".into()),
            Err(_) => WorkerReport::Failed("this failed; it is a defect of heapdump".into()),
        };
        reporter.send_report(&report)?;
        #[cfg(target_os = "linux")]
        crate::large_blocks::give_back_free_blocks();
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentence_is_the_reason_of_a_worker_that_ended_itself_alone() {
        for (end, expected) in
            [("exit 2", "sizes look decimal"), ("kill -9 $$", "the process that read the dump was ended")]
        {
            let script = format!("read order; echo '{{\"Sentence\":\"sizes look decimal\"}}'; {end}");
            let shell = move || {
                let mut command = Command::new("sh");
                command.args(["-c", &script]);
                Ok(command)
            };
            let mut workers = WorkerClient::new(Arc::new(CallMonitor::new(io::sink())), shell);
            let why = workers.ask(&[]).unwrap_err();
            assert!(why.starts_with(expected), "{end}: {why}");
        }
    }
}
