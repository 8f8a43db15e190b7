//! One object: its sizes, what it says and holds, what holds it, references out and in.

mod entries;
mod rows;

use entries::collection_entries;
pub use entries::{CollectionEntries, CollectionFigures, EntryEnd, EntryRow};
pub use rows::ReferenceRows;
use serde::Serialize;

use crate::analysis::dominators::Dominator;
use crate::answers::object_data::{DataOptions, DataReader, ObjectData};
use crate::answers::reference_names::ReferenceNames;
use crate::answers::rows::{LocationRow, ROWS_READ_TOGETHER, is_false, unreached_note};
use crate::answers::values::{FieldRow, ShownValue, ValueReader};
use crate::answers::{AnswerError, CommandLine, ObjectId, ObjectRow, Reachability, RootRow, ScopeOptions};
use crate::dump::{NoValues, OpenDump};
use crate::graph::FieldKind;

/// The object that is asked for.
#[derive(Debug, Clone)]
pub struct ObjectOptions {
    /// Its id.
    pub object: ObjectId,
    /// Its section, where several have one of this id.
    pub scope: ScopeOptions,
    /// References out and in at most. Default: all.
    pub max_references: Option<usize>,
    /// With the elements of a collection, as many.
    pub with_entries: bool,
    /// With its data.
    pub data: Option<DataOptions>,
}

impl ObjectOptions {
    /// All about an object.
    pub fn new(object: ObjectId) -> Self {
        ObjectOptions { object, scope: ScopeOptions::default(), max_references: None, with_entries: false, data: None }
    }

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("show");
        line.add_option("-n", Some(&self.max_references.unwrap_or(0).to_string()));
        line.add_switch("--entries", self.with_entries);
        DataOptions::add_to(self.data, &mut line);
        self.scope.add_to(&mut line);
        line.add_word(self.object.to_string());
        line
    }
}

/// An object. Rows of references are made when they are asked for.
#[derive(Serialize)]
#[non_exhaustive]
pub struct ObjectAnswer<'d> {
    /// The object.
    pub object: ShownObject,
    /// Whether strong roots reach it, and why not.
    #[serde(rename = "reachable")]
    pub reachability: Reachability,
    /// Its own root records, weak ones too.
    pub roots: Vec<RootRow>,
    /// Its fields with their values, of a class object its static ones; `None` of arrays, and where there are no values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldRow>>,
    /// The elements of a collection, where they were asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub entries: Option<CollectionEntries>,
    /// It as data, where that was asked for.
    #[serde(rename = "json", skip_serializing_if = "Option::is_none")]
    pub data: Option<ObjectData>,
    /// References of the object, in the order of the dump, repeats kept, weak ones too.
    pub references: ReferenceRows<'d>,
    /// Objects that refer to it, by section and id, weak ones too.
    pub referrers: ReferenceRows<'d>,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// The section it is in, from 1, and its name, where there are several.
    #[serde(skip)]
    pub section: Option<(usize, String)>,
    /// Its immediate dominator.
    #[serde(skip)]
    pub dominator: Option<ObjectRow>,
    /// The dump has class objects.
    #[serde(skip)]
    pub has_class_objects: bool,
    /// Reason for missing values.
    #[serde(skip)]
    pub no_values: Option<NoValues>,
}

/// The object that was asked for.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ShownObject {
    /// Id, type and size.
    #[serde(flatten)]
    pub row: ObjectRow,
    /// Bytes that would be freed with it; `None` when no strong root reaches it.
    pub retained_bytes: Option<u64>,
    /// The id of its immediate dominator; `None` where no single object holds it.
    pub dominator: Option<String>,
    /// Its own value: a text, a number, a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<ShownValue>,
    /// The text is longer than what is here of it.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Elements of an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The first elements of an array of primitive values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<Vec<ShownValue>>,
    /// References from what the program holds, in dumps whose format has a rule for it; `None` when only the runtime
    /// holds the object, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Option<u32>>,
    /// Place in the source of a function, or of an object's constructor, where the dump says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationRow>,
    /// The functions that allocated it, the innermost first, where the dump says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<Vec<String>>,
}

/// Objects that are asked for.
#[derive(Debug, Clone)]
pub struct ShowOptions {
    /// Their ids.
    pub objects: Vec<ObjectId>,
    /// Their section, where several have one of an id.
    pub scope: ScopeOptions,
    /// References out and in at most, of each. Default: all.
    pub max_references: Option<usize>,
    /// With the elements of collections, as many of each.
    pub with_entries: bool,
    /// With the data of each.
    pub data: Option<DataOptions>,
}

/// Objects that were asked for.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ShownObjects<'d> {
    /// One.
    One(Box<ObjectAnswer<'d>>),
    /// Several, in the order in which they were asked for.
    Several {
        /// All of them.
        objects: Vec<ObjectAnswer<'d>>,
    },
}

