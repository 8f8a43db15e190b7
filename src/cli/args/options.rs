//! Options that several commands have, in groups: a command takes the groups that act there, and no others. `-h` shows
//! those that are used every day, `--help` and the manual page all.

use std::ffi::OsStr;

use anyhow::{Context, Error, Result, anyhow, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};

use crate::allocations::FrameNaming;
use crate::analysis::threshold::{Percent, Threshold};
use crate::analysis::type_patterns::{TypeChoice, TypePattern};
use crate::answers::{CommandLine, Figure, GroupBy, Limits, ProblemRow, ScopeOptions, cut_sentence};
use crate::dump::{Content, OpenDump};
use crate::filter::{FieldSelection, Filter, FilterError};
use crate::input::{ProfileOptions, ReadOptions, Rules, SizeRadix};
use crate::report::{Format, parse_size};

/// Options of every command that asks a dump: the form of the answer, and the way the dump is read.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// A parser of an option whose values are a few words.
pub(crate) fn word_parser<T: Copy + Send + Sync + 'static>(
    known: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    // Of words with a number one stands in the text of the option.
    let shown = |word: &&'static str| PossibleValue::new(word).hide(word.ends_with(|c: char| c.is_ascii_digit()));
    let words = PossibleValuesParser::new(known.iter().map(|(word, _)| shown(word)));
    words.try_map(|word| known.iter().find(|(known, _)| *known == word).map(|(_, value)| *value).ok_or("unknown"))
}

/// A word of a list, or the path of one field, `.user.name`.
#[derive(Clone)]
pub(crate) struct FieldOrWordParser<T: 'static> {
    /// The words.
    pub(crate) words: &'static [(&'static str, T)],
    /// What is meant with a field.
    pub(crate) of_field: T,
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for FieldOrWordParser<T> {
    type Value = (T, Option<FieldSelection>);

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Self::Value, clap::Error> {
        let Some(path) = value.to_str().filter(|text| text.starts_with('.')) else {
            return word_parser(self.words).parse_ref(command, arg, value).map(|word| (word, None));
        };
        let field = FieldSelection::parse(path).ok().filter(|field| field.paths().count() == 1);
        let wrong = || {
            let message = format!("--by {path}: no path of a field, as .user.name");
            command.clone().error(ErrorKind::InvalidValue, message)
        };
        Ok((self.of_field, Some(field.ok_or_else(wrong)?)))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words: Vec<PossibleValue> = word_parser(self.words).possible_values()?.collect();
        Some(Box::new(words.into_iter().chain([PossibleValue::new(".FIELD")])))
    }
}

const COLOR_WORDS: &[(&str, ColorArg)] =
    &[("auto", ColorArg(None)), ("always", ColorArg(Some(true))), ("never", ColorArg(Some(false)))];
const RADIX_WORDS: &[(&str, SizeRadix)] = &[("hex", SizeRadix::Hex), ("dec", SizeRadix::Dec)];
const RULES_WORDS: &[(&str, Rules)] =
    &[("heapdump", Rules::Heapdump), ("mat", Rules::Mat), ("devtools", Rules::Devtools), ("plain", Rules::Plain)];

/// Colours, or `None` where the terminal decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColorArg(pub(crate) Option<bool>);

/// The form of an answer.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// The output form
    #[arg(short, long, value_parser = word_parser(Format::WORDS), default_value = "table", value_name = "FORM")]
    pub(crate) format: Format,
    /// Print as on a terminal: for a ticket, a file, a pager such as less -R
    #[arg(short, long)]
    pub(crate) pretty: bool,
    /// Sizes as 1.2 MiB [default on a terminal]
    #[arg(long, overrides_with = "bytes", hide_short_help = true)]
    pub(crate) human: bool,
    /// Sizes as plain numbers [default everywhere else]
    #[arg(long, overrides_with = "human", hide_short_help = true)]
    pub(crate) bytes: bool,
    /// Rows alone, without a header line
    #[arg(long, hide_short_help = true)]
    pub(crate) no_header: bool,
    /// With -f csv and tsv: a ' before texts that begin with =, +, - or @, which spreadsheets run as formulas
    #[arg(long, hide_short_help = true)]
    pub(crate) csv_safe: bool,
    /// Colours; auto honours NO_COLOR
    #[arg(long, value_parser = word_parser(COLOR_WORDS), default_value = "auto", value_name = "WHEN", hide_short_help = true)]
    pub(crate) color: ColorArg,
}

