//! The objects themselves, one a row.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::rc::Rc;

use serde::{Serialize, Serializer};

use super::detached_nodes::detached_types;
use super::figure::{ID, REFERENCES, RETAINED, SHALLOW, TYPE, figures_of};
use super::object_data::{DataOptions, DataReader, ObjectData};
use super::rows::{class_text, is_false, sort_first, type_with_value, type_words, unreached_note};
use super::scope::order_entry_of;
use super::values::{ShownValue, ValueReader, shown_field_value};
use super::{AnswerError, CommandLine, Figure, Limits, ScopeOptions};
use crate::analysis::dominators::Dominators;
use crate::analysis::retained::RetainedSizes;
use crate::dump::OpenDump;
use crate::filter::{FieldSelection, FieldValues};
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ObjectDetails, Runtime};

/// Options of a list of objects.
#[derive(Debug, Clone, Default)]
pub struct ObjectsOptions {
    /// Objects that are asked for.
    pub scope: ScopeOptions,
    /// Their order: one of [`ORDERS`](Self::ORDERS), figures largest first; ties by section and id. Unreachable objects
    /// retain least. Default: shallow bytes.
    pub order: Option<Figure>,
    /// Number and direction of rows.
    pub limits: Limits,
    /// Ids alone: retained sizes are not computed unless the order needs them.
    pub ids_only: bool,
    /// With the values of the objects: texts, numbers, names.
    pub with_values: bool,
    /// Only nodes that were taken out of their page.
    pub only_detached: bool,
    /// Fields that each row shows.
    pub selected_fields: Option<FieldSelection>,
    /// With the data of each object.
    pub data: Option<DataOptions>,
}

/// References that are stored in an object, with a short word of its own.
const STORED_REFERENCES: Figure = REFERENCES.with_sort_word("refs");

/// References from what the program holds, of formats that have a rule for it.
const DISTANCE: Figure = Figure::count("distance", "Distance");

const ORDER_COLUMNS: [(Figure, ObjectOrder); 6] = [
    (SHALLOW, ObjectOrder::ShallowBytes),
    (RETAINED, ObjectOrder::RetainedBytes),
    (ID, ObjectOrder::Id),
    (STORED_REFERENCES, ObjectOrder::References),
    (TYPE, ObjectOrder::TypeName),
    (DISTANCE, ObjectOrder::Distance),
];

#[derive(Clone, Copy)]
enum ObjectOrder {
    ShallowBytes,
    RetainedBytes,
    Id,
    References,
    TypeName,
    Distance,
}

impl ObjectsOptions {
    /// Figures that rows can be ordered by.
    pub const ORDERS: [Figure; 6] = figures_of(&ORDER_COLUMNS);

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("list");
        line.add_sort_option(self.order, SHALLOW);
        line.add_switch("--reverse", self.limits.reverse);
        line.add_option("-n", Some(&self.limits.rows.unwrap_or(0).to_string()));
        line.add_switch("--ids", self.ids_only)
            .add_switch("--values", self.with_values)
            .add_switch("--detached", self.only_detached);
        if let Some(fields) = &self.selected_fields {
            line.add_option("--select", Some(&fields.paths().collect::<Vec<_>>().join(",")));
        }
        DataOptions::add_to(self.data, &mut line);
        self.scope.add_to(&mut line);
        line
    }
}

/// The objects. Rows are made when they are asked for.
#[derive(Serialize)]
#[non_exhaustive]
pub struct ObjectList<'d> {
    /// The name of the dump's format.
    pub format: String,
    /// Objects that match, shown or not.
    pub found: usize,
    /// Retained sizes rest on inferred roots: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// The rows that are shown.
    pub objects: ObjectRows<'d>,
    #[serde(skip)]
    unrooted_are_alive: bool,
}

