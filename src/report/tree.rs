//! Trees for people: a line for each row, indented as deep as it is, figures before it.

use std::io::{self, Write};

use super::fit::{hidden_columns, wrap_sentence};
use super::width::{READABLE, columns_of};
use super::{Style, format_count};

/// A tree on a terminal. Rows are made one by one.
pub struct Outline<'a> {
    /// Title and width of each figure.
    pub figures: Vec<(&'static str, usize)>,
    /// Blanks between figures.
    pub gap: usize,
    /// The title of the rows.
    pub title: &'static str,
    /// Write the titles.
    pub header: bool,
    /// Levels above the deepest row.
    pub deepest: usize,
    /// Number of rows.
    pub row_count: usize,
    /// The options that show all rows, where some were left out.
    pub options_for_all: &'static str,
    /// Gives a row.
    pub row: Box<dyn Fn(usize) -> OutlineRow + 'a>,
}

/// A line of the tree.
#[derive(Debug, Clone, Default)]
pub struct OutlineRow {
    /// Levels above it; at most one more than the row before.
    pub depth: usize,
    /// Rows of its level that were left out after it: a line of their own says so.
    pub hidden_after: u64,
    /// Their figures together, one for each title; none where they are not known.
    pub hidden_figures: Vec<String>,
    /// The figures, one for each title.
    pub figures: Vec<String>,
    /// Text before the name, as it is.
    pub start: String,
    /// The name; shortened to what the line has left.
    pub name: String,
    /// Text behind the name, as it is.
    pub end: String,
}

/// Levels for which figures are left out.
const LEVELS_WANTED: usize = 4;
/// Columns of a size for people, such as `1023.9 MiB`.
const SIZE_WIDTH: usize = 10;
/// Characters that a name keeps at least where all levels are indented.
const SHORTEST_NAME: usize = 12;

/// Columns for sizes that are at most `largest_bytes`.
pub fn width_of_sizes(largest_bytes: u64, style: &Style) -> usize {
    columns_of(&style.size(largest_bytes)).max(SIZE_WIDTH)
}

/// Parts of a row that a terminal has room for.
struct OutlineLayout {
    /// Figures that are shown: the first ones.
    figures: usize,
    /// Columns that they take.
    width: usize,
    /// Texts before names are shown.
    with_start: bool,
    /// Rows deeper than this are indented as this deep, and say how deep they are.
    max_level: usize,
}

impl Outline<'_> {
    fn figures<'f>(&self, texts: impl Iterator<Item = &'f str>) -> String {
        let mut line = String::new();
        for (place, (text, (_, width))) in texts.zip(&self.figures).enumerate() {
            let gap = if place > 0 { self.gap } else { 0 };
            line += &format!("{:gap$}{text:>width$}", "");
        }
        line
    }

    fn width_of(&self, figures: usize) -> usize {
        self.gap * figures.saturating_sub(1) + self.figures[..figures].iter().map(|(_, width)| width).sum::<usize>()
    }

    /// On a narrow terminal figures are left out, the last ones first but never the first one, then what stands before
    /// names, then indentation.
    fn layout(&self, style: &Style) -> OutlineLayout {
        let start = if self.row_count > 0 { columns_of(&(self.row)(0).start) } else { 0 };
        let wanted = 2 * self.deepest.min(LEVELS_WANTED);
        let (mut figures, mut with_start) = (self.figures.len(), start > 0);
        let before = |figures: usize, with_start: bool| self.width_of(figures) + 2 + if with_start { start } else { 0 };
        while figures > 1 && before(figures, with_start) + wanted + READABLE > style.width {
            figures -= 1;
        }
        with_start = with_start && before(figures, true) + wanted + SHORTEST_NAME <= style.width;
        let levels = |name: usize| style.width.saturating_sub(before(figures, with_start) + name) / 2;
        let max_level = match levels(SHORTEST_NAME) {
            all if all >= self.deepest => self.deepest,
            most => levels(READABLE).max(most.min(LEVELS_WANTED)),
        };
        OutlineLayout { figures, width: self.width_of(figures), with_start, max_level }
    }

    /// Ends the levels below `depth`, with a line for each that was cut.
    fn close(
        &self,
        hidden: &mut Vec<HiddenRows>,
        depth: usize,
        layout: &OutlineLayout,
        out: &mut dyn Write,
        style: &Style,
    ) -> io::Result<()> {
        while hidden.len() > depth {
            let Some((count, figures)) = hidden.pop().filter(|(count, _)| *count > 0) else { continue };
            let level = hidden.len();
            let deep = if level > layout.max_level { format!("({level}) ") } else { String::new() };
            let count = format!("{deep}{} more", format_count(count));
            let text = match format!("{count}; {} shows all", self.options_for_all) {
                text if text.len() <= style.width => text,
                _ => count,
            };
            let figures = self.figures(figures.iter().take(layout.figures).map(String::as_str));
            // Where there is no room for both, the sums go.
            let figures = if figures.len() + 2 + text.len() > style.width { "" } else { &figures };
            let indent = layout.width + 2 + 2 * level.min(layout.max_level);
            let indent = indent.min(style.width.saturating_sub(text.len())).saturating_sub(figures.len());
            writeln!(out, "{figures}{:indent$}{text}", "")?;
        }
        Ok(())
    }
}

/// Rows that were left out at the end of a level: how many, and their figures together.
type HiddenRows = (u64, Vec<String>);

