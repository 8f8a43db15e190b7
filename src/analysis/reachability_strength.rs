//! Strength of the hold on objects: by strong references alone, or only by such as the runtime may give up.

use crate::graph::{HeapGraph, NodeId, NodeSet, SoftKind, SoftReference};

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
        soft,
        sources,
        strengths: vec![ReachabilityStrength::Unreachable; graph.node_count()],
        pending: graph.strong_roots().map(|root| root.node).collect(),
        waiting: Default::default(),
        given_up: Vec::new(),
    };
    walk.run(ReachabilityStrength::Strong);
    for level in [ReachabilityStrength::Soft, ReachabilityStrength::Final] {
        walk.pending = std::mem::take(&mut walk.waiting[level as usize]);
        walk.run(level);
    }
    for node in graph.nodes().filter(|node| walk.strengths[node.index()] != ReachabilityStrength::Unreachable) {
        walk.pending.extend(graph.references(node).filter(|reference| reference.is_weak).map(|weak| weak.node));
    }
    walk.run(ReachabilityStrength::Weak);
    Some(walk.strengths)
}

struct StrengthWalk<'a> {
    graph: &'a HeapGraph,
    soft: &'a [SoftReference],
    /// Objects with references that may be given up.
    sources: NodeSet,
    strengths: Vec<ReachabilityStrength>,
    pending: Vec<NodeId>,
    /// By level: what is held no better than so.
    waiting: [Vec<NodeId>; 3],
    /// Of the object at hand: its references that may be given up and were not met yet.
    given_up: Vec<SoftReference>,
}

impl StrengthWalk<'_> {
    /// Visits all that can be reached at this level and was not before.
    fn run(&mut self, level: ReachabilityStrength) {
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
            if !self.sources.contains(node) {
                self.pending.extend_from_slice(references);
                continue;
            }
            let first = self.soft.partition_point(|soft| soft.source < node);
            self.given_up.clear();
            self.given_up.extend(self.soft[first..].iter().take_while(|soft| soft.source == node));
            for &target in references {
                // One reference for each that may be given up: another field may refer to the same object.
                let at = self.given_up.iter().position(|soft| soft.target == target);
                let least = match at.map(|at| self.given_up.swap_remove(at).kind) {
                    None => ReachabilityStrength::Strong,
                    Some(SoftKind::Soft) => ReachabilityStrength::Soft,
                    Some(SoftKind::Final) => ReachabilityStrength::Final,
                };
                match least <= level {
                    true => self.pending.push(target),
                    false => self.waiting[least as usize].push(target),
                }
            }
        }
    }
}
