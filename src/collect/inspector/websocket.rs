//! The client's side of a websocket: text out, masked; text in, in fragments or not; pings answered. One peer, nothing
//! compressed.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::http::{self, is_not_yet, wait_for};
use crate::collect::refusal::{Refusal, RefusalCode};

const MAX_MESSAGE_BYTES: u64 = 256 << 20;
const CHUNK_BYTES: usize = 64 << 10;
/// For a request to go out, which is some hundred bytes.
const SEND: Duration = Duration::from_secs(5);

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

/// A connection.
pub(super) struct WebSocket {
    stream: TcpStream,
    peer: String,
    received: Vec<u8>,
    /// What of it has been used.
    used: usize,
    /// Fragments of a message.
    message: Vec<u8>,
    is_in_message: bool,
}

/// What has come.
#[derive(Debug)]
pub(super) enum Received {
    Message(Vec<u8>),
    /// Bytes, but no message yet.
    Progress,
    /// Nothing for a tick.
    Nothing,
    /// The end.
    Closed,
}

/// A frame's head: the first byte, the bytes of the head, those of the content.
struct Head {
    first: u8,
    bytes: usize,
    content: u64,
}

impl WebSocket {
    /// Upgrades a connection.
    ///
    /// # Errors
    /// `protocol`, `timeout`, what the system says.
    pub(super) fn open(stream: TcpStream, peer: &str, path: &str, limit: Duration) -> Result<Self, Refusal> {
        // Any 16 bytes; who answers is known, so the answer to them is not looked at.
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: {peer}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: aGVhcGR1bXAgY29sbGVjdA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        let head = http::request(&stream, peer, &text, limit)?;
        if head.status() != Some(101) {
            return Err(Refusal::protocol(peer, "the inspector's protocol", head.text.as_bytes()));
        }
        let (received, peer) = (head.rest, peer.to_string());
        Ok(WebSocket { stream, peer, received, used: 0, message: Vec::new(), is_in_message: false })
    }

    /// Sends a text.
    pub(super) fn send(&mut self, text: &str) -> Result<(), Refusal> {
        self.send_frame(FINAL | TEXT, text.as_bytes())
    }

    /// Ends the connection as the protocol has it: a word, and the other side's end of it, until a moment. Node.js ends with a
    /// segmentation fault now and then when a connection breaks off while it is writing to it.
    pub(super) fn close(&mut self, until: Instant) {
        let mut is_open = self.send_frame(FINAL | CLOSE, &[]).is_ok();
        while is_open && Instant::now() < until {
            is_open = !matches!(self.receive(), Ok(Received::Closed) | Err(_));
        }
        // The other side closes first.
        let mut rest = [0u8; 512];
        while is_open_for_reading(&self.stream, &mut rest) && Instant::now() < until {
            wait_for(&self.stream);
        }
    }

