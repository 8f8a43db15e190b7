//! XNA / .NET Compact Framework GC heap dumps: text, one record a line, everything in hexadecimal.
//!
//! ```text
//! a 2 BubbleGame.exe 763f9d2        AppDomain: version, name, [time]; opens a section
//! t 1b BubbleGame.Level             type: id, name to the end of the line
//! o 7c79f 1b 118 7cb42 1ce004       object: id, type id, bytes, references
//! r 7c79f 4 0 1b                    root: object id, kind, flags, [class with the static variable]
//! c BubbleGame.exe 763fbef          end of the section: name, [time]
//! ```
//!
//! Records come in any order inside a section, so nothing is resolved before the end. Every id is local to its
//! section. docs/formats/xna-cf.md has the whole grammar, the codes, and where each rule comes from.
//!
//! Blocks of lines are parsed by several threads (`block`); what depends on the order of the file, the sections, is put
//! together by one (`assemble`).

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

pub(super) struct XnaCf;

impl Reader for XnaCf {
    fn format(&self) -> Format {
        Format::text("xna-cf", "XNA / .NET Compact Framework GC heap dump", Runtime::DotNet)
    }

    /// The first line with content is `a`, one or two decimal digits, something. A CLRProfiler log has `a` lines too, but
    /// goes on with `0x`, and never begins with one.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let mut rest = start;
        while !rest.is_empty() {
            let (line, after) = text::split_line_at_any_end(rest);
            if !block::is_blank_line(line) {
                return if record::is_app_domain_line(text::trim(line)) { FormatMatch::Yes } else { FormatMatch::No };
            }
            rest = after;
        }
        FormatMatch::No
    }

    /// An object of 14 bytes of memory has some 16 to 20 characters, a reference of 4 bytes 9 of them at most; in UTF-16
    /// each takes two bytes.
    fn least_memory_bytes(&self, dump_bytes: u64) -> u64 {
        dump_bytes / 8
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

/// Returns true for a line that is a record and nothing else, or blank.
pub(crate) fn is_dump_line(line: &[u8]) -> bool {
    let (letter, fields) = text::split_field(text::trim(line));
    let are_numbers = |mut rest: &[u8]| {
        std::iter::from_fn(|| {
            let (word, after) = text::split_field(rest);
            rest = after;
            (!word.is_empty()).then_some(word)
        })
        .all(|word| text::hex_field(word).is_some())
    };
    match letter {
        b"a" => record::app_domain(fields).is_some(),
        b"t" => record::type_record(fields).is_some(),
        b"o" | b"r" => are_numbers(fields),
        b"c" => true,
        _ => block::is_blank_line(line),
    }
}

fn take_all_blocks<'r, S: RecordSink>(source: Source, reading: &'r mut Reading) -> Result<Assembler<'r>, ReadError> {
    let (radix, threads) = (reading.options.xna_cf.size_radix, reading.options.threads);
    let (mut assembler, mut tally) = (Assembler::new(reading), source.tally());
    let parse = |text: &[u8], place, block: &mut Block<S>| parse_block(text, place, radix, block);
    parse_text_blocks(source, BlockCutRule::AfterLine, threads, parse, |block| {
        tally.add_and_report(block.objects.object_count());
        assembler.take_block(block)
    })?;
    Ok(assembler)
}
