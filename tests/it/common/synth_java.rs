//! Writes Java heap dumps (HPROF) with classes, fields and values as a test says. Shares nothing with the reader.

use super::synth_hprof::Writer;

/// What a field holds, with its value.
#[derive(Debug, Clone, Copy)]
pub enum Held {
    Reference(u64),
    Byte(i8),
    Boolean(bool),
    Int(i32),
    Long(i64),
    Double(f64),
}

impl Held {
    fn basic_type(self) -> u8 {
        match self {
            Held::Reference(_) => 2,
            Held::Boolean(_) => 4,
            Held::Byte(_) => 8,
            Held::Int(_) => 10,
            Held::Long(_) => 11,
            Held::Double(_) => 7,
        }
    }

    fn bytes(self, writer: &Writer) -> Vec<u8> {
        match self {
            Held::Reference(id) => writer.id(id),
            Held::Byte(value) => value.to_be_bytes().to_vec(),
            Held::Boolean(value) => vec![value.into()],
            Held::Int(value) => value.to_be_bytes().to_vec(),
            Held::Long(value) => value.to_be_bytes().to_vec(),
            Held::Double(value) => value.to_be_bytes().to_vec(),
        }
    }
}

/// A dump on its way: ids of 8 bytes, every object held by a root. Classes are at 0x100_0000 and above.
pub struct JavaDump {
    writer: Writer,
    classes: Vec<Vec<u8>>,
    objects: Vec<Vec<u8>>,
    names: u64,
    class_count: u64,
}

const CLASSES: u64 = 0x100_0000_0000;
const NAMES: u64 = 0x200_0000_0000;

impl JavaDump {
    pub fn new() -> Self {
        let writer = Writer::new("1.0.2", 8);
        JavaDump { writer, classes: Vec::new(), objects: Vec::new(), names: NAMES, class_count: 0 }
    }

    fn name(&mut self, text: &str) -> u64 {
        self.names += 16;
        let body = [self.writer.id(self.names), text.as_bytes().to_vec()].concat();
        self.writer.record(1, &body);
        self.names
    }

    /// A class with fields by name and kind (values do not matter), and static variables; its id.
    pub fn class(&mut self, name: &str, superclass: u64, fields: &[(&str, Held)], statics: &[(&str, Held)]) -> u64 {
        let class = self.class_of_loader(name, superclass, 0, fields, statics);
        self.sticky_class(class);
        class
    }

    /// The root of a class of the runtime.
    pub fn sticky_class(&mut self, id: u64) {
        self.objects.push([vec![0x05], self.writer.id(id)].concat());
    }

    /// A class of a loader, which no root holds.
    pub fn loaded_class(&mut self, name: &str, superclass: u64, loader: u64, fields: &[(&str, Held)]) -> u64 {
        self.class_of_loader(name, superclass, loader, fields, &[])
    }

    fn class_of_loader(
        &mut self,
        name: &str,
        superclass: u64,
        loader: u64,
        fields: &[(&str, Held)],
        statics: &[(&str, Held)],
    ) -> u64 {
        self.class_count += 1;
        let class = CLASSES + 0x100 * self.class_count;
        self.writer.class(class, name);
        let mut dump = [vec![0x20], self.writer.id(class), vec![0; 4], self.writer.id(superclass)].concat();
        dump.extend(self.writer.id(loader));
        dump.extend(vec![0; 4 * 8]);
        dump.extend([0; 4]);
        dump.extend([0; 2]);
        dump.extend((statics.len() as u16).to_be_bytes());
        for &(name, held) in statics {
            let name = self.name(name);
            dump.extend([self.writer.id(name), vec![held.basic_type()], held.bytes(&self.writer)].concat());
        }
        dump.extend((fields.len() as u16).to_be_bytes());
        for &(name, held) in fields {
            let name = self.name(name);
            dump.extend(self.writer.id(name));
            dump.push(held.basic_type());
        }
        self.classes.push(dump);
        class
    }

