//! Rows by owner: objects of libraries are charged to the program's own type that keeps them alive. A class object and
//! what static variables refer to belong to the class.

use std::collections::HashMap;

use crate::analysis::histogram::package_of;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::figure::{CHARGED_BYTES, CHARGED_OBJECTS, Figure, OBJECTS, SHALLOW};
use crate::answers::histogram_row::{HistogramRow, RowAmounts};
use crate::answers::libraries::LibraryNames;
use crate::answers::{AnswerError, GroupBy, Scope};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, RootKind, TypeId};

/// Types of libraries, besides those of the runtime, and types of the program.
#[derive(Debug, Clone, Default)]
pub struct TypeOwnership {
    /// Types of libraries too.
    pub libraries: Vec<TypePattern>,
    /// Types of the program, whatever libraries are called.
    pub mine: Vec<TypePattern>,
}

impl TypeOwnership {
    /// All that patterns of libraries may match, and what those of the program's own types may: names of types, of modules
    /// and of the elements of arrays.
    pub(crate) fn matchable_names(graph: &HeapGraph) -> [Vec<&str>; 2] {
        let types = graph.types();
        let elements: Vec<&str> = types.ids().map(|type_id| element_type_of(graph.type_name(type_id))).collect();
        let of_type = |type_id: TypeId| {
            let module_or_element = types.module(type_id).unwrap_or(elements[type_id.index()]);
            [graph.type_name(type_id), module_or_element]
        };
        [types.ids().flat_map(of_type).collect(), elements]
    }
}

/// Reachable objects of libraries that no type of the program dominates.
const NO_OWNER_NAME: &str = "(no owner)";
const UNREACHABLE_NAME: &str = "(unreachable)";
/// Objects of libraries that no root reaches, in dumps where such objects are alive.
const FROZEN_HEAP_NAME: &str = "(frozen heap)";
/// Stands for objects of libraries until it is known whose they are.
const LIBRARY_GROUP: u32 = u32::MAX;

/// Figures of the rows: objects of the program, and those of libraries that are charged to it.
pub(in crate::answers) const FIGURES_OF_OWNERS: [Figure; 4] = [OBJECTS, SHALLOW, CHARGED_OBJECTS, CHARGED_BYTES];

/// A row for each type of the program (or its package) with its own objects and those of libraries that it is the
/// nearest to dominate. O(objects) beside the dominator tree; 4 bytes for each reached object. Error: if the dominator
/// tree takes more memory than it may.
pub(in crate::answers) fn rows_of_owners(
    dump: &OpenDump,
    graph: &HeapGraph,
    scope: &Scope<'_>,
    by: GroupBy,
    own: &TypeOwnership,
) -> Result<Vec<HistogramRow>, AnswerError> {
    let (dominators, _) = dump.dominators()?;
    dump.check_rows_memory(dominators.reached_count() as u64, 4)?;
    let (mut names, of_type) = program_type_groups(dump, graph, by, own);
    let [no_owner, unreachable, frozen] = [0, 1, 2].map(|place| names.len() as u32 + place);
    names.extend([NO_OWNER_NAME, UNREACHABLE_NAME, FROZEN_HEAP_NAME].map(String::from));
    let of_statics = owners_by_statics(graph, &of_type);
    let group_of = |node: NodeId| {
        let class = graph.types().type_of_class_object(node);
        match of_type[class.unwrap_or(graph.type_of(node)).index()] {
            LIBRARY_GROUP => of_statics.get(&node).copied().unwrap_or(LIBRARY_GROUP),
            group => group,
        }
    };
    // By number in the tree: the nearest group at or above. A number is greater than that of its dominator.
    let mut owners = vec![no_owner; dominators.reached_count() + 1];
    for number in dominators.all_reached() {
        owners[number.index()] = match group_of(dominators.node_at(number)) {
            LIBRARY_GROUP => owners[dominators.immediate_dominator_of(number).index()],
            group => group,
        };
    }
    let some_left_out = graph.roots().iter().any(|root| root.is_excluded);
    let is_lost = |node: NodeId| some_left_out && dump.reachable_as_dumped().contains(node);
    let is_frozen = |node: NodeId| dump.info().frozen_heap && !is_lost(node);
    let mut sums = vec![[0u64; 4]; names.len()];
    for node in scope.nodes().filter(|&node| graph.is_counted_in_histograms(node)) {
        let type_id = graph.type_of(node);
        let bytes = graph.shallow_bytes(node);
        let (group, first) = match of_type[type_id.index()] {
            LIBRARY_GROUP => match dominators.number_of(node) {
                Some(number) => (owners[number.index()], 2),
                None if is_frozen(node) => (frozen, 2),
                None => (unreachable, 2),
            },
            group => (group, 0),
        };
        let sum = &mut sums[group as usize];
        sum[first] += 1;
        sum[first + 1] = sum[first + 1].saturating_add(bytes);
    }
    let rows = names.into_iter().zip(sums).enumerate().filter(|(_, (_, sum))| sum[0] + sum[2] > 0);
    let row = |(group, (name, sum)): (usize, (String, [u64; 4]))| HistogramRow {
        group: group as u32,
        ..HistogramRow::new(name, by, RowAmounts::new(&FIGURES_OF_OWNERS, sum.map(Some)))
    };
    Ok(rows.map(row).collect())
}

