//! Work on many files: small ones several at a time, for most of that is waiting for the disk; a large one alone, for it
//! takes all threads and its share of memory by itself.

use crate::sort;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes of a file that is small, unpacked.
const MAX_SMALL_FILE_BYTES: u64 = 16 << 20;
/// By how much a packed file grows, at least as a rule.
const MIN_PACKING_FACTOR: u64 = 24;
/// Small files that are worked on at a time: their dumps take a few hundred megabytes at most.
const FILES_AT_A_TIME: usize = 8;

/// Does some work for each of some files, and gives what came of it in their order. What is no regular file counts as
/// large.
pub fn map_each_file<P: AsRef<Path>, T: Send>(files: &[P], work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let small: Vec<bool> = files.iter().map(|file| is_small(file.as_ref())).collect();
    let mut done = Vec::with_capacity(files.len());
    while done.len() < files.len() {
        let start = done.len();
        let count = small[start..].iter().take_while(|small| **small).count();
        match count {
            0 | 1 => done.push(work(start)),
            _ => done.extend(work_in_parallel(start..start + count, &work)),
        }
    }
    done
}

fn is_small(file: &Path) -> bool {
    let is_packed = file.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    let factor = if is_packed { MIN_PACKING_FACTOR } else { 1 };
    file.metadata().is_ok_and(|facts| facts.is_file() && facts.len().saturating_mul(factor) <= MAX_SMALL_FILE_BYTES)
}

fn work_in_parallel<T: Send>(files: std::ops::Range<usize>, work: &(impl Fn(usize) -> T + Sync)) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(files.start), Mutex::new(Vec::with_capacity(files.len())));
    std::thread::scope(|scope| {
        for _ in 0..files.len().min(FILES_AT_A_TIME) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= files.end {
                        return;
                    }
                    let one = work(at);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, one));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    sort::rows_by_key(&mut done, |(at, _)| *at);
    done.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_worked_on_together_and_large_ones_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, bytes: u64| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).and_then(|file| file.set_len(bytes)).expect("made");
            path
        };
        let mut files: Vec<_> = (0..20).map(|number| file(&format!("{number}.txt"), 10)).collect();
        files.insert(10, file("large.txt", MAX_SMALL_FILE_BYTES + 1));
        files.insert(11, file("packed.txt.zst", MAX_SMALL_FILE_BYTES / MIN_PACKING_FACTOR + 1));
        files.push(folder.path().join("absent"));
        let (at_work, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let numbers = map_each_file(&files, |at| {
            let now = at_work.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            let is_alone = [10, 11, 22].contains(&at);
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!is_alone || at_work.load(Ordering::SeqCst) == 1, "{at} is not alone");
            at_work.fetch_sub(1, Ordering::SeqCst);
            at
        });
        assert_eq!(numbers, (0..23).collect::<Vec<_>>());
        assert!((2..=FILES_AT_A_TIME).contains(&most.into_inner()));
    }
}
