//! Objects and roots as every answer names them, and whether roots reach an object.

use std::borrow::Cow;
use std::cmp::Ordering;

use rayon::prelude::*;
use serde::{Serialize, Serializer};

use crate::analysis::dominators::{DominatorNode, Dominators};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, Root, RootKind, SourcePlace};
use crate::units::format_count;

/// Objects whose values and names are read together.
pub(in crate::answers) const ROWS_READ_TOGETHER: usize = 4096;

/// An object wherever one is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ObjectRow {
    /// The object's id as the dump writes it, with its section where there are several.
    pub id: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Of a class object: the class that it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Bytes of the object itself.
    pub shallow_bytes: u64,
    /// Its own value in words, where that was asked for.
    #[serde(skip)]
    pub value_words: Option<String>,
}

impl ObjectRow {
    /// The row of an object. O(log objects).
    pub(crate) fn new(graph: &HeapGraph, node: NodeId) -> Self {
        ObjectRow {
            id: graph.display_id(node),
            type_name: graph.type_name(graph.type_of(node)).to_string(),
            class: graph.types().type_of_class_object(node).map(|class| graph.type_name(class).to_string()),
            shallow_bytes: graph.shallow_bytes(node),
            value_words: None,
        }
    }

    /// The type's name with what the object says; of a class object `class zoo.Zoo`.
    pub fn type_text(&self) -> String {
        match (&self.class, &self.value_words) {
            (Some(class), _) => class_text(class),
            (None, Some(said)) => type_with_value(&type_words(&self.type_name), said),
            (None, None) => type_words(&self.type_name).into_owned(),
        }
    }
}

pub(in crate::answers) fn class_text(class: &str) -> String {
    format!("class {class}")
}

/// A step of a tree or a path: the name of the reference, and what it leads to.
pub fn step_text(reference: Option<&str>, object: &str) -> String {
    match reference {
        Some("{native_to_javascript}") => format!("its wrapper {{native_to_javascript}}  {object}"),
        Some(reference) => format!("{reference}  {object}"),
        None => object.to_string(),
    }
}

/// V8's type of the variables that closures have captured.
pub(in crate::answers) const CLOSURE_VARIABLES_TYPE: &str = "system / Context";

/// A type in words with what an object of it says: of captured variables the function comes before V8's name for them.
pub fn type_with_value(type_words: &str, said: &str) -> String {
    match type_words.split_once(" (").filter(|_| type_words.ends_with(" (system / Context)")) {
        Some((words, raw)) => format!("{words} {said} ({raw}"),
        None => format!("{type_words} {said}"),
    }
}

const CLOSURE_VARIABLES_WORDS: &str = "closure variables";
const HIDDEN_CLASS_WORDS: &str = "hidden class";

/// A type, or what such an object is called with, with words for what is of a runtime's inside.
pub fn type_words(name: &str) -> Cow<'_, str> {
    let has_words = name.starts_with(CLOSURE_VARIABLES_WORDS) || name.starts_with(HIDDEN_CLASS_WORDS);
    // Behind it stands the number of a scope, or what it holds.
    let of_context = name.strip_prefix(CLOSURE_VARIABLES_TYPE).filter(|rest| !rest.starts_with(char::is_alphanumeric));
    let variable = of_context.filter(|rest| !rest.starts_with(" / "));
    // HotSpot's have the address of their description behind their name.
    let address =
        name.rsplit_once("/0x").map_or(0, |(_, rest)| rest.chars().take_while(char::is_ascii_hexdigit).count());
    match variable {
        _ if has_words => name.into(),
        Some(variable) => format!("{CLOSURE_VARIABLES_WORDS} ({CLOSURE_VARIABLES_TYPE}){variable}").into(),
        None if of_context.is_some() || name.contains("<>c__DisplayClass") => {
            format!("{CLOSURE_VARIABLES_WORDS} ({name})").into()
        }
        None if address >= 8 => format!("{HIDDEN_CLASS_WORDS} {name}").into(),
        None => name.into(),
    }
}

