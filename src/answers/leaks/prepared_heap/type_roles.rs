//! Roles of types, from their names and lists of what is known.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::symbols::SymbolTable;
use crate::analysis::leaks::{CodeOwner, TypeRole};
use crate::analysis::type_patterns::TypePattern;
use crate::input::Runtime;

/// Names of one runtime by what they are for.
#[derive(Debug, Default)]
pub(in crate::answers::leaks) struct StructuralNames {
    /// Types whose references are elements, whatever their number.
    array_types: Vec<&'static str>,
    /// Ends of simple names of types that carry others.
    carrier_name_ends: Vec<&'static str>,
    /// Types that only carry others.
    glue_types: Vec<TypePattern>,
    /// Collections, and types that are named as such.
    collection_types: Vec<TypePattern>,
    /// Types that the patterns of collections and the names of carriers match and that have a word of their own all the same:
    /// executors, timers, futures, nodes of documents.
    named_despite_collection: Vec<TypePattern>,
    /// The runtime's own data about the program.
    metadata_types: Vec<&'static str>,
    /// Glue that chains run through.
    chain_link_types: Vec<&'static str>,
    /// Ends of simple names of the nodes of a program's own lists.
    list_node_name_ends: Vec<&'static str>,
    /// Types that stand for one another, of which the first names all.
    aliases: Vec<Vec<&'static str>>,
    /// Types that a program counts, whatever they carry.
    notable_types: Vec<&'static str>,
    /// Types that reach everything and explain nothing.
    registry_types: Vec<TypePattern>,
    /// The runtime's list of what waits for its finalizer.
    finalizer_list_types: Vec<TypePattern>,
    /// Members of the runtime's lists of what is to be cleaned up.
    cleanup_list_types: Vec<TypePattern>,
    /// Values of `state` of a loader that was stopped.
    pub(super) stopped_loader_states: Vec<&'static str>,
    /// Loaders that come and go by themselves.
    live_loader_types: Vec<TypePattern>,
}

/// The names of a runtime; none where nothing is known.
pub(in crate::answers::leaks) fn structural_names(runtime: Option<Runtime>) -> &'static StructuralNames {
    static BY_RUNTIME: OnceLock<FxHashMap<&'static str, StructuralNames>> = OnceLock::new();
    static NO_NAMES: OnceLock<StructuralNames> = OnceLock::new();
    let all = BY_RUNTIME.get_or_init(|| {
        let mut all: FxHashMap<&'static str, StructuralNames> = FxHashMap::default();
        for line in include_str!("structural.txt").lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let (Some(runtime), Some(kind)) = (words.next(), words.next()) else { continue };
            let names: Vec<&'static str> = words.collect();
            let patterns =
                || names.iter().filter_map(|name| TypePattern::parse(&whole_name_pattern(name)).ok()).collect();
            let of = all.entry(runtime).or_default();
            match kind {
                "array" => of.array_types = names,
                "carrier" => of.carrier_name_ends = names,
                "glue" => of.glue_types = patterns(),
                "collection" => of.collection_types = patterns(),
                "named" => of.named_despite_collection = patterns(),
                "inner" => of.metadata_types = names,
                "link" => of.chain_link_types = names,
                "list-node" => of.list_node_name_ends = names,
                "same" => of.aliases.push(names),
                "notable" => of.notable_types = names,
                "registry" => of.registry_types = patterns(),
                "finalizer" => of.finalizer_list_types = patterns(),
                "cleanup" => of.cleanup_list_types = patterns(),
                "dead-state" => of.stopped_loader_states = names,
                "live-loader" => of.live_loader_types = patterns(),
                other => debug_assert!(false, "structural.txt: {other}"),
            }
        }
        all
    });
    let name = match runtime {
        Some(Runtime::Java) => "java",
        Some(Runtime::DotNet) => "dotnet",
        Some(Runtime::JavaScript) => "javascript",
        Some(Runtime::Python) => "python",
        Some(Runtime::Ruby) => "ruby",
        _ => "",
    };
    all.get(name).unwrap_or_else(|| NO_NAMES.get_or_init(StructuralNames::default))
}

/// A pattern for the whole name.
fn whole_name_pattern(name: &str) -> String {
    if name.contains('*') { name.to_string() } else { format!("={name}") }
}

