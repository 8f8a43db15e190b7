//! The best way to an object as it is told: steps with names, lists as one step.

use super::prepared_heap::{AnalysedHeap, simple_name};
use crate::analysis::leaks::CodeOwner;
use crate::answers::libraries::dotted_type_name;
use crate::graph::{NodeId, Root, RootKind};
use crate::input::{ReferenceName, Value};

/// Steps of a way that are looked at: of a longer one the first and the last.
const MAX_PATH_STEPS: usize = 120;

/// One reference on the way.
#[derive(Debug, Clone)]
pub(super) struct LeakPathStep {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) name: Option<ReferenceName>,
    /// The owner of the reference: of a variable on a stack that of its method, else that of the object's type.
    pub(super) owner: CodeOwner,
}

/// A way from where it begins to what is kept.
#[derive(Debug, Clone)]
pub(super) struct LeakPath {
    pub(super) start: NodeId,
    pub(super) steps: Vec<LeakPathStep>,
    /// Steps above what grew: the last of these leads into it.
    pub(super) steps_above_growth: usize,
}

impl LeakPath {
    /// The best way to an object; `rows` are what grew.
    pub(super) fn to(analysed: &AnalysedHeap<'_>, node: NodeId, rows: &[u32]) -> Self {
        let all = analysed.rows.paths().path_to(node);
        let row = |node: NodeId| analysed.rows.row_of(node);
        // Of a list the last object stands for all.
        let mut nodes: Vec<NodeId> = Vec::new();
        let mut pairs: Vec<(NodeId, NodeId)> = Vec::new();
        for &at in &all {
            match nodes.last_mut() {
                Some(last) if row(*last) == row(at) => *last = at,
                Some(last) => {
                    pairs.push((*last, at));
                    nodes.push(at);
                }
                None => nodes.push(at),
            }
        }
        if pairs.len() > MAX_PATH_STEPS {
            pairs.drain(MAX_PATH_STEPS / 2..pairs.len() - MAX_PATH_STEPS / 2);
        }
        let is_in = |node: NodeId| row(node).is_some_and(|row| rows.binary_search(&row).is_ok());
        let above = pairs.iter().position(|&(_, to)| is_in(to)).map_or(0, |at| at + 1);
        let above = if all.first().is_some_and(|&first| is_in(first)) { 0 } else { above };
        let mut way = LeakPath { start: all[0], steps: Vec::new(), steps_above_growth: above };
        for (at, (from, to)) in pairs.into_iter().enumerate() {
            way.push(LeakPathStep::new(analysed, from, to), at < above);
        }
        way
    }

    /// Appends a step. Python's dict of an object's, a class's or a module's variables is none of its own.
    fn push(&mut self, step: LeakPathStep, is_above: bool) {
        match self.steps.last_mut() {
            Some(last)
                if last.field_or_variable_name().as_deref() == Some("__dict__")
                    && step.field_or_variable_name().is_some() =>
            {
                (last.to, last.name) = (step.to, step.name);
                self.steps_above_growth -= usize::from(is_above);
            }
            _ => self.steps.push(step),
        }
    }

    /// Types on the way and names of references, for shapes: from the program's last variable or field above what grew, for
    /// what that hangs on has no more of it than before.
    pub(super) fn types_and_references(&self, analysed: &AnalysedHeap<'_>) -> (Vec<String>, Vec<String>) {
        let own = self.steps[..self.steps_above_growth].iter().rposition(LeakPathStep::is_of_program);
        let steps = &self.steps[own.unwrap_or(0)..];
        let first = own.is_none().then_some(self.start);
        let types = first.into_iter().chain(steps.iter().map(|step| step.to));
        let types = types.map(|node| match analysed.heap.graph.types().type_of_class_object(node) {
            Some(class) => dotted_type_name(analysed.heap.graph.type_name(class)).into_owned(),
            None => analysed.heap.type_name(node),
        });
        // A thread's own values belong to what has the ThreadLocal.
        let of_thread = self.thread_local_value(analysed).filter(|_| own.is_none());
        let key = of_thread.and_then(|value| value.key);
        let of_key = key.map(|key| analysed.rows.paths().path_to(key)).unwrap_or_default();
        let of_key = of_key.into_iter().map(|node| analysed.heap.type_name(node));
        let above = &steps[..self.steps_above_growth - own.unwrap_or(0)];
        (types.chain(of_key).collect(), above.iter().filter_map(LeakPathStep::field_or_variable_name).collect())
    }

