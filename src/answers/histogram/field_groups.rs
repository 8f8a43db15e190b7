//! Groups by the value of a field: `--by .status`, `--by .customer.region`.

use std::collections::HashMap;

use crate::answers::AnswerError;
use crate::answers::values::shown_field_value;
use crate::dump::OpenDump;
use crate::filter::FieldSelection;
use crate::graph::HeapGraph;

/// Objects whose type has no field of the first name.
const NO_FIELD_NAME: &str = "(no such field)";
const NULL_NAME: &str = "(null)";

/// Names of the groups, and by object its group. One pass over the values of the dump; 4 bytes for each object, and 24 for each
/// that has the field. Error: when the dump has no values, cannot be read again, or takes more memory than it may.
pub(super) fn groups_by_field(
    dump: &OpenDump,
    graph: &HeapGraph,
    field: &FieldSelection,
) -> Result<(Vec<String>, Vec<u32>), AnswerError> {
    dump.check_rows_memory(graph.node_count() as u64, 4)?;
    let types = graph.types();
    let first_name = field.first_names().next().unwrap_or_default();
    let has_field: Vec<bool> = types
        .ids()
        .map(|type_id| types.instance_fields(type_id).any(|(_, field)| types.text(field.name) == first_name))
        .collect();
    let mut names: Vec<String> = [NO_FIELD_NAME, NULL_NAME].map(String::from).into();
    let mut group_of_node: Vec<u32> =
        graph.node_types(0..graph.node_count()).map(|type_id| has_field[type_id.index()].into()).collect();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    for values in field.read_values(dump)? {
        for (node, value) in values.iter() {
            let text = shown_field_value(graph, value).plain_text();
            let number = *numbers.entry(text).or_insert_with_key(|text| {
                names.push(text.clone());
                names.len() as u32 - 1
            });
            group_of_node[node.index()] = number;
        }
    }
    Ok((names, group_of_node))
}
