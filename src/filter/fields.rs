//! Values of fields that expressions name by dotted paths, read from the dump in one pass.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::collection_elements::CollectionReader;
use super::collection_sizes::{read_contents_with_lengths, read_sizes};
use super::error::{FilterProblem, unreadable};
use super::expression_tree::{Predicate, matches_text};
use super::path_step::PathStep;
use crate::dump::{MemoryError, OpenDump};
use crate::graph::{Field, HeapGraph, NodeId};
use crate::input::{LengthColumn, NamedFieldValue, ShownValue, Value};

/// UTF-16 units of a text that are read; the rest is cut off.
pub(crate) const MAX_TEXT_UNITS: usize = 1024;
/// Objects whose texts are read together.
const VALUES_READ_TOGETHER: usize = 64 * 1024;

/// The end of a path of fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldPathValue {
    /// A value, not null; the text of a string object, or its name.
    Value(ShownValue),
    /// An object that says nothing of itself; it is not null, and equals nothing.
    Object(NodeId),
}

impl FieldPathValue {
    /// `None` for null, and for an object, which is asked what it says.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null | Value::Object(_) | Value::Dangling(_) => None,
            Value::Char(unit) => Some(FieldPathValue::Value(Value::Text(String::from_utf16_lossy(&[*unit])).into())),
            value => Some(FieldPathValue::Value(value.clone().into())),
        }
    }

    /// Answer of the value to a question; `None` where they do not compare.
    pub(super) fn satisfies(&self, predicate: &Predicate) -> Option<bool> {
        match (self, predicate) {
            (FieldPathValue::Value(ShownValue::Primitive(value)), predicate) => match (value, predicate) {
                (Value::Integer(number), Predicate::Number(op, other)) => {
                    Some(other.matching_range(*op, 0).contains((*number).into()))
                }
                // Of two decimal numbers that are the same in 32 bits neither is the larger: 0.1 is what was stored as 0.1.
                (Value::Float(number), Predicate::Number(op, other)) => {
                    number.partial_cmp(&(other.to_float() as f32)).map(|order| op.holds(order))
                }
                (Value::Double(number), Predicate::Number(op, other)) => {
                    number.partial_cmp(&other.to_float()).map(|order| op.holds(order))
                }
                (Value::Boolean(value), Predicate::IsTrue) => Some(*value),
                _ => None,
            },
            (
                FieldPathValue::Value(ShownValue::Text(text)),
                Predicate::OneOf(_) | Predicate::Text(..) | Predicate::Matches(_),
            ) => Some(matches_text(predicate, &text.text)),
            _ => None,
        }
    }
}

/// Values of one path, of the objects where it leads to anything.
#[derive(Debug)]
pub(crate) struct FieldValues {
    /// Ascending by node; the place in `values`.
    nodes: Vec<(NodeId, u32)>,
    values: Vec<FieldPathValue>,
}

impl FieldValues {
    /// Of the objects where the path leads to something: it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &FieldPathValue)> {
        self.nodes.iter().map(|&(node, place)| (node, &self.values[place as usize]))
    }

    /// The value of an object; `None` for null.
    pub(crate) fn value_of(&self, node: NodeId) -> Option<&FieldPathValue> {
        let at = self.nodes.binary_search_by_key(&node, |&(known, _)| known).ok()?;
        self.values.get(self.nodes[at].1 as usize)
    }
}

/// What a path of fields leads to from an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathEnd {
    pub(crate) node: NodeId,
    /// The place of the path among those that were asked for.
    pub(crate) path_index: usize,
    /// What its last field holds, null too.
    pub(crate) value: Value,
}

/// Names of the number of elements of arrays and known collections, and of the units of texts, where no field is called so.
const SIZE_NAMES: [&str; 2] = ["length", "size"];

/// Returns true for a name that may be that of a size, where no field is called so.
pub(crate) fn is_size_name(name: &str) -> bool {
    SIZE_NAMES.contains(&name)
}

