//! `heapdump report`: one page that a team can look at.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cli::Outcome;
use crate::cli::args::options::{InputArgs, SectionArgs, parse_patterns, parse_threshold};
use crate::cli::terminal::asking::{Asked, ask, ask_together};
use crate::cli::terminal::load::Input;
use crate::cli::terminal::session::Session;
use crate::cli::terminal::target::{find_target_of_several, write};
use crate::page::{PageError, PageOptions, write_page};
use crate::report::parse_size;

/// One page that a team can look at
///
/// Leak suspects and what keeps them alive, a map of the heap, types, the biggest objects: one HTML file that needs no
/// network and no program but a browser. With OLD what grew comes first.
///
/// Example: heapdump report dump.txt -o report.html
///
/// Example: heapdump report monday.gcdump friday.gcdump -o week.html
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump report [OPTIONS] -o PAGE [OLD] FILE")]
pub(crate) struct Args {
    /// The dump, after the one it is compared with; - for standard input
    #[arg(value_names = ["OLD", "FILE"], num_args = 0..=2)]
    files: Vec<PathBuf>,
    /// Where to write the page; - for standard output
    #[arg(short, long, value_name = "PAGE")]
    output: Option<PathBuf>,
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

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    let Some(output) = &args.output else { bail!("where to? heapdump report FILE -o report.html") };
    let options = args.options()?;
    match &args.files[..] {
        [old, new] => ask_together(session, &[old.clone(), new.clone()], &args.input, |asked| {
            let places = [Input::find(Some(old))?, Input::find(Some(new))?];
            let names = PageOptions { old_file: file_name(old), file: file_name(new), ..options.clone() };
            write_to(Some(&asked[0]), &asked[1], &names, &places, output)
        }),
        files => {
            let file = files.first().map(PathBuf::as_path);
            let place = Input::find(file)?;
            let name = if let Input::Path(path) = &place { file_name(path) } else { None };
            ask(session, file, &args.input, |asked| {
                asked.warn();
                let names = PageOptions { file: name.clone(), ..options.clone() };
                write_to(None, asked, &names, std::slice::from_ref(&place), output)
            })
        }
    }
}

/// The page is made before anything is written.
fn write_to(
    old: Option<&Asked<'_>>,
    new: &Asked<'_>,
    options: &PageOptions,
    inputs: &[Input],
    output: &Path,
) -> Result<Outcome> {
    let target = find_target_of_several(inputs, Some(output))?;
    let mut page = Vec::new();
    write_page(old.map(|asked| asked.dump), new.dump, options, &mut page).map_err(|error| match error {
        PageError::Answer(error) => new.explain(error),
        error => error.into(),
    })?;
    write(&target, &page)?;
    Ok(Outcome::Done)
}

fn file_name(path: &Path) -> Option<String> {
    (path.as_os_str() != "-").then(|| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned())
}

impl Args {
    fn options(&self) -> Result<PageOptions> {
        let max_bytes = parse_size(&self.max_bytes).map_err(|error| anyhow::anyhow!("--max-bytes: {error}"))?;
        Ok(PageOptions {
            section: self.section.domain.clone(),
            threshold: parse_threshold(&self.threshold)?,
            libraries: parse_patterns("--library", &self.library)?,
            max_bytes,
            read_words: self.input.words(),
            ..PageOptions::default()
        })
    }
}
