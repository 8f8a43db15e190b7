//! Single objects, read again when they are printed: values of fields, names of references, what they say.

pub(super) mod contents;
pub(super) mod counted_instances;
pub(super) mod finder;
pub(super) mod many_fields;
pub(super) mod object_pass;
pub(super) mod shown_values;
pub(super) mod texts_of_strings;
pub(super) mod values;

use std::sync::{Mutex, OnceLock, PoisonError};
use std::{fmt, io};

use super::records::{ClassDump, ClassReference};
use super::wire::sub_record_tags;
use crate::graph::{ColumnSink, FieldKind, GraphNameId, HeapGraph, NodeId, TypeId};
use crate::input::counted_instances::primitive_value;
use crate::input::{
    ArrayElements, Contents, FieldValue, NamedFieldValue, ObjectDetails, ReadError, ReferenceName, RereadableFile,
    ShownValue, StringColumns, Text, Value, WantedContents,
};
use contents::read_contents;
use finder::{ObjectPlaces, RecordFinder};
use many_fields::{fields_between, visit_field_values};
use shown_values::{TextSource, shown_values, text_sources, visit_whole_text};
use texts_of_strings::visit_texts;
use values::{array_values, instance_values, parsed_array, reference_value};

/// More than any record has.
const NO_BYTE_LIMIT: usize = usize::MAX >> 1;

/// Reads objects of one dump again.
pub(super) struct HprofDetails {
    finder: RecordFinder,
    text_sources: OnceLock<Vec<TextSource>>,
    /// Of the object whose references were named last: their names, and whether these are all.
    last_names: Mutex<Option<(NodeId, Vec<ReferenceName>, bool)>>,
}

impl fmt::Debug for HprofDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HprofDetails").field("extents", &self.finder.places.extents.len()).finish_non_exhaustive()
    }
}

impl HprofDetails {
    pub(super) fn new(places: ObjectPlaces, reread: RereadableFile) -> Self {
        HprofDetails {
            finder: RecordFinder::new(places, reread),
            text_sources: OnceLock::new(),
            last_names: Mutex::new(None),
        }
    }

    fn id_bytes(&self) -> usize {
        self.finder.places.id_bytes
    }

    fn instance_fields(&self, graph: &HeapGraph, node: NodeId, record: &[u8]) -> Vec<FieldValue> {
        let name = |field: crate::graph::Field| graph.types().text(field.name).to_string();
        let values = instance_values(graph, graph.type_of(node), record, self.id_bytes());
        let fields = values.map(|(declaring, field, value)| FieldValue {
            name: ReferenceName::Field(declaring, name(field)),
            kind: field.kind,
            value,
        });
        fields.collect()
    }

    fn static_fields(&self, graph: &HeapGraph, node: NodeId, dump: &ClassDump) -> Vec<FieldValue> {
        let types = graph.types();
        let Some(class) = types.type_of_class_object(node) else { return Vec::new() };
        let names = types.fields(class).iter().filter(|field| field.is_static);
        let fields = dump.statics.iter().zip(names).map(|(one, field)| FieldValue {
            name: ReferenceName::StaticField(types.text(field.name).into()),
            kind: field.kind,
            value: match field.kind {
                FieldKind::Reference => reference_value(graph, one.value),
                kind => primitive_value(kind, one.value),
            },
        });
        fields.collect()
    }

    /// Names of the references that an object has by itself, in the order of the graph; of an array `most` and one more
    /// at most.
    fn own_reference_names(
        &self,
        graph: &HeapGraph,
        from: NodeId,
        most: usize,
    ) -> Result<Vec<ReferenceName>, ReadError> {
        let id = graph.original_id(from);
        if let Some(dump) = self.finder.class_dump(id)? {
            return Ok(self.class_reference_names(graph, from, &dump));
        }
        let is_kept = |value: &Value| matches!(value, Value::Object(_));
        Ok(match self.finder.find_sub_record(id, NO_BYTE_LIMIT)? {
            Some(record) if record.tag == sub_record_tags::INSTANCE => {
                let fields = self.instance_fields(graph, from, &record.bytes).into_iter();
                fields.filter(|field| is_kept(&field.value)).map(|field| field.name).collect()
            }
            Some(record) => match parsed_array(&record, self.id_bytes()) {
                Some((FieldKind::Reference, _, bytes)) => {
                    let values = array_values(graph, FieldKind::Reference, bytes, self.id_bytes()).enumerate();
                    let kept = values.filter(|(_, value)| is_kept(value));
                    // No more than it takes to come to the one that is asked for.
                    kept.map(|(index, _)| ReferenceName::Element(index as u64)).take(most.saturating_add(1)).collect()
                }
                _ => Vec::new(),
            },
            None => Vec::new(),
        })
    }

