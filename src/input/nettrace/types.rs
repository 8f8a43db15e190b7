//! Type ids of the runtime, numbered in the order they are met; and what BulkType events say of them.

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_u32, le_u64};
use rustc_hash::FxHashMap;

use super::primitives::{Parsed, text_of_utf16, utf16z};

/// Slots of the table before the map: most objects are of a few types.
const TYPE_NUMBER_CACHE_SLOTS: usize = 1024;

const ARRAY_FLAG: u32 = 8;

/// Facts of a type in the trace.
#[derive(Debug)]
pub(super) struct TypeInfo {
    pub(super) module_id: u64,
    /// Of the type's definition in the module.
    pub(super) token: u32,
    /// Is it an array? Not all names say so.
    pub(super) is_array: bool,
    /// As in the trace; may be empty.
    pub(super) name: Box<str>,
}

/// Numbers for type ids. Types of different ids are different, whatever their names.
#[derive(Debug)]
pub(super) struct TraceTypes {
    number_by_id: FxHashMap<u64, u32>,
    /// (id, number) of types that were met last, by a part of the id.
    cache: Vec<(u64, u32)>,
    /// By number.
    pub(super) ids: Vec<u64>,
    pub(super) described_types: FxHashMap<u64, TypeInfo>,
    /// Characters of all names.
    name_bytes: usize,
}

impl Default for TraceTypes {
    fn default() -> Self {
        // No id hashes to slot 0 but those of cache index 0, and !0 is not among them.
        TraceTypes {
            number_by_id: FxHashMap::default(),
            cache: vec![(u64::MAX, 0); TYPE_NUMBER_CACHE_SLOTS],
            ids: Vec::new(),
            described_types: FxHashMap::default(),
            name_bytes: 0,
        }
    }
}

impl TraceTypes {
    pub(super) fn memory_bytes(&self) -> usize {
        // Maps have an eighth of their places free at least, half of them at most.
        const TABLE_SLOT_BYTES: usize = 32;
        self.ids.len() * (8 + TABLE_SLOT_BYTES)
            + self.described_types.len() * (size_of::<TypeInfo>() + TABLE_SLOT_BYTES)
            + 2 * self.name_bytes
    }

    /// The number of a type id: a new one where it has none.
    #[inline]
    pub(super) fn number(&mut self, id: u64) -> u32 {
        let at = (id >> 3) as usize % TYPE_NUMBER_CACHE_SLOTS;
        let (cached, number) = self.cache[at];
        if cached == id && id != u64::MAX {
            return number;
        }
        let ids = &mut self.ids;
        let number = *self.number_by_id.entry(id).or_insert_with(|| {
            ids.push(id);
            ids.len() as u32 - 1
        });
        self.cache[at] = (id, number);
        number
    }

    /// Adds the types that an event describes. Of an id described twice the last counts.
    pub(super) fn add_descriptions(&mut self, payload: &[u8]) -> Result<(), ()> {
        for_each_description(payload, |id, info| {
            self.name_bytes += info.name.len();
            self.described_types.insert(id, info);
        })
    }
}

/// `u32 count, u16 clr`, entries.
pub(super) fn for_each_description(payload: &[u8], mut found: impl FnMut(u64, TypeInfo)) -> Result<(), ()> {
    let (_, count) = le_u32::<_, ()>(payload).map_err(|_| ())?;
    let mut rest = payload.get(6..).ok_or(())?;
    for _ in 0..count {
        let (after, (id, info)) = type_description(rest).map_err(|_| ())?;
        found(id, info);
        rest = after;
    }
    Ok(())
}

/// `u64 typeId, u64 moduleId, u32 token, u32 flags, u8 elementType, ustr name, u32 count, count x u64 typeId`.
fn type_description(input: &[u8]) -> Parsed<'_, (u64, TypeInfo)> {
    let (rest, (id, module, token, flags, _, name, parameters)) =
        (le_u64, le_u64, le_u32, le_u32, take(1usize), utf16z, le_u32).parse(input)?;
    let (rest, _) = take(8 * parameters as usize)(rest)?;
    Ok((
        rest,
        (
            id,
            TypeInfo { module_id: module, token, is_array: flags & ARRAY_FLAG != 0, name: text_of_utf16(name).into() },
        ),
    ))
}
