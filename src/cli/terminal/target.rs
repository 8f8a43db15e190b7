//! Where a command's file goes: never over what its answer comes from. It is begun when there is something to write.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Error, Result, anyhow};

use crate::cli::terminal::asking::Asked;
use crate::cli::terminal::load::Input;
use crate::cli::terminal::progress::Progress;
use crate::dump::{companions, is_index_of};
use crate::export::{ExportError, MAX_FLAMEGRAPH_BYTES};
use crate::files::{Inputs, Output, Target, TargetError};
use crate::units::format_bytes;

/// The target for what is made of a dump: `None` and `-` are standard output. The dump, an index that may answer for it,
/// and the dump behind an index are no targets.
pub(crate) fn find_target(dump: &Input, output: Option<&Path>) -> Result<Target> {
    find_target_of_several(std::slice::from_ref(dump), output)
}

/// The same for what is made of several dumps.
pub(crate) fn find_target_of_several(dumps: &[Input], output: Option<&Path>) -> Result<Target> {
    let mut inputs = Inputs::new();
    for dump in dumps {
        add_input(dump, &mut inputs);
        let Input::Path(path) = dump else { continue };
        companions(path).iter().for_each(|path| inputs.add(path));
        if let Some(output) = output.filter(|output| is_index_of(path, output)) {
            inputs.add(output);
        }
    }
    checked(output, &inputs)
}

/// The target for the index of a dump, which may replace the one that is there.
pub(crate) fn find_target_of_index(dump: &Input, output: &Path) -> Result<Target> {
    let mut inputs = Inputs::new();
    add_input(dump, &mut inputs);
    checked(Some(output), &inputs)
}

/// The target for what is made of no dump.
pub(crate) fn find_target_of_text(output: Option<&Path>) -> Result<Target> {
    checked(output, &Inputs::new())
}

fn add_input(dump: &Input, inputs: &mut Inputs) {
    match dump {
        Input::Path(path) => inputs.add(path),
        Input::Stdin => inputs.add_standard_input(),
    }
}

/// Before the work, not after it.
fn checked(output: Option<&Path>, inputs: &Inputs) -> Result<Target> {
    let name = || output.map_or("standard output".into(), |output| output.display().to_string());
    let target = Target::find(output, inputs).map_err(|error| match error {
        TargetError::Io(error) => anyhow!(error).context(format!("cannot write {}", name())),
        error => anyhow!("{} {error}", name()),
    })?;
    target.check_writable().with_context(|| format!("cannot write {}; -o puts it elsewhere", target.name()))?;
    Ok(target)
}

/// Writes all of an output at once.
pub(crate) fn write(target: &Target, bytes: &[u8]) -> Result<()> {
    let mut out = LazyOutput { target, progress: None, begun: None };
    out.write_all(bytes).and_then(|()| out.finish()).with_context(|| format!("cannot write {}", target.name()))
}

/// Writes an export of a dump. Until its first byte there is progress, and the target is left alone.
pub(crate) fn write_export<T>(
    asked: &Asked<'_>,
    target: &Target,
    export: impl FnOnce(&mut dyn Write) -> Result<T, ExportError>,
) -> Result<T> {
    let mut out = LazyOutput { target, progress: Some(&asked.session.progress), begun: None };
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

/// An output that is begun with its first byte.
struct LazyOutput<'t> {
    target: &'t Target,
    progress: Option<&'t Progress>,
    begun: Option<Output>,
}

impl LazyOutput<'_> {
    fn begin(&mut self) -> io::Result<&mut Output> {
        match &mut self.begun {
            Some(out) => Ok(out),
            begun => {
                self.progress.into_iter().for_each(Progress::end);
                Ok(begun.insert(self.target.begin()?))
            }
        }
    }

    fn finish(mut self) -> io::Result<()> {
        self.begin()?;
        self.begun.map_or(Ok(()), Output::finish)
    }
}

impl Write for LazyOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begun.as_mut().map_or(Ok(()), Output::flush)
    }
}
