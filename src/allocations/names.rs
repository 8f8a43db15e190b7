//! Names of frames and types: each once.

use rustc_hash::FxHashMap;

/// A name, by its number in [`NameTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

/// Strings, each stored once.
#[derive(Debug, Default)]
pub struct NameTable {
    texts: Vec<std::sync::Arc<str>>,
    numbers_by_text: FxHashMap<std::sync::Arc<str>, u32>,
    text_bytes: usize,
}

impl NameTable {
    /// The number of a text; new texts are stored.
    pub fn intern(&mut self, text: &str) -> NameId {
        if let Some(&number) = self.numbers_by_text.get(text) {
            return NameId(number);
        }
        let number = self.texts.len() as u32;
        let text: std::sync::Arc<str> = text.into();
        self.text_bytes += text.len();
        self.texts.push(text.clone());
        self.numbers_by_text.insert(text, number);
        NameId(number)
    }

    /// Bytes of memory they take, about. O(1).
    pub fn memory_bytes(&self) -> usize {
        // Two counters before each text; a pointer in the list, an entry and free places in the map.
        const NAME_BYTES: usize = 16 + 16 + 48;
        self.text_bytes + self.texts.len() * NAME_BYTES
    }

    /// The text of a number. O(1).
    pub fn text(&self, name: NameId) -> &str {
        &self.texts[name.0 as usize]
    }
}
