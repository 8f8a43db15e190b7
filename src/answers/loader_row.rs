//! What loaded a type.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::groups::Groups;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, Loader, NodeId};
use crate::input::Saying;

/// UTF-16 units of a loader's name.
const MOST_NAME_UNITS: usize = 200;

/// What loaded a type: an object, or a loader that the dump knows by name; neither for the runtime itself.
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
    pub(super) fn of_id(id: Option<String>) -> Self {
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
pub(super) fn loader_or_null<S: serde::Serializer>(loader: &Option<LoaderRow>, to: S) -> Result<S::Ok, S::Error> {
    loader.as_ref().filter(|loader| !loader.is_runtime()).serialize(to)
}

/// A type's name, with its loader where that tells it from another row.
pub(super) fn name_with_loader<'n>(name: &'n str, loader: Option<&LoaderRow>) -> Cow<'n, str> {
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
pub(super) fn loader_text(graph: &HeapGraph, loader: Loader) -> String {
    loader_row(graph, loader).map_or_else(|| "(unknown)".into(), |row| row.text())
}

fn loader_row(graph: &HeapGraph, loader: Loader) -> Option<LoaderRow> {
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

/// What loaded the types of each of some groups, where several of them have its name and the dump says. Loaders' own names
/// are read from the dump, where it has values.
pub(super) fn loaders_of_repeated_names(
    dump: &OpenDump,
    graph: &HeapGraph,
    groups: &Groups<'_>,
    of: &[u32],
) -> Vec<Option<LoaderRow>> {
    let types = graph.types();
    if types.ids().all(|type_id| types.loader(type_id) == Loader::Unknown) {
        return vec![None; of.len()];
    }
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |group: u32| groups.names[group as usize].as_str();
    of.iter().for_each(|&group| *uses.entry(name(group)).or_default() += 1);
    let loader = |group: u32| if uses[name(group)] > 1 { groups.loader_of(group) } else { Loader::Unknown };
    let mut nodes: Vec<NodeId> = of
        .iter()
        .filter_map(|&group| match loader(group) {
            Loader::Object(node) => Some(node),
            _ => None,
        })
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    let said = dump.values().ok().and_then(|values| values.sayings(graph, &nodes, MOST_NAME_UNITS).ok());
    let own_name = |node: NodeId| match said.as_ref()?.get(nodes.binary_search(&node).ok()?)? {
        Some(Saying::Name(name)) => Some(name.text.clone()),
        _ => None,
    };
    let row = |loader: Loader| {
        let row = loader_row(graph, loader)?;
        let own_name = match loader {
            Loader::Object(node) => own_name(node),
            _ => None,
        };
        Some(LoaderRow { name: own_name.or(row.name), ..row })
    };
    of.iter().map(|&group| row(loader(group))).collect()
}
