//! The client's side of a websocket: text out, masked; text in; pings answered. One peer.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::collect::http;
use crate::collect::process_watch::{is_retryable, read_some};
use crate::collect::refusal::{Refusal, RefusalCode};
use crate::files::ExitAction;

const CHUNK_BYTES: usize = 64 << 10;
/// Any 16 bytes: they tell a websocket from what answers 101 to anything, and keep nothing secret.
const HANDSHAKE_KEY: &str = "aGVhcGR1bXAgY29sbGVjdA==";
/// Answer of a websocket to the key: SHA-1 of the key and of RFC 6455's own name for the protocol.
const HANDSHAKE_ACCEPT: &str = "Jy5jBgmwEchesryBnAk/B9qeOGA=";
/// For a request to go out, which is some hundred bytes.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct WebSocket {
    stream: TcpStream,
    peer: String,
    incoming_frames: WebFrames,
    /// Ends the connection as the protocol has it, whatever ends the run.
    close_at_end: Option<ExitAction>,
}

/// Result of a look at the connection.
#[derive(Debug)]
pub(super) enum Received {
    Message(Vec<u8>),
    /// Bytes, but no message yet.
    PartialMessage,
    /// Nothing for a tick.
    NothingYet,
    Closed,
}

impl WebSocket {
    /// Upgrades a connection, which is ended as the protocol has it, whatever ends the run. Error: `protocol`,
    /// `timeout`, what the system says.
    pub(super) fn open(stream: TcpStream, peer: &str, path: &str, limit: Duration) -> Result<Self, Refusal> {
        let mut socket = Self::upgrade(stream, peer, path, limit)?;
        let failed = |error: io::Error| Refusal::system(peer, error);
        let own = socket.stream.try_clone().map_err(failed)?;
        socket.close_at_end = Some(ExitAction::new(move || send_close_and_wait(&own)).map_err(failed)?);
        Ok(socket)
    }

