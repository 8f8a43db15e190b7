//! Totals of parsed objects by type, where no graph is built.

use crate::input::sink::ObjectSink;

/// Elements are counted by their number modulo this: enough to know what rounding up to any alignment adds.
pub const RESIDUES: usize = 256;

/// Objects of one type of a block.
#[derive(Debug, Clone, Default)]
pub struct TypeCount {
    pub objects: u64,
    pub elements: u64,
    /// Arrays by the number of their elements modulo `RESIDUES`; empty for instances.
    pub residues: Box<[u32]>,
}

/// Counts by type number, and ids.
#[derive(Debug, Default)]
pub struct TypeCounts {
    pub types: Vec<TypeCount>,
    /// First, least and greatest id.
    pub ids: Option<(u64, u64)>,
    pub first_position: u64,
    pub is_descending: bool,
    last: u64,
    pub objects: u64,
}

impl ObjectSink for TypeCounts {
    const BUILDS_GRAPH: bool = false;

    #[inline]
    fn push_object(&mut self, id: u64, type_number: u32, elements: u64, position: u64) {
        let index = type_number as usize;
        if index >= self.types.len() {
            self.types.resize(index + 1, TypeCount::default());
        }
        let count = &mut self.types[index];
        count.objects += 1;
        if elements > 0 {
            if count.residues.is_empty() {
                count.residues = vec![0; RESIDUES].into();
            }
            count.elements += elements;
            count.residues[elements as usize % RESIDUES] += 1;
        }
        match &mut self.ids {
            Some((least, greatest)) => {
                self.is_descending |= id <= self.last;
                (*least, *greatest) = ((*least).min(id), (*greatest).max(id));
            }
            None => (self.ids, self.first_position) = (Some((id, id)), position),
        }
        self.last = id;
        self.objects += 1;
    }

    fn push_reference(&mut self, _: u64) {}

    fn object_count(&self) -> usize {
        self.objects as usize
    }

    fn clear(&mut self) {
        for count in &mut self.types {
            (count.objects, count.elements) = (0, 0);
            count.residues.fill(0);
        }
        (self.ids, self.is_descending, self.objects) = (None, false, 0);
    }

    fn memory_bytes(&self) -> usize {
        let arrays = self.types.iter().filter(|count| !count.residues.is_empty()).count();
        self.types.capacity() * size_of::<TypeCount>() + arrays * RESIDUES * 4
    }
}