    fn send_frame(&mut self, first: u8, content: &[u8]) -> Result<(), Refusal> {
        // Keys of the standard library's hash maps are random.
        let mask = (RandomState::new().hash_one(content.len()) as u32).to_be_bytes();
        let mut frame = vec![first];
        match content.len() {
            length @ ..126 => frame.push(MASKED | length as u8),
            length @ ..0x1_0000 => {
                frame.push(MASKED | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(MASKED | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        let started = Instant::now();
        let mut rest = &frame[..];
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if is_not_yet(&error) && started.elapsed() < SEND => {
                    std::thread::sleep(Duration::from_millis(1))
                }
                Err(error) => return Err(Refusal::system(&self.peer, error)),
            }
        }
        Ok(())
    }

    /// Reads what is there, or waits a tick for it.
    ///
    /// # Errors
    /// `protocol` for what no server sends.
    pub(super) fn receive(&mut self) -> Result<Received, Refusal> {
        if let Some(received) = self.frames()? {
            return Ok(received);
        }
        let mut chunk = [0u8; CHUNK_BYTES];
        match self.stream.read(&mut chunk) {
            Ok(0) => Ok(Received::Closed),
            Ok(count) => {
                self.received.drain(..self.used);
                self.used = 0;
                self.received.extend_from_slice(&chunk[..count]);
                Ok(self.frames()?.unwrap_or(Received::Progress))
            }
            Err(error) if is_not_yet(&error) => {
                wait_for(&self.stream);
                Ok(Received::Nothing)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Received::Closed),
            Err(error) => Err(Refusal::system(&self.peer, error)),
        }
    }

    /// Takes whole frames off the front until a message is whole.
    fn frames(&mut self) -> Result<Option<Received>, Refusal> {
        loop {
            let Some(head) = self.head()? else { return Ok(None) };
            let start = self.used + head.bytes;
            let end = start + head.content as usize;
            if self.received.len() < end {
                return Ok(None);
            }
            let content = self.received[start..end].to_vec();
            self.used = end;
            let (is_final, kind) = (head.first & FINAL != 0, head.first & 0x0F);
            match kind {
                CLOSE => return Ok(Some(Received::Closed)),
                PING => self.send_frame(FINAL | PONG, &content)?,
                PONG => {}
                TEXT | CONTINUATION if (kind == CONTINUATION) == self.is_in_message => {
                    if self.message.len() as u64 + head.content > MAX_MESSAGE_BYTES {
                        return Err(self.foreign("a message of more than 256 MiB"));
                    }
                    self.message.extend(content);
                    self.is_in_message = !is_final;
                    if is_final {
                        return Ok(Some(Received::Message(std::mem::take(&mut self.message))));
                    }
                }
                _ => return Err(self.foreign("a frame of another kind")),
            }
        }
    }

    fn head(&self) -> Result<Option<Head>, Refusal> {
        let bytes = &self.received[self.used..];
        let [first, second, ..] = bytes else { return Ok(None) };
        if second & MASKED != 0 {
            return Err(self.foreign("a masked frame"));
        }
        let (length, content) = match second {
            126 => (4, bytes.get(2..4).map(|length| u64::from(u16::from_be_bytes([length[0], length[1]])))),
            127 => (10, bytes.get(2..10).and_then(|length| length.try_into().ok()).map(u64::from_be_bytes)),
            length => (2, Some(u64::from(*length))),
        };
        let Some(content) = content else { return Ok(None) };
        if content > MAX_MESSAGE_BYTES {
            return Err(self.foreign("a frame of more than 256 MiB"));
        }
        Ok(Some(Head { first: *first, bytes: length, content }))
    }

    fn foreign(&self, what: &str) -> Refusal {
        Refusal::new(RefusalCode::Protocol, format!("what answers at {} sends {what}, as no inspector does", self.peer))
    }
}

/// Returns false at the end of the stream, and when it has broken.
fn is_open_for_reading(mut stream: &TcpStream, rest: &mut [u8]) -> bool {
    match stream.read(rest) {
        Ok(count) => count > 0,
        Err(error) => is_not_yet(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (WebSocket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        stream.set_nonblocking(true).expect("set");
        let (server, _) = listener.accept().expect("accepted");
        let (peer, received, message) = ("test".into(), Vec::new(), Vec::new());
        (WebSocket { stream, peer, received, used: 0, message, is_in_message: false }, server)
    }

    fn next(socket: &mut WebSocket) -> Result<Received, Refusal> {
        loop {
            match socket.receive()? {
                Received::Nothing | Received::Progress => {}
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
            pong
        });
        let texts = [next(&mut socket), next(&mut socket)].map(|received| match received {
            Ok(Received::Message(text)) => text,
            other => panic!("{other:?}"),
        });
        assert_eq!(texts, [b"abc".to_vec(), b"xyz".to_vec()]);
        let pong = writer.join().expect("ended");
        assert_eq!((pong[0], pong[1], pong[6] ^ pong[2]), (0x8A, 0x81, b'!'));
        assert!(matches!(next(&mut socket), Ok(Received::Closed)));
    }

    #[test]
    fn what_no_server_sends_is_refused_without_room_for_it() {
        for frame in [&b"\x81\x81abcdx"[..], b"\x81\x7f\x40\0\0\0\0\0\0\0", b"\x82\x01x", b"\x80\x01x"] {
            let (mut socket, mut server) = pair();
            server.write_all(frame).expect("written");
            assert_eq!(next(&mut socket).expect_err("refused").code, RefusalCode::Protocol);
        }
    }
}
