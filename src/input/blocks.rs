//! Blocks of whole records, parsed by several threads and handed on in order.
//!
//! The same code reads files, pipes and packed input. How an input is cut is a [`BlockSource`]'s to say; the one here is
//! for text: a block is about 1 MiB and grows where one record is longer, as far as the budget allows; long runs of padding
//! are passed over and not kept.
//! Reading is one thread at a time, parsing all threads, handing on one at a time in the order of the input; whoever
//! finishes the next block in turn hands it on while the others parse.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::error::ReadError;
use super::source::Source;
use super::text::ends_lines_with_cr;
use crate::graph::{MemoryBudget, MemoryShare};

const BLOCK_BYTES: usize = 1 << 20;
/// Equal blanks at the end of a block without a place to cut it that are taken for padding.
const MIN_PADDING_BYTES: usize = 256 * 1024;
/// A file may be filled up to a round size: less than this is not worth a word.
const MAX_ORDINARY_PADDING_BYTES: u64 = 1 << 20;
/// Columns of a block that grew with a record take so many times its text, at most: a reference of two characters takes
/// 12 bytes.
const MAX_COLUMN_BYTES_PER_TEXT_BYTE: u64 = 6;
/// The content of a parsed block is used again for the next one unless it takes more memory.
const MAX_REUSED_CONTENT_BYTES: usize = 16 << 20;
/// A thread has a block of text and its columns, and others may wait.
const MEMORY_BYTES_PER_THREAD: u64 = 12 << 20;

/// A rule for the places at which blocks may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockCutRule {
    /// After a line end.
    AfterLine,
    /// After a line end, where the next line begins with `0x`: IBM classic records span lines. Else, in a line that is
    /// longer than a block, before any `0x`: such a line is all references, and those may lead a block.
    BeforeHexWord,
}

impl BlockCutRule {
    /// The last place to cut in `data[from..]`, if there is one; `from` was searched to before.
    fn last_cut(self, data: &[u8], from: usize) -> Option<usize> {
        let mut end = data.len();
        while let Some(at) = memchr::memrchr(b'\n', &data[from..end]) {
            let next = from + at + 1;
            let fits = match self {
                BlockCutRule::AfterLine => true,
                BlockCutRule::BeforeHexWord => matches!(data[next..], [b'0', b'x' | b'X', ..]),
            };
            if fits {
                return Some(next);
            }
            end = from + at;
        }
        match self {
            BlockCutRule::AfterLine => None,
            BlockCutRule::BeforeHexWord => memchr::memmem::rfind(&data[from..], b" 0x").map(|at| from + at + 1),
        }
    }
}

/// The context of a block of text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextBlockContext {
    /// The input begins here.
    pub(super) is_first: bool,
    /// The input ends here.
    pub(super) is_last: bool,
    /// Bytes of padding in the block that were passed over, where there are more than ordinary.
    pub(super) skipped_padding_bytes: u64,
}

/// Cuts an input into blocks that can be parsed apart.
pub(crate) trait BlockSource: Send {
    /// The context in which a block is parsed.
    type Context;
    /// Reads the next block into the start of `buffer`: how many bytes it has, and its context. `None` at the end, and
    /// again when it is asked for after that or after an error. Error: if the input cannot be read, or a block takes
    /// more memory than there is.
    fn next_block(&mut self, buffer: &mut BlockBuffer) -> Result<Option<(usize, Self::Context)>, ReadError>;
}

/// The parsed content of a block.
pub(crate) trait ParsedBlockContent: Default + Send {
    /// Bytes of memory it has, used or not.
    fn memory_bytes(&self) -> usize;
}

struct TextBlockReader {
    source: Source,
    carried_bytes: Vec<u8>,
    carry_share: MemoryShare,
    cut: BlockCutRule,
    /// Line ends are CR alone: parsers see them as LF.
    has_cr_line_ends: bool,
    has_begun: bool,
    has_ended: bool,
}

/// The bytes of a block, and what they take.
pub(crate) struct BlockBuffer {
    pub(crate) bytes: Vec<u8>,
    share: MemoryShare,
}

impl BlockBuffer {
    /// An empty one.
    pub(crate) fn new(share: MemoryShare) -> Self {
        BlockBuffer { bytes: Vec::new(), share }
    }

