//! Blocks in the order of the file; types get their names from the lines of classes when all are there.

use rustc_hash::FxHashMap;

use super::block::{Block, TypeKey};
use super::problem_codes::*;
use crate::graph::{GraphBuilder, IdStyle, RootRecord, Section, SectionId, TypeSlot};
use crate::input::json_lines::unescaped;
use crate::input::sink::{RecordSink, SectionPart, SlotTotals};
use crate::input::{ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, Position, ReadError, ReadExtent, Reading};

/// Classes above a nameless one are looked at so far up: singleton classes of singleton classes are seldom.
const MAX_SUPERCLASSES: usize = 64;

/// A class as its line says it.
#[derive(Debug)]
struct RubyClass {
    name: Option<String>,
    superclass_address: Option<u64>,
}

/// Puts blocks together.
pub(super) struct Assembler<'r> {
    reading: &'r mut Reading,
    builder: GraphBuilder,
    section: SectionId,
    totals: SlotTotals,
    /// With the line of the first object; 0 before there is one.
    slots: FxHashMap<TypeKey, (TypeSlot, u64)>,
    classes: FxHashMap<u64, RubyClass>,
    objects: u64,
    references: u64,
    roots: u64,
    shapes: u64,
    lines_so_far: u64,
}

impl<'r> Assembler<'r> {
    pub(super) fn new(reading: &'r mut Reading) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Prefixed);
        builder.limit_memory(&reading.budget);
        builder.added_references_may_dangle = true;
        let section = builder.begin_section(Section { complete: true, ..Section::default() });
        Assembler {
            reading,
            builder,
            section,
            totals: SlotTotals::default(),
            slots: FxHashMap::default(),
            classes: FxHashMap::default(),
            objects: 0,
            references: 0,
            roots: 0,
            shapes: 0,
            lines_so_far: 0,
        }
    }

    /// Takes the next block of the file.
    pub(super) fn take_block<S: RecordSink>(&mut self, block: &mut Block<S>) -> Result<(), ReadError> {
        self.builder.check_memory()?;
        self.reading.diagnostics.merge_block(&mut block.diagnostics, self.lines_so_far);
        let lines = self.lines_so_far;
        let mut slots = Vec::with_capacity(block.types.len());
        for (key, line) in block.types.drain(..) {
            slots.push(self.find_or_add_slot(key, lines + line)?.0);
        }
        for class in &block.classes {
            let name = class.name.clone().map(|name| &block.name_bytes[name]);
            self.builder.check_name_memory(name.map_or(0, <[u8]>::len))?;
            let name = name.map(|name| unescaped(name).into_owned());
            if S::BUILDS_GRAPH && name.is_some() {
                let slot = self.find_or_add_slot(TypeKey::Class(class.address), 0)?;
                self.builder.add_class_object(self.builder.object_count() + class.object, slot);
            }
            self.classes.entry(class.address).or_insert(RubyClass { name, superclass_address: class.superclass });
        }
        let part = SectionPart {
            section: self.section,
            objects: 0..block.objects.object_count(),
            type_indices: 0..slots.len(),
            slots: &slots,
            lines_before: lines,
            takes_leading_references: false,
        };
        block.objects.deliver(part, &mut self.builder, &mut self.totals)?;
        if S::BUILDS_GRAPH {
            for &(object, kind, line) in &block.roots {
                self.builder.add_root_record(self.section, RootRecord::new(object, kind, lines + line));
            }
            for &(from, to, line) in &block.uncertain_references {
                self.builder.add_reference(self.section, from, to, lines + line);
            }
        }
        self.objects += block.objects.object_count() as u64;
        self.references += block.objects.reference_count() as u64 - block.class_references;
        self.roots += block.root_lines;
        self.shapes += block.shapes;
        self.builder.section_mut(self.section).complete &= !block.is_cut;
        self.lines_so_far += block.lines_so_far;
        Ok(())
    }

    /// The slot of a type, whose first object is on this line.
    fn find_or_add_slot(&mut self, key: TypeKey, line: u64) -> Result<TypeSlot, ReadError> {
        if let TypeKey::DataStructure(_, name) | TypeKey::Name(name) = &key {
            self.builder.check_name_memory(name.len())?;
        }
        let builder = &mut self.builder;
        let (slot, first) = self.slots.entry(key).or_insert_with(|| (builder.new_type(), line));
        if *first == 0 {
            *first = line;
        }
        Ok(*slot)
    }

    /// The nearest name of a class and those above it.
    fn class_name(&self, address: u64) -> Option<&str> {
        let mut class = self.classes.get(&address)?;
        for _ in 0..MAX_SUPERCLASSES {
            if let Some(name) = &class.name {
                return Some(name);
            }
            class = self.classes.get(&class.superclass_address?)?;
        }
        None
    }

    /// Names all types.
    fn name_types(&mut self) {
        let mut slots: Vec<_> = std::mem::take(&mut self.slots).into_iter().collect();
        slots.sort_unstable_by_key(|&(_, (slot, _))| slot.0);
        for (key, (slot, line)) in slots {
            let mut of_class = |address: u64| match self.class_name(address) {
                Some(name) => name.to_string(),
                None => {
                    let name = format!("(class {address:#x})");
                    if line > 0 && !self.classes.contains_key(&address) {
                        self.reading.diagnostics.add_on_line(&UNKNOWN_CLASS, line, name.as_bytes());
                    }
                    name
                }
            };
            let name = match &key {
                TypeKey::Class(address) => of_class(*address),
                TypeKey::DataStructure(address, structure) => {
                    format!("{} ({})", of_class(*address), unescaped(structure))
                }
                TypeKey::Name(name) => unescaped(name).into_owned(),
            };
            self.builder.name_type(slot, &name);
        }
    }

    /// The graph's builder, after the last block.
    pub(super) fn into_dump(mut self) -> ParsedDump {
        let extent = self.finish();
        ParsedDump { extent, content: ParsedContent::Objects(Box::new(ParsedObjects::new(self.builder))) }
    }

    /// Totals by type name, after the last block.
    pub(super) fn into_types(mut self) -> ParsedTypes {
        let extent = self.finish();
        let (_, names) = self.builder.into_section_and_type_names();
        ParsedTypes {
            extent,
            types: self.totals.by_name(names),
            origins: Vec::new(),
            section_names: vec![String::new()],
        }
    }

    fn finish(&mut self) -> ReadExtent {
        self.name_types();
        self.totals.report(&mut self.reading.diagnostics, Position::Line);
        self.reading.info.set_records([
            ("roots", self.roots),
            ("shapes", self.shapes),
            ("objects", self.objects),
            ("references", self.references),
        ]);
        ReadExtent { end: Position::Line(self.lines_so_far.max(1)), objects: self.objects, loss_codes: LOSS_CODES }
    }
}
