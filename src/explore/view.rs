//! The views, their names, and what the commands that print them say besides.

use std::path::{Path, PathBuf};

use crate::answers::diff::DiffBy;
use crate::answers::figure::{BYTES, DOMINATED_OBJECTS, RETAINED};
use crate::answers::{
    AllocationHeapChoice, CommandLine, Figure, GroupBy, HistogramOptions, Limits, RetainedBy, ScopeOptions,
};
use crate::filter::Filter;
use crate::graph::NodeId;

/// A group of types, with the scope of its objects.
#[derive(Debug, Clone)]
pub(super) struct TypeGroup {
    pub(super) by: GroupBy,
    pub(super) name: String,
    pub(super) scope: ScopeOptions,
}

/// The name of a group whose objects have none for it.
const NO_GROUP_NAME: &str = "(none)";
/// Ends the name of a group of a module's types without a namespace.
const NO_NAMESPACE_SUFFIX: &str = " (no namespace)";

impl TypeGroup {
    /// The objects of a group; `None` where there is no way to ask for them. `number`: its place among the groups.
    /// `have_modules`: types say which module they are from.
    pub(super) fn new(by: GroupBy, name: &str, number: u32, have_modules: bool) -> Option<Self> {
        let equals = |column: &str, name: &str| format!("{column} = '{}'", name.replace('\'', "''"));
        let scope = match by {
            GroupBy::Section => ScopeOptions::of_section(Some(&(number + 1).to_string())),
            GroupBy::Package | GroupBy::Module | GroupBy::Generation => {
                let text = match name {
                    // A type without a package belongs to its module, where that is known.
                    NO_GROUP_NAME if by == GroupBy::Package && have_modules => {
                        "package is null and module is null".into()
                    }
                    NO_GROUP_NAME => format!("{} is null", by.name()),
                    name => {
                        match name.strip_suffix(NO_NAMESPACE_SUFFIX).filter(|_| by == GroupBy::Package && have_modules)
                        {
                            Some(module) => format!("package is null and {}", equals("module", module)),
                            None => equals(by.name(), name),
                        }
                    }
                };
                ScopeOptions { filter: Filter::parse(&[text]).ok()?, ..ScopeOptions::default() }
            }
            _ => return None,
        };
        Some(TypeGroup { by, name: name.to_string(), scope })
    }
}

/// An object that is looked at.
#[derive(Debug, Clone)]
pub(super) struct BrowsedObject {
    pub(super) node: NodeId,
    pub(super) id: String,
    pub(super) type_name: String,
}

/// What the browser shows, and of what.
#[derive(Debug, Clone, Default)]
pub(super) enum BrowserView {
    #[default]
    Suspects,
    /// All types, or those of a group.
    Types(Option<TypeGroup>),
    /// Objects that one directly dominates, or that nothing single does; merged by type or not.
    Dominators {
        dominator: Option<BrowsedObject>,
        is_merged_by_type: bool,
    },
    Groups(GroupBy),
    Growth(DiffBy),
    /// Objects of a type, of a group where the way leads through one.
    Objects {
        type_name: String,
        scope: ScopeOptions,
    },
    Object(BrowsedObject),
    /// So many paths.
    Paths(BrowsedObject, usize),
    /// Paths to all objects of a type.
    MergedPaths {
        type_name: String,
        scope: ScopeOptions,
    },
    AllocationHeaps,
    /// Rows below a row of a heap's tree.
    AllocationFrames {
        heap_index: usize,
        heap_choice: AllocationHeapChoice,
        tree_row: u32,
        /// The names from the top of the tree to it; `None` at the top.
        path_names: Option<String>,
        name: String,
    },
}

/// A view with a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Leak suspects, or heaps of allocation totals.
    Suspects,
    /// Types.
    Types,
    /// The dominator tree from the top.
    Dominators,
    /// Packages, modules, sections, generations.
    Packages,
    /// Growth since an older dump.
    Growth,
}

impl Tab {
    /// All of them, by the words for them.
    pub const WORDS: &[(&str, Tab)] = &[
        ("suspects", Tab::Suspects),
        ("types", Tab::Types),
        ("dominators", Tab::Dominators),
        ("packages", Tab::Packages),
        ("growth", Tab::Growth),
    ];

    /// Its number on the first line.
    pub(super) fn tab_number(self) -> usize {
        Self::WORDS.iter().position(|(_, tab)| *tab == self).map_or(0, |at| at + 1)
    }

    pub(super) fn title(self, is_objects: bool) -> &'static str {
        match self {
            Tab::Suspects if !is_objects => "Heaps",
            Tab::Suspects => "Suspects",
            Tab::Types => "Types",
            Tab::Dominators => "Dominators",
            Tab::Packages => "Packages",
            Tab::Growth => "Growth",
        }
    }

    pub(super) fn view(self, is_objects: bool) -> BrowserView {
        match self {
            Tab::Suspects if !is_objects => BrowserView::AllocationHeaps,
            Tab::Suspects => BrowserView::Suspects,
            Tab::Types => BrowserView::Types(None),
            Tab::Dominators => BrowserView::Dominators { dominator: None, is_merged_by_type: false },
            Tab::Packages => BrowserView::Groups(GroupBy::Package),
            Tab::Growth => BrowserView::Growth(DiffBy::default()),
        }
    }
}

