//! Modules of JavaScript: where a programmer starts.

use rustc_hash::FxHashMap;

use crate::analysis::leaks::CodeOwner;
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeSet};
use crate::input::{ObjectDetails, ReferenceKind, ReferenceKinds};

/// Contexts around a function.
const MAX_CONTEXTS_ABOVE_FUNCTION: usize = 50;
/// Scopes of one file, which may be loaded several times, and its modules. Where there are more scopes, the file has no variables
/// that a function closes over, and these are calls of its functions; more modules are what is kept.
const MAX_SCOPES_OF_FILE: usize = 8;

/// Modules: of JavaScript (scopes of a file's functions, CommonJS's own objects) with their files, of Python with names.
pub(in crate::answers::leaks) type Modules = FxHashMap<NodeId, String>;

/// The owner of the code of a file.
pub(in crate::answers::leaks) fn owner_of_script(script: &str) -> CodeOwner {
    match () {
        () if script.is_empty() || script.starts_with("node:") || script.starts_with("internal/") => CodeOwner::Runtime,
        () if script.starts_with("electron/") || script.starts_with("extensions::") => CodeOwner::Runtime,
        () if script.contains("node_modules/") || script.contains("node_modules\\") => CodeOwner::Library,
        () => CodeOwner::Application,
    }
}

/// The modules of a heap. O(objects), and the references of functions.
pub(super) fn find_javascript_modules(
    graph: &HeapGraph,
    details: &dyn ObjectDetails,
    kinds: &dyn ReferenceKinds,
) -> Modules {
    let target_of = |from: NodeId, wanted: ReferenceKind, name: &str| kinds.find_target(graph, from, wanted, name);
    let types_named = |name: &str| TypeSet::of(graph, |type_id| graph.type_name(type_id) == name);
    let (functions, module_objects, contexts) =
        (types_named("Function"), types_named("Module"), types_named("system / Context"));
    let mut is_seen = NodeSet::new(graph.node_count());
    let (mut scopes, mut objects): (FxHashMap<String, Vec<NodeId>>, FxHashMap<String, Vec<NodeId>>) =
        Default::default();
    for node in graph.nodes() {
        let type_id = graph.type_of(node);
        if functions.contains(type_id) {
            let mut context = target_of(node, ReferenceKind::Internal, "context");
            for _ in 0..MAX_CONTEXTS_ABOVE_FUNCTION {
                let Some(at) = context.filter(|&at| is_seen.insert(at)) else { break };
                let above = target_of(at, ReferenceKind::Internal, "previous");
                context = above.filter(|&above| contexts.contains(graph.type_of(above)));
                if context.is_none() && contexts.contains(graph.type_of(at)) {
                    let script = kinds.script_file(node);
                    script.into_iter().for_each(|script| scopes.entry(script.into_owned()).or_default().push(at));
                }
            }
        } else if module_objects.contains(type_id) {
            let file = target_of(node, ReferenceKind::Property, "filename");
            let file = file.and_then(|file| details.text(graph, file).ok().flatten());
            file.into_iter().for_each(|file| objects.entry(file).or_default().push(node));
        }
    }
    let of_files = objects.into_iter().chain(scopes).filter(|(_, nodes)| nodes.len() <= MAX_SCOPES_OF_FILE);
    of_files.flat_map(|(file, nodes)| nodes.into_iter().map(move |node| (node, file.clone()))).collect()
}
