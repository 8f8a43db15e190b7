//! Details of single objects that no graph keeps: values of fields, texts, names of references. Read from the
//! dump again when it is printed.

use std::sync::{Mutex, PoisonError};
use std::{fmt, io};

use rayon::prelude::*;

use super::{Contents, ReadError, StringColumns, WantedContents};
use crate::allocations::AllocationDump;
use crate::graph::{ColumnSink, FieldKind, FrameId, GraphNameId, HeapGraph, NodeId, SourcePlace, TypeId};

/// The way in which an object refers to another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceName {
    /// A field, and the type that declares it.
    Field(TypeId, String),
    /// A static field of a class object.
    StaticField(String),
    /// A property of an object whose type declares none (JavaScript).
    Property(String),
    /// An element of an array, from 0.
    Element(u64),
    /// A variable that a closure has captured.
    CapturedVariable(String),
    /// A local variable of a thread, in this frame where the dump says so.
    Local(Option<FrameId>),
    /// An object's class.
    Class,
    /// A class's superclass.
    Superclass,
    /// A class's loader.
    Loader,
    /// A variable that a closure has captured, of a block: those have a slot and no name.
    CapturedVariableSlot(u64),
    /// The content of a map, by its key, as `Map["key"]`, or a key of it: written as it is.
    MapEntry(String),
    /// A slot of the runtime's own, under the runtime's name.
    Internal(String),
}

/// The text of a name behind the object that refers: `.next`, `[12]`, ` <class>`.
impl fmt::Display for ReferenceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReferenceName::Field(_, name) | ReferenceName::StaticField(name) => write!(f, ".{name}"),
            ReferenceName::Property(name) if is_identifier(name) || is_accessor(name) => write!(f, ".{name}"),
            ReferenceName::Property(name) => write!(f, "[{name:?}]"),
            ReferenceName::Element(index) => write!(f, "[{index}]"),
            ReferenceName::CapturedVariable(name) => write!(f, " context variable {name}"),
            ReferenceName::CapturedVariableSlot(slot) => write!(f, " captured variable (slot {slot})"),
            ReferenceName::MapEntry(name) => write!(f, " {name}"),
            ReferenceName::Local(_) => f.write_str(" <local>"),
            ReferenceName::Class => f.write_str(" <class>"),
            ReferenceName::Superclass => f.write_str(" <superclass>"),
            ReferenceName::Loader => f.write_str(" <loader>"),
            ReferenceName::Internal(name) => write!(f, "{{{name}}}"),
        }
    }
}

/// `get size`, `set size`: the functions of a property that has no value.
fn is_accessor(name: &str) -> bool {
    name.strip_prefix("get ").or_else(|| name.strip_prefix("set ")).is_some_and(is_identifier)
}

pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    let begins = chars.next().is_some_and(|first| first.is_alphabetic() || "_$#".contains(first));
    begins && chars.all(|next| next.is_alphanumeric() || "_$".contains(next))
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A reference to nothing.
    Null,
    /// A reference to an object of the dump.
    Object(NodeId),
    /// A reference to an id that no object of the dump has.
    Dangling(u64),
    /// A truth value.
    Boolean(bool),
    /// A UTF-16 unit.
    Char(u16),
    /// A whole number of any width.
    Integer(i64),
    /// A floating-point number of 4 bytes.
    Float(f32),
    /// A floating-point number of 8 bytes.
    Double(f64),
    /// A text that is no object of its own.
    Text(String),
}

/// A field of an object with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldValue {
    /// The object's name for it.
    pub name: ReferenceName,
    /// Its declared kind.
    pub kind: FieldKind,
    /// Its value.
    pub value: Value,
}

/// What an object holds in a field of one of the names that were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedFieldValue {
    /// The object.
    pub node: NodeId,
    /// The place of the field's name among those that were asked for.
    pub name_index: usize,
    /// The value.
    pub value: Value,
}

/// Values of fields that are handed on together, and those of one object more.
pub(super) const FIELD_VALUES_PER_BATCH: usize = 4096;