impl ObjectList<'_> {
    /// Note on rows without a retained size, with the reason. O(rows), and the sort of all.
    pub fn unreached_note(&self) -> Option<String> {
        let rows = self.objects.dominator_tree.map_or(0, |_| self.objects.len());
        let is_unreached =
            |row: &usize| retained_bytes(self.objects.dominator_tree, self.objects.sorted_node(*row)).is_none();
        unreached_note((0..rows).filter(is_unreached).count() as u64, self.unrooted_are_alive)
    }
}

/// An object of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ListedObject<'d> {
    /// The object's id as the dump writes it.
    pub id: String,
    /// Bytes of the object itself.
    pub shallow_bytes: u64,
    /// Bytes that would be freed with it; `None` when no strong root reaches it.
    pub retained_bytes: Option<u64>,
    /// References that are stored in it.
    pub references: u64,
    /// Of a class object: the class that it stands for. Only in dumps whose classes are objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Option<&'d str>>,
    /// References from what the program holds, in dumps whose format has a rule for it; `None` when only the runtime
    /// holds the object, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Option<u32>>,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: &'d str,
    /// Its own value, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Option<ShownValue>>,
    /// The text, or that of a field, is longer than what is here of it.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// The fields that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<SelectedValues>,
    /// Its data, where that was asked for; null of a dump that cannot be read any more.
    #[serde(rename = "json", skip_serializing_if = "Option::is_none")]
    pub data: Option<Option<ObjectData>>,
}

/// Fields of an object by their paths: what each holds, or what the object that it refers to says, or else that object's
/// id; `None` where there is no such field, and for null.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedValues(Vec<(Rc<str>, Option<ShownValue>)>);

impl SelectedValues {
    /// Contents of the field at a place of the selection.
    pub fn at(&self, place: usize) -> Option<&ShownValue> {
        self.0.get(place).and_then(|(_, value)| value.as_ref())
    }
}

impl Serialize for SelectedValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(path, value)| (&**path, value)))
    }
}

impl ListedObject<'_> {
    /// The type with what the object says; of a class object `class zoo.Zoo`.
    pub fn type_text(&self) -> String {
        match (&self.class, &self.value) {
            (Some(Some(class)), _) => class_text(class),
            (_, Some(Some(value))) => type_with_value(&type_words(self.type_name), &value.words()),
            _ => type_words(self.type_name).into_owned(),
        }
    }
}

/// Lists the objects. O(objects), and a sort of the rows that are asked for.
///
/// # Errors
/// If the dump holds no objects, has no such section, is of no pages where detached nodes are asked for, or takes more
/// memory than it may.
pub fn objects<'d>(dump: &'d OpenDump, options: &ObjectsOptions) -> Result<ObjectList<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let scope = options.scope.resolve(dump)?;
    let values = if options.with_values { Some(ValueReader::find(dump)?) } else { ValueReader::of(dump) };
    if options.only_detached && dump.info().runtime() != Some(Runtime::JavaScript) {
        return Err(AnswerError::NoDetachedNodes);
    }
    let detached = options.only_detached.then(|| detached_types(graph));
    let is_wanted = |node: &NodeId| detached.as_ref().is_none_or(|types| types.contains(graph.type_of(*node)));
    let nodes: Vec<NodeId> = scope.nodes().filter(is_wanted).collect();
    let tree = match options.order {
        Some(RETAINED) => Some(dump.dominators()?),
        _ if options.ids_only => None,
        _ => dump.dominators_unless_cut()?,
    };
    let fields = match &options.selected_fields {
        Some(selection) => Some(selection.paths().map(Rc::from).zip(selection.read_values(dump)?).collect()),
        None => None,
    };
    let data_reader = options.data.map(|options| DataReader::find(dump, options)).transpose()?;
    let order = order_entry_of(&ORDER_COLUMNS, options.order.unwrap_or(SHALLOW))?;
    let with_distances = dump.details().filter(|details| details.has_distances());
    let mut distances = Vec::new();
    if matches!(order, ObjectOrder::Distance) {
        let details = with_distances.ok_or(AnswerError::NoSuchOrder(DISTANCE.key))?;
        dump.check_rows_memory(graph.node_count() as u64, 8)?;
        distances = graph.nodes().map(|node| details.distance(graph, node).ok().flatten()).collect();
    }
    let found = nodes.len();
    let objects = ObjectRows {
        graph,
        dominator_tree: tree,
        distance_details: with_distances.filter(|_| !options.ids_only),
        order_figure: options.order.unwrap_or(SHALLOW),
        order,
        distances,
        is_reversed: options.limits.reverse,
        shown_count: options.limits.shown_count(found),
        nodes: RefCell::new(nodes),
        sorted_count: Cell::new(0),
        values,
        with_values: options.with_values,
        value_chunk: RefCell::default(),
        selected_fields: fields,
        data_reader,
    };
    Ok(ObjectList {
        format: dump.info().format.to_string(),
        found,
        roots_inferred: graph.roots_inferred(),
        objects,
        unrooted_are_alive: dump.info().frozen_heap && !graph.roots().iter().any(|root| root.is_excluded),
    })
}

