//! Types of libraries: one list for each runtime. They hold memory for a program; what leaks is the program's own.

use crate::analysis::selection::TypePattern;
use crate::graph::{HeapGraph, TypeSet};
use crate::input::Runtime;

/// Types that belong to a runtime and its libraries, as patterns: never to the program that leaks.
pub fn libraries_of(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::DotNet => &["System.*", "Microsoft.*", "Interop*", "Internal.*", "MS.*", "Mono.*"],
        Runtime::Java => &[
            "java.*",
            "javax.*",
            "jdk.*",
            "sun.*",
            "com.sun.*",
            "com.ibm.*",
            "org.apache.*",
            "boolean[*",
            "byte[*",
            "char[*",
            "short[*",
            "int[*",
            "long[*",
            "float[*",
            "double[*",
            "primitive array",
            "[*",
        ],
        Runtime::JavaScript => &[
            "(*",
            "{*",
            "Array",
            "ArrayBuffer",
            "Function",
            "Generator",
            "Map",
            "Object",
            "Promise",
            "RegExp",
            "Set",
            "Uint8Array",
            "WeakMap",
            "global",
            "process",
            "system / *",
            "Node / *",
            "Window*",
        ],
        Runtime::Native => &[],
    }
}

/// Names of a library's types: of the runtime of a format, or matched by other patterns.
pub(crate) struct LibraryNames {
    patterns: Vec<TypePattern>,
}

impl LibraryNames {
    pub(crate) fn of(format: &str, others: &[TypePattern]) -> Self {
        let of_runtime = Runtime::of_format(format).map_or(&[][..], libraries_of);
        let of_runtime = of_runtime.iter().filter_map(|text| TypePattern::parse(text).ok());
        LibraryNames { patterns: of_runtime.chain(others.iter().cloned()).collect() }
    }

    /// Slashes (`java/lang/String`) are read as dots. O(patterns).
    pub(crate) fn contains(&self, name: &str) -> bool {
        let name = name.replace('/', ".");
        self.patterns.iter().any(|pattern| pattern.matches(&name))
    }
}

/// The types of libraries: of the runtime of this format, or one that `others` match. Slashes in names
/// (`java/lang/String`) are read as dots. O(types x patterns).
pub(in crate::answers) fn library_types(graph: &HeapGraph, format: &str, others: &[TypePattern]) -> TypeSet {
    let libraries = LibraryNames::of(format, others);
    TypeSet::of(graph, |type_id| libraries.contains(graph.type_name(type_id)))
}

#[cfg(test)]
mod tests {
    use super::libraries_of;
    use crate::analysis::selection::TypePattern;
    use crate::input::{READERS, Runtime};

    #[test]
    fn every_reader_has_a_runtime_and_every_pattern_can_be_read() {
        for reader in READERS {
            assert!(Runtime::ALL.contains(&reader.runtime()), "{}", reader.name());
            assert_eq!(Runtime::of_format(reader.name()), Some(reader.runtime()));
        }
        for runtime in Runtime::ALL {
            assert!(READERS.iter().any(|reader| reader.runtime() == runtime), "{runtime:?} has no reader");
            for text in libraries_of(runtime) {
                assert!(TypePattern::parse(text).is_ok(), "{runtime:?}: {text}");
            }
        }
        assert_eq!(Runtime::of_format("no such format"), None);
    }
}
