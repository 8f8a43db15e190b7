//! Texts that V8 keeps as two others behind one another: ropes, which programs build by adding to a text. A rope is as deep
//! as the program added often, and shares its parts with others: what is known of each is computed once, from its parts.
//!
//! V8 cuts texts that are no ropes; of a rope as much is shown, unless the whole of one is asked for.

use super::bit_set::BitSet;
use super::block::DANGLING_TARGET;
use super::layout::{EdgeKind, NodeKind};
use super::snapshot::Snapshot;
use crate::input::Text;

/// UTF-16 units of a text that is put together; V8 cuts others there.
pub(super) const MAX_TEXT_UNITS: usize = 1024;
/// Bytes in UTF-8 that have as many UTF-16 units as are shown of a text, whatever they are.
const MAX_TEXT_BYTES: u32 = 3 * MAX_TEXT_UNITS as u32;

/// Hash and length of a text that the snapshot has whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextDigest {
    /// The value of its bytes plus one, as digits of a number to the base [`HASH_BASE`], modulo 2^127 - 1: that of two texts
    /// behind one another follows from those of both.
    pub(super) hash: u128,
    /// Its length in UTF-8.
    pub(super) bytes: u32,
}

/// Parts of a text that is asked for whole: more than any program has, and no more work than a moment.
const MAX_PARTS_OF_WHOLE: usize = 1 << 24;

const HASH_MODULUS: u128 = (1 << 127) - 1;
/// Any number: one that no file was made for.
const HASH_BASE: u128 = 0x2D6F_93A1_58C4_7E0B_9137_C5E2_4A8D_F06B;

impl TextDigest {
    const EMPTY: TextDigest = TextDigest { hash: 0, bytes: 0 };

    fn of(text: &str) -> Option<Self> {
        let hash =
            text.bytes().fold(0, |hash, byte| add_modulo(multiply_modulo(hash, HASH_BASE), u128::from(byte) + 1));
        Some(TextDigest { hash, bytes: u32::try_from(text.len()).ok()? })
    }

    /// That of this text and `next` behind it; `None` for one that is longer than V8 makes them.
    fn followed_by(self, next: TextDigest) -> Option<Self> {
        let bytes = self.bytes.checked_add(next.bytes)?;
        let (mut shifted, mut power, mut left) = (self.hash, HASH_BASE, next.bytes);
        while left > 0 {
            if left & 1 == 1 {
                shifted = multiply_modulo(shifted, power);
            }
            power = multiply_modulo(power, power);
            left >>= 1;
        }
        Some(TextDigest { hash: add_modulo(shifted, next.hash), bytes })
    }
}

/// Both below the modulus.
fn add_modulo(a: u128, b: u128) -> u128 {
    let sum = a + b;
    if sum >= HASH_MODULUS { sum - HASH_MODULUS } else { sum }
}

/// Both below the modulus. 2^127 is 1, so that what stands above it is added.
fn multiply_modulo(a: u128, b: u128) -> u128 {
    const LOW_64_BITS: u128 = (1 << 64) - 1;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & LOW_64_BITS, b >> 64, b & LOW_64_BITS);
    let reduce = |number: u128| add_modulo(number & HASH_MODULUS, number >> 127);
    let middle = a_high * b_low + a_low * b_high;
    let middle = add_modulo(reduce((middle & (LOW_64_BITS >> 1)) << 64), middle >> 63);
    add_modulo(add_modulo(reduce(a_low * b_low), middle), reduce(2 * a_high * b_high))
}

/// Facts of a rope.
#[derive(Debug, Clone, Copy)]
struct RopeFacts {
    /// Its text; `None` where a part is not in the snapshot.
    whole_digest: Option<TextDigest>,
    /// The text or rope whose first units are its own: itself, where its first part is too short.
    start_node: u32,
    /// The other part is the text.
    has_empty_part: bool,
    /// UTF-16 units, where both parts tell.
    units: Option<u32>,
}

/// Facts of all ropes. 64 bytes each, and 3 bits for each node.
#[derive(Debug)]
pub(super) struct Ropes {
    is_rope: BitSet,
    /// Of `is_rope`: the number of ropes before each word.
    ranks: Vec<u32>,
    ropes: Vec<RopeFacts>,
}

