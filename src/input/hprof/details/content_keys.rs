//! Keys of the contents of arrays.

use twox_hash::XxHash3_128;

use crate::graph::FieldKind;
use crate::input::ContentKey;

/// The key of the elements of an array.
pub fn key_of(kind: FieldKind, bytes: &[u8]) -> ContentKey {
    let is_zero = !bytes.is_empty() && bytes.iter().all(|&byte| byte == 0);
    key_of_hash(kind, XxHash3_128::oneshot(bytes), is_zero)
}

/// Arrays of two kinds are never equal.
pub fn key_of_hash(kind: FieldKind, hash: u128, is_zero: bool) -> ContentKey {
    ContentKey::new(hash ^ (kind as u128).wrapping_mul(0xD6E8_FEB8_6659_FD93_A076_1D64_78BD_642F), is_zero)
}
