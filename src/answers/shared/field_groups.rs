//! Groups by the value of a field: `--by .status`, `--by .customer.region`.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHashMap;

use super::values::{shown_field_value, unreadable_values};
use crate::answers::AnswerError;
use crate::dump::OpenDump;
use crate::filter::{
    FieldPathValue, FieldSelection, PathEnd, PathStep, types_with_field, visit_path_ends, visit_shown_values,
};
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeSet};
use crate::input::{ContentKey, ShownValue, Text, Value, WantedContents};

/// Objects whose type has no field of the first name.
const NO_FIELD_NAME: &str = "(no such field)";
const NULL_NAME: &str = "(null)";
pub(in crate::answers) const NULL_GROUP: u32 = 1;

/// Names of the groups, and by object its group. One pass over the values of the dump, and what the objects at the ends of the
/// path say; 8 bytes for each object, and the names of the groups. Texts longer than what is shown of them, and those with
/// halves of characters, are compared by keys of their whole contents: 24 bytes more for each string of the dump. Error: when the dump has
/// no values, cannot be read again, or takes more memory than it may.
pub(in crate::answers) fn groups_by_field(
    dump: &OpenDump,
    graph: &HeapGraph,
    field: &FieldSelection,
    types: Option<&TypeSet>,
) -> Result<(Vec<String>, Vec<u32>), AnswerError> {
    let Some(path) = field.steps().next() else { return Ok((vec![NO_FIELD_NAME.into()], vec![0; graph.node_count()])) };
    let first_name = path.first().and_then(PathStep::field_name).unwrap_or_default();
    let count = graph.node_count();
    dump.check_rows_memory(count as u64, 8)?;
    let has_field = types_with_field(graph, first_name);
    let mut found = FieldGroups {
        group_of_node: graph.node_types(0..count).map(|type_id| has_field[type_id.index()].into()).collect(),
        referring_nodes: NodeSet::new(count),
        target_nodes: NodeSet::new(count),
        ..FieldGroups::with_no_field_and_null()
    };
    // Dumps have no fields of class objects.
    graph.types().class_objects().iter().for_each(|(class, _)| found.group_of_node[class.index()] = 0);
    let is_wanted = |end: &&PathEnd| types.is_none_or(|types| types.contains(graph.type_of(end.node)));
    let shared = Mutex::new(&mut found);
    let add = |ends: &[PathEnd]| {
        let mut found = shared.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().filter(is_wanted).for_each(|end| found.add_path_end(end));
    };
    visit_path_ends(dump, graph, &[path.to_vec()], &add)?;
    found.resolve_targets(dump, graph)?;
    Ok((found.names, found.group_of_node))
}

/// A text that is cut, or has halves of characters, does not tell all that is to be compared.
fn is_compared_by_key(text: &Text) -> bool {
    text.is_cut || text.text.contains(char::REPLACEMENT_CHARACTER)
}

/// A value that is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum GroupKey {
    Boolean(bool),
    Integer(i64),
    /// By their bits, which tell 0.0 and -0.0 apart; of what is no number one alone.
    Float(u32),
    Double(u64),
    /// Half a character.
    Utf16Unit(u16),
    /// A text of which more is to be compared than is shown.
    WholeText(ContentKey),
    /// An object that says nothing of itself.
    Object(NodeId),
}

/// Groups that were met, and which object is in which; without a graph the groups alone.
#[derive(Debug, Default)]
pub(in crate::answers) struct FieldGroups {
    pub(in crate::answers) names: Vec<String>,
    group_by_key: FxHashMap<GroupKey, u32>,
    /// Groups whose names are texts, by these.
    groups_of_texts: HashTable<u32>,
    text_hasher: RandomState,
    /// Group of an object; where its field refers to another object that one, until it is known what that says.
    group_of_node: Vec<u32>,
    /// Objects whose fields refer to others.
    referring_nodes: NodeSet,
    /// The objects that they refer to.
    target_nodes: NodeSet,
}

impl FieldGroups {
    /// The groups of objects without the field, and with null there.
    pub(in crate::answers) fn with_no_field_and_null() -> Self {
        FieldGroups { names: [NO_FIELD_NAME, NULL_NAME].map(String::from).into(), ..FieldGroups::default() }
    }

    fn add_path_end(&mut self, end: &PathEnd) {
        self.group_of_node[end.node.index()] = match &end.value {
            Value::Object(target) => {
                self.referring_nodes.insert(end.node);
                self.target_nodes.insert(*target);
                target.index() as u32
            }
            value => self.group_of_value(value),
        };
    }

