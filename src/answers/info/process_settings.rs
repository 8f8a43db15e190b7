//! Settings of a process: system properties, environment, arguments. Read from the objects that hold them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::AnswerError;
use crate::answers::values::{ShownValue, ValueReader};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, TypeId};
use crate::input::{FieldValue, ReferenceName, Value};

/// Stands in place of a text that may be a secret.
const SECRET_MASK: &str = "***";
/// Words in the name of a setting that say that its text may be a secret.
const SECRET_WORDS: [&str; 4] = ["password", "token", "secret", "key"];
/// Entries of one map that are read, and slots of its table.
const MAX_ENTRIES_READ: usize = 1 << 16;
/// The system property with the main class or program file and its arguments.
const COMMAND_PROPERTY: &str = "sun.java.command";
/// Variables with arguments of the virtual machine.
const ARGUMENT_VARIABLES: [&str; 4] = [COMMAND_PROPERTY, "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// Settings of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProcessSettings {
    /// System properties, by name.
    pub properties: BTreeMap<String, String>,
    /// Variables of the environment, by name; none where the program never asked for them.
    pub environment: BTreeMap<String, String>,
    /// Arguments of the virtual machine where the program asked for them; then the main class or program file and its
    /// arguments. These are one text in a dump: an argument with blanks is several.
    pub arguments: Vec<String>,
}

impl ProcessSettings {
    /// All of it in lines: what it is, its name or number from 1, the text.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, String, &str)> {
        let properties = self.properties.iter().map(|(name, text)| ("property", name.clone(), text.as_str()));
        let environment = self.environment.iter().map(|(name, text)| ("environment", name.clone(), text.as_str()));
        let arguments = self.arguments.iter().enumerate();
        let arguments = arguments.map(|(at, text)| ("argument", (at + 1).to_string(), text.as_str()));
        properties.chain(environment).chain(arguments)
    }
}

/// Reads what a process was told; with `with_secrets` texts too whose name says password, token, secret or key.
/// O(types + entries). Error: if the dump holds no objects or no values.
pub(super) fn read_settings(dump: &OpenDump, with_secrets: bool) -> Result<ProcessSettings, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let reader = TextCollectionReader { graph, values: ValueReader::find(dump)? };
    let static_of = |class: &str, field: &str| reader.object_in_static(class, field);
    let properties = static_of("java.lang.System", "props").map(|map| reader.texts_of_map(map)).unwrap_or_default();
    let environment = static_of("java.lang.ProcessEnvironment", "theEnvironment");
    let environment = environment.map(|map| reader.texts_of_map(map)).unwrap_or_default();
    let machine = reader.first_instance("sun.management.VMManagementImpl");
    let mut arguments = machine
        .and_then(|node| reader.object_in_field(node, "vmArgs"))
        .map_or(Vec::new(), |list| reader.texts_of_list(list));
    arguments.extend(
        properties.get(COMMAND_PROPERTY).into_iter().flat_map(|text| text.split_whitespace()).map(str::to_string),
    );
    let row = ProcessSettings { properties, environment, arguments };
    Ok(if with_secrets { row } else { mask_secrets(row) })
}

fn mask_secrets(mut row: ProcessSettings) -> ProcessSettings {
    for (name, text) in row.properties.iter_mut().chain(&mut row.environment) {
        if is_secret_name(name) {
            *text = SECRET_MASK.into();
        } else if ARGUMENT_VARIABLES.contains(&name.as_str()) {
            let words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
            *text = masked_arguments(words).join(" ");
        }
    }
    row.arguments = masked_arguments(row.arguments);
    row
}

/// Returns true for a text that was blotted out: of zeros, or of bytes without sense.
fn is_blotted(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && !c.is_ascii_whitespace())
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// `--password=x` and `-Dtoken=x` without what is behind the sign, and `--password x` without the second word.
fn masked_arguments(words: Vec<String>) -> Vec<String> {
    let mut is_next = false;
    let mask = |word: String| {
        let was_next = std::mem::replace(&mut is_next, false);
        match word.split_once('=') {
            Some((name, _)) if is_secret_name(name) => format!("{name}={SECRET_MASK}"),
            None if word.starts_with('-') => {
                is_next = is_secret_name(&word);
                word
            }
            _ if was_next => SECRET_MASK.into(),
            _ => word,
        }
    };
    words.into_iter().map(mask).collect()
}

/// Reads maps and lists of texts.
struct TextCollectionReader<'d> {
    graph: &'d HeapGraph,
    values: ValueReader<'d>,
}

