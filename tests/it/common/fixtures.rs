//! The dumps under fixtures/, each with its expected results beside it.

use std::path::{Path, PathBuf};

use heapdump::input::{ReadOptions, Rules, SizeRadix};
use serde_json::Value;

use super::cmd::project;

/// A dump and what is expected of it.
pub struct Fixture {
    /// The reader's name, from the folder's.
    pub format: String,
    pub path: PathBuf,
    pub expected: Value,
}

impl Fixture {
    pub fn name(&self) -> String {
        self.path.file_name().expect("a name").to_string_lossy().into_owned()
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).expect("readable")
    }

    /// Allocation totals instead of objects.
    pub fn holds_allocations(&self) -> bool {
        self.expected["model"] == "allocations"
    }

    /// It has no objects: allocation totals, or types alone.
    pub fn has_no_objects(&self) -> bool {
        self.expected["model"].is_string()
    }

    /// Options the dump must be read with.
    pub fn arguments(&self) -> Vec<String> {
        let words = self.expected["arguments"].as_array();
        words.map_or(Vec::new(), |words| words.iter().filter_map(Value::as_str).map(String::from).collect())
    }
}

impl Fixture {
    /// The same for the library.
    pub fn read_options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        let words = self.arguments();
        let mut words = words.iter().map(String::as_str);
        while let Some(option) = words.next() {
            let mut value = || words.next().expect("a value");
            match option {
                "--raw-types" => options.raw_types = true,
                "--rules" => {
                    options.rules = [Rules::Mat].into_iter().find(|rules| rules.name() == value()).expect("rules")
                }
                "--snapshot" => options.snapshot = value().parse().expect("a number"),
                "--size-radix" => {
                    options.xna_cf.size_radix =
                        [SizeRadix::Dec].into_iter().find(|_| value() == "dec").expect("a radix")
                }
                "--input-format" => options.input_format = Some(value().to_string()),
                option => panic!("{option} is new"),
            }
        }
        options
    }
}

/// The bytes of a dump in the project, unpacked.
pub fn unpacked(path: &str) -> Vec<u8> {
    let mut source = heapdump::input::Source::open(&project(path)).expect("a dump");
    let mut bytes = vec![0; 8 << 20];
    let length = source.fill(&mut bytes).expect("readable");
    bytes.truncate(length);
    bytes
}

/// `small.native` for `small.native.txt.gz`.
fn stem(path: &Path) -> String {
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_string()
}

/// All of them, ordered by path. A dump without expected results fails the test that asks.
pub fn all() -> Vec<Fixture> {
    let mut fixtures = Vec::new();
    for folder in std::fs::read_dir(project("fixtures")).expect("fixtures") {
        let folder = folder.expect("readable").path();
        let format = folder.file_name().expect("a name").to_string_lossy().replace('_', "-");
        for path in std::fs::read_dir(&folder).expect("a folder") {
            let path = path.expect("readable").path();
            let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
            if matches!(extension.as_deref(), Some("json" | "md")) {
                continue;
            }
            let beside = folder.join(stem(&path) + ".json");
            let expected =
                std::fs::read_to_string(&beside).unwrap_or_else(|_| panic!("{} is missing", beside.display()));
            let expected = serde_json::from_str(&expected).unwrap_or_else(|e| panic!("{}: {e}", beside.display()));
            fixtures.push(Fixture { format: format.clone(), path, expected });
        }
    }
    fixtures.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(fixtures.len() > 40);
    fixtures
}

/// The formats that have fixtures.
pub fn formats() -> Vec<String> {
    let mut formats: Vec<String> = all().into_iter().map(|fixture| fixture.format).collect();
    formats.dedup();
    formats
}

/// Those of one format, by the folder's name.
pub fn of_format(folder: &str) -> Vec<Fixture> {
    let own: Vec<Fixture> = all().into_iter().filter(|fixture| fixture.format.replace('-', "_") == folder).collect();
    assert!(!own.is_empty(), "{folder}");
    own
}

/// A module with a test for each format, so that formats are tested side by side: a function is called with each dump.
macro_rules! test_each_format {
    ($module:ident, $check:ident) => {
        crate::common::fixtures::test_each_format!(
            $module, $check, gcdump gperftools heapgraph heapprofile hprof ibm_classic jemalloc jvm_histogram memory_infra nettrace phd pprof ruby_objspace sos_dumpheap v8_snapshot xna_cf
        );
    };
    ($module:ident, $check:ident, $($format:ident)+) => {
        mod $module {
            $(#[test]
            fn $format() {
                crate::common::fixtures::of_format(stringify!($format)).iter().for_each(super::$check);
            })+

            #[test]
            fn no_format_is_left_out() {
                let tested = [$(stringify!($format)),+].map(|format| format.replace('_', "-"));
                assert_eq!(tested.to_vec(), crate::common::fixtures::formats());
            }
        }
    };
}
pub(crate) use test_each_format;
