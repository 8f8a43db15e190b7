//! Threads as a thread dump, in the form of the JDK's `jstack`: for tools that read those. Line by line: a head, and for
//! each thread a line with its name, its state, and its calls, innermost first.
//!
//! `tid` is the id of the thread's object; what the dump does not say is left out. The form: `jstack` and `Thread.print`
//! of JDK 8 to 25.

use crate::answers::Threads;
use crate::answers::threads::ThreadRow;

/// The lines of the dump. O(frames).
pub fn thread_dump_lines<'t>(threads: &'t Threads<'_>) -> impl Iterator<Item = String> + 't {
    let head = format!("Full thread dump {}:", threads.producer.as_deref().unwrap_or("Java"));
    [head, String::new()].into_iter().chain(threads.threads.iter().flat_map(thread_lines))
}

fn thread_lines<'t>(thread: &'t ThreadRow<'_>) -> impl Iterator<Item = String> + 't {
    let mut head = format!("\"{}\"", thread.name.as_deref().unwrap_or_default());
    if let Some(number) = thread.fields.number {
        head += &format!(" #{number}");
    }
    for (word, is_so) in [(" daemon", thread.fields.daemon), (" virtual", thread.fields.is_virtual)] {
        head += if is_so == Some(true) { word } else { "" };
    }
    if let Some(priority) = thread.fields.priority {
        head += &format!(" prio={priority}");
    }
    head += &format!(" tid={}", thread.id);
    let state = thread.fields.state.map(|state| format!("   java.lang.Thread.State: {state}"));
    let calls = thread.frames.iter().map(|frame| format!("\tat {}", frame.java_trace_text()));
    std::iter::once(head).chain(state).chain(calls).chain([String::new()])
}
