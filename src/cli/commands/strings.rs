//! `heapdump strings`: the texts of a dump, their copies, and what holds these.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::analysis::secrets::SecretRules;
use crate::answers::strings::no_such_file_message;
use crate::answers::{SecretsOptions, StringsOptions, secrets, strings};
use crate::cli::CommandOutcome;
use crate::cli::args::options::{CommonArgs, RowArgs, WhereArgs, parse_patterns};
use crate::cli::terminal::{ask_dump::ask, session::Session};
use crate::report::count_with_noun;

/// Texts: copies of each, bytes, what is wasted
///
/// Each text with how many string objects have it, what these take with the arrays of their characters, and what would
/// be freed if there were one. A text of more than 1,024 characters is compared whole and shown cut, or with --full whole.
///
/// Example: heapdump strings app.hprof --duplicates --holders -n 20
///
/// Example: heapdump strings app.hprof --secrets --fail-over 0
///
/// Example: heapdump strings app.hprof --grep '/^jdbc:/' -f json
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Texts with two copies or more, those that waste most first
    #[arg(long)]
    duplicates: bool,
    /// Texts that match: a substring, /regex/, =TEXT or a glob with * or ? for the whole text
    #[arg(long, value_name = "PATTERN")]
    grep: Option<String>,
    /// Ignore case
    #[arg(short, long, requires = "grep")]
    ignore_case: bool,
    /// Texts as long as they are, not their first 1,024 characters
    #[arg(long)]
    full: bool,
    /// Which fields of which classes hold the copies
    #[arg(long)]
    holders: bool,
    /// Keys, tokens, passwords and card numbers in place of a list of texts, masked
    #[arg(long, conflicts_with_all = ["duplicates", "grep", "full", "holders", "filter", "sort"])]
    secrets: bool,
    /// With --secrets: more rules, in the form of those that are known
    #[arg(long, value_name = "FILE", requires = "secrets", hide_short_help = true)]
    rules_file: Option<PathBuf>,
    /// With --secrets: whole, not masked
    #[arg(long, requires = "secrets", hide_short_help = true)]
    show: bool,
    /// With --secrets: exit code 1 when there are more than N
    #[arg(long, value_name = "N", requires = "secrets", hide_short_help = true)]
    fail_over: Option<usize>,
    #[command(flatten)]
    filter: WhereArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let options = args.options()?;
    if let Some(text) = args.file.as_deref().filter(|file| *file != Path::new("-") && !file.exists()) {
        bail!(no_such_file_message(&text.to_string_lossy()));
    }
    if args.secrets {
        return print_secrets(args, session);
    }
    ask(session, args.file.as_deref(), &args.common.input, |asked| {
        let answer = strings(asked.dump, &options).map_err(|error| asked.explain(error))?;
        answer.redaction_note().iter().for_each(|note| asked.print_unless_quiet(note));
        session.print_answer(&answer, &args.common.output)?;
        let Some(pattern) = args.grep.as_ref().filter(|_| answer.found == 0) else {
            return Ok(args.filter.outcome_with_note(session, "", answer.found == 0, args.common.input.read.quiet));
        };
        asked.print_unless_quiet(&format!("no text matches --grep {pattern}"));
        Ok(CommandOutcome::NegativeAnswer)
    })
}

/// Shows secrets; with `--fail-over` a gate.
fn print_secrets(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let mut rules = SecretRules::built_in();
    if let Some(path) = &args.rules_file {
        let name = || format!("--rules-file {}", path.display());
        let text = std::fs::read_to_string(path).with_context(name)?;
        rules.add_lines(&text).map_err(|bad| anyhow!(bad)).with_context(name)?;
    }
    let options = SecretsOptions { rules, shows_secrets: args.show, limits: args.rows.limits(&args.common.output) };
    ask(session, args.file.as_deref(), &args.common.input, |asked| {
        let answer = secrets(asked.dump, &options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        let Some(most) = args.fail_over.filter(|most| answer.found > *most) else {
            return Ok(CommandOutcome::Answered);
        };
        let found = count_with_noun(answer.found as u64, "secrets");
        session.print_sentence(&format!("{found}, more than --fail-over {most}"));
        Ok(CommandOutcome::NegativeAnswer)
    })
}

impl Args {
    /// The question that these words ask, without a dump.
    pub(crate) fn options(&self) -> Result<StringsOptions> {
        Ok(StringsOptions {
            only_duplicates: self.duplicates,
            grep: parse_patterns("--grep", &self.grep, self.ignore_case)?.pop(),
            with_full_texts: self.full,
            with_holders: self.holders,
            filter: self.filter.filter()?,
            order: self.rows.order(&StringsOptions::ORDERS)?,
            limits: self.rows.limits(&self.common.output),
        })
    }
}