pub(super) fn write(tree: &Outline<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let layout = tree.layout(style);
    if tree.header {
        let titles = tree.figures[..layout.figures].iter().map(|(title, _)| *title);
        writeln!(out, "{}  {}", tree.figures(titles), tree.title)?;
    }
    // By depth: what was left out at the end of the levels that are open.
    let mut hidden: Vec<HiddenRows> = Vec::new();
    for row in (0..tree.row_count).map(&tree.row) {
        tree.close(&mut hidden, row.depth + 1, &layout, out, style)?;
        let start = format!(
            "{}{:indent$}{}{}",
            tree.figures(row.figures.iter().take(layout.figures).map(String::as_str)),
            "",
            if row.depth > layout.max_level { format!("({}) ", row.depth) } else { String::new() },
            if layout.with_start { row.start } else { String::new() },
            indent = 2 + 2 * row.depth.min(layout.max_level)
        );
        let before = columns_of(&start);
        let name = match before + columns_of(&row.end) {
            // Cut as one where there is no room for both.
            width if width + SHORTEST_NAME / 2 > style.width => style.fit(before, &format!("{}{}", row.name, row.end)),
            width => style.fit(width, &row.name) + &row.end,
        };
        writeln!(out, "{start}{name}")?;
        hidden.resize(row.depth + 1, HiddenRows::default());
        hidden[row.depth] = (row.hidden_after, row.hidden_figures);
    }
    tree.close(&mut hidden, 0, &layout, out, style)?;
    let mut notes = Vec::new();
    if tree.deepest > layout.max_level {
        notes.push("(N): a row N levels down, too deep to be indented on this terminal".to_string());
    }
    let mut titles: Vec<String> = tree.figures[layout.figures..].iter().map(|(title, _)| title.to_string()).collect();
    titles.extend(
        (!layout.with_start && tree.row_count > 0 && !(tree.row)(0).start.is_empty()).then(|| "id".to_string()),
    );
    if !titles.is_empty() {
        notes.push(hidden_columns(&titles));
    }
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "{}", wrap_sentence(note, style.width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_indented_and_what_was_cut_stands_at_the_end_of_its_level() {
        let rows = [(0, 0, "a"), (1, 3, "b"), (2, 1, "c"), (0, 2, "d")];
        let tree = Outline {
            figures: vec![("bytes", 5), ("n", 3)],
            gap: 1,
            title: "object",
            header: true,
            deepest: 2,
            row_count: rows.len(),
            options_for_all: "-n 0",
            row: Box::new(|at| {
                let (depth, hidden_after, name) = rows[at];
                let figures = vec![at.to_string(), "x".into()];
                OutlineRow { depth, hidden_after, figures, name: name.into(), ..OutlineRow::default() }
            }),
        };
        let style = Style { terminal: true, ..Style::PLAIN };
        let mut out = Vec::new();
        write(&tree, &mut out, &style).unwrap();
        let expected = [
            "bytes   n  object",
            "    0   x  a",
            "    1   x    b",
            "    2   x      c",
            "               1 more; -n 0 shows all",
            "             3 more; -n 0 shows all",
            "    3   x  d",
            "           2 more; -n 0 shows all",
        ];
        assert_eq!(String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn on_narrow_terminals_figures_go_then_ids_then_indentation_and_it_is_said() {
        let tree = |deepest: usize| Outline {
            figures: vec![("bytes", 8), ("share", 6), ("objects", 8)],
            gap: 1,
            title: "object",
            header: true,
            deepest,
            row_count: deepest + 1,
            options_for_all: "-n 0",
            row: Box::new(move |depth| OutlineRow {
                depth,
                hidden_after: u64::from(depth == deepest),
                hidden_figures: vec!["12.5 MiB".into(), "90.0%".into(), "12,345".into()],
                figures: vec!["1.2 MiB".into(), "10.0%".into(), "1,234".into()],
                start: "0x7f2da4800010  ".into(),
                name: "org.app.persistence.CacheEntry".into(),
                ..OutlineRow::default()
            }),
        };
        let text = |deepest: usize, width: usize| {
            let style = Style { terminal: true, width, human: true, ..Style::PLAIN };
            let mut out = Vec::new();
            write(&tree(deepest), &mut out, &style).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{deepest} at {width}\n{text}");
            text
        };
        let has = |deepest: usize, width: usize, parts: &[&str], without: &[&str]| {
            let text = text(deepest, width);
            let is_right =
                parts.iter().all(|part| text.contains(part)) && !without.iter().any(|part| text.contains(part));
            assert!(is_right, "{deepest} at {width}\n{text}");
        };
        has(1, 120, &["objects", "0x7f2da4800010  org.app.persistence.CacheEntry"], &["more column", "(1)"]);
        has(1, 120, &["12.5 MiB  90.0%   12,345    1 more; -n 0 shows all"], &[]);
        has(0, 30, &["1 more; -n 0 shows all"], &["12.5 MiB"]);
        has(4, 69, &["1 more column (objects)", "0x7f2da4800010", "share"], &["(4)"]);
        has(4, 56, &["2 more columns (share, objects)", "0x7f2da4800010", "…CacheEntry"], &["(4)"]);
        has(4, 40, &["3 more columns (share, objects, id)", "…CacheEntry"], &["0x7f", "(4)"]);
        has(40, 40, &["(40) 1 more; -n 0 shows all", "\n\n(N): a row N"], &[]);
        has(40, 80, &["(40) 0x7f", "(40) 0x7f2da4800010  …", "(N): a row N levels down", "1 more;"], &["(3)"]);
        for (deepest, width) in (0..60).flat_map(|deepest| (30..130).map(move |width| (deepest, width))) {
            text(deepest, width);
        }
    }
}