fn any_matches(patterns: &[TypePattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name))
}

impl StructuralNames {
    /// True for a type whose references are elements, whatever their number.
    pub(super) fn is_array(&self, name: &str) -> bool {
        self.array_types.contains(&name)
    }

    /// True for what reaches everything and explains nothing.
    pub(super) fn is_registry(&self, name: &str) -> bool {
        any_matches(&self.registry_types, name)
    }

    pub(super) fn is_finalizer_list(&self, name: &str) -> bool {
        any_matches(&self.finalizer_list_types, name)
    }

    /// True for a member of the runtime's lists of what is to be cleaned up; subclasses are not looked at.
    pub(super) fn is_in_cleanup_list(&self, name: &str) -> bool {
        any_matches(&self.cleanup_list_types, name)
    }

    pub(super) fn is_live_loader(&self, name: &str) -> bool {
        any_matches(&self.live_loader_types, name)
    }

    /// True for a collection without a word of its own.
    pub(in crate::answers::leaks) fn is_plain_collection(&self, name: &str) -> bool {
        any_matches(&self.collection_types, name) && !any_matches(&self.named_despite_collection, name)
    }

    /// The nature of a type by its name, which has dots between packages.
    pub(super) fn type_role(
        &self,
        runtime: Option<Runtime>,
        name: &str,
        owner: CodeOwner,
        symbols: &mut SymbolTable,
    ) -> TypeRole {
        let is_array = name.ends_with(']');
        let is_script = runtime == Some(Runtime::JavaScript);
        // A list in a list, a dict in a dict is no chain.
        let has_plain_glue = matches!(runtime, Some(Runtime::Python | Runtime::Ruby));
        let element = name.trim_end_matches("[]");
        let is_primitive = is_array && is_primitive(element);
        let simple = simple_name(name);
        let is_engine = is_script && name.starts_with("system / ");
        let is_made = LAMBDA_CLASS_MARKERS.iter().any(|part| name.contains(part)) || simple.starts_with("$Proxy");
        let carries = owner != CodeOwner::Application
            && !is_array
            && !any_matches(&self.named_despite_collection, name)
            && (self.has_carrier_name_end(simple) || any_matches(&self.glue_types, simple));
        let has_no_own_class = (is_script && (name == "Object" || name.starts_with('{')))
            || (runtime == Some(Runtime::Java) && name == "java.lang.Object");
        let is_carrier = match is_script {
            true => is_engine || has_no_own_class || any_matches(&self.glue_types, name),
            false => is_made || (is_array && !is_primitive) || carries,
        };
        TypeRole {
            symbol: symbols.intern(match self.aliases.iter().find(|names| names.contains(&name)) {
                Some(names) => names[0],
                None if is_script && has_no_own_class => "Object",
                None if V8_STRING_TYPES.contains(&name) => V8_STRING_TYPES[0],
                None => without_generated_number(name),
            }),
            // A plain object is the runtime's, before its texts.
            owner: if is_script && is_carrier { CodeOwner::Runtime } else { owner },
            is_carrier,
            has_no_own_class,
            is_runtime_metadata: self.metadata_types.contains(&name) || is_script && V8_METADATA_TYPES.contains(&name),
            is_chain_link: if is_script { is_engine || self.chain_link_types.contains(&name) } else { is_carrier },
            folds_same_type: !(is_array || (is_script || has_plain_glue) && is_carrier && !is_engine),
            is_composite_text: V8_STRING_TYPES.contains(&name),
            is_notable: self.notable_types.contains(&name),
            is_list_node: self.list_node_name_ends.iter().any(|node| without_type_parameters(simple).ends_with(node)),
            is_anonymous: runtime == Some(Runtime::Java) && is_anonymous_class_name(simple),
            has_named_objects: false,
            is_class: false,
        }
    }

    /// True where the simple name of a type of a library says that it carries others.
    fn has_carrier_name_end(&self, simple: &str) -> bool {
        let name = without_type_parameters(simple);
        let last =
            name.rsplit(['$', '+']).find(|part| !part.is_empty() && !part.bytes().all(|byte| byte.is_ascii_digit()));
        let last = last.unwrap_or(name).trim_end_matches(|letter: char| letter.is_ascii_digit());
        self.carrier_name_ends.iter().any(|end| last.ends_with(end))
    }
}