    /// Makes it so long; while it moves, it is there twice.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), ReadError> {
        if bytes > self.bytes.len() {
            self.share.set_held_bytes((self.bytes.len() + bytes) as u64)?;
            self.bytes.reserve_exact(bytes - self.bytes.len());
            self.bytes.resize(bytes, 0);
        } else {
            self.bytes.truncate(bytes);
            self.bytes.shrink_to_fit();
        }
        Ok(self.share.set_held_bytes(bytes as u64)?)
    }
}

impl BlockSource for TextBlockReader {
    type Context = TextBlockContext;

    fn next_block(&mut self, buffer: &mut BlockBuffer) -> Result<Option<(usize, TextBlockContext)>, ReadError> {
        if self.has_ended {
            return Ok(None);
        }
        let found = self.read_block(buffer);
        self.has_ended |= found.is_err();
        found.map(Some)
    }
}

impl TextBlockReader {
    fn read_block(&mut self, buffer: &mut BlockBuffer) -> Result<(usize, TextBlockContext), ReadError> {
        let mut len = self.carried_bytes.len();
        let mut searched = 0;
        let wanted = len + BLOCK_BYTES;
        // A buffer that grew with one long record does not stay so large.
        if buffer.bytes.len() > 2 * wanted || buffer.bytes.len() < wanted {
            buffer.resize(wanted)?;
        }
        buffer.bytes[..len].copy_from_slice(&self.carried_bytes);
        let mut padding_bytes = 0;
        let mut padding = None;
        loop {
            let wanted = buffer.bytes.len() - len;
            let mut got = match self.source.fill(&mut buffer.bytes[len..]) {
                Ok(got) => got,
                Err(error) => {
                    self.has_ended = true;
                    return Err(error.into());
                }
            };
            let is_end = got < wanted;
            if let Some(blank) = padding {
                let skipped = buffer.bytes[len..len + got].iter().take_while(|&&byte| byte == blank).count();
                buffer.bytes.copy_within(len + skipped..len + got, len);
                got -= skipped;
                padding_bytes += skipped as u64;
                padding = padding.filter(|_| got == 0);
            }
            if self.has_cr_line_ends {
                buffer.bytes[len..len + got].iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            }
            len += got;
            if is_end {
                self.has_ended = true;
                self.carried_bytes = Vec::new();
                break;
            }
            if let Some(at) = self.cut.last_cut(&buffer.bytes[..len], searched) {
                self.carry_share.set_held_bytes(self.carried_bytes.capacity().max(len - at) as u64)?;
                self.carried_bytes.clear();
                self.carried_bytes.extend_from_slice(&buffer.bytes[at..len]);
                len = at;
                break;
            }
            if let Some(start) = start_of_trailing_padding(&buffer.bytes[..len]) {
                padding = Some(buffer.bytes[start]);
                padding_bytes += (len - start - 1) as u64;
                len = start + 1;
            }
            // Two bytes back: the cut may need to see what follows a line end.
            searched = len.saturating_sub(2);
            if len == buffer.bytes.len() {
                buffer.resize(len * 2)?;
            }
        }
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let padding_bytes = if padding_bytes >= MAX_ORDINARY_PADDING_BYTES { padding_bytes } else { 0 };
        Ok((len, TextBlockContext { is_first, is_last: self.has_ended, skipped_padding_bytes: padding_bytes }))
    }
}

/// The start of the padding that the text ends in, if it does.
fn start_of_trailing_padding(text: &[u8]) -> Option<usize> {
    let &last = text.last().filter(|byte| matches!(byte, 0 | b' ' | b'\t'))?;
    let start = text.iter().rposition(|&byte| byte != last).map_or(0, |at| at + 1);
    (text.len() - start >= MIN_PADDING_BYTES).then_some(start)
}

struct ParsedBlock<B> {
    content: B,
    share: MemoryShare,
}

struct CommitQueue<B, C> {
    next_block_number: usize,
    parsed_blocks: BTreeMap<usize, ParsedBlock<B>>,
    reusable_blocks: Vec<ParsedBlock<B>>,
    /// Out while a thread hands blocks on.
    commit: Option<C>,
    error: Option<ReadError>,
    is_stopped: bool,
}

