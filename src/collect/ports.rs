//! TCP ports that a process listens on, by its open files and its namespace's tables; connections to them, into other
//! network namespaces too, and to unix sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::process::{Process, all_pids, read_proc_file};
use super::process_watch::CONNECT_TIMEOUT;
use super::refusal::{Refusal, RefusalCode};

/// A listening socket: its address and its number in the tables of open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListeningSocket {
    address: SocketAddr,
    inode: u64,
}

/// TCP addresses that the process itself listens on.
pub(super) fn listening_addresses(process: &Process) -> Vec<SocketAddr> {
    let own = socket_inodes(process.pid);
    namespace_listeners(process)
        .into_iter()
        .filter(|listener| own.contains(&listener.inode))
        .map(|l| l.address)
        .collect()
}

/// The process that listens on a port in the network namespace of `process`; 0 where it cannot be told.
pub(super) fn holder_of_port(process: &Process, port: u16) -> Option<u32> {
    let listener = namespace_listeners(process).into_iter().find(|listener| listener.address.port() == port)?;
    Some(holder_of_socket(listener.inode).unwrap_or(0))
}

/// The process that has a socket open, where we may look.
pub(super) fn holder_of_socket(inode: u64) -> Option<u32> {
    all_pids().find(|&pid| socket_inodes(pid).contains(&inode))
}

fn socket_inodes(pid: u32) -> Vec<u64> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = open.filter_map(|fd| fs::read_link(fd.path()).ok());
    links.filter_map(|to| to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
}

/// The listening sockets of all processes in the network namespace of this one.
fn namespace_listeners(process: &Process) -> Vec<ListeningSocket> {
    let tables = ["net/tcp", "net/tcp6"].map(|file| read_proc_file(process.pid, file).unwrap_or_default());
    tables.iter().flat_map(|table| listeners_in(&String::from_utf8_lossy(table))).collect()
}

/// Rows `sl local_address rem_address st ... inode`; state 0A listens.
fn listeners_in(table: &str) -> Vec<ListeningSocket> {
    let rows = table.lines().skip(1);
    rows.filter_map(|row| {
        let fields: Vec<&str> = row.split_whitespace().collect();
        if *fields.get(3)? != "0A" {
            return None;
        }
        let (address, port) = fields.get(1)?.split_once(':')?;
        let ip = parse_hex_ip(address)?;
        let port = u16::from_str_radix(port, 16).ok()?;
        Some(ListeningSocket { address: SocketAddr::new(ip, port), inode: fields.get(9)?.parse().ok()? })
    })
    .collect()
}

/// Words of 32 bits in the machine's order, of bytes in the network's.
fn parse_hex_ip(hex: &str) -> Option<IpAddr> {
    let words = hex.as_bytes().chunks(8).map(|word| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok());
    let words: Vec<u8> = words.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_ne_bytes).collect();
    match words.len() {
        4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(&words[..]).ok()?).into()),
        16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(&words[..]).ok()?).into()),
        _ => None,
    }
}

/// Address to connect to where everything is listened to.
fn connectable_address(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Does something in the network namespace of a process. Error: `not-permitted` for another namespace, which takes
/// root.
pub(super) fn run_in_network_namespace_of<T: Send>(
    process: &Process,
    act: impl FnOnce() -> T + Send,
) -> Result<T, Refusal> {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let of_process = namespace(&process.pid.to_string());
    // What cannot be read is tried here.
    if of_process.is_none() || of_process == namespace("self") {
        return Ok(act());
    }
    let path = process.proc_path("ns/net");
    // A thread of its own enters the namespace, and ends with it.
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            let namespace = fs::File::open(&path).map_err(|error| process.unreadable_refusal(error))?;
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).map_err(|error| {
                Refusal::system(&format!("process {} has a network of its own", process.pid), error)
                    .with_hint("root can enter it")
            })?;
            Ok(act())
        });
        done.join().unwrap_or_else(|_| Err(Refusal::new(RefusalCode::System, "a thread has ended")))
    })
}

/// Connects to an address of a process, in its network namespace. Without a process: in ours. Error: `not-permitted`
/// for another namespace, which takes root; what the system says.
pub(super) fn connect_tcp(process: Option<&Process>, address: SocketAddr) -> Result<TcpStream, Refusal> {
    let address = connectable_address(address);
    let connected = match process {
        Some(process) => {
            run_in_network_namespace_of(process, || TcpStream::connect_timeout(&address, CONNECT_TIMEOUT))?
        }
        None => TcpStream::connect_timeout(&address, CONNECT_TIMEOUT),
    };
    connected.map_err(|error: io::Error| Refusal::system(&address.to_string(), error))
}

const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Connects to a runtime's unix socket. One that stands still takes no connection, and once a few wait the next one
/// would wait for ever. Error: `TimedOut` when the other side takes no connection within `limit`; what the system says.
pub(super) fn connect_unix(path: impl AsRef<Path>, limit: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path.as_ref())?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let started = Instant::now();
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN | Errno::INTR) if started.elapsed() < limit => {
                std::thread::sleep(RETRY_INTERVAL.min(limit))
            }
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
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn own_ports_are_found_and_reached() {
        let process = Process::open(std::process::id()).expect("this process");
        for bound in ["127.0.0.1:0", "[::]:0"] {
            let Ok(listener) = std::net::TcpListener::bind(bound) else { continue };
            let address = listener.local_addr().expect("an address");
            assert!(
                listening_addresses(&process).contains(&address),
                "{address} in {:?}",
                listening_addresses(&process)
            );
            assert_eq!(holder_of_port(&process, address.port()), Some(process.pid));
            connect_tcp(Some(&process), address).expect("reached");
        }
    }

    #[test]
    fn tables_are_read_as_they_come() {
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:240D 00000000:0000 0A 0:0 00:0 00 0 0 777 1\n   \
                     1: 0100007F:0050 0:0 01 0:0 00:0 00 0 0 5 1\n   2: x 0 0A\n 3: 01:zz 0 0A 0 0 0 0 0 9";
        let found = listeners_in(table);
        let address = if cfg!(target_endian = "little") { "127.0.0.1:9229" } else { "1.0.0.127:9229" };
        assert_eq!(found, [ListeningSocket { address: address.parse().expect("an address"), inode: 777 }]);
    }

    #[test]
    fn a_full_queue_is_waited_for_until_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let limit = Duration::from_millis(50);
        assert_eq!(connect_unix(&path, limit).expect_err("none").kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).expect("bound");
        rustix::net::listen(&listener, 1).expect("a queue of two");
        let mut taken = Vec::new();
        let error = loop {
            match connect_unix(&path, limit) {
                Ok(stream) => taken.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), taken.len()), (io::ErrorKind::TimedOut, 2));
        let (_first, _) = listener.accept().expect("accepted");
        connect_unix(&path, limit).expect("there is room again");
    }
}
