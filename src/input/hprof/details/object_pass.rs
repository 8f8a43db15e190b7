//! One pass over the contents of all objects: parts of the file in turn, on all threads where the file has positions.
//! Memory: a part of the file (1 MiB, 8 MiB for one with a large array) and a piece of a larger array for each thread.

use crate::parallel;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::finder::{MAX_PART_BYTES, ObjectPlaces};
use crate::graph::FieldKind;
use crate::input::hprof::records::{SubRecordLength, sub_record_length};
use crate::input::hprof::segments::block_parts::FileExtent;
use crate::input::hprof::wire::{id_at_with_width, primitive_kind, sub_record_tags, u32_at};
use crate::input::{RandomAccess, ReadError, RereadableFile, Source};

/// Bytes of an array that come at once where it is not in its part of the file.
const ARRAY_PIECE_BYTES: usize = 1 << 20;

/// The head of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayHead {
    pub id: u64,
    pub element_kind: FieldKind,
    pub length: u32,
}

/// Work on the objects of a pass. Each thread has one.
pub trait ObjectVisitor: Send {
    /// An instance of a class and the bytes of its fields.
    fn visit_instance(&mut self, _id: u64, _class: u64, _values: &[u8]) {}

    /// An array; true to have its elements.
    fn visit_array(&mut self, _array: &ArrayHead) -> bool {
        false
    }

    /// The next bytes of the elements of the array that was wanted last; `is_last` with the last of them, which come even
    /// when there are none.
    fn visit_elements(&mut self, _array: &ArrayHead, _bytes: &[u8], _is_last: bool) {}
}

/// Objects that have several records are shown once, with the first: on all threads none of them, and then these alone in
/// the order of the file.
struct FirstRecordFilter<'p> {
    /// Their ids, ascending.
    repeated_ids: &'p [u64],
    /// Those of them that were shown; empty while they are left out.
    were_shown: Vec<bool>,
    /// Objects with one record are shown too.
    shows_unrepeated: bool,
}

impl FirstRecordFilter<'_> {
    /// Is the next record of this object to be shown? Notes it where there are several.
    #[inline]
    fn admit_record(&mut self, id: u64) -> bool {
        match self.repeated_ids.binary_search(&id) {
            Ok(at) => self.were_shown.get_mut(at).is_some_and(|shown| !std::mem::replace(shown, true)),
            Err(_) => self.shows_unrepeated,
        }
    }
}

