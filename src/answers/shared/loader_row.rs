//! Loaders of types.

use std::borrow::Cow;

use serde::Serialize;

use crate::graph::{HeapGraph, Loader};

/// The loader of a type: an object, or a loader that the dump knows by name; neither for the runtime itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoaderRow {
    /// The loader's id.
    pub id: Option<String>,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// Its own name.
    pub name: Option<String>,
}

impl LoaderRow {
    /// A loader of which no more than its id is known; the runtime itself without one.
    pub(in crate::answers) fn of_id(id: Option<String>) -> Self {
        LoaderRow { id, type_name: None, name: None }
    }

    /// The loader in a line: `zoo.Zoo$TwinLoader 0x7f2da4800010`.
    pub fn text(&self) -> String {
        match (&self.name, &self.type_name, &self.id) {
            (_, Some(type_name), Some(id)) => format!("{type_name} {id}"),
            (Some(name), ..) => name.clone(),
            (None, None, Some(id)) => id.clone(),
            _ => "(runtime)".into(),
        }
    }

    fn is_runtime(&self) -> bool {
        self.name.is_none() && self.id.is_none()
    }
}

/// The runtime is no loader: `null`.
pub(in crate::answers) fn loader_or_null<S: serde::Serializer>(
    loader: &Option<LoaderRow>,
    to: S,
) -> Result<S::Ok, S::Error> {
    loader.as_ref().filter(|loader| !loader.is_runtime()).serialize(to)
}

/// A type's name, with its loader where that tells it from another row.
pub(in crate::answers) fn name_with_loader<'n>(name: &'n str, loader: Option<&LoaderRow>) -> Cow<'n, str> {
    match loader {
        Some(loader) => format!("{name} ({})", loader.text()).into(),
        None => name.into(),
    }
}

/// Tells loaders apart; empty for the runtime itself and where the dump does not say.
pub(crate) fn loader_key(graph: &HeapGraph, loader: Loader) -> String {
    match loader {
        Loader::Unknown | Loader::Runtime => String::new(),
        _ => loader_text(graph, loader),
    }
}

/// A loader as a group.
pub(in crate::answers) fn loader_text(graph: &HeapGraph, loader: Loader) -> String {
    loader_row(graph, loader).map_or_else(|| "(unknown)".into(), |row| row.text())
}

pub(super) fn loader_row(graph: &HeapGraph, loader: Loader) -> Option<LoaderRow> {
    match loader {
        Loader::Unknown => None,
        Loader::Runtime => Some(LoaderRow::of_id(None)),
        Loader::Object(node) => Some(LoaderRow {
            id: Some(graph.display_id(node)),
            type_name: Some(graph.type_name(graph.type_of(node)).to_string()),
            name: None,
        }),
        Loader::Named(name) => {
            Some(LoaderRow { id: None, type_name: None, name: Some(graph.types().text(name).to_string()) })
        }
    }
}
