//! The whole text of a string or an array of characters in UTF-8, or the bytes of an array of bytes.

use std::io::Write;

use super::error::{ExportError, verify_index_file};
use crate::answers::{AnswerError, ObjectId, ScopeOptions};
use crate::dump::{NoValues, OpenDump};

/// Writes what an object holds, piece by piece, and says whether the dump has all of it.
///
/// # Errors
/// When there is no such object, it is none of these, or the dump or the output fails.
pub fn write_raw_contents(
    dump: &OpenDump,
    object: &ObjectId,
    scope: &ScopeOptions,
    out: &mut dyn Write,
) -> Result<bool, ExportError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let node = object.find(graph, scope)?;
    let details = dump.values().map_err(AnswerError::NoValues)?;
    verify_index_file(dump)?;
    let mut written = Ok(());
    let mut take = |bytes: &[u8]| {
        written = out.write_all(bytes);
        written.is_ok()
    };
    let is_whole = details.visit_whole_content(graph, node, &mut take);
    written?;
    let is_whole = is_whole.map_err(|error| AnswerError::NoValues(NoValues::Unreadable(error.to_string())))?;
    Ok(is_whole.ok_or_else(|| AnswerError::NotText(graph.display_id(node)))?)
}
