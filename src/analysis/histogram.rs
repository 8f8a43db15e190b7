//! Objects and bytes by type, by package, by section.

use std::ops::Range;

use crate::graph::{HeapGraph, NodeSet, SectionId};
use crate::parallel;

/// Objects and shallow bytes of a group, and how much of both strong roots reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupTally {
    /// Objects.
    pub objects: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
    /// Objects that strong roots reach.
    pub reachable_objects: u64,
    /// Their shallow bytes.
    pub reachable_bytes: u64,
}

impl GroupTally {
    /// Counts one object.
    #[inline]
    pub fn add_object(&mut self, bytes: u64, is_reachable: bool) {
        self.objects += 1;
        self.shallow_bytes = self.shallow_bytes.saturating_add(bytes);
        if is_reachable {
            self.reachable_objects += 1;
            self.reachable_bytes = self.reachable_bytes.saturating_add(bytes);
        }
    }

    /// Takes another group in.
    pub fn add(&mut self, other: &GroupTally) {
        self.objects += other.objects;
        self.shallow_bytes = self.shallow_bytes.saturating_add(other.shallow_bytes);
        self.reachable_objects += other.reachable_objects;
        self.reachable_bytes = self.reachable_bytes.saturating_add(other.reachable_bytes);
    }
}

/// Figures of the heap that a sample was taken of. Rounded once, when they are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SampleEstimate {
    /// Objects.
    pub objects: f64,
    /// Their shallow bytes.
    pub bytes: f64,
}

impl SampleEstimate {
    /// Whole objects and bytes.
    pub fn rounded(self) -> [u64; 2] {
        [self.objects, self.bytes].map(|figure| figure.round() as u64)
    }

    /// Counts objects of a type that stand for `multiplier` times as many.
    pub fn add(&mut self, objects: u64, bytes: u64, multiplier: f32) {
        self.objects += f64::from(multiplier) * objects as f64;
        self.bytes += f64::from(multiplier) * bytes as f64;
    }
}

/// One tally per type, for the nodes of a range (all, or a section's) that histograms count. O(nodes), on all threads.
pub fn tally_types(graph: &HeapGraph, reachable: &NodeSet, nodes: Range<usize>) -> Vec<GroupTally> {
    let types = graph.type_count();
    let pieces = if nodes.len() < 100_000 { 1 } else { rayon::current_num_threads() };
    let length = nodes.len().div_ceil(pieces).max(1);
    let ranges: Vec<Range<usize>> =
        nodes.clone().step_by(length).map(|start| start..(start + length).min(nodes.end)).collect();
    let parts = parallel::map(ranges, &|range| {
        let mut tallies = vec![GroupTally::default(); types];
        let counts_all = !graph.counts_only_objects_with_bytes;
        for (node, type_id, bytes) in graph.objects(range).filter(|&(_, _, bytes)| counts_all || bytes > 0) {
            tallies[type_id.index()].add_object(bytes, reachable.contains(node));
        }
        tallies
    });
    let mut sum = vec![GroupTally::default(); types];
    for part in parts {
        sum.iter_mut().zip(&part).for_each(|(sum, part)| sum.add(part));
    }
    sum
}

/// The tally of one section: of the objects that histograms count. O(nodes of the section).
pub fn tally_section(graph: &HeapGraph, reachable: &NodeSet, section: SectionId) -> GroupTally {
    let mut tally = GroupTally::default();
    for (node, _, bytes) in
        graph.objects(graph.section_nodes(section)).filter(|(node, ..)| graph.is_counted_in_histograms(*node))
    {
        tally.add_object(bytes, reachable.contains(node));
    }
    tally
}

/// The namespace or package a type belongs to: what stands before the last dot of its name, generic arguments and array
/// brackets left aside. `None` for types without one (`int[]`, `<type 0x1d>`).
pub fn package_of(type_name: &str) -> Option<&str> {
    let name = type_name.trim_start_matches('[');
    let name = if name.len() < type_name.len() { name.strip_prefix('L').unwrap_or(name) } else { name };
    let end = name.find(['`', '[', '<', '(', ',', ' ', '+', '$', ';']).unwrap_or(name.len());
    let name = &name[..end];
    let dot = name.rfind(['.', '/'])?;
    (dot > 0).then(|| &name[..dot])
}

#[cfg(test)]
mod tests {
    use super::package_of;

    #[test]
    fn packages_of_type_names() {
        for (name, package) in [
            ("System.Collections.Generic.List`1[[BubbleGame.Level]]", Some("System.Collections.Generic")),
            ("System.Byte[]", Some("System")),
            ("java.util.Hashtable$Entry[]", Some("java.util")),
            ("[Ljava/util/Hashtable$Entry;", Some("java/util")),
            ("Game.Level+<>c__DisplayClass3", Some("Game")),
            ("a.A$$Lambda$1/0x00000000080c3000", Some("a")),
            ("System.Collections.Generic.Dictionary<System.String,A.B>", Some("System.Collections.Generic")),
            ("char[]", None),
            ("<type 0x1d>", None),
            ("Big", None),
        ] {
            assert_eq!(package_of(name), package, "{name}");
        }
    }
}
