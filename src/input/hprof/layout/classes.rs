//! Classes as they become known, and what follows for their instances: where the references are.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::texts::TextRecords;
use crate::graph::ClearableKind;
use crate::input::hprof::records::{ClassDump, LoadClass};
use crate::input::hprof::wire::{OBJECT_BASIC_TYPE, id_at, value_bytes};

/// In place of the number of a superclass.
const NO_SUPERCLASS: u32 = u32::MAX;
/// A class lists the references of its superclass behind its own where these are so many at most; more are left to the
/// superclass.
const MAX_INHERITED_REFERENCES: usize = 64;

/// Places of references in an instance of a class, in the order of the file: the class's own fields, then those of its
/// superclass, and so on up.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ClassLayout {
    /// Offsets in the instance's values, of the first of them.
    reference_offsets: Box<[u32]>,
    /// The others are those of a class above, whose values begin at this offset.
    others_in_superclass: Option<(u32, u64)>,
    /// Fields that are references.
    pub reference_count: u32,
    /// Bytes of all values.
    pub value_bytes: u32,
    /// The offset among them of a reference that holds nothing: the referent of a weak or phantom reference.
    pub weak_referent_offset: Option<u32>,
    /// The offset of a reference that holds until the runtime gives it up.
    pub clearable_referent: Option<(u32, ClearableKind)>,
    /// The class is `java.lang.Class`.
    pub is_java_lang_class: bool,
    /// The offset of the field of `java.lang.ref.Reference`.
    referent_offset: Option<u32>,
    /// The reference classes that this one derives from: indices into `REFERENCE_CLASSES`, as bits.
    reference_class_bits: u8,
    /// Classes above, 2 for more.
    capped_depth: u8,
}

/// Classes of references that do not hold, or not for ever.
const REFERENCE_CLASSES: [&str; 4] = [
    "java.lang.ref.WeakReference",
    "java.lang.ref.PhantomReference",
    "java.lang.ref.SoftReference",
    "java.lang.ref.FinalReference",
];

impl ClassLayout {
    /// Shows the offset of each reference and the id there, as far as the values go.
    #[inline(always)]
    pub fn for_each_reference<const W: usize>(&self, values: &[u8], layouts: &Layouts, mut take: impl FnMut(u32, u64)) {
        let (mut start, mut layout) = (0u32, self);
        loop {
            for &at in &layout.reference_offsets {
                let Some(id) = id_at::<W>(values, start.saturating_add(at) as usize) else { return };
                take(start.saturating_add(at), id);
            }
            let Some((before, class)) = layout.others_in_superclass else { return };
            let Some(others) = layouts.by_class.get(&class) else { return };
            (start, layout) = (start.saturating_add(before), others);
        }
    }
}

/// The classes as parsers need them: a state of [`Classes`] that does not change.
#[derive(Debug, Default)]
pub struct Layouts {
    /// Rises with what is known.
    pub version: u64,
    pub by_class: FxHashMap<u64, Arc<ClassLayout>>,
    /// Class objects, ascending.
    pub class_ids: Arc<[u64]>,
}

/// The classes of a file, as far as they are known.
#[derive(Debug, Default)]
pub struct Classes {
    pub id_bytes: usize,
    /// In the order of the file; the first of an id.
    pub class_dumps: Vec<ClassDump>,
    /// Class id to the place of its dump among `class_dumps`.
    pub by_id: FxHashMap<u64, u32>,
    /// Class dumps of ids that had one already, with the offset of the first.
    pub repeat_count_and_first_position: (u64, u64),
    /// Class id to the id of its name.
    pub name_ids: FxHashMap<u64, u64>,
    pub class_ids_by_serial: FxHashMap<u32, u64>,
    /// The dump of the file that the class dumps are of, from 1.
    pub dump_number: usize,
    /// By number of the class dump: that of its superclass, or `NO_SUPERCLASS`.
    superclass_numbers: Vec<u32>,
    /// Numbers of all class dumps, each behind that of its superclass.
    pub superclass_first_order: Vec<u32>,
    /// Places of classes that are their own superclasses.
    pub circular_classes: Vec<u32>,
    /// The layouts made so far.
    pub layouts: Arc<Layouts>,
    /// Class dumps that `layouts` knows.
    laid_out_count: usize,
}

impl Classes {
    pub fn new(id_bytes: usize) -> Self {
        Classes { id_bytes, repeat_count_and_first_position: (0, u64::MAX), dump_number: 1, ..Classes::default() }
    }

