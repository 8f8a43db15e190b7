//! `heapdump roots --type PATTERN`: paths of all objects of some types, merged by type.

use std::path::Path;

use anyhow::Result;

use crate::answers::{MergedPathsOptions, merged_paths};
use crate::cli::Outcome;
use crate::cli::args::options::Common;
use crate::cli::terminal::asking::{ask, print_answer};

/// Asks for the merged paths and prints them.
pub(crate) fn merged_roots(file: Option<&Path>, options: &MergedPathsOptions, common: &Common) -> Result<Outcome> {
    ask(file, &common.input, |asked| {
        asked.warn(None, common.is_quiet());
        let answer = merged_paths(asked.dump, options).map_err(|error| asked.explain(error))?;
        print_answer(&answer, &common.output)?;
        Ok(if answer.reachable_objects > 0 { Outcome::Done } else { Outcome::No })
    })
}
