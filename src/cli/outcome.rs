//! The end of a command.

/// The end of a command that was no error, or one that is reported; `main` makes it the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandOutcome {
    /// The answer is on standard output.
    Answered,
    /// The answer is no: nothing matches, not reachable, over the limit.
    NegativeAnswer,
    /// An error that is reported already: a file of several was not read, a dump was refused, a limit was not checked under
    /// `--strict`, or the terminal is gone.
    Failed,
}
