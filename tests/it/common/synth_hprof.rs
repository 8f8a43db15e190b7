//! Writes heaps as Java heap dumps (HPROF). Shares no constant and no function with the reader.

use super::heap::{Heap, Target};

const MISSING: u64 = 0xdead_0000;
/// Objects' classes are above all objects: each object has one of its own, whose instances are as large as it is.
const CLASSES: u64 = 0x8_0000;
const CLASS_CLASS: u64 = 0x7_0000;

/// How a dump is written.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// 4 or 8.
    pub id_bytes: usize,
    /// Bytes of a segment at most; 0 for one record of all.
    pub segment_bytes: usize,
    pub classes_last: bool,
}

pub const FORMS: [Form; 4] = [
    Form { id_bytes: 4, segment_bytes: 0, classes_last: false },
    Form { id_bytes: 8, segment_bytes: 0, classes_last: true },
    Form { id_bytes: 8, segment_bytes: 100, classes_last: false },
    Form { id_bytes: 4, segment_bytes: 300, classes_last: true },
];

pub struct Writer {
    pub bytes: Vec<u8>,
    id_bytes: usize,
}

impl Writer {
    pub fn new(version: &str, id_bytes: usize) -> Self {
        let mut bytes = format!("JAVA PROFILE {version}\0").into_bytes();
        bytes.extend((id_bytes as u32).to_be_bytes());
        bytes.extend(1_700_000_000_000u64.to_be_bytes());
        Writer { bytes, id_bytes }
    }

    pub fn id(&self, id: u64) -> Vec<u8> {
        id.to_be_bytes()[8 - self.id_bytes..].to_vec()
    }

    pub fn record(&mut self, tag: u8, body: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend([0; 4]);
        self.bytes.extend((body.len() as u32).to_be_bytes());
        self.bytes.extend(body);
    }

    /// A text and a class of that name.
    pub fn class(&mut self, class: u64, name: &str) {
        let text = [self.id(class + 1), name.replace('.', "/").into_bytes()].concat();
        self.record(1, &text);
        let load = [vec![0, 0, 0, 1], self.id(class), vec![0; 4], self.id(class + 1)].concat();
        self.record(2, &load);
    }

    /// A class dump with so many fields that are references, all of one name.
    pub fn class_dump(&self, class: u64, instance_bytes: u32, fields: usize) -> Vec<u8> {
        let mut bytes = vec![0x20];
        bytes.extend(self.id(class));
        bytes.extend([0; 4]);
        bytes.extend(vec![0; 6 * self.id_bytes]);
        bytes.extend(instance_bytes.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend((fields as u16).to_be_bytes());
        for _ in 0..fields {
            bytes.extend(self.id(class + 1));
            bytes.push(2);
        }
        bytes
    }

    pub fn instance(&self, id: u64, class: u64, references: &[u64]) -> Vec<u8> {
        let values: Vec<u8> = references.iter().flat_map(|&id| self.id(id)).collect();
        let length = (values.len() as u32).to_be_bytes().to_vec();
        [vec![0x21], self.id(id), vec![0; 4], self.id(class), length, values].concat()
    }

    pub fn root(&self, id: u64) -> Vec<u8> {
        [vec![0xFF], self.id(id)].concat()
    }
}

/// The heap as an Android dump: there class dumps state what instances take.
pub fn hprof(heap: &Heap, form: Form) -> Vec<u8> {
    let mut writer = Writer::new("1.0.3", form.id_bytes);
    let class_of = |number: usize| CLASSES + 16 * number as u64;
    writer.class(CLASS_CLASS, "java.lang.Class");
    for (number, object) in heap.objects.iter().enumerate() {
        writer.class(class_of(number), object.type_name);
    }
    let mut classes = vec![writer.class_dump(CLASS_CLASS, 0, 0)];
    let mut objects = Vec::new();
    for (number, object) in heap.objects.iter().enumerate() {
        classes.push(writer.class_dump(class_of(number), object.bytes as u32, object.references.len()));
        let references: Vec<u64> = object
            .references
            .iter()
            .map(|target| match target {
                Target::Object(number) => Heap::address(*number),
                Target::Null => 0,
                Target::Missing => MISSING,
            })
            .collect();
        objects.push(writer.instance(Heap::address(number), class_of(number), &references));
    }
    let roots = heap.roots.iter().map(|root| writer.root(Heap::address(root.object)));
    objects.extend(roots);
    let (first, then) = if form.classes_last { (objects, classes) } else { (classes, objects) };
    let entries = first.into_iter().chain(then);
    if form.segment_bytes == 0 {
        let body: Vec<u8> = entries.flatten().collect();
        writer.record(0x0C, &body);
        return writer.bytes;
    }
    let mut body = Vec::new();
    for entry in entries {
        if body.len() + entry.len() > form.segment_bytes && !body.is_empty() {
            writer.record(0x1C, &std::mem::take(&mut body));
        }
        body.extend(entry);
    }
    writer.record(0x1C, &body);
    writer.record(0x2C, &[]);
    writer.bytes
}
