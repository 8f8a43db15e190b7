//! Formats of JSON: a text stays where its key is known to have names; all others become fillers of their length.

use std::io::Write;

use rustc_hash::FxHashMap;
use serde::de::IgnoredAny;

use super::blotted::hide_users;
use super::filler::Fillers;
use super::options::{LostBytes, RedactError};
use crate::input::v8_snapshot::block::unescape;
use crate::input::{ReadError, Source, is_identifier};

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// What becomes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    /// It stays where it reads as a name.
    StaysAsName,
    Goes,
    /// The categories of an event: of others there may be anything in it.
    Categories,
}

/// A format: the fate of a text by the first key above it (empty in a list at the top) and the last.
type Rule = fn(&str, &str) -> Fate;

/// Chromium's traces: of what is not the recording itself nothing stays.
fn of_trace(top: &str, key: &str) -> Fate {
    match (top, key) {
        ("" | "traceEvents", "cat") => Fate::Categories,
        (_, "labels" | "command_line" | "command-line" | "cmdline" | "url" | "title" | "user-agent" | "env") => {
            Fate::Goes
        }
        ("" | "traceEvents" | "stackFrames" | "typeNames" | "displayTimeUnit", _) => Fate::Stays,
        _ => Fate::Goes,
    }
}

/// Lines of Ruby's objspace.
fn of_ruby(_: &str, key: &str) -> Fate {
    const NAMES: [&str; 18] = [
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
    if NAMES.contains(&key) { Fate::Stays } else { Fate::Goes }
}

/// Lines of the neutral form.
fn of_heapgraph(_: &str, key: &str) -> Fate {
    const NAMES: [&str; 26] = [
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
    match key {
        "names" => Fate::StaysAsName,
        key if NAMES.contains(&key) => Fate::Stays,
        _ => Fate::Goes,
    }
}

/// The rule of a format, and whether its lines are apart.
fn rule(format: &str) -> Option<(Rule, bool)> {
    match format {
        "memory-infra" => Some((of_trace, false)),
        "ruby-objspace" => Some((of_ruby, true)),
        "heapgraph" => Some((of_heapgraph, true)),
        _ => None,
    }
}

/// Writes a copy; `None` of a format that is not of JSON. With `keeps_equality` equal texts get equal fillers; 30 bytes for each.
pub(super) fn copy(
    source: &mut Source,
    format: &str,
    keeps_equality: bool,
    out: &mut dyn Write,
) -> Option<Result<(u64, LostBytes), RedactError>> {
    let (rule, has_lines) = rule(format)?;
    let known = keeps_equality.then(FxHashMap::default);
    let mut lexer = Lexer { rule, known, ..Lexer::new(rule) };
    Some(if has_lines { lines(source, &mut lexer, out) } else { all(source, &mut lexer, out) })
}

fn all(source: &mut Source, lexer: &mut Lexer, out: &mut dyn Write) -> Result<(u64, LostBytes), RedactError> {
    if source.start().trim_ascii_start().starts_with(b"<") {
        return Err(RedactError::NotApart("a page with a trace in it: redact writes copies of traces alone"));
    }
    let (mut bytes, mut total) = (vec![0; READ_BYTES], 0);
    loop {
        let got = source.fill(&mut bytes).map_err(ReadError::from)?;
        bytes[..got].iter().for_each(|&byte| lexer.byte(byte));
        if lexer.has_other_events {
            return Err(RedactError::NotApart(
                "a trace with other events than those of memory, which may hold anything: record it with the category \
                 disabled-by-default-memory-infra alone",
            ));
        }
        out.write_all(&lexer.out)?;
        total += lexer.out.len() as u64;
        lexer.out.clear();
        if got < bytes.len() {
            return Ok((total, LostBytes { is_cut: !lexer.open.is_empty(), ..LostBytes::default() }));
        }
    }
}

/// Lines one by one: of one that is no JSON only its end stays.
fn lines(source: &mut Source, lexer: &mut Lexer, out: &mut dyn Write) -> Result<(u64, LostBytes), RedactError> {
    let (mut bytes, mut kept, mut offset, mut total, mut lost) =
        (vec![0; READ_BYTES], 0, 0u64, 0, LostBytes::default());
    loop {
        if kept == bytes.len() {
            bytes.resize(2 * kept, 0);
        }
        let got = source.fill(&mut bytes[kept..]).map_err(ReadError::from)?;
        let (end, is_last) = (kept + got, kept + got < bytes.len());
        let done = if is_last { end } else { memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |at| at + 1) };
        for line in bytes[..done].split_inclusive(|&byte| byte == b'\n') {
            if line.trim_ascii().is_empty() || serde_json::from_slice::<IgnoredAny>(line).is_ok() {
                line.iter().for_each(|&byte| lexer.byte(byte));
            } else {
                let first_at = if lost.bytes == 0 { offset } else { lost.first_at };
                lost = LostBytes {
                    bytes: lost.bytes + line.len() as u64,
                    first_at,
                    is_cut: is_last && !line.ends_with(b"\n"),
                };
                lexer.out.extend(line.iter().filter(|byte| matches!(byte, b'\r' | b'\n')));
            }
            offset += line.len() as u64;
        }
        out.write_all(&lexer.out)?;
        total += lexer.out.len() as u64;
        lexer.out.clear();
        if is_last {
            return Ok((total, lost));
        }
        bytes.copy_within(done..end, 0);
        kept = end - done;
    }
}

/// Goes through JSON byte by byte.
struct Lexer {
    rule: Rule,
    out: Vec<u8>,
    fillers: Fillers,
    /// By text: its number, where equal ones stay equal.
    known: Option<FxHashMap<Vec<u8>, u64>>,
    /// Brackets that are open, and the last key in each.
    open: Vec<(u8, String)>,
    /// A key comes next, where there are keys.
    is_key: bool,
    text: Vec<u8>,
    is_text: bool,
    is_escaped: bool,
    has_other_events: bool,
}

impl Lexer {
    fn new(rule: Rule) -> Self {
        Lexer {
            rule,
            out: Vec::new(),
            fillers: Fillers::default(),
            known: None,
            open: Vec::new(),
            is_key: false,
            text: Vec::new(),
            is_text: false,
            is_escaped: false,
            has_other_events: false,
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.is_text {
            if byte == b'"' && !self.is_escaped {
                return self.end_text();
            }
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return self.text.push(byte);
        }
        match byte {
            b'"' => return self.is_text = true,
            b'{' | b'[' => {
                // A list has the key that it is the value of.
                let key = self.open.last().map_or(String::new(), |(_, key)| key.clone());
                self.open.push((byte, key));
                self.is_key = byte == b'{';
            }
            b'}' | b']' => {
                self.open.pop();
                self.is_key = false;
            }
            b',' => self.is_key = self.open.last().is_some_and(|(bracket, _)| *bracket == b'{'),
            b':' => self.is_key = false,
            b'1'..=b'9' if self.open.last().is_some_and(|(_, key)| key == "value") => return self.out.push(b'0'),
            b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' | b' ' | b'\t' | b'\r' | b'\n' => {}
            // true, false and null
            b't' | b'r' | b'u' | b'f' | b'a' | b'l' | b's' | b'n' => {}
            _ => return self.out.push(b'0'),
        }
        self.out.push(byte);
    }

    fn fate(&self) -> Fate {
        let top = self.open.first().filter(|(bracket, _)| *bracket == b'{').map_or("", |(_, key)| key);
        (self.rule)(top, self.open.last().map_or("", |(_, key)| key))
    }

    fn end_text(&mut self) {
        (self.is_text, self.is_escaped) = (false, false);
        let raw = std::mem::take(&mut self.text);
        let mut text = Vec::new();
        unescape(&raw, &mut text);
        let plain = String::from_utf8_lossy(&text);
        let stays = match self.is_key {
            true => {
                if let Some((_, key)) = self.open.last_mut() {
                    *key = plain.clone().into_owned();
                }
                // Below what goes keys may be anything.
                self.open.len() < 2 && is_identifier(&plain)
                    || self.open.len() > 1 && self.fate_of_object() != Fate::Goes
            }
            false => match self.fate() {
                Fate::Stays => true,
                Fate::StaysAsName => is_name(&plain),
                Fate::Goes => false,
                Fate::Categories => {
                    let is_of_memory =
                        |name: &str| ["__metadata", "disabled-by-default-memory-infra"].contains(&name.trim());
                    self.has_other_events |= !plain.split(',').all(is_of_memory);
                    true
                }
            },
        };
        self.out.push(b'"');
        let start = self.out.len();
        if stays {
            self.out.extend_from_slice(&raw);
            hide_users(&mut self.out[start..]);
        } else {
            let units = plain.encode_utf16().count();
            match &mut self.known {
                Some(known) => {
                    let next = known.len() as u64;
                    let number = *known.entry(text.clone()).or_insert(next);
                    Fillers::append_number(number, units, &mut self.out);
                }
                None => self.fillers.append(units, &mut self.out),
            }
        }
        self.out.push(b'"');
    }

    /// The fate of what is in the object at hand.
    fn fate_of_object(&self) -> Fate {
        let top = self.open.first().filter(|(bracket, _)| *bracket == b'{').map_or("", |(_, key)| key);
        let above = self.open.len().checked_sub(2).and_then(|at| self.open.get(at));
        (self.rule)(top, above.map_or("", |(_, key)| key))
    }
}

/// `.next`, `count`, `[12]`, and dotted names.
fn is_name(text: &str) -> bool {
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
        let copied = copy(&mut source, format, keeps_equality, &mut out).expect("JSON");
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
        let file = "{\"heapgraph\":1,\"process\":4711}\n{\"id\":7,\"type\":\"a.B\",\"refs\":[1],\"names\":[\"next\",\"a key\",\"[1]\"],\"text\":\"x\"}\n";
        let copy = copied("heapgraph", file, false).expect("copied");
        assert!(copy.contains("[\"next\",\"0000") && copy.contains("\"[1]\"],\"text\":\"0\""), "{copy}");
    }

    #[test]
    fn traces_lose_what_tells_of_the_process_and_may_have_no_other_events() {
        let file = "{\"metadata\":{\"command_line\":\"chrome --a=b\"},\"traceEvents\":[{\"cat\":\"__metadata\",\"name\":\
                    \"process_labels\",\"args\":{\"labels\":\"My mails\"}}]}";
        let copy = copied("memory-infra", file, false).expect("copied");
        assert!(copy.contains("process_labels") && !copy.contains("chrome") && !copy.contains("mails"), "{copy}");
        let other = file.replace("__metadata", "__metadata,netlog");
        assert!(copied("memory-infra", &other, false).expect_err("refused").contains("other events"));
    }
}
