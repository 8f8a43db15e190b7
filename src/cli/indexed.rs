//! The index of a dump: when it is believed, and what follows when it is damaged.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::common::InputArgs;
use super::index_content::{Content, Derived, ReadKey, graph_and_derived, store, with_roots};
use super::memory::MemoryLimit;
use super::output::print_sentence;
use crate::files::{is_trusted_owner, remove_unfinished};
use crate::graph::HeapGraph;
use crate::index::{self, EXTENSION, Index, IndexError, MemoryImage, SourceKey};
use crate::input::{self, Diagnostics, Dump, Facts, ReadOptions, Source};

/// A dump as an index had it.
pub(super) struct Indexed {
    pub(super) graph: HeapGraph,
    pub(super) derived: Derived,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
}

/// Where a dump's index is looked for.
pub(super) fn beside(dump: &Path) -> PathBuf {
    let mut name: OsString = dump.as_os_str().to_owned();
    name.push(".");
    name.push(EXTENSION);
    PathBuf::from(name)
}

/// The file that lies where the dump of an index of this name is looked for.
fn beside_index(index: &Path) -> Option<PathBuf> {
    let dump = index.with_extension("");
    (index.extension().is_some_and(|own| own == EXTENSION) && dump.is_file()).then_some(dump)
}

/// Files that may answer for a dump besides itself: the index beside it, or the dump beside an index.
pub(super) fn companions(path: &Path) -> Vec<PathBuf> {
    let index = Some(beside(path)).filter(|index| index::is_index(index));
    index.into_iter().chain(beside_index(path)).collect()
}

/// Is one the index of the other, whatever they are called?
pub(super) fn is_index_of(index: &Path, dump: &Path) -> bool {
    index::is_index(index)
        && dump.is_file()
        && Index::open(index).is_ok_and(|index| is_of(&index, dump).unwrap_or(false))
}

/// What an index is good for.
pub(super) enum Found {
    /// It has the dump.
    Indexed(Box<Indexed>),
    /// It was asked for by its own name and does not serve; this is its dump.
    Behind(PathBuf),
    /// There is none that serves.
    Nothing,
}

/// The index that serves for `path`: `path` itself when it is one, else the one beside it. When there is none to be
/// believed, the dump; the user is told why.
pub(super) fn find(path: &Path, options: &ReadOptions, input: &InputArgs, memory: MemoryLimit) -> Result<Found> {
    // A pipe with a name must not lose its first bytes to a look.
    if !path.is_file() {
        return Ok(Found::Nothing);
    }
    let quiet = input.read.quiet;
    let dump = beside_index(path);
    if index::is_index(path) || dump.is_some() {
        return by_name(path, dump, &Asking { options, quiet, memory }, input.no_index);
    }
    let candidate = beside(path);
    if input.no_index || !candidate.is_file() {
        return Ok(Found::Nothing);
    }
    let asking = Asking { options, quiet, memory };
    let opened = Index::open(&candidate).map_err(Refusal::from).and_then(|index| {
        is_of(&index, path)?.then_some(()).ok_or(Refusal::Stale)?;
        asking.open(index, &candidate, Some(path), Some(&ReadKey::of(options)))
    });
    match opened {
        Ok(indexed) => Ok(Found::Indexed(Box::new(indexed))),
        Err(why) => {
            tell(quiet, &format!("{} {why}; reading the dump", candidate.display()));
            Ok(Found::Nothing)
        }
    }
}

/// An index that was asked for by its own name; `dump` is what lies beside it under the name of its dump.
fn by_name(path: &Path, dump: Option<PathBuf>, asking: &Asking<'_>, no_index: bool) -> Result<Found> {
    if no_index {
        return match dump {
            Some(dump) => Ok(Found::Behind(dump)),
            None => bail!("{} is an index, and --no-index says to use none", path.display()),
        };
    }
    // Asked for by its name and for nothing else, it serves as it was made.
    let key = ReadKey::of(asking.options);
    let asked = (key != ReadKey::of(&ReadOptions::default())).then_some(&key);
    let mut own_dump = dump.as_deref();
    let opened = Index::open(path).map_err(Refusal::from).and_then(|index| {
        if let Some(dump) = own_dump
            && !is_of(&index, dump)?
        {
            // What has another name than its dump had is some other file.
            let name = dump.file_name().map(|name| name.to_string_lossy());
            if index.source().is_none_or(|source| Some(source.name()) == name.as_deref()) {
                return Err(Refusal::Stale);
            }
            own_dump = None;
        }
        asking.open(index, path, own_dump, asked)
    });
    match (opened, own_dump) {
        (Ok(indexed), _) => Ok(Found::Indexed(Box::new(indexed))),
        (Err(why), Some(dump)) => {
            tell(asking.quiet, &format!("{} {why}; reading {}", path.display(), dump.display()));
            Ok(Found::Behind(dump.to_path_buf()))
        }
        (Err(why), None) => bail!("{} {why}, and its dump is not beside it", path.display()),
    }
}