/// Rows of a table at most.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RowLimitArgs {
    /// Rows of each table, or of each level of a tree; 0 for all [default: 30 on a terminal, else all]
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) limit: Option<usize>,
}

/// Validity of limits on a part of a dump.
#[derive(Debug, Args)]
pub(crate) struct LenientArgs {
    /// Check limits on a cut dump as on a whole one, not as an error
    #[arg(long, hide_short_help = true)]
    lenient: bool,
}

/// The problems of a dump, with its name where there are several dumps.
pub(crate) type NamedProblems<'p> = (&'p str, &'p [ProblemRow]);

impl LenientArgs {
    /// An error where one of these dumps is cut: that it keeps within the limits says nothing then, but with `--lenient`.
    pub(crate) fn fail_if_cut_within_limits<'p>(
        &self,
        has_limits: bool,
        dumps: impl IntoIterator<Item = NamedProblems<'p>>,
    ) -> Result<()> {
        if has_limits { self.fail_if_cut("no limit is passed", dumps) } else { Ok(()) }
    }

    /// The same of the dumps since which something grew by more than a limit.
    pub(crate) fn fail_if_cut_over_limits<'p>(&self, since: impl IntoIterator<Item = NamedProblems<'p>>) -> Result<()> {
        self.fail_if_cut("a limit is passed", since)
    }

    /// `what`: what a cut dump does not prove.
    fn fail_if_cut<'p>(&self, what: &str, dumps: impl IntoIterator<Item = NamedProblems<'p>>) -> Result<()> {
        let cut = dumps.into_iter().find_map(|(file, problems)| Some((file, cut_sentence(problems)?)));
        let Some((file, cut)) = cut.filter(|_| !self.lenient) else { return Ok(()) };
        let file = if file.is_empty() { String::new() } else { format!("{file}: ") };
        bail!("{file}{what}, but that says nothing. {cut}. --lenient checks limits on what there is")
    }
}

/// The order of a table.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SortArgs {
    /// Order the rows by this column
    #[arg(long, value_name = "COLUMN", value_hint = clap::ValueHint::Other)]
    pub(crate) sort: Option<String>,
    /// Reverse the order
    #[arg(long, hide_short_help = true)]
    pub(crate) reverse: bool,
}

/// The rows of a table: how many, in which order.
#[derive(Debug, Args)]
pub(crate) struct RowArgs {
    #[command(flatten)]
    pub(crate) limit: RowLimitArgs,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
}

/// Types that are asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct TypeArgs {
    /// Keep types that match: a part of the name, =NAME for exactly that name, a glob with * or ?, /regex/; repeatable
    #[arg(short = 't', long = "type", value_name = "PATTERN")]
    type_pattern: Vec<String>,
    /// Leave types out that match
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    not_type: Vec<String>,
    /// Ignore case in both
    #[arg(short, long, hide_short_help = true)]
    ignore_case: bool,
}

/// The section that is asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct SectionArgs {
    /// One section of several (AppDomain, process, heap space), by name or number
    #[arg(long, value_name = "NAME|INDEX")]
    pub(crate) domain: Option<String>,
}

/// Objects that are asked for by an expression.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct WhereArgs {
    /// Keep objects that fulfil an expression, as "retained > 1MiB and type ~ 'Cache'"
    ///
    /// Columns: type, instanceof, package, module, domain, generation, class, shallow, retained, dominated, depth, references,
    /// referrers, id, reachable, root, root_kind, dominator, dominator_type, length; fields by a dotted path, as
    /// ".user.name = 'smith'". For fields and length the values of the whole dump are read once. = != < <= > >= ~ !~ in between
    /// is null, and or not. Of several --where all must hold. A comparison with a missing value is never true, also not inside
    /// not
    #[arg(long = "where", value_name = "EXPR")]
    filter: Vec<String>,
    /// Keep objects whose class, one of its superclasses or an interface of the JDK matches; PATTERN as for --type
    #[arg(long = "instanceof", value_name = "PATTERN", hide_short_help = true)]
    pub(in crate::cli) instance_of: Vec<String>,
}

