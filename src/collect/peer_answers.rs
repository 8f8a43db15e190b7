//! Answers of peers, read without a peer: for fuzzing, which calls this from outside.

use super::dotnet;
pub use super::hotspot::fuzz_answer as read_hotspot;
pub use super::inspector::fuzz_answer as read_inspector;
use crate::input::TraceFollower;

/// Reads bytes as an answer of .NET's diagnostics port, then as a trace in pieces.
pub fn read_dotnet_answer(bytes: &[u8]) {
    dotnet::fuzz_answer(bytes);
    let mut follower = TraceFollower::default();
    for piece in bytes.chunks(1000) {
        if follower.feed(piece).is_err() {
            return;
        }
    }
    let _ = (
        follower.is_complete,
        follower.collection_duration(),
        follower.collection_count(),
        follower.missing_type_count(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers as they are, and with bytes of them changed, cut and repeated.
    #[test]
    fn whatever_peers_answer_is_no_panic() {
        let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/nettrace/small-net9.nettrace.zst");
        let mut whole = Vec::new();
        let file = std::fs::File::open(trace).expect("a fixture");
        let mut unpacked = ruzstd::decoding::StreamingDecoder::new(file).expect("zstd");
        std::io::Read::read_to_end(&mut unpacked, &mut whole).expect("zstd");
        let answer = [&b"DOTNET_IPC_V1\0\x40\0\xFF\0\0\0"[..], &[1, 0, 0, 0], &[0; 40]].concat();
        let counters =
            [&[0xCA, 0xFE, 0xC0, 0xC0, 1, 2, 0, 1][..], &[0; 16], &[32, 0, 0, 0, 9, 0, 0, 0], &[3; 400]].concat();
        let reply = b"0\nHeap dump file created [12 bytes in 0.1 secs]\n".to_vec();
        let frame = b"\x81\x2a{\"id\":2,\"params\":{\"chunk\":\"{\\\"snapshot\\\":\"}}\x01\x02{}\x80\x01 ".to_vec();
        let list = br#"[{"type":"page","title":"a","webSocketDebuggerUrl":"ws://x/1"}]"#.to_vec();
        let mut state = 7u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below.max(1)
        };
        for read in [read_dotnet_answer, read_hotspot, read_inspector] {
            for (bytes, times) in
                [(&whole, 60), (&answer, 2000), (&counters, 2000), (&reply, 2000), (&frame, 2000), (&list, 500)]
            {
                read(bytes);
                for _ in 0..times {
                    let mut changed = bytes.clone();
                    for _ in 0..=random(4) {
                        let at = random(changed.len());
                        changed[at] = [0, 1, 0x7F, 0x80, 0xFF, random(256) as u8][random(6)];
                    }
                    changed.truncate(changed.len() - random(2) * random(bytes.len()));
                    read(&changed);
                }
            }
        }
    }
}