/// Rows in order, sorted no further than they were asked for: the first rows of ten million are there at once.
pub struct ObjectRows<'d> {
    graph: &'d HeapGraph,
    dominator_tree: Option<(&'d Dominators, &'d RetainedSizes)>,
    /// Reader of distances, where they are shown.
    pub(crate) distance_details: Option<&'d dyn ObjectDetails>,
    order_figure: Figure,
    order: ObjectOrder,
    /// By object, where rows are ordered by it.
    distances: Vec<Option<u32>>,
    is_reversed: bool,
    shown_count: usize,
    /// Objects of the rows: the first `sorted_count` are in order.
    nodes: RefCell<Vec<NodeId>>,
    sorted_count: Cell<usize>,
    values: Option<ValueReader<'d>>,
    /// Every row has its value.
    pub(crate) with_values: bool,
    /// The first row of a chunk, and what the objects of its rows say.
    value_chunk: RefCell<(usize, Vec<Option<ShownValue>>)>,
    /// The fields that are shown: their paths, and what each leads to.
    selected_fields: Option<Vec<(Rc<str>, FieldValues)>>,
    /// Reader of the data of objects, where that is shown.
    data_reader: Option<DataReader<'d>>,
}

impl ObjectRows<'_> {
    /// The figure that the rows are ordered by.
    pub fn order_figure(&self) -> Figure {
        self.order_figure
    }
}

/// Rows that are sorted first; each further chunk is as large as all before it, four times over.
const FIRST_SORTED_COUNT: usize = 4096;
/// Rows whose values are read together, each part of the dump once: 10 MB, and their texts.
const VALUES_READ_TOGETHER: usize = 64 * 1024;

