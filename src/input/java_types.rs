//! Java's primitive types, and names of types: from the virtual machine's form to what source code writes.

use crate::graph::FieldKind;

/// The primitive types in the order of the dump formats' numbers: kind, name, and letter in the virtual machine's names.
pub(crate) const PRIMITIVES: [(FieldKind, &str, &str); 8] = [
    (FieldKind::Boolean, "boolean", "Z"),
    (FieldKind::Char, "char", "C"),
    (FieldKind::Float, "float", "F"),
    (FieldKind::Double, "double", "D"),
    (FieldKind::Byte, "byte", "B"),
    (FieldKind::Short, "short", "S"),
    (FieldKind::Int, "int", "I"),
    (FieldKind::Long, "long", "J"),
];

/// Classes of boxed primitive values.
pub(crate) const BOX_CLASSES: [&str; 8] = [
    "java.lang.Boolean",
    "java.lang.Byte",
    "java.lang.Character",
    "java.lang.Double",
    "java.lang.Float",
    "java.lang.Integer",
    "java.lang.Long",
    "java.lang.Short",
];

/// `[Ljava/util/Hashtable$Entry;` as `java.util.Hashtable$Entry[]`, `[[I` as `int[][]`, `array of [C` as `char[][]`.
/// Anything else only has its slashes turned to dots, but not one before `0x`, which is part of the name of a hidden
/// class (`A$$Lambda$1/0x00000000080c3000`).
pub(super) fn source_form(name: &str) -> String {
    let (name, more_dimensions) = name.strip_prefix("array of ").map_or((name, 0), |element| (element, 1));
    source_form_with(name, more_dimensions, dotted_class_name)
}

/// The same with so many dimensions more; `class_form` makes the name of a class.
pub(super) fn source_form_with(name: &str, more_dimensions: usize, class_form: impl Fn(&str) -> String) -> String {
    let element = name.trim_start_matches('[');
    let brackets = name.len() - element.len();
    let primitive = PRIMITIVES.iter().find(|(.., letter)| brackets > 0 && *letter == element);
    let element = match (brackets, primitive) {
        (0, _) => class_form(element),
        (_, Some((_, primitive, _))) => (*primitive).into(),
        _ => match element.strip_prefix('L').and_then(|class| class.strip_suffix(';')) {
            Some(class) => class_form(class),
            // Not a signature: as it stands.
            None => return class_form(name),
        },
    };
    element + &"[]".repeat(brackets + more_dimensions)
}

fn dotted_class_name(class: &str) -> String {
    match class.find("/0x") {
        Some(at) => class[..at].replace('/', ".") + &class[at..],
        None => class.replace('/', "."),
    }
}

/// Is a record of this type an array?
pub(super) fn is_array_name(name: &[u8]) -> bool {
    name.starts_with(b"[") || name.starts_with(b"array of ") || name == b"primitive array" || name.ends_with(b"[]")
}

#[cfg(test)]
mod tests {
    use super::source_form;

    #[test]
    fn signatures_become_source_code() {
        for (name, expected) in [
            ("java/lang/String", "java.lang.String"),
            ("[C", "char[]"),
            ("[[J", "long[][]"),
            ("[Ljava/util/Hashtable$Entry;", "java.util.Hashtable$Entry[]"),
            ("array of java/lang/Thread", "java.lang.Thread[]"),
            ("array of [[Ljava/lang/Object;", "java.lang.Object[][][]"),
            ("array of [I", "int[][]"),
            ("primitive array", "primitive array"),
            ("char[]", "char[]"),
            ("int", "int"),
            ("a/A$$Lambda$1/0x00000000080c3000", "a.A$$Lambda$1/0x00000000080c3000"),
            ("[Qweird", "[Qweird"),
            ("[", "["),
        ] {
            assert_eq!(source_form(name), expected);
        }
    }
}