/// Cuts `source` into blocks of text, calls `parse` on each on up to `threads` threads, and `commit` in the order of
/// the input. A `B` is used again after it was committed; `parse` clears it. Error: the first error of reading or of
/// `commit`; nothing is committed after it.
pub(super) fn parse_text_blocks<B, P, C>(
    source: Source,
    cut: BlockCutRule,
    threads: usize,
    parse: P,
    commit: C,
) -> Result<(), ReadError>
where
    B: ParsedBlockContent,
    P: Fn(&[u8], TextBlockContext, &mut B) + Sync,
    C: FnMut(&mut B) -> Result<(), ReadError> + Send,
{
    let budget = source.budget.clone();
    let threads = if source.is_all_in_start { 1 } else { threads };
    let only_cr = ends_lines_with_cr(source.start());
    let carry_share = budget.for_buffer();
    let reader = TextBlockReader {
        source,
        carried_bytes: Vec::new(),
        carry_share,
        cut,
        has_cr_line_ends: only_cr,
        has_begun: false,
        has_ended: false,
    };
    parse_source_blocks(reader, &budget, threads, parse, commit)?;
    Ok(())
}

/// The same of any block source. Gives it back at its end. Error: the first error of reading or of `commit`; nothing is
/// committed after it.
pub(super) fn parse_source_blocks<S, B, P, C>(
    source: S,
    budget: &MemoryBudget,
    threads: usize,
    parse: P,
    commit: C,
) -> Result<S, ReadError>
where
    S: BlockSource,
    B: ParsedBlockContent,
    P: Fn(&[u8], S::Context, &mut B) + Sync,
    C: FnMut(&mut B) -> Result<(), ReadError> + Send,
{
    let threads = thread_count_within(budget, threads);
    let reader = Mutex::new((source, 0));
    let handing = Mutex::new(CommitQueue {
        next_block_number: 0,
        parsed_blocks: BTreeMap::new(),
        reusable_blocks: Vec::new(),
        commit: Some(commit),
        error: None,
        is_stopped: false,
    });
    let turn = Condvar::new();
    let work = || run_worker(&reader, &handing, &turn, &parse, threads, budget);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let handing = handing.into_inner().unwrap_or_else(PoisonError::into_inner);
    match handing.error {
        Some(error) => Err(error),
        None => Ok(reader.into_inner().unwrap_or_else(PoisonError::into_inner).0),
    }
}

/// Fewer threads where there is no memory for what each has at hand.
fn thread_count_within(budget: &MemoryBudget, threads: usize) -> usize {
    let most = budget.limit_bytes().map_or(u64::MAX, |limit| limit / MEMORY_BYTES_PER_THREAD);
    threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
}

/// A lock whose holder panicked is taken all the same: the panic itself ends the program through the scope.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a block, its bytes, and its context; none at the end of the input.
type NumberedBlock<P> = Option<(usize, usize, P)>;

fn next_numbered_block<S: BlockSource>(
    reader: &Mutex<(S, usize)>,
    buffer: &mut BlockBuffer,
) -> Result<NumberedBlock<S::Context>, ReadError> {
    let mut reader = lock(reader);
    let (source, next) = &mut *reader;
    Ok(source.next_block(buffer)?.map(|(bytes, place)| {
        *next += 1;
        (*next - 1, bytes, place)
    }))
}

