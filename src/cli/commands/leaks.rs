//! `heapdump leaks`: what leaks, in paragraphs that can be pasted into a ticket.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::{Leaks, LeaksOptions, ScopeOptions, leaks, leaks_since};
use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, TypeArgs, parse_patterns, parse_threshold};
use crate::cli::terminal::asking::{ask, ask_together, print_answer};

/// Leak suspects: what, how much, held by whom, piling up where
///
/// Single objects that retain a share of what is reachable, and groups of one type under the roots. Below a giant the
/// structures inside are looked at; library types give way to the types of the application that own them.
///
/// Example: heapdump leaks dump.txt
///
/// Example: heapdump leaks dump.txt --threshold 5% -f json | jq -r '.suspects[].text'
///
/// Example: heapdump leaks monday.gcdump friday.gcdump
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump leaks [OPTIONS] [OLD] [FILE]")]
pub(crate) struct Args {
    /// The dump, after the one since which suspects grew; - for standard input
    #[arg(value_names = ["OLD", "FILE"], num_args = 0..=2)]
    files: Vec<PathBuf>,
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
    if let [_, _] = &args.files[..] {
        return ask_together(&args.files, &args.common.input, |asked| {
            let [old, new] = asked else { bail!("leaks compares two dumps") };
            let answer = leaks_since(old.dump, new.dump, &options).map_err(|error| new.explain(error))?;
            args.print(&answer)
        });
    }
    ask(args.files.first().map(PathBuf::as_path), &args.common.input, |asked| {
        asked.warn(None, args.common.is_quiet());
        args.print(&leaks(asked.dump, &options).map_err(|error| asked.explain(error))?)
    })
}

impl Args {
    fn print(&self, answer: &Leaks<'_>) -> Result<Outcome> {
        print_answer(answer, &self.common.output)?;
        let nothing_matches = self.types.type_pattern.is_some() && answer.suspects.is_empty();
        Ok(self.types.outcome(nothing_matches, self.common.is_quiet()))
    }

    fn options(&self) -> Result<LeaksOptions> {
        Ok(LeaksOptions {
            threshold: parse_threshold(&self.threshold)?,
            libraries: parse_patterns(&self.library, "--library")?,
            scope: ScopeOptions { section: self.section.domain.clone(), types: self.types.pattern()? },
            rows: self.limit.limit_here(),
            exact_sizes: self.common.output.bytes,
        })
    }
}
