//! Heaps as PHD dumps. Objects take what their class says, so each size has a class of its own under the type's name.

use super::heap::{Heap, Target};

const CLASSES: u64 = 0x8000_0000;
const MISSING: u64 = 0x4000_0000;

/// Version 5, 32 bits, every object in the longest form; classes last.
pub fn phd(heap: &Heap) -> Vec<u8> {
    let mut bytes = b"\0\x12portable heap dump".to_vec();
    bytes.extend([0, 0, 0, 5, 0, 0, 0, 4, 1, 2]);
    let mut last = 0u64;
    let mut begin = |bytes: &mut Vec<u8>, tag: u8, address: u64| {
        // Gap and references in 8 bytes.
        bytes.extend([tag, 0b1111_0000]);
        bytes.extend(((address as i64 - last as i64) / 4).to_be_bytes());
        last = address;
    };
    let class_of = |number: usize| CLASSES + 64 * number as u64;
    for (number, object) in heap.objects.iter().enumerate() {
        let address = Heap::address(number);
        begin(&mut bytes, 4, address);
        bytes.extend((class_of(number) as u32).to_be_bytes());
        let targets: Vec<u64> = object
            .references
            .iter()
            .filter_map(|target| match *target {
                Target::Object(number) => Some(Heap::address(number)),
                Target::Null => None,
                Target::Missing => Some(MISSING),
            })
            .collect();
        bytes.extend((targets.len() as u32).to_be_bytes());
        for target in targets {
            bytes.extend(((target as i64 - address as i64) / 4).to_be_bytes());
        }
    }
    for (number, object) in heap.objects.iter().enumerate() {
        begin(&mut bytes, 6, class_of(number));
        bytes.extend((object.bytes as u32).to_be_bytes());
        bytes.extend([0; 4]);
        let name = object.type_name.replace('.', "/");
        bytes.extend((name.len() as u16).to_be_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend([0; 4]);
    }
    bytes.push(3);
    bytes
}
