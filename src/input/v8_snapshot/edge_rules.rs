//! Owners of bytes, and edges that hold: the rules by which Chrome DevTools reads a snapshot (docs/formats/v8-snapshot.md,
//! "Rules").

use rustc_hash::FxHashMap;

use super::bit_set::BitSet;
use super::block::{DANGLING_TARGET, LARGE_SIZE_MARK};
use super::layout::{EdgeKind, NodeKind};
use super::snapshot::Snapshot;

/// The two edges to the value of an entry in a WeakMap have one name, but for a number in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WeakMapPairName<'a> {
    /// The name without its number.
    pub(super) entry_name: &'a str,
    /// The id of the map's table.
    pub(super) table_id: u64,
}

impl<'a> WeakMapPairName<'a> {
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
        is_pair.then_some(WeakMapPairName { entry_name: entry, table_id: table })
    }
}

/// The rules that say whether an edge holds.
#[derive(Debug)]
pub(super) struct EdgeRules {
    root: Option<u32>,
    /// Nodes that belong to a page: what does not belong to it does not hold them.
    page_owned: Option<BitSet>,
    /// Names of edges that are of WeakMaps' entries.
    pair_names: BitSet,
}

impl EdgeRules {
    /// O(nodes + edges).
    pub(super) fn new(snapshot: &Snapshot, with_pages: bool) -> Self {
        let pair_names = weak_map_pair_names(snapshot);
        let page_owned = if with_pages { page_owned(snapshot) } else { None };
        EdgeRules { root: snapshot.root(), page_owned, pair_names }
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
            let pair = snapshot.strings.get(snapshot.edge_number(edge)).and_then(WeakMapPairName::parse);
            if pair.is_some_and(|pair| pair.table_id == snapshot.ids.get(source as usize)) {
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
pub(super) fn weak_map_pair_names(snapshot: &Snapshot) -> BitSet {
    let mut pair_names = BitSet::new(snapshot.strings.len());
    let pairs = snapshot.strings.iter().filter(|(_, name)| WeakMapPairName::parse(name).is_some());
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
    let targets = snapshot.edges(root).map(|edge| snapshot.targets[edge]).filter(|&target| target != DANGLING_TARGET);
    let is_user =
        |target: u32| snapshot.kind(target) != NodeKind::Synthetic || documents.contains(&snapshot.names.get(target));
    let mut roots: Vec<u32> = targets.filter(|&target| target != root && is_user(target)).collect();
    let mut seen = BitSet::new(snapshot.len());
    roots.retain(|&target| seen.insert(target));
    roots
}

/// Everything that a page reaches; `None` where there is no page.
fn page_owned(snapshot: &Snapshot) -> Option<BitSet> {
    let root = snapshot.root()?;
    let documents = snapshot.strings.indices_of(DOCUMENT_TREES);
    let mut owned = BitSet::new(snapshot.len());
    let mut starts = Vec::new();
    for edge in snapshot.edges(root) {
        let target = snapshot.targets[edge];
        if target == DANGLING_TARGET {
            continue;
        }
        let is_page = snapshot.is_kind(edge, EdgeKind::Shortcut)
            || (snapshot.is_kind(edge, EdgeKind::Element) && documents.contains(&snapshot.names.get(target)));
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
            mark_targets_owned(snapshot, node, &mut owned, |target| {
                if target < node {
                    open.push(target);
                }
            });
        }
    }
    while let Some(node) = open.pop() {
        mark_targets_owned(snapshot, node, &mut owned, |target| open.push(target));
    }
    Some(owned)
}

/// Makes what a node refers to owned; calls `found` with each that is so for the first time.
#[inline]
fn mark_targets_owned(snapshot: &Snapshot, node: u32, owned: &mut BitSet, mut found: impl FnMut(u32)) {
    let edges = snapshot.edges(node);
    for (&target, label) in snapshot.targets[edges.clone()].iter().zip(snapshot.edge_labels.labels_of(edges)) {
        if target != DANGLING_TARGET && !label.is(EdgeKind::Weak) && owned.insert(target) {
            found(target);
        }
    }
}

/// Not met so far, as an owner.
const UNSEEN_OWNER: u32 = u32::MAX;
const SEVERAL_OWNERS: u32 = u32::MAX - 1;

/// Nodes of which V8 has several for one object: their bytes are those of the one node that owns them.
#[derive(Debug, Default)]
pub(super) struct OwnedParts {
    /// By ordinal.
    is_part: BitSet,
    /// The owner of each, in their order.
    part_owners: Vec<u32>,
}

/// The parts and their owners. O(nodes + edges).
pub(super) fn owned_parts(snapshot: &Snapshot) -> OwnedParts {
    let external = snapshot.strings.indices_of("system / ExternalStringData");
    let mut is_part = BitSet::new(snapshot.len());
    let mut count = 0;
    for node in (0..snapshot.len() as u32).filter(|&node| Some(node) != snapshot.root()) {
        let is_own = match snapshot.kind(node) {
            NodeKind::Hidden | NodeKind::Array => true,
            NodeKind::Native => external.contains(&snapshot.names.get(node)),
            _ => false,
        };
        count += usize::from(is_own && is_part.insert(node));
    }
    let ranks = is_part.ranks();
    let mut owners = vec![UNSEEN_OWNER; count];
    // Parts whose owner changed after their own parts were given theirs.
    let mut open = Vec::new();
    let give = |node: u32, owner: u32, owners: &mut [u32], open: &mut Vec<u32>, from: u32| {
        let edges = snapshot.edges(node);
        for (&target, label) in snapshot.targets[edges.clone()].iter().zip(snapshot.edge_labels.labels_of(edges)) {
            let Some(part) = is_part.rank(target, &ranks).filter(|_| !label.is(EdgeKind::Weak)) else { continue };
            let known = &mut owners[part];
            if *known == UNSEEN_OWNER {
                *known = owner;
            } else if *known != SEVERAL_OWNERS && *known != owner {
                *known = SEVERAL_OWNERS;
            } else {
                continue;
            }
            if target <= from {
                open.push(target);
            }
        }
    };
    for node in 0..snapshot.len() as u32 {
        let owner = is_part.rank(node, &ranks).map_or(node, |part| owners[part]);
        if owner != UNSEEN_OWNER {
            give(node, owner, &mut owners, &mut open, node);
        }
    }
    while let Some(node) = open.pop() {
        let owner = is_part.rank(node, &ranks).map_or(node, |part| owners[part]);
        give(node, owner, &mut owners, &mut open, u32::MAX);
    }
    OwnedParts { is_part, part_owners: owners }
}

/// Moves the sizes of parts to their owners, but to categories. O(nodes).
pub(super) fn move_sizes_to_owners(snapshot: &mut Snapshot, parts: OwnedParts) {
    let mut large: FxHashMap<u32, u64> = std::mem::take(&mut snapshot.large_sizes).into_iter().collect();
    let nodes = (0..snapshot.len() as u32).filter(|&node| parts.is_part.has(node));
    for (node, owner) in nodes.zip(parts.part_owners) {
        if owner >= SEVERAL_OWNERS || Some(owner) == snapshot.root() || snapshot.kind(owner) == NodeKind::Synthetic {
            continue;
        }
        let mut take = |node: u32| match std::mem::take(&mut snapshot.sizes[node as usize]) {
            LARGE_SIZE_MARK => large.remove(&node).unwrap_or(0),
            bytes => bytes.into(),
        };
        let sum = take(owner).saturating_add(take(node));
        snapshot.sizes[owner as usize] = u16::try_from(sum).unwrap_or(LARGE_SIZE_MARK);
        if sum >= LARGE_SIZE_MARK.into() {
            large.insert(owner, sum);
        }
    }
    snapshot.large_sizes = large.into_iter().collect();
    snapshot.large_sizes.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pairs_must_match_whole() {
        let name = "12 / part of key (Key @17) -> value (a) -> value ( @19) pair in WeakMap (table @15)";
        let pair = WeakMapPairName::parse(name);
        assert_eq!(pair.map(|pair| pair.table_id), Some(15));
        assert!(pair.is_some_and(|pair| pair.entry_name.starts_with(" / part of key (Key")));
        for wrong in [
            " / part of key (K @1) -> value (V @2) pair in WeakMap (table @3)",
            "1 / part of key (K @1) -> value (V @2) pair in WeakMap (table @3) ",
            "1 / part of key (K @1) -> value (V @2) pair in WeakMap (table @)",
            "1 / part of key (K) -> value (V @2) pair in WeakMap (table @3)",
            "1 / part of key (K\n @1) -> value (V @2) pair in WeakMap (table @3)",
        ] {
            assert_eq!(WeakMapPairName::parse(wrong), None, "{wrong}");
        }
    }
}