impl BrowserView {
    /// Its name among the breadcrumbs.
    pub(super) fn breadcrumb(&self) -> String {
        match self {
            BrowserView::Suspects => "suspects".into(),
            BrowserView::Types(None) => "types".into(),
            BrowserView::Types(Some(group)) => {
                format!("{} {}", group.by.title_and_plural().0.to_lowercase(), group.name)
            }
            BrowserView::Dominators { dominator: None, .. } => "everything".into(),
            BrowserView::Dominators { dominator: Some(place), .. } => {
                format!("{} {}", place.id, last_name_part(&place.type_name))
            }
            BrowserView::Groups(by) => by.title_and_plural().1.into(),
            BrowserView::Growth(DiffBy::Paths | DiffBy::Backtraces) => "growth by path".into(),
            BrowserView::Growth(DiffBy::RootKinds) => "growth by root".into(),
            BrowserView::Growth(_) => "growth".into(),
            BrowserView::Objects { type_name, .. } => format!("objects of {}", last_name_part(type_name)),
            BrowserView::Object(place) => format!("object {}", place.id),
            BrowserView::Paths(place, _) => format!("paths to {}", place.id),
            BrowserView::MergedPaths { type_name, .. } => format!("paths to {}", last_name_part(type_name)),
            BrowserView::AllocationHeaps => "heaps".into(),
            BrowserView::AllocationFrames { name, .. } => name.clone(),
        }
    }

    /// The object that holds the objects of the rows.
    pub(super) fn holder_of_rows(&self) -> Option<NodeId> {
        match self {
            BrowserView::Dominators { dominator: Some(place), is_merged_by_type: false } => Some(place.node),
            _ => None,
        }
    }

    /// Returns true if it rests on the dominator tree. Types are shown without what they retain until that is there.
    pub(super) fn needs_dominator_tree(&self) -> bool {
        !matches!(
            self,
            BrowserView::Types(_)
                | BrowserView::Groups(_)
                | BrowserView::AllocationHeaps
                | BrowserView::AllocationFrames { .. }
        )
    }

    /// Returns true if it may take seconds.
    pub(super) fn is_slow(&self) -> bool {
        matches!(
            self,
            BrowserView::Suspects | BrowserView::Growth(_) | BrowserView::Paths(..) | BrowserView::MergedPaths { .. }
        )
    }

    /// The name that finds a row that leads here; `None` for what has no name of its own.
    pub(super) fn findable_name(&self) -> Option<&str> {
        match self {
            BrowserView::Types(Some(group)) => {
                Some(&group.name).filter(|name| *name != NO_GROUP_NAME).map(String::as_str)
            }
            BrowserView::AllocationFrames { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns true if a find leaves the rows that match, as an option of the command does. In other views it leads from
    /// one to the next.
    pub(super) fn is_narrowed_by_find(&self) -> bool {
        matches!(
            self,
            BrowserView::Types(_)
                | BrowserView::Groups(_)
                | BrowserView::Growth(DiffBy::Groups(_))
                | BrowserView::Dominators { .. }
                | BrowserView::Objects { .. }
        )
    }

    /// Returns true if its command has this order for the rows that match as well.
    pub(super) fn sorts_matches_by(&self, order: Figure) -> bool {
        match self {
            BrowserView::Dominators { is_merged_by_type: false, .. } => order != DOMINATED_OBJECTS,
            BrowserView::Dominators { is_merged_by_type: true, .. } => order == BYTES,
            _ => true,
        }
    }
}

/// The name behind the last dot that is not inside brackets: `Generic.List<A.B>` as `List<B>` would be too much of a cut.
fn last_name_part(name: &str) -> &str {
    let end = name.find(['<', '[', '(', '`']).unwrap_or(name.len());
    name[..end].rfind(['.', '/']).map_or(name, |at| &name[at + 1..])
}

/// The words of commands besides the view.
#[derive(Debug, Clone, Default)]
pub struct CommandContext {
    /// The dumps as they are named on the command line, the older one first; none for standard input.
    pub dump_paths: Vec<PathBuf>,
    /// Options that the dumps were opened with.
    pub read_option_words: Vec<String>,
    /// It is a dump of objects, not of allocation totals.
    pub(super) has_object_graph: bool,
    pub(super) has_retained_bytes: bool,
}

impl CommandContext {
    /// Of dumps that are not open yet.
    pub fn new(paths: Vec<PathBuf>, read_words: Vec<String>) -> Self {
        CommandContext { dump_paths: paths, read_option_words: read_words, ..CommandContext::default() }
    }

    /// The question for types or groups, in this order; else in that of retained bytes, where there are any.
    pub(super) fn histogram_options(
        &self,
        by: GroupBy,
        scope: ScopeOptions,
        order: Option<Figure>,
        limits: Limits,
    ) -> HistogramOptions {
        let retained = self.has_retained_bytes.then_some(RetainedBy::Minimum);
        let order = order.or(self.has_object_graph.then_some(RETAINED));
        let order = order.filter(|order| retained.is_some() || *order != RETAINED);
        HistogramOptions { scope, group_by: by, retained, order, limits, ..HistogramOptions::default() }
    }

    /// Growth of these comes with retained bytes.
    pub(super) fn growth_has_retained(&self, by: DiffBy) -> bool {
        self.has_retained_bytes && matches!(by, DiffBy::Groups(_))
    }

    pub(super) fn shell_command(&self, view: &BrowserView, line: CommandLine) -> String {
        let mut line = line;
        self.read_option_words.iter().for_each(|word| _ = line.add_word(word.as_str()));
        let of_both = matches!(view, BrowserView::Growth(_) | BrowserView::Suspects);
        let paths = match self.dump_paths.split_last() {
            Some((last, _)) if !of_both => std::slice::from_ref(last),
            _ => &self.dump_paths[..],
        };
        let named = paths.iter().map(|path| match path.to_str() {
            // What begins so would be an option.
            Some(text) if text.starts_with('-') && text != "-" => Path::new(".").join(path),
            _ => path.clone(),
        });
        let named: Vec<PathBuf> = named.collect();
        line.for_shell(named.iter().map(PathBuf::as_path))
    }
}
