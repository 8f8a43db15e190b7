//! Packed outputs, by their names.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Bytes of a frame of zstd.
const ZSTD_FRAME_BYTES: usize = 8 << 20;

/// The packing of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputCompression {
    /// As it is.
    Uncompressed,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
}

impl OutputCompression {
    /// By the end of a file's name.
    pub fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some(ending) if ending.eq_ignore_ascii_case("gz") => OutputCompression::Gzip,
            Some(ending) if ending.eq_ignore_ascii_case("zst") => OutputCompression::Zstd,
            _ => OutputCompression::Uncompressed,
        }
    }
}

/// A writer that packs what is written to it.
pub struct CompressedOutput<W: Write>(OutputCompressor<W>);

enum OutputCompressor<W: Write> {
    Uncompressed(W),
    Gzip(GzEncoder<W>),
    /// Frames that follow one another, each made when it is full.
    Zstd(W, Vec<u8>),
}

impl<W: Write> CompressedOutput<W> {
    /// Begins an output.
    pub fn new(out: W, packing: OutputCompression) -> Self {
        CompressedOutput(match packing {
            OutputCompression::Uncompressed => OutputCompressor::Uncompressed(out),
            OutputCompression::Gzip => OutputCompressor::Gzip(GzEncoder::new(out, Compression::fast())),
            OutputCompression::Zstd => OutputCompressor::Zstd(out, Vec::new()),
        })
    }

    /// Ends the packing and gives the output back.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            OutputCompressor::Uncompressed(out) => Ok(out),
            OutputCompressor::Gzip(packer) => packer.finish(),
            OutputCompressor::Zstd(mut out, rest) => {
                out.write_all(&compress_to_vec(&rest[..], CompressionLevel::Fastest))?;
                Ok(out)
            }
        }
    }
}

impl<W: Write> Write for CompressedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            OutputCompressor::Uncompressed(out) => out.write(bytes),
            OutputCompressor::Gzip(packer) => packer.write(bytes),
            OutputCompressor::Zstd(out, frame) => {
                let count = bytes.len().min(ZSTD_FRAME_BYTES - frame.len());
                frame.extend_from_slice(&bytes[..count]);
                if frame.len() == ZSTD_FRAME_BYTES {
                    out.write_all(&compress_to_vec(&frame[..], CompressionLevel::Fastest))?;
                    frame.clear();
                }
                Ok(count)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            OutputCompressor::Uncompressed(out) => out.flush(),
            OutputCompressor::Gzip(packer) => packer.flush(),
            OutputCompressor::Zstd(out, _) => out.flush(),
        }
    }
}
