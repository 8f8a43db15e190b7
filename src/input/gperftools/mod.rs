//! `gperftools`: heap profiles of gperftools and tcmalloc, and the text that Go writes: how much was allocated, by stack.
//!
//! ```text
//! heap profile:   1010: 10585760 [  1010: 10585760] @ heapprofile
//!     10: 10485760 [    10: 10485760] @ 0x562d82cc51bd 0x562d82cc5215
//! #  0x562d82cc51bc  main.grow+0x1c  /src/main.go:31
//!
//! MAPPED_LIBRARIES:
//! 562d82cc5000-562d82cc6000 r-xp 00001000 fe:00 950990      /opt/known/known
//! ```
//!
//! Objects and bytes in use, in brackets allocated; addresses innermost first. Go alone names frames, behind `#`.
//! docs/formats/gperftools.md has the codes, and where each rule comes from.

mod problem_codes;

use super::stack_profile::{
    TextAmounts, TextProfile, TextProfileCodes, UNKNOWN_FILE, UNKNOWN_MODULE, read_whole, split_at_mapped_files,
};
use super::text::{decimal_field, split_line, trim};
use super::{
    Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ReadError, ReadErrorKind, ReadExtent,
    Reader, Reading, Runtime, Source,
};
use crate::allocations::{FrameNaming, NameId};
use problem_codes::*;

pub(super) struct Gperftools;

const CODES: TextProfileCodes =
    TextProfileCodes { bad_address: &BAD_ADDRESS, bad_mapping: &BAD_MAPPING, total_mismatch: &TOTAL_MISMATCH };
const FILE_MAGIC: &[u8] = b"heap profile:";
/// Begins what Go writes behind the samples.
const GO_SAMPLES_END: &[u8] = b"# runtime.MemStats";

impl Reader for Gperftools {
    fn format(&self) -> Format {
        Format::text("gperftools", "heap profile of gperftools, tcmalloc or Go, as text", Runtime::Native)
    }

    fn detect(&self, start: &[u8]) -> FormatMatch {
        if start.starts_with(FILE_MAGIC) { FormatMatch::Yes } else { FormatMatch::No }
    }

    fn read(&self, mut source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let mut share = reading.budget.for_content();
        let text = read_whole(&mut source, &mut share)?;
        let extent = ReadExtent { end: Position::Byte(text.len() as u64), objects: 0, loss_codes: &[] };
        let (first, _) = split_line(&text);
        let Some((total, rate)) = parse_header(trim(first)) else {
            let text = "a heap profile of gperftools or Go whose first line cannot be read";
            return Ok(ParsedDump { extent, content: ParsedContent::NoHeap(text.into()) });
        };
        let (samples, mapped) = split_at_mapped_files(&text);
        let is_whole = mapped.is_some() || memchr::memmem::find(samples, GO_SAMPLES_END).is_some();
        if !is_whole || !text.ends_with(b"\n") {
            reading.diagnostics.add(&TRUNCATED, 1, extent.end, String::new);
        }
        let (mapped, first_line) = mapped.unwrap_or_default();
        let mut profile = TextProfile::new(mapped, first_line, rate, &CODES, reading)?;
        let mut sample: Option<(TextAmounts, Vec<NameId>)> = None;
        // What Go says of the frames of the sample, innermost first.
        let mut frames: Vec<NameId> = Vec::new();
        let (mut rest, mut line_number) = (samples, 0);
        while !rest.is_empty() {
            let (line, behind) = split_line(rest);
            (rest, line_number) = (behind, line_number + 1);
            let line = trim(line);
            if line.starts_with(b"#") {
                frames.extend(
                    parse_go_frame(line).map(|(name, place)| intern_frame_name(&mut profile, &name, &place, reading)),
                );
                continue;
            }
            if line_number == 1 || line.is_empty() {
                continue;
            }
            add_pending_sample(&mut profile, &mut sample, &mut frames)?;
            let at = memchr::memchr(b'@', line).unwrap_or(line.len());
            let Some(amounts) = TextAmounts::parse(&line[..at]).filter(|_| at < line.len()) else {
                reading.diagnostics.add(&BAD_LINE, 1, Position::Line(line_number), String::new);
                continue;
            };
            let addresses = profile.parse_addresses(&line[at + 1..], line_number, reading);
            let stack = addresses.into_iter().map(|address| profile.name_of(address)).collect();
            sample = Some((amounts, stack));
        }
        add_pending_sample(&mut profile, &mut sample, &mut frames)?;
        Ok(ParsedDump { extent, content: ParsedContent::Allocations(profile.finish(Some(&total), reading)?) })
    }

