//! Names of references, where the dump has them: fields, elements, variables on stacks.

use super::entry_steps::EntryNamer;
use super::frames::FrameRow;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, Reference, Root, RootKind};
use crate::input::{ObjectDetails, ReferenceName};

/// Gives references their names.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceNames<'d> {
    dump: &'d OpenDump,
    graph: &'d HeapGraph,
    details: &'d dyn ObjectDetails,
}

impl<'d> ReferenceNames<'d> {
    /// `None` for a dump that names none.
    pub fn of(dump: &'d OpenDump) -> Option<Self> {
        Some(ReferenceNames {
            dump,
            graph: dump.graph()?,
            details: dump.details().filter(|details| details.has_reference_names())?,
        })
    }

    /// Reads the names of elements of collections.
    pub(in crate::answers) fn entry_namer(&self) -> EntryNamer<'d> {
        EntryNamer { dump: self.dump, graph: self.graph, details: self.details }
    }

    /// [`between_on_path`](Self::between_on_path) where nothing comes before.
    pub fn between(&self, from: NodeId, to: NodeId) -> Option<String> {
        self.between_on_path(None, from, to)
    }

    /// The name of the first reference between two objects, strong before weak: `.next`, `[12]`, `static Zoo.bus`. A
    /// captured variable is that of the closure `before` on the path, where there is one. O(references of `from`), and a
    /// few reads of the dump.
    pub fn between_on_path(&self, before: Option<NodeId>, from: NodeId, to: NodeId) -> Option<String> {
        let name = self.find_between(from, to)?;
        let text = self.text_to(from, to, &name);
        if !matches!(name, ReferenceName::CapturedVariable(_) | ReferenceName::CapturedVariableSlot(_)) {
            return Some(text);
        }
        let closure = before.and_then(|before| self.details.function_name(self.graph, before).ok().flatten());
        Some(closure.map_or(text.clone(), |closure| format!("{text} in closure {closure}")))
    }

    /// Names of the references by which an object holds some of those that it dominates, `…` where it refers to one only by
    /// way of others. Reads the dump. O(references of the holder).
    pub fn of_dominated(&self, holder: NodeId, objects: &[NodeId]) -> Vec<Option<String>> {
        let places = reference_places(self.graph, holder, objects);
        places.into_iter().map(|place| self.of_place(holder, place)).collect()
    }

    /// Names of the references by which some objects are held by what dominates them, of different elements `[*]`; `…` where
    /// one has several ways in. As [`of_dominated`](Self::of_dominated) for each.
    pub fn joint_name_of_dominated(&self, steps: &[(NodeId, NodeId)]) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        for &(holder, object) in steps {
            let name = self.of_dominated(holder, &[object]).pop()??;
            if name == "…" {
                return Some(name);
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.len() > 1 { self.of_examples(steps) } else { names.pop() }
    }

    pub(in crate::answers) fn find_between(&self, from: NodeId, to: NodeId) -> Option<ReferenceName> {
        let leads_there = |is_weak: bool| {
            let mut references = self.graph.references(from);
            references.position(|reference| reference.node == to && reference.is_weak == is_weak)
        };
        self.find_nth(from, leads_there(false).or_else(|| leads_there(true))?)
    }

    /// Names of some references: `.next`, `[*]` for elements and entries, several names one behind the other, three
    /// at most.
    pub fn of_examples(&self, examples: &[(NodeId, NodeId)]) -> Option<String> {
        const MAX_NAMES: usize = 3;
        let mut names: Vec<String> = Vec::new();
        for &(from, to) in examples {
            let found = self.find_between(from, to);
            let name = match found {
                Some(ReferenceName::Element(_)) => "[*]".to_string(),
                Some(name) => self.text(from, &name),
                None => continue,
            };
            if names.contains(&name) {
                continue;
            }
            if names.len() == MAX_NAMES {
                names.push("...".into());
                break;
            }
            names.push(name);
        }
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The names of references to an object: of one that refers to it more than once each of its names, in their order.
    /// Referrers behind the first 16 million references of all together stay without: arrays of millions are read whole.
    pub fn of_referrers(&self, to: NodeId, referrers: impl Iterator<Item = Reference>) -> Vec<Option<String>> {
        let mut left = 1usize << 24;
        let mut places: Option<(Reference, Box<dyn Iterator<Item = usize> + '_>)> = None;
        let names = referrers.map(|referrer| {
            if places.as_ref().is_none_or(|(last, _)| *last != referrer) {
                let own = self.graph.references(referrer.node);
                left = left.saturating_sub(own.len());
                let own = own.enumerate().filter(move |(_, own)| own.node == to && own.is_weak == referrer.is_weak);
                places = Some((referrer, Box::new(own.map(|(place, _)| place))));
            }
            let (_, places) = places.as_mut().filter(|_| left > 0)?;
            self.of_nth(referrer.node, places.next()?)
        });
        names.collect()
    }

    /// The name of the reference at a place; of none `…`.
    pub(in crate::answers) fn of_place(&self, holder: NodeId, place: Option<u32>) -> Option<String> {
        /// References behind the first ones have no names: those of an array are read from its start.
        const MAX_NAMED: u32 = 1 << 18;
        match place {
            Some(place) if place >= MAX_NAMED => None,
            Some(place) => self.of_nth(holder, place as usize),
            None => Some("…".into()),
        }
    }

    /// The name of an object's reference, counted in [`HeapGraph::references`].
    pub(in crate::answers) fn of_nth(&self, from: NodeId, nth: usize) -> Option<String> {
        let name = self.find_nth(from, nth)?;
        // Of others the name says all, and to find the reference takes as many steps as there are before it.
        let is_local = matches!(name, ReferenceName::Local(Some(_)));
        let to = if is_local { self.graph.references(from).nth(nth) } else { None };
        Some(to.map_or_else(|| self.text(from, &name), |to| self.text_to(from, to.node, &name)))
    }

    fn find_nth(&self, from: NodeId, nth: usize) -> Option<ReferenceName> {
        // A dump that cannot be read any more has no names to give.
        self.details.reference_name(self.graph, from, nth).ok()?
    }

    /// The names of an object's first references, in the order of [`HeapGraph::references`].
    pub fn of_first(&self, from: NodeId, count: usize) -> Vec<Option<String>> {
        (0..count).map(|nth| self.of_nth(from, nth)).collect()
    }

    /// The text of a name; of a variable on a stack with the variable's own, where the dump has it. O(roots) for these.
    fn text_to(&self, from: NodeId, to: NodeId, name: &ReferenceName) -> String {
        let text = self.text(from, name);
        let ReferenceName::Local(Some(frame)) = name else { return text };
        let is_it = |root: &&Root| root.node == to && root.frame == Some(*frame) && root.kind == RootKind::Local;
        let variable = self.graph.roots().iter().find(is_it).and_then(|root| self.graph.root_name(root));
        match variable {
            Some(variable) => text.replacen("local of", &format!("local {variable} of"), 1),
            None => text,
        }
    }

    fn text(&self, from: NodeId, name: &ReferenceName) -> String {
        match name {
            ReferenceName::StaticField(field) => {
                let class =
                    self.graph.types().type_of_class_object(from).map_or("", |class| self.graph.type_name(class));
                let simple = class.rsplit_once('.').map_or(class, |(_, simple)| simple);
                format!("static {simple}.{field}")
            }
            ReferenceName::Local(Some(frame)) => {
                let frame = self.graph.frames().get(frame.index());
                let text = frame.map_or_else(|| "a frame".into(), |frame| FrameRow::new(self.graph, frame, &[]).text());
                format!("local of {text}")
            }
            _ => name.to_string().trim_start().to_string(),
        }
    }
}

/// Of each of some objects the place of the first strong reference to it among those of the holder, counted in
/// [`HeapGraph::references`]. O(references of the holder, and a sort of the objects).
pub(in crate::answers) fn reference_places(graph: &HeapGraph, holder: NodeId, objects: &[NodeId]) -> Vec<Option<u32>> {
    let mut found: Vec<(NodeId, Option<u32>)> = objects.iter().map(|&object| (object, None)).collect();
    found.sort_unstable();
    found.dedup();
    let mut left = found.len();
    for (place, reference) in (0u32..).zip(graph.references(holder)) {
        if left == 0 {
            break;
        }
        if let Ok(at) = found.binary_search_by_key(&reference.node, |(node, _)| *node)
            && found[at].1.is_none()
            && !reference.is_weak
        {
            found[at].1 = Some(place);
            left -= 1;
        }
    }
    let place_of = |object: &NodeId| found[found.partition_point(|(node, _)| node < object)].1;
    objects.iter().map(place_of).collect()
}