fn run_worker<S, B, P, C>(
    reader: &Mutex<(S, usize)>,
    handing: &Mutex<CommitQueue<B, C>>,
    turn: &Condvar,
    parse: &P,
    threads: usize,
    budget: &MemoryBudget,
) where
    S: BlockSource,
    B: ParsedBlockContent,
    P: Fn(&[u8], S::Context, &mut B) + Sync,
    C: FnMut(&mut B) -> Result<(), ReadError> + Send,
{
    let mut buffer = BlockBuffer { bytes: Vec::new(), share: budget.for_buffer() };
    loop {
        let mut parsed = {
            let mut state = lock(handing);
            // Not too far ahead of a slow block: finished ones wait in memory.
            while state.parsed_blocks.len() > 4 * threads && !state.is_stopped {
                state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_stopped {
                return;
            }
            state
                .reusable_blocks
                .pop()
                .unwrap_or_else(|| ParsedBlock { content: B::default(), share: budget.for_buffer() })
        };
        let (number, bytes, place) = match next_numbered_block(reader, &mut buffer) {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(error) => return stop_with_error(handing, turn, error),
        };
        // Before it is parsed where it is large, after it as it came out.
        if bytes > 4 * BLOCK_BYTES
            && let Err(error) = parsed.share.set_held_bytes(MAX_COLUMN_BYTES_PER_TEXT_BYTE * bytes as u64)
        {
            return stop_with_error(handing, turn, error.into());
        }
        parse(&buffer.bytes[..bytes], place, &mut parsed.content);
        if let Err(error) = parsed.share.set_held_bytes(parsed.content.memory_bytes() as u64) {
            return stop_with_error(handing, turn, error.into());
        }
        queue_and_commit(handing, turn, number, parsed);
    }
}

fn stop_with_error<B, C>(handing: &Mutex<CommitQueue<B, C>>, turn: &Condvar, error: ReadError) {
    let mut state = lock(handing);
    state.is_stopped = true;
    state.error.get_or_insert(error);
    turn.notify_all();
}

fn queue_and_commit<B, C>(handing: &Mutex<CommitQueue<B, C>>, turn: &Condvar, number: usize, parsed: ParsedBlock<B>)
where
    B: ParsedBlockContent,
    C: FnMut(&mut B) -> Result<(), ReadError>,
{
    let mut state = lock(handing);
    state.parsed_blocks.insert(number, parsed);
    loop {
        let next = state.next_block_number;
        if state.is_stopped || !state.parsed_blocks.contains_key(&next) {
            return;
        }
        // Another thread is handing on and will come to this block.
        let Some(mut commit) = state.commit.take() else { return };
        let Some(mut parsed) = state.parsed_blocks.remove(&next) else { return };
        drop(state);
        let result = commit(&mut parsed.content);
        state = lock(handing);
        state.commit = Some(commit);
        if parsed.content.memory_bytes() <= MAX_REUSED_CONTENT_BYTES {
            state.reusable_blocks.push(parsed);
        }
        state.next_block_number += 1;
        if let Err(error) = result {
            state.is_stopped = true;
            state.error.get_or_insert(error);
        }
        turn.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ParsedBlockContent for Vec<u8> {
        fn memory_bytes(&self) -> usize {
            self.capacity()
        }
    }

    fn lines_of(text: Vec<u8>, cut: BlockCutRule, threads: usize) -> Vec<Vec<u8>> {
        let source = Source::from_reader(std::io::Cursor::new(text)).unwrap();
        let mut blocks = Vec::new();
        parse_text_blocks(
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
        for cut in [BlockCutRule::AfterLine, BlockCutRule::BeforeHexWord] {
            for threads in [1, 3] {
                let blocks = lines_of(text.clone(), cut, threads);
                assert!(blocks.len() > 3);
                assert!(blocks.iter().all(|block| block.ends_with(b"\n")));
                if cut == BlockCutRule::BeforeHexWord {
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
        for cut in [BlockCutRule::AfterLine, BlockCutRule::BeforeHexWord] {
            assert_eq!(lines_of(text.clone(), cut, 2).concat(), text);
        }
    }

    #[test]
    fn padding_is_passed_over() {
        let mut text = b"a\nb ".to_vec();
        text.resize(6 << 20, 0);
        text.extend_from_slice(b" c\nd\n");
        text.resize(9 << 20, b' ');
        for cut in [BlockCutRule::AfterLine, BlockCutRule::BeforeHexWord] {
            let read = lines_of(text.clone(), cut, 2).concat();
            assert!(read.len() < 3 << 20, "{}", read.len());
            let words: Vec<&[u8]> =
                read.split(|byte| matches!(byte, 0 | b' ' | b'\n')).filter(|word| !word.is_empty()).collect();
            assert_eq!(words, [b"a", b"b", b"c", b"d"]);
        }
    }

    #[test]
    fn a_line_of_references_is_cut_between_them() {
        let mut text = b"0x10 [8] OBJ a\n\t".to_vec();
        (0..400_000).for_each(|_| text.extend_from_slice(b"0x00000010 "));
        text.push(b'\n');
        let blocks = lines_of(text.clone(), BlockCutRule::BeforeHexWord, 2);
        assert!(blocks.len() > 3 && blocks.iter().all(|block| block.starts_with(b"0x")));
        assert_eq!(blocks.concat(), text);
    }
}
