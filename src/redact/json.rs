//! Formats of JSON: a text stays where its key is known to have names.

use std::io::Write;

use serde::de::IgnoredAny;

use super::dump_file::DumpFile;
use super::json_redactor::{JsonPosition, JsonRedactor, TextDecision, TextRule};
use super::lines::copy_lines;
use super::names::hide_user_names;
use super::options::{LostBytes, RedactError, RemainingContent};
use crate::input::{ReadError, Source, is_identifier};

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;

fn keep_or_replace(stays: bool) -> TextDecision {
    if stays { TextDecision::Keep } else { TextDecision::Replace }
}

/// Chromium's traces: names, numbers that are written as texts, and what the recording is made of.
fn decide_trace_text(place: &JsonPosition, text: &str) -> TextDecision {
    const TOP_LEVEL_KEYS: [&str; 4] = ["traceEvents", "stackFrames", "typeNames", "displayTimeUnit"];
    const KEYS_OF_NAMES: [&str; 12] = [
        "name",
        "ph",
        "string",
        "bt",
        "parent",
        "id",
        "dumps",
        "level_of_detail",
        "type",
        "types",
        "units",
        "category",
    ];
    if place.is_key() && place.depth() == 1 {
        return keep_or_replace(TOP_LEVEL_KEYS.contains(&text));
    }
    // A list at the top has the events alone.
    if !["", TOP_LEVEL_KEYS[0], TOP_LEVEL_KEYS[1], TOP_LEVEL_KEYS[2]].contains(&place.top_level_key())
        || !place.is_in_object_below_top()
    {
        return keep_or_replace(place.top_level_key() == TOP_LEVEL_KEYS[3]);
    }
    match place.enclosing_key() {
        // Below what goes keys may be anything.
        "labels" | "env" if place.is_key() => TextDecision::Replace,
        _ if place.is_key() => TextDecision::Keep,
        "cat" => {
            let is_of_memory = |name: &str| ["__metadata", "disabled-by-default-memory-infra"].contains(&name.trim());
            if text.split(',').all(is_of_memory) { TextDecision::Keep } else { TextDecision::RefuseFile }
        }
        key => {
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
            keep_or_replace(
                KEYS_OF_NAMES.contains(&key) || is_number(key) || is_number(text.strip_prefix("0x").unwrap_or(text)),
            )
        }
    }
}

/// What has names in formats of lines; keys at the top read as words.
fn decide_line_text(place: &JsonPosition, text: &str, names: &[&str]) -> TextDecision {
    keep_or_replace(if place.is_key() && place.depth() < 2 {
        is_identifier(text)
    } else {
        names.contains(&place.enclosing_key())
    })
}

/// Lines of Ruby's objspace.
fn decide_ruby_text(place: &JsonPosition, text: &str) -> TextDecision {
    const KEYS_OF_NAMES: [&str; 18] = [
        "type",
        "class",
        "name",
        "address",
        "references",
        "root",
        "superclass",
        "file",
        "method",
        "imemo_type",
        "shape_type",
        "edge_name",
        "encoding",
        "coderange",
        "struct",
        "module",
        "real_class",
        "category",
    ];
    decide_line_text(place, text, &KEYS_OF_NAMES)
}

/// Lines of the neutral form.
fn decide_heapgraph_text(place: &JsonPosition, text: &str) -> TextDecision {
    const KEYS_OF_NAMES: [&str; 26] = [
        "runtime",
        "producer",
        "time",
        "ids",
        "rules",
        "id",
        "type",
        "refs",
        "root",
        "kind",
        "in",
        "name",
        "section",
        "module",
        "at",
        "class",
        "loader",
        "object",
        "method",
        "file",
        "signature",
        "code",
        "origin",
        "flags",
        "range",
        "frames",
    ];
    match place.enclosing_key() {
        "names" if !place.is_key() => keep_or_replace(is_reference_name(text)),
        _ => decide_line_text(place, text, &KEYS_OF_NAMES),
    }
}

/// The rule of a format of JSON, and whether its lines are apart.
fn rule_of(format: &str) -> Option<(TextRule, bool)> {
    match format {
        "memory-infra" => Some((decide_trace_text, false)),
        "ruby-objspace" => Some((decide_ruby_text, true)),
        "heapgraph" => Some((decide_heapgraph_text, true)),
        _ => None,
    }
}