/// A value as it is shown; of an object beside its type.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ShownValue {
    /// The text of a string.
    Text(Text),
    /// A name: of a thread, a constant, a class.
    Name(Text),
    /// A primitive value, or null.
    Primitive(Value),
}

/// A reference is shown as null: it has no value of its own.
impl From<Value> for ShownValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Text(text) => ShownValue::Text(Text { text, is_cut: false }),
            Value::Object(_) | Value::Dangling(_) => ShownValue::Primitive(Value::Null),
            value => ShownValue::Primitive(value),
        }
    }
}

/// A text, or the start of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Its characters; U+FFFD for those that are none.
    pub text: String,
    /// The dump has more of it.
    pub is_cut: bool,
}

/// The length of an array, and its first elements.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayElements {
    /// Elements that it has.
    pub length: u64,
    /// The kind of each of them.
    pub element_kind: FieldKind,
    /// The first of them.
    pub first_elements: Vec<Value>,
}

/// The kind of a reference, in formats that have such kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReferenceKind {
    /// A property by its name.
    Property,
    /// An element of an array.
    Element,
    /// A variable that a closure has captured.
    CapturedVariable,
    /// A slot of the runtime's own, with a name.
    Internal,
    /// A slot of the runtime's own, without one.
    Hidden,
    /// Another way to what is held anyhow.
    Shortcut,
}

/// Names of groups, and by object the number of its group.
pub type NamedGroups = (Vec<String>, Vec<u32>);

/// What objects are grouped by that says where or when they were allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationGrouping {
    /// The file.
    File,
    /// The number of collections before it.
    CollectionCount,
}

/// Kinds and names of references for walks over all objects, and where functions stand.
pub trait ReferenceKinds: Send {
    /// Appends a label for each strong reference of an object, in the order of the graph: references of one kind and name have
    /// one, elements and hidden ones whatever their number. Labels of frequent names are small. O(references).
    fn append_labels(&self, graph: &HeapGraph, from: NodeId, labels: &mut Vec<u32>);

    /// Asks for the labels of an object ahead, where that helps.
    fn prefetch_labels(&self, _graph: &HeapGraph, _from: NodeId) {}

    /// The kind of a label, and the number of its name where the kind has one. O(1).
    fn kind_and_name(&self, label: u32) -> (ReferenceKind, u32);

    /// The name of a number.
    fn name(&self, number: u32) -> std::borrow::Cow<'_, str>;

    /// The file of a function, or of the constructor of an object; `None` where the dump does not say.
    fn script_file(&self, node: NodeId) -> Option<std::borrow::Cow<'_, str>>;

    /// The first object that a strong reference of this kind and name leads to. O(references).
    fn find_target(&self, graph: &HeapGraph, from: NodeId, wanted: ReferenceKind, wanted_name: &str) -> Option<NodeId> {
        let mut labels = Vec::new();
        self.append_labels(graph, from, &mut labels);
        let is_wanted = |&label: &u32| {
            let (kind, name) = self.kind_and_name(label);
            kind == wanted && self.name(name) == wanted_name
        };
        graph.strong_references(from).get(labels.iter().position(is_wanted)?).copied()
    }
}

/// More than any text has.
const NO_UNIT_LIMIT: usize = usize::MAX >> 1;

/// Reads single objects of a dump again. A call costs a few reads of the file: for what is printed, not for a scan.
///
/// # Errors
/// Every call fails if the dump cannot be read again.
pub trait ObjectDetails: fmt::Debug + Send + Sync {
    /// The fields of an object with their values in the dump's order, of a class object its static ones; those that are
    /// there of a damaged one. An array has none.
    fn fields(&self, graph: &HeapGraph, node: NodeId) -> Result<Vec<FieldValue>, ReadError>;

    /// The name of an object's reference, counted from 0 in `HeapGraph::references`; `None` when the dump has none.
    fn reference_name(&self, graph: &HeapGraph, from: NodeId, nth: usize) -> Result<Option<ReferenceName>, ReadError>;

