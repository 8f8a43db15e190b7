//! Tables as lists of columns, each with the cell that it has of a row.

use super::{Cell, Column, Table};

/// A cell of a row, which it may take parts out of: a row is made for one use.
type CellMaker<'t, R> = Box<dyn Fn(&mut R) -> Cell<'t> + 't>;

/// The columns of rows of one type.
pub struct Columns<'t, R> {
    columns: Vec<Column>,
    cell_makers: Vec<CellMaker<'t, R>>,
}

impl<R> Default for Columns<'_, R> {
    fn default() -> Self {
        Columns { columns: Vec::new(), cell_makers: Vec::new() }
    }
}

impl<'t, R: 't> Columns<'t, R> {
    /// No columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column.
    #[must_use]
    pub fn add<C: Into<Cell<'t>>>(self, column: impl Into<Column>, cell: impl Fn(&mut R) -> C + 't) -> Self {
        self.add_if(true, column, cell)
    }

    /// Adds a column that only some tables have.
    #[must_use]
    pub fn add_if<C: Into<Cell<'t>>>(
        mut self,
        is_shown: bool,
        column: impl Into<Column>,
        cell: impl Fn(&mut R) -> C + 't,
    ) -> Self {
        if is_shown {
            self.push(column.into(), Box::new(move |row| cell(row).into()));
        }
        self
    }

    fn push(&mut self, column: Column, cell: CellMaker<'t, R>) {
        self.columns.push(column);
        self.cell_makers.push(cell);
    }

    /// The table of this many rows, which are made on demand.
    pub fn table(self, row_count: usize, rows_hidden: usize, row: impl Fn(usize) -> R + 't) -> Table<'t> {
        let Columns { columns, cell_makers: cells } = self;
        let cells_of = move |at| {
            let mut row = row(at);
            cells.iter().map(|cell| cell(&mut row)).collect()
        };
        Table { columns, row_count, rows_hidden, row_at: Box::new(cells_of) }
    }
}
