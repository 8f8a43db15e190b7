//! Options for reading a dump.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::allocations::FrameNaming;

/// Options of reading for all formats; those special to one are in a struct of their own.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// A reader's name: no recognition. Default: none.
    pub input_format: Option<String>,
    /// Type names exactly as in the dump. Default: false.
    pub raw_types: bool,
    /// The first problem is an error. Default: false.
    pub strict: bool,
    /// Threads that parse. Default: as many as there are cores.
    pub threads: usize,
    /// Memory that the dump may take while it is read, with everything that grows with it. A dump that takes more is an
    /// error. Default: no limit.
    pub max_memory_bytes: Option<u64>,
    /// The snapshot to read, of several. Default: the first complete one.
    pub snapshot: SnapshotChoice,
    /// The rules of sizes and holding. Default: those of this program.
    pub rules: Rules,
    /// What tells of single objects will be asked for: a format that would read all again for that keeps it (V8's, where there
    /// is the memory). Default: false.
    pub keeps_details: bool,
    /// Options of the readers of profiles.
    pub profile: ProfileOptions,
    /// Options of the XNA / .NET CF reader.
    pub xna_cf: XnaCfOptions,
}

/// Options of the readers of profiles: sampled stacks of allocations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileOptions {
    /// The kind of values to read, of several: `inuse`, `alloc`. Default: what the profile says, else what is in use.
    pub measure: Option<String>,
    /// What frames are named by; files and modules have no say in dumps that are no profiles. Default: functions.
    pub frame_names: FrameNaming,
    /// The label whose values are the types of what was allocated. Default: a function is the type of what it allocated.
    pub type_label: Option<String>,
    /// Frames too that the profile wants left out. Default: false.
    pub all_frames: bool,
}

impl ProfileOptions {
    /// The first option, as it is written, that says something in profiles alone.
    pub(super) fn given_profile_option(&self) -> Option<&'static str> {
        let options = [
            ("--measure", self.measure.is_some()),
            ("--frames line", self.frame_names == FrameNaming::FunctionAndLine),
            ("--type-label", self.type_label.is_some()),
            ("--all-frames", self.all_frames),
        ];
        options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}

/// Rules of sizes and holding that a dump is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Rules {
    /// The best that is known; the only ones of most formats.
    #[default]
    Heapdump,
    /// Those of Eclipse MAT: its sizes, and weak referents hold.
    Mat,
    /// Those of Chrome DevTools: what V8 snapshots are read by anyway.
    Devtools,
    /// A V8 snapshot as it stands: no sizes moved, no page owns anything.
    Plain,
}

impl Rules {
    /// The word for them.
    pub fn name(self) -> &'static str {
        match self {
            Rules::Heapdump => "heapdump",
            Rules::Mat => "mat",
            Rules::Devtools => "devtools",
            Rules::Plain => "plain",
        }
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            input_format: None,
            raw_types: false,
            strict: false,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            max_memory_bytes: None,
            snapshot: SnapshotChoice::default(),
            rules: Rules::default(),
            keeps_details: false,
            profile: ProfileOptions::default(),
            xna_cf: XnaCfOptions::default(),
        }
    }
}

/// A choice among the snapshots in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SnapshotChoice {
    /// The first complete one; where none is, the first.
    #[default]
    FirstComplete,
    /// By number, from 1.
    Number(usize),
    /// The last one.
    Last,
}

/// A number from 1, or `last`.
impl FromStr for SnapshotChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<usize>() {
            _ if text == "last" => Ok(SnapshotChoice::Last),
            Ok(number) if number > 0 => Ok(SnapshotChoice::Number(number)),
            _ => Err(format!("\"{text}\" is neither a number from 1 nor \"last\"")),
        }
    }
}

/// The radix in which sizes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SizeRadix {
    /// As the runtime writes them.
    #[default]
    Hex,
    /// As some tool rewrote them.
    Dec,
}

/// Options of the XNA / .NET CF reader.
#[derive(Debug, Clone, Default)]
pub struct XnaCfOptions {
    /// The radix of sizes. Default: hexadecimal.
    pub size_radix: SizeRadix,
}