    /// An instance: its own class's fields first, then those of its superclass.
    pub fn instance(&mut self, id: u64, class: u64, values: &[Held]) {
        let values: Vec<u8> = values.iter().flat_map(|value| value.bytes(&self.writer)).collect();
        let length = (values.len() as u32).to_be_bytes().to_vec();
        let record = [vec![0x21], self.writer.id(id), vec![0; 4], self.writer.id(class), length, values].concat();
        self.objects.push(record);
    }

    /// An array of references.
    pub fn references(&mut self, id: u64, class: u64, elements: &[u64]) {
        let length = (elements.len() as u32).to_be_bytes().to_vec();
        let ids: Vec<u8> = elements.iter().flat_map(|&id| self.writer.id(id)).collect();
        let record = [vec![0x22], self.writer.id(id), vec![0; 4], length, self.writer.id(class), ids].concat();
        self.objects.push(record);
    }

    /// An array of bytes (8), characters (5), numbers (10, 11), each element as its bytes.
    pub fn primitives(&mut self, id: u64, basic_type: u8, width: usize, bytes: &[u8]) {
        let length = ((bytes.len() / width) as u32).to_be_bytes().to_vec();
        let record = [vec![0x23], self.writer.id(id), vec![0; 4], length, vec![basic_type], bytes.to_vec()].concat();
        self.objects.push(record);
    }

    /// A stack trace of methods, innermost first.
    pub fn trace(&mut self, serial: u32, methods: &[&str]) {
        let mut frames = Vec::new();
        for method in methods {
            let name = self.name(method);
            let none = self.writer.id(0);
            let frame = [self.writer.id(name), self.writer.id(name), none.clone(), none, vec![0; 8]].concat();
            self.writer.record(4, &frame);
            frames.extend(self.writer.id(name));
        }
        let head = [serial, 0, methods.len() as u32].map(u32::to_be_bytes).concat();
        self.writer.record(5, &[head, frames].concat());
    }

    /// The root of a thread with the stack of a trace.
    pub fn thread(&mut self, id: u64, serial: u32, trace: u32) {
        let numbers = [serial, trace].map(u32::to_be_bytes).concat();
        self.objects.push([vec![0x08], self.writer.id(id), numbers].concat());
    }

    /// A local variable in a frame of a thread.
    pub fn local(&mut self, id: u64, thread: u32, frame: u32) {
        let numbers = [thread, frame].map(u32::to_be_bytes).concat();
        self.objects.push([vec![0x03], self.writer.id(id), numbers].concat());
    }

    /// A root of kind `unknown`.
    pub fn root(&mut self, id: u64) {
        self.objects.push(self.writer.root(id));
    }

    /// The root of a JNI global.
    pub fn jni_global(&mut self, id: u64) {
        self.objects.push([vec![0x01], self.writer.id(id), self.writer.id(1)].concat());
    }

    /// The dump.
    pub fn finish(self) -> Vec<u8> {
        let body = [&self.classes[..], &self.objects].concat().concat();
        self.finish_with(&body)
    }

    /// The dump with its classes behind the objects.
    pub fn finish_objects_first(self) -> Vec<u8> {
        let body = [&self.objects[..], &self.classes].concat().concat();
        self.finish_with(&body)
    }

    /// The dump in segments, with its classes among the objects, each in their order; `below` is asked where.
    pub fn finish_scattered(mut self, mut below: impl FnMut(u64) -> u64) -> Vec<u8> {
        let [classes, objects] = [&mut self.classes, &mut self.objects].map(std::mem::take);
        let (mut classes, mut objects) = (classes.into_iter().peekable(), objects.into_iter().peekable());
        let mut body = Vec::new();
        while classes.peek().is_some() || objects.peek().is_some() {
            let from_classes = objects.peek().is_none() || below(2) == 0;
            body.extend(if from_classes { classes.next() } else { objects.next() }.unwrap_or_default());
            if below(20) == 0 {
                self.writer.record(0x1C, &std::mem::take(&mut body));
            }
        }
        self.finish_with(&body)
    }

    fn finish_with(mut self, body: &[u8]) -> Vec<u8> {
        self.writer.record(0x1C, body);
        self.writer.record(0x2C, &[]);
        self.writer.bytes
    }
}

/// UTF-16 units as a dump has those of an array of characters.
pub fn units(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}
