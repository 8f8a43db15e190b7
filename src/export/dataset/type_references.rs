//! `type_references`: a row for each pair of types of which objects of one refer to objects of the other.

use std::io::Write;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::TableName;
use super::error::TableError;
use super::object_heap::ObjectHeap;
use super::parquet_table::{ParquetColumn, to_i64, write_table};
use crate::graph::{NodeId, TypeId};
use crate::sort;

/// References of a pair, and those of them whose source is reachable.
type PairCounts = (u64, u64);
/// By source and target.
type CountsByTypePair = FxHashMap<(TypeId, TypeId), PairCounts>;

/// Objects whose references are counted together.
const NODES_AT_ONCE: usize = 1 << 18;

/// Writes the table. O(objects + references), on all threads.
pub(super) fn write<W: Write + Send>(heap: &ObjectHeap<'_>, out: W) -> Result<W, TableError> {
    let graph = heap.graph;
    let starts: Vec<usize> = (0..graph.node_count()).step_by(NODES_AT_ONCE).collect();
    let pairs = starts.into_par_iter().map(|start| count_pairs_from(heap, start)).reduce(
        CountsByTypePair::default,
        |mut all, more| {
            if all.is_empty() {
                return more;
            }
            for (pair, (references, reachable)) in more {
                let counts = all.entry(pair).or_default();
                *counts = (counts.0 + references, counts.1 + reachable);
            }
            all
        },
    );
    let mut rows: Vec<((TypeId, TypeId), PairCounts)> = pairs.into_iter().collect();
    let names = |(source, target): (TypeId, TypeId)| (graph.type_name(source), graph.type_name(target));
    sort::rows_by(&mut rows, &|(a, _), (b, _)| names(*a).cmp(&names(*b)));
    let columns = [
        ParquetColumn::constant("dump", &heap.dump_id),
        ParquetColumn::new("source_type", |row| heap.type_name(rows[row].0.0)),
        ParquetColumn::new("target_type", |row| heap.type_name(rows[row].0.1)),
        ParquetColumn::new("reference_count", |row| to_i64(rows[row].1.0)),
        ParquetColumn::new("reachable_references", |row| to_i64(rows[row].1.1)),
    ];
    Ok(write_table(out, TableName::TypeReferences, rows.len(), &columns)?)
}

/// Pairs that are counted at hand: a few make up most references.
const PAIR_CACHE_SLOTS: usize = 1 << 12;

/// Counts of pairs: those that came last lie at hand, each in its own place, and give way to others there.
struct PairCounter {
    cache: Vec<((TypeId, TypeId), PairCounts)>,
    pairs: CountsByTypePair,
}

impl PairCounter {
    fn add(&mut self, pair: (TypeId, TypeId), reachable: u64) {
        let place = pair.0.index().wrapping_mul(31).wrapping_add(pair.1.index()) % PAIR_CACHE_SLOTS;
        let (known, counts) = &mut self.cache[place];
        if *known != pair {
            Self::add_counts(&mut self.pairs, *known, std::mem::take(counts));
            *known = pair;
        }
        *counts = (counts.0 + 1, counts.1 + reachable);
    }

    fn add_counts(pairs: &mut CountsByTypePair, pair: (TypeId, TypeId), counts: PairCounts) {
        if counts.0 > 0 {
            let all = pairs.entry(pair).or_default();
            *all = (all.0 + counts.0, all.1 + counts.1);
        }
    }

    fn finish(mut self) -> CountsByTypePair {
        self.cache.into_iter().for_each(|(pair, counts)| Self::add_counts(&mut self.pairs, pair, counts));
        self.pairs
    }
}

/// Counts the pairs of the [`NODES_AT_ONCE`] objects from `start` on.
fn count_pairs_from(heap: &ObjectHeap<'_>, start: usize) -> CountsByTypePair {
    let graph = heap.graph;
    let nothing = ((TypeId::new(0), TypeId::new(0)), PairCounts::default());
    let mut counter = PairCounter { cache: vec![nothing; PAIR_CACHE_SLOTS], pairs: CountsByTypePair::default() };
    for node in (start..graph.node_count().min(start + NODES_AT_ONCE)).map(NodeId::new) {
        // Types of one name are one, even where the dump tells them apart.
        let source = graph.first_type_of_same_name(graph.type_of(node));
        let reachable = u64::from(heap.reachable.contains(node));
        for reference in graph.references(node) {
            let target = graph.first_type_of_same_name(graph.type_of(reference.node));
            counter.add((source, target), reachable);
        }
    }
    counter.finish()
}
