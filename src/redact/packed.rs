//! Packed outputs, by their names.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Bytes of a frame of zstd.
const FRAME_BYTES: usize = 8 << 20;

/// The packing of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPacking {
    /// As it is.
    Plain,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
}

impl OutputPacking {
    /// By the end of a file's name.
    pub fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some(ending) if ending.eq_ignore_ascii_case("gz") => OutputPacking::Gzip,
            Some(ending) if ending.eq_ignore_ascii_case("zst") => OutputPacking::Zstd,
            _ => OutputPacking::Plain,
        }
    }
}

/// A writer that packs what is written to it.
pub struct PackedOutput<W: Write>(Packer<W>);

enum Packer<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    /// Frames that follow one another, each made when it is full.
    Zstd(W, Vec<u8>),
}

impl<W: Write> PackedOutput<W> {
    /// Begins an output.
    pub fn new(out: W, packing: OutputPacking) -> Self {
        PackedOutput(match packing {
            OutputPacking::Plain => Packer::Plain(out),
            OutputPacking::Gzip => Packer::Gzip(GzEncoder::new(out, Compression::fast())),
            OutputPacking::Zstd => Packer::Zstd(out, Vec::new()),
        })
    }

    /// Ends the packing and gives the output back.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Packer::Plain(out) => Ok(out),
            Packer::Gzip(packer) => packer.finish(),
            Packer::Zstd(mut out, rest) => {
                out.write_all(&compress_to_vec(&rest[..], CompressionLevel::Fastest))?;
                Ok(out)
            }
        }
    }
}

impl<W: Write> Write for PackedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Packer::Plain(out) => out.write(bytes),
            Packer::Gzip(packer) => packer.write(bytes),
            Packer::Zstd(out, frame) => {
                let count = bytes.len().min(FRAME_BYTES - frame.len());
                frame.extend_from_slice(&bytes[..count]);
                if frame.len() == FRAME_BYTES {
                    out.write_all(&compress_to_vec(&frame[..], CompressionLevel::Fastest))?;
                    frame.clear();
                }
                Ok(count)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Packer::Plain(out) => out.flush(),
            Packer::Gzip(packer) => packer.flush(),
            Packer::Zstd(out, _) => out.flush(),
        }
    }
}
