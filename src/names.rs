//! Names fitted to a width: of references, types, texts and paths of files, as tables, trees, paths, the browser and the
//! page show them.
//!
//! The name of a reference and the simple name of a type are never cut. What gives way, in this order: packages of types,
//! from the left, by whole segments; the package of the class in the name of a reference; the middle of keys, texts and
//! paths of files; figures, by their order; at last the name takes a second line.

use std::borrow::Cow;
use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a key, a text or the path of a file keeps.
const MIN_TEXT_COLUMNS: usize = 30;
/// Lines that a name takes at most; the middle of a longer one is left out.
const MAX_NAME_LINES: usize = 8;
/// Columns that a further line has at least.
const MIN_LINE_COLUMNS: usize = 6;
/// Between a reference and what it leads to, an id and its type.
const COLUMN_GAP: &str = "  ";

/// Columns that a text takes on a terminal: letters of some scripts take two.
pub fn display_columns(text: &str) -> usize {
    text.width()
}

/// As much of the start of a text as there is room for.
pub fn text_start(text: &str, room: usize) -> &str {
    let mut width = 0;
    let end = text.char_indices().find(|(_, c)| {
        width += c.width().unwrap_or(1);
        width > room
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// As much of the end of a text as there is room for.
fn text_end(text: &str, room: usize) -> &str {
    let mut width = 0;
    let before = text.char_indices().rev().find(|(_, c)| {
        width += c.width().unwrap_or(1);
        width > room
    });
    &text[before.map_or(0, |(at, c)| at + c.len_utf8())..]
}

/// A text without its middle, so that `room` columns are enough (3 at least): both ends tell more.
pub fn shorten_middle(text: &str, room: usize) -> String {
    if display_columns(text) <= room {
        return text.to_string();
    }
    let room = room.max(3);
    let front = (room - 1) / 2;
    let (start, end) = (text_start(text, front), text_end(text, room - 1 - front));
    // What was cut before brings its mark.
    format!("{}…{}", start.trim_end_matches('…'), end.trim_start_matches('…'))
}

/// A text that is longer than all lines of this width without its middle, cut between words; others whole.
pub fn cut_to_max_lines(text: &str, width: usize) -> Cow<'_, str> {
    shorten_between_words(text, MAX_NAME_LINES * width.max(MIN_TEXT_COLUMNS))
}

/// A text of more than `room` columns without its middle, cut between words; others whole.
pub fn shorten_between_words(text: &str, room: usize) -> Cow<'_, str> {
    if display_columns(text) <= room {
        return text.into();
    }
    let (start, end) = (text_start(text, room / 2), text_end(text, room / 2 - 1));
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |cut: &'_ str, words: &'_ str| if words.is_empty() { cut.len() } else { words.len() };
    let start = &start[..whole(start, start.trim_end_matches(is_in_word))];
    let end = &end[end.len() - whole(end, end.trim_start_matches(is_in_word))..];
    format!("{start}…{end}").into()
}

/// A name in as few of `room` columns as it takes, with whole names: packages give way, then the middle of texts. Wider
/// than the room where that is not enough. O(length).
pub fn fit_name(text: &str, room: usize) -> Cow<'_, str> {
    let mut over = display_columns(text).saturating_sub(room);
    if over == 0 {
        return text.into();
    }
    let parts = name_parts(text);
    let mut shown: Vec<Cow<'_, str>> = parts.iter().map(|(range, _)| text[range.clone()].into()).collect();
    for order in 0..3 {
        for ((range, kind), shown) in parts.iter().zip(&mut shown) {
            if over == 0 {
                break;
            }
            let part = &text[range.clone()];
            let shorter: Cow<'_, str> = match *kind {
                NamePartKind::Type { simple_name_start: simple_start } if order == 0 => {
                    shorten_package(part, simple_start, over)
                }
                NamePartKind::Member { simple_name_start: simple_start } if order == 1 => {
                    shorten_package(part, simple_start, over)
                }
                NamePartKind::Text if order == 2 => {
                    let columns = display_columns(part);
                    shorten_middle(part, columns.saturating_sub(over).max(MIN_TEXT_COLUMNS).min(columns)).into()
                }
                _ => continue,
            };
            over = over.saturating_sub(display_columns(part) - display_columns(&shorter));
            *shown = shorter;
        }
    }
    shown.concat().into()
}

