//! Problems that any format can have, with their stable codes. A format's own are in `problem_codes.rs` of its folder.

use super::diagnostics::{Diagnostics, Problem, ProblemCode};
use super::error::{ReadError, ReadErrorKind};

/// Declares the codes of a format: `NAME: severity("name", "meaning");`.
macro_rules! codes {
    ($($name:ident: $severity:ident($($text:literal),*);)*) => {
        $(pub static $name: $crate::input::ProblemCode = $crate::input::ProblemCode::$severity($($text),*);)*
    };
}
pub(super) use codes;

/// The packed input broke off.
pub(super) static BROKEN_COMPRESSION: ProblemCode =
    ProblemCode::warning("broken-compression", "the compressed data is cut or damaged; what came before was read");

/// Sums do not fit 64 bits.
pub(super) static SIZE_OVERFLOW: ProblemCode =
    ProblemCode::warning("size-overflow", "sections with more than 18,446,744,073,709,551,615 bytes; sums end there");

/// Objects were counted, not kept: which of them came before is not known.
pub(crate) static POSSIBLE_REPEAT: ProblemCode = ProblemCode::note(
    "possible-repeat",
    "objects that may be listed twice: --shallow counts repeats each time, a full read leaves them out",
);

/// Runs of padding that no tool writes.
pub(super) static PADDING: ProblemCode = ProblemCode::warning(
    "padding",
    "long runs of NULs or blanks, which were skipped: the file was filled up or not all written",
);

/// Findings of the graph's builder, in a format's words: the codes are the same for all formats, what they mean is said
/// of "the dump", "the snapshot" or "their section".
#[derive(Debug)]
pub struct GraphCodes {
    pub(super) dangling_ref: ProblemCode,
    pub(super) cross_domain_ref: ProblemCode,
    pub(super) dangling_root: ProblemCode,
    pub(super) dangling_class_root: ProblemCode,
    pub(super) duplicate_object: ProblemCode,
    pub(super) conflicting_object: ProblemCode,
}

impl GraphCodes {
    /// The words of most formats, which have one heap in a dump, and addresses for ids.
    pub(super) const DEFAULT: GraphCodes = GraphCodes {
        dangling_ref: ProblemCode::warning("dangling-ref", "references to objects that are not in the dump"),
        cross_domain_ref: ProblemCode::warning(
            "cross-domain-ref",
            "dangling references that an object of another AppDomain would fit",
        ),
        dangling_root: ProblemCode::warning("dangling-root", "roots of objects that are not in the dump"),
        dangling_class_root: ProblemCode::warning("dangling-class-root", "roots of classes that are not in the dump"),
        duplicate_object: ProblemCode::warning(
            "duplicate-object",
            "objects listed again with the same content; ignored",
        ),
        conflicting_object: ProblemCode::warning(
            "conflicting-object",
            "objects at the address of another object; the first was kept",
        ),
    };
}

/// An error when no object was read and some were lost. Error: if `objects` is 0 and the dump has any of these
/// problems, or its packing broke off.
pub(super) fn fail_if_nothing_read(
    objects: u64,
    problems: &Diagnostics,
    lost: &[&'static ProblemCode],
) -> Result<(), ReadError> {
    if objects > 0 {
        return Ok(());
    }
    let is_loss =
        |problem: &&Problem| problem.has_code(&BROKEN_COMPRESSION) || lost.iter().any(|code| problem.has_code(code));
    let losses = problems.sorted().into_iter().filter(is_loss);
    losses.min_by_key(|problem| problem.first_at).map_or(Ok(()), |problem| {
        Err(ReadError::new(ReadErrorKind::NothingRead(problem.code.to_string(), problem.meaning_and_text()))
            .at(problem.first_at))
    })
}
