//! Runs the real binary.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a run gave.
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Ran {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\nstdout: {}\nstderr: {}", self.stdout, self.stderr))
    }

    /// Fails with both outputs unless the exit code is this.
    pub fn expect_code(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// A file under the project's root.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The binary with these arguments, in the project's root, without the user's settings.
pub fn heapdump(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapdump"));
    command.args(args).current_dir(project("")).env_remove("HEAPDUMP_FILE").env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn finish(mut command: Command) -> Ran {
    let output = command.output().expect("the binary starts");
    Ran {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// Runs the binary with these arguments.
pub fn run(args: &[&str]) -> Ran {
    finish(heapdump(args))
}

/// Runs it with bytes on standard input.
pub fn run_with_input(args: &[&str], input: &[u8]) -> Ran {
    let mut child = heapdump(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // The program may end before it has read all: that is its right.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("writes");
    Ran {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// Fails where the work for a text of half a million parts and more is not linear: quadratic work takes the processor minutes,
/// linear work a second or two; 20 seconds are allowed.
pub fn assert_linear(label: &str, args: &[&str], text: &[u8]) {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -t 20; \"$@\" > /dev/null 2>&1; echo $?", "sh", env!("CARGO_BIN_EXE_heapdump")])
        .args(args);
    command.env_remove("HEAPDUMP_FILE").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("a shell");
    // The program may end before it has read all.
    drop(child.stdin.take().expect("piped").write_all(text));
    let output = child.wait_with_output().expect("the shell ends");
    let code = String::from_utf8_lossy(&output.stdout).trim().to_string();
    assert!(["0", "2"].contains(&code.as_str()), "{label}: ended with {code}");
}

/// Runs a line of shell in which `heapdump` is the binary, on a terminal of that many columns, which `script` makes. Progress,
/// which a slow machine shows, is cleared before a line is written in its place: it is left out.
pub fn run_on_terminal(line: &str, columns: usize) -> Ran {
    let ran = run_on_terminal_with_progress(line, columns);
    let lines = ran.stdout.split('\n').map(|line| line.rsplit('\r').next().unwrap_or(line));
    Ran { stdout: lines.collect::<Vec<_>>().join("\n"), ..ran }
}

/// The same with all that was ever drawn.
pub fn run_on_terminal_with_progress(line: &str, columns: usize) -> Ran {
    let bin = Path::new(env!("CARGO_BIN_EXE_heapdump")).parent().expect("a folder").display().to_string();
    let mut command = Command::new("script");
    command
        .args(["-qec", &format!("stty cols {columns} rows 50; {line}"), "/dev/null"])
        .current_dir(project(""))
        .env_remove("HEAPDUMP_FILE")
        .env("SHELL", "/bin/sh")
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .env("PATH", format!("{bin}:{}", std::env::var("PATH").unwrap_or_default()))
        .stdin(Stdio::null());
    let output = command.output().expect("the `script` program of util-linux, which makes a terminal");
    Ran {
        stdout: String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// The commands of the program, as its help lists them.
pub fn commands() -> Vec<String> {
    let help = run(&["--help"]).expect_code(0).stdout;
    let lists = help.split("\nOptions:").next().expect("commands");
    let lines = lists.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names: Vec<String> = lines
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(String::from)
        .collect();
    assert!(names.len() >= 13, "{names:?}");
    names
}
