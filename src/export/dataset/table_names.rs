//! The tables, by name.

use std::str::FromStr;

/// A table of the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableName {
    /// A row a dump: what the file is, totals, labels.
    Dumps,
    /// A row for each section and type.
    Types,
    /// A row for each pair of types of which one refers to the other.
    TypeReferences,
    /// A row for each path of types down the dominator tree that retains enough.
    DominatorPaths,
    /// A row for each root record.
    Roots,
    /// A row for each leak suspect.
    Suspects,
    /// A row for each object.
    Objects,
    /// A row for each reference.
    ObjectReferences,
    /// A row for each field of an object or a class, with what it holds.
    Fields,
    /// A row for each heap of allocation totals.
    AllocationHeaps,
    /// A row for each backtrace that holds enough, and one for each type there.
    AllocationPaths,
}

impl TableName {
    /// Their folders' names, in the order in which they are written.
    const TABLE_NAMES: [(TableName, &'static str); 11] = [
        (TableName::Types, "types"),
        (TableName::TypeReferences, "type_references"),
        (TableName::DominatorPaths, "dominator_paths"),
        (TableName::Roots, "roots"),
        (TableName::Suspects, "suspects"),
        (TableName::Objects, "objects"),
        (TableName::ObjectReferences, "object_references"),
        (TableName::Fields, "fields"),
        (TableName::AllocationHeaps, "allocation_heaps"),
        (TableName::AllocationPaths, "allocation_paths"),
        (TableName::Dumps, "dumps"),
    ];

    /// All of them, in the order in which they are written.
    pub fn all() -> impl Iterator<Item = TableName> {
        Self::TABLE_NAMES.into_iter().map(|(table, _)| table)
    }

    /// The folder's name.
    pub fn name(self) -> &'static str {
        Self::TABLE_NAMES.iter().find(|(table, _)| *table == self).map_or("", |(_, name)| name)
    }

    /// Returns true for tables with a row for each object, reference or field: each dump has a folder of its own there.
    pub fn is_large(self) -> bool {
        matches!(self, TableName::Objects | TableName::ObjectReferences | TableName::Fields)
    }

    /// Returns true for tables of dumps that hold allocation totals; other dumps have all others.
    pub fn is_of_allocations(self) -> bool {
        matches!(self, TableName::AllocationHeaps | TableName::AllocationPaths)
    }
}

/// The tables that are written besides `dumps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableChoice(Vec<TableName>);

impl Default for TableChoice {
    /// All but those with a row for each object, reference or field.
    fn default() -> Self {
        TableChoice(TableName::all().filter(|table| !table.is_large()).collect())
    }
}

impl TableChoice {
    /// The same tables and one more.
    pub fn with(mut self, table: TableName) -> Self {
        self.0.push(table);
        self
    }

    /// Is the table written? `dumps` always is.
    pub fn has(&self, table: TableName) -> bool {
        table == TableName::Dumps || self.0.contains(&table)
    }
}

impl FromStr for TableChoice {
    type Err = String;

    /// `summary`, `all` (but `fields`, which has what objects hold), or names with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "summary" => return Ok(TableChoice::default()),
            "all" => return Ok(TableChoice(TableName::all().filter(|&table| table != TableName::Fields).collect())),
            _ => {}
        }
        let table = |asked: &str| {
            TableName::all().find(|table| table.name() == asked.trim()).ok_or_else(|| {
                let names = TableName::TABLE_NAMES.map(|(_, name)| name).join(", ");
                format!("no table \"{asked}\"; there are summary, all, and {names}")
            })
        };
        Ok(TableChoice(text.split(',').map(table).collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_chosen_by_name() {
        let has = |text: &str| {
            let choice: TableChoice = text.parse().expect("tables");
            TableName::all().filter(|&table| choice.has(table)).count()
        };
        assert_eq!((has("all"), has("summary"), has("types"), has("types, roots")), (10, 8, 2, 3));
        let error = "types,heap".parse::<TableChoice>().expect_err("no table");
        assert!(error.contains("\"heap\"") && error.contains("dominator_paths"), "{error}");
    }
}
