//! The inspector's messages: requests, and what of the answers matters.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

/// A target as `/json/list` has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TargetInfo {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) url: String,
    /// None while another client is there.
    pub(super) web_socket_debugger_url: String,
}

/// Answer of `/json/version`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct VersionInfo {
    #[serde(rename = "Browser", default)]
    pub(super) browser: String,
    #[serde(rename = "Protocol-Version")]
    pub(super) _protocol: String,
}

/// An answer or an event, as far as it matters.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InspectorMessage {
    pub(super) id: Option<u64>,
    pub(super) method: Option<String>,
    pub(super) params: MessageParams,
    pub(super) error: Option<ErrorInfo>,
    pub(super) result: Option<HeapUsage>,
}

/// An answer with any result.
#[derive(Debug, Deserialize)]
pub(super) struct AnyAnswer {
    pub(super) result: Option<Box<RawValue>>,
    pub(super) error: Option<ErrorInfo>,
}

impl InspectorMessage {
    /// Does a Node.js that is done wait for the session, for it to end?
    pub(super) fn is_end_notice(&self) -> bool {
        self.method.as_deref() == Some("NodeRuntime.waitingForDisconnect")
    }
}

/// Answer of `Runtime.getHeapUsage`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct HeapUsage {
    /// Bytes; a number as JavaScript has them.
    pub(super) used_size: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageParams {
    pub(super) chunk: SnapshotChunk,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorInfo {
    pub(super) message: String,
}

/// A piece of the snapshot's text. Half a surrogate pair, should one be cut, is as UTF-8 would have it.
#[derive(Debug, Default)]
pub(super) struct SnapshotChunk(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for SnapshotChunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = SnapshotChunk;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<SnapshotChunk, E> {
                Ok(SnapshotChunk(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

pub(super) fn request_text(id: u64, method: &str, params: serde_json::Value) -> String {
    serde_json::json!({ "id": id, "method": method, "params": params }).to_string()
}

/// Puts pairs of surrogates together that were cut by the end of a chunk.
#[derive(Debug, Default)]
pub(super) struct SurrogateJoiner {
    /// The three bytes of a half that waits for the other one; none else.
    high_surrogate: Vec<u8>,
}

impl SurrogateJoiner {
    pub(super) fn join(&mut self, chunk: Vec<u8>) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.high_surrogate);
        let seam = bytes.len();
        bytes.extend(chunk);
        if seam == 3
            && let [a, b, c, 0xED, d @ 0xB0..=0xBF, e, ..] = bytes[..]
        {
            let high = u32::from(a & 0x0F) << 12 | u32::from(b & 0x3F) << 6 | u32::from(c & 0x3F);
            let low = 0xD000 | u32::from(d & 0x3F) << 6 | u32::from(e & 0x3F);
            let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER).to_string();
            bytes.splice(..6, letter.bytes());
        }
        if let [.., 0xED, 0xA0..=0xAF, _] = bytes[..] {
            self.high_surrogate = bytes.split_off(bytes.len() - 3);
        }
        bytes
    }

    /// The rest of a pair that never came.
    pub(super) fn finish(self) -> Vec<u8> {
        self.high_surrogate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_were_cut_are_joined() {
        let messages = [r#"{"params":{"chunk":"a\ud834"}}"#, r#"{"params":{"chunk":"\udd1eb\n"}}"#];
        let mut joiner = SurrogateJoiner::default();
        let mut text = Vec::new();
        for message in messages {
            let message: InspectorMessage = serde_json::from_str(message).expect("a message");
            text.extend(joiner.join(message.params.chunk.0));
        }
        text.extend(joiner.finish());
        assert_eq!(String::from_utf8(text).as_deref(), Ok("a\u{1D11E}b\n"));
    }

    #[test]
    fn messages_of_other_kinds_are_read_too() {
        let message: InspectorMessage = serde_json::from_str(r#"{"id":2,"result":{"x":[1]}}"#).expect("a message");
        assert_eq!((message.id, message.error.is_none()), (Some(2), true));
        let message: InspectorMessage =
            serde_json::from_str(r#"{"id":2,"error":{"code":-1,"message":"no"}}"#).expect("a message");
        assert_eq!(message.error.expect("an error").message, "no");
        assert!(serde_json::from_str::<InspectorMessage>(r#"{"method":"#).is_err());
        let asked = request_text(1, "A.b", serde_json::json!({"c": false}));
        assert_eq!(asked, r#"{"id":1,"method":"A.b","params":{"c":false}}"#);
    }
}