impl Ropes {
    /// O(nodes, and bytes of the parts).
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let mut are = BitSet::new(snapshot.len());
        let nodes = (0..snapshot.len() as u32).filter(|&node| snapshot.kind(node) == NodeKind::ConsString);
        let count = nodes.map(|node| are.insert(node)).count();
        let mut ropes = Ropes {
            ranks: are.ranks(),
            is_rope: are,
            ropes: vec![
                RopeFacts {
                    whole_digest: None,
                    start_node: DANGLING_TARGET,
                    has_empty_part: false,
                    units: None
                };
                count
            ],
        };
        // A rope, and behind its parts the same again, when these are known. One that is a part of itself stays unknown.
        let mut open = Vec::new();
        for node in 0..snapshot.len() as u32 {
            open.extend(ropes.rope_index(node).map(|_| (node, false)));
            while let Some((rope, is_behind_parts)) = open.pop() {
                let Some(at) = ropes.rope_index(rope) else { continue };
                let parts = rope_parts(snapshot, rope);
                if is_behind_parts {
                    ropes.ropes[at] = ropes.rope_of_parts(snapshot, rope, parts);
                } else if ropes.ropes[at].start_node == DANGLING_TARGET {
                    ropes.ropes[at].start_node = rope;
                    open.push((rope, true));
                    open.extend(parts.into_iter().flatten().map(|part| (part, false)));
                }
            }
        }
        ropes
    }

    /// The index of a rope in `ropes`; `None` for any other node.
    fn rope_index(&self, node: u32) -> Option<usize> {
        self.is_rope.rank(node, &self.ranks)
    }

    /// Facts of a rope, from those of its parts.
    fn rope_of_parts(&self, snapshot: &Snapshot, rope: u32, parts: [Option<u32>; 2]) -> RopeFacts {
        let [first, second] = parts.map(|part| part.and_then(|part| self.whole_digest(snapshot, part)));
        let begins_as = match (first, second) {
            (Some(TextDigest::EMPTY), _) => parts[1],
            (_, Some(TextDigest::EMPTY)) | (None, _) => parts[0],
            (Some(first), _) => parts[0].filter(|_| first.bytes >= MAX_TEXT_BYTES),
        };
        let whole = first.zip(second).and_then(|(first, second)| first.followed_by(second));
        let has_empty_part = [first, second].contains(&Some(TextDigest::EMPTY));
        let [first, second] = parts.map(|part| part.and_then(|part| self.whole_text_units(snapshot, part)));
        let units = first.zip(second).and_then(|(first, second)| u32::try_from(first.checked_add(second)?).ok());
        RopeFacts {
            whole_digest: whole,
            units,
            start_node: begins_as.map_or(rope, |part| self.start_node_of(part)),
            has_empty_part,
        }
    }

    /// The first part of this text or rope that is neither of an empty part nor of a first one that is long enough.
    fn start_node_of(&self, node: u32) -> u32 {
        self.rope_index(node).map_or(node, |at| self.ropes[at].start_node)
    }

    /// Facts of a whole text; of a rope O(1), of any other its bytes.
    pub(super) fn whole_digest(&self, snapshot: &Snapshot, node: u32) -> Option<TextDigest> {
        match self.rope_index(node) {
            Some(at) => self.ropes[at].whole_digest,
            None => flat_text(snapshot, node).filter(|text| !may_be_cut(text)).and_then(TextDigest::of),
        }
    }

    /// UTF-16 units of a whole text: those that the snapshot has, or how many it says there were.
    pub(super) fn whole_text_units(&self, snapshot: &Snapshot, node: u32) -> Option<u64> {
        match self.rope_index(node) {
            Some(at) => self.ropes[at].units.map(u64::from),
            None => stated_length(snapshot, node).or_else(|| {
                let whole = flat_text(snapshot, node).filter(|text| !may_be_cut(text));
                whole.map(|text| text_prefix(text, usize::MAX).1 as u64)
            }),
        }
    }

    /// The first units of a text, as many as are shown and are known, and how many parts were looked at for them: each
    /// has a byte, or is a rope of such parts, however deep the rope is and however many ropes share its parts.
    fn assemble_start(&self, snapshot: &Snapshot, node: u32) -> (String, usize) {
        let (mut text, mut units, mut steps) = (String::new(), 0, 0);
        let mut open = vec![node];
        while let Some(part) = open.pop() {
            steps += 1;
            let part = self.start_node_of(part);
            if self.rope_index(part).is_none() {
                let Some(own) = flat_text(snapshot, part) else { break };
                let (start, own_units) = text_prefix(own, MAX_TEXT_UNITS - units);
                text.push_str(start);
                units += own_units;
                if start.len() < own.len() || units >= MAX_TEXT_UNITS {
                    break;
                }
                continue;
            }
            let [first, second] = rope_parts(snapshot, part);
            // Of one that begins with itself no more is known.
            let Some(first) = first.filter(|&first| self.whole_digest(snapshot, first).is_some()) else { break };
            open.extend(second);
            open.push(first);
        }
        (text, steps)
    }

    /// The start of a text, so many units at most: of a string node as V8 has it, of a rope put together from its parts.
    pub(super) fn text(&self, snapshot: &Snapshot, node: u32, most_units: usize) -> Option<Text> {
        if snapshot.kind(node) != NodeKind::ConsString {
            let text = flat_text(snapshot, node)?;
            let start = text_prefix(text, most_units.min(MAX_TEXT_UNITS)).0;
            return Some(Text { text: start.into(), is_cut: start.len() < text.len() || may_be_cut(text) });
        }
        let known = self.assemble_start(snapshot, node).0;
        let whole = self.whole_digest(snapshot, node);
        if known.is_empty() && whole.is_none() {
            return None;
        }
        let text = text_prefix(&known, most_units).0.to_string();
        let is_cut = whole.is_none_or(|whole| whole.bytes as usize > text.len());
        Some(Text { text, is_cut })
    }

    /// Ropes that are texts of their own: those that only others hold are parts, and of one with an empty part the other
    /// part is the text. O(edges).
    pub(super) fn standalone_ropes(&self, snapshot: &Snapshot) -> BitSet {
        let (mut parts, mut held) = (BitSet::new(snapshot.len()), BitSet::new(snapshot.len()));
        for node in 0..snapshot.len() as u32 {
            let own = self.rope_index(node).map(|at| self.ropes[at]);
            let holders = if own.is_some_and(|own| !own.has_empty_part) { &mut parts } else { &mut held };
            for edge in snapshot.edges(node) {
                let target = snapshot.targets[edge];
                if self.is_rope.has(target) && !snapshot.is_kind(edge, EdgeKind::Weak) {
                    holders.insert(target);
                }
            }
        }
        let mut texts = self.is_rope.clone();
        for (node, at) in (0..snapshot.len() as u32).filter_map(|node| Some((node, self.rope_index(node)?))) {
            if self.ropes[at].has_empty_part || (parts.has(node) && !held.has(node)) {
                texts.remove(node);
            }
        }
        texts
    }
}

