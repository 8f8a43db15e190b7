//! Options that several commands have, in groups: a command takes the groups that act there, and no others. `-h` shows
//! those that are used every day, `--help` and the manual page all.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::analysis::selection::TypePattern;
use crate::analysis::threshold::{Percent, Threshold};
use crate::input::{ReadOptions, Rules, SizeRadix, SnapshotChoice};
use crate::report::parse_size;

/// What every command that asks a dump has: the form of the answer, and how the dump is read.
#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

impl Common {
    /// No warnings, no progress.
    pub(crate) fn is_quiet(&self) -> bool {
        self.input.read.quiet
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FormatArg {
    Table,
    Markdown,
    Csv,
    Tsv,
    Json,
    Jsonl,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ColorArg {
    Auto,
    Always,
    Never,
}

/// The form of an answer.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// The output form
    #[arg(short, long, value_enum, default_value = "table", value_name = "FORM")]
    pub(crate) format: FormatArg,
    /// Sizes as 1.2 MiB [default on a terminal]
    #[arg(long, overrides_with = "bytes", hide_short_help = true)]
    pub(crate) human: bool,
    /// Sizes as plain numbers [default everywhere else]
    #[arg(long, overrides_with = "human", hide_short_help = true)]
    pub(crate) bytes: bool,
    /// Rows alone, without a header line
    #[arg(long, hide_short_help = true)]
    pub(crate) no_header: bool,
    /// Colours; auto honours NO_COLOR
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN", hide_short_help = true)]
    pub(crate) color: ColorArg,
}

/// How much of a table is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct LimitArgs {
    /// Rows of each table, or of each level of a tree; 0 for all [default: 30 on a terminal, else all]
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// The order of a table.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SortArgs {
    /// Order the rows by this column
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort: Option<String>,
    /// Reverse the order
    #[arg(long, hide_short_help = true)]
    pub(crate) reverse: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RulesArg {
    Heapdump,
    Mat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RadixArg {
    Hex,
    Dec,
}

/// Which types are asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct TypeArgs {
    /// Keep types that match: a substring, /regex/, or a glob with * or ?; capitals matter
    #[arg(short = 't', long = "type", value_name = "PATTERN")]
    pub(crate) type_pattern: Option<String>,
}

/// Which section is asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct SectionArgs {
    /// One section of several (AppDomain, process, heap space), by name or number
    #[arg(long, value_name = "NAME|INDEX")]
    pub(crate) domain: Option<String>,
}

/// A dump that is asked: how it is read, with which roots, and whether an index may answer for it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Give objects that no root reaches roots of their own
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_unreachable: bool,
    /// Leave roots of these kinds out (finalizer, handle, ...)
    #[arg(long, value_name = "KIND", value_delimiter = ',', hide_short_help = true)]
    pub(crate) exclude_roots: Vec<String>,
    /// Do not use an index beside the file
    #[arg(long, hide_short_help = true)]
    pub(crate) no_index: bool,
}

impl InputArgs {
    /// The options that change what an answer says, for commands that ask the same.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: Option<&str>| {
            words.extend(value.map(|value| [name.to_string(), value.to_string()]).into_iter().flatten());
        };
        let kinds = self.exclude_roots.join(",");
        option("--exclude-roots", (!kinds.is_empty()).then_some(&kinds));
        option("--snapshot", self.read.snapshot.as_deref());
        option("--input-format", self.read.input_format.as_deref());
        option("--size-radix", matches!(self.read.size_radix, RadixArg::Dec).then_some("dec"));
        words.extend(self.keep_unreachable.then(|| "--keep-unreachable".to_string()));
        words.extend(self.read.raw_types.then(|| "--raw-types".to_string()));
        words
    }
}

/// How a dump is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReadArgs {
    /// Which of several snapshots in the file: a number from 1, or last
    #[arg(long, value_name = "N|last", hide_short_help = true)]
    pub(crate) snapshot: Option<String>,
    /// Read the file as this format instead of detecting it
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) input_format: Option<String>,
    /// Type names exactly as in the dump
    #[arg(long, hide_short_help = true)]
    pub(crate) raw_types: bool,
    /// Radix of sizes in XNA / .NET CF dumps
    #[arg(long, value_enum, default_value = "hex", value_name = "RADIX", hide_short_help = true)]
    pub(crate) size_radix: RadixArg,
    /// Whose rules of sizes and holding: mat for those of Eclipse MAT (HPROF)
    #[arg(long, value_enum, default_value = "heapdump", value_name = "NAME", hide_short_help = true)]
    pub(crate) rules: RulesArg,
    /// Any problem in the input is an error
    #[arg(long, hide_short_help = true)]
    pub(crate) strict: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) threads: Option<usize>,
    /// Memory limit, e.g. 4GiB [default: what is free]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_memory: Option<String>,
    /// No warnings, no progress
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl ReadArgs {
    pub(crate) fn read_options(&self) -> Result<ReadOptions> {
        let mut options = ReadOptions {
            snapshot: self.snapshot_choice()?,
            input_format: self.input_format.clone(),
            raw_types: self.raw_types,
            strict: self.strict,
            ..ReadOptions::default()
        };
        if let Some(threads) = self.threads {
            // More than any machine has cores would only be started, not run.
            options.threads = threads.clamp(1, 256);
        }
        options.rules = match self.rules {
            RulesArg::Heapdump => Rules::Heapdump,
            RulesArg::Mat => Rules::Mat,
        };
        options.xna_cf.size_radix = match self.size_radix {
            RadixArg::Hex => SizeRadix::Hex,
            RadixArg::Dec => SizeRadix::Dec,
        };
        Ok(options)
    }

    fn snapshot_choice(&self) -> Result<SnapshotChoice> {
        let Some(wanted) = self.snapshot.as_deref() else { return Ok(SnapshotChoice::FirstComplete) };
        if wanted == "last" {
            return Ok(SnapshotChoice::Last);
        }
        match wanted.parse::<usize>() {
            Ok(number) if number > 0 => Ok(SnapshotChoice::Number(number)),
            _ => bail!("--snapshot: \"{wanted}\" is neither a number from 1 nor \"last\""),
        }
    }
}

