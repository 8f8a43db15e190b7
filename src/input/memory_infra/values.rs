//! Values that may come in several forms, read without ever failing: what is of a wrong type counts as absent.
//!
//! A type error inside serde would end the parsing of the whole event, and cost the entries behind it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::raw_ids::RawId;
use crate::allocations::{NameId, NameTable};

/// A text or a whole number; anything else is passed over.
pub(super) enum Scalar<'de> {
    Text(Cow<'de, str>),
    Number(u64),
    Other,
}

impl<'de> Scalar<'de> {
    /// A text; a number as its digits.
    pub(super) fn text(self) -> Option<Cow<'de, str>> {
        match self {
            Scalar::Text(text) => Some(text),
            Scalar::Number(number) => Some(number.to_string().into()),
            Scalar::Other => None,
        }
    }

    /// A decimal number; a text as its digits.
    pub(super) fn number(self) -> Option<u64> {
        self.number_or_parsed(|text| {
            text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(|number| number as u64))
        })
    }

    /// A hexadecimal number without `0x`, or with it; a JSON number as it is.
    pub(super) fn hex(self) -> Option<u64> {
        self.number_or_parsed(|text| {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
            // `from_str_radix` takes a sign.
            if digits.starts_with('+') { None } else { u64::from_str_radix(digits, 16).ok() }
        })
    }

    /// A number as it is; of a text what `number_of` makes of it.
    fn number_or_parsed(self, number_of: impl FnOnce(&str) -> Option<u64>) -> Option<u64> {
        match self {
            Scalar::Text(text) => number_of(&text),
            Scalar::Number(number) => Some(number),
            Scalar::Other => None,
        }
    }

    /// A name: a text as it is, a number as its digits.
    pub(super) fn name(self, names: &mut NameTable) -> Option<NameId> {
        self.text().map(|text| names.intern(&text))
    }

    /// An id: a text as it is, a number as its digits, which is how it stands as a key.
    pub(super) fn id(self, names: &mut NameTable) -> Option<RawId> {
        match self {
            Scalar::Text(text) => Some(RawId::of_text(&text, names)),
            Scalar::Number(number) => Some(RawId::of_number(number, names)),
            Scalar::Other => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(text.to_string().into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number))
    }

    /// Negative numbers are ids that wrapped: -1 stands for 2^64 - 1 in both writers and readers of the format.
    fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number as u64))
    }

    /// Whole numbers that the writer keeps as doubles.
    fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
        const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
        Ok(match number {
            _ if (0.0..2.0 * TWO_TO_63).contains(&number) => Scalar::Number(number as u64),
            _ if (-TWO_TO_63..0.0).contains(&number) => Scalar::Number(number as i64 as u64),
            _ => Scalar::Other,
        })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Scalar<'de>, A::Error> {
        skip_elements(seq).map(|()| Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar<'de>, A::Error> {
        skip_members(map).map(|()| Scalar::Other)
    }
}

/// Passes over the elements of an array.
pub(super) fn skip_elements<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Passes over the members of an object.
pub(super) fn skip_members<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}
