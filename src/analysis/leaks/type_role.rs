//! Owners and roles of types.

/// The owner of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeOwner {
    /// The program's own.
    Application,
    /// A library's.
    Library,
    /// The runtime's.
    Runtime,
}

/// The part that objects of a type play on a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeRole {
    /// The number of its name: that of types of one name is one, in both dumps.
    pub symbol: u32,
    /// Its owner.
    pub owner: CodeOwner,
    /// It only carries others: arrays, nodes, entries, wrappers.
    pub is_carrier: bool,
    /// It is an element where nothing better is: an object without a class of its own.
    pub has_no_own_class: bool,
    /// The runtime's own data about the program: never looked into.
    pub is_runtime_metadata: bool,
    /// Chains run through it: glue that is no collection.
    pub is_chain_link: bool,
    /// Objects that refer to others of their type are one row.
    pub folds_same_type: bool,
    /// Objects of it that others of it refer to are parts of these: texts that were put together.
    pub is_composite_text: bool,
    /// It is what a program counts, whatever of the program's own it carries: a session, a thread.
    pub is_notable: bool,
    /// Its name says that it carries an element of a list.
    pub is_list_node: bool,
    /// Its class has no name: it stands for what it carries one for one.
    pub is_anonymous: bool,
    /// Some of its objects have names of their own: classes, threads, modules.
    pub has_named_objects: bool,
    /// Its objects are class objects.
    pub is_class: bool,
}
