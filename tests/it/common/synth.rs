//! Writes a heap in every format that can hold it. Shares no constant and no function with the readers.

use super::heap::{Heap, TYPES, Target};

const MISSING: u64 = 0xdead_0000;

/// XNA / .NET CF text: types in the middle, roots at the end.
pub fn xna_cf(heap: &Heap) -> String {
    let mut types: Vec<&str> = heap.objects.iter().map(|object| object.type_name).collect();
    types.sort_unstable();
    types.dedup();
    let mut text = String::from("a 2 Synth Game.exe 763f9d2\n");
    let middle = heap.objects.len() / 2;
    for number in 0..=heap.objects.len() {
        if number == middle {
            for (id, name) in types.iter().enumerate() {
                text += &format!("t {:x} {name}\n", id + 0x1a);
            }
        }
        let Some(object) = heap.objects.get(number) else { continue };
        let type_id = types.iter().position(|name| *name == object.type_name).unwrap() + 0x1a;
        text += &format!("o {:x} {type_id:x} {:x}", Heap::address(number), object.bytes);
        for target in &object.references {
            text += &format!(" {:x}", word(*target));
        }
        text.push('\n');
    }
    for root in &heap.roots {
        text += &format!("r {:x} {:x} {:x}\n", Heap::address(root.object), root.kind, root.flags);
    }
    text + "c Synth Game.exe 763fbef\n"
}

/// The forms of the neutral lines: ids as numbers or texts, types by name or by number, roots first or last.
pub const FORMS_OF_LINES: [bool; 2] = [false, true];

/// Neutral lines.
pub fn heapgraph(heap: &Heap, is_other_form: bool) -> String {
    let id = |id: u64| if is_other_form { format!("\"{id:#x}\"") } else { id.to_string() };
    let type_of = |name: &str| match (is_other_form, TYPES.iter().position(|known| *known == name)) {
        (true, Some(number)) => number.to_string(),
        _ => format!("\"{name}\""),
    };
    let mut roots: String = heap
        .roots
        .iter()
        .map(|root| {
            let flags = if root.is_weak() { ", \"flags\": [\"weak\"]" } else { "" };
            format!("{{\"root\": {}, \"kind\": \"static\"{flags}}}\n", id(Heap::address(root.object)))
        })
        .collect();
    let mut text = String::from("{\"heapgraph\":1}\n");
    if is_other_form {
        text += &std::mem::take(&mut roots);
    }
    for (number, object) in heap.objects.iter().enumerate() {
        let references: Vec<String> = object.references.iter().map(|target| id(word(*target))).collect();
        let references = references.join(if is_other_form { ", " } else { "," });
        let name = type_of(object.type_name);
        text += &format!(
            "{{\"id\":{},\"size\":{},\"type\":{name},\"refs\":[{references}]}}\n",
            id(Heap::address(number)),
            object.bytes
        );
    }
    if is_other_form {
        text.extend(
            TYPES.iter().enumerate().map(|(number, name)| format!("{{\"type\":{number},\"name\":\"{name}\"}}\n")),
        );
    }
    text + &roots + &format!("{{\"end\":true,\"objects\":{}}}", heap.objects.len())
}

fn word(target: Target) -> u64 {
    match target {
        Target::Object(number) => Heap::address(number),
        Target::Null => 0,
        Target::Missing => MISSING,
    }
}

/// The four shapes of IBM classic text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    ClassFirst,
    Native,
    Jdmpview,
    Sovereign,
}

pub const SHAPES: [Shape; 4] = [Shape::ClassFirst, Shape::Native, Shape::Jdmpview, Shape::Sovereign];

/// IBM classic text. Roots are not written: the format has none. `ClassFirst` needs a null somewhere to be told apart,
/// so one is added to the first object.
pub fn ibm_classic(heap: &Heap, shape: Shape) -> String {
    let mut text = String::from("// Version: J2RE 6.0 synthetic\n");
    let (mut printed, mut nulls) = (0, 0);
    for (number, object) in heap.objects.iter().enumerate() {
        let name = object.type_name.replace('.', "/");
        text += &match shape {
            Shape::Sovereign => format!("0x{:08x} [{}] {name}\n\t", Heap::address(number), object.bytes),
            _ => format!("0x{:08X} [{}] OBJ {name}\n\t", Heap::address(number), object.bytes),
        };
        let mut words: Vec<Option<u64>> = Vec::new();
        if shape == Shape::ClassFirst {
            words.push(Some(0x4150_0000 + 8 * object.type_name.len() as u64));
        }
        words.extend(object.references.iter().map(|target| match word(*target) {
            0 => None,
            address => Some(address),
        }));
        if shape == Shape::ClassFirst && number == 0 {
            words.push(None);
        }
        for word in words {
            let written = match (word, shape) {
                (Some(address), Shape::Sovereign) => format!("0x{address:08x} "),
                (Some(address), _) => format!("0x{address:08X} "),
                (None, Shape::ClassFirst) => "0x00000000 ".into(),
                (None, Shape::Jdmpview) => "0x0 ".into(),
                (None, _) => String::new(),
            };
            nulls += u64::from(word.is_none());
            printed += u64::from(!written.is_empty());
            text += &written;
        }
        text.push('\n');
    }
    let count = heap.objects.len();
    let references = if matches!(shape, Shape::Native | Shape::Sovereign) { printed + nulls } else { printed };
    text + &match shape {
        Shape::Jdmpview => format!(
            "// Breakdown - Classes:0, Objects:{count}, ObjectArrays:0, PrimitiveArrays:0\n\
             // EOF: Total 'Objects',Refs(null) :{count},{references}({nulls})\n"
        ),
        _ => format!(
            "// Breakdown - Classes: 0, Objects: {count}, ObjectArrays: 0, PrimitiveArrays: 0\n\
             // EOF:  Total 'Objects',Refs(null) : {count},{references}({nulls})\n"
        ),
    }
}

/// A dump whose output is written for long enough to be met in the middle: many types, each with a rooted object.
pub fn wide_dump(types: u32) -> String {
    let mut dump = String::from("a 2 x\n");
    for at in 1..=types {
        dump += &format!("t {at:x} Some.Rather.Long.Name.Of.A.Type.That.Fills.Lines.Number{at}\n");
    }
    for at in 1..=types {
        dump += &format!("o {:x} {at:x} 10\nr {:x} 1 0\n", 0x100_0000 + at * 16, 0x100_0000 + at * 16);
    }
    dump + "c x\n"
}
