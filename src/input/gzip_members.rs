//! gzip of many members, unpacked on all threads.
//!
//! Writers that compress on several cores (HotSpot, bgzip) write members of about 1 MiB, one after another. Nothing says
//! where each begins, but its first bytes look like the start of one: every such place is unpacked at once, and what comes
//! out counts only where the member before, counted from the first, ends just there with its checksum right. So what is
//! taken is what one thread would have read. All else (members that are large, damaged or cut, junk behind the last one)
//! is left to one decoder, which goes on from a place that is certain.

use crate::sort;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use flate2::bufread::GzDecoder;

/// Packed bytes that are read at a time.
const READ_BYTES: usize = 256 * 1024;
/// Packed bytes that are looked at ahead for each thread.
const PACKED_BYTES_OF_THREAD: usize = 1 << 20;
/// A member that unpacks to more is left to one decoder.
const MAX_UNPACKED_MEMBER_BYTES: usize = 4 << 20;
/// No further member is begun for a thread when so much was unpacked at once.
const UNPACKED_BYTES_OF_THREAD: usize = 12 << 20;
/// Threads are used as far as there is so much memory for each.
pub(super) const UNPACKING_MEMORY_BYTES_PER_THREAD: u64 = 64 << 20;
/// The first bytes of a member, and its least length.
const MEMBER_START: [u8; 3] = [0x1F, 0x8B, 0x08];
const MIN_MEMBER_BYTES: usize = 20;

/// Bytes that unpacking keeps: to refer back to, or unpacked ahead.
pub(super) type KeptByteCount = Arc<AtomicU64>;
/// The number of threads that may unpack; 0 while that is not known.
pub(super) type WorkerCount = Arc<AtomicUsize>;

/// Packed bytes with a look ahead.
struct PackedReader<R> {
    inner: R,
    bytes: Vec<u8>,
    used_bytes: usize,
    has_ended: bool,
}

impl<R: Read> PackedReader<R> {
    /// The next bytes: so many, unless the input ends before.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.bytes.len() - self.used_bytes < count && !self.has_ended {
            self.bytes.drain(..self.used_bytes);
            self.used_bytes = 0;
            let start = self.bytes.len();
            self.bytes.resize(start + READ_BYTES.max(count - start), 0);
            let got = loop {
                match self.inner.read(&mut self.bytes[start..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    got => break got,
                }
            };
            self.bytes.truncate(start + *got.as_ref().unwrap_or(&0));
            self.has_ended = got? == 0;
        }
        Ok(&self.bytes[self.used_bytes..])
    }
}

impl<R: Read> Read for PackedReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for PackedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.peek(1)
    }

    fn consume(&mut self, count: usize) {
        self.used_bytes += count;
    }
}

/// The unpacked content of a gzip file.
pub(super) struct GzipMembersReader<R> {
    state: MemberState<R>,
    /// Members in order, and how many bytes each has; of the first so many were handed out.
    ready_members: VecDeque<(Vec<u8>, usize)>,
    given_bytes_of_first: usize,
    /// Buffers to be used again.
    spare_buffers: Vec<Vec<u8>>,
    worker_count: WorkerCount,
    kept_bytes: KeptByteCount,
    /// What of `kept_bytes` is of this reader.
    accounted_bytes: u64,
}

enum MemberState<R> {
    /// A member begins here, or nothing.
    BetweenMembers(PackedReader<R>),
    InMember(Box<GzDecoder<PackedReader<R>>>),
    InputEnded,
}

impl<R: Read> GzipMembersReader<R> {
    pub(super) fn new(inner: R, worker_count: &WorkerCount, kept_bytes: &KeptByteCount) -> Self {
        GzipMembersReader {
            state: MemberState::BetweenMembers(PackedReader {
                inner,
                bytes: Vec::new(),
                used_bytes: 0,
                has_ended: false,
            }),
            ready_members: VecDeque::new(),
            given_bytes_of_first: 0,
            spare_buffers: Vec::new(),
            worker_count: Arc::clone(worker_count),
            kept_bytes: Arc::clone(kept_bytes),
            accounted_bytes: 0,
        }
    }

