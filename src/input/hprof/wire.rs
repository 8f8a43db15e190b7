//! Numbers, tags and basic types: big-endian, with ids of 4 or 8 bytes.

use crate::graph::FieldKind;
use crate::input::java_types::PRIMITIVES;

/// Tags of records.
pub(crate) mod record_tags {
    pub const TEXT: u8 = 0x01;
    pub const LOAD_CLASS: u8 = 0x02;
    pub const FRAME: u8 = 0x04;
    pub const TRACE: u8 = 0x05;
    pub const HEAP_SUMMARY: u8 = 0x07;
    pub const START_THREAD: u8 = 0x0A;
    pub const END_THREAD: u8 = 0x0B;
    pub const HEAP_DUMP: u8 = 0x0C;
    pub const CPU_SAMPLES: u8 = 0x0D;
    pub const CONTROL_SETTINGS: u8 = 0x0E;
    pub const HEAP_DUMP_SEGMENT: u8 = 0x1C;
    pub const HEAP_DUMP_END: u8 = 0x2C;

    /// Returns true for the tags above, for unloaded classes (3) and allocation sites (6).
    pub fn is_known(tag: u8) -> bool {
        matches!(
            tag,
            TEXT..=HEAP_SUMMARY
                | START_THREAD
                | END_THREAD
                | HEAP_DUMP
                | CPU_SAMPLES
                | CONTROL_SETTINGS
                | HEAP_DUMP_SEGMENT
                | HEAP_DUMP_END
        )
    }
}

/// Tags of sub-records, which are in heap dumps and their segments.
pub(crate) mod sub_record_tags {
    pub const ROOT_JNI_GLOBAL: u8 = 0x01;
    pub const ROOT_JNI_LOCAL: u8 = 0x02;
    pub const ROOT_JAVA_FRAME: u8 = 0x03;
    pub const ROOT_NATIVE_STACK: u8 = 0x04;
    pub const ROOT_STICKY_CLASS: u8 = 0x05;
    pub const ROOT_THREAD_BLOCK: u8 = 0x06;
    pub const ROOT_MONITOR: u8 = 0x07;
    pub const ROOT_THREAD: u8 = 0x08;
    pub const CLASS_DUMP: u8 = 0x20;
    pub const INSTANCE: u8 = 0x21;
    pub const OBJECT_ARRAY: u8 = 0x22;
    pub const PRIMITIVE_ARRAY: u8 = 0x23;
    pub const ROOT_INTERNED_STRING: u8 = 0x89;
    pub const ROOT_FINALIZING: u8 = 0x8A;
    pub const ROOT_DEBUGGER: u8 = 0x8B;
    pub const ROOT_REFERENCE_CLEANUP: u8 = 0x8C;
    pub const ROOT_VM_INTERNAL: u8 = 0x8D;
    pub const ROOT_JNI_MONITOR: u8 = 0x8E;
    pub const UNREACHABLE: u8 = 0x90;
    pub const PRIMITIVE_ARRAY_NO_DATA: u8 = 0xC3;
    pub const HEAP_INFO: u8 = 0xFE;
    pub const ROOT_UNKNOWN: u8 = 0xFF;

    /// Bytes of a sub-record of one size, its tag included; `None` for the others.
    #[inline]
    pub fn fixed_bytes(tag: u8, id_bytes: usize) -> Option<usize> {
        Some(match tag {
            ROOT_UNKNOWN | ROOT_STICKY_CLASS | ROOT_MONITOR | ROOT_INTERNED_STRING..=ROOT_VM_INTERNAL | UNREACHABLE => {
                1 + id_bytes
            }
            ROOT_JNI_GLOBAL => 1 + 2 * id_bytes,
            ROOT_JNI_LOCAL | ROOT_JAVA_FRAME | ROOT_THREAD | ROOT_JNI_MONITOR => 9 + id_bytes,
            ROOT_NATIVE_STACK | ROOT_THREAD_BLOCK | HEAP_INFO => 5 + id_bytes,
            _ => return None,
        })
    }

    /// Returns true for the tags above.
    pub fn is_known(tag: u8) -> bool {
        matches!(tag, CLASS_DUMP..=PRIMITIVE_ARRAY | PRIMITIVE_ARRAY_NO_DATA) || fixed_bytes(tag, 4).is_some()
    }
}

/// The basic type of a reference.
pub(crate) const OBJECT_BASIC_TYPE: u8 = 2;

/// Bytes of a value of a basic type; `None` for a number that is no type.
#[inline(always)]
pub(crate) fn value_bytes(basic_type: u8, id_bytes: usize) -> Option<usize> {
    if basic_type == OBJECT_BASIC_TYPE { Some(id_bytes) } else { element_bytes(basic_type) }
}

/// Bytes of a primitive value, as primitive arrays have them; `None` for references, and for a number that is no type.
#[inline(always)]
pub(crate) fn element_bytes(basic_type: u8) -> Option<usize> {
    match basic_type {
        4 | 8 => Some(1),
        5 | 9 => Some(2),
        6 | 10 => Some(4),
        7 | 11 => Some(8),
        _ => None,
    }
}

/// The least basic type of primitive values; the others follow.
pub(crate) const FIRST_PRIMITIVE_BASIC_TYPE: u8 = 4;

pub(crate) fn primitive_kind(basic_type: u8) -> Option<FieldKind> {
    Some(PRIMITIVES.get(usize::from(basic_type.checked_sub(FIRST_PRIMITIVE_BASIC_TYPE)?))?.0)
}

/// The u4 at an offset, if it is there.
#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The id of `W` bytes (4 or 8) at an offset, if it is there.
#[inline(always)]
pub(crate) fn id_at<const W: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?;
    Some(if W == 8 {
        u64::from_be_bytes(*bytes.first_chunk()?)
    } else {
        u64::from(u32::from_be_bytes(*bytes.first_chunk()?))
    })
}

/// The id at an offset, if it is there; its width is known only at run time.
#[inline]
pub(crate) fn id_at_with_width(bytes: &[u8], at: usize, id_bytes: usize) -> Option<u64> {
    if id_bytes == 8 { id_at::<8>(bytes, at) } else { id_at::<4>(bytes, at) }
}
