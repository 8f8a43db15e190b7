//! The whole object graph as lines of JSON, which `heapgraph` reads back (docs/heapgraph.md).

use std::io::{self, Write};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::ExportError;
use super::error::verify_index_file;
use crate::answers::AnswerError;
use crate::dump::OpenDump;
use crate::escape::json_text;
use crate::graph::{
    ClearableKind, HeapGraph, Loader, NodeId, Reference, Root, RootOrigin, Section, SectionId, SoftReference,
    SourceLine, StackFrame, Thread, TypeId,
};
use crate::input::{AllocationGrouping, NamedGroups, ObjectDetails, ReferenceKinds, ReferenceName, ShownValue};

/// Options of the lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeapgraphOptions {
    /// Names of references, texts and places of allocation, which are read from the dump for each object. Default: none.
    pub with_names: bool,
}

/// Objects whose texts are asked for at once.
const TEXTS_AT_ONCE: usize = 256;
/// Of longer texts the start is written.
const MAX_TEXT_UNITS: usize = 1 << 20;
/// Larger numbers are no exact numbers in JavaScript: they are written as hexadecimal texts.
const MAX_EXACT_NUMBER: u64 = 1 << 53;

/// Writes the graph as the dump has it: sections, types, threads, objects with their references, roots. Roots that were
/// inferred or asked for are left out: whoever reads the lines infers the same. O(objects + references), and with names
/// some reads of the dump for each object.
///
/// # Errors
/// When the dump holds no objects, its index is damaged, or `out` cannot be written to.
pub fn write_heapgraph(dump: &OpenDump, options: &HeapgraphOptions, out: &mut dyn Write) -> Result<(), ExportError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    verify_index_file(dump)?;
    let details = dump.details().filter(|_| options.with_names);
    HeapgraphWriter { dump, graph, details, soft_references: graph.soft_references().unwrap_or(&[]) }.write(out)?;
    Ok(())
}

/// An id as JSON has it.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(into = "WrittenId")]
struct JsonId(u64);

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenId {
    Number(u64),
    Text(String),
}

impl From<JsonId> for WrittenId {
    fn from(JsonId(id): JsonId) -> Self {
        if id <= MAX_EXACT_NUMBER { WrittenId::Number(id) } else { WrittenId::Text(format!("{id:#x}")) }
    }
}

#[derive(Serialize)]
struct HeaderLine<'a> {
    heapgraph: u32,
    runtime: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    producer: Option<&'a str>,
    ids: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled: Option<(f32, f32)>,
    #[serde(skip_serializing_if = "is_zero")]
    dependent_references: u64,
}

#[derive(Serialize)]
struct SectionLine<'a> {
    section: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_ms: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    null_references: u64,
    #[serde(skip_serializing_if = "is_zero")]
    dangling_references: u64,
    #[serde(skip_serializing_if = "is_zero")]
    dangling_roots: u64,
}

impl<'a> SectionLine<'a> {
    fn new(section: &'a Section) -> Self {
        SectionLine {
            section: &section.name,
            started_ms: section.started_ms,
            ended_ms: section.ended_ms,
            null_references: section.null_references,
            dangling_references: section.dangling_references,
            dangling_roots: section.dangling_roots,
        }
    }

    /// Nothing is to be said of it.
    fn is_empty(&self) -> bool {
        self.section.is_empty() && self.null_references + self.dangling_references + self.dangling_roots == 0
    }
}

#[derive(Serialize)]
struct TypeLine<'a> {
    #[serde(rename = "type")]
    number: usize,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<JsonId>,
    #[serde(rename = "super", skip_serializing_if = "Option::is_none")]
    superclass: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loader: Option<JsonId>,
    #[serde(skip_serializing_if = "is_false")]
    of_runtime: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "is_false")]
    apart: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<f32>,
}

#[derive(Serialize)]
struct RangeLine<'a> {
    range: &'static str,
    name: &'a str,
    from: JsonId,
    to: JsonId,
}

#[derive(Serialize)]
struct ThreadLine<'a> {
    thread: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<JsonId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    frames: Vec<FrameLine<'a>>,
}

#[derive(Serialize)]
struct FrameLine<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}

