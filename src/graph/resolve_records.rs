//! Facts of types, threads and roots: ids and serials become nodes, types and frames.

use rustc_hash::FxHashMap;

use super::builder::GraphBuilder;
use super::resolve_counts::ResolveCounts;
use super::threads::{FrameId, StackFrame, Thread, ThreadId, ThreadRecord};
use super::types::{Loader, LoaderRecord, TypeDetails, TypeTable};
use super::{NodeId, Root, RootKind, RootOrigin, SectionIds, TypeId, TypeSlot};

impl GraphBuilder {
    /// The table of types. `class_objects` are those that readers appended as such, in any order.
    pub(super) fn build_type_table(
        &mut self,
        names: Vec<Box<str>>,
        slot_types: &[TypeId],
        maps: &[SectionIds],
        class_objects: &mut Vec<(NodeId, TypeId)>,
    ) -> TypeTable {
        let described = std::mem::take(&mut self.type_descriptions);
        let mut types = TypeTable { objects_hold_class: self.objects_hold_class, ..TypeTable::default() };
        if !described.is_empty() || !self.type_modules.is_empty() {
            types.details = vec![TypeDetails::default(); names.len()];
        }
        for (details, &module) in types.details.iter_mut().zip(&self.type_modules) {
            details.module = module;
        }
        let mut is_described = vec![false; if described.is_empty() { 0 } else { names.len() }];
        for record in described {
            let type_id = slot_types[record.slot.0 as usize];
            if std::mem::replace(&mut is_described[type_id.index()], true) {
                continue;
            }
            let map = &maps[record.section.index()];
            let details = &mut types.details[type_id.index()];
            details.loader = match record.loader {
                LoaderRecord::Unknown => Loader::Unknown,
                LoaderRecord::Runtime => Loader::Runtime,
                LoaderRecord::Object(id) => map.node_of_id(id).map_or(Loader::Unknown, Loader::Object),
            };
            if let Some(node) = record.class_object.and_then(|id| map.node_of_id(id)) {
                details.class_object = node.0;
                class_objects.push((node, type_id));
            }
            if let Some(superclass) = record.superclass {
                details.superclass = slot_types[superclass.0 as usize].0;
            }
            (details.first_field, details.field_count) = (record.field_range.start, record.field_range.len() as u32);
        }
        class_objects.sort_unstable();
        class_objects.dedup_by_key(|class_object| class_object.0);
        types.names = names;
        types.class_objects = std::mem::take(class_objects);
        types.fields = std::mem::take(&mut self.fields);
        types.break_superclass_circles();
        types
    }

    pub(super) fn resolve_threads(
        &mut self,
        slot_types: &[TypeId],
        maps: &[SectionIds],
    ) -> (Vec<Thread>, Vec<StackFrame>) {
        let thread = |(section, record): &(u32, ThreadRecord)| Thread {
            name: record.name,
            serial: record.serial,
            node: record.object_id.and_then(|id| maps[*section as usize].node_of_id(id)),
            first_frame: record.stack.first_frame,
            frame_count: record.stack.frame_count,
        };
        let frame = |frame: StackFrame<TypeSlot>| StackFrame {
            method: frame.method,
            class: frame.class.map(|slot| slot_types[slot.0 as usize]),
            signature: frame.signature,
            source_file: frame.source_file,
            line: frame.line,
        };
        (self.threads.iter().map(thread).collect(), std::mem::take(&mut self.frames).into_iter().map(frame).collect())
    }

    pub(super) fn resolve_roots(
        &mut self,
        slot_types: &[TypeId],
        maps: &[SectionIds],
        threads: &[Thread],
        problems: &mut ResolveCounts,
    ) -> Vec<Root> {
        let mut thread_of_serial: FxHashMap<u32, ThreadId> = FxHashMap::default();
        for (at, thread) in threads.iter().enumerate() {
            thread_of_serial.entry(thread.serial).or_insert(ThreadId::new(at as u32));
        }
        let mut roots = Vec::with_capacity(self.roots.len());
        for (section, root) in &self.roots {
            let Some(node) = maps[*section as usize].node_of_id(root.object_id) else {
                let is_class = root.kind == RootKind::SystemClass;
                let dangling = if is_class { &mut problems.dangling_class_roots } else { &mut problems.dangling_roots };
                dangling.add_at(root.position);
                self.sections[*section as usize].section.dangling_roots += 1;
                continue;
            };
            let thread = root.thread_serial.and_then(|serial| thread_of_serial.get(&serial).copied());
            let stack = thread.map(|thread| &threads[thread.index()]);
            let frame = stack.zip(root.frame_index).filter(|(stack, frame)| *frame < stack.frame_count);
            let mut resolved = Root {
                flags: root.flags,
                declaring_class: root.declaring_class.map(|slot| slot_types[slot.0 as usize]),
                name: root.name,
                thread,
                frame: frame.map(|(stack, frame)| FrameId::new(stack.first_frame + frame)),
                ..Root::new(node, root.kind, RootOrigin::Dump)
            };
            resolved.is_through_thread = root.kind != RootKind::Thread
                && !resolved.is_weak()
                && stack.is_some_and(|stack| stack.node.is_some_and(|thread| thread != node));
            roots.push(resolved);
        }
        roots
    }
}
