//! Frames of a websocket's server, put together to messages. Nothing is compressed; room is made for what has come,
//! not for what is announced.

const MAX_MESSAGE_BYTES: u64 = 256 << 20;

pub(super) const CONTINUATION: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;
pub(super) const FINAL: u8 = 0x80;
pub(super) const MASKED: u8 = 0x80;

/// Bytes as they come, and the frames in them.
#[derive(Debug, Default)]
pub(super) struct WebFrames {
    received: Vec<u8>,
    /// Bytes of it that have been used.
    used: usize,
    /// Fragments of a message.
    message: Vec<u8>,
    is_in_message: bool,
}

/// A whole frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WebFrame {
    Message(Vec<u8>),
    /// To be answered with the same content.
    Ping(Vec<u8>),
    Close,
}

/// A frame's head: the first byte, the bytes of the head, those of the content.
struct FrameHead {
    first: u8,
    bytes: usize,
    content: u64,
}

impl WebFrames {
    /// Takes the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.received.drain(..self.used);
        self.used = 0;
        self.received.extend_from_slice(bytes);
    }

    /// Takes whole frames off the front until there is something in them.
    ///
    /// # Errors
    /// What no server sends, in words.
    pub(super) fn next(&mut self) -> Result<Option<WebFrame>, &'static str> {
        loop {
            let Some(head) = self.head()? else { return Ok(None) };
            let start = self.used + head.bytes;
            let end = start + head.content as usize;
            if self.received.len() < end {
                return Ok(None);
            }
            let content = &self.received[start..end];
            self.used = end;
            let (is_final, kind) = (head.first & FINAL != 0, head.first & 0x0F);
            match kind {
                CLOSE => return Ok(Some(WebFrame::Close)),
                PING => return Ok(Some(WebFrame::Ping(content.to_vec()))),
                PONG => {}
                TEXT | CONTINUATION if (kind == CONTINUATION) == self.is_in_message => {
                    if self.message.len() as u64 + head.content > MAX_MESSAGE_BYTES {
                        return Err("a message of more than 256 MiB");
                    }
                    self.message.extend_from_slice(content);
                    self.is_in_message = !is_final;
                    if is_final {
                        return Ok(Some(WebFrame::Message(std::mem::take(&mut self.message))));
                    }
                }
                _ => return Err("a frame of another kind"),
            }
        }
    }

    fn head(&self) -> Result<Option<FrameHead>, &'static str> {
        let bytes = &self.received[self.used..];
        let [first, second, ..] = bytes else { return Ok(None) };
        if second & MASKED != 0 {
            return Err("a masked frame");
        }
        let (length, content) = match second {
            126 => (4, bytes.get(2..4).map(|length| u64::from(u16::from_be_bytes([length[0], length[1]])))),
            127 => (10, bytes.get(2..10).and_then(|length| length.try_into().ok()).map(u64::from_be_bytes)),
            length => (2, Some(u64::from(*length))),
        };
        let Some(content) = content else { return Ok(None) };
        if content > MAX_MESSAGE_BYTES {
            return Err("a frame of more than 256 MiB");
        }
        Ok(Some(FrameHead { first: *first, bytes: length, content }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_joined_in_pieces_of_any_size() {
        let bytes = b"\x01\x02ab\x89\x01!\x00\x01c\x80\x00\x81\x7e\x00\x03xyz\x88\x00";
        let expected = [
            WebFrame::Ping(b"!".to_vec()),
            WebFrame::Message(b"abc".to_vec()),
            WebFrame::Message(b"xyz".to_vec()),
            WebFrame::Close,
        ];
        for size in [1, 3, bytes.len()] {
            let (mut frames, mut found) = (WebFrames::default(), Vec::new());
            for piece in bytes.chunks(size) {
                frames.feed(piece);
                while let Some(frame) = frames.next().expect("frames") {
                    found.push(frame);
                }
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_no_server_sends_is_refused_without_room_for_it() {
        for bytes in [&b"\x81\x81abcdx"[..], b"\x81\x7f\x40\0\0\0\0\0\0\0", b"\x82\x01x", b"\x80\x01x"] {
            let mut frames = WebFrames::default();
            frames.feed(bytes);
            assert!(frames.next().is_err() && frames.received.capacity() < 1000);
        }
    }
}
