//! Loops on all threads. Work is cut into pieces, and each closure is called with a whole piece: rayon's own iterators
//! are compiled anew for each closure, and cost a call an item where nothing is inlined across units of the crate.

use std::ops::Range;

/// Items that a thread takes at once, at least.
const MIN_PIECE_ITEMS: usize = 4096;

/// Items in each piece of so many.
fn piece_length(count: usize) -> usize {
    // One piece is done where it is: threads that nobody asks for are not started.
    if count <= MIN_PIECE_ITEMS {
        return MIN_PIECE_ITEMS;
    }
    count.div_ceil(8 * rayon::current_num_threads()).max(MIN_PIECE_ITEMS)
}

/// `0..count` in pieces.
pub(crate) fn pieces(count: usize) -> Vec<Range<usize>> {
    let length = piece_length(count);
    (0..count).step_by(length).map(|start| start..count.min(start + length)).collect()
}

/// Calls `work` with pieces of `items`, and the number of the first item of each.
pub(crate) fn for_each_piece<T: Send>(items: &mut [T], work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let length = piece_length(items.len());
    if items.len() <= length {
        return work(0, items);
    }
    rayon::scope(|scope| {
        for (at, piece) in items.chunks_mut(length).enumerate() {
            scope.spawn(move |_| work(at * length, piece));
        }
    });
}

/// A value for each number below `count`.
pub(crate) fn collect_indexed<T: Clone + Default + Send>(count: usize, value: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut values = vec![T::default(); count];
    for_each_piece(&mut values, &|first, piece| {
        for (at, slot) in piece.iter_mut().enumerate() {
            *slot = value(first + at);
        }
    });
    values
}

/// Number of wanted numbers below `count`.
pub(crate) fn count(count: usize, is_wanted: impl Fn(usize) -> bool + Sync) -> usize {
    map(pieces(count), &|piece| piece.filter(|&at| is_wanted(at)).count()).into_iter().sum()
}

/// One result for each item, in their order; each item is a task of its own.
pub(crate) fn map<T: Send, R: Send>(items: Vec<T>, work: &(dyn Fn(T) -> R + Sync)) -> Vec<R> {
    if items.len() <= 1 {
        return items.into_iter().map(work).collect();
    }
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    rayon::scope(|scope| {
        for (item, result) in items.into_iter().zip(&mut results) {
            scope.spawn(move |_| *result = Some(work(item)));
        }
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_number_comes_once_and_in_order() {
        for wanted in [0, 1, super::MIN_PIECE_ITEMS, 100_000] {
            let numbers: Vec<usize> = (0..wanted).collect();
            assert_eq!(super::collect_indexed(wanted, |at| at), numbers);
            assert_eq!(super::pieces(wanted).into_iter().flatten().collect::<Vec<_>>(), numbers);
            let twice: Vec<usize> = numbers.iter().map(|number| 2 * number).collect();
            assert_eq!(super::map(numbers, &|number| 2 * number), twice);
            assert_eq!(super::count(wanted, |at| at % 3 == 0), wanted.div_ceil(3));
        }
    }
}
