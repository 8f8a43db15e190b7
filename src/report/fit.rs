//! Fits lines to a terminal: figures go, in a stated order, before names are cut beyond recognition.

use super::names::shorten_name;
use super::width::{READABLE, columns_of, start_of, without_middle};
use super::{Style, escape_controls};

impl Style {
    /// A type name (or other text with names) shortened to what `before` leaves of a terminal's line.
    pub fn fit(&self, before: usize, text: &str) -> String {
        if !self.terminal {
            return escape_controls(text).into();
        }
        let room = self.width.saturating_sub(before).max(3);
        shorten_name(&escape_controls(&without_middle(text, room)), room)
    }

    /// A line: its start as it is, figures, and a name with what the line has left. On a terminal without room for 20
    /// characters of the name figures are left out, the first ones first; what `start` is long decides that alone, so
    /// that lines below each other have the same ones.
    pub fn line(&self, start: &str, figures: &[String], name: &str) -> String {
        let mut shown = figures;
        let width =
            |figures: &[String]| columns_of(start) + figures.iter().map(|figure| columns_of(figure) + 2).sum::<usize>();
        while let Some((_, rest)) =
            shown.split_first().filter(|_| self.terminal && width(shown) + READABLE > self.width)
        {
            shown = rest;
        }
        let figures: String = shown.iter().map(|figure| format!("{figure}  ")).collect();
        format!("{start}{figures}{}", self.fit(width(shown), name))
    }
}

/// Says which columns a terminal is too narrow for, in their order.
pub(super) fn hidden_columns(titles: &[String]) -> String {
    const MOST: usize = 4;
    let count = super::count_of(titles.len() as u64, "more columns");
    let names = match titles {
        [first, second, .., last] if titles.len() > MOST => format!("{first}, {second}, ... {last}"),
        _ => titles.join(", "),
    };
    format!("{count} ({names}) on a wider terminal, or with -f csv")
}

/// The same text with blanks where words longer than the room may be broken, best behind a segment of a name. Words that
/// are copied stay whole: paths and quoted patterns, unless `all` is set.
pub(super) fn with_breaks(text: &str, room: usize, all: bool) -> String {
    let is_whole = |word: &str| {
        columns_of(word) <= room.max(3) || word.contains('\x1b') || !all && word.contains(['/', '\'', '\\'])
    };
    let broken = |word: &str| {
        let (mut shown, mut rest) = (String::new(), word);
        while columns_of(rest) > room.max(3) {
            let end = start_of(rest, room.max(3)).len();
            let at = rest[..end].rfind(['.', ',', '<', '[', '/', ':', '$', '\\']).map_or(end, |at| at + 1);
            shown += &rest[..at];
            shown.push(' ');
            rest = &rest[at..];
        }
        shown + rest
    };
    let words: Vec<String> =
        text.split(' ').map(|word| if is_whole(word) { word.to_string() } else { broken(word) }).collect();
    words.join(" ")
}

/// Lines are broken at blanks alone: words are names.
pub(super) fn wrapping<'o>(width: usize) -> textwrap::Options<'o> {
    textwrap::Options::new(width)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
}

/// A sentence in lines of a terminal of that width.
pub fn wrap_sentence(text: &str, width: usize) -> String {
    textwrap::fill(text, wrapping(width).subsequent_indent("  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(terminal: bool, width: usize) -> Style {
        Style { terminal, width, human: true, ..Style::PLAIN }
    }

    #[test]
    fn figures_go_in_their_order_and_then_names_are_cut() {
        let figures = ["      24 B".to_string(), "   100 KiB retained".to_string()];
        let line = |terminal, width| style(terminal, width).line("  0x1f  ", &figures, ".cache  org.app.Cache$Entry");
        assert_eq!(line(true, 80), "  0x1f        24 B     100 KiB retained  .cache  org.app.Cache$Entry");
        assert_eq!(line(true, 61), "  0x1f        24 B     100 KiB retained  .cache  …Cache$Entry");
        assert_eq!(line(true, 60), "  0x1f     100 KiB retained  .cache  org.app.Cache$Entry");
        assert_eq!(line(true, 40), "  0x1f  .cache  org.app.Cache$Entry");
        assert_eq!(line(true, 26), "  0x1f  .cache  …Cac…Entry");
        assert_eq!(line(false, 26), line(true, 80), "a pipe has all");
    }

    #[test]
    fn words_are_broken_behind_segments_and_what_is_copied_is_not() {
        let text = "One org.app.persistence.Cache (0x1f) of /tmp/a/long/path/of/a/dump.hprof";
        assert_eq!(with_breaks(text, 16, false), text.replace("app.", "app. ").replace("ence.", "ence. "));
        assert_eq!(with_breaks("/tmp/a/long/path", 6, true), "/tmp/ a/ long/ path");
        assert_eq!(with_breaks("abcdefghij", 4, false), "abcd efgh ij");
    }

    #[test]
    fn hidden_columns_have_names() {
        let titles = |count: usize| (0..count).map(|at| format!("t{at}")).collect::<Vec<_>>();
        assert_eq!(hidden_columns(&titles(1)), "1 more column (t0) on a wider terminal, or with -f csv");
        assert!(hidden_columns(&titles(30)).starts_with("30 more columns (t0, t1, ... t29) on"));
    }
}