    /// The group of a value that is no reference to an object.
    pub(in crate::answers) fn group_of_value(&mut self, value: &Value) -> u32 {
        let key = match value {
            Value::Null | Value::Object(_) | Value::Dangling(_) => return NULL_GROUP,
            Value::Text(text) => return self.group_of_text(text),
            Value::Char(unit) => match char::from_u32((*unit).into()) {
                Some(character) => return self.group_of_text(character.encode_utf8(&mut [0; 4])),
                None => GroupKey::Utf16Unit(*unit),
            },
            Value::Boolean(value) => GroupKey::Boolean(*value),
            Value::Integer(number) => GroupKey::Integer(*number),
            Value::Float(number) => GroupKey::Float(if number.is_nan() { f32::NAN } else { *number }.to_bits()),
            Value::Double(number) => GroupKey::Double(if number.is_nan() { f64::NAN } else { *number }.to_bits()),
        };
        self.group_of_key(key, || ShownValue::from(value.clone()).plain_text())
    }

    fn group_of_key(&mut self, key: GroupKey, name: impl FnOnce() -> String) -> u32 {
        *self.group_by_key.entry(key).or_insert_with(|| {
            self.names.push(name());
            self.names.len() as u32 - 1
        })
    }

    fn group_of_text(&mut self, text: &str) -> u32 {
        let FieldGroups { names, groups_of_texts, text_hasher, .. } = self;
        let hash = |text: &str| text_hasher.hash_one(text);
        let entry = groups_of_texts.entry(
            hash(text),
            |&group| names[group as usize] == text,
            |&group| hash(&names[group as usize]),
        );
        match entry {
            Entry::Occupied(group) => *group.get(),
            Entry::Vacant(place) => {
                let group = names.len() as u32;
                place.insert(group);
                names.push(text.to_string());
                group
            }
        }
    }

    /// The group of the text of a string; `key` is that of all its characters, where more than the text is compared.
    pub(in crate::answers) fn group_of_string(&mut self, text: Text, key: impl FnOnce() -> ContentKey) -> u32 {
        match is_compared_by_key(&text) {
            true => self.group_of_key(GroupKey::WholeText(key()), || text.text),
            false => self.group_of_text(&text.text),
        }
    }

    /// Gives the objects whose fields refer to others the groups of what those say.
    fn resolve_targets(&mut self, dump: &OpenDump, graph: &HeapGraph) -> Result<(), AnswerError> {
        let targets: Vec<NodeId> = graph.nodes().filter(|&node| self.target_nodes.contains(node)).collect();
        if targets.is_empty() {
            return Ok(());
        }
        let mut group_of_target = vec![NULL_GROUP; graph.node_count()];
        let mut long_texts: Vec<(NodeId, String)> = Vec::new();
        visit_shown_values(dump, graph, &targets, |node, said| {
            group_of_target[node.index()] = match said {
                Some(ShownValue::Text(text)) if is_compared_by_key(&text) => {
                    return long_texts.push((node, text.text));
                }
                Some(ShownValue::Text(text) | ShownValue::Name(text)) => self.group_of_text(&text.text),
                Some(ShownValue::Primitive(value)) => self.group_of_value(&value),
                _ => self.group_of_object(graph, node),
            }
        })?;
        if !long_texts.is_empty() {
            dump.check_rows_memory(graph.node_count() as u64, 24)?;
            let details = dump.values().map_err(AnswerError::NoValues)?;
            let strings = details.contents(graph, &WantedContents::default()).map_err(unreadable_values)?.strings;
            for (node, text) in long_texts {
                let key = strings.find(node).map(|at| strings.key(at)).filter(|key| key.is_known());
                group_of_target[node.index()] = match key {
                    Some(key) => self.group_of_key(GroupKey::WholeText(key), || text),
                    None => self.group_of_object(graph, node),
                };
            }
        }
        for node in graph.nodes().filter(|&node| self.referring_nodes.contains(node)) {
            let group = &mut self.group_of_node[node.index()];
            *group = group_of_target[*group as usize];
        }
        Ok(())
    }

    fn group_of_object(&mut self, graph: &HeapGraph, node: NodeId) -> u32 {
        self.group_of_key(GroupKey::Object(node), || {
            shown_field_value(graph, &FieldPathValue::Object(node)).plain_text()
        })
    }
}