/// Columns that a name takes at least.
pub fn min_name_columns(text: &str) -> usize {
    display_columns(&fit_name(text, 0))
}

/// A name in lines: the first of `first` columns, the others of `rest`, without marks where a line ends. The first is
/// empty where nothing fits into it.
pub fn name_lines(text: &str, first: usize, rest: usize) -> Vec<String> {
    let rest = rest.max(MIN_LINE_COLUMNS);
    let text = cut_to_max_lines(text, rest);
    let fitted = fit_name(&text, first);
    if display_columns(&fitted) <= first {
        return vec![fitted.into_owned()];
    }
    let (mut lines, mut room) = (vec![String::new()], first);
    for part in fitted.split(COLUMN_GAP) {
        let mut gap = COLUMN_GAP;
        // A reference that is to be broken is broken between its words.
        let words: Vec<&str> = if display_columns(part) <= rest { vec![part] } else { part.split(' ').collect() };
        for word in words {
            let line = lines.last_mut().filter(|line| {
                let before = if line.is_empty() { 0 } else { display_columns(line) + gap.len() };
                before + display_columns(word) <= room
            });
            match line {
                Some(line) if line.is_empty() => *line += word,
                Some(line) => *line = format!("{line}{gap}{word}"),
                None => {
                    room = rest;
                    lines.extend(break_word(word, rest));
                }
            }
            gap = " ";
        }
    }
    lines
}

/// A word in pieces of `room` columns at most, best behind a segment.
pub fn break_word(mut word: &str, room: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    while display_columns(word) > room {
        // A letter of two columns has no room in one.
        let end = text_start(word, room).len().max(word.chars().next().map_or(1, char::len_utf8));
        let behind = |marks: &[char]| word[..end].rfind(marks).map(|at| at + 1);
        let at = behind(&['.', ',', '<', '[', '/', ':', '$', '\\', ';']).or_else(|| behind(&['_', '-'])).unwrap_or(end);
        let (piece, rest) = word.split_at(at);
        pieces.push(piece.to_string());
        word = rest;
    }
    pieces.push(word.to_string());
    pieces
}

/// A row in lines: its start as it is, then the name, whose further lines stand below it.
pub fn row_lines(start: &str, name: &str, width: usize) -> Vec<String> {
    let before = display_columns(start);
    // Below the name, but never without room for a long one.
    let indent = before.min(width / 2);
    let lines = name_lines(name, width.saturating_sub(before), width.saturating_sub(indent));
    let indented = lines.iter().enumerate().map(|(at, line)| match at {
        0 => format!("{start}{line}").trim_end().to_string(),
        _ => format!("{:indent$}{line}", ""),
    });
    indented.collect()
}

/// A figure beside names: how wide its column is, and when it gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FigureWidth {
    /// Columns, with the gap before the next.
    pub columns: usize,
    /// Where there is no room for all, those with the highest number go first; 0 stays.
    pub hide_priority: u8,
}

/// The figures that a line of `width` has room for beside `others` columns, by their places.
pub fn shown_figure_indices(figures: &[FigureWidth], others: usize, width: usize) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..figures.len()).collect();
    let columns = |shown: &[usize]| shown.iter().map(|at| figures[*at].columns).sum::<usize>();
    while columns(&shown) + others > width
        && let Some(last) = shown.iter().map(|at| figures[*at].hide_priority).max().filter(|last| *last > 0)
    {
        shown.retain(|at| figures[*at].hide_priority < last);
    }
    shown
}

/// What may go of a part of a name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NamePartKind {
    /// A type: all before its simple name.
    Type { simple_name_start: usize },
    /// A member of a class: all before the simple name of that.
    Member { simple_name_start: usize },
    /// A key, a text, the path of a file: its middle.
    Text,
    /// Nothing.
    Uncuttable,
}

/// Words before a member that stands behind its class.
const MEMBER_PREFIXES: [&str; 4] = ["static ", "static field ", "local of ", " of method "];

