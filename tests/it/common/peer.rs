//! Peers for `heapdump collect`: listeners that speak a runtime's protocol, right or wrong on purpose.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

/// A child that ends with the test.
pub struct Process(pub Child);

impl Process {
    /// A process that does nothing, for peers that speak in its place.
    pub fn idle() -> Self {
        let mut command = Command::new("sleep");
        Process(command.arg("60").stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("sleep"))
    }

    /// A shell under another program's name that runs a line, with words behind it. What is ignored where the tests were
    /// started, as in the background of a script, it could not catch.
    pub fn shell_named(folder: &std::path::Path, name: &str, line: &str, words: &[&str]) -> Self {
        let program = folder.join(name);
        std::fs::copy("/bin/bash", &program).expect("copied");
        let mut command = Command::new(program);
        command.args(["-c", line, "x"]).args(words).current_dir(folder);
        let mut command = with_default_signals(&command);
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts"))
    }

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The process that works for it, where there is one.
    pub fn second(&self) -> Option<u32> {
        second_of(self.0.id())
    }

    pub fn is_alive(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }
}

/// The only child of a process.
pub fn second_of(pid: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.trim().parse().ok()
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A unix socket whose every connection is served by a function, in a thread of its own.
pub struct UnixPeer {
    pub path: PathBuf,
    _folder: TempDir,
}

impl UnixPeer {
    pub fn start(serve: impl Fn(UnixStream) + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("bound");
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(stream));
            }
        });
        UnixPeer { path, _folder: folder }
    }

    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// The same over TCP, of whole requests: the path that is asked for, and the connection.
pub fn inspector(serve: impl Fn(&str, TcpStream, u16) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0u8];
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                serve(head.split(' ').nth(1).unwrap_or_default(), stream, port);
            });
        }
    });
    format!("http://127.0.0.1:{port}")
}

/// Long enough for a test, and not for ever.
pub fn hang() {
    std::thread::sleep(Duration::from_secs(30));
}

/// A message of .NET's protocol.
pub fn ipc(set: u8, command: u8, payload: &[u8]) -> Vec<u8> {
    let size = (20 + payload.len() as u16).to_le_bytes();
    [b"DOTNET_IPC_V1\0", &size[..], &[set, command, 0, 0], payload].concat()
}

/// A text of .NET's protocol.
pub fn ipc_text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let bytes = units.iter().flat_map(|unit| unit.to_le_bytes());
    (units.len() as u32).to_le_bytes().into_iter().chain(bytes).collect()
}

/// Reads a request of .NET's protocol: command set, command, payload.
pub fn ipc_request(stream: &mut UnixStream) -> Option<(u8, u8, Vec<u8>)> {
    let mut header = [0u8; 20];
    stream.read_exact(&mut header).ok()?;
    assert!(header.starts_with(b"DOTNET_IPC_V1\0"));
    let mut payload = vec![0u8; usize::from(u16::from_le_bytes([header[14], header[15]])) - 20];
    stream.read_exact(&mut payload).ok()?;
    Some((header[16], header[17], payload))
}

/// Reads a request of HotSpot's attach protocol: its five texts.
pub fn attach_request(stream: &mut UnixStream) -> Vec<String> {
    let mut texts = Vec::new();
    let (mut text, mut byte) = (Vec::new(), [0u8]);
    while texts.len() < 5 && stream.read_exact(&mut byte).is_ok() {
        match byte[0] {
            0 => texts.push(String::from_utf8(std::mem::take(&mut text)).expect("UTF-8")),
            byte => text.push(byte),
        }
    }
    texts
}

/// Answers a GET.
pub fn http(stream: &mut TcpStream, body: &str) {
    let length = body.len();
    // The other side may have gone.
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
}

/// Reads a client's frame of less than 64 KiB; nothing at the end.
pub fn client_text(stream: &mut TcpStream) -> Option<String> {
    let mut head = [0u8; 2];
    stream.read_exact(&mut head).ok()?;
    let length = match head[1] & 0x7F {
        126 => {
            let mut length = [0u8; 2];
            stream.read_exact(&mut length).ok()?;
            usize::from(u16::from_be_bytes(length))
        }
        length => usize::from(length),
    };
    let (mut mask, mut text) = ([0u8; 4], vec![0u8; length]);
    stream.read_exact(&mut mask).ok()?;
    stream.read_exact(&mut text).ok()?;
    let text: Vec<u8> = text.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    String::from_utf8(text).ok()
}

/// A server's text frame.
pub fn frame(first: u8, text: &[u8]) -> Vec<u8> {
    let head = match text.len() {
        length @ ..126 => vec![first, length as u8],
        length => [&[first, 126][..], &(length as u16).to_be_bytes()].concat(),
    };
    [&head, text].concat()
}

/// The same command, with no signal ignored, whatever was where the tests were started: its outputs are to be set anew.
pub fn with_default_signals(command: &Command) -> Command {
    let mut same = Command::new("env");
    same.arg("--default-signal").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => same.env(name, value),
            None => same.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        same.current_dir(folder);
    }
    same
}
