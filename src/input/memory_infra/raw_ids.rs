//! Ids of stack frames and types, and the entries of heaps that hold them. They are strings, and nearly always small decimal numbers: those need no table.

use std::borrow::Cow;
use std::num::NonZeroU32;

use rustc_hash::FxHashMap;

use crate::allocations::{NameId, NameTable};

/// An id as it stands in the file: a decimal number plus one, or the number of its text with a mark. The bit below the
/// mark is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawId(NonZeroU32);

/// Marks numbers of texts.
const TEXT_ID_BIT: u32 = 1 << 31;
/// The bit that no id has: there are never so many texts.
const UNUSED_ID_BIT: u32 = 1 << 30;
/// Larger numbers are texts.
const NUMBER_ID_LIMIT: u32 = 1 << 29;

impl RawId {
    /// The empty text, which is the id of the root.
    pub(super) const EMPTY_TEXT: Self = RawId(NonZeroU32::MIN.saturating_add(NUMBER_ID_LIMIT));

    /// The id that is written so.
    pub(super) fn of_text(text: &str, names: &mut NameTable) -> Self {
        if let Some(id) = parse_plain_decimal(text.as_bytes()).and_then(Self::of_short_number) {
            return id;
        }
        let marked = names.intern(text).0 & !UNUSED_ID_BIT | TEXT_ID_BIT;
        if text.is_empty() { Self::EMPTY_TEXT } else { RawId(NonZeroU32::MIN.saturating_add(marked - 1)) }
    }

    /// The id whose text is this number.
    pub(super) fn of_number(number: u64, names: &mut NameTable) -> Self {
        Self::of_short_number(number).unwrap_or_else(|| Self::of_text(&number.to_string(), names))
    }

    /// The same for numbers that need no text.
    pub(super) fn of_short_number(number: u64) -> Option<Self> {
        let number = u32::try_from(number).ok().filter(|&number| number < NUMBER_ID_LIMIT)?;
        NonZeroU32::new(number + 1).map(RawId)
    }

    /// The number, if it is one that needs no text.
    fn short_number(self) -> Option<usize> {
        (self.0.get() <= NUMBER_ID_LIMIT).then(|| self.0.get() as usize - 1)
    }

    pub(super) fn text(self, names: &NameTable) -> Cow<'_, str> {
        match self.short_number() {
            Some(number) => number.to_string().into(),
            None if self == Self::EMPTY_TEXT => "".into(),
            None => names.text(NameId(self.0.get() & !TEXT_ID_BIT)).into(),
        }
    }

    /// For storing an id, or none, with the free bit.
    fn pack(id: Option<Self>, bit: bool) -> u32 {
        id.map_or(0, |id| id.0.get()) | if bit { UNUSED_ID_BIT } else { 0 }
    }

    fn unpack(packed: u32) -> (Option<Self>, bool) {
        (NonZeroU32::new(packed & !UNUSED_ID_BIT).map(RawId), packed & UNUSED_ID_BIT != 0)
    }
}

/// An entry of `heaps` with its ids as they stand there. 24 bytes: all of a trace are kept until its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawEntry {
    /// With a mark when there are bytes.
    packed_backtrace: u32,
    /// With a mark when there are allocations.
    packed_type_id: u32,
    bytes: u64,
    allocations: u64,
}

impl RawEntry {
    pub(super) fn new(
        backtrace: Option<RawId>,
        type_id: Option<RawId>,
        bytes: Option<u64>,
        allocations: Option<u64>,
    ) -> Self {
        RawEntry {
            packed_backtrace: RawId::pack(backtrace, bytes.is_some()),
            packed_type_id: RawId::pack(type_id, allocations.is_some()),
            bytes: bytes.unwrap_or(0),
            allocations: allocations.unwrap_or(0),
        }
    }

    pub(super) fn backtrace(&self) -> Option<RawId> {
        RawId::unpack(self.packed_backtrace).0
    }

    pub(super) fn type_id(&self) -> Option<RawId> {
        RawId::unpack(self.packed_type_id).0
    }

    pub(super) fn bytes(&self) -> Option<u64> {
        RawId::unpack(self.packed_backtrace).1.then_some(self.bytes)
    }

    pub(super) fn allocations(&self) -> Option<u64> {
        RawId::unpack(self.packed_type_id).1.then_some(self.allocations)
    }
}

/// A number of at most 18 digits, in the one way in which numbers are written; `None` of others, which are another id.
pub(super) fn parse_plain_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

