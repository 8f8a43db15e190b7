//! Root records: what the runtime says it holds by itself.

use super::{NodeId, TypeId};

/// Why the runtime holds an object.
///
/// The order is from the most telling to the least: where one record must stand for several of an object, the
/// smallest wins (static before local before handle before finalizer before the rest).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RootKind {
    /// A static variable; `Root::container` is the class that has it, where the dump says so.
    Static,
    /// A local variable or argument on a stack.
    Local,
    /// A handle that native code or the program itself made.
    Handle,
    /// On the finalizer queue: held until its finalizer has run.
    Finalizer,
    /// Held by COM or WinRT code outside the runtime.
    Com,
    /// The value of a dependent handle in a dump that has lost which key it hangs on.
    Dependent,
    /// Held by the runtime itself: application domains, assemblies, preallocated exceptions.
    Runtime,
    /// Held by the collector: interned strings, class descriptions.
    Gc,
    /// A kind that the format's documents do not name.
    Other(u32),
    /// Inferred: a class of a dump without root records.
    Class,
    /// Inferred: an object that no other object refers to, in a dump without root records.
    Unreferenced,
    /// Inferred: the first object of a cycle that nothing else holds, in a dump without root records.
    Cycle,
    /// Added on request for objects that no strong root reaches.
    Unreachable,
}

impl RootKind {
    /// The word for this kind, as JSON, tables and `--exclude-roots` have it.
    pub fn name(self) -> String {
        match self {
            RootKind::Static => "static".into(),
            RootKind::Local => "local".into(),
            RootKind::Handle => "handle".into(),
            RootKind::Finalizer => "finalizer".into(),
            RootKind::Com => "com".into(),
            RootKind::Dependent => "dependent".into(),
            RootKind::Runtime => "runtime".into(),
            RootKind::Gc => "gc".into(),
            RootKind::Other(number) => format!("kind {number}"),
            RootKind::Class => "class".into(),
            RootKind::Unreferenced => "unreferenced".into(),
            RootKind::Cycle => "cycle".into(),
            RootKind::Unreachable => "unreachable".into(),
        }
    }

    /// Every kind that has a name of its own.
    pub const NAMED: [RootKind; 12] = [
        RootKind::Static,
        RootKind::Local,
        RootKind::Handle,
        RootKind::Finalizer,
        RootKind::Com,
        RootKind::Dependent,
        RootKind::Runtime,
        RootKind::Gc,
        RootKind::Class,
        RootKind::Unreferenced,
        RootKind::Cycle,
        RootKind::Unreachable,
    ];

    /// The kind of this name, as [`RootKind::name`] gives it.
    pub fn from_name(text: &str) -> Option<RootKind> {
        match text.strip_prefix("kind ") {
            Some(number) => number.parse().ok().map(RootKind::Other),
            None => Self::NAMED.into_iter().find(|kind| kind.name() == text),
        }
    }

    /// What the kind means, in words for people who have not read a format's document.
    pub fn meaning(self) -> &'static str {
        match self {
            RootKind::Static => "a static variable",
            RootKind::Local => "a local variable",
            RootKind::Handle => "a GC handle",
            RootKind::Finalizer => "the finalizer queue (until its finalizer has run)",
            RootKind::Com => "COM or WinRT code",
            RootKind::Dependent => "a dependent handle (the dump has lost its key)",
            RootKind::Runtime => "the runtime itself",
            RootKind::Gc => "the collector (interned strings, class descriptions)",
            RootKind::Other(_) => "a root of a kind that is not documented",
            RootKind::Class => "a loaded class (inferred: the dump has no root records)",
            RootKind::Unreferenced => "nothing in the dump refers to it (inferred root)",
            RootKind::Cycle => "a cycle that nothing else holds (inferred root)",
            RootKind::Unreachable => "no root: kept on request (--keep-unreachable)",
        }
    }
}

/// Properties of a root record, a set of bits; the numbers are those of the CLR's profiling interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RootFlags(pub u32);

impl RootFlags {
    /// The object may not move.
    pub const PINNED: u32 = 1;
    /// The root does not keep its object alive.
    pub const WEAK: u32 = 2;
    /// The root points into the object, not at its start.
    pub const INTERIOR: u32 = 4;
    /// The root holds its object while COM code counts references to it.
    pub const REF_COUNTED: u32 = 8;
    /// A static variable that each thread has for itself. Not a number of the profiling interface.
    pub const THREAD_LOCAL: u32 = 1 << 31;