/// Objects that are asked for.
#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    #[command(flatten)]
    pub(crate) types: TypeArgs,
    #[command(flatten)]
    pub(crate) filter: WhereArgs,
    #[command(flatten)]
    pub(crate) section: SectionArgs,
}

/// A dump that is asked: how it is read, with which roots, and whether an index may answer for it.
#[derive(Debug, Clone, Args)]
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
    /// Of standard input, how much a temporary file may keep to read fields and names again [default: a tenth of the free disk]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    pub(crate) spool: Option<u64>,
}

impl InputArgs {
    /// The same for a question that asks what tells of single objects, whatever the dump.
    pub(crate) fn with_details(&self) -> Self {
        InputArgs { read: ReadArgs { keeps_details: true, ..self.read.clone() }, ..self.clone() }
    }

    /// The same, with frames of a profile named by what rows are grouped by; an error where `--frames` says otherwise.
    pub(crate) fn with_frame_names_for(&self, by: GroupBy) -> Result<Self> {
        let (asked, wanted) = (self.read.frames, by.frame_names());
        if let (Some(asked), Some(wanted)) = (asked, wanted)
            && asked != wanted
        {
            bail!("--by {} names frames so: leave --frames out", by.name());
        }
        Ok(InputArgs { read: ReadArgs { row_frame_names: wanted, ..self.read.clone() }, ..self.clone() })
    }

    /// As a dump of objects is read: what rows are grouped by changes nothing there.
    pub(crate) fn without_row_frame_names(&self) -> Self {
        InputArgs { read: ReadArgs { row_frame_names: None, ..self.read.clone() }, ..self.clone() }
    }

    /// The options that change what an answer says, as words of a command line that asks the same.
    pub(crate) fn input_option_words(&self) -> Vec<String> {
        let ReadArgs { snapshot, measure, input_format, size_radix, raw_types, rules, frames, type_label, .. } =
            &self.read;
        let kinds = self.exclude_roots.join(",");
        let mut line = CommandLine::without_command();
        line.add_option("--exclude-roots", Some(&*kinds).filter(|kinds| !kinds.is_empty()))
            .add_option("--snapshot", snapshot.as_deref())
            .add_option("--measure", measure.as_deref())
            .add_option("--frames", frames.map(FrameNaming::name))
            .add_option("--type-label", type_label.as_deref())
            .add_switch("--all-frames", self.read.all_frames)
            .add_option("--input-format", input_format.as_deref())
            .add_option("--size-radix", matches!(size_radix, SizeRadix::Dec).then_some("dec"))
            .add_option("--rules", (*rules != Rules::Heapdump).then(|| rules.name()))
            .add_switch("--keep-unreachable", self.keep_unreachable)
            .add_switch("--raw-types", *raw_types);
        line.into_words()
    }
}

