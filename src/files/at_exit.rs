//! Actions that put things right outside this program when it is done with it, or when a signal ends the program before.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use std::{fmt, io};

/// For what another thread is at, when all actions are to have run.
const MAX_WAIT_FOR_EXIT_ACTIONS: Duration = Duration::from_secs(10);

/// What is done at the end.
type Action = Box<dyn FnOnce() + Send>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExitActionKind {
    /// Takes a file away that is not whole.
    RemoveFile,
    Other,
}

struct ExitActionList {
    /// Of the action that was added last.
    last_number: u64,
    /// Those that have not run, by number. Whoever runs one takes it out first, so that each runs once.
    pending: Vec<(u64, ExitActionKind, Action)>,
    /// Those that run because they were dropped.
    running_count: u64,
    /// All are being run: nothing more is begun.
    is_exiting: bool,
    /// All have run: the program ends at any moment.
    have_all_run: bool,
}

impl ExitActionList {
    /// Adds an action. Returns its number.
    fn add(&mut self, kind: ExitActionKind, action: Action) -> u64 {
        self.last_number += 1;
        self.pending.push((self.last_number, kind, action));
        self.last_number
    }

    fn take(&mut self, number: u64) -> Option<Action> {
        let at = self.pending.iter().position(|(other, ..)| *other == number)?;
        Some(self.pending.remove(at).2)
    }
}

/// The actions of the program; each is run once, by whoever is first.
pub(super) struct ExitActions {
    action_list: Mutex<ExitActionList>,
    /// Told whenever an action has run.
    action_finished: Condvar,
}

pub(super) static EXIT_ACTIONS: ExitActions = ExitActions::new();

impl fmt::Debug for ExitActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExitActions")
    }
}

/// Runs all, the last first, and what is added meanwhile: the program ends.
pub(super) fn run_all() {
    EXIT_ACTIONS.run_all();
}

/// Takes away all files that are not whole.
pub(super) fn remove_unfinished_files() {
    let files =
        |(number, kind, _): &(u64, ExitActionKind, Action)| (*kind == ExitActionKind::RemoveFile).then_some(*number);
    let numbers: Vec<u64> = EXIT_ACTIONS.lock().pending.iter().filter_map(files).collect();
    numbers.into_iter().for_each(|number| EXIT_ACTIONS.run(number));
}

