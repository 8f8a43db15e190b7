//! Undoing gzip and zstd. One interface: packed bytes go in, unpacked ones come out in order, whoever unpacks them; members
//! and frames that follow one another are one stream. Members of gzip are unpacked on several threads (`gzip_members`).

use std::io::{self, BufReader, Cursor, Read};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use ruzstd::decoding::BlockDecodingStrategy;

use super::gzip_members::{GzipMembersReader, KeptByteCount, WorkerCount};

/// Packed bytes that are read at a time.
const PACKED_BYTES: usize = 256 * 1024;

/// The note of a broken packing that ended early.
pub(super) type BrokenNote = Arc<Mutex<Option<String>>>;

#[derive(Debug, Clone, Copy)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// By the first bytes.
    pub(super) fn recognise(start: &[u8]) -> Option<Self> {
        match start {
            [0x1F, 0x8B, 0x08, ..] => Some(Packing::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }

    /// As `info` prints it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }

    /// Unpacks `packed`. Data that breaks off is its end, with a note in `broken_note`; `kept_bytes` has the bytes that
    /// unpacking keeps, and `worker_count` says how many threads it may take.
    pub(super) fn unpack(
        self,
        packed: impl Read + Send + 'static,
        broken: &BrokenNote,
        kept_bytes: &KeptByteCount,
        worker_count: &WorkerCount,
    ) -> Box<dyn Read + Send> {
        match self {
            Packing::Gzip => tolerant_reader(GzipMembersReader::new(packed, worker_count, kept_bytes), broken),
            Packing::Zstd => {
                let packed = BufReader::with_capacity(PACKED_BYTES, packed);
                tolerant_reader(ZstdFramesReader::new(packed, Arc::clone(kept_bytes)), broken)
            }
        }
    }
}

/// Turns broken packed data into the end of the input, with a note: what was unpacked before is not lost.
struct TolerantReader<R> {
    inner: R,
    broken_note: BrokenNote,
    has_ended: bool,
}

fn tolerant_reader(inner: impl Read + Send + 'static, broken: &BrokenNote) -> Box<dyn Read + Send> {
    Box::new(TolerantReader { inner, broken_note: Arc::clone(broken), has_ended: false })
}

impl<R: Read> Read for TolerantReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.has_ended || buf.is_empty() {
            return Ok(0);
        }
        match self.inner.read(buf) {
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) if error.raw_os_error().is_some() => Err(error),
            Err(error) => {
                self.has_ended = true;
                if let Ok(mut note) = self.broken_note.lock() {
                    note.get_or_insert_with(|| error.to_string());
                }
                Ok(0)
            }
        }
    }
}

/// All frames of a zstd file, one after another: `ruzstd` decodes one frame a decoder. Checksums are compared.
struct ZstdFramesReader<R: Read> {
    state: ZstdState<R>,
    kept_bytes: KeptByteCount,
    /// Of the frame at hand: what it may refer back to, and what came out of it.
    window_bytes: u64,
    unpacked_bytes: u64,
}

enum ZstdState<R: Read> {
    BetweenFrames(R),
    InFrame(Box<ruzstd::decoding::StreamingDecoder<RewoundReader<R>, ruzstd::decoding::FrameDecoder>>),
    /// The window of a frame that breaks off: what was decoded and not given out.
    InTruncatedFrame(Box<ruzstd::decoding::FrameDecoder>),
    Ended,
}

/// The end of a frame: an empty last block, and the place of a checksum.
const FRAME_END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

impl<R: Read> ZstdFramesReader<R> {
    fn new(inner: R, kept_bytes: KeptByteCount) -> Self {
        ZstdFramesReader { state: ZstdState::BetweenFrames(inner), kept_bytes, window_bytes: 0, unpacked_bytes: 0 }
    }

    /// Keeps count of the window, which grows with what comes out, by doubling.
    fn count_unpacked(&mut self, bytes: u64) {
        let before = self.unpacked_bytes.min(self.window_bytes);
        self.unpacked_bytes = self.unpacked_bytes.saturating_add(bytes);
        let now = self.unpacked_bytes.min(self.window_bytes);
        self.kept_bytes.fetch_add(2 * (now - before), Ordering::Relaxed);
    }
}

