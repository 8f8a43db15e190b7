//! The header: which field stands where in a row, and what numbers of types mean. Nothing else in this folder knows.

use serde_json::Value;

use crate::input::{ReadError, ReadErrorKind};

/// Values in one row; more have not been seen by far.
pub(crate) const MAX_FIELDS: usize = 32;

/// Kinds of nodes that rules know; each header numbers them for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Hidden,
    Array,
    String,
    ConsString,
    SlicedString,
    Object,
    Code,
    Closure,
    RegExp,
    Number,
    Native,
    Synthetic,
    /// Any other: known by its name in the header.
    Other,
}

impl NodeKind {
    fn of(name: &str) -> NodeKind {
        match name {
            "hidden" => NodeKind::Hidden,
            "array" => NodeKind::Array,
            "string" => NodeKind::String,
            "concatenated string" => NodeKind::ConsString,
            "sliced string" => NodeKind::SlicedString,
            "object" => NodeKind::Object,
            "code" => NodeKind::Code,
            "closure" => NodeKind::Closure,
            "regexp" => NodeKind::RegExp,
            "number" => NodeKind::Number,
            "native" => NodeKind::Native,
            "synthetic" => NodeKind::Synthetic,
            _ => NodeKind::Other,
        }
    }
}

/// Kinds of edges that rules know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EdgeKind {
    Context,
    Element,
    Property,
    Internal,
    Hidden,
    Shortcut,
    Weak,
    Other,
}

impl EdgeKind {
    /// In the order of their numbers.
    pub(crate) const ALL: [EdgeKind; 8] = [
        EdgeKind::Context,
        EdgeKind::Element,
        EdgeKind::Property,
        EdgeKind::Internal,
        EdgeKind::Hidden,
        EdgeKind::Shortcut,
        EdgeKind::Weak,
        EdgeKind::Other,
    ];

    fn of(name: &str) -> EdgeKind {
        match name {
            "context" => EdgeKind::Context,
            "element" => EdgeKind::Element,
            "property" => EdgeKind::Property,
            "internal" => EdgeKind::Internal,
            "hidden" => EdgeKind::Hidden,
            "shortcut" => EdgeKind::Shortcut,
            "weak" => EdgeKind::Weak,
            _ => EdgeKind::Other,
        }
    }
}

/// Places of the fields in a node's row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NodeFieldPositions {
    pub(crate) width: usize,
    pub(crate) kind: usize,
    pub(crate) name: usize,
    pub(crate) id: usize,
    pub(crate) self_size: usize,
    pub(crate) edge_count: usize,
    pub(crate) detachedness: Option<usize>,
    /// The stack that allocated it, in recordings of allocations.
    pub(crate) trace_node_id: Option<usize>,
}

/// Places of the fields in an edge's row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EdgeFieldPositions {
    pub(crate) width: usize,
    pub(crate) kind: usize,
    pub(crate) name: usize,
    pub(crate) target: usize,
}

/// Places of some fields in the rows of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowFieldPositions<const N: usize> {
    pub(crate) width: usize,
    pub(crate) positions: [usize; N],
}

/// The header: places of fields, and what numbers of kinds mean.
#[derive(Debug, Default)]
pub(crate) struct SnapshotHeader {
    pub(crate) node_fields: NodeFieldPositions,
    pub(crate) edge_fields: EdgeFieldPositions,
    /// Object, script, line, column.
    pub(crate) location_fields: Option<RowFieldPositions<4>>,
    /// Of the functions that stacks have: name, name of the script, line, column.
    pub(crate) function_fields: Option<RowFieldPositions<4>>,
    /// Id, function, allocations, their bytes, and the stacks that go on from it, which come last.
    pub(crate) stack_fields: Option<RowFieldPositions<5>>,
    /// Time, and the last id that was given until then.
    pub(crate) sample_fields: Option<RowFieldPositions<2>>,
    /// Kinds of nodes, by number.
    pub(crate) node_kinds: Vec<NodeKind>,
    pub(crate) node_kind_names: Vec<String>,
    pub(crate) edge_kinds: Vec<EdgeKind>,
    pub(crate) edge_kind_names: Vec<String>,
    /// The ordinal of the root.
    pub(crate) root: u32,
    pub(crate) node_count: Option<u64>,
    pub(crate) edge_count: Option<u64>,
    /// Bytes outside of all nodes.
    pub(crate) extra_native_bytes: u64,
}

