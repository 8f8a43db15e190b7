//! Classes of nodes: what a row of the histogram is called.

use rustc_hash::FxHashMap;

use super::block::NOWHERE;
use super::layout::{EdgeKind, Kind};
use super::rules::Bits;
use super::snapshot::Snapshot;
use crate::graph::SourcePlace;

/// Characters of a name made of properties.
const MOST_SHAPE_UNITS: usize = 120;
/// Not classified so far.
const NONE: u32 = u32::MAX;

/// Names of classes and the class of each node.
#[derive(Debug)]
pub(super) struct Classes {
    /// With the place of the constructor, where that tells classes of one name apart.
    pub(super) names: Vec<(String, Option<SourcePlace>)>,
    /// By ordinal.
    pub(super) of_node: Vec<u32>,
}

/// Numbers classes in the order in which they are met.
#[derive(Default)]
struct Numbering {
    names: Vec<(String, Option<SourcePlace>)>,
    known: FxHashMap<(String, Option<SourcePlace>), u32>,
}

impl Numbering {
    fn of(&mut self, name: String, location: Option<SourcePlace>) -> u32 {
        *self.known.entry((name, location)).or_insert_with_key(|key| {
            self.names.push(key.clone());
            self.names.len() as u32 - 1
        })
    }
}

/// Classifies every node. `raw` leaves out what DevTools makes of names. O(nodes), and O(edges) of plain objects.
pub(super) fn classify(snapshot: &Snapshot, raw: bool) -> Classes {
    let mut numbering = Numbering::default();
    let mut by_kind = [NONE; 256];
    // Classes of a name: objects and natives as such, and natives that are detached.
    let mut of_name = vec![NONE; snapshot.strings.len() + 1];
    let mut of_detached: FxHashMap<u32, u32> = FxHashMap::default();
    let detached = detached_nodes(snapshot);
    let plain = snapshot.strings.indices_of("Object");
    let shapes = if raw { FxHashMap::default() } else { shapes(snapshot, &plain) };
    let mut locations = snapshot.locations.iter().copied().peekable();
    let mut of_place: FxHashMap<(u32, SourcePlace), u32> = FxHashMap::default();
    let mut of_node = Vec::with_capacity(snapshot.len());
    for node in 0..snapshot.len() as u32 {
        let kind = snapshot.kind(node);
        let location = locations.next_if(|&(ordinal, _)| ordinal == node).map(|(_, location)| location);
        if !matches!(kind, Kind::Object | Kind::Native) {
            let number = snapshot.kinds[node as usize];
            let class = &mut by_kind[usize::from(number)];
            if *class == NONE {
                *class = numbering.of(name_of_kind(snapshot, number), None);
            }
            of_node.push(*class);
            continue;
        }
        let name = snapshot.names[node as usize];
        let class = if detached.has(node) && !raw {
            *of_detached
                .entry(name)
                .or_insert_with(|| numbering.of(format!("Detached {}", class_name(snapshot, name, raw)), None))
        } else if let Some(shape) = shapes.get(&node) {
            numbering.of(shape.to_string(), None)
        } else {
            let known = &mut of_name[(name as usize).min(snapshot.strings.len())];
            // What is past the strings has names of their own.
            if *known == NONE || name as usize >= snapshot.strings.len() {
                *known = numbering.of(class_name(snapshot, name, raw), None);
            }
            *known
        };
        of_node.push(match location.filter(|_| kind == Kind::Object) {
            None => class,
            Some(location) => *of_place.entry((class, location)).or_insert_with(|| {
                let name = numbering.names[class as usize].0.clone();
                numbering.of(name, Some(location))
            }),
        });
    }
    Classes { names: numbering.names, of_node }
}

/// The class of an object by its name; one that is missing has no tag.
fn class_name(snapshot: &Snapshot, name: u32, raw: bool) -> String {
    match snapshot.strings.get(name) {
        Some(text) if !raw => without_attributes(text),
        _ => snapshot.strings.name(name).into(),
    }
}

