//! Heaps as PHD dumps. Objects take what their class says, so each size has a class of its own under the type's name.

use super::heap::{Heap, Target};

const CLASSES: u64 = 0x8000_0000;
const MISSING: u64 = 0x4000_0000;

/// How a dump is written.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    version: u32,
    flags: u32,
    classes_first: bool,
}

/// Versions 4, 5 and 6; words of 4 and 8 bytes, hashes on all objects and on none, classes first and last.
pub const FORMS: [Form; 3] = [
    Form { version: 4, flags: 0, classes_first: true },
    Form { version: 5, flags: 4, classes_first: false },
    Form { version: 6, flags: 7, classes_first: false },
];

/// Every object in the longest form.
pub fn phd(heap: &Heap, form: Form) -> Vec<u8> {
    phd_of(heap, form, 1)
}

/// The same with all objects listed several times.
pub fn phd_of(heap: &Heap, form: Form, times: usize) -> Vec<u8> {
    let mut bytes = b"\0\x12portable heap dump".to_vec();
    bytes.extend(form.version.to_be_bytes());
    bytes.extend(form.flags.to_be_bytes());
    bytes.extend([1, 2, 2]);
    let mut writer = Writer { form, bytes, last: 0 };
    if form.classes_first {
        writer.classes(heap);
    }
    (0..times).for_each(|_| writer.objects(heap));
    if !form.classes_first {
        writer.classes(heap);
    }
    writer.bytes.push(3);
    writer.bytes
}

/// The address of an object's class.
pub fn class_address(number: usize) -> u64 {
    CLASSES + 64 * number as u64
}

struct Writer {
    form: Form,
    bytes: Vec<u8>,
    last: u64,
}

impl Writer {
    fn distance(&mut self, from: u64, to: u64) {
        let unit = if self.form.version >= 5 || self.form.flags & 4 != 0 { 4 } else { 8 };
        self.bytes.extend(((to as i64 - from as i64) / unit).to_be_bytes());
    }

    fn begin(&mut self, tag: u8, address: u64) {
        // Gap and references in 8 bytes.
        self.bytes.extend([tag, 0b1111_0000]);
        self.distance(self.last, address);
        self.last = address;
    }

    fn word(&mut self, address: u64) {
        match self.form.flags & 1 {
            0 => self.bytes.extend((address as u32).to_be_bytes()),
            _ => self.bytes.extend(address.to_be_bytes()),
        }
    }

    fn hash(&mut self) {
        if self.form.flags & 6 == 6 {
            self.bytes.extend([0x12, 0x34]);
        }
    }

    fn objects(&mut self, heap: &Heap) {
        for (number, object) in heap.objects.iter().enumerate() {
            let address = Heap::address(number);
            self.begin(4, address);
            self.word(class_address(number));
            self.hash();
            let address_of = |target: &Target| match *target {
                Target::Object(number) => Some(Heap::address(number)),
                Target::Null => None,
                Target::Missing => Some(MISSING),
            };
            let targets: Vec<u64> = object.references.iter().filter_map(address_of).collect();
            self.bytes.extend((targets.len() as u32).to_be_bytes());
            for target in targets {
                self.distance(address, target);
            }
        }
    }

    fn classes(&mut self, heap: &Heap) {
        for (number, object) in heap.objects.iter().enumerate() {
            self.begin(6, class_address(number));
            self.bytes.extend((object.bytes as u32).to_be_bytes());
            self.hash();
            self.word(0);
            let name = object.type_name.replace('.', "/");
            self.bytes.extend((name.len() as u16).to_be_bytes());
            self.bytes.extend(name.as_bytes());
            self.bytes.extend([0; 4]);
        }
    }
}