impl SnapshotHeader {
    /// Reads the value of `"snapshot"`. Error: if it is not the header of a snapshot.
    pub(crate) fn parse(json: &[u8]) -> Result<SnapshotHeader, ReadError> {
        let header: Value =
            serde_json::from_slice(json).map_err(|error| header_error(&format!("cannot be read: {error}")))?;
        let meta = &header["meta"];
        let node_fields = FieldNames::of(meta, "node_fields")?;
        let edge_fields = FieldNames::of(meta, "edge_fields")?;
        let node = NodeFieldPositions {
            width: node_fields.0.len(),
            kind: node_fields.required_position("type")?,
            name: node_fields.required_position("name")?,
            id: node_fields.required_position("id")?,
            self_size: node_fields.required_position("self_size")?,
            edge_count: node_fields.required_position("edge_count")?,
            detachedness: node_fields.position_of("detachedness"),
            trace_node_id: node_fields.position_of("trace_node_id"),
        };
        let edge = EdgeFieldPositions {
            width: edge_fields.0.len(),
            kind: edge_fields.required_position("type")?,
            name: edge_fields.required_position("name_or_index")?,
            target: edge_fields.required_position("to_node")?,
        };
        let node_kind_names = kind_names_at(&meta["node_types"], node.kind);
        let edge_kind_names = kind_names_at(&meta["edge_types"], edge.kind);
        let root = header["root_index"].as_u64().unwrap_or(0) / node.width as u64;
        Ok(SnapshotHeader {
            location_fields: row_field_positions(
                meta,
                "location_fields",
                ["object_index", "script_id", "line", "column"],
            ),
            function_fields: row_field_positions(
                meta,
                "trace_function_info_fields",
                ["name", "script_name", "line", "column"],
            ),
            stack_fields: row_field_positions(
                meta,
                "trace_node_fields",
                ["id", "function_info_index", "count", "size", "children"],
            )
            .filter(|fields| fields.positions[4] + 1 == fields.width),
            sample_fields: row_field_positions(meta, "sample_fields", ["timestamp_us", "last_assigned_id"]),
            node_fields: node,
            edge_fields: edge,
            node_kinds: node_kind_names.iter().map(|name| NodeKind::of(name)).collect(),
            node_kind_names,
            edge_kinds: edge_kind_names.iter().map(|name| EdgeKind::of(name)).collect(),
            edge_kind_names,
            root: u32::try_from(root).unwrap_or(u32::MAX),
            node_count: header["node_count"].as_u64(),
            edge_count: header["edge_count"].as_u64(),
            extra_native_bytes: header["extra_native_bytes"].as_u64().unwrap_or(0),
        })
    }

    #[inline]
    pub(crate) fn kind(&self, number: u8) -> NodeKind {
        self.node_kinds.get(usize::from(number)).copied().unwrap_or(NodeKind::Other)
    }

    pub(crate) fn kind_name(&self, number: u8) -> String {
        self.node_kind_names.get(usize::from(number)).cloned().unwrap_or_else(|| format!("type {number}"))
    }

    /// How many fields and kinds nodes have: for people.
    pub(crate) fn describe(&self) -> String {
        format!("{} node fields, {} node types", self.node_fields.width, self.node_kind_names.len())
    }
}

/// The error of a file with such a header.
fn header_error(text: &str) -> ReadError {
    ReadError::new(ReadErrorKind::NotSupported(format!("a V8 heap snapshot whose header {text}")))
}

/// Names of the fields of one kind of row.
struct FieldNames(Vec<String>);

impl FieldNames {
    fn of(meta: &Value, key: &str) -> Result<FieldNames, ReadError> {
        let names = list_texts(&meta[key]);
        match names.len() {
            0 => Err(header_error(&format!("has no {key}"))),
            1..=MAX_FIELDS => Ok(FieldNames(names)),
            count => Err(header_error(&format!("has {count} {key}; {MAX_FIELDS} can be read"))),
        }
    }

    fn position_of(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|field| field == name)
    }

    /// The place of a field that rows must have.
    fn required_position(&self, name: &str) -> Result<usize, ReadError> {
        self.position_of(name).ok_or_else(|| header_error(&format!("has no field {name}")))
    }
}

/// Places of the fields of these names, where rows of that kind have them all.
fn row_field_positions<const N: usize>(meta: &Value, key: &str, names: [&str; N]) -> Option<RowFieldPositions<N>> {
    let fields = FieldNames::of(meta, key).ok()?;
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        *place = fields.position_of(name)?;
    }
    Some(RowFieldPositions { width: fields.0.len(), positions: places })
}

/// The texts of a list.
fn list_texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|name| name.as_str().unwrap_or_default().to_string()).collect()
}

/// The names of an enumeration: `types` has a list of names for the field at `place`.
fn kind_names_at(types: &Value, place: usize) -> Vec<String> {
    // A type takes one byte.
    let mut names = list_texts(&types[place]);
    names.truncate(usize::from(u8::MAX));
    names
}