    /// The nearest object above what grew that is no array or link: the collection that has it.
    pub(super) fn collection(&self, analysed: &AnalysedHeap<'_>) -> NodeId {
        let is_part = |node: NodeId| {
            let (name, type_role) = (analysed.heap.type_name(node), analysed.heap.type_role(node));
            name.ends_with("[]") || name.starts_with('(') || type_role.is_carrier && type_role.folds_same_type
        };
        match self.steps[..self.steps_above_growth].iter().rev().find(|step| !is_part(step.from)) {
            // A class or a module has it in a variable.
            Some(step) if analysed.heap.graph.types().type_of_class_object(step.from).is_some() => step.to,
            Some(step) if analysed.heap.modules.contains_key(&step.from) => step.to,
            Some(step) => step.from,
            None => self.start,
        }
    }

    /// The value of a thread's own on the way: of a ThreadLocal, else of Netty's FastThreadLocal.
    pub(super) fn thread_local_value(&self, analysed: &AnalysedHeap<'_>) -> Option<ThreadLocalValue> {
        let is_entry = |node: NodeId| analysed.heap.type_name(node) == "java.lang.ThreadLocal$ThreadLocalMap$Entry";
        let above = &self.steps[..self.steps_above_growth];
        let entry = above.iter().map(|step| step.to).chain([self.start]).find(|&node| is_entry(node));
        entry.map(|entry| ThreadLocalValue { entry, key: key_of_thread_local(analysed, entry) }).or_else(|| {
            let in_slot = above.windows(2).find(|steps| is_map_of_fast_thread_locals(analysed, &steps[0]))?;
            let Some(ReferenceName::Element(slot)) = in_slot[1].name else { return None };
            let slot = i64::try_from(slot).ok()?;
            Some(ThreadLocalValue { entry: in_slot[1].from, key: fast_thread_local_of_slot(analysed, slot) })
        })
    }
}

/// A value that a thread keeps for itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadLocalValue {
    /// What refers to the value: the entry, or the array of all.
    pub(super) entry: NodeId,
    /// The ThreadLocal that it is of; `None` where nothing holds it any more.
    pub(super) key: Option<NodeId>,
}

/// True for a step from Netty's map of a thread to the array of its values.
fn is_map_of_fast_thread_locals(analysed: &AnalysedHeap<'_>, step: &LeakPathStep) -> bool {
    matches!(&step.name, Some(ReferenceName::Field(_, name)) if name == "indexedVariables")
        && analysed.heap.type_name(step.from).ends_with("io.netty.util.internal.InternalThreadLocalMap")
}

/// Netty's FastThreadLocal whose values stand at a place of the array. O(objects).
fn fast_thread_local_of_slot(analysed: &AnalysedHeap<'_>, slot: i64) -> Option<NodeId> {
    let (graph, values) = (analysed.heap.graph, analysed.heap.values?);
    let types = graph.types();
    let is_one = types.map_by_superclass(|type_id, above: Option<&bool>| {
        above == Some(&true)
            || dotted_type_name(types.name(type_id)).ends_with("io.netty.util.concurrent.FastThreadLocal")
    });
    graph.nodes().filter(|&node| is_one[graph.type_of(node).index()]).find(|&node| {
        values.raw_fields(node).iter().any(|field| {
            matches!(&field.name, ReferenceName::Field(_, name) if name == "index")
                && field.value == Value::Integer(slot)
        })
    })
}

/// The ThreadLocal of an entry, which refers to it weakly.
pub(super) fn key_of_thread_local(analysed: &AnalysedHeap<'_>, entry: NodeId) -> Option<NodeId> {
    analysed.heap.graph.references(entry).find(|to| to.is_weak).map(|to| to.node)
}