impl TextCollectionReader<'_> {
    fn class_named(&self, name: &str) -> Option<TypeId> {
        let types = self.graph.types();
        types.ids().find(|&class| types.name(class).replace('/', ".") == name)
    }

    fn object_in_static(&self, class: &str, field: &str) -> Option<NodeId> {
        self.object_in_field(self.graph.types().class_object(self.class_named(class)?)?, field)
    }

    fn first_instance(&self, class: &str) -> Option<NodeId> {
        let class = self.class_named(class)?;
        self.graph.nodes().find(|&node| self.graph.type_of(node) == class)
    }

    /// The object that a field holds.
    fn object_in_field(&self, node: NodeId, name: &str) -> Option<NodeId> {
        first_object_field(&self.values.raw_fields(node), &[name])
    }

    fn texts_of_map(&self, map: NodeId) -> BTreeMap<String, String> {
        let entries = self.entries(map);
        let keys: Vec<NodeId> = entries.iter().map(|entry| self.text_object_of(entry.0)).collect();
        let texts: Vec<NodeId> = entries.iter().map(|entry| self.text_object_of(entry.1)).collect();
        let said = self.values.shown_values(&keys).into_iter().zip(self.values.shown_values(&texts));
        let texts: BTreeMap<_, _> =
            said.filter_map(|(name, text)| Some((text_of_value(name)?, text_of_value(text)?))).collect();
        if texts.keys().any(|name| is_blotted(name)) { BTreeMap::new() } else { texts }
    }

    /// The text in a key or value: itself, or in the wrapper that variables of the environment have on Unix.
    fn text_object_of(&self, node: NodeId) -> NodeId {
        match self.graph.types().name(self.graph.type_of(node)).replace('/', ".").as_str() {
            "java.lang.ProcessEnvironment$Variable" | "java.lang.ProcessEnvironment$Value" => {
                self.object_in_field(node, "str").unwrap_or(node)
            }
            _ => node,
        }
    }

    /// The entries of a hash map: of `Properties`, `Hashtable`, `HashMap`, `ConcurrentHashMap`, `Collections$UnmodifiableMap`.
    fn entries(&self, mut map: NodeId) -> Vec<(NodeId, NodeId)> {
        let mut fields = self.values.raw_fields(map);
        // Maps around maps.
        for _ in 0..4 {
            match first_object_field(&fields, &["map", "m"]) {
                Some(inner) if first_object_field(&fields, &["table"]).is_none() => {
                    map = inner;
                    fields = self.values.raw_fields(map);
                }
                _ => break,
            }
        }
        let Some(table) = first_object_field(&fields, &["table"]) else { return Vec::new() };
        // A damaged map may go round.
        let (mut entries, mut steps) = (Vec::new(), 0);
        for slot in self.values.objects_in_array(table, MAX_ENTRIES_READ) {
            let mut next = Some(slot);
            while let Some(entry) = next.filter(|_| steps < 2 * MAX_ENTRIES_READ) {
                steps += 1;
                let fields = self.values.raw_fields(entry);
                // The bin of a tree has its first entry.
                next = first_object_field(&fields, &["first", "next"]);
                entries
                    .extend(first_object_field(&fields, &["key"]).zip(first_object_field(&fields, &["val", "value"])));
            }
        }
        entries
    }

    fn texts_of_list(&self, list: NodeId) -> Vec<String> {
        let mut list = list;
        for _ in 0..4 {
            let fields = self.values.raw_fields(list);
            if let Some(array) = first_object_field(&fields, &["elementData", "a"]) {
                let nodes = self.values.objects_in_array(array, MAX_ENTRIES_READ);
                let texts = self.values.shown_values(&nodes).into_iter().filter_map(text_of_value);
                return texts.filter(|text| !is_blotted(text)).collect();
            }
            match first_object_field(&fields, &["list", "c"]) {
                Some(inner) => list = inner,
                None => break,
            }
        }
        Vec::new()
    }
}

fn is_field_named(field: &FieldValue, wanted: &str) -> bool {
    matches!(&field.name, ReferenceName::Field(_, name) | ReferenceName::StaticField(name) if name == wanted)
}

/// The object that the first of these fields holds.
fn first_object_field(fields: &[FieldValue], names: &[&str]) -> Option<NodeId> {
    let find = |wanted: &&str| {
        fields.iter().find_map(|field| match field.value {
            Value::Object(node) if is_field_named(field, wanted) => Some(node),
            _ => None,
        })
    };
    names.iter().find_map(find)
}

fn text_of_value(said: Option<ShownValue>) -> Option<String> {
    said.map(|value| value.plain_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let words = "App --password=a -Dapi.token=b --secret c --verbose d plain=e --key".split(' ');
        let masked = masked_arguments(words.map(str::to_string).collect());
        assert_eq!(masked.join(" "), "App --password=*** -Dapi.token=*** --secret *** --verbose d plain=e --key");
        let texts = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect::<BTreeMap<_, _>>()
        };
        let row = ProcessSettings {
            properties: texts(&[("db.Password", "x"), ("user.name", "y"), (COMMAND_PROPERTY, "App --token z")]),
            environment: texts(&[("AWS_SECRET_ACCESS", "x"), ("HOME", "/root")]),
            arguments: vec!["App".into(), "--token".into(), "z".into()],
        };
        let masked = super::mask_secrets(row);
        assert_eq!(
            masked.properties,
            texts(&[("db.Password", "***"), ("user.name", "y"), (COMMAND_PROPERTY, "App --token ***")])
        );
        assert_eq!(masked.environment, texts(&[("AWS_SECRET_ACCESS", "***"), ("HOME", "/root")]));
        assert_eq!(masked.arguments, ["App", "--token", "***"]);
    }
}
