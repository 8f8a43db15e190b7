//! `heapdump leaks`: what leaks, in paragraphs that can be pasted into a ticket.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::analysis::selection::TypePattern;
use crate::answers::{LeaksOptions, ScopeOptions, leaks};
use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, TypeArgs, parse_threshold};
use crate::cli::terminal::asking::{ask, print_answer};

/// Leak suspects: what, how much, held by whom, piling up where
///
/// Single objects that retain a share of what is reachable, and groups of one type under the roots. Below a giant the
/// structures inside are looked at; library types give way to the types of the application that own them.
///
/// Example: heapdump leaks dump.txt
///
/// Example: heapdump leaks dump.txt --threshold 5% -f json | jq -r '.suspects[].text'
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// What a suspect retains at least, as a share of what is reachable or as a size
    #[arg(long, default_value = "10%", value_name = "SIZE")]
    threshold: String,
    /// Types of libraries, besides those of the runtime
    #[arg(long, value_name = "PATTERN")]
    library: Vec<String>,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    types: TypeArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let options = args.options()?;
    ask(args.file.as_deref(), &args.common.input, |asked| {
        asked.warn(None, args.common.is_quiet());
        let answer = leaks(asked.dump, &options).map_err(|error| asked.explain(error))?;
        print_answer(&answer, &args.common.output)?;
        let nothing_matches = options.scope.types.is_some() && answer.suspects.is_empty();
        Ok(args.types.outcome(nothing_matches, args.common.is_quiet()))
    })
}

impl Args {
    fn options(&self) -> Result<LeaksOptions> {
        let parse = |text: &String| TypePattern::parse(text).map_err(anyhow::Error::msg);
        Ok(LeaksOptions {
            threshold: parse_threshold(&self.threshold)?,
            libraries: self.library.iter().map(parse).collect::<Result<Vec<_>>>().context("--library")?,
            scope: ScopeOptions { section: self.section.domain.clone(), types: self.types.pattern()? },
            rows: self.limit.limit_here(),
            exact_sizes: self.common.output.bytes,
        })
    }
}
