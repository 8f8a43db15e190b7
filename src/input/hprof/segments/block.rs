//! The sub-records of one block: the hot loop. Runs on all threads, one block each, knowing the classes that were there
//! when the block was cut. Instances of classes that come later are put aside with their bytes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::block_parts::*;
use crate::graph::ClearableKind;
use crate::input::blocks::ParsedBlockContent;
use crate::input::hprof::layout::classes::Layouts;
use crate::input::hprof::layout::measured_distances::{MeasuredDistances, PreviousObject};
use crate::input::hprof::records::ClassDump;
use crate::input::hprof::wire::{FIRST_PRIMITIVE_BASIC_TYPE, element_bytes, id_at, sub_record_tags, u32_at};
use crate::input::sink::ObjectSink;

/// An object's position is known to so many bytes: a place for each would cost more memory than the object.
const POSITION_STEP_BYTES: usize = 4096;

/// The records of a block. Used again for others: its types keep their numbers.
#[derive(Debug, Default)]
pub struct Block<S> {
    pub sink: S,
    /// Those of primitive arrays come first.
    pub types: Vec<BlockType>,
    type_numbers: FxHashMap<(u64, TypeKind), u32>,
    /// By type number, as far as the assembler has taken them.
    pub slots: Vec<u32>,
    /// The version of the layouts in `types`.
    layouts_version: u64,
    /// The file's dump that the block is of, from 1.
    pub dump_number: usize,
    pub roots: Vec<RawRoot>,
    pub classes: Vec<ClassDump>,
    /// Instances whose class is not known yet, and the bytes of their values.
    pub deferred: Vec<DeferredInstance>,
    pub deferred_values: Vec<u8>,
    /// Instances of `java.lang.Class`, which some writers have beside class dumps: id, position, references.
    pub java_lang_class_instances: Vec<(u64, u64, Vec<u64>)>,
    pub null_references: u64,
    /// (from, to, how) of references that hold until the runtime gives them up.
    pub soft_references: Vec<(u64, u64, ClearableKind)>,
    /// The least and the greatest id of the piece at hand.
    id_bounds: (u64, u64),
    pub counts: SubRecordCounts,
    /// Places at which a piece became unreadable; true where the file ended there.
    pub unreadable_places: Vec<(u64, bool)>,
    /// Bytes of pieces behind these places.
    pub unread_bytes: u64,
    pub distances: MeasuredDistances,
    /// Places of objects in the file.
    pub extents: Vec<FileExtent>,
    /// The class objects that `distances` knew, ascending.
    pub class_ids: Arc<[u64]>,
    /// (object in the block, heap) where the heap changes.
    pub heap_changes: Vec<(u32, AndroidHeap)>,
}

impl<S: ObjectSink> ParsedBlockContent for Block<S> {
    fn memory_bytes(&self) -> usize {
        self.sink.memory_bytes()
            + self.deferred_values.capacity()
            + self.deferred.capacity() * size_of::<DeferredInstance>()
            + self.roots.capacity() * size_of::<RawRoot>()
            + self.soft_references.capacity() * size_of::<(u64, u64, ClearableKind)>()
            + self.types.len() * (size_of::<BlockType>() + 64)
    }
}

/// The offset in a piece from which it is unreadable.
struct UnreadableFrom(usize);

/// Parses all pieces of a block into `block`.
pub fn parse_block<S: ObjectSink>(
    bytes: &[u8],
    pieces: &[SegmentPiece],
    id_bytes: usize,
    dump: usize,
    layouts: &Layouts,
    block: &mut Block<S>,
) {
    block.begin(dump);
    block.update_layouts(layouts);
    block.class_ids = Arc::clone(&layouts.class_ids);
    for piece in pieces {
        let data = &bytes[piece.range.clone()];
        block.id_bounds = (u64::MAX, 0);
        let parsed = match id_bytes {
            8 => PieceParser::<8, S>::new(piece, layouts, block).parse(data),
            _ => PieceParser::<4, S>::new(piece, layouts, block).parse(data),
        };
        let mut readable_bytes = data.len();
        match parsed {
            Err(UnreadableFrom(at)) => {
                readable_bytes = at;
                block.unreadable_places.push((piece.offset + at as u64, piece.is_cut));
                block.unread_bytes += (data.len() - at) as u64;
            }
            Ok(()) if piece.is_cut => block.unreadable_places.push((piece.offset + data.len() as u64, true)),
            Ok(()) => {}
        }
        let (least, greatest) = block.id_bounds;
        if least <= greatest {
            // Not what cannot be read: who reads it again meets no object that was not counted.
            block.extents.push(FileExtent {
                offset: piece.offset,
                bytes: readable_bytes as u64,
                min_id: least,
                max_id: greatest,
            });
        }
    }
    block.sink.seal();
}