    /// Unpacks the members that follow, as far as they are in sight and in order.
    fn unpack_ahead(&mut self, packed: &mut PackedReader<R>) -> io::Result<()> {
        let threads = self.worker_count.load(Ordering::Relaxed);
        if threads < 2 {
            return Ok(());
        }
        let ahead = packed.peek(threads * PACKED_BYTES_OF_THREAD)?;
        let starts: Vec<usize> = memchr::memmem::find_iter(ahead, &MEMBER_START)
            .filter(|&at| ahead.get(at + 3).is_some_and(|flags| flags & 0xE0 == 0))
            .collect();
        // The last one is most likely cut off here.
        if starts.len() < 3 || starts[0] != 0 {
            return Ok(());
        }
        let members = inflate_members(ahead, &starts[..starts.len() - 1], threads, &mut self.spare_buffers);
        let mut end = 0;
        for (start, member) in members {
            match member {
                Some(member) if start == end => {
                    end += member.packed_bytes;
                    self.ready_members.push_back((member.buffer, member.unpacked_bytes));
                }
                Some(member) => self.spare_buffers.push(member.buffer),
                None => {}
            }
        }
        packed.consume(end);
        let capacity = |out: &Vec<u8>| out.capacity() as u64;
        let held = packed.bytes.capacity() as u64
            + self.ready_members.iter().map(|(out, _)| capacity(out)).sum::<u64>()
            + self.spare_buffers.iter().map(capacity).sum::<u64>();
        // Wrapping, so that one addition does for more and for less.
        self.kept_bytes.fetch_add(held.wrapping_sub(self.accounted_bytes), Ordering::Relaxed);
        self.accounted_bytes = held;
        Ok(())
    }
}

impl<R: Read> Read for GzipMembersReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some((out, bytes)) = self.ready_members.front() {
                let count = buf.len().min(bytes - self.given_bytes_of_first);
                buf[..count].copy_from_slice(&out[self.given_bytes_of_first..self.given_bytes_of_first + count]);
                self.given_bytes_of_first += count;
                if self.given_bytes_of_first == *bytes {
                    self.given_bytes_of_first = 0;
                    self.spare_buffers.extend(self.ready_members.pop_front().map(|(out, _)| out));
                }
                if count > 0 {
                    return Ok(count);
                }
                continue;
            }
            match std::mem::replace(&mut self.state, MemberState::InputEnded) {
                MemberState::InputEnded => return Ok(0),
                MemberState::BetweenMembers(mut packed) => {
                    self.unpack_ahead(&mut packed)?;
                    if !self.ready_members.is_empty() {
                        self.state = MemberState::BetweenMembers(packed);
                    } else if !packed.fill_buf()?.is_empty() {
                        self.state = MemberState::InMember(Box::new(GzDecoder::new(packed)));
                    }
                }
                MemberState::InMember(mut decoder) => match decoder.read(buf) {
                    Ok(0) => self.state = MemberState::BetweenMembers(decoder.into_inner()),
                    Ok(count) => {
                        self.state = MemberState::InMember(decoder);
                        return Ok(count);
                    }
                    Err(error) => {
                        if error.kind() == io::ErrorKind::Interrupted {
                            self.state = MemberState::InMember(decoder);
                        }
                        return Err(error);
                    }
                },
            }
        }
    }
}

/// A member that was unpacked as a whole.
struct UnpackedMember {
    packed_bytes: usize,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are of the member.
    unpacked_bytes: usize,
}

/// Unpacks what begins at `starts`, ascending, as far as there are members that are whole and not too large.
fn inflate_members(
    packed: &[u8],
    starts: &[usize],
    threads: usize,
    spare: &mut Vec<Vec<u8>>,
) -> Vec<(usize, Option<UnpackedMember>)> {
    let (next, unpacked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |mut spare: Vec<Vec<u8>>| {
        let mut members = Vec::new();
        while unpacked.load(Ordering::Relaxed) < threads * UNPACKED_BYTES_OF_THREAD
            && let Some(&start) = starts.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let mut out = spare.pop().unwrap_or_default();
            let whole = inflate_member(&packed[start..], &mut out);
            unpacked.fetch_add(out.len(), Ordering::Relaxed);
            match whole {
                Some((packed_bytes, bytes)) => {
                    members.push((start, Some(UnpackedMember { packed_bytes, buffer: out, unpacked_bytes: bytes })))
                }
                None => {
                    members.push((start, None));
                    spare.push(out);
                }
            }
        }
        (members, spare)
    };
    let mut members = Vec::with_capacity(starts.len());
    let share = spare.len().div_ceil(threads);
    let mut shares: Vec<Vec<Vec<u8>>> =
        (0..threads).map(|_| spare.split_off(spare.len().saturating_sub(share))).collect();
    let own = shares.pop().unwrap_or_default();
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || work(share))).collect();
        let done = std::iter::once(work(own)).chain(others.into_iter().map(|other| match other.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        for (own, left) in done {
            members.extend(own);
            spare.extend(left);
        }
    });
    sort::rows_by_key(&mut members, |&(start, _)| start);
    members
}