impl LeakPathStep {
    fn new(analysed: &AnalysedHeap<'_>, from: NodeId, to: NodeId) -> Self {
        let name = analysed.heap.names.and_then(|names| names.find_between(from, to));
        let owner = match &name {
            Some(ReferenceName::Local(frame)) => analysed.heap.owner_and_method_of_local(*frame).0,
            // An element says nothing of where it is.
            None if analysed.heap.type_role(from).is_carrier => CodeOwner::Runtime,
            // A field that is inherited is no word of the program's.
            Some(ReferenceName::Field(class, _)) => analysed.heap.type_roles[class.index()].owner,
            _ => analysed.heap.owner_of_object(from),
        };
        LeakPathStep { from, to, name, owner }
    }

    /// Its name where it has one that a programmer gave: no element, no class.
    pub(super) fn field_or_variable_name(&self) -> Option<String> {
        match self.name.as_ref()? {
            ReferenceName::Field(_, name)
            | ReferenceName::StaticField(name)
            | ReferenceName::Property(name)
            | ReferenceName::CapturedVariable(name) => Some(name.clone()).filter(|name| !name.starts_with('<')),
            _ => None,
        }
    }

    pub(super) fn is_local(&self) -> bool {
        matches!(self.name, Some(ReferenceName::Local(_)))
    }

    /// True for a reference of the program's own: a variable, one with a name of its own, or one that the dump does not name.
    pub(super) fn is_of_program(&self) -> bool {
        self.owner == CodeOwner::Application
            && (self.is_local() || self.field_or_variable_name().is_some() || self.name.is_none())
    }

    /// `static Shop.CACHE`, `Cart.items`, `a local variable of Shop.serve in thread main`.
    pub(super) fn text(&self, analysed: &AnalysedHeap<'_>) -> String {
        let heap = &analysed.heap;
        let field = self.field_or_variable_name().map_or(String::new(), |field| format!(".{field}"));
        if let Some(ReferenceName::Local(frame)) = self.name {
            let (_, method) = heap.owner_and_method_of_local(frame);
            let thread = match heap.thread_names.get(&self.from).map(String::as_str) {
                Some("") => "a thread without a name".into(),
                name => format!("thread {}", name.unwrap_or("of the runtime")),
            };
            return match method.starts_with('<') {
                true => format!("a local variable in {thread}"),
                false => format!("a local variable of {} in {thread}", simple_method(&method)),
            };
        }
        if let Some(module) = heap.modules.get(&self.from) {
            return format!("{module}{field}");
        }
        match heap.graph.types().type_of_class_object(self.from) {
            Some(class) => format!("static {}{field}", simple_name(&dotted_type_name(heap.graph.type_name(class)))),
            None => format!("{}{field}", simple_name(&heap.type_name(self.from))),
        }
    }
}

/// `shop.Cart.add` as `Cart.add`.
fn simple_method(method: &str) -> String {
    match method.rsplit_once('.') {
        Some((class, name)) => format!("{}.{name}", simple_name(class)),
        None => method.to_string(),
    }
}

/// The root record that tells most of an object: of a thread that it runs, for it is a variable of its own methods too.
pub(super) fn most_telling_root<'p>(analysed: &'p AnalysedHeap<'_>, node: NodeId) -> Option<&'p Root> {
    let roots = analysed.heap.graph.strong_roots().filter(|root| root.node == node);
    roots.min_by_key(|root| (root.kind != RootKind::Thread, root.kind))
}

/// `static Shop.cache`, of roots that are a class's variables; else what kind of root it is.
pub(super) fn root_owner_and_text(analysed: &AnalysedHeap<'_>, root: &Root) -> (CodeOwner, String) {
    let graph = analysed.heap.graph;
    let container = root.declaring_class.map(|class| dotted_type_name(graph.type_name(class)));
    let name = graph.root_name(root);
    match (root.kind, container) {
        (RootKind::Static, Some(class)) => {
            let text = match name {
                Some(name) => format!("static {}.{name}", simple_name(&class)),
                None => format!("a static variable of {}", simple_name(&class)),
            };
            (analysed.heap.libraries.owner_of(&class), text)
        }
        (_, Some(class)) => (CodeOwner::Runtime, format!("{} ({})", root.kind.meaning(), simple_name(&class))),
        // Whose it is the dump does not say.
        (RootKind::Static, None) if name.is_some() => {
            (CodeOwner::Runtime, format!("static {}", name.unwrap_or_default()))
        }
        (_, None) => (CodeOwner::Runtime, root.kind.meaning().to_string()),
    }
}