    /// Upgrades a connection for what is done at the end of a run. Error: as [`WebSocket::open`].
    pub(super) fn upgrade(stream: TcpStream, peer: &str, path: &str, limit: Duration) -> Result<Self, Refusal> {
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: {peer}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
Sec-WebSocket-Key: {HANDSHAKE_KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        let head = http::send_request(&stream, peer, &text, limit)?;
        if head.status() != Some(101) || head.header("sec-websocket-accept") != Some(HANDSHAKE_ACCEPT) {
            return Err(Refusal::protocol(peer, "the inspector's protocol", head.head_text.as_bytes()));
        }
        let mut frames = WebFrames::default();
        frames.feed(&head.body_start);
        Ok(WebSocket { stream, peer: peer.to_string(), incoming_frames: frames, close_at_end: None })
    }

    pub(super) fn peer(&self) -> &str {
        &self.peer
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn send_text(&mut self, text: &str) -> Result<(), Refusal> {
        self.send_frame(FINAL_BIT | OPCODE_TEXT, text.as_bytes())
    }

    pub(super) fn close(self) {
        match self.close_at_end {
            Some(leaving) => drop(leaving),
            None => send_close_and_wait(&self.stream),
        }
    }

    fn send_frame(&mut self, first: u8, content: &[u8]) -> Result<(), Refusal> {
        send_frame(&self.stream, first, content).map_err(|error| Refusal::system(&self.peer, error))
    }

    /// Reads what is there, or waits a tick for it. Error: `protocol` for what no server sends.
    pub(super) fn receive(&mut self) -> Result<Received, Refusal> {
        if let Some(received) = self.next_received()? {
            return Ok(received);
        }
        let mut chunk = [0u8; CHUNK_BYTES];
        let read = read_some(&self.stream, &mut chunk).map_err(|error| Refusal::system(&self.peer, error))?;
        match read {
            None => Ok(Received::NothingYet),
            Some(0) => Ok(Received::Closed),
            Some(count) => {
                self.incoming_frames.feed(&chunk[..count]);
                Ok(self.next_received()?.unwrap_or(Received::PartialMessage))
            }
        }
    }

    /// The next whole frame.
    fn next_received(&mut self) -> Result<Option<Received>, Refusal> {
        loop {
            let next = self.incoming_frames.next();
            match next.map_err(|what| self.not_websocket_refusal(what))? {
                None => return Ok(None),
                Some(WebFrame::Message(text)) => return Ok(Some(Received::Message(text))),
                Some(WebFrame::Close) => return Ok(Some(Received::Closed)),
                Some(WebFrame::Ping(content)) => self.send_frame(FINAL_BIT | OPCODE_PONG, &content)?,
            }
        }
    }

    fn not_websocket_refusal(&self, what: &str) -> Refusal {
        Refusal::new(RefusalCode::Protocol, format!("what answers at {} sends {what}, as no inspector does", self.peer))
    }
}

fn send_frame(mut stream: &TcpStream, first: u8, content: &[u8]) -> io::Result<()> {
    // Keys of the standard library's hash maps are random.
    let mask = (RandomState::new().hash_one(content.len()) as u32).to_be_bytes();
    let mut frame = vec![first];
    match content.len() {
        length @ ..126 => frame.push(MASK_BIT | length as u8),
        length @ ..0x1_0000 => {
            frame.push(MASK_BIT | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(MASK_BIT | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    let started = Instant::now();
    let mut rest = &frame[..];
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) if is_retryable(&error) && started.elapsed() < SEND_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(1))
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Ends a connection as the protocol has it: a word, then the other side closes. Node.js ends with a segmentation fault now
/// and then when a connection breaks off while it is writing to it.
fn send_close_and_wait(stream: &TcpStream) {
    let until = Instant::now() + CLOSE_TIMEOUT;
    let mut is_open = send_frame(stream, FINAL_BIT | OPCODE_CLOSE, &[]).is_ok();
    let mut rest = [0u8; 64 << 10];
    while is_open && Instant::now() < until {
        is_open = read_some(stream, &mut rest).is_ok_and(|read| read != Some(0));
    }
}

const MAX_MESSAGE_BYTES: u64 = 256 << 20;

pub(super) const OPCODE_CONTINUATION: u8 = 0;
pub(super) const OPCODE_TEXT: u8 = 1;
pub(super) const OPCODE_CLOSE: u8 = 8;
pub(super) const OPCODE_PING: u8 = 9;
pub(super) const OPCODE_PONG: u8 = 10;
pub(super) const FINAL_BIT: u8 = 0x80;
pub(super) const MASK_BIT: u8 = 0x80;

/// Bytes as they come, and the frames in them.
#[derive(Debug, Default)]
pub(super) struct WebFrames {
    received: Vec<u8>,
    /// Bytes of it that have been used.
    used_bytes: usize,
    message: Vec<u8>,
    is_in_message: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum WebFrame {
    Message(Vec<u8>),
    /// To be answered with the same content.
    Ping(Vec<u8>),
    Close,
}

/// A frame's head: the first byte, the bytes of the head, those of the content.
struct FrameHead {
    first_byte: u8,
    head_bytes: usize,
    content_bytes: u64,
}

impl WebFrames {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.received.drain(..self.used_bytes);
        self.used_bytes = 0;
        self.received.extend_from_slice(bytes);
    }

    /// Takes whole frames off the front until there is something in them. Error: what no server sends, in words.
    pub(super) fn next(&mut self) -> Result<Option<WebFrame>, &'static str> {
        loop {
            let Some(head) = self.next_head()? else { return Ok(None) };
            let start = self.used_bytes + head.head_bytes;
            let end = start + head.content_bytes as usize;
            if self.received.len() < end {
                return Ok(None);
            }
            let content = &self.received[start..end];
            self.used_bytes = end;
            let (is_final, kind) = (head.first_byte & FINAL_BIT != 0, head.first_byte & 0x0F);
            match kind {
                OPCODE_CLOSE => return Ok(Some(WebFrame::Close)),
                OPCODE_PING => return Ok(Some(WebFrame::Ping(content.to_vec()))),
                OPCODE_PONG => {}
                OPCODE_TEXT | OPCODE_CONTINUATION if (kind == OPCODE_CONTINUATION) == self.is_in_message => {
                    if self.message.len() as u64 + head.content_bytes > MAX_MESSAGE_BYTES {
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

    fn next_head(&self) -> Result<Option<FrameHead>, &'static str> {
        let bytes = &self.received[self.used_bytes..];
        let [first, second, ..] = bytes else { return Ok(None) };
        if second & MASK_BIT != 0 {
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
        Ok(Some(FrameHead { first_byte: *first, head_bytes: length, content_bytes: content }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    fn pair() -> (WebSocket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        stream.set_nonblocking(true).expect("set");
        let (server, _) = listener.accept().expect("accepted");
        let own = stream.try_clone().expect("a descriptor");
        let leaving = Some(ExitAction::new(move || send_close_and_wait(&own)).expect("signals"));
        (
            WebSocket { stream, peer: "test".into(), incoming_frames: WebFrames::default(), close_at_end: leaving },
            server,
        )
    }

    fn next(socket: &mut WebSocket) -> Result<Received, Refusal> {
        loop {
            match socket.receive()? {
                Received::NothingYet | Received::PartialMessage => {}
                received => return Ok(received),
            }
        }
    }

    #[test]
    fn fragments_are_joined_and_pings_answered() {
        let (mut socket, mut server) = pair();
        let frames = b"\x01\x02ab\x89\x01!\x00\x01c\x80\x00\x81\x7e\x00\x03xyz";
        let writer = std::thread::spawn(move || {
            for byte in frames {
                server.write_all(&[*byte]).expect("written");
            }
            let mut pong = [0u8; 7];
            server.read_exact(&mut pong).expect("a pong");
            server.write_all(b"\x88\x00").expect("written");
            // A word at the end, whatever ends the run.
            let mut word = [0u8; 6];
            server.read_exact(&mut word).expect("a word");
            (pong, word)
        });
        let texts = [next(&mut socket), next(&mut socket)].map(|received| match received {
            Ok(Received::Message(text)) => text,
            other => panic!("{other:?}"),
        });
        assert_eq!(texts, [b"abc".to_vec(), b"xyz".to_vec()]);
        assert!(matches!(next(&mut socket), Ok(Received::Closed)));
        drop(socket);
        let (pong, word) = writer.join().expect("ended");
        assert_eq!((pong[0], pong[1], pong[6] ^ pong[2]), (0x8A, 0x81, b'!'));
        assert_eq!((word[0], word[1]), (0x88, 0x80));
    }

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