/// Hands the ends of paths of all objects to `take`, in batches and on several threads. Where a field on the way is missing
/// or null, or a collection has no such element, there is no end. One pass over the values of the dump, where paths have several
/// names two, and 72 bytes for each object with a field of a name behind the first; where they name sizes one more, and where
/// they name elements the collections on the way. Error: when the dump has no values, or cannot be read again.
pub(crate) fn visit_path_ends(
    dump: &OpenDump,
    graph: &HeapGraph,
    paths: &[Vec<PathStep>],
    take: &(dyn Fn(&[PathEnd]) + Sync),
) -> Result<(), FilterProblem> {
    let details = dump.values()?;
    let unique = |names: &mut dyn Iterator<Item = &'_ str>| -> Vec<String> {
        let mut names: Vec<String> = names.map(String::from).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let later_steps = || paths.iter().flat_map(|path| path.iter().skip(1));
    let later_names = unique(&mut later_steps().filter_map(PathStep::field_name));
    let first_names = unique(&mut paths.iter().filter_map(|path| path.first()?.field_name()));
    check_field_memory(dump, graph, &later_names)?;
    let asked: Vec<&str> = later_names.iter().map(String::as_str).collect();
    let columns = details.values_of_fields(graph, &asked).map_err(unreadable)?;
    let names_sizes = first_names.iter().chain(&later_names).any(|name| is_size_name(name));
    let names_elements = later_steps().any(|step| step.field_name().is_none());
    let reader = (names_sizes || names_elements).then(|| CollectionReader::of(dump, graph)).transpose()?;
    let sizes = match &reader {
        Some(reader) if names_sizes => read_sizes(dump, graph, reader)?,
        _ => LengthColumn::default(),
    };
    let is_known = |name: &str| is_size_name(name) && sizes.iter(0..graph.node_count()).next().is_some();
    let missing = asked.iter().zip(&columns).filter(|(name, column)| column.is_empty() && !is_known(name));
    missing.for_each(|(name, _)| dump.note_missing_field(name));
    let size_of =
        |name: &str, node: NodeId| Some(Value::Integer(sizes.get(node).filter(|_| is_size_name(name))? as i64));
    let problem: Mutex<Option<FilterProblem>> = Mutex::new(None);
    let value_of = |step: &PathStep, node: NodeId| -> Option<Value> {
        let Some(name) = step.field_name() else {
            return reader.as_ref()?.look_up(node, step).unwrap_or_else(|error| {
                problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            });
        };
        let column = &columns[later_names.binary_search_by(|known| known.as_str().cmp(name)).ok()?];
        let at = column.binary_search_by_key(&node, |(known, _)| *known);
        at.ok().map(|at| column[at].1.clone()).or_else(|| size_of(name, node))
    };
    let paths_of_name = |name: &String| {
        let is_wanted = |path: &[PathStep]| path.first().and_then(PathStep::field_name) == Some(name);
        let paths = paths.iter().enumerate().filter(|(_, path)| is_wanted(path));
        paths.map(|(path_index, path)| (path_index, &path[1..])).collect::<Vec<_>>()
    };
    let paths_by_name: Vec<Vec<(usize, &[PathStep])>> = first_names.iter().map(paths_of_name).collect();
    let has_name: Vec<AtomicBool> = first_names.iter().map(|_| AtomicBool::new(false)).collect();
    let names: Vec<&str> = first_names.iter().map(String::as_str).collect();
    let resolve = |batch: &[NamedFieldValue]| {
        let mut ends = Vec::with_capacity(batch.len());
        for NamedFieldValue { node, name_index, value: first } in batch {
            has_name[*name_index].store(true, Ordering::Relaxed);
            for (path_index, rest) in &paths_by_name[*name_index] {
                let end = rest.iter().try_fold(first.clone(), |value, step| match value {
                    Value::Object(target) => value_of(step, target),
                    _ => None,
                });
                ends.extend(end.map(|value| PathEnd { node: *node, path_index: *path_index, value }));
            }
        }
        take(&ends);
    };
    details.visit_field_values(graph, &names, &resolve).map_err(unreadable)?;
    for (name_index, name) in names.iter().enumerate().filter(|(_, name)| is_known(name)) {
        let has_field = types_with_field(graph, name);
        (0..graph.node_count().div_ceil(VALUES_READ_TOGETHER)).into_par_iter().for_each(|batch| {
            let start = batch * VALUES_READ_TOGETHER;
            let own = sizes.iter(start..start + VALUES_READ_TOGETHER);
            let own = own.filter(|(node, _)| !has_field[graph.type_of(*node).index()]);
            let own = own.map(|(node, size)| NamedFieldValue { node, name_index, value: Value::Integer(size as i64) });
            resolve(&own.collect::<Vec<_>>());
        });
    }
    let missing = names.iter().zip(&has_name).filter(|(_, is_there)| !is_there.load(Ordering::Relaxed));
    missing.for_each(|(name, _)| dump.note_missing_field(name));
    problem.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// By type: its objects have a field of this name.
pub(crate) fn types_with_field(graph: &HeapGraph, name: &str) -> Vec<bool> {
    let types = graph.types();
    let has_field = |type_id| types.instance_fields(type_id).any(|(_, field)| types.text(field.name) == name);
    types.ids().map(has_field).collect()
}

/// Hands what some objects say, ascending, to `take`, each text as far as it is shown. Each part of the dump is read once.
pub(crate) fn visit_shown_values(
    dump: &OpenDump,
    graph: &HeapGraph,
    nodes: &[NodeId],
    mut take: impl FnMut(NodeId, Option<ShownValue>),
) -> Result<(), FilterProblem> {
    let details = dump.values()?;
    for nodes in nodes.chunks(VALUES_READ_TOGETHER * rayon::current_num_threads()) {
        let read = |nodes: &[NodeId]| details.shown_values(graph, nodes, MAX_TEXT_UNITS);
        let said = nodes.par_chunks(VALUES_READ_TOGETHER).map(read).collect::<Result<Vec<_>, _>>();
        nodes.iter().zip(said.map_err(unreadable)?.into_iter().flatten()).for_each(|(&node, said)| take(node, said));
    }
    Ok(())
}

/// Values of each path. The values of the dump as [`visit_path_ends`] reads them, and the texts of what is at the ends; 72
/// bytes for each object with a field of a name that occurs, and the texts. Error: when the dump has no values, or cannot be
/// read again.
pub(crate) fn read_field_values(
    dump: &OpenDump,
    graph: &HeapGraph,
    paths: &[Vec<PathStep>],
) -> Result<Vec<FieldValues>, FilterProblem> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut names: Vec<String> =
        paths.iter().filter_map(|path| Some(path.first()?.field_name()?.to_string())).collect();
    names.sort_unstable();
    names.dedup();
    check_field_memory(dump, graph, &names)?;
    let ends = Mutex::new(vec![Vec::new(); paths.len()]);
    let add = |batch: &[PathEnd]| {
        let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
        for PathEnd { node, path_index, value } in batch {
            if !matches!(value, Value::Null | Value::Dangling(_)) {
                ends[*path_index].push((*node, value.clone()));
            }
        }
    };
    visit_path_ends(dump, graph, paths, &add)?;
    let mut found = Vec::new();
    for ends in ends.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let (mut nodes, mut values, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for (node, end) in ends {
            if let Value::Object(target) = end {
                asked.push((target, node));
            } else if let Some(value) = FieldPathValue::of(&end) {
                nodes.push((node, values.len() as u32));
                values.push(value);
            }
        }
        asked.sort_unstable();
        let mut targets: Vec<NodeId> = asked.iter().map(|(target, _)| *target).collect();
        targets.dedup();
        let mut asked = asked.into_iter().peekable();
        visit_shown_values(dump, graph, &targets, |target, said| {
            let value = match said {
                Some(ShownValue::Text(text) | ShownValue::Name(text)) => {
                    Some(FieldPathValue::Value(ShownValue::Text(text)))
                }
                Some(ShownValue::Primitive(value)) => FieldPathValue::of(&value),
                None => Some(FieldPathValue::Object(target)),
            };
            while let Some((_, node)) = asked.next_if(|(known, _)| *known == target) {
                nodes.extend(value.is_some().then_some((node, values.len() as u32)));
            }
            values.extend(value);
        })?;
        nodes.sort_unstable();
        found.push(FieldValues { nodes, values });
    }
    Ok(found)
}