/// The two texts that a rope is made of, where the snapshot has them.
fn rope_parts(snapshot: &Snapshot, rope: u32) -> [Option<u32>; 2] {
    ["first", "second"].map(|side| snapshot.field_target_of_value(rope, side))
}

/// The text of a node that is no rope, as far as the snapshot has it. Of a part of another text V8 does not say where it
/// begins.
fn flat_text(snapshot: &Snapshot, node: u32) -> Option<&str> {
    let text = || snapshot.strings.get(snapshot.names.get(node));
    match snapshot.kind(node) {
        NodeKind::String => text(),
        NodeKind::SlicedString => text().filter(|&text| text != "(sliced string)"),
        _ => None,
    }
}

/// Returns true for a text that V8 cut, or that is just as long.
fn may_be_cut(text: &str) -> bool {
    text.len() >= MAX_TEXT_UNITS && text_prefix(text, MAX_TEXT_UNITS).1 >= MAX_TEXT_UNITS
}

/// The start of a text with so many UTF-16 units at most, and how many it has.
fn text_prefix(text: &str, most: usize) -> (&str, usize) {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        let more = units + character.len_utf16();
        if more > most {
            return (&text[..at], units);
        }
        units = more;
    }
    (text, units)
}

/// Hands the whole text of a string node to `take`, part by part until that returns false. Returns whether the snapshot
/// has all of it; `None` for what is no string.
pub(super) fn visit_whole_text(snapshot: &Snapshot, node: u32, take: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
    if !matches!(snapshot.kind(node), NodeKind::String | NodeKind::ConsString | NodeKind::SlicedString) {
        return None;
    }
    let (mut open, mut is_whole) = (vec![node], true);
    for _ in 0..MAX_PARTS_OF_WHOLE {
        let Some(part) = open.pop() else { return Some(is_whole) };
        if snapshot.kind(part) == NodeKind::ConsString {
            let [first, second] = rope_parts(snapshot, part);
            is_whole &= first.is_some() && second.is_some();
            open.extend(second.into_iter().chain(first));
            continue;
        }
        let Some(text) = flat_text(snapshot, part) else {
            is_whole = false;
            continue;
        };
        is_whole &= !may_be_cut(text) && snapshot.field_target_of_value(part, "truncated").is_none();
        if !take(text.as_bytes()) {
            return Some(false);
        }
    }
    Some(false)
}

