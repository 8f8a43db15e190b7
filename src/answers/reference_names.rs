//! What references are called, where the dump knows: fields, elements, variables on stacks.

use crate::dump::OpenDump;
use crate::graph::{FrameId, HeapGraph, Line, NodeId, Reference};
use crate::input::{ObjectDetails, ReferenceName};

/// Gives references their names.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReferenceNames<'d> {
    graph: &'d HeapGraph,
    details: &'d dyn ObjectDetails,
}

impl<'d> ReferenceNames<'d> {
    /// `None` for a dump that names none.
    pub(super) fn of(dump: &'d OpenDump) -> Option<Self> {
        Some(ReferenceNames { graph: dump.graph()?, details: dump.details()? })
    }

    /// The name of the first reference between two objects, strong before weak: `.next`, `[12]`, `static Zoo.bus`.
    /// O(references of `from`), and a few reads of the dump.
    pub(super) fn between(&self, from: NodeId, to: NodeId) -> Option<String> {
        let leads_there = |is_weak: bool| {
            let mut references = self.graph.references(from);
            references.position(|reference| reference.node == to && reference.is_weak == is_weak)
        };
        self.nth(from, leads_there(false).or_else(|| leads_there(true))?)
    }

    /// The names of references to an object: of one that refers to it more than once each of its names, in their order.
    pub(super) fn of_referrers(&self, to: NodeId, referrers: impl Iterator<Item = Reference>) -> Vec<Option<String>> {
        let mut last = (None, 0);
        let names = referrers.map(|referrer| {
            let nth = if last.0 == Some(referrer) { last.1 + 1 } else { 0 };
            last = (Some(referrer), nth);
            let is_it = |reference: &Reference| reference.node == to && reference.is_weak == referrer.is_weak;
            let own = self.graph.references(referrer.node).enumerate();
            let (at, _) = own.filter(|(_, reference)| is_it(reference)).nth(nth)?;
            self.nth(referrer.node, at)
        });
        names.collect()
    }

    /// The name of an object's reference, counted in [`HeapGraph::references`].
    fn nth(&self, from: NodeId, nth: usize) -> Option<String> {
        // A dump that cannot be read any more has no names to give.
        let name = self.details.reference_name(self.graph, from, nth).ok()??;
        Some(self.text(from, &name))
    }

    /// The names of an object's first references, in the order of [`HeapGraph::references`].
    pub(super) fn of_first(&self, from: NodeId, count: usize) -> Vec<Option<String>> {
        (0..count).map(|nth| self.nth(from, nth)).collect()
    }

    fn text(&self, from: NodeId, name: &ReferenceName) -> String {
        match name {
            ReferenceName::StaticField(field) => {
                let class = self.graph.types().of_class_object(from).map_or("", |class| self.graph.type_name(class));
                let simple = class.rsplit_once('.').map_or(class, |(_, simple)| simple);
                format!("static {simple}.{field}")
            }
            ReferenceName::Local(Some(frame)) => format!("local of {}", self.frame_text(*frame)),
            _ => name.to_string().trim_start().to_string(),
        }
    }

    /// `zoo.Zoo.innermost (Zoo.java:77)`
    fn frame_text(&self, frame: FrameId) -> String {
        let types = self.graph.types();
        let Some(frame) = self.graph.frames().get(frame.index()) else { return "a frame".into() };
        let class = frame.class.map_or(String::new(), |class| format!("{}.", self.graph.type_name(class)));
        let place = match (frame.source_file.map(|file| types.text(file)), frame.line) {
            (Some(file), Line::Number(line)) => format!(" ({file}:{line})"),
            (Some(file), _) => format!(" ({file})"),
            (None, Line::Native) => " (native)".into(),
            (None, _) => String::new(),
        };
        format!("{class}{}{place}", types.text(frame.method))
    }
}
