//! Numbers of names: of types, references and objects; those of both dumps that are compared.

use rustc_hash::FxHashMap;

use crate::analysis::leaks::ELEMENT_LABEL;

/// Labels of the first references to one type, of objects whose references have no names at hand.
const RESERVED_PLACE_LABEL_COUNT: u32 = 64;

/// Numbers of names, from [`RESERVED_PLACE_LABEL_COUNT`] on.
#[derive(Debug, Default)]
pub(in crate::answers::leaks) struct SymbolTable {
    numbers_by_name: FxHashMap<Box<str>, u32>,
}

impl SymbolTable {
    /// The number of a name.
    pub(super) fn intern(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers_by_name.get(name) {
            return number;
        }
        let number = RESERVED_PLACE_LABEL_COUNT + self.numbers_by_name.len() as u32;
        self.numbers_by_name.insert(name.into(), number);
        number
    }

    /// The label of the reference that comes as this one, from 0, among those of an object to one type.
    pub(super) fn place_label(place: usize) -> u32 {
        debug_assert_eq!(ELEMENT_LABEL, 0);
        1 + (place as u32).min(RESERVED_PLACE_LABEL_COUNT - 2)
    }
}
