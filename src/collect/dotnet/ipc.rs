//! .NET's diagnostics protocol: messages over a unix socket, little endian.
//!
//! ```text
//! 0 "DOTNET_IPC_V1\0"   14 u16 bytes with this header   16 u8 command set   17 u8 command   18 u16 0   20 payload
//! text: u32 UTF-16 units with the final 0, the units; an empty one is the count 0
//! ```

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::collect::ports::connect_unix;
use crate::collect::private_folder::descriptor_path;
use crate::collect::process::Process;
use crate::collect::process_watch::{CONNECT_TIMEOUT, ProcessWatch, read_some};
use crate::collect::refusal::{Refusal, RefusalCode};

const MAGIC: &[u8] = b"DOTNET_IPC_V1\0";
const HEADER_BYTES: usize = 20;
/// The server's command set, and its two answers.
const SERVER_COMMAND_SET: u8 = 0xFF;
const RESPONSE_OK: u8 = 0;
const RESPONSE_ERROR: u8 = 0xFF;

/// A command that the runtime does not know: an older one may do.
pub(super) const UNKNOWN_COMMAND_ERROR: u32 = 0x8013_1385;

/// Event pipe: StopTracing.
const STOP_TRACING: (u8, u8) = (2, 1);

/// Meaning of the runtime's numbers for errors.
const ERROR_MEANINGS: [(u32, &str); 8] = [
    (UNKNOWN_COMMAND_ERROR, "unknown command"),
    (0x8013_1384, "bad encoding"),
    (0x8013_1386, "unknown magic"),
    (0x8013_1371, "the runtime is not up yet"),
    (0x8013_135b, "not yet available"),
    (0x8013_1515, "not supported"),
    (0x8007_0057, "bad argument"),
    (0x8000_4005, "failed"),
];

/// Address at which a runtime listens.
#[derive(Debug)]
pub(super) enum PortAddress {
    /// As the user said.
    Path(PathBuf),
    /// Found in the process's file system and held, so that it is the same one each time.
    HeldDescriptor(OwnedFd),
}

/// The reason for which there is no answer.
#[derive(Debug)]
pub(super) enum IpcError {
    /// The runtime's own number.
    ErrorNumber(u32),
    Refusal(Refusal),
}

impl From<Refusal> for IpcError {
    fn from(refusal: Refusal) -> Self {
        IpcError::Refusal(refusal)
    }
}

impl IpcError {
    pub(super) fn into_refusal(self, pid: u32) -> Refusal {
        match self {
            IpcError::Refusal(refusal) => refusal,
            IpcError::ErrorNumber(number) => {
                let words = ERROR_MEANINGS.iter().find(|(known, _)| *known == number).map_or("", |(_, words)| *words);
                let text = format!("process {pid} says: error {number:#x} {words}");
                Refusal::new(RefusalCode::RefusedByTarget, text.trim_end().to_string())
            }
        }
    }
}

/// Longest time for an answer.
pub(super) enum AnswerWait<'w, 'a> {
    /// So long.
    TimeLimit(Duration),
    /// As long as the process is at work.
    WhileProcessWorks(&'w mut ProcessWatch<'a>),
}

/// A runtime's diagnostics port.
#[derive(Debug)]
pub(super) struct DiagnosticPort<'a> {
    pub(super) process: &'a Process,
    pub(super) address: PortAddress,
}

pub(super) fn encode_text(text: &str) -> Vec<u8> {
    if text.is_empty() {
        return 0u32.to_le_bytes().to_vec();
    }
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let count = (units.len() as u32).to_le_bytes();
    count.into_iter().chain(units.into_iter().flat_map(u16::to_le_bytes)).collect()
}