impl TypeArgs {
    pub(crate) fn pattern(&self) -> Result<Option<TypePattern>> {
        self.type_pattern
            .as_deref()
            .map(|text| TypePattern::parse(text).map_err(anyhow::Error::msg).context("--type"))
            .transpose()
    }
}

impl SortArgs {
    /// What the column that `--sort` names stands for; without it what the first does. Columns may have several names:
    /// the first is shown where there is none of the name asked for.
    pub(crate) fn column<T: Copy>(&self, columns: &[(&[&str], T)]) -> Result<T> {
        let is_asked = |names: &[&str]| self.sort.as_deref().is_none_or(|asked| names.contains(&asked));
        match columns.iter().find(|(names, _)| is_asked(names)) {
            Some((_, order)) => Ok(*order),
            None => {
                let names: Vec<&str> = columns.iter().map(|(names, _)| names[0]).collect();
                let asked = self.sort.as_deref().unwrap_or_default();
                bail!("--sort: no column \"{asked}\"; there are: {}", names.join(", "))
            }
        }
    }
}

/// Patterns for names of types, given with an option.
pub(crate) fn parse_patterns(texts: &[String], option: &'static str) -> Result<Vec<TypePattern>> {
    let parse = |text: &String| TypePattern::parse(text).map_err(anyhow::Error::msg).context(option);
    texts.iter().map(parse).collect()
}

/// A size, or a share of a whole as `10%`.
pub(crate) fn parse_threshold(text: &str) -> Result<Threshold> {
    match text.trim().strip_suffix('%') {
        Some(share) => match share.trim().parse().ok().and_then(Percent::new) {
            Some(percent) => Ok(Threshold::Share(percent)),
            None => bail!("\"{text}\" is not a share; write it as 10%"),
        },
        None => parse_size(text).map(Threshold::Bytes).map_err(anyhow::Error::msg),
    }
}

/// The smallest nodes that are shown: bytes, or a share of the heap.
pub(crate) fn parse_smallest(bytes: Option<&str>, percent: Option<f64>) -> Result<Option<Threshold>> {
    let share = |percent: f64, option: &str| match Percent::new(percent).filter(|_| percent <= 100.0) {
        Some(percent) => Ok(Some(Threshold::Share(percent))),
        None => bail!("{option}: a share is 0 to 100 percent"),
    };
    match (bytes, percent) {
        (None, None) => Ok(None),
        (_, Some(percent)) => share(percent, "--min-percent"),
        (Some(text), None) => match text.strip_suffix('%').map(|number| number.trim().parse::<f64>()) {
            Some(Ok(percent)) => share(percent, "--min-bytes"),
            Some(Err(_)) => bail!("--min-bytes: \"{text}\" is no share; write it as 1%"),
            None => match parse_size(text) {
                Ok(bytes) => Ok(Some(Threshold::Bytes(bytes))),
                Err(why) => bail!("--min-bytes: {why}"),
            },
        },
    }
}

/// The columns that `--sort` may name: the key as in CSV, or a shorter name.
pub(crate) fn sort_key(
    asked: Option<&str>,
    default: &'static str,
    known: &[(&'static str, &str)],
) -> Result<&'static str> {
    let Some(asked) = asked else { return Ok(default) };
    let known: Vec<_> = known.iter().map(|&(key, short)| (key, short, key)).collect();
    order_by(asked, &known)
}

/// What `--sort` means: what stands behind a column that is named by its key in CSV, or by a shorter name.
pub(crate) fn order_by<T: Copy>(asked: &str, known: &[(&str, &str, T)]) -> Result<T> {
    match known.iter().find(|(key, short, _)| asked == *key || asked == *short) {
        Some(&(.., order)) => Ok(order),
        None => {
            let names: Vec<&str> = known.iter().map(|(_, short, _)| *short).collect();
            bail!("--sort: no column \"{asked}\"; there are: {}", names.join(", "))
        }
    }
}
