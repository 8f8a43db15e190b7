//! Objects and roots as every answer names them.

use serde::Serialize;

use crate::graph::{HeapGraph, NodeId, Root};

/// An object wherever one is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ObjectRow {
    /// The object's id as the dump writes it, with its section where there are several.
    pub id: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Of a class object: the class that it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Bytes of the object itself.
    pub shallow_bytes: u64,
}

impl ObjectRow {
    /// The row of an object. O(log objects).
    pub(super) fn new(graph: &HeapGraph, node: NodeId) -> Self {
        ObjectRow {
            id: graph.display_id(node),
            type_name: graph.type_name(graph.type_of(node)).to_string(),
            class: graph.class_named_by(node).map(|class| graph.type_name(class).to_string()),
            shallow_bytes: graph.shallow_bytes(node),
        }
    }

    /// The type's name; of a class object with the class that it stands for.
    pub fn type_text(&self) -> String {
        match &self.class {
            Some(class) => format!("{} of {class}", self.type_name),
            None => self.type_name.clone(),
        }
    }
}

/// A root record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RootRow {
    /// The word for its kind: `static`.
    pub kind: String,
    /// Its flags in words: `pinned`.
    pub flags: Vec<String>,
    /// The class with the static variable, or of the method with the local, where the dump says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The variable or method, where the dump says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the kind means, in words for people who have not read a format's document.
    #[serde(skip)]
    pub meaning: &'static str,
    /// Of a static variable whose class is not known: the type of its value.
    #[serde(skip)]
    pub value_type: Option<String>,
}

impl RootRow {
    /// The row of a root record.
    pub(super) fn new(graph: &HeapGraph, root: &Root) -> Self {
        RootRow {
            kind: root.kind.name(),
            flags: root.flags.names(),
            container: root.container.map(|container| graph.type_name(container).to_string()),
            name: graph.root_name(root).map(str::to_string),
            meaning: root.kind.meaning(),
            value_type: Some(graph.type_name(graph.type_of(root.node)).to_string()),
        }
    }
}
