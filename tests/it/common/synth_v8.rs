//! Heaps as V8 heap snapshots.

use std::fmt::Write;

use super::heap::{Heap, Target};

/// A node of a snapshot: its type (of [`NODE_TYPES`]), name, bytes, and edges: their type (of [`EDGE_TYPES`]), name or
/// number, and the node they lead to. The id of node `n` is `2 n + 1`; node 0 is the root.
pub struct Node {
    pub kind: &'static str,
    pub name: String,
    pub bytes: u64,
    pub edges: Vec<(&'static str, String, usize)>,
}

const NODE_TYPES: [&str; 10] = [
    "synthetic",
    "object",
    "string",
    "array",
    "concatenated string",
    "sliced string",
    "native",
    "closure",
    "code",
    "hidden",
];
const EDGE_TYPES: [&str; 6] = ["element", "property", "internal", "shortcut", "weak", "hidden"];

/// A node without edges.
pub fn node(kind: &'static str, name: impl Into<String>, bytes: u64) -> Node {
    Node { kind, name: name.into(), bytes, edges: Vec::new() }
}

impl Node {
    pub fn edge(mut self, kind: &'static str, name: impl std::fmt::Display, to: usize) -> Node {
        self.edges.push((kind, name.to_string(), to));
        self
    }
}

/// A snapshot of these nodes.
pub fn v8_nodes(nodes: &[Node]) -> Vec<u8> {
    let mut numbers = std::collections::HashMap::new();
    let mut strings = Vec::new();
    let mut string = |text: &str| {
        *numbers.entry(text.to_string()).or_insert_with(|| {
            strings.push(text.to_string());
            strings.len() - 1
        })
    };
    let (mut rows, mut edges) = (Vec::new(), Vec::new());
    for (number, node) in nodes.iter().enumerate() {
        let kind = NODE_TYPES.iter().position(|&kind| kind == node.kind).expect("a type");
        let name = string(&node.name);
        rows.push(format!("{kind},{name},{},{},{}", 2 * number + 1, node.bytes, node.edges.len()));
        for (kind, name, to) in &node.edges {
            let is_number = ["element", "hidden"].contains(kind);
            let kind = EDGE_TYPES.iter().position(|known| known == kind).expect("a type");
            let name = if is_number { name.parse().expect("a number") } else { string(name) };
            edges.push(format!("{kind},{name},{}", 5 * to));
        }
    }
    format!(
        "{{\"snapshot\":{{\"meta\":{{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\"],\"node_types\":\
         [{NODE_TYPES:?}],\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[{EDGE_TYPES:?}]}}}},\
         \"nodes\":[{}],\"edges\":[{}],\"strings\":{strings:?}}}",
        rows.join(","),
        edges.join(",")
    )
    .into_bytes()
}

/// How a snapshot is written.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Fields of a node in another order, with one that nobody knows.
    pub strange_fields: bool,
    /// A line end after each row.
    pub lines: bool,
    /// Objects in descending order of their ids.
    pub descending: bool,
    /// Keys in the order of the alphabet: the header comes after nodes and edges.
    pub sorted_keys: bool,
}

pub const FORMS: [Form; 3] = [
    Form { strange_fields: false, lines: true, descending: false, sorted_keys: false },
    Form { strange_fields: true, lines: false, descending: true, sorted_keys: false },
    Form { strange_fields: false, lines: false, descending: true, sorted_keys: true },
];

/// The heap below `(GC roots)` and `(Strong roots)`. References to nothing are left out, missing objects are past the end.
pub fn v8_snapshot(heap: &Heap, form: Form) -> Vec<u8> {
    let count = heap.objects.len();
    let mut order: Vec<usize> = (0..count).collect();
    if form.descending {
        order.reverse();
    }
    let fields: &[&str] = match form.strange_fields {
        true => &["id", "colour", "edge_count", "self_size", "name", "type"],
        false => &["type", "name", "id", "self_size", "edge_count"],
    };
    let mut strings = vec!["".to_string(), "(GC roots)".into(), "(Strong roots)".into(), "field".into()];
    let mut rows = Vec::new();
    let mut edges: Vec<[usize; 3]> = Vec::new();
    let mut node = |kind: usize, name: usize, id: u64, size: u64, edge_count: usize| {
        let value = |field: &&str| match *field {
            "type" => kind as u64,
            "name" => name as u64,
            "id" => id,
            "self_size" => size,
            "edge_count" => edge_count as u64,
            _ => 77,
        };
        rows.push(fields.iter().map(value).collect::<Vec<u64>>());
    };
    let place = |number: usize| 3 + order.iter().position(|&at| at == number).expect("an object");
    let (element, property) = (0, 1);
    node(1, 0, 1, 0, 1);
    edges.push([element, 1, 1]);
    node(1, 1, 3, 0, 1);
    edges.push([element, 2, 2]);
    node(1, 2, 5, 0, heap.roots.len());
    edges.extend(heap.roots.iter().map(|root| [element, 0, place(root.object)]));
    for &number in &order {
        let object = &heap.objects[number];
        let name = strings.iter().position(|text| text == object.type_name).unwrap_or_else(|| {
            strings.push(object.type_name.into());
            strings.len() - 1
        });
        let targets: Vec<usize> = object
            .references
            .iter()
            .filter_map(|target| match *target {
                Target::Object(number) => Some(place(number)),
                Target::Null => None,
                Target::Missing => Some(count + 3),
            })
            .collect();
        node(0, name, Heap::address(number), object.bytes, targets.len());
        edges.extend(targets.into_iter().map(|target| [property, 3, target]));
    }
    let mut types: Vec<String> = fields.iter().map(|_| "\"number\"".to_string()).collect();
    types[fields.iter().position(|&field| field == "type").expect("there")] = "[\"object\",\"synthetic\"]".into();
    let end = if form.lines { "\n" } else { "" };
    let list = |rows: Vec<Vec<u64>>| {
        let rows: Vec<String> =
            rows.iter().map(|row| row.iter().map(u64::to_string).collect::<Vec<_>>().join(",") + end).collect();
        format!("[{}]", rows.join(","))
    };
    let width = fields.len();
    let edge_rows = edges.iter().map(|&[kind, name, to]| vec![kind as u64, name as u64, (to * width) as u64]).collect();
    let mut header = String::new();
    let _ = write!(
        header,
        "{{\"meta\":{{\"node_fields\":{fields:?},\"node_types\":[{}],\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\
         \"edge_types\":[[\"element\",\"property\"],\"string_or_number\",\"node\"]}},\"node_count\":{},\"edge_count\":{}}}",
        types.join(","),
        rows.len(),
        edges.len()
    );
    let nodes = list(rows);
    let edges = list(edge_rows);
    let values = [("snapshot", header), ("nodes", nodes), ("edges", edges), ("strings", format!("{strings:?}"))];
    let order = if form.sorted_keys { [2, 1, 0, 3] } else { [0, 1, 2, 3] };
    let parts: Vec<String> = order.iter().map(|&at| format!("\"{}\":{}", values[at].0, values[at].1)).collect();
    format!("{{{}}}", parts.join(",")).into_bytes()
}
