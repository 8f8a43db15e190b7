//! `heapdump show OBJID...`: single objects.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::ObjectId;
use crate::answers::object::{ShowOptions, show};
use crate::cli::CommandOutcome;
use crate::cli::args::data_args::DataArgs;
use crate::cli::args::object_and_heap_args::{parse_object_id, read_object_ids, split_objects_and_file};
use crate::cli::args::options::{CommonArgs, RowLimitArgs, SectionArgs};
use crate::cli::terminal::output_target::{find_target, write_export};
use crate::cli::terminal::{ask_dump::ask, dump_input::DumpInput, session::Session};
use crate::dump::NoValues;
use crate::export::write_raw_contents;
use crate::report::Format;

/// Objects: sizes, roots, references out and in
///
/// OBJID is written as the dump writes it; capitals, leading zeros and 0x do not matter. Where a file has several
/// sections with the same id, write 2#7c79f or say --domain. The dump is read once, however many objects there are.
///
/// Example: heapdump show 7fe45 dump.txt
///
/// Example: heapdump list dump.txt --type Cache --ids -n 3 | heapdump show --ids-from - dump.txt
///
/// Example: heapdump show 0xfd5c0bd0 app.hprof --entries -n 50
///
/// Example: heapdump show 0xfd5c0bd0 app.hprof --deep 2 -f json | jq .json
///
/// Example: heapdump show 0xfd5c0bd0 app.hprof --raw -o query.sql
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump show [OPTIONS] OBJID... [FILE]")]
pub(crate) struct Args {
    /// The objects' ids as the dump writes them, and the dump
    #[arg(id = "words", value_names = ["OBJID", "FILE"], num_args = 0..)]
    objects_and_file: Vec<OsString>,
    /// More ids: the first word of each line of a file; - for standard input
    #[arg(long, value_name = "FILE")]
    ids_from: Option<PathBuf>,
    /// The elements of a collection or an array: keys with their values, those of lists by number
    #[arg(long, conflicts_with = "raw")]
    entries: bool,
    #[command(flatten)]
    data: DataArgs,
    /// Save what one string, char[] or byte[] holds: the whole text in UTF-8, or the bytes
    #[arg(long, requires = "output", conflicts_with_all = ["ids_from", "format", "pretty", "human", "bytes", "no_header", "color", "limit"])]
    raw: bool,
    /// Where --raw writes; - for standard output
    #[arg(short, long, value_name = "FILE", requires = "raw")]
    output: Option<PathBuf>,
    #[command(flatten)]
    limit: RowLimitArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let (options, file) = args.options()?;
    if args.raw {
        return save_raw(args, &options.objects, file, session);
    }
    ask(session, file.as_deref(), &args.common.input, |asked| {
        let answer = show(asked.dump, &options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        // On a terminal it stands in the answer.
        let is_told = args.common.output.style().is_terminal;
        answer.unreached_note().iter().filter(|_| !is_told).for_each(|note| asked.print_unless_quiet(note));
        let is_untold = |why: &&NoValues| !matches!(why, NoValues::NotInFormat(_)) && !why.concerns_every_answer();
        if let Some(why) = answer.no_values().filter(is_untold) {
            asked.print_unless_quiet(&why.to_string());
        }
        Ok(CommandOutcome::Answered)
    })
}

impl Args {
    /// The question, and the file of the dump.
    pub(crate) fn options(&self) -> Result<(ShowOptions, Option<PathBuf>)> {
        let (mut ids, file) = split_objects_and_file(&self.objects_and_file);
        if let Some(from) = &self.ids_from {
            if from.as_os_str() == "-" && DumpInput::find(file.as_deref())?.path().is_none() {
                bail!("--ids-from -: standard input has the ids; name the dump");
            }
            ids.extend(read_object_ids(from)?);
        }
        if ids.is_empty() {
            bail!("which object? heapdump show OBJID... [FILE]");
        }
        let objects: Vec<ObjectId> = ids.iter().map(|id| parse_object_id(id)).collect::<Result<_>>()?;
        let rows = self.limit.row_limit_here(&self.common.output);
        let (scope, with_entries) = (self.section.scope_options(), self.entries);
        let data = self.data.options(&self.common.output, &[Format::Json])?;
        Ok((ShowOptions { objects, scope, max_references: rows, with_entries, data }, file))
    }
}

/// `--raw`: the contents of one object as a file.
fn save_raw(args: &Args, objects: &[ObjectId], file: Option<PathBuf>, session: &Session) -> Result<CommandOutcome> {
    let [object] = objects else { bail!("--raw: one object at a time") };
    let target = find_target(&[DumpInput::find(file.as_deref())?], args.output.as_deref())?;
    if target.is_standard_output() && std::io::stdout().is_terminal() {
        bail!("-o -: what an object holds may steer a terminal; name a file, or pipe it");
    }
    ask(session, file.as_deref(), &args.common.input, |asked| {
        let scope = args.section.scope_options();
        if !write_export(asked, &target, |out| write_raw_contents(asked.dump, object, &scope, out))? {
            asked.print_unless_quiet(&format!("the dump does not have all of {object}: what it has is saved"));
        }
        Ok(CommandOutcome::Answered)
    })
}
