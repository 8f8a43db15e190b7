//! Data that the tables of one dump of objects share.

use parquet::data_type::ByteArray;

use super::error::TableError;
use super::parquet_table::to_byte_array;
use crate::analysis::dominators::Dominators;
use crate::analysis::retained::RetainedSizes;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};

/// A dump of objects, and what its tables have in common.
pub(super) struct ObjectHeap<'d> {
    pub(super) dump: &'d OpenDump,
    pub(super) graph: &'d HeapGraph,
    pub(super) dominators: &'d Dominators,
    pub(super) retained: &'d RetainedSizes,
    pub(super) reachable: &'d NodeSet,
    /// The dump's id, as every row of the small tables has it.
    pub(super) dump_id: ByteArray,
    /// By type.
    type_names: Vec<ByteArray>,
}

impl<'d> ObjectHeap<'d> {
    pub(super) fn new(dump: &'d OpenDump, graph: &'d HeapGraph, id: &ByteArray) -> Result<Self, TableError> {
        let (dominators, retained) = dump.dominators()?;
        let type_names = graph.types().ids().map(|type_id| to_byte_array(graph.type_name(type_id))).collect();
        Ok(ObjectHeap {
            dump,
            graph,
            dominators,
            retained,
            reachable: dump.reachable(),
            dump_id: id.clone(),
            type_names,
        })
    }

    pub(super) fn type_name(&self, type_id: TypeId) -> ByteArray {
        self.type_names[type_id.index()].clone()
    }

    pub(super) fn type_name_of_object(&self, node: NodeId) -> ByteArray {
        self.type_name(self.graph.type_of(node))
    }
}
