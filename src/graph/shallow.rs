//! Shallow bytes of every object: 4 bytes each, with a table beside for the rare giant.

/// Marks an entry whose bytes are in the overflow table.
pub(super) const OVERFLOW: u32 = u32::MAX;

/// Shallow sizes by node. Objects of 4 GiB - 1 and more are in a sorted table.
#[derive(Debug, Default)]
pub(super) struct ShallowBytes {
    pub(super) small: Vec<u32>,
    /// (index, bytes), ascending by index.
    pub(super) large: Vec<(u32, u64)>,
}

impl ShallowBytes {
    pub(super) fn get(&self, index: usize) -> u64 {
        let small = self.small[index];
        if small == OVERFLOW { self.large_at(index as u32) } else { u64::from(small) }
    }

    #[cold]
    fn large_at(&self, index: u32) -> u64 {
        match self.large.binary_search_by_key(&index, |&(at, _)| at) {
            Ok(place) => self.large[place].1,
            Err(_) => u64::from(OVERFLOW),
        }
    }

    /// Takes the objects `order[0]`, `order[1]` ... in this order.
    pub(super) fn gather(&mut self, order: &[u32]) {
        use rayon::prelude::*;
        let small: Vec<u32> = order.par_iter().map(|&from| self.small[from as usize]).collect();
        if !self.large.is_empty() {
            let mut large = Vec::new();
            for (to, &from) in order.iter().enumerate() {
                if small[to] == OVERFLOW {
                    large.push((to as u32, self.large_at(from)));
                }
            }
            self.large = large;
        }
        self.small = small;
    }
}
