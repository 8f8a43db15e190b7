//! Fields of a thread's object. In JDK 19 and later most of them are in an object of their own, `holder`.

use serde::Serialize;

use crate::answers::values::ValueReader;
use crate::graph::{HeapGraph, NodeId};
use crate::input::{FieldValue, ReferenceName, Value};

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
    /// The runtime's number for it.
    pub number: Option<i64>,
    /// Its priority.
    pub priority: Option<i64>,
}

/// Bits of `threadStatus` (JVM TI, GetThreadState), each with the word of java.lang.Thread.State, in the order in which
/// they are asked.
const STATES: [(i64, &str); 5] =
    [(0x4, "RUNNABLE"), (0x400, "BLOCKED"), (0x10, "WAITING"), (0x20, "TIMED_WAITING"), (0x2, "TERMINATED")];
const ALIVE: i64 = 1;

/// By type: whether its threads are virtual; `None` for what is no Java thread. O(types).
pub(super) fn virtual_types(graph: &HeapGraph) -> Vec<Option<bool>> {
    let types = graph.types();
    types.by_superclass(|type_id, above| match types.name(type_id).replace('/', ".").as_str() {
        "java.lang.BaseVirtualThread" | "java.lang.VirtualThread" => Some(true),
        "java.lang.Thread" => Some(false),
        _ => above.copied().flatten(),
    })
}

/// Reads the fields of a thread's object.
pub(super) fn read(values: ValueReader<'_>, is_virtual: Option<bool>, node: NodeId) -> ThreadFields {
    let own = values.raw_fields(node);
    let holder = match value_of(&own, "holder") {
        Some(Value::Object(holder)) => values.raw_fields(*holder),
        _ => Vec::new(),
    };
    let either = |name: &str| value_of(&own, name).or_else(|| value_of(&holder, name));
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
    let state = number("threadStatus").filter(|_| !runs_virtually).map(state_of);
    ThreadFields { daemon, is_virtual, state, number: number("tid"), priority: number("priority") }
}

fn value_of<'f>(fields: &'f [FieldValue], wanted: &str) -> Option<&'f Value> {
    let is_wanted = |name: &ReferenceName| matches!(name, ReferenceName::Field(_, name) if name == wanted);
    fields.iter().find(|field| is_wanted(&field.name)).map(|field| &field.value)
}

/// The word for a `threadStatus`.
fn state_of(status: i64) -> &'static str {
    let known = STATES.iter().find(|(bit, _)| status & bit != 0).map(|(_, state)| *state);
    known.unwrap_or(if status & ALIVE == 0 { "NEW" } else { "RUNNABLE" })
}

#[cfg(test)]
mod tests {
    use super::state_of;

    #[test]
    fn states_in_words() {
        // Values that HotSpot writes: JavaThreadStatus of its sources.
        for (status, state) in [(0, "NEW"), (5, "RUNNABLE"), (0x191, "WAITING"), (0x1A1, "TIMED_WAITING")] {
            assert_eq!(state_of(status), state);
        }
        for (status, state) in [(0x401, "BLOCKED"), (2, "TERMINATED"), (1, "RUNNABLE")] {
            assert_eq!(state_of(status), state);
        }
    }
}