#[derive(Serialize)]
struct RootLine<'a> {
    root: JsonId,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    within: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<usize>,
}

#[derive(Serialize)]
struct EndLine {
    end: bool,
    objects: usize,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn write_line(out: &mut dyn Write, record: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", json_text(record))
}

/// By thread: objects that it refers to because they lie on its stack, with how often.
type StackReferences = FxHashMap<NodeId, FxHashMap<NodeId, usize>>;

struct HeapgraphWriter<'d> {
    dump: &'d OpenDump,
    graph: &'d HeapGraph,
    /// What is read for each object; `None` unless names are asked for.
    details: Option<&'d dyn ObjectDetails>,
    soft_references: &'d [SoftReference],
}

impl HeapgraphWriter<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let graph = self.graph;
        self.write_header(out)?;
        let types = self.types_by_section();
        let mut names: FxHashMap<&str, usize> = FxHashMap::default();
        graph.types().ids().for_each(|type_id| *names.entry(graph.type_name(type_id)).or_default() += 1);
        let stacks = self.stack_references();
        let name_of = self.names_of_threads();
        let collections = self
            .details
            .and_then(|details| details.allocation_groups(graph, AllocationGrouping::CollectionCount).ok().flatten());
        let kinds = self.details.and_then(|details| details.reference_kinds(graph).ok().flatten());
        for (number, section) in graph.sections().iter().enumerate() {
            let id = SectionId::new(number);
            let line = SectionLine::new(section);
            if graph.sections().len() > 1 || !line.is_empty() {
                write_line(out, &line)?;
            }
            for &type_id in &types[number] {
                write_line(out, &self.type_line(type_id, &names))?;
            }
            self.write_ranges(id, out)?;
            let is_here = |node: Option<NodeId>| node.map_or(number == 0, |node| graph.section_of(node) == id);
            for thread in graph.threads().iter().filter(|thread| is_here(thread.node)) {
                write_line(out, &self.thread_line(thread, name_of.get(&thread.node).map(String::as_str)))?;
            }
            // Before the objects, so that a file that is cut has them.
            let is_written =
                |root: &&Root| root.origin == RootOrigin::Dump && !root.is_excluded && is_here(Some(root.node));
            for root in graph.roots().iter().filter(is_written) {
                write_line(out, &self.root_line(root))?;
            }
            self.write_objects(id, &stacks, collections.as_ref(), kinds.as_deref(), out)?;
        }
        write_line(out, &EndLine { end: true, objects: graph.node_count() })
    }

    fn write_header(&self, out: &mut dyn Write) -> io::Result<()> {
        let (graph, info) = (self.graph, self.dump.info());
        let rules = [
            ("objects-hold-class", graph.types().objects_hold_class()),
            ("soft-references-told", graph.soft_references().is_some()),
            ("roots-told", !graph.roots_inferred()),
            ("threads-told", self.has_unrooted_thread()),
            ("frozen-heap", info.frozen_heap),
            ("unheld-in-tree", graph.has_unheld_in_dominator_tree()),
            ("counts-bytes-only", graph.counts_only_objects_with_bytes),
            ("references-missing", graph.lacks_references()),
        ];
        let header = HeaderLine {
            heapgraph: 1,
            runtime: info.runtime().map_or("unknown", |runtime| runtime.word()),
            producer: info.producer.as_deref(),
            ids: graph.id_style().word(),
            rules: rules.into_iter().filter(|&(_, holds)| holds).map(|(rule, _)| rule).collect(),
            sampled: info.sampled,
            dependent_references: graph.dependent_reference_count(),
        };
        write_line(out, &header)
    }

    /// A thread's object is no root by itself, as readers take it to be.
    fn has_unrooted_thread(&self) -> bool {
        let held: FxHashSet<NodeId> =
            self.graph.roots().iter().filter(|root| !root.is_weak()).map(|root| root.node).collect();
        self.graph.threads().iter().filter_map(|thread| thread.node).any(|node| !held.contains(&node))
    }

    /// Types by the section in which their classes are, the first for all others.
    fn types_by_section(&self) -> Vec<Vec<TypeId>> {
        let types = self.graph.types();
        let mut by_section = vec![Vec::new(); self.graph.sections().len().max(1)];
        for type_id in types.ids() {
            let object = types.class_object(type_id).or(match types.loader(type_id) {
                Loader::Object(loader) => Some(loader),
                _ => None,
            });
            let section = object.map_or(0, |node| self.graph.section_of(node).index());
            by_section[section].push(type_id);
        }
        by_section
    }

    fn json_id(&self, node: NodeId) -> JsonId {
        JsonId(self.graph.original_id(node))
    }

    fn type_line(&self, type_id: TypeId, names: &FxHashMap<&str, usize>) -> TypeLine<'_> {
        let types = self.graph.types();
        let loader = types.loader(type_id);
        TypeLine {
            number: type_id.index(),
            name: types.name(type_id),
            class: types.class_object(type_id).map(|node| self.json_id(node)),
            superclass: types.superclass(type_id).map(TypeId::index),
            loader: if let Loader::Object(node) = loader { Some(self.json_id(node)) } else { None },
            of_runtime: loader == Loader::Runtime,
            module: types.module(type_id),
            place: types.constructor_place(type_id).map(|place| [place.script_number, place.line, place.column]),
            apart: names[types.name(type_id)] > 1,
            times: self.graph.is_sample().then(|| types.multiplier(type_id)),
        }
    }

    /// Parts of the heap, generations and times of allocation, as ranges of ids.
    fn write_ranges(&self, section: SectionId, out: &mut dyn Write) -> io::Result<()> {
        let graph = self.graph;
        let own = graph.section_nodes(section);
        let generations = graph.generations().iter().filter(|run| run.generation.is_in_range());
        let generations = generations.map(|run| ("generation", run.nodes.clone(), run.generation.name()));
        let of_parts = [("part", graph.heap_parts()), ("interval", &graph.allocation_intervals)];
        let parts = of_parts.into_iter().flat_map(|(range, parts)| {
            parts.runs.iter().map(move |(nodes, part)| (range, nodes.clone(), parts.names[*part as usize].clone()))
        });
        for (range, nodes, name) in generations.chain(parts) {
            let (first, end) = (nodes.start.max(own.start), nodes.end.min(own.end));
            if first < end {
                let [from, to] = [first, end - 1].map(|at| self.json_id(NodeId::new(at)));
                write_line(out, &RangeLine { range, name: &name, from, to })?;
            }
        }
        Ok(())
    }

    /// Names that threads have in their objects.
    fn names_of_threads(&self) -> FxHashMap<Option<NodeId>, String> {
        let nodes: Vec<NodeId> = self.graph.threads().iter().filter_map(|thread| thread.node).collect();
        let said =
            self.dump.details().and_then(|details| details.shown_values(self.graph, &nodes, MAX_TEXT_UNITS).ok());
        let named = nodes.into_iter().zip(said.unwrap_or_default()).filter_map(|(node, saying)| match saying {
            Some(ShownValue::Name(name)) => Some((Some(node), name.text)),
            _ => None,
        });
        named.collect()
    }

    fn thread_line<'a>(&'a self, thread: &Thread, name: Option<&'a str>) -> ThreadLine<'a> {
        let graph = self.graph;
        let frame = |frame: &StackFrame| FrameLine {
            method: graph.name(frame.method),
            class: frame.class.map(TypeId::index),
            signature: frame.signature.map(|name| graph.name(name)),
            file: frame.source_file.map(|name| graph.name(name)),
            line: if let SourceLine::Number(line) = frame.line { Some(line) } else { None },
            code: match frame.line {
                SourceLine::Compiled => Some("compiled"),
                SourceLine::Native => Some("native"),
                SourceLine::Unknown | SourceLine::Number(_) => None,
            },
        };
        ThreadLine {
            thread: thread.serial,
            name: name.or(thread.name.map(|name| graph.name(name))),
            object: thread.node.map(|node| self.json_id(node)),
            frames: graph.frames_of(thread).iter().map(frame).collect(),
        }
    }

    fn root_line(&self, root: &Root) -> RootLine<'_> {
        let thread = root.thread.map(|thread| &self.graph.threads()[thread.index()]);
        let frame = root.frame.zip(thread).map(|(frame, thread)| frame.index() - thread.frame_range().start);
        RootLine {
            root: self.json_id(root.node),
            kind: root.kind.name(),
            name: self.graph.root_name(root),
            flags: root.flags.names(),
            within: root.declaring_class.map(TypeId::index),
            thread: thread.map(|thread| thread.serial),
            frame,
        }
    }

    /// By thread: how often it refers to what lies on its stack. Readers add these references anew.
    fn stack_references(&self) -> StackReferences {
        let mut stacks = StackReferences::default();
        for root in self.graph.roots().iter().filter(|root| root.is_through_thread && !root.is_excluded) {
            let thread = root.thread.and_then(|thread| self.graph.threads()[thread.index()].node);
            if let Some(thread) = thread {
                *stacks.entry(thread).or_default().entry(root.node).or_default() += 1;
            }
        }
        stacks
    }

    /// The references that an object lists itself: without its class, and of a thread without what lies on its stack.
    fn listed_references(&self, node: NodeId, stacks: &StackReferences, targets: &mut Vec<Reference>) {
        targets.clear();
        targets.extend(self.graph.references(node));
        let types = self.graph.types();
        if types.objects_hold_class() && types.class_object(self.graph.type_of(node)).is_some() {
            targets.pop();
        }
        if let Some(stack) = stacks.get(&node) {
            let mut left = stack.clone();
            // The last of several.
            targets.reverse();
            targets.retain(|target| match left.get_mut(&target.node).filter(|count| **count > 0) {
                Some(count) => {
                    *count -= 1;
                    false
                }
                None => true,
            });
            targets.reverse();
        }
    }

    fn write_objects(
        &self,
        section: SectionId,
        stacks: &StackReferences,
        collections: Option<&NamedGroups>,
        kinds: Option<&dyn ReferenceKinds>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let graph = self.graph;
        let nodes: Vec<NodeId> = graph.section_nodes(section).map(NodeId::new).collect();
        let (mut line, mut targets) = (Vec::new(), Vec::new());
        for nodes in nodes.chunks(TEXTS_AT_ONCE) {
            let texts = self.details.and_then(|details| details.shown_values(graph, nodes, MAX_TEXT_UNITS).ok());
            let mut texts = texts.unwrap_or_default().into_iter();
            for &node in nodes {
                self.listed_references(node, stacks, &mut targets);
                line.clear();
                line.extend_from_slice(b"{\"id\":");
                push_id(&mut line, graph.original_id(node));
                line.extend_from_slice(b",\"type\":");
                push_number(&mut line, graph.type_of(node).index() as u64);
                line.extend_from_slice(b",\"size\":");
                push_number(&mut line, graph.shallow_bytes(node));
                if !targets.is_empty() {
                    push_list(&mut line, "refs", targets.iter(), |line, target| {
                        push_id(line, graph.original_id(target.node));
                    });
                    let weak = (0..targets.len()).filter(|&at| targets[at].is_weak);
                    push_list(&mut line, "weak", weak, |line, at| push_number(line, at as u64));
                    self.push_soft_and_final(&mut line, node, &targets);
                }
                if let Some(class) = graph.types().type_of_class_object(node)
                    && graph.types().class_object(class) != Some(node)
                {
                    line.extend_from_slice(b",\"class_of\":");
                    push_number(&mut line, class.index() as u64);
                }
                if let Some(details) = self.details {
                    push_reference_names(&mut line, graph, details, node, targets.len());
                    if let Some(kinds) = &kinds {
                        push_text(&mut line, "function", details.function_name(graph, node).ok().flatten());
                        push_text(
                            &mut line,
                            "variables_of",
                            details.function_of_captured_variables(graph, node).ok().flatten(),
                        );
                        push_text(&mut line, "script", kinds.script_file(node));
                        if let Ok(Some(place)) = details.source_place(graph, node) {
                            let numbers = [place.script_number, place.line, place.column];
                            push_list(&mut line, "place", numbers.into_iter(), |line, number| {
                                push_number(line, number.into())
                            });
                        }
                    }
                    if let Some(Some(ShownValue::Text(text))) = texts.next() {
                        push_text(&mut line, "text", Some(text.text));
                    }
                    let stack = details.allocation_stack(graph, node).ok().flatten();
                    push_text(&mut line, "at", stack.and_then(|stack| stack.into_iter().next()));
                }
                if let Some((names, of_node)) = &collections
                    && let Ok(collections) = names[of_node[node.index()] as usize].parse()
                {
                    line.extend_from_slice(b",\"generation\":");
                    push_number(&mut line, collections);
                }
                line.extend_from_slice(b"}\n");
                out.write_all(&line)?;
            }
        }
        Ok(())
    }

    /// Places of strong references that the runtime may give up.
    fn push_soft_and_final(&self, line: &mut Vec<u8>, node: NodeId, targets: &[Reference]) {
        let own = self.soft_references.partition_point(|soft| soft.source < node);
        let own = self.soft_references[own..].iter().take_while(|soft| soft.source == node);
        let mut left: FxHashMap<NodeId, Vec<ClearableKind>> = FxHashMap::default();
        own.for_each(|soft| left.entry(soft.target).or_default().push(soft.kind));
        let mut places = [Vec::new(), Vec::new()];
        for (at, target) in targets.iter().enumerate().filter(|(_, target)| !target.is_weak) {
            if let Some(holding) = left.get_mut(&target.node).and_then(Vec::pop) {
                places[usize::from(holding == ClearableKind::Final)].push(at);
            }
        }
        for (key, places) in ["soft", "final"].into_iter().zip(places) {
            push_list(line, key, places.into_iter(), |line, at| push_number(line, at as u64));
        }
    }
}

