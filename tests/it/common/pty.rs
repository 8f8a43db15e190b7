//! A terminal whose other end is the caller's: what is typed, and what is drawn. For tests, and for the benchmark.

use std::fs::File;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A program on a terminal of its own; it is killed with this.
pub struct Pty {
    terminal: OwnedFd,
    pub child: Child,
    /// All that was drawn, as far as it was read.
    pub drawn: Vec<u8>,
}

impl Pty {
    /// Starts a program on a terminal of so many columns and lines.
    pub fn start(mut command: Command, (columns, lines): (u16, u16)) -> io::Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        let name = ptsname(&terminal, Vec::new())?.into_string().map_err(|_| io::ErrorKind::InvalidData)?;
        tcsetwinsize(&terminal, Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
        let program_end = File::options().read(true).write(true).open(name)?;
        command.stdin(program_end.try_clone()?).stdout(program_end).stderr(Stdio::null()).env("TERM", "xterm-256color");
        Ok(Pty { terminal, child: command.spawn()?, drawn: Vec::new() })
    }

    /// Types.
    pub fn type_keys(&self, mut keys: &[u8]) -> io::Result<()> {
        while !keys.is_empty() {
            keys = &keys[rustix::io::write(&self.terminal, keys)?..];
        }
        Ok(())
    }

    /// Reads what is drawn until nothing more comes for so long. Gives the time of the last bytes, from `since`.
    pub fn until_quiet(&mut self, since: Instant, quiet: Duration) -> io::Result<Duration> {
        let mut last = Duration::ZERO;
        let limit = Timespec { tv_sec: quiet.as_secs() as i64, tv_nsec: i64::from(quiet.subsec_nanos()) };
        loop {
            let mut polled = [PollFd::new(&self.terminal, PollFlags::IN)];
            if poll(&mut polled, Some(&limit))? == 0 {
                return Ok(last);
            }
            let mut buffer = [0; 1 << 16];
            let count = rustix::io::read(&self.terminal, &mut buffer)?;
            last = since.elapsed();
            self.drawn.extend_from_slice(&buffer[..count]);
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // It may have ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