/// Looks through the texts of a copy for runs of texts of its dump that go; `None` of a format that is not of JSON.
pub(super) fn find_remaining_content(
    dump: &DumpFile,
    copy: &DumpFile,
    format: &str,
) -> Option<Result<RemainingContent, ReadError>> {
    let rule = rule_of(format)?;
    let mut left = RemainingContent::default();
    let looked = for_each_text(dump, rule, |text, stays, _| {
        if stays {
            let mut name = text.to_vec();
            hide_user_names(&mut name);
            left.runs.allow_runs_of(&name);
        }
    });
    let looked = looked.and_then(|_| for_each_text(copy, rule, |text, _, _| left.runs.add_copy_bytes(text)));
    let looked = looked.and_then(|bytes| {
        left.copy_bytes = bytes;
        for_each_text(dump, rule, |text, stays, offset| {
            if !stays {
                left.runs.look_for_runs(text, offset)
            }
        })
    });
    Some(looked.map(|_| left))
}

/// Shows each text: as it stands in the file, whether it stays, about where it stands. Returns the file's length.
fn for_each_text(
    file: &DumpFile,
    (rule, has_lines): (TextRule, bool),
    mut see: impl FnMut(&[u8], bool, u64),
) -> Result<u64, ReadError> {
    let (mut source, mut lexer, mut bytes, mut offset) =
        (file.open()?, JsonRedactor::new(rule, false), vec![0; READ_BYTES], 0);
    lexer.seen_texts = Some(Vec::new());
    loop {
        let got = source.fill(&mut bytes)?;
        for &byte in &bytes[..got] {
            lexer.push_byte(byte);
            if has_lines && byte == b'\n' {
                lexer.begin_line();
            }
        }
        lexer.out.clear();
        lexer
            .seen_texts
            .iter_mut()
            .flat_map(|texts| texts.drain(..))
            .for_each(|(text, stays)| see(&text, stays, offset));
        offset += got as u64;
        if got < bytes.len() {
            return Ok(offset);
        }
    }
}

/// Writes a copy; `None` of a format that is not of JSON. With `keeps_equality` equal texts get equal fillers.
pub(super) fn copy_json(
    source: &mut Source,
    format: &str,
    keeps_equality: bool,
    out: &mut dyn Write,
) -> Option<Result<(u64, LostBytes), RedactError>> {
    let (rule, has_lines) = rule_of(format)?;
    let mut lexer = JsonRedactor::new(rule, keeps_equality);
    if !has_lines {
        return Some(copy_trace(source, &mut lexer, out));
    }
    // A line that is no JSON goes.
    Some(copy_lines(source, out, |line, out| {
        let is_json = serde_json::from_slice::<IgnoredAny>(line).is_ok();
        if is_json {
            lexer.begin_line();
            line.iter().for_each(|&byte| lexer.push_byte(byte));
            lexer.end_word();
            out.append(&mut lexer.out);
        }
        is_json
    }))
}

fn copy_trace(
    source: &mut Source,
    lexer: &mut JsonRedactor,
    out: &mut dyn Write,
) -> Result<(u64, LostBytes), RedactError> {
    if source.start().trim_ascii_start().starts_with(b"<") {
        return Err(RedactError::CannotSeparateValues(
            "a page with a trace in it: redact writes copies of traces alone",
        ));
    }
    let (mut bytes, mut total, mut offset) = (vec![0; READ_BYTES], 0, 0u64);
    loop {
        let mut got = source.fill(&mut bytes).map_err(ReadError::from)?;
        let (mut sound_bytes, mut sound_out_bytes) = (0, 0);
        for &byte in &bytes[..got] {
            lexer.push_byte(byte);
            if lexer.is_broken {
                break;
            }
            (sound_bytes, sound_out_bytes) = (sound_bytes + 1, lexer.out.len());
        }
        if lexer.is_refused {
            return Err(RedactError::CannotSeparateValues(
                "a trace with other events than those of memory, which may hold anything: record it with the category \
                 disabled-by-default-memory-infra alone",
            ));
        }
        // What damage makes of texts behind it cannot be known.
        lexer.out.truncate(sound_out_bytes);
        out.write_all(&lexer.out)?;
        total += lexer.out.len() as u64;
        lexer.out.clear();
        if lexer.is_broken {
            let bytes_behind = (got - sound_bytes) as u64;
            let mut lost =
                LostBytes { bytes: bytes_behind, first_offset: offset + sound_bytes as u64, ..LostBytes::default() };
            while got == bytes.len() {
                got = source.fill(&mut bytes).map_err(ReadError::from)?;
                lost.bytes += got as u64;
            }
            return Ok((total, lost));
        }
        offset += got as u64;
        if got < bytes.len() {
            return Ok((total, LostBytes { is_cut: lexer.position.depth() > 0, ..LostBytes::default() }));
        }
    }
}

