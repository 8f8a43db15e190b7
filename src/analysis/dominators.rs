//! Immediate dominators of everything that strong roots reach: which object must be passed on every path to another.
//!
//! Semi-NCA (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005) over depth-first numbers,
//! from a virtual root with number 0 above all strong roots. Two changes make it fit for real heaps. The depth-first
//! walk writes what is no tree edge into a log, which a counting sort turns into predecessor lists of back and cross
//! edges only; forward edges give their value at once. And where climbing to a nearest common ancestor takes too many
//! steps in all (an array that also holds the items of a long list: quadratic in the textbook form), skew-binary jump
//! pointers take over, so that the worst case is O(references x log objects) for certain. Nothing recurses.
//!
//! petgraph's `simple_fast` is the second opinion in tests; it is cubic on doubly linked lists.

use crate::graph::{HeapGraph, NodeId};

const UNREACHED: u32 = u32::MAX;

/// What immediately dominates an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dominator {
    /// No strong root reaches the object.
    Unreachable,
    /// Nothing single: only the roots together.
    Roots,
    /// This object.
    Node(NodeId),
}

/// The dominator tree, in depth-first numbers: 0 is the virtual root, reached objects follow, and every number is
/// greater than that of its immediate dominator.
#[derive(Debug)]
pub struct Dominators {
    /// By number; `nodes[0]` means nothing.
    nodes: Vec<NodeId>,
    /// By number.
    immediate: Vec<u32>,
    /// By node.
    numbers: Vec<u32>,
    steps: u64,
}

impl Dominators {
    /// Computes the tree. O(references x log objects) at worst, near O(references) on heaps; about 33 bytes per object
    /// while it runs, 12 are kept.
    pub fn compute(graph: &HeapGraph) -> Self {
        let walk = Walk::run(graph);
        let Walk { nodes, parents, numbers, log } = walk;
        let (semi, lists) = sort_log(&parents, log);
        let mut steps = 0;
        let (semi, cells) = semidominators(&parents, semi, &lists, &mut steps);
        drop(lists);
        let immediate = immediate_dominators(parents, &semi, cells, &mut steps);
        Dominators { nodes, immediate, numbers, steps }
    }

