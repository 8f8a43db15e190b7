//! `heapdump index`: parse once, ask again at once.

use std::path::PathBuf;

use anyhow::{Context, Error, Result, anyhow, bail};

use super::Outcome;
use super::common::Common;
use super::load::{Place, open_options, refuse_to_overwrite, warn};
use super::output::print_sentence;
use crate::dump::{IndexUse, OpenOptions, WriteIndexError, path_of_index, write_index};
use crate::index::{SourceKey, check_writable, is_index};
use crate::report::format_bytes;

/// Parse once, ask again at once: writes an index beside the dump
///
/// Commands find FILE.hdx by themselves while it belongs to FILE as it is now, and take the .hdx itself as well;
/// --no-index ignores it. A stale or damaged index is never believed: commands say so and read the dump.
///
/// Example: heapdump index dump.txt && heapdump roots 7fe45 dump.txt
///
/// Example: zcat dump.txt.gz | heapdump index - -o dump.hdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Where to write [default: FILE.hdx]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let input = &args.common.input;
    if input.keep_unreachable
        || !input.exclude_roots.is_empty()
        || input.domain.is_some()
        || input.type_pattern.is_some()
    {
        bail!(
            "--keep-unreachable, --exclude-roots, --domain and --type are for questions; an index serves with and \
             without them"
        );
    }
    let place = Place::find(args.file.as_deref())?;
    // A pipe with a name is read as standard input is.
    let file = match &place {
        Place::Path(path) if path.is_file() => Some(path.as_path()),
        _ => None,
    };
    if let Some(path) = file.filter(|path| is_index(path)) {
        bail!("{} is an index already; name its dump to make it anew", path.display());
    }
    let output = match (&args.output, file) {
        (Some(output), _) if output.as_os_str() == "-" => bail!("-o -: an index is a file, for it is mapped"),
        // The file a link leads to is written, not the link.
        (Some(output), _) => output.canonicalize().unwrap_or_else(|_| output.clone()),
        (None, Some(path)) => path_of_index(path),
        (None, None) => bail!("the dump comes through a pipe: say with -o where the index shall be"),
    };
    refuse_to_overwrite(&place, &output)?;
    if output.exists() && !(output.is_file() && is_index(&output)) {
        bail!("{} is there already and is no index: choose another name with -o", output.display());
    }
    // Before the work, not after it.
    check_writable(&output).with_context(|| format!("cannot write {}; -o puts it elsewhere", output.display()))?;
    let (options, progress, memory) = open_options(None, &args.common)?;
    let options = OpenOptions { index: IndexUse::Never, ..options };
    // Before it is read: what is written to it meanwhile makes the index stale.
    let key = file.map(SourceKey::of).transpose().with_context(|| place.name())?;
    let opened = match &place {
        Place::Path(path) => options.open(path),
        Place::Stdin => options.open_reader(std::io::stdin()),
    };
    let dump = opened.map_err(|error| memory.explain_open(error)).with_context(|| place.name())?;
    warn(dump.diagnostics(), None, args.common.output.quiet);
    let bytes = write_index(&dump, &output, key, &options).map_err(|error| match error {
        WriteIndexError::NotObjects => {
            anyhow!("the dump holds allocation totals, no objects: it is read as quickly without an index")
        }
        WriteIndexError::Memory(error) => memory.explain(error),
        WriteIndexError::Io(error) => Error::from(error).context(format!("cannot write {}", output.display())),
    })?;
    drop((options, progress));
    super::progress::end();
    if !args.common.output.quiet {
        print_sentence(&format!("wrote {} ({})", output.display(), format_bytes(bytes)));
    }
    Ok(Outcome::Done)
}
