//! The best way to an object as it is told: steps with names, lists as one step.

use super::program::{Program, simple_name};
use crate::analysis::leaks::Owner;
use crate::answers::libraries::dotted;
use crate::graph::{NodeId, Root, RootKind};
use crate::input::ReferenceName;

/// Steps of a way that are looked at: of a longer one the first and the last.
const MAX_STEPS: usize = 120;

/// One reference on the way.
#[derive(Debug, Clone)]
pub(super) struct WayStep {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) name: Option<ReferenceName>,
    /// The owner of the reference: of a variable on a stack that of its method, else that of the object's type.
    pub(super) owner: Owner,
}

/// A way from where it begins to what is kept.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) start: NodeId,
    pub(super) steps: Vec<WayStep>,
    /// Steps above what grew: the last of these leads into it.
    pub(super) above: usize,
}

impl Way {
    /// The best way to an object; `rows` are what grew.
    pub(super) fn to(program: &Program<'_>, node: NodeId, rows: &[u32]) -> Self {
        let all = program.paths.way_to(node);
        let row = |node: NodeId| program.rows.row_of(node);
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
        if pairs.len() > MAX_STEPS {
            pairs.drain(MAX_STEPS / 2..pairs.len() - MAX_STEPS / 2);
        }
        let is_in = |node: NodeId| row(node).is_some_and(|row| rows.binary_search(&row).is_ok());
        let above = pairs.iter().position(|&(_, to)| is_in(to)).map_or(0, |at| at + 1);
        let above = if all.first().is_some_and(|&first| is_in(first)) { 0 } else { above };
        let mut way = Way { start: all[0], steps: Vec::new(), above };
        for (at, (from, to)) in pairs.into_iter().enumerate() {
            way.push(WayStep::new(program, from, to), at < above);
        }
        way
    }

    /// Appends a step. Python's dict of an object's, a class's or a module's variables is none of its own.
    fn push(&mut self, step: WayStep, is_above: bool) {
        match self.steps.last_mut() {
            Some(last) if last.field().as_deref() == Some("__dict__") && step.field().is_some() => {
                (last.to, last.name) = (step.to, step.name);
                self.above -= usize::from(is_above);
            }
            _ => self.steps.push(step),
        }
    }

    /// Types on the way and names of references, for shapes.
    pub(super) fn types_and_references(&self, program: &Program<'_>) -> (Vec<String>, Vec<String>) {
        let types = [self.start].into_iter().chain(self.steps.iter().map(|step| step.to));
        let types = types.map(|node| match program.heap.graph.types().of_class_object(node) {
            Some(class) => dotted(program.heap.graph.type_name(class)).into_owned(),
            None => program.heap.type_name(node),
        });
        // A thread's own values belong to what has the ThreadLocal.
        let key = self.thread_local_entry(program).and_then(|entry| key_of_thread_local(program, entry));
        let of_key = key.map(|key| program.paths.way_to(key)).unwrap_or_default();
        let of_key = of_key.into_iter().map(|node| program.heap.type_name(node));
        (types.chain(of_key).collect(), self.steps.iter().filter_map(WayStep::field).collect())
    }

    /// The nearest object above what grew that is no array or link: the collection that has it.
    pub(super) fn collection(&self, program: &Program<'_>) -> NodeId {
        let is_part = |node: NodeId| {
            let (name, nature) = (program.heap.type_name(node), program.heap.nature(node));
            name.ends_with("[]") || name.starts_with('(') || nature.is_glue && nature.folds
        };
        match self.steps[..self.above].iter().rev().find(|step| !is_part(step.from)) {
            // A class or a module has it in a variable.
            Some(step) if program.heap.graph.types().of_class_object(step.from).is_some() => step.to,
            Some(step) if program.heap.modules.contains_key(&step.from) => step.to,
            Some(step) => step.from,
            None => self.start,
        }
    }

    /// The entry of a thread's own values on the way.
    pub(super) fn thread_local_entry(&self, program: &Program<'_>) -> Option<NodeId> {
        let is_entry = |node: NodeId| program.heap.type_name(node) == "java.lang.ThreadLocal$ThreadLocalMap$Entry";
        self.steps[..self.above].iter().map(|step| step.to).chain([self.start]).find(|&node| is_entry(node))
    }
}

