//! Class histograms: objects and bytes by type, at one moment or several, without objects and references.

use super::{NameId, NameTable};

/// Objects and bytes of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeTotal {
    /// The type's name.
    pub name: NameId,
    /// Objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// All histograms of a file, in its order.
#[derive(Debug, Default)]
pub struct Histograms {
    /// Names of types.
    pub names: NameTable,
    /// By histogram its types, each once.
    pub all: Vec<Vec<TypeTotal>>,
    /// The place of the one that is asked.
    pub chosen: usize,
}

impl Histograms {
    /// The types of one; none where there is no such.
    pub fn types(&self, place: usize) -> impl Iterator<Item = (&str, u64, u64)> {
        let rows = self.all.get(place).into_iter().flatten();
        rows.map(|row| (self.names.text(row.name), row.objects, row.bytes))
    }

    /// Objects and bytes of one.
    pub fn totals(&self, place: usize) -> (u64, u64) {
        self.types(place)
            .fold((0, 0), |sum, (_, objects, bytes)| (sum.0.saturating_add(objects), sum.1.saturating_add(bytes)))
    }

    /// Bytes of memory they take, about. O(histograms).
    pub fn memory_bytes(&self) -> usize {
        let rows: usize = self.all.iter().map(Vec::capacity).sum();
        self.names.memory_bytes() + rows * size_of::<TypeTotal>()
    }
}
