//! Objects that may have been listed before, found in memory of a fixed size: for counting without a graph.
//!
//! Dumps list objects in some ascending runs of ids. A run is kept by its two ends. An object outside all runs is
//! certainly new; one within a run may be one of those there, and is counted as such. Never too few are counted.

/// Runs that are kept; when there are more, those that are nearest to each other are joined.
const MAX_RUNS: usize = 512;

/// The longest step within a run: what is skipped may come later (the runtime's regions have 4 MiB and more).
pub(super) const MAX_ID_STEP: u64 = 1 << 20;

/// The ids of a section so far, and how many objects of all sections may be repeats.
#[derive(Debug, Default)]
pub(super) struct RepeatDetector {
    /// First and last id of each run, apart and ascending.
    runs: Vec<(u64, u64)>,
    /// The run that grew last, and the first id of the one above it.
    current_run: usize,
    next_run_first: u64,
    pub(super) possible_repeat_count: u64,
    pub(super) first_repeat_position: u64,
}

impl RepeatDetector {
    /// Begins a section, whose ids have nothing to do with those before.
    pub(super) fn begin_section(&mut self) {
        self.runs.clear();
        (self.current_run, self.next_run_first) = (0, 0);
    }

    /// Takes an object. O(1) in an ascending run, else O(log runs).
    #[inline]
    pub(super) fn add(&mut self, id: u64, position: u64) {
        self.add_run((id, id), 1, position);
    }

    /// Takes objects with ascending ids, of which the first and the last are given.
    #[inline]
    pub(super) fn add_run(&mut self, (first, last): (u64, u64), objects: u64, position: u64) {
        match self.runs.get_mut(self.current_run) {
            Some(run) if first > run.1 && last < self.next_run_first && first - run.1 <= MAX_ID_STEP => run.1 = last,
            _ => self.add_elsewhere(first, last, objects, position),
        }
    }

    pub(super) fn note_repeats(&mut self, objects: u64, position: u64) {
        if objects > 0 && (self.possible_repeat_count == 0 || position < self.first_repeat_position) {
            self.first_repeat_position = position;
        }
        self.possible_repeat_count += objects;
    }

    fn add_elsewhere(&mut self, first: u64, last: u64, objects: u64, position: u64) {
        let at = self.runs.partition_point(|run| run.1 < first);
        let meeting = self.runs[at..].partition_point(|run| run.0 <= last);
        if meeting > 0 {
            self.note_repeats(objects, position);
            let joined = (first.min(self.runs[at].0), last.max(self.runs[at + meeting - 1].1));
            // Within one run: whatever grew before goes on growing.
            if meeting == 1 && joined == self.runs[at] {
                return;
            }
            self.runs.splice(at..at + meeting, [joined]);
        } else if at > 0 && first - self.runs[at - 1].1 <= MAX_ID_STEP {
            self.runs[at - 1].1 = last;
        } else {
            self.runs.insert(at, (first, last));
            if self.runs.len() > MAX_RUNS {
                self.join_nearest_runs();
            }
        }
        self.current_run = self.runs.partition_point(|run| run.1 < last);
        self.next_run_first = self.runs.get(self.current_run + 1).map_or(u64::MAX, |run| run.0);
    }

    /// Joins half of the runs to the ones below them, where least is between.
    fn join_nearest_runs(&mut self) {
        let mut gaps: Vec<u64> = self.runs.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
        let (_, &mut middle, _) = gaps.select_nth_unstable(MAX_RUNS / 2);
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(MAX_RUNS + 1);
        for &run in &self.runs {
            match joined.last_mut() {
                Some(last) if run.0 - last.1 <= middle => last.1 = run.1,
                _ => joined.push(run),
            }
        }
        self.runs = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn watched(ids: impl IntoIterator<Item = u64>) -> (u64, u64) {
        let mut watch = RepeatDetector::default();
        ids.into_iter().zip(1..).for_each(|(id, position)| watch.add(id, position));
        (watch.possible_repeat_count, watch.first_repeat_position)
    }

    #[test]
    fn runs_in_any_order_have_no_repeats() {
        assert_eq!(watched(1..100_000), (0, 0));
        assert_eq!(watched((0..200).rev().flat_map(|run| run * 1000..run * 1000 + 900)), (0, 0));
        assert_eq!(watched((0..10_000).rev()), (0, 0));
        // Far apart, in the order of their regions or of no region.
        let region = |start: u64| (start << 24..(start << 24) + 1000).step_by(8);
        assert_eq!(watched((0..5000).flat_map(region)), (0, 0));
        assert_eq!(watched([3, 9, 1, 7, 2, 8].into_iter().flat_map(region)), (0, 0));
    }

    #[test]
    fn a_repeat_is_one_and_the_run_goes_on() {
        assert_eq!(watched([10, 20, 20, 30, 40]), (1, 3));
        assert_eq!(watched([10, 20, 30, 10, 40, u64::MAX, u64::MAX]), (2, 4));
        assert_eq!(watched([1000, 1010, 10, 20, 10, 30, 1005]), (2, 5));
    }

    proptest! {
        #[test]
        fn never_too_few(ids in proptest::collection::vec(0u64..3000, 0..3000), shift in 0u32..40) {
            let ids: Vec<u64> = ids.into_iter().map(|id| id << shift).collect();
            let different = ids.iter().collect::<std::collections::HashSet<_>>().len();
            prop_assert!(watched(ids.iter().copied()).0 >= (ids.len() - different) as u64);
        }

        #[test]
        fn never_too_few_by_runs(runs in proptest::collection::vec((0u64..3000, 1u64..9), 0..600)) {
            let mut watch = RepeatDetector::default();
            let mut ids = std::collections::HashSet::new();
            let mut all = 0;
            for &(first, count) in &runs {
                watch.add_run((first, first + count - 1), count, 0);
                ids.extend(first..first + count);
                all += count;
            }
            prop_assert!(watch.possible_repeat_count >= all - ids.len() as u64);
        }
    }
}