impl<'d> ShownObjects<'d> {
    /// All of them.
    pub fn as_slice(&self) -> &[ObjectAnswer<'d>] {
        match self {
            ShownObjects::One(object) => std::slice::from_ref(object),
            ShownObjects::Several { objects } => objects,
        }
    }

    /// Note on those that no root reaches, for tables, which have no column for it.
    pub fn unreached_note(&self) -> Option<String> {
        let unreached =
            || self.as_slice().iter().map(|object| object.reachability).filter(|reached| !reached.is_reached());
        unreached_note(unreached().count() as u64, unreached().all(|reached| reached == Reachability::OnFrozenHeap))
    }

    /// Reason for missing values, where there are none.
    pub fn no_values(&self) -> Option<&NoValues> {
        self.as_slice().iter().find_map(|object| object.no_values.as_ref())
    }
}

/// Objects, each as by [`object`].
///
/// # Errors
/// As [`object`]: for one object that is not there none is shown.
pub fn show<'d>(dump: &'d OpenDump, options: &ShowOptions) -> Result<ShownObjects<'d>, AnswerError> {
    let &ShowOptions { ref objects, ref scope, max_references, with_entries, data } = options;
    let of = |id: &ObjectId| {
        let scope = scope.clone();
        object(dump, &ObjectOptions { scope, max_references, with_entries, data, ..ObjectOptions::new(id.clone()) })
    };
    Ok(match &objects[..] {
        [id] => ShownObjects::One(Box::new(of(id)?)),
        ids => ShownObjects::Several { objects: ids.iter().map(of).collect::<Result<_, _>>()? },
    })
}

/// One object. O(references) once for all references reversed, and the dominator tree.
///
/// # Errors
/// If the dump holds no objects, has no such object, or takes more memory than it may.
pub fn object<'d>(dump: &'d OpenDump, options: &ObjectOptions) -> Result<ObjectAnswer<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let node = options.object.find(graph, &options.scope)?;
    dump.check_referrers_memory()?;
    let tree = dump.dominators_unless_cut()?;
    let retained_bytes = tree.and_then(|(dominators, retained)| retained.bytes_of(dominators, node));
    let dominator = match tree.map(|(dominators, _)| dominators.dominator_of(node)) {
        Some(Dominator::Node(dominator)) => Some(match ValueReader::of(dump) {
            Some(values) => values.row_with_value(dominator),
            None => ObjectRow::new(graph, dominator),
        }),
        _ => None,
    };
    let section = graph.section_of(node);
    let values = ValueReader::find(dump);
    let array = values.as_ref().map_or(Ok(None), |values| values.first_elements(node))?;
    let fields = match (&values, &array) {
        (Ok(values), None) => Some(values.field_rows(node)?),
        _ => None,
    };
    let value = values.as_ref().ok().and_then(|values| values.shown_value(node));
    let no_values = values.err().and_then(|error| match error {
        AnswerError::NoValues(why) => Some(why),
        _ => None,
    });
    let values = ValueReader::of(dump);
    let mut references = ReferenceRows::references(graph, node, options.max_references, values);
    let mut referrers = ReferenceRows::referrers(graph, node, options.max_references, values);
    if let Some(names) = ReferenceNames::of(dump) {
        references.names = names.of_first(node, references.len().min(ROWS_READ_TOGETHER));
        referrers.names = names.of_referrers(node, graph.referrers(node).take(referrers.len().min(ROWS_READ_TOGETHER)));
    }
    let entries = match options.with_entries {
        true => match collection_entries(dump, node, options.max_references)? {
            None => return Err(AnswerError::NoCollection(graph.display_id(node))),
            entries => entries,
        },
        false => None,
    };
    let data = options.data.map(|options| DataReader::find(dump, options)?.data(node)).transpose()?;
    let said = values.and_then(|values| values.value_in_words(node, value.as_ref()));
    Ok(ObjectAnswer {
        object: ShownObject {
            row: ObjectRow { value_words: said, ..ObjectRow::new(graph, node) },
            retained_bytes,
            dominator: dominator.as_ref().map(|dominator| dominator.id.clone()),
            truncated: value.as_ref().is_some_and(ShownValue::is_cut),
            value,
            length: array.as_ref().map(|array| array.length),
            elements: array
                .filter(|array| array.element_kind != FieldKind::Reference)
                .map(|array| array.first_elements.into_iter().map(ShownValue::from).collect()),
            distance: dump
                .details()
                .filter(|details| details.has_distances())
                .map(|details| details.distance(graph, node).ok().flatten()),
            location: dump
                .details()
                .and_then(|details| details.source_place(graph, node).ok().flatten())
                .map(LocationRow::new),
            backtrace: dump.details().and_then(|details| details.allocation_stack(graph, node).ok().flatten()),
        },
        reachability: Reachability::find(dump, graph, node),
        roots: graph.roots().iter().filter(|root| root.node == node).map(|root| RootRow::new(graph, root)).collect(),
        fields,
        entries,
        data,
        references,
        referrers,
        roots_inferred: graph.roots_inferred(),
        section: (graph.sections().len() > 1)
            .then(|| (section.number(), graph.sections()[section.index()].name.clone())),
        dominator,
        has_class_objects: !graph.types().class_objects().is_empty(),
        no_values,
    })
}

