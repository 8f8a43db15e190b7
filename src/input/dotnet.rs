//! Parts of the two .NET formats that are alike: names of types, made readable by parsing them, not by replacing text (`[`
//! opens generic arguments or array ranks, and `<>c` is a name), and advice.

/// Advice for a trace without a heap snapshot.
pub(super) const HOW_TO_COLLECT_SNAPSHOT: &str = "collect one with the keywords 0x1980001 of Microsoft-Windows-DotNETRuntime at \
     level 5, for instance with `dotnet-trace collect --providers Microsoft-Windows-DotNETRuntime:0x1980001:5`, or take \
     a .gcdump with `dotnet-gcdump collect`";

/// Turns ``System.Collections.Generic.Dictionary`2[System.String,A.B]`` into what source code says:
/// `System.Collections.Generic.Dictionary<System.String,A.B>`. Brackets that hold nothing, commas or `*` are ranks of
/// arrays and stay; so do names that the compiler made up (`<>c`, `<Main>b__0`).
pub(super) fn source_type_name(raw: &str) -> String {
    let bytes = raw.as_bytes();
    let mut clean = String::with_capacity(raw.len());
    // For each bracket still open: is it one of generic arguments?
    let mut open: Vec<bool> = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let mut skip = 1;
        let instead = match bytes[at] {
            b'`' => {
                let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                skip = 1 + digits;
                (digits > 0).then_some("")
            }
            b'[' => {
                let arguments = !is_array_rank(&bytes[at + 1..]);
                open.push(arguments);
                arguments.then_some("<")
            }
            b']' => open.pop().unwrap_or(false).then_some(">"),
            _ => None,
        };
        if let Some(text) = instead {
            // Cuts are next to ASCII, so they are between characters.
            clean.push_str(&raw[copied..at]);
            clean.push_str(text);
            copied = at + skip;
        }
        at += skip;
    }
    clean.push_str(&raw[copied..]);
    clean
}

/// Is it the name of an array: are its last brackets those of a rank?
pub(super) fn is_array_name(raw: &str) -> bool {
    raw.strip_suffix(']').is_some_and(|rest| rest.trim_end_matches([',', '*']).ends_with('['))
}

fn is_array_rank(after_bracket: &[u8]) -> bool {
    after_bracket.iter().find(|byte| !matches!(byte, b',' | b'*')) == Some(&b']')
}

/// Undoes what the makers of .gcdump files do to names by replacing text: `[]c` was `<>c`, `Int32<,>` was `Int32[,]`.
pub(super) fn repaired_type_name(name: &str) -> String {
    let mut repaired = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(['[', '<']) {
        let (before, bracket) = rest.split_at(at);
        repaired.push_str(before);
        let starts_name = repaired.is_empty() || repaired.ends_with(['.', '+', ',', '<', '!', ' ']);
        let commas = bracket.bytes().skip(1).take_while(|&byte| byte == b',').count();
        if starts_name && bracket.starts_with("[]") {
            repaired.push_str("<>");
            rest = &bracket[2..];
        } else if commas > 0 && bracket.starts_with('<') && bracket[1 + commas..].starts_with('>') {
            repaired.push('[');
            repaired.push_str(&bracket[1..=commas]);
            repaired.push(']');
            rest = &bracket[2 + commas..];
        } else {
            repaired.push_str(&bracket[..1]);
            rest = &bracket[1..];
        }
    }
    repaired.push_str(rest);
    repaired
}

/// Without ` (Bytes > 1K)`, by which the makers of .gcdump files split a type.
pub(super) fn without_size_suffix(name: &str) -> &str {
    let Some((base, suffix)) = name.rsplit_once(" (Bytes > ") else { return name };
    let digits = suffix.trim_end_matches(')').trim_end_matches(['K', 'M', 'G']);
    let is_size = suffix.ends_with(')') && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_size { base } else { name }
}

/// The last part of a path of Windows or Unix.
pub(super) fn file_name_of(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_source_code_writes_them() {
        for (raw, clean) in [
            ("System.String", "System.String"),
            ("System.Int32[,]", "System.Int32[,]"),
            ("System.Int32[][,,]", "System.Int32[][,,]"),
            ("A`2[System.String,B.C]", "A<System.String,B.C>"),
            ("A`1[B`1[System.Int32[]]][]", "A<B<System.Int32[]>>[]"),
            ("<>c", "<>c"),
            ("<>c__DisplayClass1_0`1[<>f__AnonymousType0`1[X]]", "<>c__DisplayClass1_0<<>f__AnonymousType0<X>>"),
            (
                "Box`1[System.Int32,Demo.Program+<WaitFor>c__async0]",
                "Box<System.Int32,Demo.Program+<WaitFor>c__async0>",
            ),
            ("Entry[K,V][]", "Entry<K,V>[]"),
            ("Größe`1[日本]", "Größe<日本>"),
            ("odd`", "odd`"),
            ("]unbalanced[", "]unbalanced<"),
            ("", ""),
        ] {
            assert_eq!(source_type_name(raw), clean);
        }
    }

    #[test]
    fn arrays_by_name() {
        for name in ["A[]", "A[,]", "A[*]", "A[][,]", "A`1[B[]][]"] {
            assert!(is_array_name(name), "{name}");
        }
        for name in ["A", "", "A`1[B[]]", "A`1[B]", "]", "A["] {
            assert!(!is_array_name(name), "{name}");
        }
    }

    #[test]
    fn names_of_gcdumps_are_repaired() {
        for (name, repaired) in [
            ("[]c", "<>c"),
            ("A.Func<A+[]c,B[]>", "A.Func<A+<>c,B[]>"),
            ("System.Int32<,>", "System.Int32[,]"),
            ("List<System.Int32<,,>>", "List<System.Int32[,,]>"),
            ("System.Byte[]", "System.Byte[]"),
            ("A<B[][]>[]", "A<B[][]>[]"),
        ] {
            assert_eq!(repaired_type_name(name), repaired);
        }
    }

    #[test]
    fn size_suffixes() {
        assert_eq!(without_size_suffix("A[] (Bytes > 10K)"), "A[]");
        assert_eq!(without_size_suffix("A (Bytes > x)"), "A (Bytes > x)");
        assert_eq!(without_size_suffix("A"), "A");
    }
}
