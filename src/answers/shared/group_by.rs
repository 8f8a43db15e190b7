//! Groups of objects, by type, package, owner and more.

use super::figure::{ColumnUnit, Figure, TYPE};
use crate::allocations::FrameNaming;
use crate::analysis::histogram::package_of;
use crate::graph::{HeapGraph, TypeId};

/// Groups of objects, by type, package, owner and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum GroupBy {
    /// Their type.
    #[default]
    Type,
    /// The package or namespace of their type.
    Package,
    /// This many levels of it, from the front: `java.util` are two levels of `java.util.concurrent`.
    PackageLevels(u8),
    /// Their section.
    Section,
    /// The module (assembly) of their type.
    Module,
    /// The generation of the collector that they are in; of Ruby the number of collections before them.
    Generation,
    /// The loader of their type.
    Loader,
    /// The value of a field, which [`HistogramOptions::field`](crate::answers::HistogramOptions::field) names.
    Field,
    /// The class that all classes above their type but the root of all are below: directly below `java.lang.Object`.
    Superclass,
    /// The type of the object that immediately dominates them.
    Dominator,
    /// The part of the heap that they are in.
    HeapPart,
    /// The time at which they were allocated.
    AllocationInterval,
    /// The file of the program that allocated them.
    File,
    /// The strength of their references: strong, or only references that the runtime may give up.
    ReferenceStrength,
    /// The program's own type that they belong to: its objects, and those of libraries that it keeps alive.
    Owner,
    /// The package of that.
    OwnerPackage,
    /// The functions on the stacks of allocations, with what each allocated itself and with all it called.
    Function,
    /// The same of functions with file and line. Files and modules are such groups of allocations too.
    Line,
}

/// The group of types that have no package.
const NO_PACKAGE: &str = "(none)";

/// The first `levels` segments of a package, or all.
fn first_levels(package: &str, levels: u8) -> &str {
    let end = package.match_indices(['.', '/']).nth(usize::from(levels).saturating_sub(1)).map(|(at, _)| at);
    &package[..end.unwrap_or(package.len())]
}

impl GroupBy {
    /// Those that a tree of dominators can be grouped by too, each with the word for it.
    pub const WORDS_OF_DOMINATORS: &[(&str, GroupBy)] = GroupBy::WORDS_OF_HISTOGRAMS.split_at(19).0;

    /// The same, names of frames and owners: those that a trend can be grouped by.
    pub const WORDS_OF_TRENDS: &[(&str, GroupBy)] = GroupBy::WORDS_OF_HISTOGRAMS.split_at(23).0;

    /// All that a histogram has rows of.
    pub const WORDS_OF_HISTOGRAMS: &[(&str, GroupBy)] = &[
        ("type", GroupBy::Type),
        ("package", GroupBy::Package),
        ("package=1", GroupBy::PackageLevels(1)),
        ("package=2", GroupBy::PackageLevels(2)),
        ("package=3", GroupBy::PackageLevels(3)),
        ("package=4", GroupBy::PackageLevels(4)),
        ("package=5", GroupBy::PackageLevels(5)),
        ("package=6", GroupBy::PackageLevels(6)),
        ("package=7", GroupBy::PackageLevels(7)),
        ("domain", GroupBy::Section),
        ("module", GroupBy::Module),
        ("generation", GroupBy::Generation),
        ("loader", GroupBy::Loader),
        ("superclass", GroupBy::Superclass),
        ("dominator", GroupBy::Dominator),
        ("heap", GroupBy::HeapPart),
        ("held", GroupBy::ReferenceStrength),
        ("interval", GroupBy::AllocationInterval),
        ("file", GroupBy::File),
        ("function", GroupBy::Function),
        ("line", GroupBy::Line),
        ("owner", GroupBy::Owner),
        ("owner=package", GroupBy::OwnerPackage),
        // Another word for what has one; the first counts.
        ("namespace", GroupBy::Package),
    ];

    /// Returns true where library objects are charged to the program's own.
    pub fn is_by_owner(self) -> bool {
        matches!(self, GroupBy::Owner | GroupBy::OwnerPackage)
    }

    /// Groups by the names of frames.
    pub fn of_frames(frame_names: FrameNaming) -> Self {
        match frame_names {
            FrameNaming::Function => GroupBy::Function,
            FrameNaming::FunctionAndLine => GroupBy::Line,
            FrameNaming::File => GroupBy::File,
            FrameNaming::Module => GroupBy::Module,
        }
    }

