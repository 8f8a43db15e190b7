//! Runtimes of programs, and the words that files have for them.

use serde::{Deserialize, Serialize};

/// The runtime of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Runtime {
    /// .NET of any kind.
    DotNet,
    /// A Java virtual machine.
    Java,
    /// V8, or another engine that runs JavaScript.
    JavaScript,
    /// Ruby.
    Ruby,
    /// Machine code without a runtime that knows types.
    Native,
    /// Python.
    Python,
    /// Any other, or the dump does not say.
    Unknown,
}

impl Runtime {
    /// Every runtime, with the word that `heapgraph` files have for it.
    pub const ALL: [(Runtime, &str); 7] = [
        (Runtime::DotNet, ".NET"),
        (Runtime::Java, "Java"),
        (Runtime::JavaScript, "JavaScript"),
        (Runtime::Native, "native"),
        (Runtime::Python, "Python"),
        (Runtime::Ruby, "Ruby"),
        (Runtime::Unknown, "unknown"),
    ];

    /// The word that `heapgraph` files have for it.
    pub(crate) fn word(self) -> &'static str {
        Self::ALL.iter().find(|(runtime, _)| *runtime == self).map_or("", |&(_, word)| word)
    }

    /// The runtime that a program names itself after: its word, or that of an implementation, with a version behind it.
    pub(crate) fn from_words(text: &str) -> Option<Self> {
        let first = text.split_whitespace().next()?;
        let names = [("CPython", Runtime::Python), ("PyPy", Runtime::Python), ("Node.js", Runtime::JavaScript)];
        let words = Self::ALL.iter().map(|&(runtime, word)| (word, runtime)).chain(names);
        words.into_iter().find(|(word, _)| word.eq_ignore_ascii_case(first)).map(|(_, runtime)| runtime)
    }
}
