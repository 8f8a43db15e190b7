//! Dumps into a dataset of tables: one that cannot be read is reported, and the next one is written.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result, bail};

use crate::cli::CommandOutcome;
use crate::cli::args::options::{InputArgs, WhereArgs};
use crate::cli::terminal::ask_dump::ask_each;
use crate::cli::terminal::ask_dump::ask_input;
use crate::cli::terminal::dump_input::DumpInput;
use crate::cli::terminal::session::Session;
use crate::dump::inputs_of;
use crate::export::ExportError;
use crate::export::dataset::{BegunDump, DatasetError, DatasetOptions, begin_dump};

/// Writes every dump into the dataset of a folder.
pub(crate) fn export_each_to_dataset(
    session: &Session,
    files: &[PathBuf],
    folder: Option<&Path>,
    options: DatasetOptions,
    filter: &WhereArgs,
    input: &InputArgs,
) -> Result<CommandOutcome> {
    let Some(folder) = folder.filter(|folder| folder.as_os_str() != "-") else {
        bail!("--to parquet writes a folder of tables: say which with -o DIR");
    };
    let found = match files {
        [] => DumpInput::find(None)?.path().map_or_else(|| PathBuf::from("-"), Path::to_path_buf),
        _ => PathBuf::new(),
    };
    let files = if files.is_empty() { std::slice::from_ref(&found) } else { files };
    if files.len() > 1 && options.id.is_some() {
        bail!("--id names one dump, and there are {}", files.len());
    }
    let named = files.iter().map(|file| DumpInput::find(Some(file))).collect::<Result<Vec<_>>>()?;
    let inputs = inputs_of(named.iter().map(DumpInput::path), None);
    let (written, failed) = ask_each(session, files, true, input, |place, name| {
        loop {
            let begun = begin_dump(folder, place.path(), options.clone(), &inputs)
                .map_err(|error| Error::msg(error.advice()))?;
            let writer = match begun {
                BegunDump::New(writer) => writer,
                BegunDump::Existing(there) => {
                    if !input.read.quiet {
                        session.print_note(
                            "note",
                            Some(name),
                            &format!("{}; --replace writes it anew", there.statement()),
                        );
                    }
                    return Ok(true);
                }
            };
            let written = ask_input(session, place, (files.len() > 1).then_some(name), input, |asked| {
                asked.print_problems_and_notes();
                match writer.write(asked.dump) {
                    Err(DatasetError::Export(ExportError::Answer(error))) => Err(asked.explain(error)),
                    written => Ok(written),
                }
            })?;
            match written.1 {
                Err(DatasetError::Export(ExportError::DamagedIndex(_)))
                    if session.indexes.ignore_all_if_damaged(|note| session.print_sentence(note)) => {}
                written => return written.map_err(|error| Error::msg(error.advice())),
            }
        }
    })?;
    let has_any = written.iter().any(|(_, has_any)| *has_any);
    Ok(failed.unwrap_or_else(|| filter.outcome_with_note(session, "", !has_any, input.read.quiet)))
}