/// In the names of classes that HotSpot, and Android's compiler, make for lambdas.
const LAMBDA_CLASS_MARKERS: [&str; 2] = ["$$Lambda", "$$ExternalSyntheticLambda"];

/// A class without a name has a number.
fn is_anonymous_class_name(simple: &str) -> bool {
    let number = simple.rsplit_once('$').map_or("", |(_, number)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Texts of V8, by how they were made.
pub(in crate::answers::leaks) const V8_STRING_TYPES: [&str; 3] =
    ["(string)", "(concatenated string)", "(sliced string)"];

/// V8's own data about the program.
const V8_METADATA_TYPES: [&str; 7] = [
    "(object shape)",
    "(compiled code)",
    "(system)",
    "system / FeedbackCell",
    "system / Map",
    "system / ScopeInfo",
    "system / NativeContext",
];

/// A type's name without its number of parameters and what stands for them.
fn without_type_parameters(simple: &str) -> &str {
    simple.find(['`', '<', '/']).map_or(simple, |end| &simple[..end])
}

fn is_primitive(name: &str) -> bool {
    let java = ["boolean", "byte", "char", "short", "int", "long", "float", "double"];
    let dotnet = [
        "Boolean", "Byte", "SByte", "Char", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Single", "Double",
    ];
    java.contains(&name) || name.strip_prefix("System.").is_some_and(|name| dotnet.contains(&name))
}

/// A type's name without its packages; what stands in brackets stays.
pub(in crate::answers::leaks) fn simple_name(name: &str) -> &str {
    let end = name.find(['[', '<', '`', '(']).unwrap_or(name.len());
    let start = name[..end].rfind(['.', '/']).map_or(0, |dot| dot + 1);
    match name[..end].rfind(" / ") {
        Some(_) => name,
        None => &name[start..],
    }
}

/// The name of a type that the runtime made, without the number that it gave.
fn without_generated_number(name: &str) -> &str {
    let made = ["$Proxy", "GeneratedMethodAccessor", "GeneratedConstructorAccessor"];
    match LAMBDA_CLASS_MARKERS.iter().chain(&made).find_map(|part| Some(name.find(part)? + part.len())) {
        Some(end) => &name[..end],
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_types_are_for() {
        let java = structural_names(Some(Runtime::Java));
        let mut symbols = SymbolTable::default();
        let mut of = |name: &str, owner| java.type_role(Some(Runtime::Java), name, owner, &mut symbols);
        for (name, owner, is_carrier) in [
            ("java.util.HashMap$Node", CodeOwner::Runtime, true),
            ("java.util.HashMap$Node[]", CodeOwner::Runtime, true),
            ("byte[]", CodeOwner::Runtime, false),
            ("com.google.common.cache.LocalCache$StrongEntry", CodeOwner::Library, true),
            ("shop.Node", CodeOwner::Application, false),
            ("shop.Cart", CodeOwner::Application, false),
            ("java.util.concurrent.atomic.AtomicReferenceArray", CodeOwner::Runtime, true),
            ("shop.Cart$$Lambda/0x1234", CodeOwner::Application, true),
            ("java.lang.String", CodeOwner::Runtime, false),
            ("org.apache.commons.pool2.impl.DefaultPooledObject", CodeOwner::Library, true),
            ("java.util.Collections$SynchronizedMap", CodeOwner::Runtime, true),
        ] {
            assert_eq!(of(name, owner).is_carrier, is_carrier, "{name}");
        }
        assert!(java.is_plain_collection("java.util.concurrent.ConcurrentHashMap"));
        assert!(!java.is_plain_collection("java.util.concurrent.ThreadPoolExecutor"));
        let lambdas = ["shop.Cart$$Lambda/0x12", "shop.Cart$$Lambda$14+0x34"];
        assert_eq!(of(lambdas[0], CodeOwner::Application).symbol, of(lambdas[1], CodeOwner::Application).symbol);
        assert_eq!(simple_name("a.b.C$D[]"), "C$D[]");
        assert_eq!(simple_name("System.Collections.Generic.List`1[[Shop.Cart]]"), "List`1[[Shop.Cart]]");
    }
}
