//! `heapdump redact`: a copy of a dump without its values, that may be shared.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Error, Result, anyhow, bail};

use crate::cli::CommandOutcome;
use crate::cli::args::options::ReadArgs;
use crate::cli::terminal::dump_input::{DumpInput, open_options};
use crate::cli::terminal::output_target::find_target;
use crate::cli::terminal::session::Session;
use crate::dump::{IndexUse, OpenOptions};
use crate::files::{CompleteOutput, OutputTarget};
use crate::redact::{
    CompressedOutput, CopyCheck, DumpDigest, DumpFile, KeptFields, KeyedHash, NameMap, OutputCompression, RedactError,
    RedactOptions, RedactedCopy, check_redacted_copy, compare, lost_text, redact, redact_in_one_walk,
};
use crate::report::format_bytes;

/// A copy without values, that may be shared
///
/// Every text, number and key becomes zero; objects, types, names, sizes, references, roots, threads with their frames and
/// ids stay. So do sizes and states of known collections and the names of threads, enumerations and class loaders, unless
/// --keep none says otherwise. The copy has the format of the dump; a name in .gz or .zst packs it. What of a damaged dump
/// cannot be parsed is zero.
///
/// Example: heapdump redact app.hprof -o shared.hprof.zst
///
/// Example: heapdump redact --verify app.hprof shared.hprof.zst
///
/// Example: heapdump redact app.hprof -o shared.hprof --keep-equality --keep com.acme.Order.state
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// The copy that is compared with it
    #[arg(requires = "verify")]
    copy: Option<PathBuf>,
    /// Compare a copy with its dump, and look for texts in it; exit code 1 when one is left or an answer differs
    #[arg(long, requires = "copy", conflicts_with = "output")]
    verify: bool,
    /// Where to write; - for standard output. In .gz or .zst it is packed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    /// Equal values stay equal and different ones different: each becomes a hash with a key of this run
    #[arg(long)]
    keep_equality: bool,
    /// Fields that stay as they are: Class.field, a glob or a /regex/; none: not even those that stay by default
    #[arg(long, value_name = "PATTERN")]
    keep: Vec<String>,
    /// A file with other names, one com.acme=a.b a line, or such pairs with commas between them
    #[arg(long, value_name = "MAP")]
    names: Option<String>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    if let (Some(file), Some(copy)) = (&args.file, &args.copy) {
        return verify_copy(file, copy, args, session);
    }
    let Some(output) = &args.output else { bail!("where to? heapdump redact FILE -o shared.hprof") };
    let input = DumpInput::find(args.file.as_deref())?;
    if output.as_os_str() == "-" && std::io::stdout().is_terminal() {
        bail!("-o -: a dump is nothing for a terminal to show");
    }
    if output.is_file() && !args.force {
        bail!("{} exists; --force replaces it", output.display());
    }
    let observer = open_options(session, None, &args.read)?.0.observer;
    let target = find_target(std::slice::from_ref(&input), Some(output))?;
    let file = match &input {
        DumpInput::Path(path) => DumpFile::of_path(path.clone(), observer),
        DumpInput::Stdin => DumpFile::of_reader(std::io::stdin(), observer),
    };
    let of_input = |error: Error| input.explain_if_url(error).context(input.name());
    let file = file.map_err(|error| of_input(error.into()))?;
    let (redacted, complete) = write_redacted_copy(
        &file,
        &input.name(),
        (&target, output),
        &args.options()?,
        (session, args.read.quiet),
        of_input,
    )?;
    complete.publish().with_context(|| cannot_write(&target))?;
    if !args.read.quiet {
        let bytes = format_bytes(redacted.bytes);
        let words =
            if redacted.has_values { "without values" } else { "without traces of its user: the format has no values" };
        let name = if output.as_os_str() == "-" { "standard output".into() } else { output.display().to_string() };
        session.print_sentence(&format!("wrote {name} ({bytes} unpacked) {words}"));
    }
    Ok(CommandOutcome::Answered)
}