impl<S: ObjectSink> Block<S> {
    /// Begins anew; the lists were taken.
    fn begin(&mut self, dump: usize) {
        self.sink.clear();
        self.dump_number = dump;
        self.deferred_values.clear();
        (self.null_references, self.unread_bytes, self.counts) = (0, 0, SubRecordCounts::default());
        self.distances.clear();
        for local in &mut self.types {
            local.size_mismatch_position = None;
        }
        if self.types.is_empty() {
            self.types.extend(primitive_array_types().map(|(class, kind)| BlockType::new(class, kind, 0, None)));
        }
    }

    /// Widens `id_bounds` to have this id.
    #[inline(always)]
    fn widen_id_bounds(&mut self, id: u64) {
        self.id_bounds = (self.id_bounds.0.min(id), self.id_bounds.1.max(id));
    }

    /// Takes over what has become known since the block was used last.
    fn update_layouts(&mut self, layouts: &Layouts) {
        if self.layouts_version != layouts.version {
            self.layouts_version = layouts.version;
            for local in self.types.iter_mut().filter(|local| local.kind == TypeKind::Instance) {
                local.layout = layouts.by_class.get(&local.class_or_basic_type).cloned();
            }
        }
    }

    /// The block's number for the type of a class's instances, or of its arrays: a new one where it has none.
    #[inline]
    fn type_number_of(&mut self, class: u64, kind: TypeKind, layouts: &Layouts, position: u64) -> u32 {
        match self.type_numbers.get(&(class, kind)) {
            Some(&number) => number,
            None => self.new_type(class, kind, layouts, position),
        }
    }

    #[cold]
    fn new_type(&mut self, class: u64, kind: TypeKind, layouts: &Layouts, position: u64) -> u32 {
        let number = self.types.len() as u32;
        let layout = if kind == TypeKind::Instance { layouts.by_class.get(&class).cloned() } else { None };
        self.types.push(BlockType::new(class, kind, position, layout));
        self.type_numbers.insert((class, kind), number);
        number
    }
}

/// Parses the sub-records of a piece with ids of `W` bytes.
struct PieceParser<'b, const W: usize, S> {
    piece: &'b SegmentPiece,
    layouts: &'b Layouts,
    block: &'b mut Block<S>,
    previous: PreviousObject,
    /// The class of the instance before, and the number of its type.
    last_class_and_type: (u64, u32),
}

impl<'b, const W: usize, S: ObjectSink> PieceParser<'b, W, S> {
    fn new(piece: &'b SegmentPiece, layouts: &'b Layouts, block: &'b mut Block<S>) -> Self {
        PieceParser { piece, layouts, block, previous: PreviousObject::default(), last_class_and_type: (u64::MAX, 0) }
    }

    fn parse(mut self, data: &[u8]) -> Result<(), UnreadableFrom> {
        let mut at = 0;
        if self.piece.leading_element_count > 0 {
            at = (self.piece.leading_element_count as usize).saturating_mul(W).min(data.len());
            self.block.null_references += push_non_null_elements::<W, S>(&data[..at], &mut self.block.sink);
        }
        self.block.set_heap(self.piece.heap);
        while let Some(&tag) = data.get(at) {
            let rest = &data[at..];
            let position = self.piece.offset + (at & !(POSITION_STEP_BYTES - 1)) as u64;
            let length = match tag {
                sub_record_tags::INSTANCE => self.parse_instance(rest, position),
                sub_record_tags::OBJECT_ARRAY => self.parse_object_array(rest, position),
                sub_record_tags::PRIMITIVE_ARRAY | sub_record_tags::PRIMITIVE_ARRAY_NO_DATA => {
                    self.parse_primitive_array(rest, position)
                }
                sub_record_tags::CLASS_DUMP => parse_class_dump(rest, self.piece.offset + at as u64, W, self.block),
                _ => parse_root_or_heap_mark::<W, S>(rest, self.piece.offset + at as u64, self.block),
            };
            match length {
                Some(length) => at += length,
                None => return Err(UnreadableFrom(at)),
            }
        }
        Ok(())
    }

