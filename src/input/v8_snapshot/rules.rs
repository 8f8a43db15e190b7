//! Owners of bytes, and edges that hold: the rules by which Chrome DevTools reads a snapshot (docs/formats/v8-snapshot.md,
//! "Rules").

use super::bits::Bits;
use super::block::{LARGE, NOWHERE};
use super::layout::{EdgeKind, NodeKind};
use super::snapshot::Snapshot;

/// The two edges to the value of an entry in a WeakMap have one name, but for a number in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WeakMapPair<'a> {
    /// The name without its number.
    pub(super) entry: &'a str,
    /// The id of the map's table.
    pub(super) table: u64,
}

impl<'a> WeakMapPair<'a> {
    /// `N / part of key (K @k) -> value (V @v) pair in WeakMap (table @T)`
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let entry = name.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let rest = entry.strip_prefix(" / part of key (").filter(|_| entry.len() < name.len())?;
        if rest.contains(['\n', '\r', '\u{2028}', '\u{2029}']) {
            return None;
        }
        let (pair, table) = rest.strip_suffix(')')?.rsplit_once(") pair in WeakMap (table @")?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        let ends_with_id = |text: &str| text.rsplit_once(" @").is_some_and(|(_, id)| is_number(id));
        let is_pair = pair
            .match_indices(") -> value (")
            .any(|(at, arrow)| ends_with_id(&pair[..at]) && ends_with_id(&pair[at + arrow.len()..]));
        let table = is_number(table).then(|| table.parse().ok()).flatten()?;
        is_pair.then_some(WeakMapPair { entry, table })
    }
}

/// Decides if an edge holds.
#[derive(Debug)]
pub(super) struct Holding {
    root: Option<u32>,
    /// Nodes that belong to a page: what does not belong to it does not hold them.
    page_owned: Option<Bits>,
    /// Names of edges that are of WeakMaps' entries.
    pair_names: Bits,
}

impl Holding {
    /// O(nodes + edges).
    pub(super) fn new(snapshot: &Snapshot, with_pages: bool) -> Self {
        let pair_names = pair_names(snapshot);
        let page_owned = if with_pages { page_owned(snapshot) } else { None };
        Holding { root: snapshot.root(), page_owned, pair_names }
    }

    /// Does an edge of `source` keep its target alive?
    #[inline]
    pub(super) fn holds(&self, snapshot: &Snapshot, source: u32, edge: usize, target: u32) -> bool {
        let is_root = Some(source) == self.root;
        if snapshot.is_kind(edge, EdgeKind::Weak)
            || target == source
            || (!is_root && snapshot.is_kind(edge, EdgeKind::Shortcut))
        {
            return false;
        }
        if snapshot.is_kind(edge, EdgeKind::Internal) && self.pair_names.has(snapshot.edge_number(edge)) {
            let pair = snapshot.strings.get(snapshot.edge_number(edge)).and_then(WeakMapPair::parse);
            if pair.is_some_and(|pair| pair.table == snapshot.ids.get(source as usize)) {
                return false;
            }
        }
        match &self.page_owned {
            Some(owned) if !is_root => owned.has(source) || !owned.has(target),
            _ => true,
        }
    }
}

/// Indices of the names of WeakMaps' entries.
pub(super) fn pair_names(snapshot: &Snapshot) -> Bits {
    let mut pair_names = Bits::new(snapshot.strings.len());
    let pairs = snapshot.strings.iter().filter(|(_, name)| WeakMapPair::parse(name).is_some());
    pairs.for_each(|(index, _)| _ = pair_names.insert(index));
    pair_names
}

/// The name of the category that holds a page's trees.
pub(super) const DOCUMENT_TREES: &str = "(Document DOM trees)";

/// The nodes from which distances are measured, and by which a snapshot is one of a page or a program: targets of the
/// root that are no categories of V8's own.
pub(super) fn user_roots(snapshot: &Snapshot) -> Vec<u32> {
    let Some(root) = snapshot.root() else { return Vec::new() };
    let documents = snapshot.strings.indices_of(DOCUMENT_TREES);
    let targets = snapshot.edges(root).map(|edge| snapshot.targets[edge]).filter(|&target| target != NOWHERE);
    let is_user = |target: u32| {
        snapshot.kind(target) != NodeKind::Synthetic || documents.contains(&snapshot.names[target as usize])
    };
    let mut roots: Vec<u32> = targets.filter(|&target| target != root && is_user(target)).collect();
    let mut seen = Bits::new(snapshot.len());
    roots.retain(|&target| seen.insert(target));
    roots
}

/// Everything that a page reaches; `None` where there is no page.
fn page_owned(snapshot: &Snapshot) -> Option<Bits> {
    let root = snapshot.root()?;
    let documents = snapshot.strings.indices_of(DOCUMENT_TREES);
    let mut owned = Bits::new(snapshot.len());
    let mut starts = Vec::new();
    for edge in snapshot.edges(root) {
        let target = snapshot.targets[edge];
        if target == NOWHERE {
            continue;
        }
        let is_page = snapshot.is_kind(edge, EdgeKind::Shortcut)
            || (snapshot.is_kind(edge, EdgeKind::Element) && documents.contains(&snapshot.names[target as usize]));
        if is_page && owned.insert(target) {
            starts.push(target);
        }
    }
    if starts.is_empty() {
        return None;
    }
    // V8 writes most nodes behind those that refer to them: one pass over the file finds nearly all.
    let mut open = Vec::new();
    for node in 0..snapshot.len() as u32 {
        if owned.has(node) {
            own_targets(snapshot, node, &mut owned, |target| {
                if target < node {
                    open.push(target);
                }
            });
        }
    }
    while let Some(node) = open.pop() {
        own_targets(snapshot, node, &mut owned, |target| open.push(target));
    }
    Some(owned)
}

