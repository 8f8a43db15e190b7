//! Trees for people: a line for each row, indented as deep as it is, figures before it.

use std::io::{self, Write};

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
    /// Rows deeper than this are indented as this deep.
    pub max_indent: usize,
    /// How many rows there are.
    pub row_count: usize,
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
    /// The figures, one for each title.
    pub figures: Vec<String>,
    /// What stands before the name, as it is.
    pub start: String,
    /// The name; shortened to what the line has left.
    pub name: String,
    /// What stands behind the name, as it is.
    pub end: String,
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
}

pub(super) fn write(tree: &Outline<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    if tree.header {
        writeln!(out, "{}  {}", tree.figures(tree.figures.iter().map(|(title, _)| *title)), tree.title)?;
    }
    let gaps = tree.gap * tree.figures.len().saturating_sub(1);
    let width = tree.figures.iter().map(|(_, width)| width).sum::<usize>() + gaps;
    let indent = |depth: usize| 2 + 2 * depth.min(tree.max_indent);
    // By depth: what was left out at the end of the levels that are open.
    let mut hidden: Vec<u64> = Vec::new();
    for row in (0..tree.row_count).map(&tree.row) {
        close(&mut hidden, row.depth + 1, width, out)?;
        let start = format!(
            "{}{:indent$}{}",
            tree.figures(row.figures.iter().map(String::as_str)),
            "",
            row.start,
            indent = indent(row.depth)
        );
        let name = style.fit(start.chars().count() + row.end.chars().count(), &row.name);
        writeln!(out, "{start}{name}{}", row.end)?;
        hidden.resize(row.depth + 1, 0);
        hidden[row.depth] = row.hidden_after;
    }
    close(&mut hidden, 0, width, out)
}

/// Ends the levels below `depth`, with a line for each that was cut.
fn close(hidden: &mut Vec<u64>, depth: usize, width: usize, out: &mut dyn Write) -> io::Result<()> {
    while hidden.len() > depth {
        let count = hidden.pop().unwrap_or(0);
        if count > 0 {
            let indent = width + 2 + 2 * hidden.len();
            writeln!(out, "{:indent$}{} more; -n 0 shows all", "", format_count(count))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Format;

    #[test]
    fn rows_are_indented_and_what_was_cut_stands_at_the_end_of_its_level() {
        let rows = [(0, 0, "a"), (1, 3, "b"), (2, 1, "c"), (0, 2, "d")];
        let tree = Outline {
            figures: vec![("bytes", 5), ("n", 3)],
            gap: 1,
            title: "object",
            header: true,
            max_indent: usize::MAX,
            row_count: rows.len(),
            row: Box::new(|at| {
                let (depth, hidden_after, name) = rows[at];
                let figures = vec![at.to_string(), "x".into()];
                OutlineRow { depth, hidden_after, figures, name: name.into(), ..OutlineRow::default() }
            }),
        };
        let style = Style {
            format: Format::Table,
            terminal: true,
            width: 80,
            human: false,
            header: true,
            color: false,
            ascii: false,
        };
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
}
