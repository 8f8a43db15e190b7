//! Threads and what they were doing: stacks of frames, and the roots that lie in them.

use super::graph_names::GraphNameId;
use super::ids::NonMaxNumber;
use super::{NodeId, TypeId};

/// A thread of one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(NonMaxNumber);

/// A frame of one graph: counted over all stacks. Threads with the same stack have the same frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(NonMaxNumber);

impl ThreadId {
    pub(super) fn new(number: u32) -> Self {
        ThreadId(NonMaxNumber::new(number))
    }

    /// Index into [`HeapGraph::threads`](super::HeapGraph::threads).
    pub fn index(self) -> usize {
        self.0.number() as usize
    }
}

impl FrameId {
    pub(super) fn new(number: u32) -> Self {
        FrameId(NonMaxNumber::new(number))
    }

    /// Index into [`HeapGraph::frames`](super::HeapGraph::frames).
    pub fn index(self) -> usize {
        self.0.number() as usize
    }
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its name, where the dump has it.
    pub name: Option<GraphNameId>,
    /// The dump's number for it.
    pub serial: u32,
    /// Its object, where that is in the dump.
    pub node: Option<NodeId>,
    /// Its stack, innermost first: a range of [`HeapGraph::frames`](super::HeapGraph::frames).
    pub(super) first_frame: u32,
    pub(super) frame_count: u32,
}

/// Line of a frame in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceLine {
    /// The dump does not say.
    #[default]
    Unknown,
    /// This line, from 1.
    Number(u32),
    /// In compiled code, whose lines are not known.
    Compiled,
    /// In native code.
    Native,
}

/// One call on a stack. Types are ids in the graph and slots while a dump is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackFrame<T = TypeId> {
    /// The method's name.
    pub method: GraphNameId,
    /// The class that has the method.
    pub class: Option<T>,
    /// The method's parameters and result, as the dump writes them.
    pub signature: Option<GraphNameId>,
    /// The file.
    pub source_file: Option<GraphNameId>,
    /// The line in it.
    pub line: SourceLine,
}

/// Frames of a stack that a builder has: threads may share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StackRange {
    pub(super) first_frame: u32,
    pub(super) frame_count: u32,
}

/// A thread as a reader hands it over, its object still an id.
#[derive(Debug, Clone, Default)]
pub struct ThreadRecord {
    /// Its name, where the dump has it.
    pub name: Option<GraphNameId>,
    /// The dump's number for it, by which roots name it.
    pub serial: u32,
    /// Its object.
    pub object_id: Option<u64>,
    /// Its stack, as the builder took it.
    pub stack: StackRange,
}

/// Numbers of one thread in a column: name, serial, node, first frame, frames.
pub(super) const NUMBERS_PER_THREAD: usize = 5;
/// Numbers of one frame in a column: method, class, signature, file, line.
pub(super) const NUMBERS_PER_FRAME: usize = 5;
/// Stands for what a dump does not say.
const NONE: u32 = u32::MAX;

impl Thread {
    /// The numbers of its frames among those of all threads.
    pub fn frame_range(&self) -> std::ops::Range<usize> {
        let first = self.first_frame as usize;
        first..first + self.frame_count as usize
    }

    pub(super) fn to_numbers(&self) -> [u32; NUMBERS_PER_THREAD] {
        let name = self.name.map_or(NONE, GraphNameId::number);
        let node = self.node.map_or(NONE, |node| node.0);
        [name, self.serial, node, self.first_frame, self.frame_count]
    }

    pub(super) fn from_numbers(
        numbers: [u32; NUMBERS_PER_THREAD],
        limits: &super::types::StoredLimits,
        frames: usize,
    ) -> Option<Self> {
        let [name, serial, node, first_frame, frame_count] = numbers;
        let fits = (name == NONE || (name as usize) < limits.text_count)
            && (node == NONE || (node as usize) < limits.node_count)
            && first_frame as usize + frame_count as usize <= frames;
        fits.then_some(Thread {
            name: (name != NONE).then_some(GraphNameId::new(name)),
            serial,
            node: (node != NONE).then_some(NodeId(node)),
            first_frame,
            frame_count,
        })
    }
}

impl StackFrame {
    pub(super) fn to_numbers(self) -> [u32; NUMBERS_PER_FRAME] {
        let optional = |name: Option<GraphNameId>| name.map_or(NONE, GraphNameId::number);
        let line = match self.line {
            SourceLine::Unknown => 0,
            SourceLine::Number(line) => line.clamp(1, NONE - 2),
            SourceLine::Compiled => NONE - 1,
            SourceLine::Native => NONE,
        };
        let class = self.class.map_or(NONE, |class| class.0);
        [self.method.number(), class, optional(self.signature), optional(self.source_file), line]
    }

    pub(super) fn from_numbers(numbers: [u32; NUMBERS_PER_FRAME], limits: &super::types::StoredLimits) -> Option<Self> {
        let [method, class, signature, source_file, line] = numbers;
        let is_name = |name: u32| name == NONE || (name as usize) < limits.text_count;
        let optional = |name: u32| (name != NONE).then_some(GraphNameId::new(name));
        let fits = (method as usize) < limits.text_count
            && (class == NONE || (class as usize) < limits.type_count)
            && is_name(signature)
            && is_name(source_file);
        fits.then_some(StackFrame {
            method: GraphNameId::new(method),
            class: (class != NONE).then_some(TypeId(class)),
            signature: optional(signature),
            source_file: optional(source_file),
            line: match line {
                0 => SourceLine::Unknown,
                NONE => SourceLine::Native,
                line if line == NONE - 1 => SourceLine::Compiled,
                line => SourceLine::Number(line),
            },
        })
    }
}
