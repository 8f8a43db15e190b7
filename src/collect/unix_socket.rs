//! Connections to a runtime's unix socket. A runtime that stands still takes none, and once a few wait the next one would
//! wait for ever.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect as connect_to, socket_with};

const AGAIN: Duration = Duration::from_millis(10);

/// Connects to a socket.
///
/// # Errors
/// `TimedOut` when the other side takes no connection within `limit`; what the system says.
pub(super) fn connect(path: impl AsRef<Path>, limit: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path.as_ref())?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let started = Instant::now();
    loop {
        match connect_to(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN | Errno::INTR) if started.elapsed() < limit => std::thread::sleep(AGAIN.min(limit)),
            Err(Errno::AGAIN | Errno::INTR) => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_full_queue_is_waited_for_until_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let limit = Duration::from_millis(50);
        assert_eq!(connect(&path, limit).expect_err("none").kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).expect("bound");
        rustix::net::listen(&listener, 1).expect("a queue of two");
        let mut taken = Vec::new();
        let error = loop {
            match connect(&path, limit) {
                Ok(stream) => taken.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), taken.len()), (io::ErrorKind::TimedOut, 2));
        let (_first, _) = listener.accept().expect("accepted");
        connect(&path, limit).expect("there is room again");
    }
}
