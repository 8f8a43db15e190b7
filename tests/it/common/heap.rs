//! Heaps described in a test, and answers about them by definition: slow, simple, and sharing nothing with the library.

use std::collections::{BTreeMap, VecDeque};

/// What a reference leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Object(usize),
    Null,
    Missing,
}

#[derive(Debug, Clone)]
pub struct Object {
    pub type_name: &'static str,
    pub bytes: u64,
    pub references: Vec<Target>,
}

#[derive(Debug, Clone, Copy)]
pub struct HeapRoot {
    pub object: usize,
    pub kind: u32,
    pub flags: u32,
}

impl HeapRoot {
    pub fn is_weak(&self) -> bool {
        self.flags & 2 != 0
    }
}

/// Objects by number; a number's address ascends with it.
#[derive(Debug, Clone, Default)]
pub struct Heap {
    pub objects: Vec<Object>,
    pub roots: Vec<HeapRoot>,
}

pub const TYPES: [&str; 4] = ["demo.Node", "demo.Leaf", "demo.deep.Holder", "Plain"];

impl Heap {
    /// Adds an object and gives its number.
    pub fn object(&mut self, type_name: &'static str, bytes: u64) -> usize {
        self.objects.push(Object { type_name, bytes, references: Vec::new() });
        self.objects.len() - 1
    }

    /// `from` refers to `to`.
    pub fn refer(&mut self, from: usize, to: usize) {
        self.objects[from].references.push(Target::Object(to));
    }

    pub fn root(&mut self, object: usize) {
        self.roots.push(HeapRoot { object, kind: 1, flags: 0 });
    }

    /// The address in dumps: aligned to 8, with gaps, never 0.
    pub fn address(number: usize) -> u64 {
        0x10000 + 24 * number as u64
    }

    pub fn targets(&self, object: usize) -> impl Iterator<Item = usize> + '_ {
        self.objects[object].references.iter().filter_map(|target| match target {
            Target::Object(number) => Some(*number),
            _ => None,
        })
    }

    pub fn strong_starts(&self) -> Vec<usize> {
        self.roots.iter().filter(|root| !root.is_weak()).map(|root| root.object).collect()
    }

    /// Which objects `starts` reach when `without` is taken out.
    pub fn reach(&self, starts: &[usize], without: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; self.objects.len()];
        let mut queue: Vec<usize> = starts.to_vec();
        while let Some(object) = queue.pop() {
            if Some(object) != without && !seen[object] {
                seen[object] = true;
                queue.extend(self.targets(object));
            }
        }
        seen
    }

    /// Retained bytes by definition: what becomes unreachable when the object is taken out.
    pub fn retained_bytes(&self, object: usize) -> Option<u64> {
        let starts = self.strong_starts();
        let with = self.reach(&starts, None);
        if !with[object] {
            return None;
        }
        let without = self.reach(&starts, Some(object));
        Some((0..self.objects.len()).filter(|&o| with[o] && !without[o]).map(|o| self.objects[o].bytes).sum())
    }

    /// The same for several objects taken out together.
    pub fn retained_bytes_together(&self, objects: &[usize]) -> u64 {
        let with = self.reach(&self.strong_starts(), None);
        let mut rest = self.clone();
        objects.iter().for_each(|&object| rest.objects[object].references.clear());
        let starts: Vec<usize> = self.strong_starts().into_iter().filter(|start| !objects.contains(start)).collect();
        let without = rest.reach(&starts, None);
        let is_freed = |o: &usize| with[*o] && (!without[*o] || objects.contains(o));
        (0..self.objects.len()).filter(is_freed).map(|o| self.objects[o].bytes).sum()
    }

    /// References from the nearest of `starts`.
    pub fn distances(&self, starts: &[usize]) -> Vec<Option<usize>> {
        let mut distances = vec![None; self.objects.len()];
        let mut queue: VecDeque<(usize, usize)> = starts.iter().map(|&start| (start, 0)).collect();
        while let Some((object, distance)) = queue.pop_front() {
            if distances[object].is_none() {
                distances[object] = Some(distance);
                queue.extend(self.targets(object).map(|target| (target, distance + 1)));
            }
        }
        distances
    }

    /// (objects, bytes, reachable objects, reachable bytes) by type.
    pub fn histogram(&self) -> BTreeMap<String, (u64, u64, u64, u64)> {
        let reached = self.reach(&self.strong_starts(), None);
        let mut types = BTreeMap::new();
        for (number, object) in self.objects.iter().enumerate() {
            let row: &mut (u64, u64, u64, u64) = types.entry(object.type_name.to_string()).or_default();
            row.0 += 1;
            row.1 += object.bytes;
            if reached[number] {
                row.2 += 1;
                row.3 += object.bytes;
            }
        }
        types
    }

    /// The objects that must be roots where a dump has none: first those no other refers to, then the first of every
    /// group of objects that reach each other and that nothing else unreached leads into. (kind word, object)
    pub fn inferred_roots(&self) -> Vec<(&'static str, usize)> {
        let count = self.objects.len();
        let mut roots: Vec<(&str, usize)> = (0..count)
            .filter(|&object| !(0..count).any(|other| other != object && self.targets(other).any(|t| t == object)))
            .map(|object| ("unreferenced", object))
            .collect();
        let starts: Vec<usize> = roots.iter().map(|root| root.1).collect();
        let reached = self.reach(&starts, None);
        let reach_of: Vec<Vec<bool>> = (0..count).map(|object| self.reach(&[object], None)).collect();
        for object in (0..count).filter(|&object| !reached[object]) {
            let leads_in = |other: usize| !reached[other] && reach_of[other][object];
            let is_source = (0..count).all(|other| !leads_in(other) || reach_of[object][other]);
            let is_first = (0..object).all(|other| !(leads_in(other) && reach_of[object][other]));
            if is_source && is_first {
                roots.push(("cycle", object));
            }
        }
        roots
    }
}
