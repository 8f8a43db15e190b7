//! Larger samples and those of other projects, in a folder that HEAPDUMP_TEST_DATA names (`cargo test -- --ignored`): totals, reachable
//! bytes and largest retained sizes against results of other programs.

use std::path::PathBuf;

use heapdump::analysis::dominators::Dominators;
use heapdump::analysis::histogram::tally_types;
use heapdump::analysis::reachability::compute_reachable;
use heapdump::analysis::retained::RetainedSizes;
use heapdump::input::{self, Dump, ReadOptions, Source};
use serde_json::Value;

/// (dump, expected results, which of its accounts of retained sizes)
const SAMPLES: [(&str, &str, &str); 10] = [
    ("small-net9.nettrace", "small-net9", "strict"),
    ("small-net9.gcdump", "small-net9", "perfview"),
    ("small-net31.gcdump", "small-net31", "perfview"),
    ("syn-32bit.nettrace", "syn-32bit", "strict"),
    ("medium-net9.nettrace.zst", "medium-net9", "strict"),
    ("medium-net9.gcdump.zst", "medium-net9", "perfview"),
    ("realapp-net10-mcp-server.nettrace.zst", "realapp-net10-mcp-server", "strict"),
    ("realapp-net10-mcp-server.gcdump.zst", "realapp-net10-mcp-server", "perfview"),
    ("gcdump-analyze-test1.gcdump", "gcdump-analyze-test1", ""),
    ("perfview-test1.gcdump", "perfview-test1", ""),
];

#[test]
#[ignore = "needs HEAPDUMP_TEST_DATA, a folder of larger samples"]
fn dotnet_samples_agree_with_other_programs() {
    let data = std::env::var_os("HEAPDUMP_TEST_DATA").expect("HEAPDUMP_TEST_DATA names a folder of samples");
    let folder = PathBuf::from(data).join("dotnet");
    for (dump, expected, account) in SAMPLES {
        let path = folder.join("expected").join(format!("{expected}.expected.json"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let expected: Value = serde_json::from_str(&text).expect("JSON");
        let source = Source::open(&folder.join(dump)).expect("opens");
        let loaded = input::read(source, &ReadOptions::default()).expect("readable");
        let Dump::Graph(graph) = loaded.dump else { panic!("{dump}: not a graph") };
        let reachable = compute_reachable(&graph);
        let tallies = tally_types(&graph, &reachable, 0..graph.node_count());
        let bytes: u64 = tallies.iter().map(|tally| tally.shallow_bytes).sum();
        let reachable_bytes: u64 = tallies.iter().map(|tally| tally.reachable_bytes).sum();
        let own = expected.get(account).unwrap_or(&expected);
        assert_eq!(bytes, expected["total_size"], "{dump}");
        assert_eq!(reachable_bytes, own["reachable_size"], "{dump}");
        if !account.is_empty() {
            assert_eq!(graph.node_count() as u64, expected["nodes"], "{dump}");
            let references = graph.reference_count() as u64 - graph.dependent_reference_count();
            assert_eq!(references, expected["edges"], "{dump}");
        }
        let dominators = Dominators::compute(&graph);
        let retained = RetainedSizes::compute(&graph, &dominators);
        let mut largest: Vec<u64> = graph.nodes().filter_map(|node| retained.bytes_of(&dominators, node)).collect();
        largest.sort_unstable_by(|a, b| b.cmp(a));
        let mut wanted: Vec<u64> = own["top_retained"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| row["retained"].as_u64().unwrap())
            .collect();
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        largest.truncate(wanted.len());
        assert_eq!(largest, wanted, "{dump}");
    }
}