/// A root record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RootRow {
    /// The word for its kind: `static`.
    pub kind: String,
    /// Its flags in words: `pinned`.
    pub flags: Vec<String>,
    /// The class with the static variable, or of the method with the local, where the dump says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The variable or method, where the dump says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Meaning of the kind, in words for people who have not read a format's document.
    #[serde(skip)]
    pub kind_meaning: &'static str,
    /// The type of the object that it holds; of a static variable whose class is not known it stands behind the name.
    #[serde(skip)]
    pub value_type: Option<String>,
    /// The method of the frame that a local variable is in, where the dump says so.
    #[serde(skip)]
    pub method: Option<String>,
}

impl RootRow {
    pub(crate) fn new(graph: &HeapGraph, root: &Root) -> Self {
        RootRow {
            kind: root.kind.name(),
            flags: root.flags.names(),
            container: root.declaring_class.map(|container| graph.type_name(container).to_string()),
            name: graph.root_name(root).map(str::to_string),
            kind_meaning: root.kind.meaning(),
            value_type: Some(graph.type_name(graph.type_of(root.node)).to_string()),
            method: graph
                .frame_of(root)
                .filter(|_| root.kind == RootKind::Local && root.declaring_class.is_none())
                .map(|frame| {
                    let class = frame.class.map_or(String::new(), |class| format!("{}.", graph.type_name(class)));
                    format!("{class}{}", graph.name(frame.method))
                }),
        }
    }

    /// The record in a line: `static BubbleGame.Events.EventBus (pinned)`, `local of Demo.Program.Main`.
    pub fn text(&self) -> String {
        let is_of_method = self.name.is_some() && self.kind == RootKind::Local.name() && self.method.is_none();
        let of = if is_of_method { " of" } else { "" };
        let subject = self.subject().map_or(String::new(), |subject| format!(" {subject}"));
        let flags = if self.flags.is_empty() { String::new() } else { format!(" ({})", self.flags.join(", ")) };
        format!("{}{of}{subject}{flags}", self.kind)
    }

    /// The record in a narrow place: `JNI global`, `static app.Cache.entries`, `system class`.
    pub fn short_text(&self) -> String {
        RootRow { kind: self.kind_in_words(), name: self.telling_name(), ..self.clone() }.text()
    }

    /// Its kind in words for people.
    pub fn kind_in_words(&self) -> String {
        match self.kind.strip_prefix("jni-") {
            _ if self.is_global_object() => "global object".to_string(),
            _ if self.kind == RootKind::Gc.name() => "collector".to_string(),
            Some(rest) => format!("JNI {rest}"),
            None => self.kind.replace('-', " "),
        }
    }

    /// The record in words for people who do not know the kinds: `a static variable of BubbleGame.Events.EventBus,
    /// pinned`; `static field Head : Demo.Model.ListNode`; `a local of method Demo.Program.WaitHolding`.
    pub fn words(&self) -> String {
        let is = |kind: RootKind| self.kind == kind.name();
        let mut text = match (&self.name, &self.container) {
            _ if self.is_global_object() => "the global object".to_string(),
            (Some(_), _) if is(RootKind::Static) => "static field".to_string(),
            (Some(_), _) if self.method.is_some() => "a local variable".to_string(),
            (Some(_), _) if is(RootKind::Local) => "a local of method".to_string(),
            // A category of V8's roots.
            (_, Some(container)) if container.starts_with('(') => self.kind_meaning.to_string(),
            (_, Some(_)) => format!("{} of", self.kind_meaning),
            (_, None) => self.kind_meaning.to_string(),
        };
        if let Some(subject) = self.subject() {
            text.push(' ');
            text.push_str(&subject);
        }
        for flag in &self.flags {
            text.push_str(", ");
            text.push_str(flag);
        }
        text
    }

