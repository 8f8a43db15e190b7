//! Java type names: from the virtual machine's form to what source code writes.

/// `[Ljava/util/Hashtable$Entry;` as `java.util.Hashtable$Entry[]`, `[[I` as `int[][]`, `array of [C` as `char[][]`.
/// Anything else only has its slashes turned to dots, but not one before `0x`, which is part of the name of a hidden
/// class (`A$$Lambda$1/0x00000000080c3000`).
pub(super) fn source_form(name: &str) -> String {
    let (name, mut dimensions) = match name.strip_prefix("array of ") {
        Some(element) => (element, 1),
        None => (name, 0),
    };
    let element = name.trim_start_matches('[');
    let brackets = name.len() - element.len();
    let element = match (brackets, element) {
        (0, _) => dotted(element),
        (_, "Z") => "boolean".into(),
        (_, "B") => "byte".into(),
        (_, "C") => "char".into(),
        (_, "S") => "short".into(),
        (_, "I") => "int".into(),
        (_, "J") => "long".into(),
        (_, "F") => "float".into(),
        (_, "D") => "double".into(),
        _ => match element.strip_prefix('L').and_then(|class| class.strip_suffix(';')) {
            Some(class) => dotted(class),
            // Not a signature: as it stands.
            None => return dotted(name),
        },
    };
    dimensions += brackets;
    element + &"[]".repeat(dimensions)
}

fn dotted(class: &str) -> String {
    match class.find("/0x") {
        Some(at) => class[..at].replace('/', ".") + &class[at..],
        None => class.replace('/', "."),
    }
}

/// Is a record of this type an array?
pub(super) fn is_array(name: &[u8]) -> bool {
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