/// The ThreadLocal of an entry, which refers to it weakly.
pub(super) fn key_of_thread_local(program: &Program<'_>, entry: NodeId) -> Option<NodeId> {
    program.heap.graph.references(entry).find(|to| to.is_weak).map(|to| to.node)
}

impl WayStep {
    fn new(program: &Program<'_>, from: NodeId, to: NodeId) -> Self {
        let name = program.heap.names.and_then(|names| names.find_between(from, to));
        let owner = match &name {
            Some(ReferenceName::Local(frame)) => program.heap.owner_of_local(*frame).0,
            // An element says nothing of where it is.
            None if program.heap.nature(from).is_glue => Owner::Runtime,
            // A field that is inherited is no word of the program's.
            Some(ReferenceName::Field(class, _)) => program.heap.natures[class.index()].owner,
            _ => program.heap.owner(from),
        };
        WayStep { from, to, name, owner }
    }

    /// Its name where it has one that a programmer gave: no element, no class.
    pub(super) fn field(&self) -> Option<String> {
        match self.name.as_ref()? {
            ReferenceName::Field(_, name)
            | ReferenceName::StaticField(name)
            | ReferenceName::Property(name)
            | ReferenceName::Variable(name) => Some(name.clone()).filter(|name| !name.starts_with('<')),
            _ => None,
        }
    }

    pub(super) fn is_local(&self) -> bool {
        matches!(self.name, Some(ReferenceName::Local(_)))
    }

    /// True for a reference of the program's own that has a name.
    pub(super) fn is_own(&self) -> bool {
        self.owner == Owner::Own && (self.is_local() || self.field().is_some() || self.name.is_none())
    }

    /// `static Shop.CACHE`, `Cart.items`, `a local variable of Shop.serve in thread main`.
    pub(super) fn text(&self, program: &Program<'_>) -> String {
        let heap = &program.heap;
        let field = self.field().map_or(String::new(), |field| format!(".{field}"));
        if let Some(ReferenceName::Local(frame)) = self.name {
            let (_, method) = heap.owner_of_local(frame);
            let thread = heap.threads.get(&self.from).map_or("of the runtime", String::as_str);
            return match method.starts_with('<') {
                true => format!("a local variable in thread {thread}"),
                false => format!("a local variable of {} in thread {thread}", simple_method(&method)),
            };
        }
        if let Some(module) = heap.modules.get(&self.from) {
            return format!("{module}{field}");
        }
        match heap.graph.types().of_class_object(self.from) {
            Some(class) => format!("static {}{field}", simple_name(&dotted(heap.graph.type_name(class)))),
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

/// The root record that tells most of an object.
pub(super) fn root_of<'p>(program: &'p Program<'_>, node: NodeId) -> Option<&'p Root> {
    program.heap.graph.strong_roots().filter(|root| root.node == node).min_by_key(|root| root.kind)
}

/// `static Shop.cache`, of roots that are a class's variables; else what kind of root it is.
pub(super) fn root_text(program: &Program<'_>, root: &Root) -> (Owner, String) {
    let graph = program.heap.graph;
    let container = root.container.map(|class| dotted(graph.type_name(class)));
    let name = graph.root_name(root);
    match (root.kind, container) {
        (RootKind::Static, Some(class)) => {
            let text = match name {
                Some(name) => format!("static {}.{name}", simple_name(&class)),
                None => format!("a static variable of {}", simple_name(&class)),
            };
            (program.heap.libraries.owner_of(&class), text)
        }
        (_, Some(class)) => (Owner::Runtime, format!("{} ({})", root.kind.meaning(), simple_name(&class))),
        // Whose it is the dump does not say.
        (RootKind::Static, None) if name.is_some() => (Owner::Runtime, format!("static {}", name.unwrap_or_default())),
        (_, None) => (Owner::Runtime, root.kind.meaning().to_string()),
    }
}
