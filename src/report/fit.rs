//! Fits rows and sentences to a terminal.

use super::{Style, escape_controls};
use crate::names::{FigureWidth, break_word, display_columns, row_lines, shown_figure_indices};

impl Style {
    /// A row: its start as it is, figures, and a name; in lines where one has no room for the name. On a terminal whose
    /// half is not enough for start and figures these go, the first ones first; what `start` is long decides that alone,
    /// so that rows below each other have the same ones.
    pub fn fitted_row(&self, start: &str, figures: &[String], name: &str) -> String {
        let name = escape_controls(name);
        let priorities = (1..=figures.len() as u8).rev();
        let widths = figures.iter().map(|figure| display_columns(figure) + 2).zip(priorities);
        let widths: Vec<_> = widths.map(|(columns, hide_priority)| FigureWidth { columns, hide_priority }).collect();
        let shown = match self.is_terminal {
            true => shown_figure_indices(&widths, display_columns(start) + self.width / 2, self.width),
            false => (0..figures.len()).collect(),
        };
        let figures: String = shown.into_iter().map(|at| format!("{}  ", figures[at])).collect();
        match self.is_terminal {
            true => row_lines(&format!("{start}{figures}"), &name, self.width).join("\n"),
            false => format!("{start}{figures}{name}"),
        }
    }
}

/// Says which columns a terminal is too narrow for, in their order.
pub(super) fn hidden_columns_note(titles: &[String]) -> String {
    const MAX_NAMED_COLUMNS: usize = 4;
    let count = super::count_with_noun(titles.len() as u64, "more columns");
    let names = match titles {
        [first, second, .., last] if titles.len() > MAX_NAMED_COLUMNS => format!("{first}, {second}, ... {last}"),
        _ => titles.join(", "),
    };
    format!("{count} ({names}) on a wider terminal, or with -f csv")
}

/// The same text with blanks where words longer than the room may be broken, best behind a segment of a name. Words that
/// are copied stay whole: paths and quoted patterns, unless `all` is set.
pub(super) fn with_breaks(text: &str, room: usize, all: bool) -> String {
    let is_whole = |word: &str| {
        display_columns(word) <= room.max(3) || word.contains('\x1b') || !all && word.contains(['/', '\'', '\\'])
    };
    let broken = |word: &str| break_word(word, room.max(3)).join(" ");
    let words: Vec<String> =
        text.split(' ').map(|word| if is_whole(word) { word.to_string() } else { broken(word) }).collect();
    words.join(" ")
}

/// Lines are broken at blanks alone: words are names.
pub(super) fn wrap_options<'o>(width: usize) -> textwrap::Options<'o> {
    textwrap::Options::new(width)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
}

/// A sentence in lines of a terminal of that width.
pub fn wrap_sentence(text: &str, width: usize) -> String {
    textwrap::fill(text, wrap_options(width).subsequent_indent("  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(terminal: bool, width: usize) -> Style {
        Style { is_terminal: terminal, width, has_human_sizes: true, ..Style::PLAIN }
    }

    #[test]
    fn figures_go_and_then_the_name_takes_another_line() {
        let figures = ["      24 B".to_string(), "   100 KiB".to_string()];
        let row =
            |terminal, width| style(terminal, width).fitted_row("  0x1f  ", &figures, ".cache  org.app.Cache$Entry");
        assert_eq!(row(true, 70), "  0x1f        24 B     100 KiB  .cache  org.app.Cache$Entry");
        assert_eq!(row(true, 50), "  0x1f     100 KiB  .cache  org.app.Cache$Entry");
        assert_eq!(row(true, 40), "  0x1f     100 KiB  .cache  Cache$Entry");
        assert_eq!(row(true, 25), "  0x1f  .cache\n        Cache$Entry");
        assert_eq!(row(false, 26), row(true, 70), "a pipe has all");
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
        assert_eq!(hidden_columns_note(&titles(1)), "1 more column (t0) on a wider terminal, or with -f csv");
        assert!(hidden_columns_note(&titles(30)).starts_with("30 more columns (t0, t1, ... t29) on"));
    }
}