/// By object: the group of the program's class whose static variables are all the roots that it has.
fn owners_by_statics(graph: &HeapGraph, of_type: &[u32]) -> HashMap<NodeId, u32> {
    let mut groups = HashMap::new();
    for root in graph.roots().iter().filter(|root| root.is_strong()) {
        let class = root.declaring_class.filter(|_| root.kind == RootKind::Static);
        let group = class.map_or(LIBRARY_GROUP, |class| of_type[class.index()]);
        groups
            .entry(root.node)
            .and_modify(|known| *known = if *known == group { group } else { LIBRARY_GROUP })
            .or_insert(group);
    }
    groups
}

/// Advice where more than half of all bytes have no owner.
pub(in crate::answers) fn no_owner_note(rows: &[HistogramRow], rows_hidden: usize, all: u64) -> Option<String> {
    rows.iter().find(|row| row.name() == NO_OWNER_NAME && row.figure(CHARGED_BYTES) > Some(all / 2))?;
    let is_of_nobody = rows_hidden == 0 && rows.iter().all(|row| row.count() == Some(0));
    let why =
        if is_of_nobody { "the dump has no type of the program" } else { "no single object of the program holds them" };
    Some(format!(
        "note: most bytes have {NO_OWNER_NAME}: {why}. Types of yours with names like a library's are named with --mine PATTERN; \
         `heapdump roots --type NAME` says what holds a type"
    ))
}

/// The type of an array's elements by its name, which is whose the array is; of any other type its own name.
fn element_type_of(name: &str) -> &str {
    name.trim_end_matches(|c| "[],".contains(c))
}

/// Names of groups, and by type the group of the program's own, or `LIBRARY_GROUP`.
fn program_type_groups(
    dump: &OpenDump,
    graph: &HeapGraph,
    by: GroupBy,
    own: &TypeOwnership,
) -> (Vec<String>, Vec<u32>) {
    let libraries = LibraryNames::of(dump.info().runtime(), &own.libraries);
    let is_library = |type_id: TypeId| {
        let name = graph.type_name(type_id);
        let element = element_type_of(name);
        let of_library = match graph.types().module(type_id) {
            Some(module) => libraries.contains(module) || own.libraries.iter().any(|pattern| pattern.matches(name)),
            None => libraries.contains(name) || libraries.contains(element),
        };
        of_library && !own.mine.iter().any(|pattern| pattern.matches(element))
    };
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut names = Vec::new();
    let mut group_of = |type_id: TypeId| {
        if is_library(type_id) {
            return LIBRARY_GROUP;
        }
        let name = graph.type_name(type_id);
        let group = if by == GroupBy::OwnerPackage { package_of(name).unwrap_or("(none)") } else { name };
        *numbers.entry(group).or_insert_with(|| {
            names.push(group.to_string());
            names.len() as u32 - 1
        })
    };
    let of_type = graph.types().ids().map(&mut group_of).collect();
    (names, of_type)
}
