//! Threads: what each retains, what it was doing, and what lies on its stack.

use std::cmp::Reverse;

use serde::Serialize;

use crate::analysis::dominators::Dominators;
use crate::analysis::retained::RetainedSizes;
use crate::answers::figure::{FRAMES, LOCALS, NAME, RETAINED, figures_of};
use crate::answers::frames::ran_out_of_memory;
use crate::answers::rows::is_false;
use crate::answers::scope::order_entry_of;
pub use crate::answers::shared::frames::{FrameRow, LocalRow, ThreadStack};
use crate::answers::values::{ShownValue, ValueReader};
use crate::answers::{AnswerError, CommandLine, Figure, Limits, ObjectRow, ScopeOptions};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, Root, RootKind, Thread};
use crate::input::{FieldValue, ReferenceName, Value};
use crate::sort;

/// Options of a list of threads.
#[derive(Debug, Clone, Default)]
pub struct ThreadsOptions {
    /// All of this name, or the one whose object has this id. Default: all.
    pub name_or_id: Option<String>,
    /// Their order: one of [`ORDERS`](Self::ORDERS), figures largest first; ties by id. The thread that ran out of memory is
    /// always first. Default: retained bytes.
    pub order: Option<Figure>,
    /// Number and direction of rows.
    pub limits: Limits,
}

const ORDER_COLUMNS: [(Figure, ThreadSortValue); 4] = [
    (RETAINED, |_, _, found| found.retained_bytes.map_or(0, |bytes| bytes.saturating_add(1))),
    (FRAMES, |graph, _, found| graph.frames_of(found.thread).len() as u64),
    (LOCALS, |_, locals, found| locals.of_thread(found.thread_index).len() as u64),
    (NAME, |_, _, _| 0),
];

type ThreadSortValue = fn(&HeapGraph, &LocalsByThread, &FoundThread<'_>) -> u64;

impl ThreadsOptions {
    /// Figures that rows can be ordered by.
    pub const ORDERS: [Figure; 4] = figures_of(&ORDER_COLUMNS);

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("threads");
        line.add_sort_option(self.order, RETAINED);
        self.limits.add_to(&mut line);
        if let Some(which) = &self.name_or_id {
            line.add_word(which.clone());
        }
        line
    }
}

/// The threads of a dump.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Threads<'d> {
    /// The threads that are shown, in their order.
    pub threads: Vec<ThreadRow<'d>>,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub rows_hidden: usize,
    /// Threads of the dump, whichever were asked for.
    #[serde(skip)]
    pub thread_count: usize,
    /// The name or id that was asked for; its threads are shown with their stacks.
    #[serde(skip)]
    pub name_or_id: Option<String>,
    /// Program that wrote the dump, and the time, where it says so.
    #[serde(skip)]
    pub producer: Option<String>,
    /// Reason for missing values.
    #[serde(skip)]
    pub no_values: Option<AnswerError>,
}

/// A thread.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ThreadRow<'d> {
    /// The id of its object.
    pub id: String,
    /// Its name, where the dump can be read for it.
    pub name: Option<String>,
    /// The type of its object.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Values of its fields, where the dump can be read for them.
    #[serde(flatten)]
    pub fields: ThreadFields,
    /// It had no memory left, and that is why the dump was written.
    #[serde(skip_serializing_if = "is_false")]
    pub out_of_memory: bool,
    /// Bytes that would be freed with it and what lies on its stack; `None` when no strong root reaches it.
    pub retained_bytes: Option<u64>,
    /// Its stack, innermost first.
    pub frames: ThreadStack<'d>,
    /// Objects that it holds in no frame that the dump names.
    pub locals: Vec<LocalRow>,
}

impl ThreadRow<'_> {
    /// The name as people write it, the id of a thread without one: `"main"`, `0x7f2da4800010`.
    pub fn title(&self) -> String {
        match self.name.as_deref() {
            Some(name) if !name.is_empty() => format!("\"{name}\""),
            _ => self.id.clone(),
        }
    }

    /// Objects on its stack, each once a frame.
    pub fn local_count(&self) -> usize {
        self.locals.len() + self.frames.local_count()
    }
}

