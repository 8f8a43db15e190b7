//! The runtime whose heap a dump shows: which types are its libraries' depends on it, and nothing in this folder.

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
}