/// Things by number. Numbers that lie close together, as those of a writer that counts, find theirs by place.
#[derive(Debug)]
pub(super) struct NumberMap<T> {
    /// The first number that came.
    first_number: u64,
    /// By number, from `first_number` on.
    dense_values: Vec<Option<T>>,
    sparse_values: FxHashMap<u64, T>,
    /// Numbers that have a thing.
    len: usize,
}

impl<T> Default for NumberMap<T> {
    fn default() -> Self {
        NumberMap { first_number: 0, dense_values: Vec::new(), sparse_values: FxHashMap::default(), len: 0 }
    }
}

impl<T: Copy> NumberMap<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The place of a number in `dense_values`, which may not reach so far.
    fn dense_index(&self, number: u64) -> Option<usize> {
        number.checked_sub(self.first_number).and_then(|place| usize::try_from(place).ok())
    }

    /// The value of a number. O(1).
    pub(super) fn find(&self, number: u64) -> Option<T> {
        match self.dense_index(number).and_then(|place| *self.dense_values.get(place)?) {
            None if !self.sparse_values.is_empty() => self.sparse_values.get(&number).copied(),
            found => found,
        }
    }

    /// Gives a number to a thing; gives back the one that had it.
    pub(super) fn insert(&mut self, number: u64, thing: T) -> Option<T> {
        if self.len == 0 {
            self.first_number = number;
        }
        let before = self.find(number);
        self.len += usize::from(before.is_none());
        match self.dense_index(number) {
            // No more places than a few times what there is: numbers are from the file.
            Some(place) if place < 64 + 4 * self.len => {
                if place >= self.dense_values.len() {
                    self.dense_values.resize_with(place + 1, || None);
                }
                self.dense_values[place] = Some(thing);
            }
            _ => {
                self.sparse_values.insert(number, thing);
            }
        }
        before
    }
}

/// Things by id; of several for one id the first counts.
#[derive(Debug)]
pub(super) struct RawIdMap<T>(NumberMap<T>);

impl<T> Default for RawIdMap<T> {
    fn default() -> Self {
        RawIdMap(NumberMap::default())
    }
}

impl<T: Copy> RawIdMap<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of an id. O(1).
    pub(super) fn find(&self, id: RawId) -> Option<T> {
        self.0.find(id.0.get().into())
    }

    /// Gives an id to a thing, unless another has it.
    pub(super) fn insert(&mut self, id: RawId, thing: T) {
        if self.find(id).is_none() {
            self.0.insert(id.0.get().into(), thing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_their_texts() {
        let mut names = NameTable::default();
        for text in ["0", "7", "007", "-1", "", "536870911", "536870912", "18446744073709551615", "TWO", "π"] {
            let id = RawId::of_text(text, &mut names);
            assert_eq!(id.text(&names), text);
            assert_eq!(RawId::unpack(RawId::pack(Some(id), true)), (Some(id), true), "{text}");
        }
        assert_eq!(RawId::unpack(RawId::pack(None, true)), (None, true));
        assert_eq!(RawId::of_number(7, &mut names), RawId::of_text("7", &mut names));
        assert_ne!(RawId::of_text("7", &mut names), RawId::of_text("07", &mut names));
        assert_eq!(RawId::of_number(u64::MAX, &mut names), RawId::of_text("18446744073709551615", &mut names));
    }

    #[test]
    fn far_ids_are_found_too_and_the_first_is_kept() {
        let mut names = NameTable::default();
        let ids = ["3", "500000000", "x", "400", "0"].map(|text| RawId::of_text(text, &mut names));
        let mut things = RawIdMap::default();
        for (at, &id) in ids.iter().enumerate() {
            things.insert(id, at);
            things.insert(id, 99);
        }
        assert_eq!(ids.map(|id| things.find(id)), [Some(0), Some(1), Some(2), Some(3), Some(4)]);
        assert_eq!(things.find(RawId::of_text("4", &mut names)), None);
        assert!(things.0.dense_values.len() < 100);
    }

    #[test]
    fn a_number_given_again_has_the_last_thing_near_or_far() {
        let mut things = NumberMap::default();
        let numbers = [100, 900, 7, u64::MAX];
        for number in numbers.into_iter().chain(100..1000).chain(numbers) {
            let before = things.find(number);
            assert_eq!(things.insert(number, number ^ 1), before);
            assert_eq!(things.insert(number, number), Some(number ^ 1));
        }
        assert!(numbers.into_iter().chain(100..1000).all(|number| things.find(number) == Some(number)));
        assert_eq!((things.find(8), things.find(1000), things.len), (None, None, 902));
    }
}
