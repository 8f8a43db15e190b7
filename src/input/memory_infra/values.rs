//! Values that may come in several forms, read without ever failing: what is of a wrong type counts as absent.
//!
//! A type error inside serde would end the parsing of the whole event, and cost the entries behind it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::ids::RawId;
use crate::allocations::{NameId, Names};

/// The meaning of a text or a number; both may mean nothing.
pub(super) trait Meaning {
    /// Its result.
    type Out;
    fn of_text(self, text: &str) -> Option<Self::Out>;
    fn of_number(self, number: u64) -> Option<Self::Out>;
}

/// Visits whatever stands there; what is neither text nor whole number is passed over.
pub(super) struct Scalar<M>(pub(super) M);

/// A text; numbers as their digits.
pub(super) struct Text;
/// A decimal number; text as its digits.
pub(super) struct Number;
/// A hexadecimal number without `0x`, or with it; JSON numbers as they are.
pub(super) struct Hex;
/// A name: a string as it is, a number as its digits.
pub(super) struct Name<'a>(pub(super) &'a mut Names);
/// An id: a string as it is, a number as its digits, which is how it stands as a key.
pub(super) struct Id<'a>(pub(super) &'a mut Names);

impl Meaning for Text {
    type Out = String;

    fn of_text(self, text: &str) -> Option<String> {
        Some(text.to_string())
    }

    fn of_number(self, number: u64) -> Option<String> {
        Some(number.to_string())
    }
}

impl Meaning for Number {
    type Out = u64;

    fn of_text(self, text: &str) -> Option<u64> {
        text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(|number| number as u64))
    }

    fn of_number(self, number: u64) -> Option<u64> {
        Some(number)
    }
}

impl Meaning for Hex {
    type Out = u64;

    fn of_text(self, text: &str) -> Option<u64> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        // `from_str_radix` takes a sign.
        if digits.starts_with('+') { None } else { u64::from_str_radix(digits, 16).ok() }
    }

    fn of_number(self, number: u64) -> Option<u64> {
        Some(number)
    }
}

impl Meaning for Name<'_> {
    type Out = NameId;

    fn of_text(self, text: &str) -> Option<NameId> {
        Some(self.0.intern(text))
    }

    fn of_number(self, number: u64) -> Option<NameId> {
        Some(self.0.intern(&number.to_string()))
    }
}

impl Meaning for Id<'_> {
    type Out = RawId;

    fn of_text(self, text: &str) -> Option<RawId> {
        Some(RawId::of_text(text, self.0))
    }

    fn of_number(self, number: u64) -> Option<RawId> {
        Some(RawId::of_number(number, self.0))
    }
}

impl<'de, M: Meaning> DeserializeSeed<'de> for Scalar<M> {
    type Value = Option<M::Out>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, M: Meaning> Visitor<'de> for Scalar<M> {
    type Value = Option<M::Out>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.of_text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(self.0.of_number(number))
    }

    /// Negative numbers are ids that wrapped: -1 stands for 2^64 - 1 in both writers and readers of the format.
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(self.0.of_number(number as u64))
    }

    /// Whole numbers that the writer keeps as doubles.
    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
        Ok(match number {
            _ if (0.0..2.0 * TWO_TO_63).contains(&number) => self.0.of_number(number as u64),
            _ if (-TWO_TO_63..0.0).contains(&number) => self.0.of_number(number as i64 as u64),
            _ => None,
        })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// Visits of most numbers, booleans and null that take nothing.
macro_rules! pass_over_scalars {
    () => {
        fn visit_i64<E>(self, _: i64) -> Result<(), E> {
            Ok(())
        }

        fn visit_f64<E>(self, _: f64) -> Result<(), E> {
            Ok(())
        }

        fn visit_bool<E>(self, _: bool) -> Result<(), E> {
            Ok(())
        }

        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }
    };
}

/// Hands every member of an object to a function, which must take its value; anything but an object is passed over.
pub(super) struct Members<F>(pub(super) F);

/// One member: its key, and its value to be taken.
pub(super) trait Member {
    /// Takes the value.
    fn value<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Passes a value over.
pub(super) fn ignore<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

impl<'de, F: Member> DeserializeSeed<'de> for Members<&mut F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A key as text.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = std::borrow::Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = std::borrow::Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(text.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.to_string().into())
    }
}

impl<'de, F: Member> Visitor<'de> for Members<&mut F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            self.0.value(&key, &mut map)?;
        }
        Ok(())
    }

    /// An object that was put into a string (Cobalt does so with `dumps`).
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        // A text that is no object is a value of a wrong type like any other.
        if !text.trim_start().starts_with('{') {
            return Ok(());
        }
        self.deserialize(&mut serde_json::Deserializer::from_slice(text.as_bytes())).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    pass_over_scalars!();
}

/// Hands every element of an array to a function; anything but an array is passed over.
pub(super) struct Elements<F>(pub(super) F);

/// One element, to be taken.
pub(super) trait Element {
    /// Takes the next element; `None` when there is none.
    fn next<'de, A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<Option<()>, A::Error>;

    /// Takes the whole array instead, if the number is the placeholder of one that was extracted from the text.
    fn on_placeholder(&mut self, _number: u64) {}
}

impl<'de, F: Element> DeserializeSeed<'de> for Elements<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: Element> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        while self.0.next(&mut seq)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.0.on_placeholder(number);
        Ok(())
    }

    pass_over_scalars!();
}
