//! The file that a command writes: never over what its answer comes from. It is begun when there is something to write.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Error, Result, anyhow};

use crate::cli::terminal::ask_dump::AskedDump;
use crate::cli::terminal::dump_input::DumpInput;
use crate::cli::terminal::kept_dumps::WriteIndex;
use crate::dump::inputs_of;
use crate::dump::path_of_index;
use crate::dump::{OpenDump, OpenOptions, write_index};
use crate::export::{ExportError, MAX_FLAMEGRAPH_BYTES};
use crate::files::{Inputs, OutputTarget, TargetError};
use crate::index::{SourceKey, is_index};
use crate::units::format_bytes;

/// The target for what is made of dumps, if of any: `None` and `-` are standard output. A dump, an index that may answer for it, and
/// the dump behind an index are no targets.
pub(crate) fn find_target(dumps: &[DumpInput], output: Option<&Path>) -> Result<OutputTarget> {
    checked_target(output, &inputs_of(dumps.iter().map(DumpInput::path), output))
}

/// The target for the index of a dump, which may replace the one that is there.
pub(crate) fn find_target_of_index(dump: &DumpInput, output: &Path) -> Result<OutputTarget> {
    let mut inputs = Inputs::new();
    inputs.add_dump(dump.path());
    checked_target(Some(output), &inputs)
}

/// The same beside the dump's file, under a name that nobody typed.
pub(crate) fn find_index_target_beside(dump: &DumpInput, file: &Path) -> Result<OutputTarget> {
    let mut inputs = Inputs::new();
    inputs.add_dump(dump.path());
    let index = path_of_index(file);
    writable_target(OutputTarget::find_without_links(&index, &inputs), &index.display().to_string())
}

/// Returns a function that writes the index of a dump beside it, once it is open; `None` for what is no file, or an index itself. The dump's file is looked at
/// now: what is written to it from now on makes the index stale.
pub(crate) fn index_writer(dump: &DumpInput, options: &OpenOptions) -> Option<WriteIndex> {
    let path = dump.path().filter(|path| path.is_file() && !is_index(path))?;
    let key = SourceKey::of(path).ok()?;
    let target = match find_index_target_beside(dump, path) {
        Ok(target) => target,
        Err(why) => return Some(Arc::new(move |_: &OpenDump| Err(format!("{why:#}")))),
    };
    let (options, written_bytes, file) = (options.clone(), AtomicU64::new(0), path_of_index(path));
    Some(Arc::new(move |dump: &OpenDump| {
        let is_there = || file.metadata().is_ok_and(|file| file.len() == written_bytes.load(Ordering::Relaxed));
        if dump.is_indexed() || is_there() {
            return Err("there is a fresh index already".to_string());
        }
        let bytes = write_index(dump, &target, Some(key.clone()), &options).map_err(|error| error.to_string())?;
        written_bytes.store(bytes, Ordering::Relaxed);
        Ok(format!("wrote {} ({})", target.name(), format_bytes(bytes)))
    }))
}

/// A target that can be written: looked at before the work, not after it.
fn checked_target(output: Option<&Path>, inputs: &Inputs) -> Result<OutputTarget> {
    let name = output.map_or("standard output".into(), |output| output.display().to_string());
    writable_target(OutputTarget::find(output, inputs), &name)
}

fn writable_target(found: Result<OutputTarget, TargetError>, name: &str) -> Result<OutputTarget> {
    let target = found.map_err(|error| match error {
        TargetError::Io(error) => anyhow!(error).context(format!("cannot write {name}")),
        TargetError::NotRegularFile => anyhow!("{name} {}; -o puts the index elsewhere", TargetError::NotRegularFile),
        error => anyhow!("{name} {error}"),
    })?;
    target.check_writable().with_context(|| format!("cannot write {}; -o puts it elsewhere", target.name()))?;
    Ok(target)
}

/// Writes all of an output at once.
pub(crate) fn write_output(target: &OutputTarget, bytes: &[u8]) -> Result<()> {
    let mut out = target.begin_lazily(|| {});
    out.write_all(bytes).and_then(|()| out.finish()).with_context(|| format!("cannot write {}", target.name()))
}

/// Writes an export of a dump. Until its first byte there is progress, and the target is left alone.
pub(crate) fn write_export<T>(
    asked: &AskedDump<'_>,
    target: &OutputTarget,
    export: impl FnOnce(&mut dyn Write) -> Result<T, ExportError>,
) -> Result<T> {
    let mut out = target.begin_lazily(|| asked.session.progress.clear());
    let result = export(&mut out).map_err(|error| match error {
        ExportError::Answer(error) => asked.explain(error),
        ExportError::Write(error) => Error::from(error).context(format!("cannot write {}", target.name())),
        ExportError::FlamegraphTooLarge => anyhow!(
            "the paths take more than {}, too much for a flame graph: draw less with --depth or --min-bytes",
            format_bytes(MAX_FLAMEGRAPH_BYTES as u64)
        ),
        ExportError::NothingToDraw(why) => {
            anyhow!("cannot draw the flame graph: nothing is reachable, or nothing is as large as --min-bytes: {why}")
        }
        error => error.into(),
    })?;
    out.finish().with_context(|| format!("cannot write {}", target.name()))?;
    Ok(result)
}