/// Is it the index of this dump, as the dump is now?
fn is_of(index: &Index, dump: &Path) -> Result<bool, Refusal> {
    let key = SourceKey::of(dump).map_err(IndexError::Io)?;
    Ok(index.source().is_some_and(|source| source.is_same(&key)))
}

/// The dump of an index that was asked for by its own name; `None` for what is no index.
pub(super) fn dump_of(path: &Path) -> Result<Option<PathBuf>> {
    if !index::is_index(path) {
        return Ok(None);
    }
    match beside_index(path) {
        None => bail!("{} is an index: it answers as quickly without --shallow", path.display()),
        dump => Ok(dump),
    }
}

fn tell(quiet: bool, text: &str) {
    if !quiet {
        print_sentence(&format!("note: {text}"));
    }
}

/// Why an index does not serve, in words behind its name.
#[derive(Debug)]
enum Refusal {
    Unusable(IndexError),
    Stale,
    /// Somebody else wrote it than who owns the dump, or asks.
    OtherUser,
    /// The options it was made with, in words.
    Options(String),
    /// Problems, which `--strict` asks to be told as the reader tells them.
    Strict,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Unusable(error) => write!(f, "{error}"),
            Refusal::Stale => f.write_str("is older than the dump or of another one (heapdump index makes it anew)"),
            Refusal::OtherUser => f.write_str("belongs to another user, who does not own the dump either"),
            Refusal::Options(words) => write!(f, "was made with other reading options ({words})"),
            Refusal::Strict => f.write_str("cannot tell how --strict ends"),
        }
    }
}

impl From<IndexError> for Refusal {
    fn from(error: IndexError) -> Self {
        Refusal::Unusable(error)
    }
}

/// Who asks, and how.
struct Asking<'a> {
    options: &'a ReadOptions,
    quiet: bool,
    memory: MemoryLimit,
}

impl Asking<'_> {
    /// What an index holds, of `dump` where that is known, when it serves for the reading options that are asked for.
    fn open(
        &self,
        index: Index,
        path: &Path,
        dump: Option<&Path>,
        asked: Option<&ReadKey>,
    ) -> Result<Indexed, Refusal> {
        if !is_trusted_owner(index.owner(), dump) {
            return Err(Refusal::OtherUser);
        }
        let content: Content = index.content()?;
        if asked.is_some_and(|asked| !content.options.serves(asked, content.facts.format)) {
            return Err(Refusal::Options(content.options.words()));
        }
        if content.diagnostics.check(self.options.strict).is_err() {
            return Err(Refusal::Strict);
        }
        let rebuild = Rebuild {
            path: path.to_path_buf(),
            dump: dump.map(Path::to_path_buf),
            source: index.source().cloned(),
            options: ReadOptions { strict: false, ..content.options.apply(self.options) },
            layout: index.layout(),
            quiet: self.quiet,
            memory: self.memory,
        };
        let columns = index.into_columns(Box::new(move |reason| rebuild.run(reason)));
        let parts = graph_and_derived(&content, &columns);
        let (graph, derived) = parts.ok_or(Refusal::Unusable(IndexError::Damaged))?;
        Ok(Indexed { graph, derived, facts: content.facts, diagnostics: content.diagnostics })
    }
}

/// What is needed to do without an index in the middle of an answer.
struct Rebuild {
    path: PathBuf,
    dump: Option<PathBuf>,
    source: Option<SourceKey>,
    options: ReadOptions,
    layout: index::Layout,
    quiet: bool,
    memory: MemoryLimit,
}

impl Rebuild {
    /// The columns made anew from the dump. There is no way back from here, so without a dump the process ends.
    fn run(&self, reason: &str) -> MemoryImage {
        let made = match &self.dump {
            Some(dump) => {
                tell(self.quiet, &format!("{} is damaged ({reason}); reading the dump", self.path.display()));
                self.read(dump)
            }
            None => Err(anyhow::anyhow!("is damaged ({reason}), and its dump is not beside it")),
        };
        made.unwrap_or_else(|error| {
            print_sentence(&format!("{}: {error:#}", self.path.display()));
            remove_unfinished();
            std::process::exit(2)
        })
    }

    /// On a thread and a pool of its own: those that wait for this may be all the threads of the other.
    fn read(&self, dump: &Path) -> Result<MemoryImage> {
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(self.options.threads).build()?;
                pool.install(|| {
                    let source = Source::open(dump, std::sync::Arc::default())?;
                    let loaded = self.memory.explained(input::read(source, &self.options))?;
                    let Dump::Graph(mut graph) = loaded.dump else { bail!("the dump has changed") };
                    with_roots(&mut graph, &loaded.facts);
                    self.memory.check_index(&graph)?;
                    let now = SourceKey::of(dump)?;
                    if self.source.as_ref().is_some_and(|source| !source.is_same(&now)) {
                        bail!("the dump has changed");
                    }
                    let derived = Derived::compute(&graph);
                    let image = index::image_in_memory(&self.layout, |sink| store(&graph, &derived, sink))?;
                    image.context("the dump has changed")
                })
            });
            reading.join().unwrap_or_else(|_| bail!("the dump could not be read"))
        })
    }
}
