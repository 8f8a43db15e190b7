//! Root records: what the runtime says it holds by itself.

use super::{FrameId, GraphNameId, NodeId, ThreadId, TypeId};

/// Defines the kinds with their words, once: the enum, [`RootKind::ALL`], names and meanings come from this list.
macro_rules! root_kinds {
    (
        $($(#[$doc:meta])* $kind:ident $name:literal $meaning:literal $strength:ident,)*
        ; $($(#[$less_doc:meta])* $less:ident $less_name:literal $less_meaning:literal $less_strength:ident,)*
    ) => {
        /// The reason for which the runtime holds an object.
        ///
        /// The order is from the most telling to the least: where one record must stand for several of an object, the
        /// smallest wins (variables before handles before threads before what the runtime does for itself).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RootKind {
            $($(#[$doc])* $kind,)*
            /// A kind that the format's documents do not name.
            Other(u32),
            $($(#[$less_doc])* $less,)*
        }

        impl RootKind {
            /// Every kind that has a name of its own, the most telling first.
            pub const ALL: &'static [RootKind] = &[$(RootKind::$kind,)* $(RootKind::$less,)*];

            fn key_meaning_and_strength(self) -> (&'static str, &'static str, RootStrength) {
                match self {
                    $(RootKind::$kind => ($name, $meaning, RootStrength::$strength),)*
                    RootKind::Other(_) => ("kind", "a root of a kind that is not documented", RootStrength::Strong),
                    $(RootKind::$less => ($less_name, $less_meaning, RootStrength::$less_strength),)*
                }
            }
        }
    };
}

/// Effect of a record of a kind where its flags do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootStrength {
    Strong,
    /// The dump's own records of this kind hold nothing.
    Weak,
}

root_kinds! {
    /// A static variable; `Root::declaring_class` is the class that has it, where the dump says so.
    Static "static" "a static variable" Strong,
    /// A module of a program, which is loaded once.
    Module "module" "a loaded module" Strong,
    /// A local variable or argument on a stack.
    Local "local" "a local variable" Strong,
    /// A local variable of a Java method.
    JavaFrame "java-frame" "a local variable of a Java method" Strong,
    /// A local reference of native code (JNI).
    JniLocal "jni-local" "a local reference of native code (JNI)" Strong,
    /// On the native stack of a thread.
    NativeStack "native-stack" "the native stack of a thread" Strong,
    /// A global reference of native code (JNI).
    JniGlobal "jni-global" "a global reference of native code (JNI)" Strong,
    /// A handle that native code or the program itself made.
    Handle "handle" "a GC handle" Strong,
    /// A live thread.
    Thread "thread" "a live thread" Strong,
    /// A block that a thread waits in.
    ThreadBlock "thread-block" "a blocked thread" Strong,
    /// A monitor that is locked or waited for.
    Monitor "monitor" "a monitor in use (locked, or waited for)" Strong,
    /// A monitor that native code locked.
    JniMonitor "jni-monitor" "a monitor that native code locked (JNI)" Strong,
    /// On the finalizer queue: held until its finalizer has run.
    Finalizer "finalizer" "the finalizer queue (until its finalizer has run)" Strong,
    /// Its finalizer is to be run (Android).
    Finalizing "finalizing" "a finalizer that is to be run" Strong,
    /// A reference object whose target is gone, waiting for the program (Android).
    ReferenceCleanup "reference-cleanup" "the queue of cleared reference objects" Strong,
    /// Held by COM or WinRT code outside the runtime.
    Com "com" "COM or WinRT code" Strong,
    /// An object of the program around V8: of Node.js, Electron or a browser.
    Embedder "embedder" "native code around V8 (of Node.js, Electron or the browser)" Strong,
    /// The value of a dependent handle in a dump that has lost which key it hangs on.
    Dependent "dependent" "a dependent handle (the dump has lost its key)" Strong,
    /// Held by an attached debugger (Android).
    Debugger "debugger" "an attached debugger" Strong,
    /// References are counted that no object of the dump has.
    External "external" "native code (it is referred to more often than the dump's objects do)" Strong,
    /// Held by the runtime itself: application domains, assemblies, preallocated exceptions.
    Runtime "runtime" "the runtime itself" Strong,
    /// Held by the virtual machine itself (Android).
    VmInternal "vm-internal" "the virtual machine itself" Strong,
    /// Held by the collector: interned strings, class descriptions.
    Gc "gc" "the collector (interned strings, class descriptions)" Strong,
    /// A string that is kept once for all of its text (Android).
    InternedString "interned-string" "the table of interned strings" Strong,
    /// A class that is never unloaded.
    SystemClass "system-class" "a system class, which is never unloaded" Strong,
    /// The dump has a root record and does not know why.
    Unknown "unknown" "a root of a kind that the dump does not know" Strong,
    ;
    /// Inferred: a class of a dump without root records.
    Class "class" "a loaded class (inferred: the dump has no root records)" Strong,
    /// Inferred: an object that no other object refers to, in a dump without root records.
    Unreferenced "unreferenced" "no other object (root inferred: nothing in the dump refers to it)" Strong,
    /// Inferred: the first object of a cycle that nothing else holds, in a dump without root records.
    Cycle "cycle" "a cycle that nothing else holds (inferred root)" Strong,
    /// Added on request for objects that no strong root reaches; in an Android dump an object that nothing holds.
    Unreachable "unreachable" "no root: kept on request (--keep-unreachable)" Weak,
}

impl RootKind {
    /// The word for this kind, as JSON, tables and `--exclude-roots` have it.
    pub fn name(self) -> String {
        match self {
            RootKind::Other(number) => format!("kind {number}"),
            _ => self.key_meaning_and_strength().0.into(),
        }
    }

    /// The kind of this name, as [`RootKind::name`] gives it.
    pub fn from_name(text: &str) -> Option<RootKind> {
        match text.strip_prefix("kind ") {
            Some(number) => number.parse().ok().map(RootKind::Other),
            None => Self::ALL.iter().copied().find(|kind| kind.key_meaning_and_strength().0 == text),
        }
    }

    /// The kind that a user names: as [`RootKind::name`] gives it or with dashes for blanks, in small or capital letters.
    pub fn from_words(text: &str) -> Option<RootKind> {
        let spaced = text.to_lowercase().replace('-', " ");
        let known = || Self::ALL.iter().copied().find(|kind| kind.name().replace('-', " ") == spaced);
        Self::from_name(&spaced).or_else(known)
    }

    /// Meaning of the kind, in words for people who have not read a format's document.
    pub fn meaning(self) -> &'static str {
        self.key_meaning_and_strength().1
    }

    /// Returns false if a dump's records of this kind hold nothing, whatever their flags say.
    pub fn holds_in_dump(self) -> bool {
        self.key_meaning_and_strength().2 == RootStrength::Strong
    }

    /// Two numbers for a column: that of the kind, and the dump's own of a kind without a name, else 0.
    pub(super) fn to_numbers(self) -> (u32, u32) {
        match self {
            RootKind::Other(number) => (Self::ALL.len() as u32, number),
            _ => (Self::ALL.iter().position(|&kind| kind == self).unwrap_or(0) as u32, 0),
        }
    }

    pub(super) fn from_numbers(kind: u32, number: u32) -> Option<Self> {
        let other = (kind as usize == Self::ALL.len()).then_some(RootKind::Other(number));
        Self::ALL.get(kind as usize).copied().or(other)
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
    pub fn has_any(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    const WORDS: [(u32, &str); 5] = [
        (Self::PINNED, "pinned"),
        (Self::WEAK, "weak"),
        (Self::INTERIOR, "interior"),
        (Self::REF_COUNTED, "ref-counted"),
        (Self::THREAD_LOCAL, "thread-local"),
    ];

    /// The flags of a word, as [`names`](Self::names) gives it; none of a word that is not known.
    pub(crate) fn from_name(text: &str) -> Self {
        let unknown = || text.strip_prefix("flags 0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let known = Self::WORDS.iter().find(|(_, word)| *word == text).map(|&(bit, _)| bit);
        RootFlags(known.or_else(unknown).unwrap_or(0))
    }

    /// The flags in words, smallest bit first; unknown bits together as one number.
    pub fn names(self) -> Vec<String> {
        let mut names = Vec::new();
        let mut unknown = self.0;
        for (bit, name) in Self::WORDS {
            if self.has_any(bit) {
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

/// A root record as a reader hands it over, its object still an id.
#[derive(Debug, Clone, Copy)]
pub struct RootRecord {
    /// The object held, as the dump names it.
    pub object_id: u64,
    /// The reason for which it is held.
    pub kind: RootKind,
    /// Pinned, weak and so on.
    pub flags: RootFlags,
    /// The class with the static variable, or of the method.
    pub declaring_class: Option<super::TypeSlot>,
    /// Name of the variable or method.
    pub name: Option<GraphNameId>,
    /// The dump's number of the thread whose root it is (`ThreadRecord::serial`).
    pub thread_serial: Option<u32>,
    /// The frame in that thread's stack, 0 the innermost.
    pub frame_index: Option<u32>,
    /// The record's line or byte offset.
    pub position: u64,
}

impl RootRecord {
    /// A record that says no more than which object and why.
    pub fn new(id: u64, kind: RootKind, position: u64) -> Self {
        RootRecord {
            object_id: id,
            kind,
            flags: RootFlags::default(),
            declaring_class: None,
            name: None,
            thread_serial: None,
            frame_index: None,
            position,
        }
    }
}

/// The source that makes an object a root.
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
    /// The reason for which it is held.
    pub kind: RootKind,
    /// Pinned, weak, interior and what else the dump says.
    pub flags: RootFlags,
    /// The class with the static variable, or of the method with the local.
    pub declaring_class: Option<TypeId>,
    /// Name of the static variable, or of the method with the local; `HeapGraph::root_name` gives the text.
    pub name: Option<GraphNameId>,
    /// The source that says so.
    pub origin: RootOrigin,
    /// The thread whose root it is, where the dump says so.
    pub thread: Option<ThreadId>,
    /// The frame of that thread, for a local variable.
    pub frame: Option<FrameId>,
    /// The record says what a thread has on its stack, and the thread's object is in the dump: the object is held by a
    /// reference of the thread, which stands in the graph, and is no root by itself.
    pub is_through_thread: bool,
    /// Left out of every analysis on the user's wish (`--exclude-roots`).
    pub is_excluded: bool,
}

impl Root {
    /// A strong root that no record says more of.
    pub fn new(node: NodeId, kind: RootKind, origin: RootOrigin) -> Self {
        Root {
            node,
            kind,
            flags: RootFlags::default(),
            declaring_class: None,
            name: None,
            origin,
            thread: None,
            frame: None,
            is_through_thread: false,
            is_excluded: false,
        }
    }

    /// Returns true if this root keeps its object alive by itself.
    pub fn is_strong(&self) -> bool {
        !self.flags.has_any(RootFlags::WEAK) && !self.is_excluded && !self.is_through_thread
    }

    /// Returns true if paths to objects begin here: at strong roots, with `all_kinds` at weak ones too.
    pub fn starts_paths(&self, all_kinds: bool) -> bool {
        !self.is_excluded && !self.is_through_thread && (all_kinds || !self.is_weak())
    }

    /// Returns true if the dump says that this keeps its object alive (or the graph does, where roots are inferred),
    /// whatever the user excluded or added.
    pub fn is_strong_in_dump(&self) -> bool {
        !self.is_weak() && !self.is_requested() && !self.is_through_thread
    }

    /// Returns true if the root was added on the user's wish.
    pub fn is_requested(&self) -> bool {
        self.origin == RootOrigin::Requested
    }

    /// Is this a weak root, whatever the user excluded?
    pub fn is_weak(&self) -> bool {
        self.flags.has_any(RootFlags::WEAK)
    }
}

#[cfg(test)]
mod tests {
    use super::{Root, RootKind};

    #[test]
    fn a_root_is_small() {
        assert!(size_of::<Root>() <= 40, "{}", size_of::<Root>());
    }

    #[test]
    fn every_kind_is_found_by_its_name() {
        for (at, &kind) in RootKind::ALL.iter().enumerate() {
            assert_eq!(RootKind::from_name(&kind.name()), Some(kind));
            assert_eq!(kind.to_numbers(), (at as u32, 0));
            assert_eq!(RootKind::from_numbers(at as u32, 0), Some(kind));
            assert!(RootKind::ALL[..at].iter().all(|before| *before < kind && before.name() != kind.name()));
            assert!(!kind.meaning().is_empty() && !kind.meaning().ends_with('.'));
            assert_eq!(kind.holds_in_dump(), kind != RootKind::Unreachable);
        }
        let other = RootKind::Other(7);
        assert_eq!(RootKind::from_name(&other.name()), Some(other));
        let (kind, number) = other.to_numbers();
        assert_eq!(RootKind::from_numbers(kind, number), Some(other));
        assert_eq!(RootKind::from_numbers(kind + 1, number), None);
        assert_eq!(RootKind::from_name("locale"), None);
        assert_eq!(RootKind::from_name("kind of"), None);
    }
}
