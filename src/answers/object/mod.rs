//! One object: its sizes, what it says and holds, what holds it, references out and in.

mod rows;
mod table;

use serde::Serialize;

pub use rows::NodeRows;
pub use table::RelatedRow;

use super::reachability::unreached_note;
use super::reference_names::ReferenceNames;
use super::rows::{FEW_ROWS, LocationRow, is_false};
use super::values::{FieldRow, ShownValue, ValueReader};
use super::{AnswerError, CommandLine, ObjectId, ObjectRow, Reachability, RootRow, ScopeOptions};
use crate::analysis::dominators::Dominator;
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
    pub rows: Option<usize>,
}

impl ObjectOptions {
    /// All about an object.
    pub fn new(object: ObjectId) -> Self {
        ObjectOptions { object, scope: ScopeOptions::default(), rows: None }
    }

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("show");
        line.option("-n", Some(&self.rows.unwrap_or(0).to_string()));
        self.scope.add_to(&mut line);
        line.word(self.object.to_string());
        line
    }
}

/// An object. Rows of references are made when they are asked for.
#[derive(Serialize)]
#[non_exhaustive]
pub struct ObjectAnswer<'d> {
    /// The object.
    pub object: ShownObject,
    /// True if a strong root reaches it.
    #[serde(rename = "reachable")]
    pub reachability: Reachability,
    /// Its own root records, weak ones too.
    pub roots: Vec<RootRow>,
    /// Its fields with their values, of a class object its static ones; `None` of arrays, and where there are no values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldRow>>,
    /// References of the object, in the order of the dump, repeats kept, weak ones too.
    pub references: NodeRows<'d>,
    /// Objects that refer to it, by section and id, weak ones too.
    pub referrers: NodeRows<'d>,
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
    pub has_classes: bool,
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
    pub rows: Option<usize>,
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
        unreached_note(unreached().count() as u64, unreached().all(|reached| reached == Reachability::Frozen))
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
    let ShowOptions { objects, scope, rows } = options;
    let of = |id: &ObjectId| {
        object(dump, &ObjectOptions { scope: scope.clone(), rows: *rows, ..ObjectOptions::new(id.clone()) })
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
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    let node = options.object.find(graph, &options.scope)?;
    dump.check_referrers()?;
    let tree = dump.dominators_if_known()?;
    let retained_bytes = tree.and_then(|(dominators, retained)| retained.bytes_of(dominators, node));
    let dominator = match tree.map(|(dominators, _)| dominators.dominator_of(node)) {
        Some(Dominator::Node(dominator)) => Some(match ValueReader::of(dump) {
            Some(values) => values.row(dominator),
            None => ObjectRow::new(graph, dominator),
        }),
        _ => None,
    };
    let section = graph.section_of(node);
    let values = ValueReader::find(dump);
    let array = values.as_ref().map_or(Ok(None), |values| values.elements(node))?;
    let fields = match (&values, &array) {
        (Ok(values), None) => Some(values.fields(node)?),
        _ => None,
    };
    let value = values.as_ref().ok().and_then(|values| values.said_by(node));
    let no_values = values.err().and_then(|error| match error {
        AnswerError::NoValues(why) => Some(why),
        _ => None,
    });
    let values = ValueReader::of(dump);
    let mut references = NodeRows::references(graph, node, options.rows, values);
    let mut referrers = NodeRows::referrers(graph, node, options.rows, values);
    if let Some(names) = ReferenceNames::of(dump) {
        references.names = names.of_first(node, references.len().min(FEW_ROWS));
        referrers.names = names.of_referrers(node, graph.referrers(node).take(referrers.len().min(FEW_ROWS)));
    }
    let said = value.as_ref().map(ShownValue::words);
    Ok(ObjectAnswer {
        object: ShownObject {
            row: ObjectRow { said, ..ObjectRow::new(graph, node) },
            retained_bytes,
            dominator: dominator.as_ref().map(|dominator| dominator.id.clone()),
            truncated: value.as_ref().is_some_and(ShownValue::is_cut),
            value,
            length: array.as_ref().map(|array| array.length),
            elements: array
                .filter(|array| array.kind != FieldKind::Reference)
                .map(|array| array.first.into_iter().map(ShownValue::from).collect()),
            distance: dump
                .details()
                .filter(|details| details.has_distances())
                .map(|details| details.distance(graph, node).ok().flatten()),
            location: dump
                .details()
                .and_then(|details| details.place(graph, node).ok().flatten())
                .map(LocationRow::new),
            backtrace: dump.details().and_then(|details| details.stack(graph, node).ok().flatten()),
        },
        reachability: Reachability::find(dump, graph, node),
        roots: graph.roots().iter().filter(|root| root.node == node).map(|root| RootRow::new(graph, root)).collect(),
        fields,
        references,
        referrers,
        roots_inferred: graph.roots_inferred(),
        section: (graph.sections().len() > 1)
            .then(|| (section.number(), graph.sections()[section.index()].name.clone())),
        dominator,
        has_classes: !graph.types().class_objects().is_empty(),
        no_values,
    })
}