/// UTF-16 units of a string node that is no rope: how many the snapshot says there were, else those that it has.
pub(super) fn flat_text_units(snapshot: &Snapshot, node: u32) -> Option<u64> {
    stated_length(snapshot, node)
        .or_else(|| flat_text(snapshot, node).map(|text| text_prefix(text, usize::MAX).1 as u64))
}

/// The length that the snapshot states of a text: of those that V8 cut.
fn stated_length(snapshot: &Snapshot, node: u32) -> Option<u64> {
    let number = snapshot.field_target_of_value(node, "length")?;
    let value = snapshot.field_target_of_value(number, "value").unwrap_or(number);
    snapshot.strings.text_or_placeholder(snapshot.names.get(value)).parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::super::strings::KeptStrings;
    use super::*;
    use crate::graph::MemoryBudget;
    use crate::input::{Diagnostics, Source};

    /// A text as a program made it; others by their numbers.
    #[derive(Debug, Clone)]
    enum Made {
        Text(String),
        /// A text that V8 cut, whose length (that the first text is) stands behind so many other edges.
        Cut(usize),
        /// A part of another text: V8 does not say which.
        Listed,
        Rope(usize, usize),
    }

    /// A snapshot of texts, some of which its root holds.
    fn read(made: &[Made], held: &[bool], is_descending: bool) -> (Snapshot, Ropes, impl Fn(usize) -> u32 + use<>) {
        let count = made.len();
        let ordinal = move |number: usize| 1 + if is_descending { count - 1 - number } else { number } as u32;
        let mut strings = ["", "first", "second", "(sliced string)", "(concatenated string)", "length", "other"]
            .map(String::from)
            .to_vec();
        let roots: Vec<usize> = (0..count).filter(|&number| held[number]).collect();
        let mut nodes = vec![format!("0,0,1,0,{}", roots.len())];
        let mut edges: Vec<String> = roots.iter().map(|&root| format!("1,0,{}", 5 * ordinal(root))).collect();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&number| ordinal(number));
        for number in order {
            let mut add = |text: &str| {
                strings.push(text.into());
                strings.len() - 1
            };
            // Edges: names and targets.
            let (kind, name, own) = match &made[number] {
                Made::Text(text) => (1, add(text), Vec::new()),
                Made::Cut(others) => (1, add(&cut_text()), [vec![(6, 0); *others], vec![(5, 0)]].concat()),
                Made::Listed => (2, 3, Vec::new()),
                Made::Rope(first, second) => (3, 4, vec![(1, *first), (2, *second)]),
            };
            nodes.push(format!("{kind},{name},{},20,{}", 2 * number + 3, own.len()));
            edges.extend(own.iter().map(|&(name, target)| format!("0,{name},{}", 5 * ordinal(target))));
        }
        let json = format!(
            r#"{{"snapshot":{{"meta":{{"node_fields":["type","name","id","self_size","edge_count"],"node_types":[["synthetic",
            "string","sliced string","concatenated string"]],"edge_fields":["type","name_or_index","to_node"],"edge_types":
            [["internal","element"]]}}}},"nodes":[{}],"edges":[{}],"strings":{}}}"#,
            nodes.join(","),
            edges.join(","),
            serde_json::to_string(&strings).expect("texts")
        );
        let source = Source::from_reader(Cursor::new(json.into_bytes())).expect("readable");
        let (budget, mut problems) = (MemoryBudget::new(None), Diagnostics::default());
        let (snapshot, _) = Snapshot::read(source, KeptStrings::All, 1, &budget, &mut problems).expect("a snapshot");
        let ropes = Ropes::new(&snapshot);
        (snapshot, ropes, ordinal)
    }

    /// The known part of each text, by definition: its start up to what is not there, and true if that is all.
    fn known(made: &[Made]) -> Vec<(String, bool)> {
        let mut known: Vec<(String, bool)> = Vec::new();
        for made in made {
            known.push(match made {
                Made::Text(text) => (text.clone(), text.encode_utf16().count() < MAX_TEXT_UNITS),
                Made::Cut(_) => (cut_text(), false),
                Made::Listed => (String::new(), false),
                Made::Rope(first, second) => match &known[*first] {
                    (start, true) => (start.clone() + &known[*second].0, known[*second].1),
                    cut => cut.clone(),
                },
            });
        }
        known
    }

    fn cut_text() -> String {
        "c".repeat(MAX_TEXT_UNITS)
    }

    /// UTF-16 units of each text, where the snapshot tells.
    fn told_units(made: &[Made]) -> Vec<Option<u64>> {
        let Made::Text(length) = &made[0] else { panic!("the first is a text") };
        let mut units: Vec<Option<u64>> = Vec::new();
        for made in made {
            units.push(match made {
                Made::Text(text) => {
                    Some(text.encode_utf16().count()).filter(|&units| units < MAX_TEXT_UNITS).map(|units| units as u64)
                }
                Made::Cut(others) => length.parse().ok().filter(|_| *others < 64),
                Made::Listed => None,
                Made::Rope(first, second) => units[*first].zip(units[*second]).map(|(first, second)| first + second),
            });
        }
        units
    }

    fn texts() -> impl Strategy<Value = Vec<Made>> {
        let text = prop_oneof![
            4 => "[ab]{0,3}",
            2 => "[a€😀]{1,4}",
            1 => (1000..1030usize, "[ab]").prop_map(|(units, letter)| letter.repeat(units.min(MAX_TEXT_UNITS))),
        ];
        let leaf = prop_oneof![
            9 => text.prop_map(Made::Text),
            1 => Just(Made::Listed),
            2 => (0..130usize).prop_map(Made::Cut),
        ];
        let index = any::<prop::sample::Index>;
        let step = (index(), index(), prop_oneof![9 => 1..4usize, 1 => 1000..1500usize], any::<bool>());
        (prop::collection::vec(leaf, 1..6), prop::collection::vec(step, 1..16)).prop_map(|(leaves, steps)| {
            let mut made = vec![Made::Text("5000".into())];
            made.extend(leaves);
            let bytes = |made: &Made| match made {
                Made::Text(text) => text.len(),
                Made::Cut(_) => MAX_TEXT_UNITS,
                Made::Listed | Made::Rope(..) => 0,
            };
            let mut bytes: Vec<usize> = made.iter().map(bytes).collect();
            for (first, second, times, is_left) in steps {
                let (mut last, added) = (first.index(made.len()), second.index(made.len()));
                for _ in 0..times {
                    let sum = bytes[last] + bytes[added];
                    if sum > 10_000 {
                        break;
                    }
                    made.push(if is_left { Made::Rope(last, added) } else { Made::Rope(added, last) });
                    bytes.push(sum);
                    last = made.len() - 1;
                }
            }
            made
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn texts_are_those_of_their_definition(made in texts(), holding: u64, is_descending: bool) {
            let held: Vec<bool> = (0..made.len()).map(|number| holding >> (number % 61) & 1 == 1).collect();
            let (snapshot, ropes, ordinal) = read(&made, &held, is_descending);
            let (known, told_units) = (known(&made), told_units(&made));
            let mut by_hash = std::collections::HashMap::new();
            for (number, (text, is_all)) in known.iter().enumerate() {
                let node = ordinal(number);
                let start = text_prefix(text, MAX_TEXT_UNITS).0;
                let shown = ropes.text(&snapshot, node, MAX_TEXT_UNITS);
                prop_assert_eq!(shown.as_ref().map_or("", |text| &text.text), start, "text {}", number);
                prop_assert_eq!(shown.is_none_or(|text| text.is_cut), !is_all || start.len() < text.len());
                prop_assert!(ropes.assemble_start(&snapshot, node).1 <= 2 * MAX_TEXT_BYTES as usize + 2);
                let whole = ropes.whole_digest(&snapshot, node);
                prop_assert_eq!(whole.is_some(), *is_all);
                prop_assert_eq!(ropes.whole_text_units(&snapshot, node), told_units[number], "units of {}", number);
                prop_assert!(snapshot.edges_of_value(node).len() <= 64);
                if let Some(whole) = whole {
                    prop_assert_eq!(whole.bytes as usize, text.len());
                    prop_assert_eq!(Some(whole), TextDigest::of(text));
                    prop_assert_eq!(*by_hash.entry(whole.hash).or_insert(text), text);
                }
            }
            let has_empty_part = |first: usize, second: usize| [first, second].iter().any(|&part| known[part] == (String::new(), true));
            let is_part = |of: usize| made.iter().any(|made| matches!(*made, Made::Rope(first, second) if [first, second].contains(&of) && !has_empty_part(first, second)));
            let is_held = |of: usize| held[of] || made.iter().any(|made| matches!(*made, Made::Rope(first, second) if [first, second].contains(&of) && has_empty_part(first, second)));
            let texts = ropes.standalone_ropes(&snapshot);
            for number in (0..made.len()).rev().take(40) {
                let Made::Rope(first, second) = made[number] else { continue };
                let is_text = !has_empty_part(first, second) && (is_held(number) || !is_part(number));
                prop_assert_eq!(texts.has(ordinal(number)), is_text, "rope {}", number);
            }
        }
    }

    #[test]
    fn a_rope_costs_the_same_however_deep_it_is() {
        const DEPTH: usize = 20_000;
        for is_left in [true, false] {
            let mut made = vec![Made::Text("x".into()), Made::Text(String::new())];
            for number in 0..DEPTH {
                // Every other one adds nothing.
                let (last, added) = (number + 1, number % 2);
                made.push(if is_left { Made::Rope(last, added) } else { Made::Rope(added, last) });
            }
            let held = vec![true; made.len()];
            let (snapshot, ropes, ordinal) = read(&made, &held, is_left);
            for number in (0..made.len()).step_by(97) {
                assert!(ropes.assemble_start(&snapshot, ordinal(number)).1 <= 2 * MAX_TEXT_BYTES as usize, "{number}");
            }
            let last = ordinal(made.len() - 1);
            assert_eq!(ropes.whole_digest(&snapshot, last), TextDigest::of(&"x".repeat(DEPTH / 2)));
            let expected = Text { text: "x".repeat(MAX_TEXT_UNITS), is_cut: true };
            assert_eq!(ropes.text(&snapshot, last, MAX_TEXT_UNITS), Some(expected));
        }
    }

    #[test]
    fn ropes_of_themselves_and_endless_ones_are_not_known() {
        let doubled = (0..100).map(|number| Made::Rope(number, number));
        let mut made: Vec<Made> = [Made::Text("ab".into())].into_iter().chain(doubled).collect();
        // 101 begins with itself, 102 ends with itself, 103 and 104 are parts of each other.
        made.extend([Made::Rope(101, 0), Made::Rope(0, 102), Made::Rope(0, 104), Made::Rope(103, 0)]);
        let (snapshot, ropes, ordinal) = read(&made, &vec![false; made.len()], false);
        let start = |text: &str| Some(Text { text: text.into(), is_cut: true });
        assert_eq!(ropes.whole_digest(&snapshot, ordinal(100)), None);
        assert_eq!(ropes.text(&snapshot, ordinal(100), 5), start("ababa"));
        assert_eq!(ropes.text(&snapshot, ordinal(101), 5), None);
        assert_eq!(ropes.text(&snapshot, ordinal(102), 5), start("ababa"));
        for number in 101..=104 {
            assert_eq!(ropes.whole_digest(&snapshot, ordinal(number)), None);
            assert!(ropes.assemble_start(&snapshot, ordinal(number)).1 <= 2 * MAX_TEXT_BYTES as usize);
        }
        assert!(ropes.standalone_ropes(&snapshot).has(ordinal(100)));
    }
}