/// Unpacks one member: packed bytes that it takes, and bytes that come out. `None` where it is not whole, or too large.
fn inflate_member(packed: &[u8], out: &mut Vec<u8>) -> Option<(usize, usize)> {
    if packed.len() < MIN_MEMBER_BYTES {
        return None;
    }
    let mut decoder = GzDecoder::new(packed);
    let mut filled = 0;
    loop {
        if filled == out.len() {
            if filled >= MAX_UNPACKED_MEMBER_BYTES {
                return None;
            }
            out.resize((2 * filled).clamp(READ_BYTES, MAX_UNPACKED_MEMBER_BYTES), 0);
        }
        match decoder.read(&mut out[filled..]) {
            Ok(0) => return Some((packed.len() - decoder.into_inner().len(), filled)),
            Ok(count) => filled += count,
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::bufread::MultiGzDecoder;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    /// Bytes that pack to some third.
    fn content(bytes: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8 & 0x1F
        };
        (0..bytes).map(|_| next()).collect()
    }

    fn packed(content: &[u8], member_bytes: usize) -> Vec<u8> {
        let mut packed = Vec::new();
        for member in content.chunks(member_bytes) {
            let mut encoder = GzEncoder::new(&mut packed, Compression::fast());
            encoder.write_all(member).unwrap();
            encoder.finish().unwrap();
        }
        packed
    }

    /// The output, and its error.
    fn all(mut reader: impl Read) -> (Vec<u8>, Option<String>) {
        let mut out = Vec::new();
        let error = reader.read_to_end(&mut out).err().map(|error| error.to_string());
        (out, error)
    }

    fn members(packed: &[u8], threads: usize) -> GzipMembersReader<io::Cursor<Vec<u8>>> {
        let worker_count = WorkerCount::new(AtomicUsize::new(threads));
        GzipMembersReader::new(io::Cursor::new(packed.to_vec()), &worker_count, &KeptByteCount::default())
    }

    #[test]
    fn many_members_are_one_stream() {
        let content = content(9 << 20);
        for member_bytes in [20_000, 1 << 20, 5 << 20, 20 << 20] {
            let packed = packed(&content, member_bytes);
            for threads in [0, 1, 2, 3] {
                assert!(all(members(&packed, threads)) == (content.clone(), None), "{member_bytes}, {threads} threads");
            }
        }
    }

    #[test]
    fn members_are_unpacked_ahead() {
        let packed = packed(&content(4 << 20), 100_000);
        let mut members = members(&packed, 2);
        members.read_exact(&mut [0]).unwrap();
        assert!(members.ready_members.len() > 10, "{} members", members.ready_members.len());
        assert!(members.kept_bytes.load(Ordering::Relaxed) > 1 << 20);
    }

    #[test]
    fn members_that_unpack_to_much_take_turns() {
        let packed = packed(&vec![0; 200 << 20], 2 << 20);
        assert!(packed.len() < 2 << 20, "all of them are in sight at once");
        let mut members = members(&packed, 2);
        let (mut buffer, mut sum, mut most) = (vec![0; 1 << 20], 0, 0);
        loop {
            match members.read(&mut buffer).unwrap() {
                0 => break,
                count => sum += count,
            }
            most = most.max(members.kept_bytes.load(Ordering::Relaxed));
        }
        assert_eq!(sum, 200 << 20);
        assert!(most < 64 << 20, "{most} bytes");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// Damage, cuts and junk anywhere: what one decoder makes of it.
        #[test]
        fn damage_changes_nothing_of_what_is_read(
            member_bytes in 500usize..50_000,
            at in 0.0f64..1.0,
            what in 0u8..4,
            byte in 0u8..=255,
        ) {
            let mut packed = packed(&content(400_000), member_bytes);
            let at = (at * packed.len() as f64) as usize;
            match what {
                0 => packed.truncate(at),
                1 => packed[at] = byte,
                2 => packed.splice(at..at, [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 3]).for_each(drop),
                _ => packed.extend([byte; 100]),
            }
            prop_assert!(all(members(&packed, 2)) == all(MultiGzDecoder::new(&packed[..])));
        }
    }
}
