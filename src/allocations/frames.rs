//! The frames of a backtrace tree, packed: a profile can have 50 million.

use super::names::NameId;

/// A node of the backtrace tree.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The frame's name; of node 0 the empty one.
    pub name: NameId,
    parent: u32,
    is_self_cost: bool,
}

impl Frame {
    /// The caller, a smaller number; of node 0 itself.
    pub fn parent(&self) -> u32 {
        self.parent
    }

    /// The dump says that this is what its parent allocated itself, not a function.
    pub fn is_self_cost(&self) -> bool {
        self.is_self_cost
    }
}

/// Frames by number, each behind its caller. A frame right behind its caller, as most are, takes 2 bytes, 4 where there are more
/// than 65,536 names; any other one 4 more.
#[derive(Debug, Clone, Default)]
pub struct FrameList {
    names: NameColumn,
    /// For each 64 frames: which of them are not right behind their callers, and how many of those come before.
    far_marks: Vec<(u64, u32)>,
    /// The callers of these, in their order.
    far_parents: Vec<u32>,
    /// Those that are what their parent allocated itself, ascending.
    self_costs: Vec<u32>,
}

/// Numbers of names, by frame.
#[derive(Debug, Clone)]
enum NameColumn {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Default for NameColumn {
    fn default() -> Self {
        NameColumn::Narrow(Vec::new())
    }
}

impl FrameList {
    /// Number of frames.
    pub fn len(&self) -> usize {
        match &self.names {
            NameColumn::Narrow(names) => names.len(),
            NameColumn::Wide(names) => names.len(),
        }
    }

    /// Returns true without even node 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A frame by its number. O(1), and O(log) of those that are what their parents allocated themselves.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn get(&self, number: u32) -> Frame {
        let is_self_cost = !self.self_costs.is_empty() && self.self_costs.binary_search(&number).is_ok();
        Frame { name: self.name(number), parent: self.parent(number), is_self_cost }
    }

    /// The name of a frame. O(1).
    ///
    /// # Panics
    /// As [`get`](Self::get).
    #[inline]
    pub fn name(&self, number: u32) -> NameId {
        NameId(match &self.names {
            NameColumn::Narrow(names) => u32::from(names[number as usize]),
            NameColumn::Wide(names) => names[number as usize],
        })
    }

    /// The caller of a frame; of node 0 itself. O(1).
    ///
    /// # Panics
    /// As [`get`](Self::get).
    #[inline]
    pub fn parent(&self, number: u32) -> u32 {
        let (far, before) = self.far_marks[number as usize / 64];
        let own = 1u64 << (number % 64);
        if far & own == 0 {
            return number.saturating_sub(1);
        }
        self.far_parents[before as usize + (far & (own - 1)).count_ones() as usize]
    }

