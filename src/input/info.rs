//! Facts about a dump and its file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::runtime::Runtime;

/// Facts about a dump and its file, as the file states them or as they were found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FormatInfo {
    /// The reader's name.
    pub format: FixedText,
    /// The format in words.
    pub title: FixedText,
    /// The runtime of the program, where the dump itself says which.
    #[serde(default)]
    pub stated_runtime: Option<Runtime>,
    /// The format's version or variant, if there are several.
    pub version: Option<String>,
    /// The program that wrote the dump, in its own words.
    pub producer: Option<String>,
    /// The text's encoding; `None` for a binary format.
    pub encoding: Option<FixedText>,
    /// Packings around the dump, outermost first.
    pub compression: Vec<FixedText>,
    /// Records by kind, in a fixed order.
    pub records: Vec<(FixedText, u64)>,
    /// The dump's own totals against what was found, where it has them: one sentence.
    pub trailer: Option<String>,
    /// The reason for the dump, where the file states it.
    #[serde(default)]
    pub reason: Option<String>,
    /// The derivation of sizes, for a format that does not state them: one phrase.
    #[serde(default)]
    pub sizes: Option<String>,
    /// The format has no root records: roots must be inferred.
    pub has_no_roots: bool,
    /// The part of the dump that is missing or could not be read; `None` for one that is whole.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// The snapshots in the file, in the order of time, where the format can hold several.
    pub snapshots: Vec<SnapshotInfo>,
    /// There is a frozen heap, which is never collected: objects without roots are alive there.
    pub frozen_heap: bool,
    /// The dump is a sample: the heap has about that many times the dump's objects and bytes.
    #[serde(with = "bits")]
    pub sampled: Option<(f32, f32)>,
}

/// The loss of a cut or damaged dump.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Bytes of the dump that were read, unpacked.
    pub read_bytes: u64,
    /// Bytes that are missing or cannot be read, as far as the dump says; 0 where it does not.
    pub lost_bytes: u64,
    /// Nothing else is lost; false where records that the dump does not count may have followed.
    #[serde(default)]
    pub is_all_known: bool,
    /// Phrases for what was in them, or must have been.
    pub lost: Vec<String>,
}

impl Loss {
    /// Of all bytes how many were read, 0 to 100; `None` where the dump does not say how many are lost.
    pub fn percent_read(&self) -> Option<f64> {
        let all = self.read_bytes as f64 + self.lost_bytes as f64;
        (self.lost_bytes > 0 && self.is_all_known).then(|| self.read_bytes as f64 * 100.0 / all)
    }
}

impl FormatInfo {
    /// The runtime of the program: as the dump states it, else that of the format.
    pub fn runtime(&self) -> Option<Runtime> {
        self.stated_runtime.or_else(|| Runtime::of_format(&self.format))
    }

    /// Sets the number of records of each kind, in a fixed order.
    pub fn set_records(&mut self, records: impl IntoIterator<Item = (&'static str, u64)>) {
        self.records = records.into_iter().map(|(kind, count)| (kind.into(), count)).collect();
    }
}

/// One of the snapshots in a file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SnapshotInfo {
    /// The time at which it was taken, in milliseconds since 1970.
    pub unix_ms: Option<i64>,
    /// The same since the start of the program, where the file says that.
    #[serde(default)]
    pub uptime_ms: Option<i64>,
    /// It is in the file from its start to its end, as far as the file can tell.
    pub complete: bool,
    /// Objects in it, as many as arrived.
    pub objects: u64,
    /// Their bytes.
    pub shallow_bytes: u64,
    /// References in it, as many as arrived.
    pub references: u64,
    /// It is the one that was read.
    pub chosen: bool,
    /// It was passed over: what is in it was not counted.
    #[serde(default)]
    pub is_passed_over: bool,
}

/// Text of the program itself; read back from an index it is a copy.
pub type FixedText = Cow<'static, str>;

/// Two numbers by their bits: JSON has no infinities.
pub(super) mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Pair = Option<(f32, f32)>;

    pub fn serialize<S: Serializer>(pair: &Pair, to: S) -> Result<S::Ok, S::Error> {
        pair.map(|(a, b)| (a.to_bits(), b.to_bits())).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pair, D::Error> {
        let bits = Option::<(u32, u32)>::deserialize(from)?;
        Ok(bits.map(|(a, b)| (f32::from_bits(a), f32::from_bits(b))))
    }
}
