//! `heapdump leaks`: what leaks, in paragraphs that can be pasted into a ticket.

use std::path::PathBuf;

use anyhow::{Error, Result, bail};

use crate::answers::{Leaks, LeaksOptions, ScopeOptions, leaks, leaks_since, survivors};
use crate::cli::CommandOutcome;
use crate::cli::args::options::{CommonArgs, RowLimitArgs, SectionArgs, TypeArgs, parse_patterns};
use crate::cli::terminal::ask_dump::{AskedDump, ask, ask_together};
use crate::cli::terminal::session::Session;

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
///
/// Example: heapdump leaks --since 1.heapsnapshot --until 2.heapsnapshot 3.heapsnapshot
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump leaks [OPTIONS] [OLD] [FILE]")]
pub(crate) struct Args {
    /// The dump, after the one since which suspects grew; - for standard input
    #[arg(value_names = ["OLD", "FILE"], num_args = 0..=2)]
    files: Vec<PathBuf>,
    /// What a suspect retains at least, as a share of what is reachable or as a size
    #[arg(long, default_value = "10%", value_name = "SIZE")]
    threshold: String,
    /// A V8 snapshot: what was allocated after it, and is in the one of --until and in FILE
    #[arg(long, value_name = "A", requires = "until", conflicts_with_all = ["threshold", "library", "mine", "all", "all_steps"])]
    since: Option<PathBuf>,
    /// A V8 snapshot of the same process, between those of --since and FILE
    #[arg(long, value_name = "B", requires = "since")]
    until: Option<PathBuf>,
    /// Types of libraries, besides those of the runtime
    #[arg(long, value_name = "PATTERN")]
    library: Vec<String>,
    /// Types that are yours, though they are named like a library's
    #[arg(long, value_name = "PATTERN")]
    mine: Vec<String>,
    /// Name every step of the paths, of long ones too
    #[arg(long, hide_short_help = true)]
    all_steps: bool,
    /// With OLD: large ones that did not grow too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    limit: RowLimitArgs,
    #[command(flatten)]
    types: TypeArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let (options, input) = (args.options()?, args.common.input.with_details());
    if let (Some(since), Some(until)) = (&args.since, &args.until) {
        let [file] = &args.files[..] else { bail!("--since A --until B: name one more snapshot, the last") };
        let files = [since.clone(), until.clone(), file.clone()];
        return ask_together(session, &files, &input, |asked| {
            let [since, until, last] = asked else { bail!("three snapshots are compared") };
            let mut answer =
                survivors(since.dump, until.dump, last.dump, &options).map_err(|error| last.explain(error))?;
            let grown = leaks_since(since.dump, last.dump, &options).map_err(|error| last.explain(error))?;
            answer.causes = grown.suspects.cause_sentences();
            session.print_answer(&answer, &args.common.output)?;
            Ok(args.types.outcome_with_note(last, answer.types.is_empty()))
        });
    }
    if let [_, _] = &args.files[..] {
        return ask_together(session, &args.files, &input, |asked| {
            let [old, new] = asked else { bail!("leaks compares two dumps") };
            new.note_unmatched_patterns("--library", &options.libraries);
            new.note_unmatched_patterns("--mine", &options.mine);
            args.print_leaks(new, &leaks_since(old.dump, new.dump, &options).map_err(|error| new.explain(error))?)
        });
    }
    ask(session, args.files.first().map(PathBuf::as_path), &input, |asked| {
        asked.note_unmatched_patterns("--library", &options.libraries);
        asked.note_unmatched_patterns("--mine", &options.mine);
        args.print_leaks(asked, &leaks(asked.dump, &options).map_err(|error| asked.explain(error))?)
    })
}

impl Args {
    fn print_leaks(&self, asked: &AskedDump<'_>, answer: &Leaks<'_>) -> Result<CommandOutcome> {
        asked.session.print_answer(answer, &self.common.output)?;
        Ok(self.types.outcome_with_note(asked, answer.suspects.is_empty()))
    }

    /// The question that these words ask, without a dump.
    pub(crate) fn options(&self) -> Result<LeaksOptions> {
        Ok(LeaksOptions {
            threshold: self.threshold.parse().map_err(Error::msg)?,
            libraries: parse_patterns("--library", &self.library, false)?,
            mine: parse_patterns("--mine", &self.mine, false)?,
            with_unchanged: self.all,
            scope: ScopeOptions { types: self.types.type_choice()?, ..self.section.scope_options() },
            rows: self.limit.row_limit_here(&self.common.output),
            shows_exact_bytes: self.common.output.bytes,
            with_all_steps: self.all_steps,
            read_words: self.common.input.input_option_words(),
        })
    }
}
