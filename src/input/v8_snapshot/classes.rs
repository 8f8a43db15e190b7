//! Classes of nodes: what a row of the histogram is called.

use rustc_hash::FxHashMap;

use super::bit_set::BitSet;
use super::block::DANGLING_TARGET;
use super::layout::{EdgeKind, NodeKind};
use super::plain_objects::{NO_NAME, NamesOfPlainObjects};
use super::snapshot::Snapshot;
use crate::graph::{SlotColumn, SourcePlace};

/// In place of the number of a class that is not known yet.
const NO_CLASS: u32 = u32::MAX;

/// Names of classes and the class of each node.
#[derive(Debug)]
pub(super) struct NodeClasses {
    /// Classes: the number of the name of each, and the place of the constructor where that tells classes of one name
    /// apart.
    pub(super) all_classes: Vec<(u32, Option<SourcePlace>)>,
    pub(super) names: Vec<String>,
    /// By ordinal.
    pub(super) class_of_node: SlotColumn,
}

impl NodeClasses {
    pub(super) fn name(&self, class: usize) -> &str {
        &self.names[self.all_classes[class].0 as usize]
    }
}

/// Numbers classes in the order in which they are met.
#[derive(Default)]
struct ClassNumbers {
    /// As `all_classes` of `NodeClasses`.
    all_classes: Vec<(u32, Option<SourcePlace>)>,
    names: Vec<String>,
    /// Classes without a place, by name.
    by_name: FxHashMap<String, u32>,
}

impl ClassNumbers {
    /// The class of a name, without a place.
    fn class_of_name(&mut self, name: String) -> u32 {
        *self.by_name.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.all_classes.push((self.names.len() as u32 - 1, None));
            self.all_classes.len() as u32 - 1
        })
    }

    /// The class of the same name at a place that was not met before.
    fn add_class_at_place(&mut self, class: u32, place: SourcePlace) -> u32 {
        self.all_classes.push((self.all_classes[class as usize].0, Some(place)));
        self.all_classes.len() as u32 - 1
    }
}

/// Classifies every node. `raw_types` leaves out what DevTools makes of names. O(nodes), and O(edges) of plain objects.
pub(super) fn classify(snapshot: &Snapshot, raw_types: bool) -> NodeClasses {
    let mut numbering = ClassNumbers::default();
    let mut by_kind = [NO_CLASS; 256];
    // Classes of a name: objects, natives and the embedder's as such, and natives that are detached.
    let mut of_name = vec![NO_CLASS; snapshot.strings.len() + 1];
    let mut of_detached: FxHashMap<u32, u32> = FxHashMap::default();
    let detached = detached_nodes(snapshot);
    let plain = snapshot.strings.indices_of("Object");
    let plain_objects =
        if raw_types { NamesOfPlainObjects::default() } else { NamesOfPlainObjects::find(snapshot, &plain) };
    let class_of_name: Vec<u32> =
        plain_objects.names.iter().map(|name| numbering.class_of_name(name.clone())).collect();
    let mut plain_names = plain_objects.name_number_by_object.iter().copied();
    let mut locations = snapshot.locations.iter().copied().peekable();
    let mut of_place: FxHashMap<(u32, SourcePlace), u32> = FxHashMap::default();
    let mut of_node = SlotColumn::default();
    for node in 0..snapshot.len() as u32 {
        let kind = snapshot.kind(node);
        let location = locations.next_if(|&(ordinal, _)| ordinal == node).map(|(_, location)| location);
        let is_named = match kind {
            NodeKind::Object | NodeKind::Native => true,
            // Objects of the embedder.
            NodeKind::Synthetic => !snapshot.is_category(node),
            _ => false,
        };
        if !is_named {
            let number = snapshot.kinds[node as usize];
            let class = &mut by_kind[usize::from(number)];
            if *class == NO_CLASS {
                *class = numbering.class_of_name(class_name_of_kind(snapshot, number));
            }
            of_node.push(*class);
            continue;
        }
        let name = snapshot.names.get(node);
        let is_plain = kind == NodeKind::Object && plain.contains(&name);
        let name_number = if is_plain { plain_names.next().unwrap_or(NO_NAME) } else { NO_NAME };
        let class = if detached.has(node) && !raw_types {
            *of_detached.entry(name).or_insert_with(|| {
                numbering.class_of_name(format!("Detached {}", class_name(snapshot, name, raw_types)))
            })
        } else if name_number != NO_NAME {
            class_of_name[name_number as usize]
        } else {
            let known = &mut of_name[(name as usize).min(snapshot.strings.len())];
            // What is past the strings has names of their own.
            if *known == NO_CLASS || name as usize >= snapshot.strings.len() {
                *known = numbering.class_of_name(class_name(snapshot, name, raw_types));
            }
            *known
        };
        of_node.push(match location.filter(|_| kind == NodeKind::Object) {
            None => class,
            Some(location) => {
                *of_place.entry((class, location)).or_insert_with(|| numbering.add_class_at_place(class, location))
            }
        });
    }
    NodeClasses { all_classes: numbering.all_classes, names: numbering.names, class_of_node: of_node }
}

