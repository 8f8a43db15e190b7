//! Frames of stacks.

use serde::{Serialize, Serializer};

use super::ObjectRow;
use super::rows::is_false;
use super::values::ShownValue;
use crate::graph::{HeapGraph, SourceLine, StackFrame, Thread};

/// An object that lies on a stack.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct LocalRow {
    /// The object.
    #[serde(flatten)]
    pub object: ObjectRow,
    /// Bytes that would be freed with it; `None` when no strong root reaches it.
    pub retained_bytes: Option<u64>,
    /// Its own value: a text, a number, a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<ShownValue>,
    /// The text is longer than what is here of it.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// A thread's calls, innermost first, with the objects in each. Threads may share frames: rows are made one by one.
#[derive(Debug, Clone)]
pub struct ThreadStack<'d> {
    graph: &'d HeapGraph,
    frames: &'d [StackFrame],
    /// Of each object its frame, ascending, and its row where every object has one and so has a frame without.
    frame_and_row_by_local: Vec<(usize, usize)>,
    locals: Vec<LocalRow>,
}

impl<'d> ThreadStack<'d> {
    pub(in crate::answers) fn new(graph: &'d HeapGraph, thread: &Thread) -> Self {
        ThreadStack { graph, frames: graph.frames_of(thread), frame_and_row_by_local: Vec::new(), locals: Vec::new() }
    }

    /// Adds an object to a frame: the one that the last object was added to, or one behind it.
    pub(in crate::answers) fn add_local(&mut self, frame: usize, local: LocalRow) {
        let row = self.frame_and_row_by_local.last().map_or(frame, |&(last, row)| row + (frame - last).max(1));
        self.frame_and_row_by_local.push((frame, row));
        self.locals.push(local);
    }

    /// Calls. O(1).
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns true without calls.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Objects in all frames. O(1).
    pub fn local_count(&self) -> usize {
        self.locals.len()
    }

    /// One of the calls, 0 the innermost. O(log objects).
    pub fn get(&self, at: usize) -> Option<FrameRow<'_>> {
        let start = self.frame_and_row_by_local.partition_point(|place| place.0 < at);
        let end = self.frame_and_row_by_local.partition_point(|place| place.0 <= at);
        Some(FrameRow::new(self.graph, self.frames.get(at)?, &self.locals[start..end]))
    }

    /// All calls.
    pub fn iter(&self) -> impl Iterator<Item = FrameRow<'_>> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Rows when every object has one, and so has a frame without. O(1).
    pub fn row_count(&self) -> usize {
        self.len() + self.frame_and_row_by_local.last().map_or(0, |&(frame, row)| row - frame)
    }

    /// One of these rows: the frame's number, the frame, and the object. O(log objects).
    pub fn row(&self, row: usize) -> Option<(usize, FrameRow<'_>, Option<&LocalRow>)> {
        let before = self.frame_and_row_by_local.partition_point(|place| place.1 <= row).checked_sub(1);
        let (frame, of_frame) = before.map_or((0, 0), |before| self.frame_and_row_by_local[before]);
        let local = before.filter(|_| of_frame == row).map(|before| &self.locals[before]);
        let frame = frame + (row - of_frame);
        Some((frame, self.get(frame)?, local))
    }
}

impl Serialize for ThreadStack<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// One call on a stack.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FrameRow<'s> {
    /// The class and the method: `java.lang.Thread.run`.
    pub method: String,
    /// The method's parameters and result, as the dump writes them.
    pub signature: Option<String>,
    /// The file that it is in.
    pub file: Option<String>,
    /// The line of the file, from 1.
    pub line: Option<u32>,
    /// It is native code.
    #[serde(skip_serializing_if = "is_false")]
    pub native: bool,
    /// Objects that lie in the frame.
    pub locals: &'s [LocalRow],
}

impl<'s> FrameRow<'s> {
    pub(in crate::answers) fn new(graph: &HeapGraph, frame: &StackFrame, locals: &'s [LocalRow]) -> Self {
        let types = graph.types();
        let class = frame.class.map_or(String::new(), |class| format!("{}.", graph.type_name(class)));
        FrameRow {
            method: format!("{class}{}", types.text(frame.method)),
            signature: frame.signature.map(|signature| types.text(signature).to_string()),
            file: frame.source_file.map(|file| types.text(file).to_string()),
            line: match frame.line {
                SourceLine::Number(line) => Some(line),
                _ => None,
            },
            native: frame.line == SourceLine::Native,
            locals,
        }
    }

    /// The call in a line: `zoo.Zoo.innermost (Zoo.java:77)`.
    pub fn text(&self) -> String {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            (None, _) if self.native => " (native)".into(),
            (None, _) => String::new(),
        };
        format!("{}{place}", self.method)
    }

    /// The call as stack traces of Java have it: `zoo.Zoo.innermost(Zoo.java:77)`.
    pub fn java_trace_text(&self) -> String {
        let place = match (&self.file, self.line) {
            _ if self.native => "Native Method".into(),
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            (None, _) => "Unknown Source".into(),
        };
        format!("{}({place})", self.method)
    }
}

/// A thread that ran out of memory has a frame of its own for that, innermost: HotSpot makes one up in such dumps.
pub(in crate::answers) fn ran_out_of_memory(graph: &HeapGraph, thread: &Thread) -> bool {
    graph.frames_of(thread).first().is_some_and(|frame| {
        let is_error = |class| graph.type_name(class) == "java.lang.OutOfMemoryError";
        frame.class.is_some_and(is_error) && graph.types().text(frame.method) == "<init>"
    })
}
