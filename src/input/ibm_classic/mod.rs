//! IBM text ("classic") heap dumps of Java: J9, OpenJ9, and the tools that print like them.
//!
//! ```text
//! // Version: JRE 1.8.0 Linux amd64-64 build ...
//! 0x00000000FE001010 [24] OBJ java/lang/String
//!     0x00000000FE001028                                   references
//! 0x00000000FE0DD390 [112] CLS java/lang/String            a class
//! // Breakdown - Classes: 847, Objects: 14477, ObjectArrays: 2215, PrimitiveArrays: 3453
//! // EOF:  Total 'Objects',Refs(null) : 20992,67473(30591)
//! ```
//!
//! Four shapes go by this name (`shape`), told apart by the whole file: in shape A the first reference of an object is
//! its class, in the others it is a reference like any. A hexadecimal word directly followed by a size begins a record,
//! any other is a reference of the record before; line ends mean little. The format has no root records at all.
//! docs/formats/ibm-classic.md has the grammar, the codes, and where each rule comes from.

mod assemble;
mod block;
mod problem_codes;
mod record;

use super::blocks::{BlockCutRule, parse_text_blocks};
use super::problem_codes::GraphCodes;
use super::sink::{RecordSink, TypeCounts};
use super::{Format, FormatMatch, ParsedDump, ParsedTypes, ReadError, Reader, Reading, Runtime, Source, text};
use crate::graph::ObjectColumns;
use assemble::Assembler;
use block::{Block, parse_block};

pub(super) struct IbmClassic;

impl Reader for IbmClassic {
    fn format(&self) -> Format {
        Format::text("ibm-classic", "IBM classic (text) Java heap dump", Runtime::Java)
    }

    /// Certain with the version line first, or with a record first that has OBJ or CLS. Lines of a web page or a mail
    /// around the dump, or records without those words (shape D), leave it at "maybe".
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let mut rest = start;
        let mut first = true;
        while !rest.is_empty() {
            let (line, after) = text::split_line_at_any_end(rest);
            rest = after;
            let line = text::trim(line);
            if line.is_empty() {
                continue;
            }
            let certain = record::version(line).is_some() || record::names_object_or_class(line);
            if certain || record::begins_record(line) {
                return if certain && first { FormatMatch::Yes } else { FormatMatch::Maybe };
            }
            first = false;
        }
        FormatMatch::No
    }

    /// An object of 14 bytes of memory has some 40 to 100 characters with its type's name, a reference of 4 bytes 11 or 19;
    /// in UTF-16 each takes two bytes.
    fn least_memory_bytes(&self, dump_bytes: u64) -> u64 {
        dump_bytes / 16
    }

    fn graph_codes(&self) -> &'static GraphCodes {
        &problem_codes::GRAPH_CODES
    }

    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        Ok(take_all_blocks::<ObjectColumns>(source, reading)?.into_dump())
    }

    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError> {
        Ok(take_all_blocks::<TypeCounts>(source, reading)?.into_types())
    }
}

/// Returns true for a line of records alone: the version, the trailer, and addresses, each perhaps with a size and a name of
/// up to three words.
pub(crate) fn is_dump_line(line: &[u8]) -> bool {
    let mut rest = text::trim(line);
    if [&b"// Breakdown"[..], b"// EOF:", b"PrimitiveArrays:"].iter().any(|start| rest.starts_with(start)) {
        return rest
            .iter()
            .all(|byte| byte.is_ascii_digit() || b"/,:-()' ".contains(byte) || byte.is_ascii_alphabetic());
    }
    let mut words_of_name = 0;
    while !rest.is_empty() {
        let (word, after) = text::split_field(rest);
        words_of_name = match word {
            word if record::hex_word(word).is_some() => 0,
            word if record::size_word(word).is_some() => 3,
            _ if words_of_name > 0 => words_of_name - 1,
            _ => return record::version(line).is_some(),
        };
        rest = after;
    }
    true
}

fn take_all_blocks<'r, S: RecordSink>(source: Source, reading: &'r mut Reading) -> Result<Assembler<'r>, ReadError> {
    let threads = reading.options.threads;
    let (mut assembler, mut tally) = (Assembler::new(reading), source.tally());
    parse_text_blocks(source, BlockCutRule::BeforeHexWord, threads, parse_block::<S>, |block: &mut Block<S>| {
        tally.add_and_report(block.objects.object_count());
        assembler.take_block(block)
    })?;
    Ok(assembler)
}