    /// `id, u4 trace, id class, u4 bytes, values`
    #[inline(always)]
    fn parse_instance(&mut self, rest: &[u8], position: u64) -> Option<usize> {
        let (block, layouts) = (&mut *self.block, self.layouts);
        let id = id_at::<W>(rest, 1)?;
        let class = id_at::<W>(rest, 5 + W)?;
        let length = u32_at(rest, 5 + 2 * W)? as usize;
        let behind = &rest[9 + 2 * W..];
        let values = match behind.get(..length) {
            Some(values) => values,
            None if self.piece.last_values_skipped => behind,
            None => return None,
        };
        if self.last_class_and_type.0 != class {
            self.last_class_and_type = (class, block.type_number_of(class, TypeKind::Instance, layouts, position));
        }
        let number = self.last_class_and_type.1;
        block.counts.instances += 1;
        block.widen_id_bounds(id);
        let local = &mut block.types[number as usize];
        let Some(layout) = &local.layout else {
            // The class comes later.
            block.distances.note_id_alignment(id);
            self.previous = PreviousObject::default();
            if S::BUILDS_GRAPH {
                let start = block.deferred_values.len();
                block.deferred_values.extend_from_slice(values);
                let (length, next_object) = (values.len() as u32, block.sink.object_count() as u32);
                let heap = block.heap();
                block.deferred.push(DeferredInstance {
                    id,
                    class,
                    position,
                    heap,
                    next_object,
                    value_bytes: length,
                    value_start: start,
                });
            } else {
                block.sink.push_object(id, number, 0, position);
            }
            return Some(9 + 2 * W + length);
        };
        if layout.value_bytes as usize != length {
            local.size_mismatch_position.get_or_insert(position);
        }
        if layout.is_java_lang_class {
            block.distances.note_id_alignment(id);
            self.previous = PreviousObject::default();
            if S::BUILDS_GRAPH {
                let mut references = Vec::new();
                layout.for_each_reference::<W>(values, layouts, |_, id| references.extend((id != 0).then_some(id)));
                block.java_lang_class_instances.push((id, position, references));
            } else {
                block.sink.push_object(id, number, 0, position);
            }
            return Some(9 + 2 * W + length);
        }
        block.distances.add_neighbour(&self.previous, id, &layouts.class_ids);
        self.previous = PreviousObject::instance(id, number);
        block.sink.push_object(id, number, 0, position);
        if S::BUILDS_GRAPH {
            if let Some((at, holding)) = layout.clearable_referent
                && let Some(target) = id_at::<W>(values, at as usize).filter(|&target| target != 0)
            {
                block.soft_references.push((id, target, holding));
            }
            let (sink, nulls) = (&mut block.sink, &mut block.null_references);
            layout.for_each_reference::<W>(values, layouts, |at, id| match id {
                0 => *nulls += 1,
                id if layout.weak_referent_offset == Some(at) => sink.push_weak_reference(id),
                id => sink.push_reference(id),
            });
        }
        Some(9 + 2 * W + length)
    }

    /// `id, u4 trace, u4 n, id array class, n * id`
    #[inline(always)]
    fn parse_object_array(&mut self, rest: &[u8], position: u64) -> Option<usize> {
        let (block, layouts) = (&mut *self.block, self.layouts);
        let id = id_at::<W>(rest, 1)?;
        let count = u32_at(rest, 5 + W)?;
        let class = id_at::<W>(rest, 9 + W)?;
        let behind = &rest[9 + 2 * W..];
        let length = (count as usize).checked_mul(W)?;
        let elements = match behind.get(..length) {
            Some(elements) => elements,
            None if self.piece.ends_in_object_array => behind,
            None => return None,
        };
        let number = block.type_number_of(class, TypeKind::ObjectArray, layouts, position);
        block.counts.object_arrays += 1;
        block.widen_id_bounds(id);
        block.distances.add_neighbour(&self.previous, id, &layouts.class_ids);
        block.distances.add_to_overlap_test(id, count);
        self.previous = PreviousObject::array(id, count, None);
        block.sink.push_object(id, number, count.into(), position);
        if S::BUILDS_GRAPH {
            block.null_references += push_non_null_elements::<W, S>(elements, &mut block.sink);
        }
        Some(9 + 2 * W + length)
    }

