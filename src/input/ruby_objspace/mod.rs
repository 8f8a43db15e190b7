//! Ruby: what `ObjectSpace.dump_all` of the standard library's `objspace` writes.
//!
//! ```text
//! {"type":"ROOT", "root":"vm", "references":["0x7f01", ...]}
//! {"address":"0x7f01", "type":"HASH", "class":"0x7f02", "size":2, "references":["0x7f03", ...], "memsize":168, "flags":{...}}
//! ```
//!
//! One JSON object a line, no header, no trailer. Objects name their class by its address; the class's line has the name.
//! docs/formats/ruby-objspace.md has the keys, the codes, and where each rule comes from.
//!
//! Blocks of lines are parsed by several threads (`block`); one puts them together and names the types once all lines are
//! there (`assemble`).

mod assemble;
mod block;
mod details;
mod problem_codes;

use super::blocks::{BlockCutRule, parse_text_blocks};
use super::line_details::LineDetails;
use super::sink::{RecordSink, TypeCounts};
use super::{
    Encoding, Format, FormatMatch, ObjectDetails, ParsedDump, ParsedTypes, ReadError, Reader, Reading, RereadableFile,
    Runtime, Source, text,
};
use crate::graph::{ColumnSource, ObjectColumns};
use assemble::Assembler;
use block::{Block, parse_block};
use details::RubyLines;

/// The reader.
pub(super) struct RubyObjspace;

impl Reader for RubyObjspace {
    fn format(&self) -> Format {
        Format {
            name: "ruby-objspace",
            title: "Ruby heap dump (ObjectSpace.dump_all)",
            runtime: Runtime::Ruby,
            is_text: true,
        }
    }

    /// The first line is a root, or an object with its address as Ruby writes it.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let start = start.trim_ascii_start();
        let (line, _) = text::split_line_at_any_end(start);
        let has = |text: &[u8]| memchr::memmem::find(line, text).is_some();
        let is_object = line.starts_with(b"{\"address\":\"0x") && has(b"\"type\":\"");
        let is_root = line.starts_with(b"{\"type\":\"ROOT\"") && has(b"\"root\":");
        let is_shape = line.starts_with(b"{\"type\":\"SHAPE\"");
        if is_object || is_root || is_shape { FormatMatch::Yes } else { FormatMatch::No }
    }

    fn has_values(&self) -> bool {
        true
    }

    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let reread = source.rereadable_file().filter(|_| source.encoding == Encoding::Utf8);
        let dump = take_all_blocks::<ObjectColumns>(source, reading)?.into_dump();
        // Before references are missed that only a broken line had.
        reading.check_strict()?;
        reading.details = reread.filter(RereadableFile::is_available).and_then(details);
        Ok(dump)
    }

    fn details(&self, _columns: &dyn ColumnSource, input: RereadableFile) -> Option<Box<dyn ObjectDetails>> {
        details(input)
    }

    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError> {
        Ok(take_all_blocks::<TypeCounts>(source, reading)?.into_types())
    }
}

fn details(input: RereadableFile) -> Option<Box<dyn ObjectDetails>> {
    Some(Box::new(LineDetails::<RubyLines>::new(input)))
}

fn take_all_blocks<'r, S: RecordSink>(source: Source, reading: &'r mut Reading) -> Result<Assembler<'r>, ReadError> {
    let threads = reading.options.threads;
    let (mut assembler, mut tally) = (Assembler::new(reading), source.tally());
    parse_text_blocks(source, BlockCutRule::AfterLine, threads, parse_block::<S>, |block: &mut Block<S>| {
        tally.add_and_report(block.objects.object_count());
        assembler.take_block(block)
    })?;
    Ok(assembler)
}
