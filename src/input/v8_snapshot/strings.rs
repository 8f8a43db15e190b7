//! The strings of a snapshot: all of them, or those that classes and rules rest on.

use super::bit_set::BitSet;

/// Which strings of a snapshot are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum KeptStrings {
    #[default]
    All,
    /// Names of classes, categories and properties. Texts, most of what there is, are passed over.
    Names,
}

/// Strings behind one another.
#[derive(Debug, Clone, Default)]
pub(super) struct StringTable {
    text: Vec<u8>,
    text_ends: Vec<u64>,
    /// The strings that are kept, where not all are, and the number of them before each word.
    kept_indices: Option<(BitSet, Vec<u32>)>,
    /// Strings of the file.
    string_count: usize,
}

impl StringTable {
    pub(super) fn len(&self) -> usize {
        self.string_count
    }

    /// Keeps only these of the strings that come; asked for before the first.
    pub(super) fn keep_only(&mut self, wanted: BitSet) {
        if self.string_count == 0 {
            self.kept_indices = Some((wanted, Vec::new()));
        }
    }

    /// Bytes of memory, and about what `kept_indices` takes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.text.len() + 8 * self.text_ends.len() + self.string_count / 5
    }

    /// Appends strings that lie behind one another, by where each ends.
    pub(super) fn append(&mut self, text: &[u8], ends: &[u32]) {
        use crate::graph::make_room;
        let Some((wanted, _)) = &self.kept_indices else {
            let before = self.text.len() as u64;
            make_room(&mut self.text, text.len());
            self.text.extend_from_slice(text);
            make_room(&mut self.text_ends, ends.len());
            self.text_ends.extend(ends.iter().map(|&end| before + u64::from(end)));
            self.string_count += ends.len();
            return;
        };
        let mut start = 0;
        for &end in ends {
            if wanted.has(self.string_count as u32) {
                self.text.extend_from_slice(&text[start as usize..end as usize]);
                self.text_ends.push(self.text.len() as u64);
            }
            self.string_count += 1;
            start = end;
        }
    }

    /// Ends the table, once all strings are there: from here on those that are kept can be found.
    pub(super) fn finish(&mut self) {
        if let Some((wanted, ranks)) = &mut self.kept_indices {
            wanted.truncate(self.string_count);
            *ranks = wanted.ranks();
        }
    }

    /// The place of a string among those that are kept.
    fn kept_position(&self, index: u32) -> Option<usize> {
        match &self.kept_indices {
            _ if index as usize >= self.string_count => None,
            None => Some(index as usize),
            Some((wanted, ranks)) => wanted.rank(index, ranks),
        }
    }

    fn bytes(&self, index: u32) -> Option<&[u8]> {
        let at = self.kept_position(index)?;
        let end = *self.text_ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.text_ends[before]);
        self.text.get(start as usize..end as usize)
    }

    /// The string of an index; `None` for one that the file does not have, or that is not kept.
    pub(super) fn get(&self, index: u32) -> Option<&str> {
        // What was appended is UTF-8.
        std::str::from_utf8(self.bytes(index)?).ok()
    }

    /// Is this the string of an index?
    pub(super) fn is(&self, index: u32, text: &str) -> bool {
        self.bytes(index) == Some(text.as_bytes())
    }

    /// The string of an index, or what stands in for it.
    pub(super) fn text_or_placeholder(&self, index: u32) -> std::borrow::Cow<'_, str> {
        self.get(index).map_or_else(|| format!("<string {index}>").into(), Into::into)
    }

    /// The strings that are kept, with their indices.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..self.string_count as u32).filter_map(|index| Some((index, self.get(index)?)))
    }

    /// All indices of a text: one, unless another program changed the file.
    pub(super) fn indices_of(&self, text: &str) -> Vec<u32> {
        self.iter().filter(|&(_, own)| own == text).map(|(index, _)| index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_are_not_kept_keep_their_numbers() {
        let (text, ends): (&[u8], _) = (b"abcdeffff", [1, 1, 3, 6, 6, 9]);
        let mut all = StringTable::default();
        all.append(&text[..3], &ends[..3]);
        all.append(&text[3..], &[3, 3, 6]);
        all.finish();
        let mut some = StringTable::default();
        let mut wanted = BitSet::new(100);
        [2, 4, 5, 70].iter().for_each(|&index| _ = wanted.insert(index));
        some.keep_only(wanted);
        some.append(text, &ends);
        some.finish();
        assert_eq!(all.iter().map(|(_, text)| text).collect::<Vec<_>>(), ["a", "", "bc", "def", "", "fff"]);
        assert_eq!(some.iter().collect::<Vec<_>>(), [(2, "bc"), (4, ""), (5, "fff")]);
        assert_eq!((some.len(), some.get(70), some.text_or_placeholder(3).as_ref()), (6, None, "<string 3>"));
        assert_eq!(some.indices_of("fff"), [5]);
    }
}