    /// Names of the references of a class object.
    fn class_reference_names(&self, graph: &HeapGraph, node: NodeId, dump: &ClassDump) -> Vec<ReferenceName> {
        let statics = self.static_fields(graph, node, dump);
        let name = |reference| {
            Some(match reference {
                ClassReference::Superclass => ReferenceName::Superclass,
                ClassReference::Loader => ReferenceName::Loader,
                ClassReference::Constant(index) => ReferenceName::Internal(format!("constant {index}")),
                ClassReference::Static(index) => statics.get(index)?.name.clone(),
            })
        };
        let references = dump.class_references(self.finder.places.class_held_by_boot_loader);
        let kept = references.filter(|&(_, id)| matches!(reference_value(graph, id), Value::Object(_)));
        kept.map_while(|(reference, _)| name(reference)).collect()
    }
}

impl ObjectDetails for HprofDetails {
    fn fields(&self, graph: &HeapGraph, node: NodeId) -> Result<Vec<FieldValue>, ReadError> {
        let id = graph.original_id(node);
        if let Some(dump) = self.finder.class_dump(id)? {
            return Ok(self.static_fields(graph, node, &dump));
        }
        Ok(match self.finder.find_sub_record(id, NO_BYTE_LIMIT)? {
            Some(record) if record.tag == sub_record_tags::INSTANCE => self.instance_fields(graph, node, &record.bytes),
            _ => Vec::new(),
        })
    }

    fn elements(&self, graph: &HeapGraph, node: NodeId, limit: usize) -> Result<Option<ArrayElements>, ReadError> {
        let Some(record) = self.finder.find_sub_record(graph.original_id(node), limit.saturating_mul(8))? else {
            return Ok(None);
        };
        Ok(parsed_array(&record, self.id_bytes()).map(|(kind, length, bytes)| {
            let first = array_values(graph, kind, bytes, self.id_bytes());
            ArrayElements { length, element_kind: kind, first_elements: first.take(limit).collect() }
        }))
    }

    fn reference_name(&self, graph: &HeapGraph, from: NodeId, nth: usize) -> Result<Option<ReferenceName>, ReadError> {
        let mut names = self.last_names.lock().unwrap_or_else(PoisonError::into_inner);
        let is_enough =
            |&(node, ref own, are_all): &(NodeId, Vec<_>, bool)| node == from && (are_all || nth < own.len());
        if !names.as_ref().is_some_and(is_enough) {
            // Some more than are asked for: the next ones will be.
            let most = nth.saturating_mul(2).max(1 << 12);
            let own = self.own_reference_names(graph, from, most)?;
            let are_all = own.len() <= most;
            *names = Some((from, own, are_all));
        }
        let Some((_, own, _)) = &*names else { return Ok(None) };
        if let Some(name) = own.get(nth) {
            return Ok(Some(name.clone()));
        }
        let is_of_thread = |thread: crate::graph::ThreadId| graph.threads()[thread.index()].node == Some(from);
        let locals =
            graph.roots().iter().filter(|root| root.is_through_thread && root.thread.is_some_and(is_of_thread));
        if let Some(local) = locals.clone().nth(nth - own.len()) {
            return Ok(Some(ReferenceName::Local(local.frame)));
        }
        let others = own.len() + locals.count();
        Ok((nth == others && nth + 1 == graph.references(from).len()).then_some(ReferenceName::Class))
    }

    fn visit_whole_content(
        &self,
        graph: &HeapGraph,
        node: NodeId,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<bool>, ReadError> {
        let text_sources = self.text_sources.get_or_init(|| text_sources(graph, self.id_bytes()));
        let source = text_sources.get(graph.type_of(node).index()).copied().unwrap_or(TextSource::Nothing);
        visit_whole_text(&self.finder, graph, source, node, take)
    }

    fn shown_values(
        &self,
        graph: &HeapGraph,
        nodes: &[NodeId],
        most_units: usize,
    ) -> Result<Vec<Option<ShownValue>>, ReadError> {
        let text_sources = self.text_sources.get_or_init(|| text_sources(graph, self.id_bytes()));
        shown_values(&self.finder, graph, text_sources, nodes, most_units)
    }

    fn contents(&self, graph: &HeapGraph, wanted: &WantedContents) -> Result<Contents, ReadError> {
        read_contents(
            &self.finder,
            graph,
            self.text_sources.get_or_init(|| text_sources(graph, self.id_bytes())),
            wanted,
        )
    }

    fn has_texts(&self) -> bool {
        true
    }

    fn visit_texts(
        &self,
        graph: &HeapGraph,
        strings: &StringColumns,
        wanted: &[usize],
        most_units: usize,
        take: &(dyn Fn(usize, Text) + Sync),
    ) -> Result<(), ReadError> {
        visit_texts(&self.finder, graph, strings, wanted, most_units, take)
    }

    fn fields_between(
        &self,
        graph: &HeapGraph,
        pairs: &[(NodeId, NodeId)],
    ) -> Result<Vec<Option<(TypeId, GraphNameId)>>, ReadError> {
        fields_between(&self.finder, graph, pairs)
    }

    fn visit_field_values(
        &self,
        graph: &HeapGraph,
        names: &[&str],
        take: &(dyn Fn(&[NamedFieldValue]) + Sync),
    ) -> Result<(), ReadError> {
        visit_field_values(&self.finder, graph, names, take)
    }

    fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<()> {
        self.finder.places.store(sink)
    }
}