/// The threads of a dump with their stacks. O(roots + threads + frames) and the dominator tree; texts and fields of the
/// threads that are shown are read from the dump.
///
/// # Errors
/// If the dump holds no objects, or takes more memory than it may.
pub fn threads<'d>(dump: &'d OpenDump, options: &ThreadsOptions) -> Result<Threads<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let (dominators, retained) = dump.dominators()?;
    let values = ValueReader::find(dump);
    let search = ThreadSearch { graph, dominators, retained, values: values.as_ref().ok().copied() };
    let locals = LocalsByThread::of(graph);
    let all = graph.threads().iter().enumerate();
    let all = all.filter_map(|(number, thread)| Some((number, thread, thread.node?)));
    let mut found: Vec<FoundThread<'_>> =
        all.map(|(number, thread, node)| search.found_thread(number, thread, node)).collect();
    let thread_count = found.len();
    search.add_names(&mut found);
    if let Some(which) = &options.name_or_id {
        search.retain_asked_for(&mut found, which);
    }
    let value = order_entry_of(&ORDER_COLUMNS, options.order.unwrap_or(RETAINED))?;
    found.sort_by_cached_key(|found| {
        let name = found.name.clone().filter(|_| options.order == Some(NAME));
        (Reverse(value(graph, &locals, found)), name, found.node)
    });
    if options.limits.reverse {
        found.reverse();
    }
    sort::rows_by_key(&mut found, |found| !found.ran_out_of_memory);
    let rows_hidden = Limits { reverse: false, ..options.limits }.reverse_and_cut(&mut found);
    Ok(Threads {
        threads: search.rows(found, &locals),
        rows_hidden,
        thread_count,
        name_or_id: options.name_or_id.clone(),
        producer: dump.info().producer.clone(),
        no_values: values.err(),
    })
}

/// Objects on stacks: (thread, frame from 1 or 0 for none, object), each once, by thread and frame.
struct LocalsByThread(Vec<(usize, usize, NodeId)>);

impl LocalsByThread {
    fn of(graph: &HeapGraph) -> Self {
        let place = |root: &Root| {
            let thread = root.thread?.index();
            // A thread holds itself by no reference, and lies on its own stack all the same.
            let is_itself = graph.threads()[thread].node == Some(root.node) && root.kind != RootKind::Thread;
            let frame = root.frame.map_or(0, |frame| frame.index() + 1);
            (root.is_through_thread || is_itself).then_some((thread, frame, root.node))
        };
        let mut locals: Vec<_> = graph.roots().iter().filter_map(place).collect();
        locals.sort_unstable();
        locals.dedup();
        LocalsByThread(locals)
    }

    fn of_thread(&self, number: usize) -> &[(usize, usize, NodeId)] {
        let start = self.0.partition_point(|local| local.0 < number);
        let end = self.0.partition_point(|local| local.0 <= number);
        &self.0[start..end]
    }
}

struct FoundThread<'d> {
    /// Its place among the threads of the graph.
    thread_index: usize,
    thread: &'d Thread,
    node: NodeId,
    name: Option<String>,
    retained_bytes: Option<u64>,
    ran_out_of_memory: bool,
}

struct ThreadSearch<'d> {
    graph: &'d HeapGraph,
    dominators: &'d Dominators,
    retained: &'d RetainedSizes,
    values: Option<ValueReader<'d>>,
}