/// The longest distance that a frame refers back, by its first bytes; `None` where that is all of it.
fn window_bytes_of_frame(start: &[u8]) -> Option<u64> {
    match *start {
        // A single segment: the window is the content.
        [_, _, _, _, descriptor, ..] if descriptor & 0x20 != 0 => None,
        [_, _, _, _, _, window, ..] => {
            let base = 1u64 << (10 + (window >> 3));
            Some(base + base / 8 * u64::from(window & 7))
        }
        _ => Some(0),
    }
}

/// An error in words of our own: the decoder's tell users nothing.
fn broken_frame_error() -> io::Error {
    io::Error::other("a zstd frame is cut or damaged")
}

impl<R: Read> Read for ZstdFramesReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, ZstdState::Ended) {
                ZstdState::Ended => return Ok(0),
                ZstdState::BetweenFrames(inner) => {
                    // The decoder takes its reader by value even when it finds a skippable frame: look first.
                    let frame = rewound(inner)?;
                    let start = frame.get_ref().0.get_ref();
                    match start[..] {
                        [] => return Ok(0),
                        [0x50..=0x5F, 0x2A, 0x4D, 0x18, a, b, c, d] => {
                            let length = u64::from(u32::from_le_bytes([a, b, c, d]));
                            let (_, mut inner) = frame.into_inner();
                            if io::copy(&mut inner.by_ref().take(length), &mut io::sink())? < length {
                                return Err(io::ErrorKind::UnexpectedEof.into());
                            }
                            self.state = ZstdState::BetweenFrames(inner);
                        }
                        _ => {
                            let window = window_bytes_of_frame(start);
                            let decoder = ruzstd::decoding::StreamingDecoder::new(frame)
                                .map_err(|_| io::Error::other("the head of a zstd frame is cut or damaged"))?;
                            self.kept_bytes
                                .fetch_sub(2 * self.unpacked_bytes.min(self.window_bytes), Ordering::Relaxed);
                            let window_bytes = window.unwrap_or_else(|| decoder.decoder.content_size());
                            (self.window_bytes, self.unpacked_bytes) = (window_bytes, 0);
                            self.state = ZstdState::InFrame(Box::new(decoder));
                        }
                    }
                }
                ZstdState::InFrame(mut decoder) => {
                    let count = match decoder.read(buf) {
                        Ok(count) => count,
                        Err(error) if error.raw_os_error().is_some() => return Err(error),
                        // The decoder keeps the last window until the frame ends: an end of our own gets it out.
                        Err(_) => {
                            let mut decoder = decoder.into_frame_decoder();
                            let ended = decoder.decode_blocks(&FRAME_END[..], BlockDecodingStrategy::All);
                            ended.map_err(|_| broken_frame_error())?;
                            self.state = ZstdState::InTruncatedFrame(Box::new(decoder));
                            continue;
                        }
                    };
                    if count > 0 || buf.is_empty() {
                        self.count_unpacked(count as u64);
                        self.state = ZstdState::InFrame(decoder);
                        return Ok(count);
                    }
                    let said = decoder.decoder.get_checksum_from_data();
                    if said.is_some() && said != decoder.decoder.get_calculated_checksum() {
                        return Err(io::Error::other("a zstd checksum does not match: bytes before it are wrong"));
                    }
                    self.state = ZstdState::BetweenFrames(decoder.into_inner().into_inner().1);
                }
                ZstdState::InTruncatedFrame(mut decoder) => {
                    let count = decoder.read(buf)?;
                    if count == 0 && !buf.is_empty() {
                        return Err(broken_frame_error());
                    }
                    self.state = ZstdState::InTruncatedFrame(decoder);
                    return Ok(count);
                }
            }
        }
    }
}

/// A reader whose first eight bytes were looked at.
type RewoundReader<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// Looks at the first eight bytes, and puts them back in front.
fn rewound<R: Read>(mut inner: R) -> io::Result<RewoundReader<R>> {
    let mut first = Vec::new();
    inner.by_ref().take(8).read_to_end(&mut first)?;
    Ok(Cursor::new(first).chain(inner))
}
