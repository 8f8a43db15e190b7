//! The runtime whose heap a dump shows: which types are its libraries' depends on it, and nothing in this folder.

use super::READERS;

/// What a program ran on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Runtime {
    /// .NET of any kind.
    DotNet,
    /// A Java virtual machine.
    Java,
    /// Machine code without a runtime that knows types.
    Native,
}

impl Runtime {
    /// Every runtime that a reader names.
    pub const ALL: [Runtime; 3] = [Runtime::DotNet, Runtime::Java, Runtime::Native];

    /// The runtime of a reader's format; `None` when no reader has this name.
    pub fn of_format(name: &str) -> Option<Self> {
        READERS.iter().find(|reader| reader.name() == name).map(|reader| reader.runtime())
    }
}