    fn is_profile(&self) -> bool {
        true
    }

    /// The file has no objects to be counted.
    fn count_types(&self, _: Source, _: &mut Reading) -> Result<ParsedTypes, ReadError> {
        Err(ReadError::new(ReadErrorKind::NoObjects("a heap profile holds allocation totals")))
    }
}

/// Adds a sample with the names of its frames, if it has any, else with those of its addresses.
fn add_pending_sample(
    profile: &mut TextProfile<'_>,
    sample: &mut Option<(TextAmounts, Vec<NameId>)>,
    frames: &mut Vec<NameId>,
) -> Result<(), ReadError> {
    let named = std::mem::take(frames);
    let Some((amounts, addresses)) = sample.take() else { return Ok(()) };
    let mut stack = if named.is_empty() { addresses } else { named };
    stack.reverse();
    profile.add_sample(&stack, &amounts)
}

/// The amounts of all samples, and one of how many bytes was sampled: `... @ heapprofile`, `... @ heap/1048576`.
///
/// Go writes twice its rate (<https://pkg.go.dev/runtime/pprof>); `heapprofile` means every allocation.
fn parse_header(line: &[u8]) -> Option<(TextAmounts, u64)> {
    let (amounts, kind) = line.strip_prefix(FILE_MAGIC)?.split_at(memchr::memchr(b'@', line)? - FILE_MAGIC.len());
    let kind = trim(&kind[1..]);
    let slash = memchr::memchr(b'/', kind).unwrap_or(kind.len());
    let rate = || kind.get(slash + 1..).and_then(decimal_field).unwrap_or(0);
    let rate = match &kind[..slash] {
        b"heapprofile" => 1,
        b"heap" => rate() / 2,
        b"heap_v2" | b"heapz_v2" => rate(),
        _ => return None,
    };
    Some((TextAmounts::parse(amounts)?, rate))
}

/// Name and place of a frame: `#  0x4a5c3b  main.fill+0x3b  /src/main.go:31`. `None` for what else stands behind `#`.
fn parse_go_frame(line: &[u8]) -> Option<(String, String)> {
    let mut fields = line.split(|&byte| byte == b'\t').filter(|field| !field.is_empty());
    fields.next().filter(|first| *first == b"#")?;
    fields.next().filter(|address| address.starts_with(b"0x"))?;
    let [name, place] = [fields.next()?, fields.next()?].map(|text| String::from_utf8_lossy(text).into_owned());
    let end = name.rfind("+0x").unwrap_or(name.len());
    Some((name[..end].to_string(), place))
}

fn intern_frame_name(profile: &mut TextProfile<'_>, name: &str, place: &str, reading: &Reading) -> NameId {
    let names = &mut profile.heap.names;
    match reading.options.profile.frame_names {
        FrameNaming::Function => names.intern(name),
        FrameNaming::FunctionAndLine => names.intern(&format!("{name} {place}")),
        FrameNaming::File => names.intern(place.rsplit_once(':').map_or(UNKNOWN_FILE, |(file, _)| file)),
        FrameNaming::Module => names.intern(UNKNOWN_MODULE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_say_what_was_sampled() {
        let rate =
            |kind: &str| parse_header(format!("heap profile: 3: 40 [5: 60] @ {kind}").as_bytes()).map(|(_, rate)| rate);
        let rates = ["heapprofile", "heap/1048576", "heap_v2/524288", "heap", "growth", ""].map(rate);
        assert_eq!(rates, [Some(1), Some(524_288), Some(524_288), Some(0), None, None]);
        assert!(
            parse_header(b"heap profile: @ heapprofile").is_none() && parse_header(b"heap profile: 3: 40").is_none()
        );
    }

    #[test]
    fn frames_of_go_have_names_and_places() {
        let frame = parse_go_frame(b"#\t0x4a5c3b\tmain.(*T).fill+0x3b\t\t/src/a b.go:31").unwrap();
        assert_eq!(frame, ("main.(*T).fill".to_string(), "/src/a b.go:31".to_string()));
        for other in [&b"# runtime.MemStats"[..], b"# Alloc = 7", b"#", b"#\t0x1", b"#\tx\ty\tz"] {
            assert_eq!(parse_go_frame(other), None, "{other:?}");
        }
    }
}
