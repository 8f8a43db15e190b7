//! Values that are lifted out equal those that a reader of any JSON finds.

use proptest::prelude::*;

use super::super::event::TraceEvent;
use super::super::raw_ids::RawId;
use super::*;
use crate::allocations::NameTable;

const HEAPS: &str = r#"{"ph":"v","pid":7,"id":"0x1","ts":5,"args":{"dumps":{"heaps":{"malloc":{"entries":[
 {"size":"602","bt":""},{"bt":"0","size":"36c","count":"A"}, {"size":"1d1","bt":"0","type":"1"}]},
 "x":{"other":[1,{"entries":[{"bt":"3","size":"7"}]}],"entries":[{"bt":"12","size":"ffffffffffffffff"}]}}}}}"#;
const HEAPS_V2: &str = r#"{"args":{"dumps":{"heaps_v2":{"version":1,"maps":{
 "strings":[{"id":1,"string":"main"},{"id":2,"string":"\u00b5f\u00fcr"},{"string":"T","id":3}],
 "nodes":[{"id":6,"name_sid":1},{"id":8,"name_sid":2,"parent":6}],"types":[{"id":0,"name_sid":3}]},
 "allocators":{"malloc":{"counts":[1,2],"sizes":[16,320],"types":[0,0],"nodes":[6,8]}}}}},"ph":"v"}"#;

/// The event, and what became of it and of its names; read with lifting and without.
fn both_ways(json: &[u8]) -> [String; 2] {
    [true, false].map(|whole| {
        let mut names = NameTable::default();
        let (event, read) = TraceEvent::read(json, whole, &mut names);
        format!("{event:?} {:?} {names:?}", read.map_err(|error| error.to_string()))
    })
}

#[test]
fn usual_arrays_are_lifted_out() {
    let (rest, mut arrays) = extract_arrays(HEAPS.as_bytes()).expect("arrays");
    let rest = String::from_utf8(rest).expect("text");
    assert!(rest.contains(r#"{"malloc":{"entries":9731406582000000000},"#), "{rest}");
    assert_eq!(arrays.0.len(), 3, "one where nobody looks");
    let id = |number| RawId::of_short_number(number);
    let expected = [
        RawEntry::new(Some(RawId::EMPTY_TEXT), None, Some(0x602), None),
        RawEntry::new(id(0), None, Some(0x36c), Some(10)),
        RawEntry::new(id(0), id(1), Some(0x1d1), None),
    ];
    assert_eq!(arrays.take(PLACEHOLDER_BASE), Some(ExtractedArray::Entries(expected.to_vec())));
    assert_eq!(arrays.take(PLACEHOLDER_BASE), None, "taken");
    assert_eq!(arrays.take(7), None);
    let (_, arrays) = extract_arrays(HEAPS_V2.replace("\\u00b5f\\u00fcr", "für").as_bytes()).expect("arrays");
    assert_eq!(arrays.0.len(), 7);
    let row = |id, name_sid, parent| NodeOrTypeRow { id, name_sid, parent };
    assert_eq!(arrays.0[1], Some(ExtractedArray::NodeOrTypeRows(vec![row(6, 1, None), row(8, 2, Some(6))])));
}

#[test]
fn unusual_arrays_stay() {
    for text in [
        r#"{"entries":[]}"#,
        r#"{"entries":[{}]}"#,
        r#"{"entries":[{"size":"1"},]}"#,
        r#"{"entries":[{"size":1}]}"#,
        r#"{"entries":[{"size":"0x1"}]}"#,
        r#"{"entries":[{"size":"11111111111111111"}]}"#,
        r#"{"entries":[{"bt":"007","size":"1"}]}"#,
        r#"{"entries":[{"bt":"","bt":"1"}]}"#,
        r#"{"entries":[{"bt":"\u0031","size":"1"}]}"#,
        r#"{"entries":[{"size":"1"}"#,
        r#"{"sizes":[1]0}"#,
        r#"{"sizes":[1].5,"x":0}"#,
        r#"{"sizes":[1.0]}"#,
        r#"{"sizes":[-1]}"#,
        r#"{"sizes":[1e3]}"#,
        r#"{"a\"entries":[{"size":"1"}]}"#,
        r#"{"myentries":[{"size":"1"}]}"#,
        r#"{"entries":[{"size":"1"}],"9731406582":0}"#,
    ] {
        assert!(extract_arrays(text.as_bytes()).is_none(), "{text}");
    }
}

proptest! {
    #[test]
    fn lifting_changes_nothing(
        v2: bool,
        changes in proptest::collection::vec((0usize..700, 0usize..4, "[]\\[{}:,\"\\\\0-9a-f .-]{0,3}"), 0..4),
    ) {
        let mut json = if v2 { HEAPS_V2 } else { HEAPS }.as_bytes().to_vec();
        for (at, length, text) in changes {
            let at = at.min(json.len());
            json.splice(at..(at + length).min(json.len()), text.into_bytes());
        }
        let [lifted, read] = both_ways(&json);
        prop_assert_eq!(lifted, read, "{}", String::from_utf8_lossy(&json));
    }
}
