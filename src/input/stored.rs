//! Facts and problems back from an index: what is fixed text in the program is given back as such. It is leaked, some
//! hundred bytes once in a process.

use serde::{Deserialize, Deserializer};

/// Text that lasts as long as the program. Under a name of its own, for serde would borrow a plain `&str` from its input.
pub(super) type FixedText = &'static str;

pub(super) fn leaked<'de, D: Deserializer<'de>>(from: D) -> Result<FixedText, D::Error> {
    Ok(String::deserialize(from)?.leak())
}

pub(super) fn leaked_option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<FixedText>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(|text| &*text.leak()))
}

pub(super) fn leaked_list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<FixedText>, D::Error> {
    Ok(Vec::<String>::deserialize(from)?.into_iter().map(|text| &*text.leak()).collect())
}

pub(super) fn leaked_counts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(FixedText, u64)>, D::Error> {
    let counts = Vec::<(String, u64)>::deserialize(from)?;
    Ok(counts.into_iter().map(|(name, count)| (&*name.leak(), count)).collect())
}

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
