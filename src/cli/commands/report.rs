//! `heapdump report`: one page that a team can look at.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Error, Result, bail};

use super::trend::ask_trend;
use crate::answers::TrendOptions;
use crate::cli::CommandOutcome;
use crate::cli::args::options::{InputArgs, SectionArgs, parse_patterns};
use crate::cli::terminal::ask_dump::{AskedDump, ask, ask_together};
use crate::cli::terminal::dump_input::DumpInput;
use crate::cli::terminal::output_target::{find_target, write_output};
use crate::cli::terminal::session::Session;
use crate::page::{PageError, PageOptions, write_page, write_series_page};
use crate::report::parse_size;

/// One page that a team can look at
///
/// Leak suspects and what keeps them alive, a map of the heap, types, the biggest objects: one HTML file that needs no
/// network and no program but a browser. With OLD what grew comes first. With --series a chart of what grows over many dumps.
///
/// Example: heapdump report dump.txt -o report.html
///
/// Example: heapdump report monday.gcdump friday.gcdump -o week.html
///
/// Example: heapdump report --series watched --until 3GiB -o growth.html
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump report [OPTIONS] -o PAGE [OLD] FILE")]
pub(crate) struct Args {
    /// The dump, after the one it is compared with; - for standard input
    #[arg(value_names = ["OLD", "FILE"], num_args = 0..=2)]
    files: Vec<PathBuf>,
    /// What grows over many dumps, folders of them, or logs of class histograms, as `heapdump trend`: a chart of the fastest types
    #[arg(long, value_name = "DUMP", num_args = 1.., conflicts_with_all = ["files", "no_values", "threshold", "library", "max_bytes", "domain"])]
    series: Vec<PathBuf>,
    /// With --series: how long until the heap has so much
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "series")]
    until: Option<u64>,
    /// Where to write the page; - for standard output
    #[arg(short, long, value_name = "PAGE")]
    output: Option<PathBuf>,
    /// A page without texts, numbers and keys of objects, and without names of threads
    #[arg(long)]
    no_values: bool,
    /// What a suspect retains at least, as a share of what is reachable or as a size
    #[arg(long, default_value = "10%", value_name = "SIZE")]
    threshold: String,
    /// Types of libraries, besides those of the runtime
    #[arg(long, value_name = "PATTERN")]
    library: Vec<String>,
    /// The largest page: smaller rows are added up
    #[arg(long, default_value = "1500kB", value_name = "SIZE")]
    max_bytes: String,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let Some(output) = &args.output else { bail!("where to? heapdump report FILE -o report.html") };
    if !args.series.is_empty() {
        return write_series_report(args, output, session);
    }
    let options = args.options()?;
    session.hides_values.store(args.no_values, Ordering::Relaxed);
    // The page is made before anything is written.
    let write_to = |old: Option<&AskedDump<'_>>, new: &AskedDump<'_>, inputs: &[DumpInput]| {
        let target = find_target(inputs, Some(output))?;
        let mut names = inputs.iter().rev().map(file_name_without_folder);
        let (file, old_file) = (names.next().flatten(), names.next().flatten());
        new.note_unmatched_patterns("--library", &options.library_types);
        let options = PageOptions { dump_name: file, old_dump_name: old_file, ..options.clone() };
        let mut page = Vec::new();
        write_page(old.map(|asked| asked.dump), new.dump, &options, &mut page).map_err(|error| match error {
            PageError::Answer(error) => new.explain(error),
            error => error.into(),
        })?;
        // The command is run again without a damaged index: this page may be wrong.
        let mut dumps = old.iter().copied().chain([new]).map(|asked| asked.dump);
        if let Some(why) = dumps.find_map(|dump| dump.index_check()?.damage()) {
            bail!("the index is damaged: {why}");
        }
        write_output(&target, &page)?;
        Ok(CommandOutcome::Answered)
    };
    if let [old, new] = &args.files[..] {
        let inputs = [DumpInput::find(Some(old))?, DumpInput::find(Some(new))?];
        return ask_together(session, &args.files, &args.input, |asked| write_to(Some(&asked[0]), &asked[1], &inputs));
    }
    let file = args.files.first().map(PathBuf::as_path);
    let input = DumpInput::find(file)?;
    ask(session, file, &args.input, |asked| write_to(None, asked, std::slice::from_ref(&input)))
}

fn write_series_report(args: &Args, output: &Path, session: &Session) -> Result<CommandOutcome> {
    let options = TrendOptions { until_bytes: args.until, ..TrendOptions::default() };
    let (trend, failed, _) = ask_trend(session, &args.series, &args.input, options)?;
    trend.notes().iter().filter(|_| !args.input.read.quiet).for_each(|note| session.print_sentence(note));
    let inputs = trend.dumps.iter().map(|dump| DumpInput::of(Path::new(&dump.file))).collect::<Vec<_>>();
    let target = find_target(&inputs, Some(output))?;
    let name = args.series.first().and_then(|path| path.file_name()).unwrap_or_default().to_string_lossy();
    let mut page = Vec::new();
    write_series_page(&trend, &name, &mut page)?;
    write_output(&target, &page)?;
    Ok(failed.unwrap_or(CommandOutcome::Answered))
}

/// The name on the page: without its folder, which is nobody else's matter.
fn file_name_without_folder(input: &DumpInput) -> Option<String> {
    let path = input.path()?;
    Some(path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned())
}

impl Args {
    fn options(&self) -> Result<PageOptions> {
        let max_bytes = parse_size(&self.max_bytes).map_err(|error| anyhow::anyhow!("--max-bytes: {error}"))?;
        Ok(PageOptions {
            dump_section: self.section.domain.clone(),
            suspect_threshold: self.threshold.parse().map_err(Error::msg)?,
            library_types: parse_patterns("--library", &self.library, false)?,
            max_page_bytes: max_bytes,
            read_option_words: self.input.input_option_words(),
            ..PageOptions::default()
        })
    }
}
