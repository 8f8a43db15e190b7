//! Text in blocks of whole records, parsed by several threads and handed on in order.
//!
//! The same code reads files, pipes and packed input. A block is about 1 MiB and grows where one record is longer.
//! Reading is one thread at a time, parsing all threads, handing on one at a time in the order of the input; whoever
//! finishes the next block in turn hands it on while the others parse.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::error::ReadError;
use super::source::Source;
use super::text::ends_lines_with_cr;

const BLOCK_BYTES: usize = 1 << 20;

/// Where blocks may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// After a line end.
    AfterLine,
    /// After a line end, where the next line begins with `0x`: IBM classic records span lines. Else, in a line that is
    /// longer than a block, before any `0x`: such a line is all references, and those may lead a block.
    BeforeHex,
}

impl Cut {
    /// The last place to cut in `data[from..]`, if there is one; `from` was searched to before.
    fn find(self, data: &[u8], from: usize) -> Option<usize> {
        let mut end = data.len();
        while let Some(at) = memchr::memrchr(b'\n', &data[from..end]) {
            let next = from + at + 1;
            let fits = match self {
                Cut::AfterLine => true,
                Cut::BeforeHex => matches!(data[next..], [b'0', b'x' | b'X', ..]),
            };
            if fits {
                return Some(next);
            }
            end = from + at;
        }
        match self {
            Cut::AfterLine => None,
            Cut::BeforeHex => memchr::memmem::rfind(&data[from..], b" 0x").map(|at| from + at + 1),
        }
    }
}

/// What a parser knows of its block besides the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPlace {
    /// The input begins here.
    pub(super) first: bool,
    /// The input ends here.
    pub(super) last: bool,
}

struct BlockReader {
    source: Source,
    carry: Vec<u8>,
    cut: Cut,
    /// Line ends are CR alone: parsers see them as LF.
    only_cr: bool,
    next: usize,
    ended: bool,
}

impl BlockReader {
    /// The next block into `buffer[..len]`: (its number, len, last).
    fn next(&mut self, buffer: &mut Vec<u8>) -> Result<Option<(usize, usize, bool)>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        let mut len = self.carry.len();
        let mut searched = 0;
        let wanted = len + BLOCK_BYTES;
        // A buffer that grew with one long record does not stay so large.
        if buffer.len() > 2 * wanted {
            buffer.truncate(wanted);
            buffer.shrink_to_fit();
        }
        buffer.resize(buffer.len().max(wanted), 0);
        buffer[..len].copy_from_slice(&self.carry);
        loop {
            let got = match self.source.fill(&mut buffer[len..]) {
                Ok(got) => got,
                Err(error) => {
                    self.ended = true;
                    return Err(error.into());
                }
            };
            let full = len + got == buffer.len();
            if self.only_cr {
                buffer[len..len + got].iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            }
            len += got;
            if !full {
                self.ended = true;
                self.carry.clear();
                break;
            }
            if let Some(at) = self.cut.find(&buffer[..len], searched) {
                self.carry.clear();
                self.carry.extend_from_slice(&buffer[at..len]);
                len = at;
                break;
            }
            // Two bytes back: the cut may need to see what follows a line end.
            searched = len.saturating_sub(2);
            buffer.resize(buffer.len() * 2, 0);
        }
        self.next += 1;
        Ok(Some((self.next - 1, len, self.ended)))
    }
}

struct Handing<B, C> {
    next: usize,
    ready: BTreeMap<usize, B>,
    pool: Vec<B>,
    /// Out while a thread hands blocks on.
    commit: Option<C>,
    error: Option<ReadError>,
    stopped: bool,
}

/// Cuts `source` into blocks, calls `parse` on each on up to `threads` threads, and `commit` in the order of the input.
/// A `B` is used again after it was committed; `parse` clears it. Gives back the source at its end.
///
/// # Errors
/// The first error of reading or of `commit`; nothing is committed after it.
pub(super) fn parse_blocks<B, P, C>(
    source: Source,
    cut: Cut,
    threads: usize,
    parse: P,
    commit: C,
) -> Result<Source, ReadError>
where
    B: Default + Send,
    P: Fn(&[u8], BlockPlace, &mut B) + Sync,
    C: FnMut(&mut B) -> Result<(), ReadError> + Send,
{
    let threads = if source.is_whole() { 1 } else { threads.max(1) };
    let only_cr = ends_lines_with_cr(source.start());
    let reader = Mutex::new(BlockReader { source, carry: Vec::new(), cut, only_cr, next: 0, ended: false });
    let handing = Mutex::new(Handing {
        next: 0,
        ready: BTreeMap::new(),
        pool: Vec::new(),
        commit: Some(commit),
        error: None,
        stopped: false,
    });
    let turn = Condvar::new();
    let work = || worker(&reader, &handing, &turn, &parse, threads);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let handing = handing.into_inner().unwrap_or_else(PoisonError::into_inner);
    match handing.error {
        Some(error) => Err(error),
        None => Ok(reader.into_inner().unwrap_or_else(PoisonError::into_inner).source),
    }
}

