//! Class histograms: objects and bytes by type, at one moment or several, without objects and references.

use super::{NameId, NameTable};

/// Objects and bytes of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeTotal {
    /// The type's name.
    pub name: NameId,
    /// Objects.
    pub object_count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// All histograms of a file, in its order.
#[derive(Debug, Default)]
pub struct ClassHistograms {
    /// Names of types.
    pub names: NameTable,
    /// By histogram its types, each once.
    pub types_by_histogram: Vec<Vec<TypeTotal>>,
    /// The place of the one that is asked.
    pub chosen_index: usize,
}

impl ClassHistograms {
    /// (name, objects, bytes) of the types of one histogram; none where there is no such.
    pub fn type_rows(&self, place: usize) -> impl Iterator<Item = (&str, u64, u64)> {
        let rows = self.types_by_histogram.get(place).into_iter().flatten();
        rows.map(|row| (self.names.text(row.name), row.object_count, row.bytes))
    }

    /// Objects and bytes of one histogram, of all its types.
    pub fn totals(&self, place: usize) -> (u64, u64) {
        self.type_rows(place)
            .fold((0, 0), |sum, (_, objects, bytes)| (sum.0.saturating_add(objects), sum.1.saturating_add(bytes)))
    }

    /// Bytes of memory they take, about. O(histograms).
    pub fn memory_bytes(&self) -> usize {
        let rows: usize = self.types_by_histogram.iter().map(Vec::capacity).sum();
        self.names.memory_bytes() + rows * size_of::<TypeTotal>()
    }
}
