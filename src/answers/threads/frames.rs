//! Frames of stacks.

use serde::Serialize;

use super::LocalRow;
use crate::answers::histogram_rows::is_false;
use crate::graph::{Frame, HeapGraph, Line, Thread};

/// One call on a stack.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FrameRow {
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
    pub locals: Vec<LocalRow>,
}

impl FrameRow {
    pub(in crate::answers) fn new(graph: &HeapGraph, frame: &Frame) -> Self {
        let types = graph.types();
        let class = frame.class.map_or(String::new(), |class| format!("{}.", graph.type_name(class)));
        FrameRow {
            method: format!("{class}{}", types.text(frame.method)),
            signature: frame.signature.map(|signature| types.text(signature).to_string()),
            file: frame.source_file.map(|file| types.text(file).to_string()),
            line: match frame.line {
                Line::Number(line) => Some(line),
                _ => None,
            },
            native: frame.line == Line::Native,
            locals: Vec::new(),
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
    pub fn trace_text(&self) -> String {
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
pub(super) fn ran_out_of_memory(graph: &HeapGraph, thread: &Thread) -> bool {
    graph.frames_of(thread).first().is_some_and(|frame| {
        let is_error = |class| graph.type_name(class) == "java.lang.OutOfMemoryError";
        frame.class.is_some_and(is_error) && graph.types().text(frame.method) == "<init>"
    })
}
