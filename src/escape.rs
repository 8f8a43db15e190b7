//! Escaping of text in each output form. Names come from dumps, files and arguments: none may steer a terminal or
//! show less than it holds. `docs/escaping.md` says the same for users.
//!
//! | form | control-like characters | besides |
//! | --- | --- | --- |
//! | tables, pipes, csv, tsv, sentences, error messages | `\u{1b}` | quotes in csv and tsv, by the csv crate |
//! | Markdown | `\u{1b}` | [`escape_markdown`] in paragraphs, [`code_span`] in tables |
//! | JSON, memory-infra | `\u001b`, in two halves from U+10000 on | what JSON itself escapes |
//! | folded, flame graph | `\u{1b}` | [`escape_folded_frame`]; XML by inferno |
//! | dot | `\u{1b}` | [`escape_dot_label_text`]; quotes by petgraph |

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// Control-like characters as `\u{1b}`, the rest as it is.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if is_plain_ascii(text) || !text.chars().any(is_control_like) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for ch in text.chars() {
        if is_control_like(ch) {
            escaped.extend(ch.escape_unicode());
        } else {
            escaped.push(ch);
        }
    }
    escaped.into()
}

/// Returns true for the common case: printable ASCII alone, in which nothing is to be escaped.
fn is_plain_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Characters that steer a terminal, turn the direction of text, end a line, or show nothing at all: C0, DEL, C1, line
/// and paragraph separators, what Unicode calls default-ignorable (bidirectional controls, joiners, fillers, variation
/// selectors and tags are among them), and interlinear annotations.
pub fn is_control_like(ch: char) -> bool {
    ch.is_control()
        || matches!(
            ch,
            '\u{AD}' // soft hyphen
                | '\u{34F}' // combining grapheme joiner
                | '\u{61C}' // Arabic letter mark
                | '\u{115F}'..='\u{1160}' // Hangul fillers
                | '\u{17B4}'..='\u{17B5}' // Khmer inherent vowels
                | '\u{180B}'..='\u{180F}' // Mongolian variation selectors, vowel separator
                | '\u{200B}'..='\u{200F}' // zero-width space and joiners, direction marks
                | '\u{2028}'..='\u{202E}' // line and paragraph separator, embeddings and overrides of direction
                | '\u{2060}'..='\u{206F}' // word joiner, invisible operators, isolates of direction
                | '\u{3164}' // Hangul filler
                | '\u{FE00}'..='\u{FE0F}' // variation selectors
                | '\u{FEFF}' // byte order mark
                | '\u{FFA0}' // halfwidth Hangul filler
                | '\u{FFF0}'..='\u{FFFB}' // unassigned, and interlinear annotations
                | '\u{1BCA0}'..='\u{1BCA3}' // shorthand format controls
                | '\u{1D173}'..='\u{1D17A}' // musical beams and slurs
                | '\u{E0000}'..='\u{E0FFF}' // tags, variation selectors supplement
        )
}

/// A frame of folded stacks: a semicolon would end it.
pub fn escape_folded_frame(text: &str) -> String {
    escape_controls(text).replace(';', ",")
}

/// A line of a label in Graphviz, which reads character references there.
pub fn escape_dot_label_text(text: &str) -> String {
    escape_controls(text).replace('&', "&amp;")
}

/// Words of a Markdown paragraph: what has a meaning there gets a backslash.
pub fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for ch in escape_controls(text).chars() {
        if matches!(ch, '\\' | '`' | '*' | '_' | '<' | '[' | '|' | '&' | '~') {
            escaped.push('\\');
        }
        escaped.push(ch);
    }
    escaped
}

/// A code span in a Markdown table, where only the bar and the fence itself have a meaning: the fence is longer than any
/// run of back ticks in the text.
pub(crate) fn code_span(text: &str) -> String {
    let longest = text.split(|ch| ch != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", escape_controls(text).replace('|', "\\|"))
}

/// Compact JSON with every control-like character as `\u` escapes. Error: when `out` cannot be written to.
pub(crate) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    Ok(value.serialize(&mut json_serializer(out))?)
}

/// A value as compact JSON text, escaped as JSON output is; `null` where it has no JSON form.
pub fn json_text(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    // Only a map with keys that are no strings fails, and a vector takes all bytes.
    match write_json(value, &mut text) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => "null".into(),
    }
}

/// The serializer behind [`write_json`], for values that are streamed.
pub(crate) fn json_serializer<W: Write>(out: W) -> serde_json::Serializer<W, EscapingFormatter> {
    serde_json::Serializer::with_formatter(out, EscapingFormatter)
}

/// Compact JSON in which the control-like characters that JSON itself would let through are escaped too.
pub(crate) struct EscapingFormatter;

impl Formatter for EscapingFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if is_plain_ascii(fragment) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut from = 0;
        for (at, ch) in fragment.char_indices().filter(|&(_, ch)| is_control_like(ch)) {
            writer.write_all(&fragment.as_bytes()[from..at])?;
            for unit in ch.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            from = at + ch.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[from..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_text() {
        assert_eq!(escape_controls("Evil\u{1b}[31mRed\n\u{9b}\u{202e}"), "Evil\\u{1b}[31mRed\\u{a}\\u{9b}\\u{202e}");
        assert_eq!(
            escape_controls("a\u{ad}b\u{200b}\u{e0041}\u{fe0f}\u{7f}"),
            r"a\u{ad}b\u{200b}\u{e0041}\u{fe0f}\u{7f}"
        );
        assert_eq!(escape_controls("Spiel.Größe<日本>"), "Spiel.Größe<日本>");
    }

    #[test]
    fn json_stays_json_and_shows_every_character() {
        let name = "\u{1b}\u{7f}\u{9b}\u{ad}\u{200b}\u{202e}\u{feff}\u{e0041}\"ü";
        let mut out = Vec::new();
        write_json(&name, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, r#""\u001b\u007f\u009b\u00ad\u200b\u202e\ufeff\udb40\udc41\"ü""#);
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), name);
    }

    #[test]
    fn no_text_ends_its_frame_or_span() {
        assert_eq!(escape_folded_frame("A;B\n"), "A,B\\u{a}");
        assert_eq!(escape_dot_label_text("A&#8238;\u{202e}"), "A&amp;#8238;\\u{202e}");
        assert_eq!(escape_markdown("[A_B]&#8238;`\u{1b}"), "\\[A\\_B]\\&#8238;\\`\\\\u{1b}");
        assert_eq!(code_span("A|B"), "`A\\|B`");
        assert_eq!(code_span("A``B`C"), "``` A``B`C ```");
        assert_eq!(code_span("A`B"), "`` A`B ``");
    }
}
