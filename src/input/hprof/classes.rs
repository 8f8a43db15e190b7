//! Classes as they become known, and what follows for their instances: where the references are.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::records::{ClassDump, LoadClass};
use super::texts::Texts;
use super::wire::{OBJECT, value_bytes};
use crate::graph::Holding;

/// Where an instance of a class has its references, in the order of the file: the class's own fields, then those of its
/// superclass, and so on up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Offsets in the instance's values.
    pub(super) references: Box<[u32]>,
    /// Bytes of all values.
    pub(super) bytes: u32,
    /// The offset among them of a reference that holds nothing: the referent of a weak or phantom reference.
    pub(super) weak: Option<u32>,
    /// The offset of a reference that holds until the runtime gives it up.
    pub(super) soft: Option<(u32, Holding)>,
    /// The class is `java.lang.Class`.
    pub(super) is_class: bool,
}

/// What parsers know of the classes: a state of [`Classes`] that does not change.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    /// Rises with what is known.
    pub(super) version: u64,
    pub(super) by_class: FxHashMap<u64, Arc<Layout>>,
    /// Class objects, ascending.
    pub(super) ids: Arc<[u64]>,
}

/// What is known of the classes of a file.
#[derive(Debug)]
pub(super) struct Classes {
    pub(super) id_bytes: usize,
    /// In the order of the file; the first of an id.
    pub(super) dumps: Vec<ClassDump>,
    pub(super) by_id: FxHashMap<u64, u32>,
    /// Class dumps of ids that had one already, with the offset of the first.
    pub(super) repeated: (u64, u64),
    /// Class id to the id of its name.
    pub(super) names: FxHashMap<u64, u64>,
    pub(super) of_serial: FxHashMap<u32, u64>,
    /// The dump of the file that the class dumps are of, from 1.
    pub(super) of_dump: usize,
    layouts: Arc<Layouts>,
    /// Class dumps that `layouts` knows.
    laid_out: usize,
}

impl Classes {
    pub(super) fn new(id_bytes: usize) -> Self {
        Classes {
            id_bytes,
            dumps: Vec::new(),
            by_id: FxHashMap::default(),
            repeated: (0, u64::MAX),
            names: FxHashMap::default(),
            of_serial: FxHashMap::default(),
            of_dump: 1,
            layouts: Arc::default(),
            laid_out: 0,
        }
    }

    /// Takes a class record; JDKs before 19 write those of array classes twice.
    pub(super) fn load(&mut self, load: LoadClass) {
        self.names.entry(load.class).or_insert(load.name);
        self.of_serial.entry(load.serial).or_insert(load.class);
    }

