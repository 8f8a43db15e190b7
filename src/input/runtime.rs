//! The runtime whose heap a dump shows: which types are its libraries' depends on it, and nothing in this folder.

/// The runtime of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Runtime {
    /// .NET of any kind.
    DotNet,
    /// A Java virtual machine.
    Java,
    /// V8, or another engine that runs JavaScript.
    JavaScript,
    /// Machine code without a runtime that knows types.
    Native,
}

impl Runtime {
    /// Every runtime that a reader names.
    pub const ALL: [Runtime; 4] = [Runtime::DotNet, Runtime::Java, Runtime::JavaScript, Runtime::Native];
}
