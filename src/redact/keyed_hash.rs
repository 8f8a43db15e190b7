//! Values by which equal ones can be told and nothing else: SipHash with a key that is made for one run and never leaves it.

use std::collections::hash_map::{DefaultHasher, RandomState};
use std::hash::{BuildHasher, Hasher};

/// Shorter values have too few others to hide among: they become zero.
const MIN_HASHED_BYTES: usize = 4;
const FEISTEL_ROUNDS: u8 = 6;

/// A keyed hash.
#[derive(Debug, Default)]
pub struct KeyedHash {
    keys: [RandomState; 2],
}

/// A hash of content that comes in parts.
#[derive(Debug)]
pub(super) struct PartialDigest {
    hashers: [DefaultHasher; 2],
    /// All bytes so far were zero.
    is_zero: bool,
}

impl PartialDigest {
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.is_zero = self.is_zero && is_zero(bytes);
        self.hashers.iter_mut().for_each(|hasher| hasher.write(bytes));
    }

    /// The hash; `None` of zeros alone, which stay.
    pub(super) fn finish(self) -> Option<[u64; 2]> {
        (!self.is_zero).then(|| self.hashers.map(|hasher| hasher.finish()))
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

impl KeyedHash {
    pub(super) fn begin_digest(&self) -> PartialDigest {
        PartialDigest { hashers: [0, 1].map(|key| self.keys[key].build_hasher()), is_zero: true }
    }

    /// Replaces a number of 4 or 8 bytes by another, different ones of a field by different ones; zero stays. A number of another
    /// length becomes zero. Fields differ, so that one whose values are known (the cache of `Integer`) tells nothing of others.
    pub(super) fn replace_number(&self, bytes: &mut [u8], field: u64) {
        if is_zero(bytes) {
            return;
        }
        let replaced = |number: u64, bits: u32| match self.permuted_number(number, bits, field) {
            // The place of what would become zero is that of zero.
            0 => self.permuted_number(0, bits, field),
            other => other,
        };
        if let Ok(number) = <&mut [u8; 4]>::try_from(&mut *bytes) {
            *number = (replaced(u32::from_be_bytes(*number).into(), 32) as u32).to_be_bytes();
        } else if let Ok(number) = <&mut [u8; 8]>::try_from(&mut *bytes) {
            *number = replaced(u64::from_be_bytes(*number), 64).to_be_bytes();
        } else {
            bytes.fill(0);
        }
    }

    /// A permutation of the numbers of so many bits: a Feistel network with the hash as its function.
    fn permuted_number(&self, number: u64, bits: u32, field: u64) -> u64 {
        let half = bits / 2;
        let mask = (1u64 << half) - 1;
        let (mut left, mut right) = (number >> half, number & mask);
        for round in 0..FEISTEL_ROUNDS {
            let mut hasher = self.keys[0].build_hasher();
            hasher.write_u8(round);
            hasher.write_u64(field);
            hasher.write_u64(right);
            (left, right) = (right, left ^ (hasher.finish() & mask));
        }
        left << half | right
    }

    /// Replaces the content of an array or a text; zeros stay, and short ones become zero.
    pub(super) fn replace_content(&self, bytes: &mut [u8]) {
        match bytes.len() {
            0..MIN_HASHED_BYTES => bytes.fill(0),
            MIN_HASHED_BYTES => self.replace_number(bytes, 0),
            _ => {
                let mut digest = self.begin_digest();
                digest.write(bytes);
                if let Some(digest) = digest.finish() {
                    Self::fill_from_digest(digest, 0, bytes);
                }
            }
        }
    }

    /// Fills `bytes` with the part of a stretched hash that begins at an offset. Each third byte is neither ASCII nor a
    /// letter: no run of six bytes reads as a text.
    pub(super) fn fill_from_digest(digest: [u64; 2], from: u64, bytes: &mut [u8]) {
        let block = |number: u64| {
            // The output function of SplitMix64 (Steele, Lea, Flood 2014).
            let mut word = digest[0].wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            (word ^ word >> 31 ^ digest[1]).to_be_bytes()
        };
        for (at, byte) in (from..).zip(bytes) {
            let bits = block(at / 8)[(at % 8) as usize];
            *byte = if at % 3 == 2 { bits & 0x3F | 0x80 } else { bits };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn different_numbers_stay_different_and_zero_stays() {
        let hash = KeyedHash::default();
        let replaced = |number: u32| {
            let mut bytes = number.to_be_bytes();
            hash.replace_number(&mut bytes, 1);
            bytes
        };
        assert_eq!(replaced(0), [0; 4]);
        let all: HashSet<[u8; 4]> = (0..100_000).map(replaced).collect();
        assert_eq!(all.len(), 100_000);
        assert_eq!(replaced(7), replaced(7));
        let mut of_another_field = 7u32.to_be_bytes();
        hash.replace_number(&mut of_another_field, 2);
        assert_ne!(of_another_field, replaced(7));
    }

    #[test]
    fn equal_contents_stay_equal_and_cannot_be_read() {
        let hash = KeyedHash::default();
        let replaced = |text: &[u8]| {
            let mut bytes = text.to_vec();
            hash.replace_content(&mut bytes);
            bytes
        };
        let text = b"a password and a key, long enough for several blocks";
        let other = replaced(text);
        assert_eq!(other, replaced(text));
        assert_eq!(other.len(), text.len());
        assert!(!text.windows(4).any(|run| other.windows(4).any(|other| other == run)));
        assert_ne!(other, replaced(b"a password and a key, long enough for several blockS"));
        assert_eq!((replaced(b"abc"), replaced(&[0; 9])), (vec![0; 3], vec![0; 9]));
        // In parts it is the same.
        let mut digest = hash.begin_digest();
        text.chunks(7).for_each(|part| digest.write(part));
        let digest = digest.finish().expect("no zeros");
        let mut parts = vec![0; text.len()];
        let (first, rest) = parts.split_at_mut(13);
        KeyedHash::fill_from_digest(digest, 0, first);
        KeyedHash::fill_from_digest(digest, 13, rest);
        assert_eq!(parts, other);
    }
}