/// The parts of a name.
fn name_parts(text: &str) -> Vec<(Range<usize>, NamePartKind)> {
    let is_in_name = |c: char| c.is_alphanumeric() || "._$`+/@".contains(c);
    let (mut parts, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let rest = &text[at..];
        let word = &rest[..rest.find(' ').unwrap_or(rest.len())];
        let (length, kind) = if rest.starts_with('"') {
            (quote_end(rest), NamePartKind::Text)
        } else if word.starts_with('/') || word.contains("://") || word.get(1..3) == Some(":\\") {
            (word.len(), NamePartKind::Text)
        } else {
            let name = &rest[..rest.find(|c| !is_in_name(c)).unwrap_or(rest.len())];
            match name.len() {
                0 => (rest.find(|c| is_in_name(c) || c == '"').unwrap_or(rest.len()), NamePartKind::Uncuttable),
                length => (length, part_kind(&text[..at], name, &rest[length..])),
            }
        };
        parts.push((at..at + length, kind));
        at += length;
    }
    parts
}

/// The end of a text in quotes, or of all where it has none.
fn quote_end(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text[1..].find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Kind of a part, by the words around it.
fn part_kind(before: &str, name: &str, after: &str) -> NamePartKind {
    let mut starts = name.match_indices('.').map(|(at, _)| at + 1);
    let is_member = MEMBER_PREFIXES.iter().any(|words| before.ends_with(words))
        || after.starts_with('(')
        || after.starts_with(" (");
    if is_member {
        let simple_start = starts.rev().nth(1).unwrap_or(0);
        return NamePartKind::Member { simple_name_start: simple_start };
    }
    // A field has no package. A constant is one, and stands behind its class.
    let is_class = |at: &usize| !name.starts_with('.') && name[*at..].starts_with(char::is_uppercase);
    let Some(simple_start) = starts.rfind(is_class) else { return NamePartKind::Uncuttable };
    let is_constant = !name[simple_start..].contains(char::is_lowercase);
    match starts.next_back().or(Some(0)).filter(is_class).filter(|_| is_constant) {
        Some(simple_start) => NamePartKind::Member { simple_name_start: simple_start },
        None => NamePartKind::Type { simple_name_start: simple_start },
    }
}

/// A name without the segments before its simple one, or as many of them as bring it `columns_over` columns down.
fn shorten_package(name: &str, simple_start: usize, columns_over: usize) -> Cow<'_, str> {
    let starts = name.match_indices(['.', '/']).map(|(at, _)| at + 1).take_while(|at| *at < simple_start);
    // The mark takes one.
    match starts.into_iter().find(|at| display_columns(&name[..*at]) > columns_over) {
        Some(at) => format!("…{}", &name[at..]).into(),
        None => name[simple_start..].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_segments_go_from_the_front_and_simple_names_stay() {
        let name = "System.Collections.Generic.List<Demo.Model.Tree>";
        for (room, expected) in [
            (48, name),
            (47, "…Collections.Generic.List<Demo.Model.Tree>"),
            (41, "…Generic.List<Demo.Model.Tree>"),
            (29, "List<Demo.Model.Tree>"),
            (20, "List<…Model.Tree>"),
            (16, "List<Tree>"),
            (3, "List<Tree>"),
        ] {
            assert_eq!(fit_name(name, room), expected, "{room}");
        }
        assert_eq!(fit_name("com.google.common.cache.LocalCache$Segment[]", 9), "LocalCache$Segment[]");
        assert_eq!(fit_name("java.lang.invoke.LambdaForm$MH/0x00007fc05", 9), "LambdaForm$MH/0x00007fc05");
        assert_eq!(fit_name("github.com/acme/app/model.Order", 20), "…app/model.Order");
    }

    #[test]
    fn references_are_whole_with_their_class() {
        for (name, least) in [
            ("static org.app.Cache.entries", "static Cache.entries"),
            ("static L$PriceService.CACHE  com.google.LocalCache", "static L$PriceService.CACHE  LocalCache"),
            ("local of Demo.Program.Main (Program.cs:7)", "local of Program.Main (Program.cs:7)"),
            (".sessions  java.util.HashMap \"short\"", ".sessions  HashMap \"short\""),
            (".TRANSFORM_NAMES  a.b.C$D", ".TRANSFORM_NAMES  C$D"),
            ("a.b.Factory.TRANSFORM_NAMES", "Factory.TRANSFORM_NAMES"),
            ("a.b.Axis.CACHE  a.net.URL", "Axis.CACHE  URL"),
            ("a.b.Axis.X", "Axis.X"),
            ("{7}, .next, ...  (array)", "{7}, .next, ...  (array)"),
            ("drop (sync.cc:42) of a_very_long_name_indeed", "drop (sync.cc:42) of a_very_long_name_indeed"),
            ("java.lang.only.lowercase.names", "java.lang.only.lowercase.names"),
        ] {
            assert_eq!(fit_name(name, 0), least);
        }
        // The type's package goes first.
        assert_eq!(fit_name("static org.app.Cache.entries  org.app.Entry", 37), "static org.app.Cache.entries  Entry");
    }

    #[test]
    fn texts_lose_their_middle_last_and_keep_thirty_columns() {
        let text = format!("Map[\"{}\"]  org.app.Entry", "0123456789".repeat(5));
        assert_eq!(fit_name(&text, 50), "Map[\"01234567890123456…234567890123456789\"]  Entry");
        assert_eq!(fit_name(&text, 0), "Map[\"0123456789012…67890123456789\"]  Entry");
        assert_eq!(fit_name("\"twenty-nine columns, no more\"", 3), "\"twenty-nine columns, no more\"");
        assert!(min_name_columns(&format!("/{}", "folder/".repeat(20))) == MIN_TEXT_COLUMNS);
    }

    #[test]
    fn what_has_no_room_takes_another_line_and_nothing_is_lost() {
        let name = "static L$PriceService.CACHE  com.google.LocalCache$LocalManualCache";
        assert_eq!(name_lines(name, 30, 40), ["static L$PriceService.CACHE", "LocalCache$LocalManualCache"]);
        assert_eq!(row_lines("  0x1f  ", name, 36)[1], "        LocalCache$LocalManualCache");
        assert_eq!(
            name_lines("Outer$Inner$AndOneMoreInnerName", 5, 16),
            ["", "Outer$Inner$", "AndOneMoreInnerN", "ame"]
        );
        let texts = [
            "a.B c.D.E[f.g.H, i.J] übergroß.Straße.Öl<x.Y>$z.W",
            ".名前  app.缓存.条目 \"一二三四五六七八九十\"",
            "한국어",
        ];
        for (text, room) in texts.iter().flat_map(|text| (15..60).map(move |room| (text, room))) {
            let lines = name_lines(text, room / 2, room);
            assert!(lines.iter().all(|line| display_columns(line) <= room), "{text} {room}: {lines:?}");
            let joined = |text: &str| text.replace(' ', "");
            assert!(joined(&lines.concat()).ends_with(joined(&fit_name(text, 0)).chars().last().unwrap()), "{lines:?}");
        }
        assert!(name_lines(&"x".repeat(1 << 20), 30, 30).len() <= MAX_NAME_LINES + 1);
        let nested = format!("{}{}", "a::Table<b::Traits<".repeat(40), ">>".repeat(40));
        let cut = cut_to_max_lines(&nested, 40);
        let words = cut.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        assert!(words.into_iter().all(|word| ["a", "b", "Table", "Traits"].contains(&word)), "{cut}");
        assert!((display_columns(&nested) > 320) & (display_columns(&cut) <= 320), "{cut}");
    }

    #[test]
    fn figures_go_by_their_order() {
        let figures =
            [(10, 0), (8, 2), (10, 3), (9, 1)].map(|(columns, hide_priority)| FigureWidth { columns, hide_priority });
        let shown = |width| shown_figure_indices(&figures, 40, width);
        assert_eq!(
            [shown(80), shown(76), shown(60), shown(50), shown(20)],
            [vec![0, 1, 2, 3], vec![0, 1, 3], vec![0, 3], vec![0], vec![0]]
        );
    }
}
