//! Stable sorts of some ten thousand rows, compiled once: the library's sort is compiled anew for each type and each closure,
//! some 2,000 lines of LLVM's language a time. What is sorted by the million uses the library's.

use std::cmp::Ordering;

/// Sorts `rows` by `compare`; equal rows keep their order. Takes eight bytes a row while it works.
pub(crate) fn rows_by<T>(rows: &mut [T], compare: &dyn Fn(&T, &T) -> Ordering) {
    let mut places: Vec<usize> = (0..rows.len()).collect();
    sort_places(&mut places, &|a, b| compare(&rows[a], &rows[b]));
    // Each cycle of the permutation is walked once.
    for start in 0..places.len() {
        let mut at = start;
        while places[at] != start {
            let from = std::mem::replace(&mut places[at], at);
            rows.swap(at, from);
            at = from;
        }
        places[at] = at;
    }
}

/// Sorts `rows` by a key, which is asked anew for each comparison.
pub(crate) fn rows_by_key<T, K: Ord>(rows: &mut [T], key: impl Fn(&T) -> K) {
    rows_by(rows, &|a, b| key(a).cmp(&key(b)));
}

/// Sorts places; not generic, so that it is compiled once.
fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|&a, &b| compare(a, b));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_as_the_library_sorts_them(numbers in prop::collection::vec(0_u8..20, 0..200)) {
            let mut rows: Vec<(u8, usize)> = numbers.iter().copied().zip(0..).collect();
            let mut expected = rows.clone();
            expected.sort_by_key(|row| row.0);
            super::rows_by_key(&mut rows, |row| row.0);
            prop_assert_eq!(rows, expected);
        }
    }
}