/// Takes a text off the front.
pub(super) fn decode_text(rest: &mut &[u8]) -> Option<String> {
    let (count, after) = rest.split_first_chunk::<4>()?;
    let bytes = (u32::from_le_bytes(*count) as usize).checked_mul(2)?;
    let (units, after) = after.split_at_checked(bytes)?;
    *rest = after;
    let units = units.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|&unit| unit != 0);
    Some(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

fn encode_message((set, command): (u8, u8), payload: &[u8]) -> Vec<u8> {
    let bytes = (HEADER_BYTES + payload.len()) as u16;
    [MAGIC, &bytes.to_le_bytes(), &[set, command, 0, 0], payload].concat()
}

/// The header of an answer.
pub(super) struct AnswerHead {
    /// Bytes behind it.
    payload_bytes: usize,
    /// Its set, and the command.
    command: (u8, u8),
}

impl AnswerHead {
    pub(super) fn parse(header: &[u8]) -> Option<Self> {
        let rest = header.strip_prefix(MAGIC)?;
        let &[low, high, set, command, ..] = rest else { return None };
        let payload = usize::from(u16::from_le_bytes([low, high])).checked_sub(HEADER_BYTES)?;
        Some(AnswerHead { payload_bytes: payload, command: (set, command) })
    }

    /// The runtime's number, where it refuses. Nothing at all: it is no answer.
    pub(super) fn error_in(&self, payload: &[u8]) -> Option<Option<u32>> {
        match self.command {
            (SERVER_COMMAND_SET, RESPONSE_OK) => Some(None),
            (SERVER_COMMAND_SET, RESPONSE_ERROR) => {
                payload.first_chunk::<4>().map(|number| Some(u32::from_le_bytes(*number)))
            }
            _ => None,
        }
    }
}

impl PortAddress {
    fn connect(&self, limit: Duration) -> io::Result<UnixStream> {
        match self {
            PortAddress::Path(path) => connect_unix(path, limit),
            PortAddress::HeldDescriptor(descriptor) => connect_unix(descriptor_path(descriptor), limit),
        }
    }

    /// Ends a session: the request, and a moment for the answer. For a run that gives up: nothing can be said then.
    pub(super) fn stop_session(&self, session: u64) {
        const STOP_TIMEOUT: Duration = Duration::from_secs(1);
        let Ok(mut stream) = self.connect(STOP_TIMEOUT) else { return };
        let _ = stream.set_write_timeout(Some(STOP_TIMEOUT));
        let _ = stream.set_read_timeout(Some(STOP_TIMEOUT));
        if stream.write_all(&encode_message(STOP_TRACING, &session.to_le_bytes())).is_ok() {
            let _ = stream.read(&mut [0; HEADER_BYTES]);
        }
    }

    /// The same address, held once more.
    pub(super) fn try_clone(&self) -> io::Result<PortAddress> {
        match self {
            PortAddress::Path(path) => Ok(PortAddress::Path(path.clone())),
            PortAddress::HeldDescriptor(descriptor) => descriptor.try_clone().map(PortAddress::HeldDescriptor),
        }
    }
}

impl DiagnosticPort<'_> {
    fn io_refusal(&self, error: io::Error) -> Refusal {
        Refusal::system(&format!("process {}: its diagnostics socket", self.process.pid), error)
    }

    /// Sends a command over a connection of its own.
    pub(super) fn send(&self, command: (u8, u8), payload: &[u8]) -> Result<UnixStream, Refusal> {
        let mut stream = self.address.connect(CONNECT_TIMEOUT).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Refusal::timeout(self.process.pid, CONNECT_TIMEOUT)
                .with_hint("its diagnostics socket takes no connection"),
            io::ErrorKind::ConnectionRefused => {
                let text = format!("process {}: nobody listens behind its diagnostics socket", self.process.pid);
                Refusal::new(RefusalCode::SocketMissing, text).with_hint("only a restart of the process helps")
            }
            _ => self.io_refusal(error),
        })?;
        let sent = stream.write_all(&encode_message(command, payload)).and_then(|()| stream.set_nonblocking(true));
        // A peer that has closed says why, or that it has gone, when its answer is read.
        match sent {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(self.io_refusal(error)),
            _ => Ok(stream),
        }
    }

    /// Begins the end of a session: the answer comes when the last of it has been read.
    pub(super) fn send_stop(&self, session: u64) -> Result<UnixStream, Refusal> {
        self.send(STOP_TRACING, &session.to_le_bytes())
    }

    /// Asks something that needs no pause.
    pub(super) fn ask(&self, command: (u8, u8), payload: &[u8], limit: Duration) -> Result<Vec<u8>, IpcError> {
        let stream = self.send(command, payload)?;
        self.read_answer(&stream, AnswerWait::TimeLimit(limit))
    }

    /// Reads an answer's payload.
    pub(super) fn read_answer(&self, stream: &UnixStream, mut wait: AnswerWait<'_, '_>) -> Result<Vec<u8>, IpcError> {
        let header = self.read_exactly(stream, HEADER_BYTES, &mut wait)?;
        let foreign =
            || IpcError::Refusal(Refusal::protocol(&self.description(), ".NET's diagnostics protocol", &header));
        let head = AnswerHead::parse(&header).ok_or_else(foreign)?;
        let payload = self.read_exactly(stream, head.payload_bytes, &mut wait)?;
        match head.error_in(&payload).ok_or_else(foreign)? {
            None => Ok(payload),
            Some(number) => Err(IpcError::ErrorNumber(number)),
        }
    }

    pub(super) fn description(&self) -> String {
        format!("the diagnostics socket of process {}", self.process.pid)
    }

    fn read_exactly(
        &self,
        stream: &UnixStream,
        count: usize,
        wait: &mut AnswerWait<'_, '_>,
    ) -> Result<Vec<u8>, Refusal> {
        let started = Instant::now();
        let mut bytes = Vec::new();
        let mut chunk = [0u8; 4096];
        while bytes.len() < count {
            let most = chunk.len().min(count - bytes.len());
            let read = read_some(stream, &mut chunk[..most]).map_err(|error| self.io_refusal(error))?;
            if read == Some(0) {
                return Err(self.closed_early_refusal(bytes.len(), count));
            }
            bytes.extend_from_slice(&chunk[..read.unwrap_or(0)]);
            match wait {
                AnswerWait::TimeLimit(limit) if started.elapsed() >= *limit => {
                    return Err(
                        Refusal::timeout(self.process.pid, *limit).with_hint("its diagnostics socket is silent")
                    );
                }
                AnswerWait::TimeLimit(_) => {}
                AnswerWait::WhileProcessWorks(watch) => watch.check_progress(read.is_some())?,
            }
        }
        Ok(bytes)
    }

    /// The other side has closed in the middle.
    fn closed_early_refusal(&self, read: usize, count: usize) -> Refusal {
        let pid = self.process.pid;
        if self.process.ends_within_moment() {
            return Refusal::target_died(pid);
        }
        Refusal::new(RefusalCode::Protocol, format!("{} closed after {read} of {count} bytes", self.description()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_go_both_ways() {
        for written in ["", "9.0.7", "größer 𝄞"] {
            let bytes = [encode_text(written), vec![7]].concat();
            let mut rest = &bytes[..];
            assert_eq!((decode_text(&mut rest).as_deref(), rest), (Some(written), &[7][..]));
        }
        for cut in [&b""[..], &[1, 0, 0, 0], &[0xFF; 8]] {
            assert_eq!(decode_text(&mut &*cut), None);
        }
    }

    #[test]
    fn messages_begin_with_their_size() {
        let message = encode_message((4, 8), &[1, 2]);
        assert_eq!(message, b"DOTNET_IPC_V1\0\x16\0\x04\x08\0\0\x01\x02");
    }
}