/// A lock whose holder panicked is taken all the same: the panic itself ends the program through the scope.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn worker<B, P, C>(
    reader: &Mutex<BlockReader>,
    handing: &Mutex<Handing<B, C>>,
    turn: &Condvar,
    parse: &P,
    threads: usize,
) where
    B: Default + Send,
    P: Fn(&[u8], BlockPlace, &mut B) + Sync,
    C: FnMut(&mut B) -> Result<(), ReadError> + Send,
{
    let mut buffer = Vec::new();
    loop {
        let mut batch = {
            let mut state = lock(handing);
            // Not too far ahead of a slow block: finished ones wait in memory.
            while state.ready.len() > 4 * threads && !state.stopped {
                state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.stopped {
                return;
            }
            state.pool.pop().unwrap_or_default()
        };
        let block = lock(reader).next(&mut buffer);
        let (number, len, last) = match block {
            Ok(Some(block)) => block,
            Ok(None) => return,
            Err(error) => return stop(handing, turn, error),
        };
        parse(&buffer[..len], BlockPlace { first: number == 0, last }, &mut batch);
        hand_on(handing, turn, number, batch);
    }
}

fn stop<B, C>(handing: &Mutex<Handing<B, C>>, turn: &Condvar, error: ReadError) {
    let mut state = lock(handing);
    state.stopped = true;
    state.error.get_or_insert(error);
    turn.notify_all();
}

fn hand_on<B, C>(handing: &Mutex<Handing<B, C>>, turn: &Condvar, number: usize, batch: B)
where
    C: FnMut(&mut B) -> Result<(), ReadError>,
{
    let mut state = lock(handing);
    state.ready.insert(number, batch);
    loop {
        let next = state.next;
        if state.stopped || !state.ready.contains_key(&next) {
            return;
        }
        // Another thread is handing on and will come to this block.
        let Some(mut commit) = state.commit.take() else { return };
        let Some(mut batch) = state.ready.remove(&next) else { return };
        drop(state);
        let result = commit(&mut batch);
        state = lock(handing);
        state.commit = Some(commit);
        state.pool.push(batch);
        state.next += 1;
        if let Err(error) = result {
            state.stopped = true;
            state.error.get_or_insert(error);
        }
        turn.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: Vec<u8>, cut: Cut, threads: usize) -> Vec<Vec<u8>> {
        let source = Source::from_reader(std::io::Cursor::new(text)).unwrap();
        let mut blocks = Vec::new();
        parse_blocks(
            source,
            cut,
            threads,
            |text, _, batch: &mut Vec<u8>| {
                batch.clear();
                batch.extend_from_slice(text);
            },
            |batch| {
                blocks.push(batch.clone());
                Ok(())
            },
        )
        .unwrap();
        blocks
    }

    #[test]
    fn blocks_come_in_order_whole_and_cut_at_lines() {
        let text: Vec<u8> = (0..400_000).flat_map(|i| format!("0x{i} line\n\tmore\n").into_bytes()).collect();
        for cut in [Cut::AfterLine, Cut::BeforeHex] {
            for threads in [1, 3] {
                let blocks = lines_of(text.clone(), cut, threads);
                assert!(blocks.len() > 3);
                assert!(blocks.iter().all(|block| block.ends_with(b"\n")));
                if cut == Cut::BeforeHex {
                    assert!(blocks.iter().all(|block| block.starts_with(b"0x")));
                }
                assert_eq!(blocks.concat(), text);
            }
        }
    }

    #[test]
    fn a_block_grows_with_its_longest_line() {
        let mut text = b"a\n".to_vec();
        text.resize(5 << 20, b'x');
        text.extend_from_slice(b"\n0xb\n");
        for cut in [Cut::AfterLine, Cut::BeforeHex] {
            assert_eq!(lines_of(text.clone(), cut, 2).concat(), text);
        }
    }

    #[test]
    fn a_line_of_references_is_cut_between_them() {
        let mut text = b"0x10 [8] OBJ a\n\t".to_vec();
        (0..400_000).for_each(|_| text.extend_from_slice(b"0x00000010 "));
        text.push(b'\n');
        let blocks = lines_of(text.clone(), Cut::BeforeHex, 2);
        assert!(blocks.len() > 3 && blocks.iter().all(|block| block.starts_with(b"0x")));
        assert_eq!(blocks.concat(), text);
    }
}
