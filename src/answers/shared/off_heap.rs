//! Memory outside the heap: the buffers of Java that own some.

use rustc_hash::FxHashMap;

use crate::answers::AnswerError;
use crate::answers::libraries::dotted_type_name;
use crate::answers::values::unreadable_values;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ObjectDetails, ReadError, Value};

/// Buffers that are asked one by one; of more all are asked in one pass over the dump.
const MAX_BUFFERS_READ_SINGLY: usize = 1000;
const DIRECT_BUFFER: &str = "java.nio.DirectByteBuffer";

/// A buffer that owns memory outside the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::answers) struct OffHeapBuffer {
    pub(in crate::answers) node: NodeId,
    /// Bytes outside the heap.
    pub(in crate::answers) bytes: u64,
    /// They are freed with it; those of what the runtime or native code mapped are not.
    pub(in crate::answers) is_freed_with_buffer: bool,
}

/// Buffers of a dump, direct ones and mapped ones, by node: slices and duplicates have the memory of their parent, freed ones
/// none. O(objects), and one pass over the dump where they are many. Error: of a dump without values.
pub(in crate::answers) fn off_heap_buffers(
    dump: &OpenDump,
    graph: &HeapGraph,
) -> Result<Vec<OffHeapBuffer>, AnswerError> {
    let details = dump.values().map_err(AnswerError::NoValues)?;
    let types = graph.types();
    let is_direct = types.map_by_superclass(|type_id, above: Option<&bool>| {
        dotted_type_name(types.name(type_id)) == DIRECT_BUFFER || above.copied().unwrap_or(false)
    });
    if !is_direct.contains(&true) {
        return Ok(Vec::new());
    }
    let buffers: Vec<NodeId> = graph.nodes().filter(|&node| is_direct[graph.type_of(node).index()]).collect();
    let fields = BufferFields::read(graph, details, &buffers).map_err(unreadable_values)?;
    Ok(buffers.into_iter().filter_map(|node| fields.buffer(node)).collect())
}

/// Names of the fields of buffers, and of what frees them, ascending.
const FIELD_NAMES: [&str; 5] = ["address", "att", "capacity", "cleaner", "thunk"];

/// Fields of buffers, and of what frees them.
enum BufferFields<'d> {
    /// Are read one by one.
    OneByOne(&'d HeapGraph, &'d dyn ObjectDetails),
    /// By name.
    All(FxHashMap<(NodeId, &'static str), Value>),
}

impl<'d> BufferFields<'d> {
    fn read(graph: &'d HeapGraph, details: &'d dyn ObjectDetails, buffers: &[NodeId]) -> Result<Self, ReadError> {
        if buffers.len() <= MAX_BUFFERS_READ_SINGLY {
            return Ok(BufferFields::OneByOne(graph, details));
        }
        let columns = details.values_of_fields(graph, &FIELD_NAMES)?;
        let named = FIELD_NAMES.into_iter().zip(columns);
        let fields =
            named.flat_map(|(name, column)| column.into_iter().map(move |(node, value)| ((node, name), value)));
        Ok(BufferFields::All(fields.collect()))
    }

    fn field(&self, node: NodeId, name: &'static str) -> Option<Value> {
        match self {
            BufferFields::All(fields) => fields.get(&(node, name)).cloned(),
            BufferFields::OneByOne(graph, details) => {
                let mut fields = details.fields(graph, node).ok()?.into_iter();
                Some(fields.find(|field| field.name.to_string().trim_start_matches('.') == name)?.value)
            }
        }
    }

    fn object(&self, node: NodeId, name: &'static str) -> Option<NodeId> {
        match self.field(node, name)? {
            Value::Object(node) => Some(node),
            _ => None,
        }
    }

    fn is_at_address(&self, node: NodeId) -> bool {
        self.field(node, "address") != Some(Value::Integer(0))
    }

    fn buffer(&self, node: NodeId) -> Option<OffHeapBuffer> {
        let Some(Value::Integer(bytes)) = self.field(node, "capacity") else { return None };
        let cleaner = self.object(node, "cleaner");
        // What frees the memory forgets the address then.
        let is_freed =
            cleaner.and_then(|cleaner| self.object(cleaner, "thunk")).is_some_and(|thunk| !self.is_at_address(thunk));
        let owns = self.object(node, "att").is_none() && self.is_at_address(node) && !is_freed;
        let bytes = u64::try_from(bytes).ok().filter(|&bytes| owns && bytes > 0)?;
        Some(OffHeapBuffer { node, bytes, is_freed_with_buffer: cleaner.is_some() })
    }
}