    /// Takes a class record; JDKs before 19 write those of array classes twice.
    pub fn add_load_class(&mut self, load: LoadClass) {
        self.name_ids.entry(load.class_id).or_insert(load.name_id);
        self.class_ids_by_serial.entry(load.serial).or_insert(load.class_id);
    }

    /// Takes a class dump of a dump of the file, if it is of the one at hand.
    pub fn add_class_dump(&mut self, dump: ClassDump, of_dump: usize) {
        if of_dump != self.dump_number {
            return;
        }
        let number = self.class_dumps.len() as u32;
        match self.by_id.entry(dump.id) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(number);
                self.class_dumps.push(dump);
            }
            std::collections::hash_map::Entry::Occupied(_) => {
                self.repeat_count_and_first_position = (
                    self.repeat_count_and_first_position.0 + 1,
                    self.repeat_count_and_first_position.1.min(dump.position),
                );
            }
        }
    }

    /// Forgets the class dumps: another dump of the file begins.
    pub fn begin_dump(&mut self, of_dump: usize) {
        self.dump_number = of_dump;
        self.class_dumps.clear();
        self.by_id.clear();
        self.repeat_count_and_first_position = (0, u64::MAX);
        self.superclass_numbers.clear();
        self.superclass_first_order.clear();
        self.circular_classes.clear();
        self.laid_out_count = 0;
        self.layouts = Arc::new(Layouts { version: self.layouts.version + 1, ..Layouts::default() });
    }

    pub fn class_dump(&self, class: u64) -> Option<&ClassDump> {
        self.by_id.get(&class).map(|&number| &self.class_dumps[number as usize])
    }

    /// The place of the superclass among the dumps; a circle ends at its class of the greatest id. As of `lay_out`.
    pub fn superclass_number(&self, number: u32) -> Option<u32> {
        self.superclass_numbers.get(number as usize).copied().filter(|&parent| parent != NO_SUPERCLASS)
    }

    /// The superclass of a class. As of `lay_out`.
    pub fn superclass(&self, class: u64) -> Option<&ClassDump> {
        let parent = self.superclass_number(*self.by_id.get(&class)?)?;
        Some(&self.class_dumps[parent as usize])
    }

    /// The name of a class as the dump writes it.
    pub fn raw_name<'t>(&self, class: u64, texts: &'t TextRecords) -> Option<&'t [u8]> {
        texts.get(*self.name_ids.get(&class)?)
    }

    /// The class of this name (in source form), the first of several.
    pub fn class_named(&self, name: &str, texts: &TextRecords) -> Option<&ClassDump> {
        self.class_dumps
            .iter()
            .find(|dump| self.raw_name(dump.id, texts).is_some_and(|raw| equals_in_source_form(raw, name)))
    }

    /// Layouts for parsers, as of now. Costs nothing while no class came; `texts` must be sorted.
    pub fn current_layouts(&mut self, texts: &TextRecords, drops_weak_referents: bool) -> Arc<Layouts> {
        if self.laid_out_count < self.class_dumps.len() {
            self.lay_out(texts, drops_weak_referents, false);
        }
        Arc::clone(&self.layouts)
    }

    /// Lays out the classes whose superclasses are known, or all of them: at the end of the file. O(classes + fields).
    pub fn lay_out(&mut self, texts: &TextRecords, drops_weak_referents: bool, are_all: bool) {
        self.order_superclasses_first();
        let mut by_class = self.layouts.by_class.clone();
        for &number in &self.superclass_first_order {
            let dump = &self.class_dumps[number as usize];
            let parent = self.superclass_number(number).map(|parent| self.class_dumps[parent as usize].id);
            let above = parent.and_then(|parent| Some((parent, &**by_class.get(&parent)?)));
            let is_known = above.is_some() || (parent.is_none() && self.class_dump(dump.super_id).is_some());
            if (are_all || is_known || dump.super_id == 0) && !by_class.contains_key(&dump.id) {
                let layout = self.layout_of(dump, above, texts, drops_weak_referents);
                by_class.insert(dump.id, Arc::new(layout));
            }
        }
        let mut ids: Vec<u64> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        self.layouts = Arc::new(Layouts { version: self.layouts.version + 1, by_class, class_ids: ids.into() });
        self.laid_out_count = self.class_dumps.len();
    }

    /// Finds superclasses, and the order in which they come first.
    fn order_superclasses_first(&mut self) {
        const FINISHED: u32 = u32::MAX;
        let parent = |dump: &ClassDump| self.by_id.get(&dump.super_id).copied().unwrap_or(NO_SUPERCLASS);
        self.superclass_numbers = self.class_dumps.iter().map(parent).collect();
        self.superclass_first_order.clear();
        self.circular_classes.clear();
        // The walk that met a class, from 1.
        let mut walks = vec![0; self.class_dumps.len()];
        let mut way: Vec<u32> = Vec::new();
        for start in 0..self.class_dumps.len() as u32 {
            let mut at = start;
            while at != NO_SUPERCLASS && walks[at as usize] == 0 {
                walks[at as usize] = start + 1;
                way.push(at);
                at = self.superclass_numbers[at as usize];
            }
            if at != NO_SUPERCLASS && walks[at as usize] == start + 1 {
                let circle = way.iter().position(|&one| one == at).unwrap_or(0);
                let circle = &mut way[circle..];
                self.circular_classes.extend(circle.iter().copied());
                let greatest =
                    (0..circle.len()).max_by_key(|&one| self.class_dumps[circle[one] as usize].id).unwrap_or(0);
                self.superclass_numbers[circle[greatest] as usize] = NO_SUPERCLASS;
                circle.rotate_left(greatest + 1);
            }
            for &at in &way {
                walks[at as usize] = FINISHED;
            }
            self.superclass_first_order.extend(way.drain(..).rev());
        }
    }

    /// The layout of a class, from that of its superclass.
    fn layout_of(
        &self,
        dump: &ClassDump,
        above: Option<(u64, &ClassLayout)>,
        texts: &TextRecords,
        drops_weak_referents: bool,
    ) -> ClassLayout {
        let name = self.raw_name(dump.id, texts);
        let is_named = |wanted: &str| name.is_some_and(|raw| equals_in_source_form(raw, wanted));
        let mut layout = ClassLayout { is_java_lang_class: is_named("java.lang.Class"), ..ClassLayout::default() };
        let is_reference = is_named("java.lang.ref.Reference");
        let mut references = Vec::new();
        for field in &dump.fields {
            if field.basic_type == OBJECT_BASIC_TYPE {
                if is_reference && texts.get(field.name_id) == Some(b"referent") {
                    layout.referent_offset = Some(layout.value_bytes);
                }
                references.push(layout.value_bytes);
            }
            layout.value_bytes =
                layout.value_bytes.saturating_add(value_bytes(field.basic_type, self.id_bytes).unwrap_or(0) as u32);
        }
        layout.reference_count = references.len() as u32;
        for (bit, wanted) in REFERENCE_CLASSES.iter().enumerate() {
            layout.reference_class_bits |= u8::from(is_named(wanted)) << bit;
        }
        if let Some((parent, above)) = above {
            let own = layout.value_bytes;
            if above.reference_offsets.len() <= MAX_INHERITED_REFERENCES {
                references.extend(above.reference_offsets.iter().map(|&at| own.saturating_add(at)));
                layout.others_in_superclass =
                    above.others_in_superclass.map(|(start, class)| (own.saturating_add(start), class));
            } else {
                layout.others_in_superclass = Some((own, parent));
            }
            layout.reference_count = layout.reference_count.saturating_add(above.reference_count);
            layout.value_bytes = own.saturating_add(above.value_bytes);
            layout.referent_offset = above.referent_offset.map(|at| own.saturating_add(at)).or(layout.referent_offset);
            layout.reference_class_bits |= above.reference_class_bits;
            layout.capped_depth = (above.capped_depth + 1).min(2);
        }
        layout.reference_offsets = references.into();
        if drops_weak_referents && layout.capped_depth == 2 {
            let derives = |bits: u8| layout.reference_class_bits & bits != 0;
            let holding = if derives(4) { ClearableKind::Soft } else { ClearableKind::Final };
            layout.weak_referent_offset = layout.referent_offset.filter(|_| derives(3));
            layout.clearable_referent =
                layout.referent_offset.filter(|_| !derives(3) && derives(12)).map(|at| (at, holding));
        }
        layout
    }
}

/// Is `raw`, a name as the dump writes it, the class `name`, which has dots where `raw` may have slashes?
fn equals_in_source_form(raw: &[u8], name: &str) -> bool {
    raw.len() == name.len() && raw.iter().zip(name.bytes()).all(|(&a, b)| a == b || (a == b'/' && b == b'.'))
}
