//! Profiles that mean harm: what a few bytes of them ask for is bounded.

use crate::common::cmd::run_with_input;

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn message(field: u64, content: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2), &varint(content.len() as u64), content].concat()
}

/// A profile of one stack: so many times one location, in which a function is inlined so many times.
fn profile(depth: usize, lines: usize, drop_frames: &str) -> Vec<u8> {
    let (line, mut location) = (message(4, &number(1, 1)), number(1, 1));
    location.extend(line.repeat(lines));
    let sample = [message(1, &vec![1; depth]), number(2, 1_000)].concat();
    let texts = ["", "space", "bytes", "f", drop_frames].map(|text| message(6, text.as_bytes())).concat();
    let kind = [number(1, 1), number(2, 2)].concat();
    let function = [number(1, 1), number(2, 3)].concat();
    [message(1, &kind), message(2, &sample), message(4, &location), message(5, &function), number(7, 4), texts].concat()
}

#[test]
fn hostile_profiles_take_bounded_memory() {
    let small = run_with_input(&["stats", "-f", "json", "-"], &profile(3, 2, "g")).expect_code(0).json();
    assert_eq!(small["totals"]["total_bytes"], 1_000);
    // A file of 300 KB that asks for 900 million frames.
    let deep = run_with_input(&["stats", "--max-memory", "100MiB", "-"], &profile(30_000, 30_000, "g")).expect_code(2);
    assert!(deep.stderr.contains("memory"), "{}", deep.stderr);
    for pattern in ["(a*)*".repeat(6_000), "(".into()] {
        let info = run_with_input(&["info", "-f", "json", "-"], &profile(3, 2, &pattern)).expect_code(0).json();
        assert_eq!(info["problems"][0]["code"], "bad-pattern");
    }
    // The function is all there is: it stays.
    let dropped = run_with_input(&["info", "-f", "json", "-"], &profile(1, 2, "f|g")).expect_code(0).json();
    assert_eq!(
        (dropped["heaps"][0]["total_bytes"].as_u64(), &dropped["problems"]),
        (Some(1_000), &serde_json::json!([]))
    );
}
