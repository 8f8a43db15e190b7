//! `heapdump collect`: a heap dump of a live process.

use std::io::{self, IsTerminal, Write};

use anyhow::{Result, bail};

use crate::cli::Outcome;
pub(crate) use crate::cli::args::collect::Args;
use crate::cli::terminal::session::Session;
use crate::collect::{Observer, Plan, collect, list_processes, list_targets};
use crate::report::Format;

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    if args.list {
        return list(args, session);
    }
    let to_output = args.output.as_ref().is_some_and(|output| output.as_os_str() == "-");
    match args.form.format {
        Format::Json if to_output => bail!("-o -: standard output cannot take the dump and -f json"),
        Format::Table | Format::Json => {}
        _ => bail!("-f: of a dump there is json alone"),
    }
    if to_output && io::stdout().is_terminal() {
        bail!("-o -: a dump is nothing for a terminal to show");
    }
    let options = args.options();
    let collected = collect(&options, &mut Teller { session, args });
    // What the end by a signal has broken off is no answer.
    crate::files::give_way_to_signals();
    if args.form.format == Format::Json {
        session.print_answer(&collected, &args.form)?;
    }
    let is_quiet = args.quiet && collected.refusal.is_none();
    collected.lines().iter().filter(|_| !is_quiet).for_each(|line| session.print_sentence(line));
    Ok(if collected.refusal.is_some() { Outcome::Failed } else { Outcome::Done })
}

fn list(args: &Args, session: &Session) -> Result<Outcome> {
    let listed = args.url.as_deref().map_or_else(|| Ok(list_processes()), list_targets)?;
    listed.note().iter().filter(|_| !args.quiet).for_each(|note| session.print_sentence(note));
    session.print_answer(&listed, &args.form)?;
    Ok(if listed.is_empty() { Outcome::No } else { Outcome::Done })
}

struct Teller<'a> {
    session: &'a Session,
    args: &'a Args,
}

impl Observer for Teller<'_> {
    fn before(&mut self, plan: &Plan) -> bool {
        if !self.args.quiet {
            self.session.print_sentence(&plan.text);
        }
        let asks = plan.is_long() && !self.args.yes && io::stderr().is_terminal() && io::stdin().is_terminal();
        !asks || is_confirmed()
    }

    fn progress(&mut self, text: &str) {
        if !self.args.quiet && io::stderr().is_terminal() {
            self.session.print_sentence(text);
        }
    }
}

/// The user's answer to a question, which is no unless it is yes.
fn is_confirmed() -> bool {
    // Where there is nobody to ask the answer is no.
    let _ = write!(io::stderr(), "go on? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().read_line(&mut answer);
    ["y", "yes"].contains(&answer.trim())
}
