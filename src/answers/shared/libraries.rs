//! The owner of a type: the runtime, a library, or the program itself. Libraries hold memory for a program; what leaks is the
//! program's own.

use std::borrow::Cow;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::analysis::leaks::CodeOwner;
use crate::analysis::type_patterns::TypePattern;
use crate::graph::{HeapGraph, TypeSet};
use crate::input::Runtime;

static LIBRARY_PREFIXES: &str = include_str!("libraries.txt");

type OwnersByPrefix = FxHashMap<&'static str, CodeOwner>;

fn owners_by_prefix_of(runtime: Runtime) -> &'static OwnersByPrefix {
    static BY_SECTION: OnceLock<FxHashMap<&'static str, OwnersByPrefix>> = OnceLock::new();
    static NO_PREFIXES: OnceLock<OwnersByPrefix> = OnceLock::new();
    let all = BY_SECTION.get_or_init(|| {
        let mut all: FxHashMap<&'static str, OwnersByPrefix> = FxHashMap::default();
        let mut section = ("", CodeOwner::Runtime);
        for line in LIBRARY_PREFIXES.lines().filter(|line| !line.starts_with('#')) {
            if let Some((runtime, owner)) = line.strip_prefix('[').and_then(|line| line.split_once(' ')) {
                section = (runtime, if owner == "runtime]" { CodeOwner::Runtime } else { CodeOwner::Library });
                continue;
            }
            let prefixes = all.entry(section.0).or_default();
            prefixes.extend(line.split_whitespace().map(|prefix| (prefix, section.1)));
        }
        all
    });
    all.get(list_key_of_runtime(runtime)).unwrap_or_else(|| NO_PREFIXES.get_or_init(OwnersByPrefix::default))
}

fn list_key_of_runtime(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Java => "java",
        Runtime::DotNet => "dotnet",
        Runtime::JavaScript => "javascript",
        Runtime::Python => "python",
        Runtime::Ruby => "ruby",
        _ => "",
    }
}

/// A type's name with dots between packages: `java/lang/String` as `java.lang.String`. Names of V8's own stay: `system / Map`.
pub(crate) fn dotted_type_name(name: &str) -> Cow<'_, str> {
    if name.contains('/') && !name.contains(" / ") { name.replace('/', ".").into() } else { name.into() }
}

/// Names of types that are not the program's own: of the runtime of a format and its libraries, or matched by patterns.
#[derive(Clone)]
pub(crate) struct LibraryNames {
    runtime: Option<Runtime>,
    library_patterns: Vec<TypePattern>,
    own_patterns: Vec<TypePattern>,
    /// Nothing would be left as the program's own: libraries are.
    libraries_are_own: bool,
}

impl LibraryNames {
    /// By the lists alone, and patterns of other libraries.
    pub(crate) fn of(runtime: Option<Runtime>, libraries: &[TypePattern]) -> Self {
        LibraryNames {
            runtime,
            library_patterns: libraries.to_vec(),
            own_patterns: Vec::new(),
            libraries_are_own: false,
        }
    }

    /// The same, with patterns of what is the program's own all the same.
    pub(crate) fn with_own(self, mine: &[TypePattern]) -> Self {
        LibraryNames { own_patterns: mine.to_vec(), ..self }
    }

    /// Takes libraries as the program's own where none of the types of a graph would be. O(types).
    pub(crate) fn take_libraries_as_own_if_alone(mut self, graph: &HeapGraph) -> Self {
        let is_own = |name: &str| self.owner_of(name) == CodeOwner::Application;
        self.libraries_are_own = !graph.types().ids().any(|type_id| is_own(graph.type_name(type_id)));
        self
    }

    /// The owner of the type of a name. Slashes (`java/lang/String`) are read as dots. O(patterns + length of the name).
    pub(crate) fn owner_of(&self, name: &str) -> CodeOwner {
        let name = dotted_type_name(name);
        self.owner_by_pattern(&name).unwrap_or_else(|| match self.owner_by_prefix(&name) {
            CodeOwner::Library if self.libraries_are_own => CodeOwner::Application,
            owner => owner,
        })
    }

    pub(crate) fn owner_by_pattern(&self, name: &str) -> Option<CodeOwner> {
        let is_one = |patterns: &[TypePattern]| patterns.iter().any(|pattern| pattern.matches(name));
        match () {
            () if is_one(&self.own_patterns) => Some(CodeOwner::Application),
            () if is_one(&self.library_patterns) => Some(CodeOwner::Library),
            () => None,
        }
    }

    fn owner_by_prefix(&self, name: &str) -> CodeOwner {
        let Some(runtime) = self.runtime else { return CodeOwner::Application };
        let name = name.strip_prefix("class ").unwrap_or(name);
        // An array is its element's; of V8's own kinds none has a name that a program could give.
        let base = match name.find(['[', '<', '`', '+']) {
            Some(0) => return CodeOwner::Runtime,
            Some(end) => &name[..end],
            // Ruby's data of an extension, and what has no class: `Thread (VM/thread)`, `(hidden array)`.
            None if runtime == Runtime::Ruby => match name.find('(') {
                Some(0) => return CodeOwner::Runtime,
                Some(end) => name[..end].trim_end(),
                None => name,
            },
            None => name,
        };
        let is_of_engine = runtime == Runtime::JavaScript
            && (name.starts_with(['(', '{'])
                || ["system / ", "Node / ", "Window"].iter().any(|start| name.starts_with(start)));
        if is_of_engine || base == "primitive array" {
            return CodeOwner::Runtime;
        }
        let prefixes = owners_by_prefix_of(runtime);
        // The longest root decides.
        let is_end = |letter: char| letter == '.' || letter == ':' && runtime == Runtime::Ruby;
        let ends = base.char_indices().filter(|&(_, letter)| is_end(letter)).map(|(at, _)| at).chain([base.len()]);
        let mut known = ends.filter_map(|end| prefixes.get(&base[..end]));
        known.next_back().copied().unwrap_or(CodeOwner::Application)
    }