impl<'d> ObjectRows<'d> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.shown_count
    }

    /// Returns true if the dump has class objects.
    pub fn has_class_objects(&self) -> bool {
        !self.graph.types().class_objects().is_empty()
    }

    /// The object's id of a row below `len`. As [`get`](Self::get).
    pub fn id(&self, row: usize) -> String {
        self.graph.display_id(self.sorted_node(row))
    }

    /// A row below `len`. O(log objects), and for the first row of a chunk the sort of the chunk.
    pub fn get(&self, row: usize) -> ListedObject<'d> {
        let (graph, node) = (self.graph, self.sorted_node(row));
        let value = self.with_values.then(|| self.shown_value(row));
        let fields = self.selected_fields.as_ref().map(|fields| {
            let value = |values: &FieldValues| values.value_of(node).map(|value| shown_field_value(graph, value));
            SelectedValues(fields.iter().map(|(path, values)| (Rc::clone(path), value(values))).collect())
        });
        let texts = fields.iter().flat_map(|fields| &fields.0).map(|(_, value)| value).chain(&value);
        let truncated = texts.flatten().any(ShownValue::is_cut);
        ListedObject {
            id: graph.display_id(node),
            shallow_bytes: graph.shallow_bytes(node),
            retained_bytes: retained_bytes(self.dominator_tree, node),
            references: graph.stored_reference_count(node) as u64,
            class: self
                .has_class_objects()
                .then(|| graph.types().type_of_class_object(node).map(|class| graph.type_name(class))),
            distance: self.distance_details.map(|details| details.distance(graph, node).ok().flatten()),
            type_name: graph.type_name(graph.type_of(node)),
            truncated,
            value,
            fields,
            data: self.data_reader.as_ref().map(|reader| reader.data(node).ok()),
        }
    }

    /// The paths of the fields that rows show.
    pub fn field_paths(&self) -> impl Iterator<Item = &str> {
        self.selected_fields.iter().flatten().map(|(path, _)| &**path)
    }

    /// A row below `len` with its value, asked for or not.
    pub fn row_with_value(&self, row: usize) -> ListedObject<'d> {
        let listed = self.get(row);
        ListedObject { value: listed.value.or_else(|| Some(self.shown_value(row))), ..listed }
    }

    /// Value of a row's object. Reads those of the rows around it too.
    fn shown_value(&self, row: usize) -> Option<ShownValue> {
        let values = self.values?;
        let start = row - row % VALUES_READ_TOGETHER;
        let mut said = self.value_chunk.borrow_mut();
        if said.0 != start || said.1.is_empty() {
            let nodes: Vec<NodeId> =
                (start..self.shown_count.min(start + VALUES_READ_TOGETHER)).map(|row| self.sorted_node(row)).collect();
            *said = (start, values.shown_values(&nodes));
        }
        said.1.get(row - start).cloned().flatten()
    }

    /// The rows, one by one.
    pub fn iter(&self) -> impl Iterator<Item = ListedObject<'d>> + '_ {
        (0..self.shown_count).map(|row| self.get(row))
    }

    fn sorted_node(&self, row: usize) -> NodeId {
        while row >= self.sorted_count.get() {
            let sorted = self.sorted_count.get();
            let mut nodes = self.nodes.borrow_mut();
            let rest = &mut nodes[sorted..];
            let chunk = FIRST_SORTED_COUNT.max(4 * sorted).min(rest.len());
            let (graph, tree, reverse) = (self.graph, self.dominator_tree, self.is_reversed);
            let distances = &self.distances;
            // A sort for each order: a comparison does not ask which it is.
            match self.order {
                ObjectOrder::RetainedBytes => {
                    sort_first_nodes(rest, chunk, reverse, |node| Reverse(retained_bytes(tree, node)))
                }
                ObjectOrder::TypeName => {
                    sort_first_nodes(rest, chunk, reverse, |node| graph.type_name(graph.type_of(node)))
                }
                ObjectOrder::Distance => {
                    sort_first_nodes(rest, chunk, reverse, |node| Reverse(distances[node.index()]))
                }
                ObjectOrder::Id => sort_first_nodes(rest, chunk, reverse, |_| ()),
                ObjectOrder::References => {
                    sort_first_nodes(rest, chunk, reverse, |node| Reverse(graph.stored_reference_count(node)))
                }
                ObjectOrder::ShallowBytes => {
                    sort_first_nodes(rest, chunk, reverse, |node| Reverse(graph.shallow_bytes(node)))
                }
            }
            self.sorted_count.set(sorted + chunk);
        }
        self.nodes.borrow()[row]
    }
}

fn retained_bytes(tree: Option<(&Dominators, &RetainedSizes)>, node: NodeId) -> Option<u64> {
    tree.and_then(|(dominators, retained)| retained.bytes_of(dominators, node))
}

/// Sorts the first nodes of the order by a key, ties by section and id.
fn sort_first_nodes<K: Ord>(nodes: &mut [NodeId], first: usize, reverse: bool, key: impl Fn(NodeId) -> K + Sync) {
    sort_first(nodes, first, |&a, &b| {
        let ordering = key(a).cmp(&key(b)).then(a.cmp(&b));
        if reverse { ordering.reverse() } else { ordering }
    });
}

impl Serialize for ObjectRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
