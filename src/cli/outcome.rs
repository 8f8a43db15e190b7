//! The end of a command.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandOutcome {
    /// The answer is on standard output.
    Answered,
    /// The answer is no: nothing matches, not reachable, over the limit.
    NegativeAnswer,
    /// At least one of several files could not be read (already reported).
    Failed,
}
