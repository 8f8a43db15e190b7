//! What a dump says of its objects, without what they hold: names of fields, classes and functions, and no text, number
//! or key.

use std::borrow::Cow;
use std::io;

use super::details::is_identifier;
use super::{FieldValue, ObjectDetails, ReadError, ReferenceKind, ReferenceKinds, ReferenceName, ShownValue};
use crate::allocations::AllocationDump;
use crate::graph::{ColumnSink, GraphNameId, HeapGraph, NodeId, SourcePlace, TypeId};

/// In place of a key.
const HIDDEN_KEY: &str = "<key>";

/// Details of which only names are told. A property whose name is none in a program is a key; those of objects that are
/// used as dictionaries are told where they look like names.
#[derive(Debug)]
pub(crate) struct NamesOnly(Box<dyn ObjectDetails>);

impl NamesOnly {
    /// The details without values.
    pub(crate) fn of(details: Box<dyn ObjectDetails>) -> Box<dyn ObjectDetails> {
        Box::new(NamesOnly(details))
    }
}

impl ObjectDetails for NamesOnly {
    fn fields(&self, _graph: &HeapGraph, _node: NodeId) -> Result<Vec<FieldValue>, ReadError> {
        Ok(Vec::new())
    }

    fn reference_name(&self, graph: &HeapGraph, from: NodeId, nth: usize) -> Result<Option<ReferenceName>, ReadError> {
        Ok(self.0.reference_name(graph, from, nth)?.map(|name| match name {
            ReferenceName::MapEntry(_) => ReferenceName::MapEntry(HIDDEN_KEY.into()),
            ReferenceName::Property(name) if !is_identifier(&name) => ReferenceName::Property(HIDDEN_KEY.into()),
            name => name,
        }))
    }

    fn shown_values(
        &self,
        _graph: &HeapGraph,
        nodes: &[NodeId],
        _: usize,
    ) -> Result<Vec<Option<ShownValue>>, ReadError> {
        Ok(vec![None; nodes.len()])
    }

    fn fields_between(
        &self,
        graph: &HeapGraph,
        pairs: &[(NodeId, NodeId)],
    ) -> Result<Vec<Option<(TypeId, GraphNameId)>>, ReadError> {
        self.0.fields_between(graph, pairs)
    }

    fn source_place(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<SourcePlace>, ReadError> {
        self.0.source_place(graph, node)
    }

    fn function_name(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.0.function_name(graph, node)
    }

    fn function_of_captured_variables(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.0.function_of_captured_variables(graph, node)
    }

    fn reference_kinds(&self, graph: &HeapGraph) -> Result<Option<Box<dyn ReferenceKinds>>, ReadError> {
        Ok(self.0.reference_kinds(graph)?.map(|kinds| Box::new(KindsWithoutKeys(kinds)) as Box<dyn ReferenceKinds>))
    }

    fn allocation_stack(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<Vec<String>>, ReadError> {
        self.0.allocation_stack(graph, node)
    }

    fn allocations(&self, graph: &HeapGraph) -> Result<Option<&AllocationDump>, ReadError> {
        self.0.allocations(graph)
    }

    fn distance(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<u32>, ReadError> {
        self.0.distance(graph, node)
    }

    fn has_distances(&self) -> bool {
        self.0.has_distances()
    }

    fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<()> {
        self.0.store(sink)
    }
}

struct KindsWithoutKeys(Box<dyn ReferenceKinds>);

impl ReferenceKinds for KindsWithoutKeys {
    fn append_labels(&self, graph: &HeapGraph, from: NodeId, labels: &mut Vec<u32>) {
        self.0.append_labels(graph, from, labels);
    }

    fn kind_and_name(&self, label: u32) -> (ReferenceKind, u32) {
        self.0.kind_and_name(label)
    }

    fn name(&self, number: u32) -> Cow<'_, str> {
        Some(self.0.name(number)).filter(|name| is_identifier(name)).unwrap_or(HIDDEN_KEY.into())
    }

    fn script_file(&self, node: NodeId) -> Option<Cow<'_, str>> {
        self.0.script_file(node)
    }
}
