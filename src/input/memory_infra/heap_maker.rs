//! The making of one heap, whichever form its entries have.

use super::collect::DumpEvent;
use super::naming::{Modules, unwrapped};
use crate::allocations::{Counting, Entry, Frame, HeapBuilder, NameId, Names};
use crate::input::{Code, Diagnostics, Position};

/// The name of the frame that stands for its parent's own allocations.
const SELF_NAME: &str = "<self>";

/// Makes heaps, one after another.
pub(super) struct HeapMaker<'a> {
    pub(super) names: &'a mut Names,
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) raw_types: bool,
    pub(super) builder: HeapBuilder,
    pub(super) self_name: NameId,
}

impl<'a> HeapMaker<'a> {
    pub(super) fn new(names: &'a mut Names, diagnostics: &'a mut Diagnostics, raw_types: bool) -> Self {
        let (self_name, root) = (names.intern(SELF_NAME), names.intern(""));
        HeapMaker { names, diagnostics, raw_types, builder: HeapBuilder::new(root), self_name }
    }

    /// Reports a problem of an event.
    pub(super) fn note(&mut self, code: &'static Code, event: &DumpEvent, text: impl FnOnce() -> String) {
        self.diagnostics.add(code, 1, Position::Byte(event.offset), text);
    }

    /// The frame's name as it is shown.
    pub(super) fn frame_name(&mut self, name: NameId, modules: &Modules) -> NameId {
        match modules.place(self.names.text(name), self.names) {
            Some(place) => self.names.intern(&place),
            None => name,
        }
    }

    /// The name of a type as it is shown: without the text that compilers put around it, unless raw names are wanted.
    pub(super) fn type_name(&mut self, name: NameId) -> NameId {
        if self.raw_types {
            return name;
        }
        let text = unwrapped(self.names.text(name)).to_string();
        self.names.intern(&text)
    }
}

/// A heap without its name tag.
pub(super) struct HeapParts {
    pub(super) counting: Counting,
    pub(super) frames: Vec<Frame>,
    pub(super) entries: Vec<Entry>,
}

impl HeapParts {
    /// Bytes of the heap; of more than 64 bits, too.
    pub(super) fn total_bytes(&self) -> u128 {
        if self.counting == Counting::Exclusive {
            return self.entries.iter().map(|entry| u128::from(entry.bytes())).sum();
        }
        // Each figure includes what is below it.
        let (mut root, mut callees) = (0, 0);
        for entry in self.entries.iter().filter(|entry| entry.type_name().is_none()) {
            match entry.frame() {
                0 => root += u128::from(entry.bytes()),
                frame if self.frames[frame as usize].parent == 0 => callees += u128::from(entry.bytes()),
                _ => {}
            }
        }
        root.max(callees)
    }

    /// Backtraces whose total is less than those of the backtraces below them.
    pub(super) fn frames_exceeded(&self) -> u64 {
        if self.counting == Counting::Exclusive {
            return 0;
        }
        let mut stated: Vec<Option<u64>> = vec![None; self.frames.len()];
        for entry in self.entries.iter().filter(|entry| entry.type_name().is_none()) {
            stated[entry.frame() as usize] = Some(entry.bytes());
        }
        let mut below = vec![0u64; self.frames.len()];
        for (frame, bytes) in self.frames.iter().zip(&stated).skip(1) {
            let sum = &mut below[frame.parent as usize];
            *sum = sum.saturating_add(bytes.unwrap_or(0));
        }
        stated.iter().zip(below).filter(|(stated, below)| stated.is_some_and(|stated| stated < *below)).count() as u64
    }
}