impl<'d> ThreadSearch<'d> {
    fn found_thread(&self, number: usize, thread: &'d Thread, node: NodeId) -> FoundThread<'d> {
        FoundThread {
            thread_index: number,
            thread,
            node,
            name: thread.name.map(|name| self.graph.types().text(name).to_string()),
            retained_bytes: self.retained.bytes_of(self.dominators, node),
            ran_out_of_memory: ran_out_of_memory(self.graph, thread),
        }
    }

    /// Names that are texts of the dump; in the order of the objects, so that each part of the file is read once.
    fn add_names(&self, found: &mut [FoundThread<'_>]) {
        let Some(values) = self.values else { return };
        let nodes: Vec<NodeId> = found.iter().map(|found| found.node).collect();
        for (found, said) in found.iter_mut().zip(values.shown_values(&nodes)) {
            if let Some(ShownValue::Name(text)) = said {
                found.name = Some(text.text);
            }
        }
    }

    /// Keeps the threads that are called so, or else the one with this id.
    fn retain_asked_for(&self, found: &mut Vec<FoundThread<'_>>, which: &str) {
        if found.iter().any(|found| found.name.as_deref() == Some(which)) {
            return found.retain(|found| found.name.as_deref() == Some(which));
        }
        let id = which.parse::<super::ObjectId>().ok();
        let node = id.and_then(|id| id.find(self.graph, &ScopeOptions::default()).ok());
        found.retain(|found| Some(found.node) == node);
    }

    fn rows(&self, found: Vec<FoundThread<'_>>, locals: &LocalsByThread) -> Vec<ThreadRow<'d>> {
        let nodes: Vec<NodeId> =
            found.iter().flat_map(|found| locals.of_thread(found.thread_index)).map(|local| local.2).collect();
        let mut said = self.values.map_or(Vec::new(), |values| values.shown_values(&nodes)).into_iter();
        let virtual_types = is_virtual_by_type(self.graph);
        let mut rows = Vec::with_capacity(found.len());
        for found in found {
            let first = found.thread.frame_range().start + 1;
            let mut frames = ThreadStack::new(self.graph, found.thread);
            let mut in_no_frame = Vec::new();
            for &(_, frame, node) in locals.of_thread(found.thread_index) {
                let local = self.local_row(node, said.next().flatten());
                match frame.checked_sub(first) {
                    Some(frame) => frames.add_local(frame, local),
                    None => in_no_frame.push(local),
                }
            }
            let is_virtual = virtual_types[self.graph.type_of(found.node).index()];
            let read = self.values.map(|values| read_thread_fields(values, is_virtual, found.node));
            rows.push(ThreadRow {
                id: self.graph.display_id(found.node),
                name: found.name,
                type_name: self.graph.type_name(self.graph.type_of(found.node)).to_string(),
                fields: read.unwrap_or(ThreadFields { is_virtual, ..ThreadFields::default() }),
                out_of_memory: found.ran_out_of_memory,
                retained_bytes: found.retained_bytes,
                frames,
                locals: in_no_frame,
            });
        }
        rows
    }

    fn local_row(&self, node: NodeId, value: Option<ShownValue>) -> LocalRow {
        let said = value.as_ref().map(ShownValue::words);
        LocalRow {
            object: ObjectRow { value_words: said, ..ObjectRow::new(self.graph, node) },
            retained_bytes: self.retained.bytes_of(self.dominators, node),
            truncated: value.as_ref().is_some_and(ShownValue::is_cut),
            value,
        }
    }
}

/// Values of a thread's fields.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[non_exhaustive]
pub struct ThreadFields {
    /// The program may end while it runs.
    pub daemon: Option<bool>,
    /// The runtime schedules it, not the operating system.
    #[serde(rename = "virtual")]
    pub is_virtual: Option<bool>,
    /// The runtime's word for its state: `RUNNABLE`, `WAITING`.
    pub state: Option<&'static str>,
    /// Java's own number of it, `tid`; the operating system has another.
    pub number: Option<i64>,
    /// Its priority.
    pub priority: Option<i64>,
}

/// Bits of `threadStatus` (JVM TI, GetThreadState), each with the word of java.lang.Thread.State, in the order in which
/// they are asked.
const STATE_BITS: [(i64, &str); 5] =
    [(0x4, "RUNNABLE"), (0x400, "BLOCKED"), (0x10, "WAITING"), (0x20, "TIMED_WAITING"), (0x2, "TERMINATED")];
const ALIVE_BIT: i64 = 1;

/// By type: whether its threads are virtual; `None` for what is no Java thread. O(types).
fn is_virtual_by_type(graph: &HeapGraph) -> Vec<Option<bool>> {
    let types = graph.types();
    types.map_by_superclass(|type_id, above| match types.name(type_id).replace('/', ".").as_str() {
        "java.lang.BaseVirtualThread" | "java.lang.VirtualThread" => Some(true),
        "java.lang.Thread" => Some(false),
        _ => above.copied().flatten(),
    })
}

/// Reads the fields of a thread's object. In JDK 19 and later most of them are in an object of their own, `holder`.
fn read_thread_fields(values: ValueReader<'_>, is_virtual: Option<bool>, node: NodeId) -> ThreadFields {
    let own = values.raw_fields(node);
    let holder = match value_of_field(&own, "holder") {
        Some(Value::Object(holder)) => values.raw_fields(*holder),
        _ => Vec::new(),
    };
    let either = |name: &str| value_of_field(&own, name).or_else(|| value_of_field(&holder, name));
    let number = |name: &str| match either(name) {
        Some(Value::Integer(number)) => Some(*number),
        _ => None,
    };
    let runs_virtually = is_virtual == Some(true);
    let daemon = match either("daemon") {
        Some(Value::Boolean(daemon)) => Some(*daemon),
        // Virtual threads all are.
        _ => runs_virtually.then_some(true),
    };
    let state = number("threadStatus").filter(|_| !runs_virtually).map(state_word);
    ThreadFields { daemon, is_virtual, state, number: number("tid"), priority: number("priority") }
}

fn value_of_field<'f>(fields: &'f [FieldValue], wanted: &str) -> Option<&'f Value> {
    let is_wanted = |name: &ReferenceName| matches!(name, ReferenceName::Field(_, name) if name == wanted);
    fields.iter().find(|field| is_wanted(&field.name)).map(|field| &field.value)
}

/// The word for a `threadStatus`.
fn state_word(status: i64) -> &'static str {
    let known = STATE_BITS.iter().find(|(bit, _)| status & bit != 0).map(|(_, state)| *state);
    known.unwrap_or(if status & ALIVE_BIT == 0 { "NEW" } else { "RUNNABLE" })
}

#[cfg(test)]
mod tests {
    use super::state_word;

    #[test]
    fn states_in_words() {
        // Values that HotSpot writes: JavaThreadStatus of its sources.
        for (status, state) in [(0, "NEW"), (5, "RUNNABLE"), (0x191, "WAITING"), (0x1A1, "TIMED_WAITING")] {
            assert_eq!(state_word(status), state);
        }
        for (status, state) in [(0x401, "BLOCKED"), (2, "TERMINATED"), (1, "RUNNABLE")] {
            assert_eq!(state_word(status), state);
        }
    }
}