/// The class of all nodes of a type that has one.
pub(super) fn name_of_kind(snapshot: &Snapshot, number: u8) -> String {
    match snapshot.layout.kind(number) {
        Kind::Hidden => "(system)".into(),
        Kind::Code => "(compiled code)".into(),
        Kind::Closure => "Function".into(),
        Kind::RegExp => "RegExp".into(),
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

/// Nodes that are detached from their page, in files that say so: what is marked, and what hangs on it alone.
fn detached_nodes(snapshot: &Snapshot) -> Bits {
    const DETACHED: u8 = 2;
    let mut detached = Bits::new(snapshot.len());
    let mut seen = Bits::new(snapshot.len());
    for &(node, _) in &snapshot.detached {
        seen.insert(node);
    }
    for state in [1, DETACHED] {
        let mut open: Vec<u32> = Vec::new();
        for &(node, own) in &snapshot.detached {
            if own == state && snapshot.kind(node) == Kind::Native {
                open.push(node);
            }
        }
        while let Some(node) = open.pop() {
            if state == DETACHED {
                detached.insert(node);
            }
            for edge in snapshot.edges(node) {
                let target = snapshot.targets[edge];
                if target != NOWHERE
                    && !snapshot.is_kind(edge, EdgeKind::Hidden)
                    && !snapshot.is_kind(edge, EdgeKind::Weak)
                    && snapshot.kind(target) == Kind::Native
                    && seen.insert(target)
                {
                    open.push(target);
                }
            }
        }
    }
    detached
}

/// A name made of properties.
struct Shape {
    name: String,
    /// Strings' indices, ascending.
    properties: Vec<u32>,
    objects: usize,
}

/// The plain objects that get a name by their properties.
fn shapes(snapshot: &Snapshot, plain: &[u32]) -> FxHashMap<u32, std::rc::Rc<str>> {
    let is_plain = |node: u32| snapshot.kind(node) == Kind::Object && plain.contains(&snapshot.names[node as usize]);
    let proto = snapshot.strings.indices_of("__proto__");
    let properties = |node: u32| {
        let edges = snapshot.edges(node).filter(|&edge| snapshot.is_kind(edge, EdgeKind::Property));
        edges.map(|edge| snapshot.edge_names[edge])
    };
    // Objects of one shape list the same names: what follows from them is found once for each list.
    let mut lists: FxHashMap<Box<[u32]>, u32> = FxHashMap::default();
    let mut list_of: Vec<(u32, u32)> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    let mut own = Vec::new();
    for node in (0..snapshot.len() as u32).filter(|&node| is_plain(node)) {
        own.clear();
        own.extend(properties(node));
        let next = counts.len() as u32;
        let list = match lists.get(&own[..]) {
            Some(&list) => list,
            None => {
                lists.insert(own[..].into(), next);
                counts.push(0);
                next
            }
        };
        counts[list as usize] += 1;
        list_of.push((node, list));
    }
    let mut by_number: Vec<Box<[u32]>> = vec![Box::default(); counts.len()];
    for (names, number) in lists {
        by_number[number as usize] = names;
    }
    let kept = candidates(snapshot, &by_number, &counts, list_of.len(), &proto);
    let names: Vec<std::rc::Rc<str>> = kept.iter().map(|shape| shape.name.as_str().into()).collect();
    // Candidates by their greatest property: a list is only looked for among those that it can have.
    let mut by_last: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, shape) in kept.iter().enumerate() {
        if let Some(&last) = shape.properties.last() {
            by_last.entry(last).or_default().push(at);
        }
    }
    let mut sorted = Vec::new();
    let best: Vec<Option<usize>> = by_number
        .iter()
        .map(|list| {
            sorted.clear();
            sorted.extend_from_slice(list);
            sorted.sort_unstable();
            sorted.dedup();
            let possible = sorted.iter().filter_map(|name| by_last.get(name)).flatten().copied();
            let fitting = possible.filter(|&at| is_subset(&kept[at].properties, &sorted));
            // The most properties; of equal ones the more frequent, which stands first.
            fitting.min_by_key(|&at| (std::cmp::Reverse(kept[at].properties.len()), at))
        })
        .collect();
    list_of.into_iter().filter_map(|(node, list)| Some((node, names[best[list as usize]?].clone()))).collect()
}

/// Names of properties that enough objects have, the most frequent first.
fn candidates(
    snapshot: &Snapshot,
    lists: &[Box<[u32]>],
    counts: &[usize],
    objects: usize,
    proto: &[u32],
) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Vec::new();
    let mut known: FxHashMap<String, usize> = FxHashMap::default();
    for (list, &count) in lists.iter().zip(counts) {
        let (mut name, mut units) = (String::from("{"), 1);
        let mut properties = Vec::new();
        for &index in list.iter().filter(|index| !proto.contains(index)) {
            let text = property_text(&snapshot.strings.name(index));
            let own_units = text.encode_utf16().count();
            if units > 1 && units + own_units > MOST_SHAPE_UNITS {
                break;
            }
            if units > 1 {
                name += ", ";
                units += 2;
            }
            name += &text;
            units += own_units;
            properties.push(index);
        }
        if properties.is_empty() {
            continue;
        }
        name.push('}');
        let at = *known.entry(name).or_insert_with_key(|name| {
            properties.sort_unstable();
            properties.dedup();
            shapes.push(Shape { name: name.clone(), properties: std::mem::take(&mut properties), objects: 0 });
            shapes.len() - 1
        });
        shapes[at].objects += count;
    }
    // At least two, and at least one in a thousand.
    shapes.retain(|shape| shape.objects >= 2 && shape.objects * 1000 >= objects);
    shapes.sort_by_key(|shape| std::cmp::Reverse(shape.objects));
    shapes
}

fn property_text(name: &str) -> String {
    if name.contains([',', '\'', '"', '{', '}']) {
        serde_json::to_string(name).unwrap_or_else(|_| name.into())
    } else {
        name.into()
    }
}

/// Both ascending.
fn is_subset(small: &[u32], large: &[u32]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|wanted| rest.any(|name| name == wanted))
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

    #[test]
    fn subsets_of_names() {
        assert!(is_subset(&[2, 5], &[1, 2, 3, 5]) && is_subset(&[], &[1]) && is_subset(&[1], &[1]));
        assert!(!is_subset(&[2, 6], &[1, 2, 3, 5]) && !is_subset(&[1], &[]));
        assert_eq!(property_text("a b"), "a b");
        assert_eq!(property_text("a,b"), "\"a,b\"");
        assert_eq!(property_text("it's"), "\"it's\"");
        assert_eq!(property_text("plain"), "plain");
    }
}