/// A row of the table: the object itself, what it holds, what is related to it, or a root.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RelatedRow {
    /// The object that was asked for, where there are several.
    pub of_object_id: String,
    /// `object`, `dominator`, `root`, `field`, `static`, `element`, `entry`, `reference`, `weak-reference`, `referrer`,
    /// `weak-referrer`.
    pub relation: &'static str,
    /// The id of an object.
    pub id: Option<String>,
    /// Its bytes.
    pub shallow_bytes: Option<u64>,
    /// Of a class object: the class that it stands for.
    pub class: Option<String>,
    /// The name of the field or reference.
    pub reference_name: Option<String>,
    /// The type; of a root what it is.
    pub type_or_root_text: String,
    /// The value.
    pub value: Option<ShownValue>,
}

impl RelatedRow {
    fn of(relation: &'static str, object: ObjectRow) -> Self {
        let ObjectRow { id, type_name: text, class, shallow_bytes, .. } = object;
        RelatedRow {
            relation,
            id: Some(id),
            shallow_bytes: Some(shallow_bytes),
            class,
            type_or_root_text: text,
            ..Self::default()
        }
    }

    fn of_reference(relations: [&'static str; 2], rows: &ReferenceRows<'_>, row: usize) -> Self {
        RelatedRow {
            reference_name: rows.reference_name(row).map(str::to_string),
            value: rows.shown_value(row).cloned(),
            ..Self::of(relations[usize::from(rows.is_weak(row))], rows.get(row))
        }
    }
}

impl ShownObjects<'_> {
    /// Everything that is said of the objects, row by row.
    pub fn related_count_and_row_at(&self) -> (usize, impl Fn(usize) -> RelatedRow + '_) {
        let objects = self.as_slice();
        let rows_of: Vec<_> = objects.iter().map(ObjectAnswer::related_count_and_row_at).collect();
        let ends: Vec<usize> =
            rows_of.iter().scan(0, |sum, (count, _)| Some(std::mem::replace(sum, *sum + count) + count)).collect();
        (ends.last().copied().unwrap_or(0), move |row| {
            let at = ends.partition_point(|end| *end <= row);
            let (count, row_of) = &rows_of[at];
            RelatedRow { of_object_id: objects[at].object.row.id.clone(), ..row_of(row + count - ends[at]) }
        })
    }
}

impl ObjectAnswer<'_> {
    /// Returns true if values can be read.
    pub fn has_values(&self) -> bool {
        self.no_values.is_none()
    }

    /// Everything that is said of the object, row by row.
    pub fn related_count_and_row_at(&self) -> (usize, impl Fn(usize) -> RelatedRow + '_) {
        let object =
            RelatedRow { value: self.object.value.clone(), ..RelatedRow::of("object", self.object.row.clone()) };
        let dominator = self.dominator.clone().map(|dominator| RelatedRow::of("dominator", dominator));
        let roots = self.roots.iter().map(|root| RelatedRow {
            relation: "root",
            type_or_root_text: root.text(),
            ..RelatedRow::default()
        });
        let fields = self.fields.iter().flatten().map(|field| RelatedRow {
            relation: if field.is_static { "static" } else { "field" },
            id: field.target_id().map(str::to_string),
            reference_name: Some(field.label()),
            type_or_root_text: field.held_type().to_string(),
            value: field.value(),
            ..RelatedRow::default()
        });
        let elements = self.object.elements.iter().flatten().enumerate().map(|(at, element)| RelatedRow {
            relation: "element",
            reference_name: Some(format!("[{at}]")),
            type_or_root_text: self.object.row.type_name.trim_end_matches("[]").to_string(),
            value: Some(element.clone()),
            ..RelatedRow::default()
        });
        let entries = self.entries.iter().flat_map(|entries| &entries.rows).map(|entry| {
            let object = entry.value.object().map(|(object, _)| object);
            RelatedRow {
                relation: "entry",
                id: object.map(|object| object.id.clone()),
                shallow_bytes: object.map(|object| object.shallow_bytes),
                reference_name: entry.key.as_ref().map(EntryEnd::words),
                type_or_root_text: object.map_or(String::new(), |object| object.type_name.clone()),
                value: entry.value.value().cloned(),
                ..RelatedRow::default()
            }
        });
        let head = [object].into_iter().chain(dominator).chain(roots).chain(fields).chain(elements);
        let head: Vec<RelatedRow> = head.chain(entries).collect();
        let listed = head.len() + self.references.len();
        (listed + self.referrers.len(), move |row| match row {
            _ if row < head.len() => head[row].clone(),
            _ if row < listed => {
                RelatedRow::of_reference(["reference", "weak-reference"], &self.references, row - head.len())
            }
            _ => RelatedRow::of_reference(["referrer", "weak-referrer"], &self.referrers, row - listed),
        })
    }
}
