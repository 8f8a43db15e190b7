//! PHD: portable heap dumps of Java virtual machines of IBM and OpenJ9.
//!
//! ```text
//! 00 12 "portable heap dump", u4 version, u4 flags, u1 1, header records, u1 2, u1 2
//! records: objects, arrays, classes; addresses by their distance from the record before; u1 3
//! ```
//!
//! Classes come last, or first; what an object takes follows from its class, and in most versions what an array takes
//! from its length. The format has no root records. docs/formats/phd.md has the layout, the codes, and where each rule
//! comes from.

mod assemble;
mod javacore;
mod layout;
mod problem_codes;
mod records;
mod stream;

use super::problem_codes::POSSIBLE_REPEAT;
use super::{
    Format, FormatMatch, ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, ReadError, ReadErrorKind, Reader,
    Reading, Runtime, Source,
};
use assemble::Assembler;
use layout::{FILE_MAGIC, PhdHeader, SECTION_NAME};
use problem_codes::*;
use records::RecordReader;
use stream::{StopReason, Stream};

pub(super) struct Phd;

/// The rest of the mark and the version where a dump was sent as text.
const MAGIC_SENT_AS_TEXT: &[u8] = b"\x00\x12\xd7\x3f\x94\xb1\x2f\xdf";
const KNOWN_VERSIONS: std::ops::RangeInclusive<u32> = 4..=6;

impl Reader for Phd {
    fn format(&self) -> Format {
        Format::binary("phd", "IBM or OpenJ9 Java heap dump (PHD)", Runtime::Java)
    }

    /// By its first bytes.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        if start.starts_with(FILE_MAGIC) || start.starts_with(MAGIC_SENT_AS_TEXT) {
            FormatMatch::Yes
        } else {
            FormatMatch::No
        }
    }

    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let core = source.path().and_then(|path| javacore::find_beside(path, &reading.budget));
        let mut assembler = Assembler::new(reading, true);
        if let Some(core) = core {
            assembler.take_java_core(core);
        }
        read_records(source, &mut assembler)?;
        let extent = assembler.finish()?;
        let builder = std::mem::take(&mut assembler.builder);
        Ok(ParsedDump { extent, content: ParsedContent::Objects(Box::new(ParsedObjects::new(builder))) })
    }

    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError> {
        let mut assembler = Assembler::new(reading, false);
        read_records(source, &mut assembler)?;
        let extent = assembler.finish()?;
        let types = assembler.totals();
        let (repeat_count, first) =
            (assembler.repeat_detector.possible_repeat_count, assembler.repeat_detector.first_repeat_position);
        assembler.add_problem(&POSSIBLE_REPEAT, repeat_count, first);
        Ok(ParsedTypes { extent, types, origins: Vec::new(), section_names: vec![SECTION_NAME.into()] })
    }
}

fn not_supported_error(text: impl Into<String>) -> ReadError {
    ReadError::new(ReadErrorKind::NotSupported(text.into()))
}

fn read_records(source: Source, assembler: &mut Assembler<'_>) -> Result<(), ReadError> {
    if source.start().starts_with(MAGIC_SENT_AS_TEXT) {
        return Err(not_supported_error(
            "a PHD heap dump that was sent as text, which destroys it: send it again, as binary",
        ));
    }
    let mut tally = source.tally();
    let mut stream = Stream::new(source, &assembler.reading.budget)?;
    let in_header = |stop: StopReason| match stop {
        StopReason::ReadError(error) => error,
        StopReason::Truncated(_) => not_supported_error("a PHD heap dump that is cut off within its header"),
        StopReason::Malformed => not_supported_error("a PHD heap dump with a header of an unknown kind"),
    };
    stream.skip(FILE_MAGIC.len()).map_err(in_header)?;
    let version = stream.u32().map_err(in_header)?;
    if !KNOWN_VERSIONS.contains(&version) {
        return Err(not_supported_error(format!(
            "a PHD heap dump of version {version}; heapdump reads versions 4 to 6"
        )));
    }
    let layout = PhdHeader::parse(&mut stream, version).map_err(in_header)?;
    assembler.take_header(&layout);
    let mut records = RecordReader::new(layout);
    loop {
        let at = stream.position();
        match records.read_next(&mut stream) {
            Ok(records::PhdRecord::End) => {
                let has_more = stream.u8().is_ok();
                assembler.add_problem(&DATA_AFTER_END, has_more.into(), stream.position().saturating_sub(1));
                return assembler.end_records(at + 1, true);
            }
            Ok(what) => {
                assembler.take_record(what, &records, at)?;
                tally.set_total(assembler.objects);
            }
            Err(StopReason::ReadError(error)) => return Err(error),
            Err(StopReason::Malformed) => {
                assembler.add_problem(&BAD_RECORD, 1, at);
                return assembler.end_records(stream.position(), false);
            }
            Err(StopReason::Truncated(missing)) => {
                // What no file of this length could hold was never there.
                let is_bad = missing > stream.position();
                assembler.add_problem(if is_bad { &BAD_RECORD } else { &TRUNCATED }, 1, at);
                return assembler.end_records(stream.position(), false);
            }
        }
    }
}