impl ExitActions {
    const fn new() -> Self {
        let state = ExitActionList {
            last_number: 0,
            pending: Vec::new(),
            running_count: 0,
            is_exiting: false,
            have_all_run: false,
        };
        ExitActions { action_list: Mutex::new(state), action_finished: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, ExitActionList> {
        self.action_list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As `lock`; `None` where somebody holds it for longer, as a file system may that does not answer.
    fn lock_within(&self, patience: Duration) -> Option<MutexGuard<'_, ExitActionList>> {
        let began = Instant::now();
        loop {
            match self.action_list.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(state)) => return Some(state.into_inner()),
                Err(TryLockError::WouldBlock) if began.elapsed() >= patience => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn run_all(&self) {
        let mut patience = MAX_WAIT_FOR_EXIT_ACTIONS;
        loop {
            let Some(mut state) = self.lock_within(MAX_WAIT_FOR_EXIT_ACTIONS) else { return };
            state.is_exiting = true;
            if let Some((.., action)) = state.pending.pop() {
                drop(state);
                run_catching_panic(action);
            } else if state.running_count > 0 && !patience.is_zero() {
                // Another thread is in the middle of one, and may add one.
                let began = Instant::now();
                drop(self.action_finished.wait_timeout(state, patience));
                patience = patience.saturating_sub(began.elapsed());
            } else {
                state.have_all_run = true;
                return;
            }
        }
    }

    /// Runs an action unless it has run.
    fn run(&self, number: u64) {
        let mut state = self.lock();
        let Some(action) = state.take(number) else { return };
        state.running_count += 1;
        drop(state);
        run_catching_panic(action);
        self.lock().running_count -= 1;
        self.action_finished.notify_all();
    }

    pub(super) fn add(&'static self, action: impl FnOnce() + Send + 'static) -> ExitAction {
        let mut state = self.lock();
        if state.have_all_run {
            // Nobody runs it any more, and nothing more is to be done.
            drop(state);
            action();
            wait_for_program_end();
        }
        ExitAction { number: state.add(ExitActionKind::Other, Box::new(action)), actions: self }
    }

    pub(super) fn make_with_undo<T>(
        &'static self,
        kind: ExitActionKind,
        make: impl FnOnce() -> io::Result<T>,
        action: impl FnOnce() + Send + 'static,
    ) -> io::Result<(T, ExitAction)> {
        let mut state = self.lock();
        if state.is_exiting {
            drop(state);
            wait_for_program_end();
        }
        let made = make()?;
        Ok((made, ExitAction { number: state.add(kind, Box::new(action)), actions: self }))
    }
}

/// Runs an action; a panic in it does not keep the others from running.
fn run_catching_panic(action: Action) {
    let _ = catch_unwind(AssertUnwindSafe(action));
}

/// The thread that runs all actions ends the program.
fn wait_for_program_end() -> ! {
    loop {
        std::thread::park();
    }
}

/// An action that runs once: when this is dropped, or when a signal ends the program.
#[derive(Debug)]
pub struct ExitAction {
    number: u64,
    actions: &'static ExitActions,
}

impl ExitAction {
    /// Does something that the action will put right. Where actions are being run already, nothing is done, and this never
    /// returns: not for use in an action. `act` is to be short, and must neither make nor drop another of these.
    pub fn run_unless_ending<T>(&self, act: impl FnOnce() -> T) -> T {
        let state = self.actions.lock();
        if state.is_exiting {
            drop(state);
            wait_for_program_end();
        }
        act()
    }

    /// The action is not needed any more.
    pub fn forget(self) {
        self.actions.lock().take(self.number);
    }
}

impl Drop for ExitAction {
    fn drop(&mut self) {
        self.actions.run(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn an_action_runs_once_or_never() {
        let runs = Arc::new(AtomicU32::new(0));
        let action = |runs: &Arc<AtomicU32>| {
            let runs = Arc::clone(runs);
            move || {
                runs.fetch_add(1, Ordering::SeqCst);
            }
        };
        drop(ExitAction::new(action(&runs)).expect("signals"));
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        ExitAction::new(action(&runs)).expect("signals").forget();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        let (made, at_end) = ExitAction::make_with_undo(|| Ok(7), action(&runs)).expect("signals");
        assert_eq!((made, at_end.run_unless_ending(|| 8)), (7, 8));
        drop(at_end);
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        ExitAction::make_with_undo(|| Err::<(), _>(io::ErrorKind::NotFound.into()), action(&runs))
            .expect_err("nothing is made");
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    /// The end comes while something is made: it waits, and takes it away. Behind it nothing is made or done any more.
    #[test]
    fn nothing_is_left_of_what_is_being_made_when_the_end_comes() {
        let actions: &'static ExitActions = Box::leak(Box::new(ExitActions::new()));
        let (there, undone) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (say, hear) = channel();
        let end = std::thread::spawn(move || {
            hear.recv().expect("it is being made");
            actions.run_all();
        });
        let (made, counted) = (Arc::clone(&there), (Arc::clone(&there), Arc::clone(&undone)));
        let make = move || {
            say.send(()).expect("somebody waits");
            // Long enough for the end to have come.
            std::thread::sleep(Duration::from_millis(50));
            made.store(1, Ordering::SeqCst);
            Ok(())
        };
        let action = move || {
            counted.1.fetch_add(counted.0.swap(0, Ordering::SeqCst), Ordering::SeqCst);
        };
        let (_, at_end) = actions.make_with_undo(ExitActionKind::Other, make, action).expect("made");
        end.join().expect("all have run");
        assert_eq!((there.load(Ordering::SeqCst), undone.load(Ordering::SeqCst)), (0, 1));
        let (say, hear) = channel::<&str>();
        let other = say.clone();
        std::thread::spawn(move || at_end.run_unless_ending(|| say.send("done")));
        std::thread::spawn(move || actions.make_with_undo(ExitActionKind::Other, || Ok(other.send("made")), || {}));
        hear.recv_timeout(Duration::from_millis(50)).expect_err("nothing");
    }

    /// The end comes while another thread puts something right: it waits until that is done. An action that fails changes nothing.
    #[test]
    fn the_end_waits_for_an_action_that_runs() {
        let actions: &'static ExitActions = Box::leak(Box::new(ExitActions::new()));
        let is_done = Arc::new(AtomicU32::new(0));
        let (say, hear) = channel();
        let done = Arc::clone(&is_done);
        let at_end = actions.add(move || {
            say.send(()).expect("somebody waits");
            std::thread::sleep(Duration::from_millis(50));
            done.store(1, Ordering::SeqCst);
        });
        let other = std::thread::spawn(move || drop(at_end));
        hear.recv().expect("it runs");
        let _failing = actions.add(|| panic!("this one fails"));
        actions.run_all();
        assert_eq!(is_done.load(Ordering::SeqCst), 1);
        other.join().expect("dropped");
    }
}
