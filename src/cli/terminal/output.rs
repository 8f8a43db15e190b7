//! Answers on standard output in the form the options ask for, sentences on standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::PoisonError;

use anyhow::{Result, bail};

use crate::cli::CommandOutcome;
use crate::cli::args::options::{OutputArgs, RowLimitArgs, ScopeArgs, TypeArgs, WhereArgs};
use crate::cli::terminal::ask_dump::AskedDump;
use crate::cli::terminal::progress::terminal_width;
use crate::cli::terminal::session::{CapturedAnswer, Session};
use crate::dump::CheckedOutput;
use crate::report::{Format, Present, Style, locale_has_unicode, write_answer, write_each_answer};

const DEFAULT_ROWS_ON_TERMINAL: usize = 30;

impl OutputArgs {
    /// The style for this output, on this terminal.
    pub(crate) fn style(&self) -> Style {
        let terminal = self.is_for_people();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = self.color.0.unwrap_or(terminal && !no_color);
        if color {
            // A console of Windows takes them from those alone who say so.
            _ = anstyle_query::windows::enable_ansi_colors();
        }
        Style {
            format: self.format,
            is_terminal: terminal,
            width: terminal_width(),
            has_human_sizes: self.human || (!self.bytes && terminal && self.format == Format::Table),
            has_header: !self.no_header,
            has_color: color,
            is_ascii_only: terminal && !locale_has_unicode(),
            is_csv_safe: self.csv_safe,
        }
    }

    /// An error where the form has no use for `--csv-safe`.
    fn check_csv_safe(&self) -> Result<()> {
        if self.csv_safe && !matches!(self.format, Format::Csv | Format::Tsv) {
            bail!("--csv-safe is of -f csv and -f tsv");
        }
        Ok(())
    }

    /// Returns true if somebody reads it: on a terminal, or where that is asked for.
    fn is_for_people(&self) -> bool {
        self.pretty || io::stdout().is_terminal()
    }
}

impl RowLimitArgs {
    /// Rows at most, here and now; `None` for all.
    pub(crate) fn row_limit_here(&self, output: &OutputArgs) -> Option<usize> {
        let default = || output.is_for_people().then_some(DEFAULT_ROWS_ON_TERMINAL);
        self.limit.or_else(default).filter(|limit| *limit > 0)
    }
}

impl TypeArgs {
    /// The outcome of a command that shows what `--type` matches in a dump; a sentence is printed where it matches nothing.
    pub(crate) fn outcome_with_note(&self, asked: &AskedDump<'_>, is_empty: bool) -> CommandOutcome {
        self.outcome_with_note_and_hint(asked.session, is_empty, asked.is_quiet, || asked.hint_of_types(self))
    }

    fn outcome_with_note_and_hint(
        &self,
        session: &Session,
        is_empty: bool,
        is_quiet: bool,
        hint: impl Fn() -> String,
    ) -> CommandOutcome {
        if !is_empty || !self.chooses_some() {
            return CommandOutcome::Answered;
        }
        if !is_quiet {
            session.print_sentence(&format!("no type matches {}{}", self.as_written(), hint()));
        }
        CommandOutcome::NegativeAnswer
    }
}

impl ScopeArgs {
    /// The same of what `--type` and `--where` match.
    pub(crate) fn outcome_with_note(&self, asked: &AskedDump<'_>, is_empty: bool) -> CommandOutcome {
        self.outcome_with_note_and_hint(asked.session, is_empty, asked.is_quiet, || asked.hint_of_types(&self.types))
    }

    /// The same of several dumps, or of one that is not at hand.
    pub(crate) fn outcome_of_several(&self, session: &Session, is_empty: bool, is_quiet: bool) -> CommandOutcome {
        self.outcome_with_note_and_hint(session, is_empty, is_quiet, String::new)
    }

    fn outcome_with_note_and_hint(
        &self,
        session: &Session,
        is_empty: bool,
        is_quiet: bool,
        hint: impl Fn() -> String,
    ) -> CommandOutcome {
        if self.filter.as_written().is_none() {
            return self.types.outcome_with_note_and_hint(session, is_empty, is_quiet, hint);
        }
        let of_type =
            if self.types.chooses_some() { format!(" of {}", self.types.as_written()) } else { String::new() };
        let outcome = self.filter.outcome_with_note(session, &of_type, is_empty, is_quiet);
        if is_empty
            && !is_quiet
            && let Some(hint) = Some(hint()).filter(|hint| !hint.is_empty())
        {
            session.print_sentence(&format!("no type matches {}{hint}", self.types.as_written()));
        }
        outcome
    }
}

impl WhereArgs {
    /// The outcome of a command that shows what `--where` matches, of objects that words describe.
    pub(crate) fn outcome_with_note(
        &self,
        session: &Session,
        of_type: &str,
        is_empty: bool,
        is_quiet: bool,
    ) -> CommandOutcome {
        let Some(texts) = self.as_written().filter(|_| is_empty) else { return CommandOutcome::Answered };
        if !is_quiet {
            let of_interfaces = match self.instance_of.is_empty() {
                true => "",
                false => {
                    "; a dump says superclasses, not interfaces: of these well-known ones of the JDK alone are known"
                }
            };
            session.print_sentence(&format!("no object{of_type} fulfils {texts}{of_interfaces}"));
        }
        CommandOutcome::NegativeAnswer
    }
}

impl Session {
    /// Prints an answer in the form that is asked for, or keeps it for a server.
    pub(crate) fn print_answer<A: Present>(&self, answer: &A, output: &OutputArgs) -> Result<()> {
        output.check_csv_safe()?;
        self.print_or_capture(output, |out, style| write_answer(answer, out, style))
    }

    /// Prints an answer that is bare words, one a line.
    pub(crate) fn print_lines(&self, mut lines: impl Iterator<Item = String>) -> Result<()> {
        self.print_to_standard_output(|out| lines.try_for_each(|line| writeln!(out, "{line}")))
    }

    /// Prints the answers of several files; nothing when there are none.
    pub(crate) fn print_each_answer<A: Present>(&self, answers: &[(String, A)], output: &OutputArgs) -> Result<()> {
        output.check_csv_safe()?;
        match answers {
            [] => Ok(()),
            _ => self.print_or_capture(output, |out, style| write_each_answer(answers, out, style)),
        }
    }

    /// Prints an answer, or gives it to a server in both its forms.
    fn print_or_capture(
        &self,
        output: &OutputArgs,
        write: impl Fn(&mut dyn Write, &Style) -> io::Result<()>,
    ) -> Result<()> {
        let Some(answer) = &self.captured_answer else {
            return self.print_to_standard_output(|out| write(out, &output.style()));
        };
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        let CapturedAnswer { json, text } = &mut *answer;
        for (out, format) in [(json, Format::Json), (text, Format::Table)] {
            let mut out = CheckedOutput::begin(&self.indexes, out);
            write(&mut out, &Style { format, ..Style::PLAIN })?;
            out.finish()?;
        }
        Ok(())
    }

    fn print_to_standard_output(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        self.progress.clear();
        let out = io::BufWriter::with_capacity(64 * 1024, io::stdout().lock());
        let mut out = CheckedOutput::begin(&self.indexes, out);
        write(&mut out)?;
        Ok(out.finish()?)
    }
}

/// Returns true when nobody reads standard output any more, as far as the system tells.
pub(crate) fn is_output_closed() -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let out = io::stdout();
        let mut asked = [PollFd::new(&out, PollFlags::empty())];
        let is_told = poll(&mut asked, Some(&Timespec::default())).is_ok();
        is_told && asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
    }
    #[cfg(not(unix))]
    false
}
