//! `heapgraph`: objects, references and roots as lines of JSON, a form that any program can write.
//!
//! ```text
//! {"heapgraph":1,"runtime":"CPython 3.11.7"}
//! {"id":4096,"type":"app.Order","size":56,"refs":[4160,4224],"names":["number","lines"]}
//! {"root":4096,"kind":"module","name":"orders"}
//! {"end":true,"objects":1}
//! ```
//!
//! docs/heapgraph.md describes it for those who write it, docs/formats/heapgraph.md has the codes.
//!
//! Blocks of lines are parsed by several threads (`block`, `record`); one puts them together (`assemble`).

mod assemble;
mod block;
mod details;
mod problem_codes;
mod record;

use super::blocks::{BlockCutRule, parse_text_blocks};
use super::json_lines::JsonFields;
use super::line_details::LineDetails;
use super::sink::{RecordSink, TypeCounts};
use super::{
    Encoding, Format, FormatMatch, ObjectDetails, ParsedDump, ParsedTypes, ReadError, Reader, Reading, RereadableFile,
    Runtime, Source, text,
};
use crate::graph::{ColumnSource, ObjectColumns};
use assemble::Assembler;
use block::{Block, parse_block};
use details::HeapgraphLines;

/// The reader.
pub(super) struct Heapgraph;

impl Reader for Heapgraph {
    fn format(&self) -> Format {
        Format::text("heapgraph", "Heap graph in JSON lines", Runtime::Unknown)
    }

    /// The first line that is not blank is an object with this key.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let (line, _) = text::split_line_at_any_end(start.trim_ascii_start());
        let Ok(mut fields) = JsonFields::of_line(line) else { return FormatMatch::No };
        while let Ok(Some((key, _))) = fields.next_field() {
            if key == b"heapgraph" {
                return FormatMatch::Yes;
            }
        }
        FormatMatch::No
    }

    fn has_values(&self) -> bool {
        true
    }

    fn sees_more_under_strict(&self) -> bool {
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
    Some(Box::new(LineDetails::<HeapgraphLines>::new(input)))
}

fn take_all_blocks<'r, S: RecordSink>(source: Source, reading: &'r mut Reading) -> Result<Assembler<'r>, ReadError> {
    let (threads, is_strict) = (reading.options.threads, reading.options.strict);
    let (mut assembler, mut tally) = (Assembler::new(reading), source.tally());
    let parse = |text: &[u8], place, block: &mut Block<S>| parse_block(text, place, is_strict, block);
    parse_text_blocks(source, BlockCutRule::AfterLine, threads, parse, |block: &mut Block<S>| {
        tally.add_and_report(block.objects.object_count());
        assembler.take_block(block)
    })?;
    Ok(assembler)
}
