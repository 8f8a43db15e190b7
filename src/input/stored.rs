//! Facts and problems as an index stores them: text of the program itself, and numbers that JSON does not have.

use std::borrow::Cow;

/// Text of the program itself; read back from an index it is a copy.
pub type FixedText = Cow<'static, str>;

/// Two numbers by their bits: JSON has no infinities.
pub(super) mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Pair = Option<(f32, f32)>;

    pub fn serialize<S: Serializer>(pair: &Pair, to: S) -> Result<S::Ok, S::Error> {
        pair.map(|(a, b)| (a.to_bits(), b.to_bits())).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pair, D::Error> {
        let bits = Option::<(u32, u32)>::deserialize(from)?;
        Ok(bits.map(|(a, b)| (f32::from_bits(a), f32::from_bits(b))))
    }
}