    /// JavaScript's: held by no variable, it has the name of its own type.
    fn is_global_object(&self) -> bool {
        self.kind == RootKind::Static.name()
            && self.container.is_none()
            && self.name.is_some()
            && self.name == self.value_type
    }

    /// The variable, method or class of the root. Where the class with a static variable is not known, the type of its
    /// value stands behind its name, as in a declaration.
    fn subject(&self) -> Option<String> {
        match (&self.container, &self.name) {
            (None, Some(name)) if self.method.is_some() => {
                Some(format!("{name} of {}", self.method.as_deref().unwrap_or_default()))
            }
            (Some(container), Some(name)) => Some(format!("{container}.{name}")),
            (Some(container), None) => Some(container.clone()),
            (None, Some(name)) if self.kind == RootKind::Static.name() && !self.is_global_object() => {
                Some(format!("{name} : {}", self.value_type.as_deref().unwrap_or("?")))
            }
            (None, _) => self.telling_name(),
        }
    }

    /// The name, where it says more than the kind.
    fn telling_name(&self) -> Option<String> {
        self.name.clone().filter(|name| !(self.is_global_object() && name == "global"))
    }
}

/// A place in a program's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LocationRow {
    /// The runtime's number of the script.
    pub script_id: u32,
    /// From 1.
    pub line: u64,
    /// From 1.
    pub column: u64,
}

impl LocationRow {
    pub(in crate::answers) fn new(place: SourcePlace) -> Self {
        LocationRow {
            script_id: place.script_number,
            line: u64::from(place.line) + 1,
            column: u64::from(place.column) + 1,
        }
    }

    /// `123:4:5`
    pub fn text(&self) -> String {
        format!("{}:{}:{}", self.script_id, self.line, self.column)
    }
}

/// Objects above one in the dominator tree, the nearest first.
pub(in crate::answers) fn dominators_above(
    tree: &Dominators,
    object: DominatorNode,
) -> impl Iterator<Item = DominatorNode> {
    std::iter::successors(Some(object), |&number| Some(tree.immediate_dominator_of(number)))
        .skip(1)
        .take_while(|&number| number != DominatorNode::ROOT)
}

/// Sorts the first `first` rows of the whole order to the front, the others are behind them. O(rows), and a sort of the first.
pub(in crate::answers) fn sort_first<T: Send>(
    rows: &mut [T],
    first: usize,
    compare: impl Fn(&T, &T) -> Ordering + Sync,
) {
    let first = first.min(rows.len());
    if 0 < first && first < rows.len() {
        rows.select_nth_unstable_by(first - 1, &compare);
    }
    rows[..first].par_sort_unstable_by(&compare);
}

/// For figures that are left out where they are not so.
pub(in crate::answers) fn is_false(value: &bool) -> bool {
    !value
}

/// Reachability of an object. Serialises as true if a strong root reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reachability {
    /// A strong root reaches it.
    Reachable,
    /// Only strong roots that were left out on request would reach it.
    ByExcludedRootsOnly,
    /// No strong root reaches it, but it is alive: on the frozen heap, which is never collected.
    OnFrozenHeap,
    /// No strong root reaches it.
    Unreachable,
}

impl Reachability {
    /// O(1) for an object that a strong root reaches, and where no roots were left out; else O(objects + references)
    /// once for all objects.
    pub(in crate::answers) fn find(dump: &OpenDump, graph: &HeapGraph, node: NodeId) -> Self {
        if dump.reachable().contains(node) {
            return Reachability::Reachable;
        }
        let some_left_out = graph.roots().iter().any(|root| root.is_excluded);
        match some_left_out && dump.reachable_as_dumped().contains(node) {
            true => Reachability::ByExcludedRootsOnly,
            false if dump.info().frozen_heap => Reachability::OnFrozenHeap,
            false => Reachability::Unreachable,
        }
    }