    /// Returns false if no reference of the dump has a name.
    fn has_reference_names(&self) -> bool {
        true
    }

    /// The text of a string object; `None` for any other object.
    fn text(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        let said = self.shown_values(graph, &[node], NO_UNIT_LIMIT)?.pop().flatten();
        Ok(said.and_then(|value| if let ShownValue::Text(text) = value { Some(text.text) } else { None }))
    }

    /// Hands the whole text of a string or an array of characters (in UTF-8), or the bytes of an array of bytes, to `take`,
    /// piece by piece until that returns false. Returns whether the dump has all of it; `None` for any other object. Memory:
    /// some MiB.
    fn visit_whole_content(
        &self,
        _graph: &HeapGraph,
        _node: NodeId,
        _take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<bool>, ReadError> {
        Ok(None)
    }

    /// The length of an array and its first `limit` elements; `None` for any other object.
    fn elements(&self, _graph: &HeapGraph, _node: NodeId, _limit: usize) -> Result<Option<ArrayElements>, ReadError> {
        Ok(None)
    }

    /// Short texts of some objects, each of at most so many UTF-16 units. Reads each part of the dump once:
    /// for thousands of objects faster than one by one. 100 bytes for each beside the texts.
    fn shown_values(
        &self,
        graph: &HeapGraph,
        nodes: &[NodeId],
        most_units: usize,
    ) -> Result<Vec<Option<ShownValue>>, ReadError>;

    /// Contents of all objects at once: one pass over the dump. Strings of formats that have texts; arrays and fields of
    /// those that have values too.
    fn contents(&self, _graph: &HeapGraph, _wanted: &WantedContents) -> Result<Contents, ReadError> {
        Ok(Contents::default())
    }

    /// Returns true for a format with strings, so that [`contents`](Self::contents) has them.
    fn has_texts(&self) -> bool {
        false
    }

    /// Calls `take` with the texts of some of the strings that [`contents`](Self::contents) gave, by their places among
    /// these, each at most so many UTF-16 units; in no order, on several threads. One pass over the dump.
    fn visit_texts(
        &self,
        _graph: &HeapGraph,
        _strings: &StringColumns,
        _wanted: &[usize],
        _most_units: usize,
        _take: &(dyn Fn(usize, Text) + Sync),
    ) -> Result<(), ReadError> {
        Ok(())
    }

    /// By pair of objects: the field of the first that refers to the second, with the type that declares it; `None`
    /// where it is no declared field. Pairs ascend. One pass over the dump.
    fn fields_between(
        &self,
        _graph: &HeapGraph,
        pairs: &[(NodeId, NodeId)],
    ) -> Result<Vec<Option<(TypeId, GraphNameId)>>, ReadError> {
        Ok(vec![None; pairs.len()])
    }

    /// For each of some names, ascending: the objects with a field of that name and what it holds, ascending. As
    /// [`visit_field_values`](Self::visit_field_values); 40 bytes for each.
    fn values_of_fields(&self, graph: &HeapGraph, names: &[&str]) -> Result<Vec<Vec<(NodeId, Value)>>, ReadError> {
        let columns = Mutex::new(vec![Vec::new(); names.len()]);
        if !names.is_empty() {
            self.visit_field_values(graph, names, &|batch| {
                let mut columns = columns.lock().unwrap_or_else(PoisonError::into_inner);
                batch.iter().for_each(|one| columns[one.name_index].push((one.node, one.value.clone())));
            })?;
        }
        let mut columns = columns.into_inner().unwrap_or_else(PoisonError::into_inner);
        columns.par_iter_mut().for_each(|column| column.par_sort_unstable_by_key(|(node, _)| *node));
        Ok(columns)
    }

    /// Hands the values of all fields of some names, ascending, to `take`, in batches and on several threads. Those of an object
    /// stand together in one batch; of several fields of one name that of its own class, or of the nearest above it. One pass
    /// over the dump.
    fn visit_field_values(
        &self,
        _graph: &HeapGraph,
        _names: &[&str],
        _take: &(dyn Fn(&[NamedFieldValue]) + Sync),
    ) -> Result<(), ReadError> {
        Ok(())
    }

    /// The source place of a function, or of the constructor of an object; `None` where the dump does not say.
    fn source_place(&self, _graph: &HeapGraph, _node: NodeId) -> Result<Option<SourcePlace>, ReadError> {
        Ok(None)
    }

    /// The name of a function, `f()`, or its place if it has no name; `None` for what is no function.
    fn function_name(&self, _graph: &HeapGraph, _node: NodeId) -> Result<Option<String>, ReadError> {
        Ok(None)
    }

    /// The function whose variables an object has for the closures in it, as [`function_name`](Self::function_name) names
    /// it; `None` where the dump does not say, and for what has none.
    fn function_of_captured_variables(&self, _graph: &HeapGraph, _node: NodeId) -> Result<Option<String>, ReadError> {
        Ok(None)
    }

    /// Kinds of all references at once; `None` of a format that has none. Takes as much memory as the dump.
    ///
    /// # Errors
    /// As [`fields`](Self::fields).
    fn reference_kinds(&self, _graph: &HeapGraph) -> Result<Option<Box<dyn ReferenceKinds>>, ReadError> {
        Ok(None)
    }

    /// The stack that allocated an object, the function that did first; `None` where the dump does not say.
    fn allocation_stack(&self, _graph: &HeapGraph, _node: NodeId) -> Result<Option<Vec<String>>, ReadError> {
        Ok(None)
    }

    /// Allocations by stack, as two heaps: `live` and `allocated`; `None` of a dump without stacks. Once: O(objects).
    fn allocations(&self, _graph: &HeapGraph) -> Result<Option<&AllocationDump>, ReadError> {
        Ok(None)
    }

    /// The groups of a kind, and that of each object; `None` of a dump without stacks. One pass over the dump; 4 bytes for
    /// each object.
    fn allocation_groups(&self, _graph: &HeapGraph, _by: AllocationGrouping) -> Result<Option<NamedGroups>, ReadError> {
        Ok(None)
    }

    /// References from what the program holds to an object; `None` when it is only held by the runtime, or not at all.
    /// Of formats that have a rule for it.
    fn distance(&self, _graph: &HeapGraph, _node: NodeId) -> Result<Option<u32>, ReadError> {
        Ok(None)
    }

    /// Returns true for a format that has a rule for distances.
    fn has_distances(&self) -> bool {
        false
    }

    /// Writes what is needed to find the objects in the dump again, for [`Reader::details`](super::Reader::details), as
    /// columns whose names begin with `details.`.
    ///
    /// # Errors
    /// Those of the sink.
    fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_as_in_a_program() {
        let texts = [
            (ReferenceName::Field(TypeId::new(0), "next".into()), ".next"),
            (ReferenceName::StaticField("INSTANCE".into()), ".INSTANCE"),
            (ReferenceName::Property("_size$2".into()), "._size$2"),
            (ReferenceName::Property("a \"b\"".into()), "[\"a \\\"b\\\"\"]"),
            (ReferenceName::Property("2nd".into()), "[\"2nd\"]"),
            (ReferenceName::Property("get size".into()), ".get size"),
            (ReferenceName::Property("get a b".into()), "[\"get a b\"]"),
            (ReferenceName::CapturedVariable("x".into()), " context variable x"),
            (ReferenceName::CapturedVariableSlot(0), " captured variable (slot 0)"),
            (ReferenceName::MapEntry("Map[\"key\"]".into()), " Map[\"key\"]"),
            (ReferenceName::Element(12), "[12]"),
            (ReferenceName::Internal("elements".into()), "{elements}"),
            (ReferenceName::Class, " <class>"),
        ];
        for (name, text) in texts {
            assert_eq!(name.to_string(), text);
        }
    }
}
