//! Memory outside the heap: the buffers and the foreign memory of Java that own some.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::analysis::collections::CollectionTypes;
use crate::answers::AnswerError;
use crate::answers::libraries::dotted_type_name;
use crate::answers::values::unreadable_values;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ObjectDetails, ReadError, Value};

/// Objects that are asked one by one; of more all are asked in one pass over the dump.
const MAX_OBJECTS_READ_SINGLY: usize = 1000;
/// Where the runtime's own classes are that take part.
const RUNTIME_PACKAGES: [&str; 5] = ["java.nio.", "jdk.internal.", "sun.misc.", "sun.nio.ch.", "jdk.incubator."];
/// Fields of what frees an allocation of an arena, and of what ends a mapping of one: JDK 17 to 21, and since 22.
const CLEANUP_FIELDS: &str = "val$allocationSize|val$alignedSize|val$unmapper";
/// Nothing lies below this address in a process.
const LOWEST_ADDRESS: u64 = 1 << 16;
/// ... or from this one on.
const END_OF_ADDRESSES: u64 = 1 << 56;

/// A buffer or a memory segment that owns memory outside the heap, or what frees an allocation of an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::answers) struct OffHeapBuffer {
    pub(in crate::answers) node: NodeId,
    /// Bytes outside the heap.
    pub(in crate::answers) bytes: u64,
    /// They are freed with it; those of what the runtime or native code mapped are not.
    pub(in crate::answers) is_freed_with_buffer: bool,
}

/// How objects own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ownership {
    Buffer,
    Cleanup,
    Segment,
}

/// Owners of memory outside the heap, by node: direct and mapped buffers, of which slices, duplicates and views of memory
/// segments have the memory of another and freed ones none; allocations and mappings of arenas that are open; and what
/// segments of the global arena have that no other one has. O(objects), and one pass over the dump where owners are many.
/// Error: of a dump without values.
pub(in crate::answers) fn off_heap_buffers(
    dump: &OpenDump,
    graph: &HeapGraph,
) -> Result<Vec<OffHeapBuffer>, AnswerError> {
    let details = dump.values().map_err(AnswerError::NoValues)?;
    let types = graph.types();
    let ownership = types.map_by_superclass(|type_id, above: Option<&Option<Ownership>>| {
        match dotted_type_name(types.name(type_id)).as_ref() {
            "java.nio.DirectByteBuffer" => Some(Ownership::Buffer),
            "jdk.internal.foreign.NativeMemorySegmentImpl" => Some(Ownership::Segment),
            name if name.starts_with("jdk.internal.foreign.") || name.starts_with("sun.nio.ch.FileChannelImpl$") => {
                let cleanup = CollectionTypes::field_number(graph, type_id, CLEANUP_FIELDS);
                cleanup.map(|_| Ownership::Cleanup).or(above.copied().flatten())
            }
            _ => above.copied().flatten(),
        }
    });
    if ownership.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let owners = graph.nodes().filter_map(|node| Some((node, ownership[graph.type_of(node).index()]?)));
    let owners: Vec<(NodeId, Ownership)> = owners.collect();
    let fields = OwnerFields::read(graph, details, owners.len()).map_err(unreadable_values)?;
    let mut ranges: Vec<MemoryRange> = Vec::new();
    for (node, ownership) in owners {
        ranges.extend(match ownership {
            Ownership::Buffer => fields.buffer(node),
            // Of an arena that is closed they are left over.
            Ownership::Cleanup => fields.cleanup(node).filter(|_| dump.reachable().contains(node)),
            Ownership::Segment => fields.global_segment(node),
        });
    }
    Ok(without_shared_memory(ranges))
}

/// Memory that an object owns, or has with others.
#[derive(Debug, Clone, Copy)]
struct MemoryRange {
    owner: OffHeapBuffer,
    address: u64,
    /// It counts where no other one has it.
    may_be_shared: bool,
}

/// By node; of ranges that may be shared what no one before has. O(n log n).
fn without_shared_memory(mut ranges: Vec<MemoryRange>) -> Vec<OffHeapBuffer> {
    ranges.sort_by_key(|range| (range.address, range.may_be_shared, Reverse(range.owner.bytes)));
    let mut known_end = 0;
    for range in &mut ranges {
        let end = range.address.saturating_add(range.owner.bytes);
        if range.may_be_shared {
            range.owner.bytes = end.saturating_sub(known_end.max(range.address));
        }
        known_end = known_end.max(end);
    }
    let mut owners: Vec<OffHeapBuffer> = ranges.into_iter().map(|range| range.owner).collect();
    owners.retain(|owner| owner.bytes > 0);
    owners.sort_unstable_by_key(|owner| owner.node);
    owners
}

