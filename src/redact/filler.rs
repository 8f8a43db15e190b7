//! Text in place of another of its length.

use rustc_hash::FxHashMap;

const BASE62_DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Shorter ones are no runs: each character may be a digit.
const MIN_MARKED_FILLER_UNITS: usize = 6;

/// Makes texts of some lengths, as many different ones as there are.
#[derive(Debug, Default)]
pub(super) struct FillerMaker {
    counts_by_length: FxHashMap<usize, u64>,
}

impl FillerMaker {
    /// Appends another text of so many units. Every second sign of a longer one is `~`, which nobody writes.
    pub(super) fn append_filler(&mut self, units: usize, out: &mut Vec<u8>) {
        let made = self.counts_by_length.entry(units).or_default();
        *made += 1;
        Self::append_numbered_filler(*made - 1, units, out);
    }

    /// Appends the text of a number of so many units.
    pub(super) fn append_numbered_filler(mut number: u64, units: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let step = if units < MIN_MARKED_FILLER_UNITS { 1 } else { 2 };
        out.extend((0..units).map(|at| if (units - at).is_multiple_of(2) { b'~' } else { b'|' }));
        for at in (start..start + units).rev().step_by(step) {
            // A digit first: no name begins so.
            let base = if step == 1 && at == start { 10 } else { 62 };
            out[at] = BASE62_DIGITS[(number % base) as usize];
            number /= base;
            if number == 0 && step == 2 {
                break;
            }
        }
    }
}

/// Returns true for what stands in long fillers alone.
pub(super) fn is_filler(run: &[u8]) -> bool {
    let is_sign = |from: usize| run.iter().skip(from).step_by(2).all(|byte| *byte == b'~');
    run.len() > 1 && (is_sign(0) || is_sign(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_length_are_different_and_cannot_be_written_by_chance() {
        let mut fillers = FillerMaker::default();
        let mut made = std::collections::HashSet::new();
        for (units, count) in [(0, 1), (1, 10), (2, 620), (5, 1000), (6, 1000), (7, 1000), (40, 1000)] {
            for _ in 0..count {
                let mut text = Vec::new();
                fillers.append_filler(units, &mut text);
                assert_eq!(text.len(), units);
                assert!(units < 6 || text.windows(6).all(is_filler));
                made.insert(text);
            }
        }
        assert_eq!(made.len(), 1 + 10 + 620 + 4 * 1000);
    }
}
