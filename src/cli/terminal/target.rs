//! Where a command's file goes: never over what its answer comes from.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use crate::cli::terminal::load::Place;
use crate::dump::{companions, is_index_of};
use crate::files::{Inputs, Target, TargetError};

/// The target for what is made of a dump: `None` and `-` are standard output. The dump, an index that may answer for it,
/// and the dump behind an index are no targets.
pub(crate) fn find_target(dump: &Place, output: Option<&Path>) -> Result<Target> {
    let mut inputs = inputs_of(dump);
    if let Place::Path(path) = dump {
        companions(path).iter().for_each(|path| inputs.add(path));
        if let Some(output) = output.filter(|output| is_index_of(path, output)) {
            inputs.add(output);
        }
    }
    checked(output, &inputs)
}

/// The target for the index of a dump, which may replace the one that is there.
pub(crate) fn find_target_of_index(dump: &Place, output: &Path) -> Result<Target> {
    checked(Some(output), &inputs_of(dump))
}

/// The target for what is made of no dump.
pub(crate) fn find_target_of_text(output: Option<&Path>) -> Result<Target> {
    checked(output, &Inputs::new())
}

fn inputs_of(dump: &Place) -> Inputs {
    let mut inputs = Inputs::new();
    match dump {
        Place::Path(path) => inputs.add(path),
        Place::Stdin => inputs.add_standard_input(),
    }
    inputs
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
    write_with(target, |out| out.write_all(bytes))
}

/// Writes an output as `fill` makes it.
pub(crate) fn write_with(target: &Target, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut out = target.begin()?;
        fill(&mut out)?;
        out.finish()
    };
    write().with_context(|| format!("cannot write {}", target.name()))
}
