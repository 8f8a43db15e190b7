//! In which heap of Android each object is, and which references the virtual machine may give up.

use super::assemble::Assembler;
use super::segments::block_parts::Heap;

impl Assembler<'_> {
    /// Notes the heap of an object that is to be appended next but so many.
    pub(super) fn note_heap(&mut self, ahead: usize, heap: Heap) {
        let heaps = &mut self.content.heaps;
        if heaps.last().map_or(heap.is_some(), |last| last.1 != heap) {
            heaps.push(((self.content.builder.object_count() + ahead) as u32, heap));
        }
    }

    /// Hands on in which heap each object is, and which references the runtime may give up.
    pub(super) fn add_spaces(&mut self) {
        let soft = std::mem::take(&mut self.content.soft);
        if !self.like_mat {
            self.content.builder.add_soft_references(self.content.section, soft.into_iter());
        }
        let mut heaps = std::mem::take(&mut self.content.heaps);
        if heaps.is_empty() {
            return;
        }
        heaps.insert(0, (0, None));
        let (mut names, mut changes) = (Vec::new(), Vec::new());
        for (object, heap) in heaps {
            let name = heap.and_then(|(_, name)| self.reader.texts.get(name)).map(|name| String::from_utf8_lossy(name));
            let name = name.map_or_else(|| "default".to_string(), std::borrow::Cow::into_owned);
            let part = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            changes.push((object, part as u32));
        }
        self.content.builder.set_heap_parts(names, changes);
    }
}
