//! Writes a heap as a .NET trace. Shares no constant and no function with the reader.

use super::heap::{Heap, Target};

const PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
/// Start, end, types, roots, objects, references.
const EVENTS: [(u32, u32); 6] = [(1, 2), (2, 1), (15, 0), (16, 0), (18, 0), (19, 0)];

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// A block's object, padded as the place in the file asks.
fn block(file: &mut Vec<u8>, name: &str, events: &[Vec<u8>]) {
    file.extend([5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0]);
    file.extend((name.len() as u32).to_le_bytes());
    file.extend(name.bytes());
    file.push(6);
    let mut content = vec![20, 0, 0, 0];
    content.extend([0; 16]);
    for event in events {
        content.extend(event);
        content.resize(content.len().next_multiple_of(4), 0);
    }
    file.extend((content.len() as u32).to_le_bytes());
    file.resize(file.len().next_multiple_of(4), 0);
    file.extend(content);
    file.push(6);
}

/// An event with an uncompressed header; every one is from a thread of its own.
fn event(metadata: u32, time: u64, thread: u64, payload: &[u8]) -> Vec<u8> {
    let mut blob = Vec::new();
    blob.extend((76 + payload.len() as u32).to_le_bytes());
    blob.extend(metadata.to_le_bytes());
    blob.extend(1u32.to_le_bytes());
    blob.extend(thread.to_le_bytes());
    blob.extend(thread.to_le_bytes());
    blob.extend([0; 8]);
    blob.extend(time.to_le_bytes());
    blob.extend([0; 32]);
    blob.extend((payload.len() as u32).to_le_bytes());
    blob.extend(payload);
    blob
}

fn bulk(index: usize, count: usize, entries: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut payload = Vec::new();
    payload.extend((index as u32).to_le_bytes());
    payload.extend((count as u32).to_le_bytes());
    payload.extend([0, 0]);
    entries.for_each(|entry| payload.extend(entry));
    payload
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A trace of container version 4 with one snapshot, a few objects an event. `reversed`: the last event first, as
/// threads may hand them over.
pub fn nettrace(heap: &Heap, reversed: bool) -> Vec<u8> {
    let mut types: Vec<&str> = heap.objects.iter().map(|object| object.type_name).collect();
    types.sort_unstable();
    types.dedup();
    let target = |target: &Target| match target {
        Target::Object(number) => Some(Heap::address(*number)),
        // The runtime does not send nulls.
        Target::Null => None,
        Target::Missing => Some(0xdead_0000),
    };
    let mut payloads: Vec<(u32, Vec<u8>)> = Vec::new();
    let gc = [7u32, 2, 1, 0];
    payloads.push((1, gc.iter().flat_map(|word| word.to_le_bytes()).chain([0; 10]).collect()));
    let mut described = (types.len() as u32).to_le_bytes().to_vec();
    described.extend([0, 0]);
    for (number, name) in types.iter().enumerate() {
        described.extend(words(&[0x1000 + 8 * number as u64, 0x500]));
        described.extend([0; 9]);
        described.extend(utf16(name));
        described.extend([0; 4]);
    }
    payloads.push((15, described));
    for (index, objects) in heap.objects.chunks(3).enumerate() {
        let entries = objects.iter().enumerate().map(|(at, object)| {
            let number = types.iter().position(|name| *name == object.type_name).unwrap() as u64;
            let references = object.references.iter().filter_map(target).count() as u64;
            words(&[Heap::address(3 * index + at), object.bytes, 0x1000 + 8 * number, references])
        });
        payloads.push((18, bulk(index, objects.len(), entries)));
    }
    let edges: Vec<u64> = heap.objects.iter().flat_map(|object| object.references.iter().filter_map(target)).collect();
    for (index, edges) in edges.chunks(4).enumerate() {
        let entries = edges.iter().map(|&edge| words(&[edge])[..].iter().copied().chain([0; 4]).collect());
        payloads.push((19, bulk(index, edges.len(), entries)));
    }
    let roots = heap.roots.iter().map(|root| {
        let mut entry = words(&[Heap::address(root.object)]);
        entry.push(0);
        entry.extend(root.flags.to_le_bytes());
        entry.extend([0; 8]);
        entry
    });
    payloads.push((16, bulk(0, heap.roots.len(), roots)));
    payloads.push((2, [7u32, 2].iter().flat_map(|word| word.to_le_bytes()).chain([0; 2]).collect()));

    let metadata = |number: u32| EVENTS.iter().position(|(event, _)| *event == number).unwrap() as u32 + 1;
    let rows: Vec<Vec<u8>> = EVENTS
        .iter()
        .map(|&(number, version)| {
            let mut row = metadata(number).to_le_bytes().to_vec();
            row.extend(utf16(PROVIDER));
            row.extend(number.to_le_bytes());
            row.extend([0; 10]);
            row.extend(version.to_le_bytes());
            row.extend([0; 8]);
            event(0, 0, 0, &row)
        })
        .collect();
    let mut events: Vec<Vec<u8>> = payloads
        .iter()
        .enumerate()
        .map(|(at, (number, payload))| event(metadata(*number), 100 + at as u64, 1 + at as u64, payload))
        .collect();
    if reversed {
        events.reverse();
    }
    let mut file =
        b"Nettrace\x14\0\0\0!FastSerialization.1\x05\x05\x01\x04\0\0\0\x04\0\0\0\x05\0\0\0Trace\x06".to_vec();
    for field in [2026u16, 11, 5, 20, 6, 4, 12, 0] {
        file.extend(field.to_le_bytes());
    }
    file.extend(words(&[0, 1_000_000_000]));
    file.extend([8, 0, 0, 0, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 6]);
    block(&mut file, "MetadataBlock", &rows);
    for events in events.chunks(4) {
        block(&mut file, "EventBlock", events);
    }
    file.push(1);
    file
}
