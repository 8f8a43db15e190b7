//! Strength of the hold on objects: by strong references alone, or only by such as the runtime may give up.

use crate::graph::{ClearableKind, HeapGraph, NodeId, NodeSet, SoftReference};

/// The strongest way that leads to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ReachabilityStrength {
    /// Strong references that stay.
    Strong,
    /// A soft reference must be passed.
    Soft,
    /// A finalizer's reference must be passed.
    Final,
    /// A weak or phantom reference must be passed.
    Weak,
    /// There is none.
    Unreachable,
}

impl ReachabilityStrength {
    /// All of them, the strongest first.
    pub const ALL: [ReachabilityStrength; 5] = [
        ReachabilityStrength::Strong,
        ReachabilityStrength::Soft,
        ReachabilityStrength::Final,
        ReachabilityStrength::Weak,
        ReachabilityStrength::Unreachable,
    ];

    /// As users see it.
    pub fn name(self) -> &'static str {
        match self {
            ReachabilityStrength::Strong => "strong",
            ReachabilityStrength::Soft => "soft",
            ReachabilityStrength::Final => "final",
            ReachabilityStrength::Weak => "weak",
            ReachabilityStrength::Unreachable => "unreachable",
        }
    }
}

/// For each object how it is held; `None` where the dump does not tell references apart. Four walks that together visit
/// each object once: O(objects + references); a byte per object.
pub fn reachability_strengths(graph: &HeapGraph) -> Option<Vec<ReachabilityStrength>> {
    let soft = graph.soft_references()?;
    let mut sources = NodeSet::new(graph.node_count());
    for soft in soft {
        sources.insert(soft.source);
    }
    let mut walk = StrengthWalk {
        graph,
        soft_references: soft,
        clearable_sources: sources,
        strengths: vec![ReachabilityStrength::Unreachable; graph.node_count()],
        pending: graph.strong_roots().map(|root| root.node).collect(),
        deferred_by_strength: Default::default(),
        clearable_references: Vec::new(),
    };
    walk.visit_all_at(ReachabilityStrength::Strong);
    for level in [ReachabilityStrength::Soft, ReachabilityStrength::Final] {
        walk.pending = std::mem::take(&mut walk.deferred_by_strength[level as usize]);
        walk.visit_all_at(level);
    }
    for node in graph.nodes().filter(|node| walk.strengths[node.index()] != ReachabilityStrength::Unreachable) {
        walk.pending.extend(graph.references(node).filter(|reference| reference.is_weak).map(|weak| weak.node));
    }
    walk.visit_all_at(ReachabilityStrength::Weak);
    Some(walk.strengths)
}

struct StrengthWalk<'a> {
    graph: &'a HeapGraph,
    soft_references: &'a [SoftReference],
    /// Objects with references that may be given up.
    clearable_sources: NodeSet,
    strengths: Vec<ReachabilityStrength>,
    pending: Vec<NodeId>,
    /// By level: what is held no better than so.
    deferred_by_strength: [Vec<NodeId>; 3],
    /// Of the object at hand: its references that may be given up and were not met yet.
    clearable_references: Vec<SoftReference>,
}

impl StrengthWalk<'_> {
    /// Visits all that can be reached at this level and was not before.
    fn visit_all_at(&mut self, level: ReachabilityStrength) {
        while let Some(node) = self.pending.pop() {
            if self.strengths[node.index()] != ReachabilityStrength::Unreachable {
                continue;
            }
            self.strengths[node.index()] = level;
            if level == ReachabilityStrength::Weak {
                self.pending.extend(self.graph.references(node).map(|reference| reference.node));
                continue;
            }
            let references = self.graph.strong_references(node);
            if !self.clearable_sources.contains(node) {
                self.pending.extend_from_slice(references);
                continue;
            }
            let first = self.soft_references.partition_point(|soft| soft.source < node);
            self.clearable_references.clear();
            self.clearable_references
                .extend(self.soft_references[first..].iter().take_while(|soft| soft.source == node));
            for &target in references {
                // One reference for each that may be given up: another field may refer to the same object.
                let at = self.clearable_references.iter().position(|soft| soft.target == target);
                let least = match at.map(|at| self.clearable_references.swap_remove(at).kind) {
                    None => ReachabilityStrength::Strong,
                    Some(ClearableKind::Soft) => ReachabilityStrength::Soft,
                    Some(ClearableKind::Final) => ReachabilityStrength::Final,
                };
                match least <= level {
                    true => self.pending.push(target),
                    false => self.deferred_by_strength[least as usize].push(target),
                }
            }
        }
    }
}