/// Options for reading a dump.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReadArgs {
    /// What tells of single objects will be asked for.
    #[arg(skip)]
    keeps_details: bool,
    /// Which of several snapshots in the file: a number from 1, or last
    #[arg(long, value_name = "N|last", hide_short_help = true)]
    pub(crate) snapshot: Option<String>,
    /// Which values of a profile: inuse, alloc [default: what it says itself, else what is in use]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) measure: Option<String>,
    /// What frames of a profile are named by, in trees, paths and flame graphs [default: function]
    #[arg(long, value_parser = word_parser(FrameNaming::WORDS), value_name = "NAME", hide_short_help = true)]
    pub(crate) frames: Option<FrameNaming>,
    /// Types in a profile are the values of this label, not functions; bytes: size classes of Go
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    pub(crate) type_label: Option<String>,
    /// Frames too that a profile wants left out
    #[arg(long, hide_short_help = true)]
    all_frames: bool,
    /// What rows are grouped by, where the dump is a profile.
    #[arg(skip)]
    row_frame_names: Option<FrameNaming>,
    /// Read the file as this format instead of detecting it
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) input_format: Option<String>,
    /// Type names exactly as in the dump
    #[arg(long, hide_short_help = true)]
    pub(crate) raw_types: bool,
    /// Radix of sizes in XNA / .NET CF dumps
    #[arg(long, value_parser = word_parser(RADIX_WORDS), default_value = "hex", value_name = "RADIX", hide_short_help = true)]
    pub(crate) size_radix: SizeRadix,
    /// Whose rules for sizes and references: mat for those of Eclipse MAT (HPROF), plain for none (V8)
    #[arg(long, value_parser = word_parser(RULES_WORDS), default_value = "heapdump", value_name = "NAME", hide_short_help = true)]
    pub(crate) rules: Rules,
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
    /// An error where frames were to be named by what the dump, no profile, does not say.
    pub(crate) fn check_frames_option(&self, dump: &OpenDump) -> Result<()> {
        match (self.frames, dump.content()) {
            (None | Some(FrameNaming::Function), _) => Ok(()),
            (Some(asked), Content::Allocations(allocations)) if allocations.frame_naming == asked => Ok(()),
            (Some(asked), _) => bail!("--frames {}: the dump is no profile", asked.name()),
        }
    }

    /// As the library takes it.
    pub(crate) fn read_options(&self) -> Result<ReadOptions> {
        let snapshot = self.snapshot.as_deref().map(|text| text.parse().map_err(|why| anyhow!("--snapshot: {why}")));
        let mut options = ReadOptions {
            snapshot: snapshot.transpose()?.unwrap_or_default(),
            profile: ProfileOptions {
                measure: self.measure.clone(),
                frame_names: self.frames.or(self.row_frame_names).unwrap_or_default(),
                type_label: self.type_label.clone(),
                all_frames: self.all_frames,
            },
            input_format: self.input_format.clone(),
            raw_types: self.raw_types,
            strict: self.strict,
            keeps_details: self.keeps_details,
            ..ReadOptions::default()
        };
        if let Some(threads) = self.threads {
            // More than any machine has cores would only be started, not run.
            options.threads = threads.clamp(1, 256);
        }
        options.rules = self.rules;
        options.xna_cf.size_radix = self.size_radix;
        Ok(options)
    }
}

/// The patterns of an option.
pub(crate) fn parse_patterns<'t>(
    option: &'static str,
    texts: impl IntoIterator<Item = &'t String>,
    ignores_case: bool,
) -> Result<Vec<TypePattern>> {
    let parse = |text: &String| TypePattern::parse_with_case(text, ignores_case).map_err(Error::msg).context(option);
    texts.into_iter().map(parse).collect()
}

impl TypeArgs {
    /// Returns true if types are asked for.
    pub(crate) fn chooses_some(&self) -> bool {
        !self.type_pattern.is_empty() || !self.not_type.is_empty()
    }

    /// As the library takes it.
    pub(crate) fn type_choice(&self) -> Result<Option<TypeChoice>> {
        if self.ignore_case && !self.chooses_some() {
            bail!("--ignore-case: there is no --type and no --not-type of which it could be");
        }
        let wanted = parse_patterns("--type", &self.type_pattern, self.ignore_case)?;
        let unwanted = parse_patterns("--not-type", &self.not_type, self.ignore_case)?;
        Ok(self.chooses_some().then_some(TypeChoice { wanted, unwanted }))
    }

    /// The options as they were written, and whether capitals matter.
    pub(crate) fn as_written(&self) -> String {
        let wanted = self.type_pattern.iter().map(|pattern| format!("--type {pattern}"));
        let words: Vec<String> =
            wanted.chain(self.not_type.iter().map(|pattern| format!("--not-type {pattern}"))).collect();
        words.join(" ") + if self.ignore_case { "" } else { " (capitals matter)" }
    }
}