    /// Is any of `bits` set?
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    /// The flags in words, smallest bit first; unknown bits together as one number.
    pub fn names(self) -> Vec<String> {
        let mut names = Vec::new();
        let mut unknown = self.0;
        for (bit, name) in [
            (Self::PINNED, "pinned"),
            (Self::WEAK, "weak"),
            (Self::INTERIOR, "interior"),
            (Self::REF_COUNTED, "ref-counted"),
            (Self::THREAD_LOCAL, "thread-local"),
        ] {
            if self.has(bit) {
                names.push(name.to_string());
            }
            unknown &= !bit;
        }
        if unknown != 0 {
            names.push(format!("flags {unknown:#x}"));
        }
        names
    }
}

/// A name of root records, kept once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootName(pub(super) u32);

/// A root record as a reader hands it over, its object still an id.
#[derive(Debug, Clone, Copy)]
pub struct RootRecord {
    /// The object held, as the dump names it.
    pub id: u64,
    /// Why it is held.
    pub kind: RootKind,
    /// Pinned, weak and so on.
    pub flags: RootFlags,
    /// The class with the static variable, or of the method.
    pub container: Option<super::TypeSlot>,
    /// Of the variable or method.
    pub name: Option<RootName>,
    /// The record's line or byte offset.
    pub position: u64,
}

/// Who says that an object is a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RootOrigin {
    /// The dump.
    #[default]
    Dump,
    /// An analysis, for a dump whose format has no root records.
    Inferred,
    /// The user, who asked for roots of objects that nothing holds.
    Requested,
}

/// One root record whose object is in the dump. An object may have several.
#[derive(Debug, Clone)]
pub struct Root {
    /// The object held.
    pub node: NodeId,
    /// Why it is held.
    pub kind: RootKind,
    /// Pinned, weak, interior and what else the dump says.
    pub flags: RootFlags,
    /// The class with the static variable, or of the method with the local.
    pub container: Option<TypeId>,
    /// Of the static variable, or of the method with the local; `HeapGraph::root_name` gives the text.
    pub name: Option<RootName>,
    /// Who says so.
    pub origin: RootOrigin,
    /// Left out of every analysis on the user's wish (`--exclude-roots`).
    pub excluded: bool,
}

impl Root {
    /// Does this root keep its object alive?
    pub fn is_strong(&self) -> bool {
        !self.flags.has(RootFlags::WEAK) && !self.excluded
    }

    /// Returns true if the dump says that this keeps its object alive (or its shape says so, where roots are inferred),
    /// whatever the user excluded or added.
    pub fn is_strong_in_dump(&self) -> bool {
        !self.is_weak() && !self.is_requested()
    }

    /// Returns true if the root was added on the user's wish.
    pub fn is_requested(&self) -> bool {
        self.origin == RootOrigin::Requested
    }

    /// Is this a weak root, whatever the user excluded?
    pub fn is_weak(&self) -> bool {
        self.flags.has(RootFlags::WEAK)
    }
}

#[cfg(test)]
mod tests {
    use super::RootKind;

    /// A new kind does not compile here before it is in the walk, and fails before it is in the list.
    fn after(kind: RootKind) -> Option<RootKind> {
        Some(match kind {
            RootKind::Static => RootKind::Local,
            RootKind::Local => RootKind::Handle,
            RootKind::Handle => RootKind::Finalizer,
            RootKind::Finalizer => RootKind::Com,
            RootKind::Com => RootKind::Dependent,
            RootKind::Dependent => RootKind::Runtime,
            RootKind::Runtime => RootKind::Gc,
            RootKind::Gc => RootKind::Other(7),
            RootKind::Other(_) => RootKind::Class,
            RootKind::Class => RootKind::Unreferenced,
            RootKind::Unreferenced => RootKind::Cycle,
            RootKind::Cycle => RootKind::Unreachable,
            RootKind::Unreachable => return None,
        })
    }

    #[test]
    fn every_kind_is_found_by_its_name() {
        let all: Vec<RootKind> = std::iter::successors(Some(RootKind::Static), |&kind| after(kind)).collect();
        assert_eq!(all.len(), RootKind::NAMED.len() + 1);
        for kind in all {
            assert_eq!(RootKind::from_name(&kind.name()), Some(kind));
        }
        assert_eq!(RootKind::from_name("locale"), None);
        assert_eq!(RootKind::from_name("kind of"), None);
    }
}