    /// All frames, by number.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Frame> + ExactSizeIterator {
        (0..self.len() as u32).map(|number| self.get(number))
    }

    /// Is a frame of this name right behind its caller, and called by it?
    #[inline]
    pub(super) fn is_callee_behind(&self, caller: u32, name: NameId) -> bool {
        let behind = caller + 1;
        self.far_marks[behind as usize / 64].0 >> (behind % 64) & 1 == 0 && self.name(behind) == name
    }

    /// Adds a frame, whose caller is there, and gives its number; of node 0 the caller does not matter.
    #[inline]
    pub(super) fn push(&mut self, name: NameId, parent: u32) -> u32 {
        let number = self.len() as u32;
        if number.is_multiple_of(64) {
            self.far_marks.push((0, self.far_parents.len() as u32));
        }
        if number > 0 && parent != number - 1 {
            if let Some((far, _)) = self.far_marks.last_mut() {
                *far |= 1 << (number % 64);
            }
            self.far_parents.push(parent);
        }
        match (&mut self.names, u16::try_from(name.0)) {
            (NameColumn::Narrow(names), Ok(narrow)) => names.push(narrow),
            (NameColumn::Wide(names), _) => names.push(name.0),
            (NameColumn::Narrow(_), Err(_)) => self.widen_and_push(name),
        }
        number
    }

    /// Adds frames, each called by the one before it, the first by the last one so far, and gives the number of the last. O(frames).
    pub(super) fn push_chain(&mut self, chain: &[NameId]) -> u32 {
        match &mut self.names {
            NameColumn::Narrow(names) if chain.iter().all(|name| name.0 <= u32::from(u16::MAX)) => {
                names.extend(chain.iter().map(|name| name.0 as u16));
            }
            NameColumn::Wide(names) => names.extend(chain.iter().map(|name| name.0)),
            NameColumn::Narrow(_) => {
                for &name in chain {
                    self.push(name, (self.len() - 1) as u32);
                }
            }
        }
        self.far_marks.resize(self.len().div_ceil(64), (0, self.far_parents.len() as u32));
        self.len() as u32 - 1
    }

    /// How many of `chain` are behind a frame, each called by the one before it. O(those).
    #[inline]
    pub(super) fn known_chain_behind(&self, number: u32, chain: &[NameId]) -> usize {
        let first = number as usize + 1;
        let same = match &self.names {
            NameColumn::Narrow(names) => {
                names[first..].iter().zip(chain).take_while(|(known, name)| u32::from(**known) == name.0).count()
            }
            NameColumn::Wide(names) => {
                names[first..].iter().zip(chain).take_while(|(known, name)| **known == name.0).count()
            }
        };
        let end = first + same;
        // Up to the first that another frame calls.
        let mut start = first;
        while start < end {
            let far = self.far_marks[start / 64].0 >> (start % 64);
            if far != 0 {
                return end.min(start + far.trailing_zeros() as usize) - first;
            }
            start = (start / 64 + 1) * 64;
        }
        same
    }

    #[cold]
    fn widen_and_push(&mut self, name: NameId) {
        if let NameColumn::Narrow(names) = &self.names {
            let wide = names.iter().map(|&name| u32::from(name)).chain([name.0]);
            self.names = NameColumn::Wide(wide.collect());
        }
    }

    /// Marks frames as what their parents allocated themselves; ascending numbers.
    pub(super) fn set_self_costs(&mut self, numbers: Vec<u32>) {
        self.self_costs = numbers;
    }

    pub(super) fn shrink_to_fit(&mut self) {
        match &mut self.names {
            NameColumn::Narrow(names) => names.shrink_to_fit(),
            NameColumn::Wide(names) => names.shrink_to_fit(),
        }
        self.far_marks.shrink_to_fit();
        self.far_parents.shrink_to_fit();
    }

    /// Bytes of memory they take. O(1).
    pub fn memory_bytes(&self) -> usize {
        let names = match &self.names {
            NameColumn::Narrow(names) => names.capacity() * size_of::<u16>(),
            NameColumn::Wide(names) => names.capacity() * size_of::<u32>(),
        };
        let far = self.far_marks.capacity() * size_of::<(u64, u32)>();
        names + far + (self.far_parents.capacity() + self.self_costs.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_callers_come_back() {
        // Chains that begin anywhere, over several words of marks, with names that need 4 bytes from some place on.
        let mut frames = FrameList::default();
        let mut expected = vec![(7, 0)];
        for number in 1u32..1000 {
            let parent = if number % 7 < 5 { number - 1 } else { number * 31 % number };
            expected.push((if number > 700 { 65_530 + number % 13 } else { number % 50 }, parent));
        }
        for (number, &(name, parent)) in expected.iter().enumerate() {
            assert_eq!(frames.push(NameId(name), parent), number as u32);
        }
        frames.set_self_costs(vec![3, 999]);
        let found: Vec<_> = frames.iter().map(|frame| (frame.name.0, frame.parent())).collect();
        assert_eq!((found, frames.len()), (expected, 1000));
        let marked: Vec<u32> = (0..1000).filter(|&number| frames.get(number).is_self_cost()).collect();
        assert_eq!(marked, [3, 999]);
        assert!(frames.is_callee_behind(0, NameId(1)) && !frames.is_callee_behind(0, NameId(2)));
        assert!(!frames.is_callee_behind(4, NameId(5)), "its caller is another one");
        frames.shrink_to_fit();
        assert!(frames.memory_bytes() < 1000 * 6, "{}", frames.memory_bytes());
    }
}
