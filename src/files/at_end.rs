//! What is to be put right outside this program when it is done with it, or when a signal ends the program before.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Action = Box<dyn FnOnce() + Send>;

struct Actions {
    last_number: u64,
    /// Those that have not run, by number. Whoever runs one takes it out first, so that each runs once.
    waiting: Vec<(u64, Action)>,
    /// All have run: the program ends at any moment.
    is_over: bool,
}

static ACTIONS: Mutex<Actions> = Mutex::new(Actions { last_number: 0, waiting: Vec::new(), is_over: false });

fn lock() -> MutexGuard<'static, Actions> {
    ACTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs all, the last first, and what is added meanwhile: the program ends.
pub(super) fn run_all() {
    loop {
        let mut actions = lock();
        let Some((_, action)) = actions.waiting.pop() else {
            actions.is_over = true;
            return;
        };
        drop(actions);
        action();
    }
}

/// An action that runs once: when this is dropped, or when a signal ends the program.
#[derive(Debug)]
pub struct AtEnd {
    number: u64,
}

impl AtEnd {
    /// Keeps an action for the end.
    ///
    /// # Errors
    /// When signals cannot be waited for.
    pub fn new(action: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        super::unfinished::watch_signals()?;
        let mut actions = lock();
        actions.last_number += 1;
        let number = actions.last_number;
        if actions.is_over {
            // Nobody runs it any more, and nothing more is to be done.
            drop(actions);
            action();
            super::give_way_to_signals();
        } else {
            actions.waiting.push((number, Box::new(action)));
        }
        Ok(AtEnd { number })
    }

    /// The action is not needed any more.
    pub fn forget(self) {
        self.take();
    }

    fn take(&self) -> Option<Action> {
        let mut actions = lock();
        let at = actions.waiting.iter().position(|(number, _)| *number == self.number)?;
        Some(actions.waiting.remove(at).1)
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(action) = self.take() {
            action();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::AtEnd;

    #[test]
    fn an_action_runs_once_or_never() {
        let runs = Arc::new(AtomicU32::new(0));
        let action = |runs: &Arc<AtomicU32>| {
            let runs = Arc::clone(runs);
            move || {
                runs.fetch_add(1, Ordering::SeqCst);
            }
        };
        drop(AtEnd::new(action(&runs)).expect("signals"));
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        AtEnd::new(action(&runs)).expect("signals").forget();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}