/// `,"key":[...]`; nothing for an empty list.
fn push_list<T>(line: &mut Vec<u8>, key: &str, items: impl Iterator<Item = T>, push: impl Fn(&mut Vec<u8>, T)) {
    let mut is_empty = true;
    for item in items {
        if std::mem::take(&mut is_empty) {
            line.extend_from_slice(b",\"");
            line.extend_from_slice(key.as_bytes());
            line.extend_from_slice(b"\":[");
        } else {
            line.push(b',');
        }
        push(line, item);
    }
    if !is_empty {
        line.push(b']');
    }
}

/// `,"key":"text"`; nothing without a text.
fn push_text(line: &mut Vec<u8>, key: &str, text: Option<impl AsRef<str>>) {
    if let Some(text) = text {
        line.extend_from_slice(format!(",\"{key}\":{}", json_text(&text.as_ref())).as_bytes());
    }
}

fn push_reference_names(
    line: &mut Vec<u8>,
    graph: &HeapGraph,
    details: &dyn ObjectDetails,
    node: NodeId,
    references: usize,
) {
    let name = |nth| details.reference_name(graph, node, nth).ok().flatten().map(reference_name_text);
    let names: Vec<Option<String>> = (0..references).map(name).collect();
    if names.iter().any(Option::is_some) {
        line.extend_from_slice(b",\"names\":");
        line.extend_from_slice(json_text(&names).as_bytes());
    }
}

/// A name as lines have it (docs/heapgraph.md, "Objects").
fn reference_name_text(name: ReferenceName) -> String {
    let is_marked = |name: &str| {
        name.starts_with(['.', '[', '{', '<', '@', ' ', '\''])
            || ["static ", "context variable ", "context slot "].iter().any(|start| name.starts_with(start))
    };
    match name {
        ReferenceName::Field(_, name) if name.starts_with('@') => name,
        ReferenceName::Field(_, name) => format!(".{name}"),
        ReferenceName::StaticField(name) => format!("static {name}"),
        ReferenceName::Property(name) if is_marked(&name) => format!("'{name}"),
        ReferenceName::Property(name) => name,
        ReferenceName::CapturedVariableSlot(slot) => format!("context slot {slot}"),
        name @ ReferenceName::MapEntry(_) => name.to_string(),
        name => name.to_string().trim_start().to_string(),
    }
}

fn push_id(line: &mut Vec<u8>, id: u64) {
    if id <= MAX_EXACT_NUMBER {
        push_number(line, id);
    } else {
        line.extend_from_slice(format!("\"{id:#x}\"").as_bytes());
    }
}

fn push_number(line: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[at..]);
}
