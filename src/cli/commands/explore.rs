//! `heapdump explore`: a browser for the terminal.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Error, Result, bail};

use crate::cli::CommandOutcome;
use crate::cli::args::options::{InputArgs, word_parser};
use crate::cli::terminal::dump_input::{CommandMemoryLimit, DumpInput, open_options_with_roots};
use crate::cli::terminal::output_target::index_writer;
use crate::cli::terminal::session::Session;
use crate::dump::{NoObserver, OpenOptions};
use crate::explore::{
    BrowsedDumps, BrowserEnd, BrowserSetup, CommandContext, LoadProgress, LoadedDumps, ScreenLook, Tab, explore,
};
use crate::report::locale_has_unicode;

/// Browse a dump in the terminal
///
/// Suspects, types, the dominator tree, packages, single objects and paths to them, with two dumps what grew: row by row,
/// with the keys of less and vi, which `?` lists. Every view names the command that prints it. With an index beside the
/// dump it begins at once.
///
/// Example: heapdump explore dump.txt
///
/// Example: heapdump explore monday.gcdump friday.gcdump
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump explore [OPTIONS] [FILE]\n       heapdump explore [OPTIONS] OLD NEW")]
pub(crate) struct Args {
    /// The dump, after the one since which it grew; - for standard input
    #[arg(value_names = ["OLD", "FILE"], num_args = 0..=2)]
    files: Vec<PathBuf>,
    /// Where to begin
    #[arg(long, value_parser = word_parser(Tab::WORDS), value_name = "NAME")]
    view: Option<Tab>,
    /// The object to begin at
    #[arg(long, value_name = "ID")]
    object: Option<String>,
    /// Leave the mouse to the terminal, which selects text with it
    #[arg(long)]
    no_mouse: bool,
    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let inputs: Vec<DumpInput> = match &args.files[..] {
        [] => vec![DumpInput::find(None)?],
        files => files.iter().map(|file| DumpInput::of(file)).collect(),
    };
    let is_piped = inputs.iter().filter(|input| input.path().is_none()).count();
    if is_piped > 1 {
        bail!("standard input is one dump: only one side may be -");
    }
    let has_keys = io::stdin().is_terminal() || is_piped == 1;
    if !has_keys || !io::stdout().is_terminal() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        bail!("explore is for terminals; `heapdump leaks` and `heapdump report` answer everywhere");
    }
    // Progress is the browser's to show.
    let unwatched = |(options, memory)| (OpenOptions { observer: Arc::new(NoObserver), ..options }, memory);
    let options = inputs.iter().map(|_| open_options_with_roots(session, None, &args.input).map(unwatched));
    let options = options.collect::<Result<Vec<_>>>()?;
    let named = |input: &DumpInput| input.path().map_or_else(|| PathBuf::from("-"), Path::to_path_buf);
    let paths: Vec<PathBuf> = inputs.iter().map(named).collect();
    let write_index = match (&inputs[..], args.input.no_index) {
        ([input], false) => index_writer(input, &options[0].0),
        _ => None,
    };
    let load = move |watching: &LoadProgress| -> Result<LoadedDumps, String> {
        let open = |(at, (input, (options, memory))): (usize, (&DumpInput, &(OpenOptions, CommandMemoryLimit)))| {
            let options = OpenOptions { observer: watching.observer_of_file(at), ..options.clone() };
            input.open(&options, memory).map_err(|error| format!("{error:#}"))
        };
        let mut dumps = inputs.iter().zip(&options).enumerate().map(open).collect::<Result<Vec<_>, _>>()?;
        let new = dumps.pop().ok_or("no dump")?;
        Ok(LoadedDumps { new, old: dumps.pop() })
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let opened = |dumps: BrowsedDumps| {
        dumps
            .old
            .into_iter()
            .chain([dumps.new])
            .for_each(|dump| session.indexes.remember_index_of(dump, args.input.read.quiet));
    };
    let ended = explore(BrowserSetup {
        context: CommandContext::new(paths, args.input.input_option_words()),
        screen_look: ScreenLook { has_color: !no_color, is_ascii_only: !locale_has_unicode() },
        start_tab_and_object: (args.view, args.object.clone()),
        takes_mouse: !args.no_mouse,
        load_dumps: Box::new(load),
        write_index,
        on_opened: &opened,
    });
    match ended.map_err(Error::msg)? {
        BrowserEnd::Quit | BrowserEnd::IndexDamaged => Ok(CommandOutcome::Answered),
        BrowserEnd::TerminalGone => Ok(CommandOutcome::Failed),
    }
}