    /// What frames of stacks have to be named by, where groups of allocations are the names of frames.
    pub fn frame_names(self) -> Option<FrameNaming> {
        match self {
            GroupBy::Function => Some(FrameNaming::Function),
            GroupBy::Line => Some(FrameNaming::FunctionAndLine),
            GroupBy::File => Some(FrameNaming::File),
            GroupBy::Module => Some(FrameNaming::Module),
            _ => None,
        }
    }

    /// The word for it, in JSON and on the command line.
    pub fn name(self) -> &'static str {
        Self::WORDS_OF_HISTOGRAMS.iter().find(|(_, by)| *by == self).map_or("", |(name, _)| name)
    }

    pub(in crate::answers) fn is_by_package(self) -> bool {
        matches!(self, GroupBy::Package | GroupBy::PackageLevels(_))
    }

    /// The column with the names of the groups.
    pub fn figure(self) -> Figure {
        match self {
            GroupBy::Type => TYPE,
            by => Figure::new("group", by.title_and_plural().0, ColumnUnit::Text, by.name()),
        }
    }

    /// The title of one group above a column, and the word for several in a sentence.
    pub fn title_and_plural(self) -> (&'static str, &'static str) {
        match self {
            GroupBy::Type => ("Type", "types"),
            GroupBy::Package | GroupBy::PackageLevels(_) => ("Package", "packages"),
            GroupBy::Section => ("Section", "sections"),
            GroupBy::Module => ("Module", "modules"),
            GroupBy::Generation => ("Generation", "generations"),
            GroupBy::Loader => ("Loader", "loaders"),
            GroupBy::Superclass => ("Superclass", "superclasses"),
            GroupBy::Dominator => ("Dominator", "types of dominators"),
            GroupBy::Field => ("Value", "values"),
            GroupBy::HeapPart => ("Heap", "heaps"),
            GroupBy::ReferenceStrength => ("Held", "groups"),
            GroupBy::File => ("File", "files"),
            GroupBy::AllocationInterval => ("Interval", "intervals"),
            GroupBy::Owner | GroupBy::OwnerPackage => ("Owner", "owners"),
            GroupBy::Function => ("Function", "functions"),
            GroupBy::Line => ("Line", "lines"),
        }
    }

    /// The group a type of this name is in; the name itself where the type does not decide.
    pub(in crate::answers) fn group_of_type_name(self, name: &str) -> &str {
        match self {
            GroupBy::Package => package_of(name).unwrap_or(NO_PACKAGE),
            GroupBy::PackageLevels(levels) => package_of(name).map_or(NO_PACKAGE, |name| first_levels(name, levels)),
            _ => name,
        }
    }

    /// The package of a type. Of nested .NET types the dump names neither the namespace nor the type around them, as of types
    /// outside any namespace: those belong to their module, as `System.Private.CoreLib.dll (no namespace)`.
    pub(super) fn package_or_module_name(self, graph: &HeapGraph, type_id: TypeId) -> String {
        match (self.group_of_type_name(graph.type_name(type_id)), graph.types().module(type_id)) {
            (NO_PACKAGE, Some(module)) => format!("{module} (no namespace)"),
            (package, _) => package.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_packages() {
        let of = |by: GroupBy, name: &'static str| by.group_of_type_name(name);
        for (name, levels, expected) in [
            ("java.util.concurrent.Entry[]", 1, "java"),
            ("java.util.concurrent.Entry[]", 2, "java.util"),
            ("java.util.concurrent.Entry[]", 3, "java.util.concurrent"),
            ("java.util.concurrent.Entry[]", 4, "java.util.concurrent"),
            ("[Ljava/util/Hashtable$Entry;", 1, "java"),
            ("System.Collections.Generic.List<A.B.C>", 2, "System.Collections"),
            ("int[]", 1, "(none)"),
        ] {
            assert_eq!(of(GroupBy::PackageLevels(levels), name), expected, "{name} {levels}");
        }
        let ends = GroupBy::WORDS_OF_DOMINATORS.last().map(|(word, _)| *word);
        assert_eq!(ends, Some("file"), "trees are grouped by all of these");
        assert_eq!(GroupBy::WORDS_OF_TRENDS.last().map(|(word, _)| *word), Some("owner=package"));
    }
}
