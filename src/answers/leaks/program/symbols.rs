//! Numbers of names: of types, references and objects; those of both dumps that are compared.

use rustc_hash::FxHashMap;

use crate::analysis::leaks::ELEMENT;

/// Labels of the first references to one type, of objects whose references have no names at hand.
const PLACES: u32 = 64;

/// Numbers of names, from [`PLACES`] on.
#[derive(Debug, Default)]
pub(in crate::answers::leaks) struct Symbols {
    numbers: FxHashMap<Box<str>, u32>,
}

impl Symbols {
    /// The number of a name.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = PLACES + self.numbers.len() as u32;
        self.numbers.insert(name.into(), number);
        number
    }

    /// The label of the reference that comes as this one, from 0, among those of an object to one type.
    pub(super) fn place(place: usize) -> u32 {
        debug_assert_eq!(ELEMENT, 0);
        1 + (place as u32).min(PLACES - 2)
    }
}