/// `.next`, `count`, `[12]`, and dotted names.
fn is_reference_name(text: &str) -> bool {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let is_index = inner.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*'));
    is_index || text.strip_prefix('.').unwrap_or(text).split('.').all(is_identifier)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn copied(format: &str, file: &str, keeps_equality: bool) -> Result<String, String> {
        let mut source = Source::from_reader(Cursor::new(file.to_string().into_bytes())).expect("bytes");
        let mut out = Vec::new();
        let copied = copy_json(&mut source, format, keeps_equality, &mut out).expect("JSON");
        copied.map(|_| String::from_utf8(out).expect("a text")).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_of_objects_go_and_names_stay() {
        let file = "{\"address\":\"0x1\", \"type\":\"STRING\", \"value\":\"a\\n secret\", \"file\":\"/home/al/a.rb\"}\n\
                    no secret {\n{\"value\":\"again\", \"x\":{\"again\":\"again\"}, \"memsize\":42}\n";
        let copy = copied("ruby-objspace", file, true).expect("copied");
        let lines: Vec<&str> = copy.lines().collect();
        assert_eq!(
            lines[0],
            "{\"address\":\"0x1\", \"type\":\"STRING\", \"value\":\"|~|~|~|~0\", \"file\":\"/home/xx/a.rb\"}"
        );
        assert_eq!(lines[1..], ["", "{\"value\":\"00001\", \"x\":{\"00001\":\"00001\"}, \"memsize\":42}"]);
        let file = "{\"heapgraph\":1,\"process\":4711}\n{\"id\":7,\"type\":\"a.B\",\"refs\":[1],\"names\":[\"next\",\"a key\",\"[1]\"],\"value\":-12.5,\"text\":\"x\"}\n";
        let copy = copied("heapgraph", file, false).expect("copied");
        assert!(
            copy.contains("[\"next\",\"0000") && copy.contains("\"[1]\"],\"value\":-00.0,\"text\":\"0\""),
            "{copy}"
        );
    }

    #[test]
    fn traces_lose_what_tells_of_the_process_and_may_have_no_other_events() {
        let file = "{\"metadata\":{\"command_line\":\"chrome --a=b\"},\"traceEvents\":[{\"cat\":\"__metadata\",\"name\":\
                    \"process_labels\",\"args\":{\"labels\":\"My mails\",\"name\":\"Browser\",\"sz\":\"1aF\"}},\"My mails\"]}";
        let copy = copied("memory-infra", file, false).expect("copied");
        assert!(copy.contains("process_labels") && copy.contains("Browser") && copy.contains("1aF"), "{copy}");
        assert!(!copy.contains("chrome") && !copy.contains("mails"), "{copy}");
        // What a damaged key has may be anything, and what is no trace at all.
        let damaged = copied("memory-infra", &file.replace("labels\":", "labelz\":"), false).expect("copied");
        assert!(!damaged.contains("mails"), "{damaged}");
        let foreign = copied("memory-infra", "[{}],\"strings\":[\"My mails\"],{\"name\":\"My mails\"}", false);
        assert!(!foreign.as_ref().is_ok_and(|copy| copy.contains("mails")), "{foreign:?}");
        // Nothing passes from where the rules of JSON are broken.
        for (sound, broken) in
            [("{\"cat", "{,\"cat"), ("\"name\":\"Brow", "\"name:\"Brow"), ("\"sz\"", "\"s\u{1}\""), ("1aF\"", "1aF\"]")]
        {
            let copy = copied("memory-infra", &file.replace(sound, broken), false).expect("copied");
            let until = file.find(sound).expect("a place") + sound.len() + broken.len();
            assert!(copy.len() <= until && !copy.contains("mails"), "{broken}: {copy}");
        }
        let other = file.replace("__metadata", "__metadata,netlog");
        assert!(copied("memory-infra", &other, false).expect_err("refused").contains("other events"));
    }
}