    /// `id, u4 trace, u4 n, u1 type, n values`; Android's kind without data has no values.
    #[inline(always)]
    fn parse_primitive_array(&mut self, rest: &[u8], position: u64) -> Option<usize> {
        let block = &mut *self.block;
        let id = id_at::<W>(rest, 1)?;
        let count = u32_at(rest, 5 + W)?;
        let &basic_type = rest.get(9 + W)?;
        let width = element_bytes(basic_type)?;
        let mut length = 10 + W;
        if rest[0] == sub_record_tags::PRIMITIVE_ARRAY {
            length += (count as usize).checked_mul(width)?;
            if length > rest.len() && !self.piece.last_values_skipped {
                return None;
            }
        }
        let number = u32::from(basic_type - FIRST_PRIMITIVE_BASIC_TYPE);
        block.counts.primitive_arrays += 1;
        block.widen_id_bounds(id);
        block.distances.add_neighbour(&self.previous, id, &self.layouts.class_ids);
        self.previous = PreviousObject::array(id, count, Some(width as u8));
        block.sink.push_object(id, number, count.into(), position);
        Some(length)
    }
}

/// Hands on the elements that are not null. Returns the number of nulls.
fn push_non_null_elements<const W: usize, S: ObjectSink>(elements: &[u8], sink: &mut S) -> u64 {
    let mut nulls = 0;
    for element in elements.chunks_exact(W) {
        match id_at::<W>(element, 0) {
            Some(0) | None => nulls += 1,
            Some(id) => sink.push_reference(id),
        }
    }
    nulls
}

/// Adds a class dump to the block; its length.
fn parse_class_dump<S: ObjectSink>(rest: &[u8], position: u64, id_bytes: usize, block: &mut Block<S>) -> Option<usize> {
    let (behind, mut dump) = ClassDump::parse(&rest[1..], id_bytes, position).ok()?;
    dump.android_heap = block.heap();
    block.counts.classes += 1;
    block.classes.push(dump);
    Some(rest.len() - behind.len())
}

/// Roots, and the marks of Android's heaps.
fn parse_root_or_heap_mark<const W: usize, S: ObjectSink>(
    rest: &[u8],
    position: u64,
    block: &mut Block<S>,
) -> Option<usize> {
    let tag = rest[0];
    let length = sub_record_tags::fixed_bytes(tag, W)?;
    if rest.len() < length {
        return None;
    }
    if tag == sub_record_tags::HEAP_INFO {
        block.set_heap(Some((u32_at(rest, 1)?, id_at::<W>(rest, 5)?)));
        return Some(length);
    }
    let object = id_at::<W>(rest, 1)?;
    let (thread, number) = match length - 1 - W {
        0 => (0, 0),
        4 => (u32_at(rest, 1 + W)?.into(), u32::MAX),
        _ if tag == sub_record_tags::ROOT_JNI_GLOBAL => (id_at::<W>(rest, 1 + W)?, 0),
        _ => (u32_at(rest, 1 + W)?.into(), u32_at(rest, 5 + W)?),
    };
    block.counts.roots += 1;
    block.roots.push(RawRoot { tag, object, thread_or_jni_reference: thread, frame_or_trace: number, position });
    Some(length)
}

impl<S: ObjectSink> Block<S> {
    /// The Android heap of what comes next.
    fn heap(&self) -> AndroidHeap {
        self.heap_changes.last().and_then(|&(_, heap)| heap)
    }

    /// What comes next is in this Android heap.
    fn set_heap(&mut self, heap: AndroidHeap) {
        if self.heap_changes.last().map_or(heap.is_some(), |last| last.1 != heap) {
            self.heap_changes.push((self.sink.object_count() as u32, heap));
        }
    }
}