    /// Takes a class dump of a dump of the file, if it is of the one at hand.
    pub(super) fn add(&mut self, dump: ClassDump, of_dump: usize) {
        if of_dump != self.of_dump {
            return;
        }
        let number = self.dumps.len() as u32;
        match self.by_id.entry(dump.id) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(number);
                self.dumps.push(dump);
            }
            std::collections::hash_map::Entry::Occupied(_) => {
                self.repeated = (self.repeated.0 + 1, self.repeated.1.min(dump.position));
            }
        }
    }

    /// Forgets the class dumps: another dump of the file begins.
    pub(super) fn begin_dump(&mut self, of_dump: usize) {
        self.of_dump = of_dump;
        self.dumps.clear();
        self.by_id.clear();
        self.repeated = (0, u64::MAX);
        self.laid_out = 0;
        self.layouts = Arc::new(Layouts { version: self.layouts.version + 1, ..Layouts::default() });
    }

    pub(super) fn dump(&self, class: u64) -> Option<&ClassDump> {
        self.by_id.get(&class).map(|&number| &self.dumps[number as usize])
    }

    /// The class and its superclasses, as far as there are dumps; a circle ends before its first repeat.
    pub(super) fn chain(&self, class: u64) -> Vec<&ClassDump> {
        let mut chain: Vec<&ClassDump> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut next = self.dump(class);
        while let Some(dump) = next.filter(|dump| seen.insert(dump.id)) {
            chain.push(dump);
            next = self.dump(dump.super_id);
        }
        chain
    }

    /// The name of a class as the dump writes it.
    pub(super) fn raw_name<'t>(&self, class: u64, texts: &'t Texts) -> Option<&'t [u8]> {
        texts.get(*self.names.get(&class)?)
    }

    /// The class of this name (in source form), the first of several.
    pub(super) fn named(&self, name: &str, texts: &Texts) -> Option<&ClassDump> {
        self.dumps.iter().find(|dump| self.raw_name(dump.id, texts).is_some_and(|raw| is_name(raw, name)))
    }

    /// What parsers need, as of now. Costs nothing while no class came; `texts` must be sorted.
    pub(super) fn layouts(&mut self, texts: &Texts, weak: bool) -> Arc<Layouts> {
        if self.laid_out < self.dumps.len() {
            let mut by_class = self.layouts.by_class.clone();
            for dump in &self.dumps {
                if !by_class.contains_key(&dump.id)
                    && let Some(layout) = self.complete_layout(dump.id, texts, weak)
                {
                    by_class.insert(dump.id, Arc::new(layout));
                }
            }
            let mut ids: Vec<u64> = self.by_id.keys().copied().collect();
            ids.sort_unstable();
            self.layouts = Arc::new(Layouts { version: self.layouts.version + 1, by_class, ids: ids.into() });
            self.laid_out = self.dumps.len();
        }
        Arc::clone(&self.layouts)
    }

    /// The layout, unless superclasses are still to come.
    fn complete_layout(&self, class: u64, texts: &Texts, weak: bool) -> Option<Layout> {
        let chain = self.chain(class);
        let top = chain.last()?;
        (top.super_id == 0 || self.by_id.contains_key(&top.super_id)).then(|| self.layout_of(&chain, texts, weak))
    }

    /// The layout by all that is known, at the end of the file.
    pub(super) fn final_layout(&self, class: u64, texts: &Texts, weak: bool) -> Layout {
        self.layout_of(&self.chain(class), texts, weak)
    }

    fn layout_of(&self, chain: &[&ClassDump], texts: &Texts, weak: bool) -> Layout {
        let named = |dump: &ClassDump, name: &str| self.raw_name(dump.id, texts).is_some_and(|raw| is_name(raw, name));
        let is_weak = weak
            && chain.len() > 2
            && chain.iter().any(|dump| {
                named(dump, "java.lang.ref.WeakReference") || named(dump, "java.lang.ref.PhantomReference")
            });
        let holding =
            [("java.lang.ref.SoftReference", Holding::Soft), ("java.lang.ref.FinalReference", Holding::Final)];
        let holding = holding
            .into_iter()
            .find(|(name, _)| weak && !is_weak && chain.len() > 2 && chain.iter().any(|dump| named(dump, name)));
        let mut layout =
            Layout { is_class: chain.first().is_some_and(|dump| named(dump, "java.lang.Class")), ..Layout::default() };
        let mut references = Vec::new();
        for dump in chain {
            let has_referent = (is_weak || holding.is_some()) && named(dump, "java.lang.ref.Reference");
            for field in &dump.fields {
                if field.basic_type == OBJECT {
                    if has_referent && texts.get(field.name) == Some(b"referent") {
                        layout.weak = is_weak.then_some(layout.bytes);
                        layout.soft = holding.map(|(_, holding)| (layout.bytes, holding));
                    }
                    references.push(layout.bytes);
                }
                layout.bytes += value_bytes(field.basic_type, self.id_bytes).unwrap_or(0) as u32;
            }
        }
        layout.references = references.into();
        layout
    }
}

/// Is a name of the dump this one in source form?
fn is_name(raw: &[u8], name: &str) -> bool {
    raw.len() == name.len() && raw.iter().zip(name.bytes()).all(|(&a, b)| a == b || (a == b'/' && b == b'.'))
}
