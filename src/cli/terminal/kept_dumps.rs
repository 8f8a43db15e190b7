//! Dumps that stay open from one call of a server to the next: the second question about one is not read again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::cli::args::options::InputArgs;
use crate::dump::{OpenDump, OpenOptions};
use crate::index::SourceKey;

/// Writes the index of a dump that was read, and says so, or why it did not.
pub(crate) type WriteIndex = Arc<dyn Fn(&OpenDump) -> Result<String, String> + Send + Sync>;

/// What will write the index of a dump that is about to be read; none where there can be none.
pub(crate) type MakeWriteIndex = fn(&Path, &OpenOptions) -> Option<WriteIndex>;

/// Two are compared.
const MAX_KEPT_DUMPS: usize = 2;

/// The dumps that were asked last, the latest at the end; others are given back before the next is read.
pub(crate) struct KeptDumps {
    dumps: Mutex<Vec<KeptDump>>,
    /// What objects hold besides references is not told.
    pub(crate) hides_values: bool,
    /// A dump that is read and has no index gets one.
    pub(crate) make_write_index: Option<MakeWriteIndex>,
}

/// A dump that stays open, with what tells whether a later call may have it.
struct KeptDump {
    path: PathBuf,
    source_key: SourceKey,
    /// How it was read: all options, by which profiles are compared, and those that act on objects, for dumps of objects.
    options_as_text: [String; 2],
    dump: Arc<OpenDump>,
}

impl KeptDumps {
    /// None so far.
    pub(crate) fn new(hides_values: bool, index_writer: Option<MakeWriteIndex>) -> Self {
        KeptDumps { dumps: Mutex::default(), hides_values, make_write_index: index_writer }
    }

    /// The dump of an earlier call, if the file is as it was and read the same way; else opens it. When that fails and
    /// another dump may have the memory it takes, it is tried again without that one.
    pub(crate) fn find_or_open(
        &self,
        path: &Path,
        args: &InputArgs,
        options: OpenOptions,
        open: impl Fn(&OpenOptions) -> Result<OpenDump>,
    ) -> Result<Arc<OpenDump>> {
        let mut dumps = self.dumps.lock().unwrap_or_else(PoisonError::into_inner);
        let key = SourceKey::of(path).with_context(|| path.display().to_string())?;
        let how = [args.clone(), args.without_row_frame_names()].map(|args| format!("{args:?} {:?}", options.index));
        let path = path.to_path_buf();
        let is_read_so = |kept: &KeptDump| {
            let part = usize::from(kept.dump.graph().is_some());
            kept.options_as_text[part] == how[part]
        };
        let is_same = |kept: &KeptDump| kept.path == path && is_read_so(kept) && kept.source_key.is_same(&key);
        if let Some(at) = dumps.iter().position(is_same) {
            let kept = dumps.remove(at);
            let dump = Arc::clone(&kept.dump);
            dumps.push(kept);
            return Ok(dump);
        }
        // Those that the running call asks too stay.
        let is_asked = |kept: &KeptDump| Arc::strong_count(&kept.dump) > 1;
        while dumps.len() >= MAX_KEPT_DUMPS
            && let Some(at) = dumps.iter().position(|kept| !is_asked(kept))
        {
            dumps.remove(at);
        }
        let options = OpenOptions { hides_values: self.hides_values, ..options };
        let opened = open(&options).or_else(|why| {
            let before = dumps.len();
            dumps.retain(is_asked);
            if dumps.len() < before && !options.observer.is_cancelled() { open(&options) } else { Err(why) }
        });
        let dump = Arc::new(opened?);
        dumps.push(KeptDump { path, source_key: key, options_as_text: how, dump: Arc::clone(&dump) });
        Ok(dump)
    }
}