#[inline]
fn own_targets(snapshot: &Snapshot, node: u32, owned: &mut Bits, mut found: impl FnMut(u32)) {
    let edges = snapshot.edges(node);
    for (&target, label) in snapshot.targets[edges.clone()].iter().zip(&snapshot.edge_labels[edges]) {
        if target != NOWHERE && !label.is(EdgeKind::Weak) && owned.insert(target) {
            found(target);
        }
    }
}

/// Nodes of which V8 has several for one object: their bytes are those of the one node that owns them. Which nodes give
/// theirs to which. O(nodes + edges).
pub(super) fn moved_sizes(snapshot: &Snapshot) -> Vec<(u32, u32)> {
    const UNSEEN: u32 = u32::MAX;
    const SEVERAL: u32 = u32::MAX - 1;
    let external = snapshot.strings.indices_of("system / ExternalStringData");
    let mut is_auxiliary = Bits::new(snapshot.len());
    for node in 0..snapshot.len() as u32 {
        let is_part = match snapshot.kind(node) {
            NodeKind::Hidden | NodeKind::Array => true,
            NodeKind::Native => external.contains(&snapshot.names[node as usize]),
            _ => false,
        };
        if is_part && Some(node) != snapshot.root() {
            is_auxiliary.insert(node);
        }
    }
    let mut owners = vec![UNSEEN; snapshot.len()];
    // Parts whose owner changed after their own parts were given theirs.
    let mut open = Vec::new();
    let give = |node: u32, owner: u32, owners: &mut [u32], open: &mut Vec<u32>, from: u32| {
        let edges = snapshot.edges(node);
        for (&target, label) in snapshot.targets[edges.clone()].iter().zip(&snapshot.edge_labels[edges]) {
            if !is_auxiliary.has(target) || label.is(EdgeKind::Weak) {
                continue;
            }
            let known = &mut owners[target as usize];
            if *known == UNSEEN {
                *known = owner;
            } else if *known != SEVERAL && *known != owner {
                *known = SEVERAL;
            } else {
                continue;
            }
            if target <= from {
                open.push(target);
            }
        }
    };
    for node in 0..snapshot.len() as u32 {
        let owner = if is_auxiliary.has(node) { owners[node as usize] } else { node };
        if owner != UNSEEN {
            give(node, owner, &mut owners, &mut open, node);
        }
    }
    while let Some(node) = open.pop() {
        give(node, owners[node as usize], &mut owners, &mut open, u32::MAX);
    }
    let root = snapshot.root();
    let is_taken = |owner: u32| Some(owner) == root || snapshot.kind(owner) == NodeKind::Synthetic;
    let moved = owners.iter().enumerate().filter(|&(_, &owner)| owner < SEVERAL && !is_taken(owner));
    moved.map(|(node, &owner)| (node as u32, owner)).collect()
}

/// Moves the sizes of nodes to others.
pub(super) fn move_sizes(snapshot: &mut Snapshot, moved: Vec<(u32, u32)>) {
    for (node, owner) in moved {
        let bytes = std::mem::take(&mut snapshot.sizes[node as usize]);
        let bytes = match bytes {
            LARGE => snapshot
                .large
                .binary_search_by_key(&node, |&(at, _)| at)
                .map_or(u64::from(LARGE), |at| snapshot.large.remove(at).1),
            bytes => bytes.into(),
        };
        snapshot.add_size(owner, bytes);
    }
}

impl Snapshot {
    fn add_size(&mut self, ordinal: u32, more: u64) {
        let sum = self.self_size(ordinal).saturating_add(more);
        let size = &mut self.sizes[ordinal as usize];
        match u32::try_from(sum) {
            Ok(sum) if sum != LARGE => *size = sum,
            _ => {
                *size = LARGE;
                match self.large.binary_search_by_key(&ordinal, |&(at, _)| at) {
                    Ok(at) => self.large[at].1 = sum,
                    Err(at) => self.large.insert(at, (ordinal, sum)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pairs_must_match_whole() {
        let name = "12 / part of key (Key @17) -> value (a) -> value ( @19) pair in WeakMap (table @15)";
        let pair = WeakMapPair::parse(name);
        assert_eq!(pair.map(|pair| pair.table), Some(15));
        assert!(pair.is_some_and(|pair| pair.entry.starts_with(" / part of key (Key")));
        for wrong in [
            " / part of key (K @1) -> value (V @2) pair in WeakMap (table @3)",
            "1 / part of key (K @1) -> value (V @2) pair in WeakMap (table @3) ",
            "1 / part of key (K @1) -> value (V @2) pair in WeakMap (table @)",
            "1 / part of key (K) -> value (V @2) pair in WeakMap (table @3)",
            "1 / part of key (K\n @1) -> value (V @2) pair in WeakMap (table @3)",
        ] {
            assert_eq!(WeakMapPair::parse(wrong), None, "{wrong}");
        }
    }
}