    /// Reached objects.
    pub fn reached_count(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The object's number in this tree, if it is reached. O(1).
    pub fn number_of(&self, node: NodeId) -> Option<usize> {
        match self.numbers[node.index()] {
            UNREACHED => None,
            number => Some(number as usize),
        }
    }

    /// The object with this number, which must be 1 to `reached_count`. O(1).
    pub fn node_at(&self, number: usize) -> NodeId {
        self.nodes[number]
    }

    /// The number of the immediate dominator of the object with this number; 0 is the virtual root. O(1).
    pub fn immediate_of(&self, number: usize) -> usize {
        self.immediate[number] as usize
    }

    /// What immediately dominates the object. O(1).
    pub fn dominator_of(&self, node: NodeId) -> Dominator {
        match self.number_of(node).map(|number| self.immediate_of(number)) {
            None => Dominator::Unreachable,
            Some(0) => Dominator::Roots,
            Some(number) => Dominator::Node(self.nodes[number]),
        }
    }

    /// Steps that were taken up trees while computing: what grows without bound in algorithms that are not linear.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// One depth-first walk: numbers, parents, and a log of the edges that are not of its tree.
struct Walk {
    nodes: Vec<NodeId>,
    parents: Vec<u32>,
    numbers: Vec<u32>,
    /// (target, source), by number.
    log: Vec<(u32, u32)>,
}

struct Frame {
    number: u32,
    next: usize,
}

impl Walk {
    fn run(graph: &HeapGraph) -> Walk {
        let mut starts: Vec<NodeId> = graph.strong_roots().map(|root| root.node).collect();
        starts.sort_unstable();
        starts.dedup();
        let node_count = graph.node_count();
        let mut walk = Walk {
            nodes: Vec::with_capacity(node_count + 1),
            parents: Vec::with_capacity(node_count + 1),
            numbers: vec![UNREACHED; node_count],
            // Reserved for the worst case: pages that are not written to cost nothing.
            log: Vec::with_capacity(graph.reference_count() + starts.len()),
        };
        walk.nodes.push(NodeId::new(0));
        walk.parents.push(0);
        let mut stack: Vec<Frame> = Vec::new();
        for start in starts {
            if walk.numbers[start.index()] != UNREACHED {
                walk.log.push((walk.numbers[start.index()], 0));
                continue;
            }
            stack.push(walk.enter(start, 0));
            while let Some(frame) = stack.last_mut() {
                let source = frame.number;
                let targets = graph.references(walk.nodes[source as usize]);
                let Some(&target) = targets.get(frame.next) else {
                    stack.pop();
                    continue;
                };
                frame.next += 1;
                match walk.numbers[target.index()] {
                    UNREACHED => stack.push(walk.enter(target, source)),
                    number if number == source => {}
                    number => walk.log.push((number, source)),
                }
            }
        }
        walk.nodes.shrink_to_fit();
        walk.parents.shrink_to_fit();
        walk
    }

    #[inline]
    fn enter(&mut self, node: NodeId, parent: u32) -> Frame {
        let number = self.nodes.len() as u32;
        self.numbers[node.index()] = number;
        self.nodes.push(node);
        self.parents.push(parent);
        Frame { number, next: 0 }
    }
}

/// Sources of back and cross edges by target.
struct EdgeLists {
    /// Entry `number` ends where entry `number + 1` begins; one more than there are numbers.
    ends: Vec<u32>,
    sources: Vec<u32>,
}

/// First values of the semidominators (parents and sources of forward edges), and the lists of all other edges.
fn sort_log(parents: &[u32], log: Vec<(u32, u32)>) -> (Vec<u32>, EdgeLists) {
    let mut semi = parents.to_vec();
    let mut ends = vec![0u32; parents.len() + 1];
    let mut kept = 0usize;
    for &(target, source) in &log {
        if source < target {
            let value = &mut semi[target as usize];
            *value = (*value).min(source);
        } else {
            ends[target as usize] += 1;
            kept += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    // Filled from behind, the ends become the beginnings.
    let mut sources = vec![0u32; kept];
    for &(target, source) in log.iter().rev() {
        if source > target {
            let cursor = &mut ends[target as usize];
            *cursor -= 1;
            sources[*cursor as usize] = source;
        }
    }
    (semi, EdgeLists { ends, sources })
}

/// An ancestor, and the smallest semidominator on the way to it.
#[derive(Clone, Copy)]
struct Cell {
    ancestor: u32,
    label: u32,
}

fn semidominators(parents: &[u32], mut semi: Vec<u32>, lists: &EdgeLists, steps: &mut u64) -> (Vec<u32>, Vec<Cell>) {
    let mut cells: Vec<Cell> = parents.iter().map(|&ancestor| Cell { ancestor, label: 0 }).collect();
    let mut path = Vec::new();
    for number in (1..parents.len()).rev() {
        let mut best = semi[number];
        let edges = lists.ends[number] as usize..lists.ends[number + 1] as usize;
        for &source in &lists.sources[edges] {
            if best == 0 {
                break;
            }
            best = best.min(smallest_label(&mut cells, source, number as u32, &mut path, steps));
        }
        semi[number] = best;
        cells[number].label = best;
    }
    (semi, cells)
}

/// The smallest semidominator on the tree path from `source` up to, and without, the first ancestor that is `limit` or
/// less; the path is compressed.
#[inline]
fn smallest_label(cells: &mut [Cell], source: u32, limit: u32, path: &mut Vec<u32>, steps: &mut u64) -> u32 {
    let mut at = source;
    while cells[at as usize].ancestor > limit {
        path.push(at);
        at = cells[at as usize].ancestor;
    }
    *steps += path.len() as u64;
    let Cell { ancestor, mut label } = cells[at as usize];
    while let Some(below) = path.pop() {
        let cell = &mut cells[below as usize];
        label = label.min(cell.label);
        *cell = Cell { ancestor, label };
    }
    label
}

/// Climbs from each parent to the first ancestor that is at or above the semidominator. `cells` is memory to use again.
fn immediate_dominators(parents: Vec<u32>, semi: &[u32], cells: Vec<Cell>, steps: &mut u64) -> Vec<u32> {
    let mut immediate = parents;
    let count = immediate.len();
    let mut patience = 4 * count as u64;
    for number in 1..count {
        let limit = semi[number];
        let mut at = immediate[number];
        while at > limit {
            at = immediate[at as usize];
            *steps += 1;
            if patience == 0 {
                climb_with_jumps(&mut immediate, semi, cells, number, steps);
                return immediate;
            }
            patience -= 1;
        }
        immediate[number] = at;
    }
    immediate
}

/// The rest of the climbs, from `first` on, with a jump pointer and a depth per number (Myers, "An applicative
/// random-access stack", 1983): O(log objects) each.
fn climb_with_jumps(immediate: &mut [u32], semi: &[u32], mut cells: Vec<Cell>, first: usize, steps: &mut u64) {
    // In a cell here: `ancestor` is the jump, `label` the depth.
    cells[0] = Cell { ancestor: 0, label: 0 };
    for number in 1..immediate.len() {
        if number >= first {
            let limit = semi[number];
            let mut at = immediate[number];
            while at > limit {
                let jump = cells[at as usize].ancestor;
                at = if jump > limit { jump } else { immediate[at as usize] };
                *steps += 1;
            }
            immediate[number] = at;
        }
        let above = immediate[number];
        let Cell { ancestor: jump, label: depth } = cells[above as usize];
        let Cell { ancestor: jump_of_jump, label: jump_depth } = cells[jump as usize];
        let equal = depth - jump_depth == jump_depth - cells[jump_of_jump as usize].label;
        cells[number] = Cell { ancestor: if equal { jump_of_jump } else { above }, label: depth + 1 };
    }
}