/// Elements of arrays and UTF-16 units of texts, as [`read_contents_with_lengths`].
pub(super) fn read_lengths(dump: &OpenDump, graph: &HeapGraph) -> Result<LengthColumn, FilterProblem> {
    Ok(read_contents_with_lengths(dump, graph, Vec::new())?.lengths)
}

/// Bytes of an object's field: its value, and its place on the way to the end of a path.
const BYTES_PER_FIELD: u64 = 72;

/// Fails when the fields do not fit: of the objects whose types declare them, or of all where types declare none.
fn check_field_memory(dump: &OpenDump, graph: &HeapGraph, names: &[String]) -> Result<(), MemoryError> {
    if names.is_empty() {
        return Ok(());
    }
    let types = graph.types();
    let is_wanted = |field: &&Field| {
        !field.is_static && names.binary_search_by(|name| name.as_str().cmp(types.text(field.name))).is_ok()
    };
    let declare_any = types.ids().any(|type_id| !types.fields(type_id).is_empty());
    let by_type: Vec<u64> = types.map_by_superclass(|type_id, above: Option<&u64>| match declare_any {
        true => above.copied().unwrap_or(0) + types.fields(type_id).iter().filter(is_wanted).count() as u64,
        false => 1,
    });
    let of_objects = graph.node_types(0..graph.node_count()).map(|type_id| by_type[type_id.index()]);
    dump.check_rows_memory(of_objects.sum(), BYTES_PER_FIELD)
}
