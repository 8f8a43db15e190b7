//! The answers of one command for several files: one below the other for people, one table with a column for the file in
//! every other form.

use super::{Cell, Column, ColumnUnit, Table};

/// One table of all: every column that any of them has, the file before the last one. The figures stay where they are
/// for one file, so that a script need not care.
pub(super) fn join_tables<'a>(tables: Vec<(&'a str, Table<'a>)>) -> Table<'a> {
    let mut columns: Vec<Column> = Vec::new();
    let mut last: Vec<Column> = Vec::new();
    for (_, table) in &tables {
        let Some((name, figures)) = table.columns.split_last() else { continue };
        for (known, new) in [(&mut columns, figures), (&mut last, std::slice::from_ref(name))] {
            for column in new {
                if known.iter().all(|known| known.key != column.key) {
                    known.push(column.clone());
                }
            }
        }
    }
    columns.push(Column::new("file", "File", ColumnUnit::Word));
    columns.extend(last);
    // Where the rows of each table end.
    let ends: Vec<usize> = tables
        .iter()
        .scan(0, |sum, (_, table)| {
            *sum += table.row_count;
            Some(*sum)
        })
        .collect();
    let row_columns = columns.clone();
    Table {
        row_count: ends.last().copied().unwrap_or(0),
        rows_hidden: tables.iter().map(|(_, table)| table.rows_hidden).sum(),
        columns,
        row_at: Box::new(move |row| {
            let place = ends.partition_point(|&end| end <= row);
            let (file, table) = &tables[place];
            let start = ends[place] - table.row_count;
            let mut cells: Vec<Option<Cell<'_>>> = (table.row_at)(row - start).into_iter().map(Some).collect();
            let cell_of = |column: &Column| match table.columns.iter().position(|own| own.key == column.key) {
                _ if column.key == "file" => Cell::text(*file),
                Some(at) => cells[at].take().unwrap_or(Cell::Missing),
                None => Cell::Missing,
            };
            row_columns.iter().map(cell_of).collect()
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;
    use crate::report::{Format, Present, Style, TextPage, write_each_answer};

    /// An answer of two rows.
    #[derive(Serialize)]
    struct TestAnswer {
        types: [TestFigure; 2],
    }

    #[derive(Serialize)]
    #[serde(untagged)]
    enum TestFigure {
        Objects { objects: u64, name: &'static str },
        Bytes { total_bytes: u64, name: &'static str },
    }

    impl Present for TestAnswer {
        const COMMAND: &'static str = "stats";

        fn table(&self, _: &Style) -> Table<'_> {
            let column = match self.types[0] {
                TestFigure::Objects { .. } => Column::new("objects", "Objects", ColumnUnit::Count),
                TestFigure::Bytes { .. } => Column::new("total_bytes", "Bytes", ColumnUnit::Bytes),
            };
            let row = |row: usize| match self.types[row] {
                TestFigure::Objects { objects: figure, name } | TestFigure::Bytes { total_bytes: figure, name } => {
                    vec![Cell::Number(figure), Cell::text(name)]
                }
            };
            let columns = vec![column, Column::new("type", "Type", ColumnUnit::Text)];
            Table { columns, row_count: 2, rows_hidden: 0, row_at: Box::new(row) }
        }

        fn write_text(&self, page: &mut TextPage<'_>) {
            page.line("sum");
        }
    }

    fn text(format: Format, terminal: bool) -> String {
        let style = Style { format, is_terminal: terminal, ..Style::PLAIN };
        let objects = [0, 1].map(|objects| TestFigure::Objects { objects, name: "A B" });
        let bytes = [70, 71].map(|total_bytes| TestFigure::Bytes { total_bytes, name: "C" });
        let answers =
            [("a b".to_string(), TestAnswer { types: objects }), ("c".to_string(), TestAnswer { types: bytes })];
        let mut out = Vec::new();
        write_each_answer(&answers, &mut out, &style).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_table_has_the_columns_of_all() {
        let expected = "objects total_bytes file  type\n\
                        \x20     0           - a b   A B\n\
                        \x20     1           - a b   A B\n\
                        \x20     -          70 c     C\n\
                        \x20     -          71 c     C\n";
        assert_eq!(text(Format::Table, false), expected);
        assert!(text(Format::Csv, false).ends_with("a b,A B\n,70,c,C\n,71,c,C\n"));
        let json: serde_json::Value = serde_json::from_str(&text(Format::Json, false)).unwrap();
        assert_eq!(json["schema"], "heapdump.stats/1");
        assert_eq!(json["files"][1]["file"], "c");
        assert_eq!(json["files"][1]["types"][0]["total_bytes"], 70);
    }

    #[test]
    fn people_get_one_below_the_other() {
        let text = text(Format::Table, true);
        assert!(text.starts_with("a b\nsum\n") && text.contains("\n\nc\nsum\n"), "{text}");
    }
}
