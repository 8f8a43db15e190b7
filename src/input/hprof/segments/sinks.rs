//! Destinations of parsed objects: columns for the graph, or totals by type alone.

use crate::graph::ObjectColumns;

/// A destination of parsed objects; generic, so that counting costs nothing of building.
pub(in crate::input::hprof) trait HeapSink: Default + Send {
    /// Are references of use?
    const KEEPS_REFERENCES: bool;
    /// Begins an object. `elements` are those of an array; 0 for an instance.
    fn push_object(&mut self, id: u64, type_number: u32, elements: u64, position: u64);
    /// A reference of the object begun last.
    fn push_reference(&mut self, id: u64);
    /// The same that holds nothing.
    fn push_weak_reference(&mut self, id: u64);
    /// Objects so far.
    fn object_count(&self) -> usize;
    /// Takes everything out, keeping the memory.
    fn clear(&mut self);
    /// Bytes of memory it has, used or not.
    fn memory_bytes(&self) -> usize;
    /// Called once the block is complete, on the thread that parsed it.
    fn seal(&mut self);
}

impl HeapSink for ObjectColumns {
    const KEEPS_REFERENCES: bool = true;

    #[inline]
    fn push_object(&mut self, id: u64, type_number: u32, elements: u64, position: u64) {
        self.push_object(id, type_number, elements, position);
    }

    #[inline]
    fn push_reference(&mut self, id: u64) {
        self.push_reference(id);
    }

    #[inline]
    fn push_weak_reference(&mut self, id: u64) {
        self.push_weak_reference(id);
    }

    fn object_count(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes()
    }

    fn seal(&mut self) {
        self.seal();
    }
}

/// Elements are counted by their number modulo this: enough to know what rounding up to any alignment adds.
pub(in crate::input::hprof) const RESIDUES: usize = 256;

/// Objects of one type of a block.
#[derive(Debug, Clone, Default)]
pub(in crate::input::hprof) struct TypeCount {
    pub(in crate::input::hprof) objects: u64,
    pub(in crate::input::hprof) elements: u64,
    /// Arrays by the number of their elements modulo `RESIDUES`; empty for instances.
    pub(in crate::input::hprof) residues: Box<[u32]>,
}

/// Counts by type number, and ids.
#[derive(Debug, Default)]
pub(in crate::input::hprof) struct TypeCounts {
    pub(in crate::input::hprof) types: Vec<TypeCount>,
    /// First, least and greatest id.
    pub(in crate::input::hprof) ids: Option<(u64, u64)>,
    pub(in crate::input::hprof) first_position: u64,
    pub(in crate::input::hprof) is_descending: bool,
    last: u64,
    pub(in crate::input::hprof) objects: u64,
}

impl HeapSink for TypeCounts {
    const KEEPS_REFERENCES: bool = false;

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

    fn push_weak_reference(&mut self, _: u64) {}

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

    fn seal(&mut self) {}
}