    /// Is it not the program's own?
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.owner_of(name) != CodeOwner::Application
    }
}

/// The types that are not the program's own, as [`LibraryNames`] knows them. O(types x patterns).
pub(in crate::answers) fn library_types(
    graph: &HeapGraph,
    runtime: Option<Runtime>,
    libraries: &[TypePattern],
    mine: &[TypePattern],
) -> TypeSet {
    let names = LibraryNames::of(runtime, libraries).with_own(mine).take_libraries_as_own_if_alone(graph);
    TypeSet::of(graph, |type_id| names.contains(graph.type_name(type_id)))
}

#[cfg(test)]
mod tests {
    use super::{CodeOwner, LIBRARY_PREFIXES, LibraryNames};
    use crate::analysis::type_patterns::TypePattern;
    use crate::input::{READERS, Runtime};

    #[test]
    fn every_reader_has_a_runtime() {
        for reader in READERS {
            assert_eq!(Runtime::of_format(reader.name()), Some(reader.format().runtime));
        }
        for (runtime, word) in Runtime::ALL {
            assert_eq!(Runtime::from_words(word), Some(runtime));
            // Programs of any runtime write heap graphs, and those of Python nothing else.
            let is_read = READERS.iter().any(|reader| reader.format().runtime == runtime);
            assert!(is_read || runtime == Runtime::Python, "{runtime:?} has no reader");
        }
        assert_eq!(Runtime::of_format("no such format"), None);
    }

    #[test]
    fn no_root_stands_twice_for_one_runtime() {
        let mut known = std::collections::HashSet::new();
        let mut runtime = "";
        for line in LIBRARY_PREFIXES.lines().filter(|line| !line.starts_with('#')) {
            match line.strip_prefix('[') {
                Some(line) => runtime = line.split_once(' ').map_or("", |(runtime, _)| runtime),
                None => line.split_whitespace().for_each(|prefix| assert!(known.insert((runtime, prefix)), "{prefix}")),
            }
        }
        assert!(known.len() > 300);
    }

    #[test]
    fn names_are_the_runtimes_a_librarys_or_the_programs_own() {
        let pattern = |text: &str| vec![TypePattern::parse(text).unwrap()];
        let java =
            LibraryNames::of(Some(Runtime::Java), &pattern("shop.util.*")).with_own(&pattern("org.apache.shop.*"));
        for (name, owner) in [
            ("java.util.HashMap$Node[]", CodeOwner::Runtime),
            ("java/lang/String", CodeOwner::Runtime),
            ("byte[]", CodeOwner::Runtime),
            ("[Ljava/lang/String;", CodeOwner::Runtime),
            ("org.h2.engine.Session", CodeOwner::Library),
            ("org.h2x.Session", CodeOwner::Application),
            ("shop.Cart[]", CodeOwner::Application),
            ("L$Price", CodeOwner::Application),
            ("shop.util.Pool", CodeOwner::Library),
            ("org.apache.shop.Cart", CodeOwner::Application),
            ("org.apache.catalina.Session", CodeOwner::Library),
        ] {
            assert_eq!(java.owner_of(name), owner, "{name}");
        }
        let dotnet = LibraryNames::of(Some(Runtime::DotNet), &[]);
        assert_eq!(dotnet.owner_of("System.Collections.Generic.List`1[[Shop.Cart, Shop]]"), CodeOwner::Runtime);
        assert_eq!(dotnet.owner_of("Systematic.Cart"), CodeOwner::Application);
        assert_eq!(dotnet.owner_of("Serilog.Log"), CodeOwner::Library);
        let script = LibraryNames::of(Some(Runtime::JavaScript), &[]);
        assert_eq!(script.owner_of("system / Context"), CodeOwner::Runtime);
        assert_eq!(script.owner_of("Cart"), CodeOwner::Application);
        let ruby = LibraryNames::of(Some(Runtime::Ruby), &[]);
        for (name, owner) in [
            ("Thread (VM/thread)", CodeOwner::Runtime),
            ("(hidden array)", CodeOwner::Runtime),
            ("imemo:iseq", CodeOwner::Runtime),
            ("Thread::Queue (queue)", CodeOwner::Runtime),
            ("ActiveRecord::Base", CodeOwner::Library),
            ("Shop::Cart", CodeOwner::Application),
            ("Arrays", CodeOwner::Application),
        ] {
            assert_eq!(ruby.owner_of(name), owner, "{name}");
        }
        let python = LibraryNames::of(Some(Runtime::Python), &[]);
        for (name, owner) in [
            ("dict", CodeOwner::Runtime),
            ("collections.deque", CodeOwner::Runtime),
            ("class collections.deque", CodeOwner::Runtime),
            ("django.db.models.Model", CodeOwner::Library),
            ("__main__.Item", CodeOwner::Application),
            ("collectionsx.Item", CodeOwner::Application),
        ] {
            assert_eq!(python.owner_of(name), owner, "{name}");
        }
    }
}