/// Names of the fields of owners, and of what frees their memory, ascending.
const FIELD_NAMES: [&str; 16] = [
    "address",
    "att",
    "cap",
    "capacity",
    "cleaner",
    "length",
    "min",
    "ref",
    "scope",
    "segment",
    "thunk",
    "val$alignedSize",
    "val$allocationBase",
    "val$allocationSize",
    "val$buf",
    "val$unmapper",
];

/// Fields of owners, and of what frees their memory.
enum OwnerFields<'d> {
    /// Are read one by one.
    OneByOne(&'d HeapGraph, &'d dyn ObjectDetails),
    /// By name.
    All(&'d HeapGraph, FxHashMap<(NodeId, &'static str), Value>),
}

impl<'d> OwnerFields<'d> {
    fn read(graph: &'d HeapGraph, details: &'d dyn ObjectDetails, owner_count: usize) -> Result<Self, ReadError> {
        if owner_count <= MAX_OBJECTS_READ_SINGLY {
            return Ok(OwnerFields::OneByOne(graph, details));
        }
        let types = graph.types();
        let is_of_runtime = |name: &str| RUNTIME_PACKAGES.iter().any(|package| name.starts_with(package));
        let is_wanted: Vec<bool> = types.map_by_superclass(|type_id, above: Option<&bool>| {
            above == Some(&true) || is_of_runtime(dotted_type_name(types.name(type_id)).as_ref())
        });
        let fields = Mutex::new(FxHashMap::default());
        details.visit_field_values(graph, &FIELD_NAMES, &|batch| {
            let of_runtime = batch.iter().filter(|one| is_wanted[graph.type_of(one.node).index()]);
            let mut fields = fields.lock().unwrap_or_else(PoisonError::into_inner);
            fields.extend(of_runtime.map(|one| ((one.node, FIELD_NAMES[one.name_index]), one.value.clone())));
        })?;
        Ok(OwnerFields::All(graph, fields.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    fn field(&self, node: NodeId, name: &'static str) -> Option<Value> {
        match self {
            OwnerFields::All(_, fields) => fields.get(&(node, name)).cloned(),
            OwnerFields::OneByOne(graph, details) => {
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

    fn number(&self, node: NodeId, name: &'static str) -> Option<u64> {
        match self.field(node, name)? {
            Value::Integer(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    fn is_at_address(&self, node: NodeId) -> bool {
        self.field(node, "address") != Some(Value::Integer(0))
    }

    fn buffer(&self, node: NodeId) -> Option<MemoryRange> {
        let cleaner = self.object(node, "cleaner");
        // What frees the memory forgets the address then.
        let is_freed =
            cleaner.and_then(|cleaner| self.object(cleaner, "thunk")).is_some_and(|thunk| !self.is_at_address(thunk));
        let is_view = self.object(node, "att").or_else(|| self.object(node, "segment")).is_some();
        let bytes = self.number(node, "capacity").filter(|_| self.is_at_address(node) && !is_view && !is_freed)?;
        let owner = OffHeapBuffer { node, bytes, is_freed_with_buffer: cleaner.is_some() };
        // What native code or the global arena has made may have several.
        let address = self.number(node, "address").filter(|_| cleaner.is_none());
        Some(MemoryRange { owner, address: address.unwrap_or(0), may_be_shared: address.is_some() })
    }

    fn cleanup(&self, node: NodeId) -> Option<MemoryRange> {
        let either = |a, b| self.number(node, a).or_else(|| self.number(node, b));
        let (bytes, address) = match self.object(node, "val$unmapper") {
            Some(mapping) => (self.number(mapping, "cap"), self.number(mapping, "address")),
            None => (either("val$allocationSize", "val$alignedSize"), either("val$allocationBase", "val$buf")),
        };
        let owner = OffHeapBuffer { node, bytes: bytes?, is_freed_with_buffer: true };
        Some(MemoryRange { owner, address: address?, may_be_shared: false })
    }

    /// A segment that nothing frees: slices of it are others, and of an allocation or a buffer it may be another view.
    fn global_segment(&self, node: NodeId) -> Option<MemoryRange> {
        let (OwnerFields::OneByOne(graph, _) | OwnerFields::All(graph, _)) = self;
        let arena = self.object(node, "scope")?;
        let is_global = match dotted_type_name(graph.type_name(graph.type_of(arena))).as_ref() {
            "jdk.internal.foreign.GlobalSession" | "jdk.internal.foreign.ResourceScopeImpl$1" => {
                self.object(arena, "ref").is_none()
            }
            _ => false,
        };
        let (address, bytes) = (self.number(node, "min")?, self.number(node, "length")?);
        // Of a pointer whose memory nobody has measured the length is as good as none.
        let can_be = address >= LOWEST_ADDRESS && bytes < END_OF_ADDRESSES;
        let owner = OffHeapBuffer { node, bytes, is_freed_with_buffer: false };
        (is_global && can_be).then_some(MemoryRange { owner, address, may_be_shared: true })
    }
}
