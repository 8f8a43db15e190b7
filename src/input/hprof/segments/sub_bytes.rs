//! Lengths of sub-records, which have no length field of their own.

use crate::input::hprof::records::ClassDump;
use crate::input::hprof::wire::{element_bytes, sub, u32_at};

/// Bytes of the next sub-record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubBytes {
    Known(u64),
    /// They depend on bytes that are not at hand.
    More,
    /// There is no such sub-record.
    Bad,
}

/// Bytes of the sub-record that `data` begins with.
pub fn sub_bytes(data: &[u8], id_bytes: usize) -> SubBytes {
    let Some(&tag) = data.first() else { return SubBytes::More };
    let known = |bytes: Option<u64>| bytes.map_or(SubBytes::More, SubBytes::Known);
    let head = (9 + 2 * id_bytes) as u64;
    match tag {
        sub::INSTANCE => known(u32_at(data, 5 + 2 * id_bytes).map(|length| head + u64::from(length))),
        sub::OBJECT_ARRAY => {
            known(u32_at(data, 5 + id_bytes).map(|elements| head + u64::from(elements) * id_bytes as u64))
        }
        sub::PRIMITIVE_ARRAY | sub::PRIMITIVE_ARRAY_NO_DATA => {
            let (Some(elements), Some(&basic_type)) = (u32_at(data, 5 + id_bytes), data.get(9 + id_bytes)) else {
                return SubBytes::More;
            };
            match element_bytes(basic_type) {
                None => SubBytes::Bad,
                Some(_) if tag == sub::PRIMITIVE_ARRAY_NO_DATA => SubBytes::Known(10 + id_bytes as u64),
                Some(width) => SubBytes::Known(10 + id_bytes as u64 + u64::from(elements) * width as u64),
            }
        }
        sub::CLASS_DUMP => match ClassDump::parse(&data[1..], id_bytes, 0) {
            Ok((behind, _)) => SubBytes::Known((data.len() - behind.len()) as u64),
            Err(nom::Err::Failure(())) => SubBytes::Bad,
            Err(_) => SubBytes::More,
        },
        _ => sub::fixed_bytes(tag, id_bytes).map_or(SubBytes::Bad, |bytes| SubBytes::Known(bytes as u64)),
    }
}
