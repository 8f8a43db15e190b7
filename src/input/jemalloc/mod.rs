//! `jemalloc`: heap profiles of jemalloc: how much was allocated, by stack.
//!
//! ```text
//! heap_v2/524288
//!   t*: 28106: 56637512 [0: 0]
//!   t0: 28106: 56637512 [0: 0]
//! @ 0x7f44970a2630 0x55e67aa2b174
//!   t*: 13: 6688 [0: 0]
//!   t0: 13: 6688 [0: 0]
//!
//! MAPPED_LIBRARIES:
//! 55e67aa2b000-55e67aa2c000 r-xp 00001000 fe:00 950990      /opt/known/known
//! ```
//!
//! A stack stands before its amounts: objects and bytes in use, in brackets allocated where jemalloc counts them; of all threads
//! (`t*`), then of each. docs/formats/jemalloc.md has the codes, and where each rule comes from.

mod problem_codes;

use super::stack_profile::{TextAmounts, TextProfile, TextProfileCodes, read_whole, split_at_mapped_files};
use super::text::{decimal_field, split_line, trim};
use super::{
    Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ReadError, ReadErrorKind, ReadExtent,
    Reader, Reading, Runtime, Source,
};
use crate::allocations::NameId;
use problem_codes::*;

pub(super) struct Jemalloc;

const CODES: TextProfileCodes =
    TextProfileCodes { bad_address: &BAD_ADDRESS, bad_mapping: &BAD_MAPPING, total_mismatch: &TOTAL_MISMATCH };
const FILE_MAGIC: &[u8] = b"heap_v2/";

impl Reader for Jemalloc {
    fn format(&self) -> Format {
        Format::text("jemalloc", "heap profile of jemalloc", Runtime::Native)
    }

    fn detect(&self, start: &[u8]) -> FormatMatch {
        if start.starts_with(FILE_MAGIC) { FormatMatch::Yes } else { FormatMatch::No }
    }

    fn read(&self, mut source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let mut share = reading.budget.for_content();
        let text = read_whole(&mut source, &mut share)?;
        let extent = ReadExtent { end: Position::Byte(text.len() as u64), objects: 0, loss_codes: &[] };
        let (first, _) = split_line(&text);
        let Some(rate) = first.strip_prefix(FILE_MAGIC).map(trim).and_then(decimal_field) else {
            let text = "a heap profile of jemalloc whose first line cannot be read";
            return Ok(ParsedDump { extent, content: ParsedContent::NoHeap(text.into()) });
        };
        let (samples, mapped) = split_at_mapped_files(&text);
        if mapped.is_none() || !text.ends_with(b"\n") {
            reading.diagnostics.add(&TRUNCATED, 1, extent.end, String::new);
        }
        let (mapped, first_line) = mapped.unwrap_or_default();
        let mut profile = TextProfile::new(mapped, first_line, rate, &CODES, reading)?;
        let (mut total, mut stack) = (TextAmounts::default(), None::<Vec<NameId>>);
        let (mut rest, mut line_number) = (samples, 0);
        while !rest.is_empty() {
            let (line, behind) = split_line(rest);
            (rest, line_number) = (behind, line_number + 1);
            let line = trim(line);
            if line_number == 1 || line.is_empty() {
                continue;
            }
            if let Some(addresses) = line.strip_prefix(b"@") {
                let addresses = profile.parse_addresses(addresses, line_number, reading);
                // Callers come first.
                stack = Some(addresses.into_iter().rev().map(|address| profile.name_of(address)).collect());
                continue;
            }
            let thread = line.strip_prefix(b"t").and_then(|line| Some(line.split_at(memchr::memchr(b':', line)?)));
            match thread.map(|(thread, amounts)| (thread, TextAmounts::parse(&amounts[1..]))) {
                Some((b"*", Some(amounts))) => match stack.take() {
                    Some(stack) => profile.add_sample(&stack, &amounts)?,
                    None => total = amounts,
                },
                Some((_, Some(_))) => {}
                _ => reading.diagnostics.add(&BAD_LINE, 1, Position::Line(line_number), String::new),
            }
        }
        // Of samples the total is another estimate than the stacks' sum.
        let total = Some(&total).filter(|_| rate <= 1);
        Ok(ParsedDump { extent, content: ParsedContent::Allocations(profile.finish(total, reading)?) })
    }

    fn is_profile(&self) -> bool {
        true
    }

    /// The file has no objects to be counted.
    fn count_types(&self, _: Source, _: &mut Reading) -> Result<ParsedTypes, ReadError> {
        Err(ReadError::new(ReadErrorKind::NoObjects("a heap profile holds allocation totals")))
    }
}
