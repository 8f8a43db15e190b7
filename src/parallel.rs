//! Loops on all threads. Work is cut into pieces, and each closure is called with a whole piece: rayon's own iterators
//! are compiled anew for each closure, and cost a call an item where nothing is inlined across units of the crate.

use std::ops::Range;
use std::sync::mpsc::sync_channel;

/// Items that a thread takes at once, at least.
const MIN_PIECE_ITEMS: usize = 4096;
/// Items that go from one thread to another at once, and batches of them that wait: as many as come while a table of the
/// other thread grows.
const BATCH_ITEMS: usize = 1 << 14;
const MAX_WAITING_BATCHES: usize = 64;

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

/// Hands what `produce` makes to `consume` in batches, in its order: on a thread of its own beside the pool where that has
/// several. A panic of either is the caller's.
pub(crate) fn pipe<T: Send, R>(
    produce: impl FnOnce(&mut dyn FnMut(T)) -> R,
    consume: &mut (dyn FnMut(&[T]) + Send),
) -> R {
    let mut batch = Vec::with_capacity(BATCH_ITEMS);
    if rayon::current_num_threads() == 1 {
        let made = produce(&mut |item| {
            batch.push(item);
            if batch.len() == BATCH_ITEMS {
                consume(&batch);
                batch.clear();
            }
        });
        consume(&batch);
        return made;
    }
    std::thread::scope(|scope| {
        let (sender, batches) = sync_channel::<Vec<T>>(MAX_WAITING_BATCHES);
        scope.spawn(move || batches.into_iter().for_each(|batch| consume(&batch)));
        // Who consumes ends before this only by a panic, which the scope hands on.
        let made = produce(&mut |item| {
            batch.push(item);
            if batch.len() == BATCH_ITEMS {
                _ = sender.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH_ITEMS)));
            }
        });
        _ = sender.send(batch);
        made
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_made_comes_in_its_order_whatever_the_threads() {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for count in [0, 1, 100_000u32] {
                let mut seen = Vec::new();
                let make = |give: &mut dyn FnMut(u32)| {
                    (0..count).for_each(give);
                    "made"
                };
                let made = pool.install(|| super::pipe(make, &mut |batch: &[u32]| seen.extend_from_slice(batch)));
                assert_eq!((made, seen), ("made", (0..count).collect()), "{threads} threads");
            }
        }
    }

    #[test]
    fn a_panic_on_either_side_ends_both() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let many = |give: &mut dyn FnMut(u32)| (0..1_000_000).for_each(give);
        let few = |give: &mut dyn FnMut(u32)| {
            give(1);
            panic!("made no more");
        };
        let run = |work: &mut (dyn FnMut() + Send)| {
            pool.install(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))).is_err()
        };
        assert!(run(&mut || super::pipe(many, &mut |_: &[u32]| panic!("takes no more"))));
        assert!(run(&mut || super::pipe(few, &mut |_: &[u32]| {})));
    }

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