/// Writes a copy, which is to be published, and says what of the dump is not in it unless it is to be quiet. `of_input` says of
/// which dump an error is.
pub(crate) fn write_redacted_copy(
    file: &DumpFile,
    name: &str,
    (target, output): (&OutputTarget, &Path),
    options: &RedactOptions,
    (session, is_quiet): (&Session, bool),
    of_input: impl FnOnce(Error) -> Error,
) -> Result<(RedactedCopy, CompleteOutput)> {
    let write = || -> Result<(RedactedCopy, CompleteOutput), RedactError> {
        let (out, packing) = (|| target.begin_lazily(|| {}), OutputCompression::of_name(output));
        if target.is_file() && packing == OutputCompression::Uncompressed {
            let mut out = out();
            if let Some(redacted) = redact_in_one_walk(file, options, &mut out)? {
                return Ok((redacted, out.complete()?));
            }
        }
        let mut out = CompressedOutput::new(out(), packing);
        let redacted = redact(file, options, &mut out)?;
        out.flush()?;
        Ok((redacted, out.finish()?.complete()?))
    };
    let (redacted, complete) = write().map_err(|error| match error {
        RedactError::Write(error) => Error::from(error).context(cannot_write(target)),
        RedactError::Damaged(lost) => anyhow!("{name}: {} (an error because of --strict)", lost_text(&lost)),
        error => of_input(error.into()),
    })?;
    session.progress.clear();
    if is_quiet {
        return Ok((redacted, complete));
    }
    if redacted.lost.bytes > 0 || redacted.lost.is_cut {
        let so = if redacted.lost.bytes > 0 { "; nothing of them is in the copy" } else { "" };
        session.print_note("warning", None, &format!("{name}: {}{so}", lost_text(&redacted.lost)));
    }
    if !redacted.has_names {
        let text = format!("{name}: damaged, so that names may be values: none is left");
        session.print_note("warning", None, &text);
    }
    Ok((redacted, complete))
}

pub(crate) fn cannot_write(target: &OutputTarget) -> String {
    format!("cannot write {}", target.name())
}

/// Says what of a dump and its copy is the same, and whether a text is left.
fn verify_copy(file: &Path, copy: &Path, args: &Args, session: &Session) -> Result<CommandOutcome> {
    let options = args.options()?;
    let (read, memory) = open_options(session, None, &args.read)?;
    let open = OpenOptions { index: IndexUse::Never, hides_values: true, ..read.clone() };
    let inputs = [DumpInput::of(file), DumpInput::of(copy)];
    if inputs.iter().any(|input| input.path().is_none()) {
        bail!("--verify reads both more than once: name two files");
    }
    let seen = |input: &DumpInput, names: &NameMap| -> Result<DumpDigest> {
        let dump = input.open(&open, &memory)?;
        Ok(DumpDigest::of(&dump, names)?)
    };
    let of_dump = seen(&inputs[0], &options.names)?;
    let of_copy = seen(&inputs[1], &NameMap::default())?;
    let mut checks = compare(&of_dump, &of_copy, !options.names.is_empty());
    let again = |path: &Path| DumpFile::of_path(path.to_path_buf(), Arc::clone(&read.observer));
    let [dump, copy] = [again(file)?, again(copy)?];
    checks.extend(check_redacted_copy(&dump, &copy, &options)?);
    let line = |check: &CopyCheck| match &check.difference {
        None => format!("same     {}", check.subject),
        Some(difference) => format!("differs  {}: {difference}", check.subject),
    };
    session.print_lines(checks.iter().map(line))?;
    let is_same = checks.iter().all(|check| check.is_same);
    Ok(if is_same { CommandOutcome::Answered } else { CommandOutcome::NegativeAnswer })
}

impl Args {
    fn options(&self) -> Result<RedactOptions> {
        let is_none = |text: &&String| *text == "none";
        let mut keep = match self.keep.iter().any(|text| is_none(&text)) {
            true => KeptFields::default(),
            false => KeptFields::known(),
        };
        for text in self.keep.iter().filter(|text| !is_none(text)) {
            keep.add_pattern(text).map_err(|why| anyhow!("--keep: {why}"))?;
        }
        Ok(RedactOptions {
            read: self.read.read_options()?,
            kept_fields: keep,
            equality_hash: self.keep_equality.then(KeyedHash::default),
            names: self.names.as_deref().map(parse_name_map).transpose()?.unwrap_or_default(),
            is_strict: self.read.strict,
        })
    }
}

/// The names in a file, or in the words themselves.
fn parse_name_map(text: &str) -> Result<NameMap> {
    let path = Path::new(text);
    let text = match text.contains('=') && !path.exists() {
        true => text.to_string(),
        false => std::fs::read_to_string(path).with_context(|| format!("--names {text}"))?,
    };
    NameMap::parse(&text).map_err(|why| anyhow!("--names: {why}"))
}