impl WhereArgs {
    /// As the library takes it.
    pub(crate) fn filter(&self) -> Result<Option<Filter>> {
        Filter::parse_with_classes(&self.filter, &self.instance_of).map_err(with_option_of_filter)
    }

    /// Returns true if objects are asked for by an expression.
    pub(crate) fn chooses_some(&self) -> bool {
        !self.filter.is_empty() || !self.instance_of.is_empty()
    }

    /// The options as they were written.
    pub(crate) fn as_written(&self) -> Option<String> {
        let of_class = self.instance_of.iter().map(|pattern| format!("--instanceof {pattern}"));
        let words: Vec<String> = self.filter.iter().map(|text| format!("--where {text}")).chain(of_class).collect();
        self.chooses_some().then(|| words.join(" "))
    }
}

/// The error with the option that it is of.
pub(crate) fn with_option_of_filter(error: FilterError) -> Error {
    let option = if error.is_of_class_pattern() { "--instanceof" } else { "--where" };
    Error::new(error).context(option)
}

impl ScopeArgs {
    /// Returns true if objects are asked for by what they are.
    pub(crate) fn chooses_some(&self) -> bool {
        self.types.chooses_some() || self.filter.chooses_some()
    }

    /// As the library takes it.
    pub(crate) fn options(&self) -> Result<ScopeOptions> {
        Ok(ScopeOptions {
            types: self.types.type_choice()?,
            filter: self.filter.filter()?,
            ..self.section.scope_options()
        })
    }

    /// An error where limits of types meet a choice of types, of which they would see no others.
    pub(crate) fn refuse_types_beside_type_limits(&self, has_type_limits: bool) -> Result<()> {
        if has_type_limits && self.types.chooses_some() {
            bail!("--fail-over TYPE=SIZE names its types itself: leave --type out");
        }
        Ok(())
    }
}

impl SectionArgs {
    /// All objects of the section.
    pub(crate) fn scope_options(&self) -> ScopeOptions {
        ScopeOptions::of_section(self.domain.as_deref())
    }
}

impl RowArgs {
    /// As the library takes it, here and now.
    pub(crate) fn limits(&self, output: &OutputArgs) -> Limits {
        Limits { rows: self.limit.row_limit_here(output), reverse: self.sort.reverse }
    }

    /// An error that names the option where rows are to be sorted by what only `--retained` computes.
    pub(crate) fn check_sort_by_retained(&self, is_computed: bool) -> Result<()> {
        match self.sort.sort.as_deref() {
            Some(asked @ ("retained" | "retained_bytes")) if !is_computed => {
                bail!("--sort {asked}: add --retained, which computes the column")
            }
            _ => Ok(()),
        }
    }

    /// The column of `--sort`, one of these.
    pub(crate) fn order(&self, columns: &[Figure]) -> Result<Option<Figure>> {
        let Some(asked) = self.sort.sort.as_deref() else { return Ok(None) };
        match columns.iter().find(|column| column.matches_sort_word(asked)) {
            Some(order) => Ok(Some(*order)),
            None => {
                let names: Vec<&str> = columns.iter().map(|column| column.sort_word).collect();
                bail!("--sort: no column \"{asked}\"; there are: {}", names.join(", "))
            }
        }
    }
}

/// The smallest nodes that are shown: bytes, or a share of the heap.
pub(crate) fn parse_min_size(bytes: Option<&str>, percent: Option<f64>) -> Result<Option<Threshold>> {
    let (option, parsed) = match (bytes, percent) {
        (None, None) => return Ok(None),
        (Some(text), None) => ("--min-bytes", text.parse().map(Some)),
        (_, Some(percent)) => ("--min-percent", Ok(Percent::new(percent).map(Threshold::Share))),
    };
    match parsed.map_err(|why| anyhow!("{option}: {why}"))? {
        Some(size) if !size.is_more_than_a_whole() => Ok(Some(size)),
        _ => bail!("{option}: a share is 0 to 100 percent"),
    }
}