/// Shows the contents of every object to a visitor, in the order of the file where it is packed; returns the visitors.
/// Each object is shown once, with its first record. Error: if the file cannot be read again.
pub fn visit_objects<V: ObjectVisitor>(
    places: &ObjectPlaces,
    reread: &RereadableFile,
    make: impl Fn() -> V + Sync,
) -> Result<Vec<V>, ReadError> {
    let repeated = &places.repeated_ids[..];
    let in_order = |input: &mut dyn PassInput, with_others| -> Result<V, ReadError> {
        let (mut visitor, mut part) = (make(), Vec::new());
        let mut once = FirstRecordFilter {
            repeated_ids: repeated,
            were_shown: vec![false; repeated.len()],
            shows_unrepeated: with_others,
        };
        let has_any = |extent: &&FileExtent| {
            let from = repeated.partition_point(|&id| id < extent.min_id);
            with_others || repeated.get(from).is_some_and(|&id| id <= extent.max_id)
        };
        for extent in places.extents.iter().filter(has_any) {
            visit_part(places.id_bytes, extent, input, &mut part, &mut once, &mut visitor)?;
        }
        Ok(visitor)
    };
    if reread.is_packed {
        return Ok(vec![in_order(&mut PackedInput { source: reread.from_start()?, offset: 0 }, true)?]);
    }
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |_: usize| -> Result<V, ReadError> {
        let mut file = reread.random_access()?;
        let (mut visitor, mut part) = (make(), Vec::new());
        let mut once = FirstRecordFilter { repeated_ids: repeated, were_shown: Vec::new(), shows_unrepeated: true };
        while let Some(extent) = places.extents.get(next.fetch_add(1, Ordering::Relaxed))
            && !has_failed.load(Ordering::Relaxed)
        {
            visit_part(places.id_bytes, extent, &mut file, &mut part, &mut once, &mut visitor)
                .inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(visitor)
    };
    let visitors = parallel::map((0..rayon::current_num_threads()).collect(), &work);
    let mut visitors = visitors.into_iter().collect::<Result<Vec<V>, _>>()?;
    if !repeated.is_empty() {
        visitors.push(in_order(&mut reread.random_access()?, false)?);
    }
    Ok(visitors)
}

/// The file as a pass reads it, from front to back.
trait PassInput {
    /// Fills `out` with bytes at an offset, fewer where the file ends. Offsets ascend; what lies before the last is gone.
    fn read(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), ReadError>;
}

impl PassInput for RandomAccess {
    fn read(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let there = self.len().saturating_sub(offset);
        out.resize(bytes.min(usize::try_from(there).unwrap_or(usize::MAX)), 0);
        Ok(self.read_at(offset.min(self.len()), out)?)
    }
}

/// A packed file, which has no positions.
struct PackedInput {
    source: Source,
    offset: u64,
}

impl PassInput for PackedInput {
    fn read(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), ReadError> {
        out.clear();
        while self.offset < offset {
            out.resize((offset - self.offset).min(ARRAY_PIECE_BYTES as u64) as usize, 0);
            let got = self.source.fill(out)?;
            self.offset += got as u64;
            if got < out.len() {
                break;
            }
        }
        out.clear();
        if self.offset == offset {
            // Memory grows with what is there.
            while out.len() < bytes {
                let start = out.len();
                out.resize((start + ARRAY_PIECE_BYTES).min(bytes), 0);
                let got = self.source.fill(&mut out[start..])?;
                self.offset += got as u64;
                if start + got < out.len() {
                    out.truncate(start + got);
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Shows the objects in a part of the file.
fn visit_part(
    id_bytes: usize,
    extent: &FileExtent,
    input: &mut dyn PassInput,
    part: &mut Vec<u8>,
    once: &mut FirstRecordFilter<'_>,
    visitor: &mut impl ObjectVisitor,
) -> Result<(), ReadError> {
    input.read(extent.offset, extent.bytes.min(MAX_PART_BYTES) as usize, part)?;
    let mut at = 0;
    while at < part.len() {
        let rest = &part[at..];
        let SubRecordLength::Known(length) = sub_record_length(rest, id_bytes) else { break };
        match rest[0] {
            sub_record_tags::INSTANCE => {
                if let (Some(id), Some(class)) =
                    (id_at_with_width(rest, 1, id_bytes), id_at_with_width(rest, 5 + id_bytes, id_bytes))
                    && once.admit_record(id)
                {
                    let end = rest.len().min(usize::try_from(length).unwrap_or(usize::MAX));
                    visitor.visit_instance(id, class, rest.get(9 + 2 * id_bytes..end).unwrap_or(&[]));
                }
            }
            sub_record_tags::OBJECT_ARRAY | sub_record_tags::PRIMITIVE_ARRAY => {
                if let Some((array, head)) = array_head_of(rest, id_bytes)
                    && once.admit_record(array.id)
                    && visitor.visit_array(&array)
                {
                    let elements = length - head as u64;
                    match rest.get(head..head.saturating_add(usize::try_from(elements).unwrap_or(usize::MAX))) {
                        Some(bytes) => visitor.visit_elements(&array, bytes, true),
                        // A large one, whose head alone is in the part; it is the last.
                        None => {
                            let offset = extent.offset + (at + head) as u64;
                            return visit_large_array(&array, offset, elements, input, part, visitor);
                        }
                    }
                }
            }
            _ => {}
        }
        let Some(next) = usize::try_from(length).ok().and_then(|length| at.checked_add(length)) else { break };
        at = next;
    }
    Ok(())
}

/// The head of an array, and where in the record its elements begin.
fn array_head_of(record: &[u8], id_bytes: usize) -> Option<(ArrayHead, usize)> {
    let (id, length) = (id_at_with_width(record, 1, id_bytes)?, u32_at(record, 5 + id_bytes)?);
    if record[0] == sub_record_tags::OBJECT_ARRAY {
        return Some((ArrayHead { id, element_kind: FieldKind::Reference, length }, 9 + 2 * id_bytes));
    }
    let kind = primitive_kind(*record.get(9 + id_bytes)?)?;
    Some((ArrayHead { id, element_kind: kind, length }, 10 + id_bytes))
}

/// Shows the elements of an array that is longer than its part of the file, piece by piece.
fn visit_large_array(
    array: &ArrayHead,
    offset: u64,
    bytes: u64,
    input: &mut dyn PassInput,
    piece: &mut Vec<u8>,
    visitor: &mut impl ObjectVisitor,
) -> Result<(), ReadError> {
    let mut done = 0;
    while done < bytes {
        let wanted = (bytes - done).min(ARRAY_PIECE_BYTES as u64) as usize;
        input.read(offset + done, wanted, piece)?;
        done += piece.len() as u64;
        let is_cut = piece.len() < wanted;
        visitor.visit_elements(array, piece, is_cut || done == bytes);
        if is_cut {
            break;
        }
    }
    Ok(())
}