/// The class of an object by its name; one that is missing has no tag.
fn class_name(snapshot: &Snapshot, name: u32, raw_types: bool) -> String {
    match snapshot.strings.get(name) {
        Some(text) if !raw_types => without_attributes(text),
        _ => snapshot.strings.text_or_placeholder(name).into(),
    }
}

/// The name of the one class that nodes of a kind have, where their own names tell no class.
pub(super) fn class_name_of_kind(snapshot: &Snapshot, number: u8) -> String {
    match snapshot.layout.kind(number) {
        NodeKind::Hidden => "(system)".into(),
        NodeKind::Code => "(compiled code)".into(),
        NodeKind::Closure => "Function".into(),
        NodeKind::RegExp => "RegExp".into(),
        _ => format!("({})", snapshot.layout.kind_name(number)),
    }
}

/// `<div id="a">` is a `<div>`.
fn without_attributes(name: &str) -> String {
    let start = if name.starts_with('<') {
        0
    } else if name.starts_with("Detached <") {
        "Detached ".len()
    } else {
        return name.into();
    };
    match name[start..].find(' ') {
        Some(at) => format!("{}>", &name[..start + at]),
        None => name.into(),
    }
}

/// Nodes that are detached from their page, in files that say so: what is marked, and native nodes that no attached one reaches.
fn detached_nodes(snapshot: &Snapshot) -> BitSet {
    const DETACHED: u8 = 2;
    let mut detached = BitSet::new(snapshot.len());
    let mut seen = BitSet::new(snapshot.len());
    for &(node, _) in &snapshot.detachedness {
        seen.insert(node);
    }
    for state in [1, DETACHED] {
        let mut open: Vec<u32> = Vec::new();
        for &(node, own) in &snapshot.detachedness {
            if own == state && snapshot.kind(node) == NodeKind::Native {
                open.push(node);
            }
        }
        while let Some(node) = open.pop() {
            if state == DETACHED {
                detached.insert(node);
            }
            for edge in snapshot.edges(node) {
                let target = snapshot.targets[edge];
                if target != DANGLING_TARGET
                    && !snapshot.is_kind(edge, EdgeKind::Hidden)
                    && !snapshot.is_kind(edge, EdgeKind::Weak)
                    && snapshot.kind(target) == NodeKind::Native
                    && seen.insert(target)
                {
                    open.push(target);
                }
            }
        }
    }
    detached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_lose_their_attributes() {
        let cases = [
            ("<div id=\"a b\">", "<div>"),
            ("Detached <p class=x>", "Detached <p>"),
            ("<div>", "<div>"),
            ("Detached HTMLDivElement", "Detached HTMLDivElement"),
            ("a <b c>", "a <b c>"),
        ];
        for (name, class) in cases {
            assert_eq!(without_attributes(name), class);
        }
    }
}