    /// Behind "not reachable from any strong root": the roots that would reach it.
    pub fn left_out_roots_text(self) -> &'static str {
        if self == Reachability::ByExcludedRootsOnly { " but those that --exclude-roots leaves out" } else { "" }
    }

    /// Returns true if a strong root reaches it.
    pub fn is_reached(self) -> bool {
        self == Reachability::Reachable
    }
}

/// Note on objects without a retained size, with the reason; `None` where all have one.
pub(in crate::answers) fn unreached_note(count: u64, are_alive: bool) -> Option<String> {
    let (are, have, them) = if count == 1 { ("is", "has", "it") } else { ("are", "have", "them") };
    let count = (count > 0).then(|| format_count(count))?;
    Some(match are_alive {
        true => format!(
            "note: {count} of these objects {have} no root but {are} alive, on the frozen heap: no retained size"
        ),
        false => format!(
            "note: {count} of these objects {are} not reachable from any strong root and {have} no retained size; \
             --keep-unreachable gives {them} one"
        ),
    })
}

impl Serialize for Reachability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.is_reached())
    }
}

#[cfg(test)]
mod tests {
    use super::{RootRow, type_words};
    use crate::graph::RootKind;

    #[test]
    fn a_runtimes_inside_has_words_once() {
        for (name, expected) in [
            ("system / Context", "closure variables (system / Context)"),
            ("system / Context / scope @5", "closure variables (system / Context / scope @5)"),
            ("system / Context.handler", "closure variables (system / Context).handler"),
            ("system / ContextCell", "system / ContextCell"),
            ("App.Shop+<>c__DisplayClass5_0", "closure variables (App.Shop+<>c__DisplayClass5_0)"),
            ("a.LambdaForm$MH/0x00007fc05", "hidden class a.LambdaForm$MH/0x00007fc05"),
            ("github.com/0xproject.Order", "github.com/0xproject.Order"),
        ] {
            assert_eq!(type_words(name), expected);
            assert_eq!(type_words(expected), expected);
        }
    }

    #[test]
    fn roots_in_words() {
        let root = |kind: RootKind, container: Option<&str>, name: Option<&str>| RootRow {
            kind: kind.name(),
            flags: Vec::new(),
            container: container.map(str::to_string),
            name: name.map(str::to_string),
            kind_meaning: kind.meaning(),
            value_type: Some("V".into()),
            method: None,
        };
        let both = |root: RootRow| (root.text(), root.words());
        let expect = |text: &str, words: &str| (text.to_string(), words.to_string());
        assert_eq!(both(root(RootKind::Static, Some("C"), None)), expect("static C", "a static variable of C"));
        assert_eq!(both(root(RootKind::Static, Some("C"), Some("f"))), expect("static C.f", "static field C.f"));
        assert_eq!(both(root(RootKind::Static, None, Some("f"))), expect("static f : V", "static field f : V"));
        assert_eq!(both(root(RootKind::Static, None, Some("V"))), expect("static V", "the global object V"));
        assert_eq!(both(root(RootKind::Local, Some("C"), Some("M"))), expect("local of C.M", "a local of method C.M"));
        assert_eq!(both(root(RootKind::Local, None, None)), expect("local", "a local variable"));
        let short = |kind: RootKind, container| root(kind, container, None).short_text();
        assert_eq!(short(RootKind::JniGlobal, None), "JNI global");
        assert_eq!(short(RootKind::Gc, Some("(GC roots)")), "collector (GC roots)");
        assert_eq!(short(RootKind::SystemClass, Some("a.C")), "system class a.C");
        assert_eq!(root(RootKind::Static, None, Some("V")).short_text(), "global object V");
        let of_frame = RootRow { method: Some("C.m".into()), ..root(RootKind::Local, None, Some("v")) };
        assert_eq!(both(of_frame), expect("local v of C.m", "a local variable v of C.m"));
        let pinned = RootRow { flags: vec!["pinned".into(), "weak".into()], ..root(RootKind::Handle, None, None) };
        assert_eq!(both(pinned), expect("handle (pinned, weak)", "a GC handle, pinned, weak"));
    }
}
