//! What loaded a type.

use serde::Serialize;

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
    /// The loader in a line: `zoo.Zoo$TwinLoader 0x7f2da4800010`.
    pub fn text(&self) -> String {
        match (&self.name, &self.type_name, &self.id) {
            (Some(name), ..) => name.clone(),
            (None, Some(type_name), Some(id)) => format!("{type_name} {id}"),
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
