//! The browser on a real terminal, which tmux is: what it shows against what its commands print, and what it leaves
//! behind. Nothing is waited for by the clock: each step waits for what it must see.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::cmd::{project, run, run_with_input};

const GAME: &str = "fixtures/xna_cf/pair_after.txt";
/// A loaded machine may take that long for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// tmux with one window; it ends with this.
struct Tmux {
    folder: tempfile::TempDir,
}

impl Tmux {
    /// Runs a line of shell in which `heapdump` is the binary. `None` where there is no tmux: that is said.
    fn start(columns: usize, lines: usize, line: &str) -> Option<Self> {
        if let Err(why) = Command::new("tmux").arg("-V").output() {
            let missing = std::fs::read_to_string(project("target/live/missing")).unwrap_or_default();
            let told = missing.lines().find(|line| line.starts_with("tmux")).map(str::to_string);
            crate::common::live::not_tested(&told.unwrap_or_else(|| format!("tmux: {why}")));
            return None;
        }
        let tmux = Tmux { folder: tempfile::tempdir().expect("a folder") };
        let bin = Path::new(env!("CARGO_BIN_EXE_heapdump")).parent().expect("a folder").display().to_string();
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let settings = ["TERM=xterm-256color", "LC_ALL=C.UTF-8", "HEAPDUMP_FILE="];
        let path = format!("PATH={path}");
        let sizes = ["-u", "-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &lines];
        let words = ["env", "-u", "NO_COLOR", settings[0], settings[1], settings[2], &path, "sh", "-c", line];
        let started = tmux.command().args(sizes).args(words).current_dir(project("")).status();
        assert!(started.expect("tmux starts").success());
        tmux.ask(&["set-option", "-g", "set-clipboard", "on"]);
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.folder.path().join("socket"));
        command
    }

    fn ask(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().expect("tmux answers");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as it should be.
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} is never seen:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn see(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    fn keys(&self, keys: &[&str]) {
        self.ask(&[&["send-keys"], keys].concat());
    }

    fn kept(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// The process of that name below the window's shell.
    fn browser(&self) -> i32 {
        let shell = self.ask(&["display-message", "-p", "#{pane_pid}"]);
        let begun = Instant::now();
        loop {
            let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", shell.trim()));
            if let Some(child) = children.unwrap_or_default().split_whitespace().next() {
                return child.parse().expect("a number");
            }
            assert!(begun.elapsed() < PATIENCE, "no browser");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

#[test]
fn it_needs_a_terminal() {
    let ran = run(&["explore", GAME]).expect_code(2);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("heapdump leaks") && ran.stderr.contains("heapdump report"));
    let ran = run_with_input(&["explore", "-"], b"x").expect_code(2);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("explore is for terminals"));
    let ran = run(&["explore", "-", "-"]).expect_code(2);
    assert!(ran.stderr.contains("standard input is one dump"));
}

/// Leaves in every way; afterwards the terminal is as it was.
#[test]
#[cfg(target_os = "linux")]
fn the_terminal_is_left_as_it_was() {
    for (how, code) in [("q", 0), ("C-c", 0), ("TERM", 143), ("HUP", 129), ("INT", 130), ("!", 101)] {
        let line = format!(
            "D=$(dirname $(echo $TMUX | cut -d, -f1)); stty -g > $D/before; HEAPDUMP_EXPLORE_PANIC=1 heapdump explore {GAME} \
             2> $D/errors; echo code $?; stty -g > $D/after; echo ended; sleep 1000"
        );
        let Some(tmux) = Tmux::start(100, 30, &line) else { return };
        tmux.see("1#1cadcb");
        let flags = ["display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"];
        assert_eq!(tmux.ask(&flags).trim(), "1 1 0");
        match how {
            "TERM" | "HUP" | "INT" => {
                let pid = tmux.browser().to_string();
                assert!(Command::new("kill").args(["-s", how, &pid]).status().expect("kill runs").success());
            }
            key => tmux.keys(&[key]),
        }
        let screen = tmux.see("ended");
        assert!(screen.contains(&format!("code {code}")), "{how}: {screen}");
        assert_eq!(tmux.ask(&flags).trim(), "0 0 1", "{how}");
        assert_eq!(tmux.kept("before"), tmux.kept("after"), "{how}");
        assert_eq!(tmux.kept("errors").contains("asked for by"), how == "!", "{}", tmux.kept("errors"));
    }
}

/// What is on the screen below the titles: figures are what a command prints with `--pretty`, and names are whole.
fn rows(screen: &str) -> Vec<String> {
    let is_title = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        line.starts_with("  ") && ["Retained", "Shallow", "Bytes"].iter().any(|title| first.ends_with(title))
    };
    let lines = screen.lines().skip_while(|line| !is_title(line));
    lines
        .skip(1)
        .take_while(|line| !line.starts_with("$ "))
        .map(str::to_string)
        .filter(|line| !line.is_empty())
        .collect()
}

/// Each view's command is run as it is copied, and names what the screen names, in that order.
#[test]
#[cfg(target_os = "linux")]
fn commands_print_what_is_on_the_screen() {
    const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    let trace = "fixtures/memory_infra/chromium66-heaps.trace.gz";
    let pair = "fixtures/xna_cf/pair_before.txt fixtures/xna_cf/pair_after.txt";
    // The dump, keys to the view, what it shows when it is there, and the column of names in CSV.
    let views: [(&str, &[&str], &str, &str); 18] = [
        (GAME, &[], "dominators", "id"),
        (GAME, &["s"], "--sort shallow", "id"),
        (GAME, &["s", "S"], "--reverse", "id"),
        (GAME, &["Enter", "Enter"], "dominators -n 0 1#1cadbd", "id"),
        (GAME, &["j", "Enter", "t"], "breakdown", "name"),
        (GAME, &["t"], "breakdown --depth 1", "name"),
        (GAME, &["1"], "leaks", "id"),
        (GAME, &["2"], "stats --retained --sort retained", "type"),
        (GAME, &["2", "s"], "stats --retained", "type"),
        (GAME, &["2", "j", "Enter"], "list --sort retained", "id"),
        (GAME, &["4"], "--by package", "group"),
        (GAME, &["4", "Enter"], "--where", "type"),
        (GAME, &["j", "o"], "show", "id"),
        (GAME, &["j", "Enter", "p"], "roots --paths 5", "id"),
        (ZOO, &["2"], "stats --retained --sort retained", "type"),
        (ZOO, &["2", "Enter"], "list --sort retained", "id"),
        (pair, &[], "diff --retained", "type"),
        (trace, &["2"], "stats", "type"),
    ];
    for (dumps, keys, sign, column) in views {
        let Some(tmux) = Tmux::start(220, 40, &format!("heapdump explore {dumps}")) else { return };
        let is_there = |screen: &str| {
            let command = screen.lines().rev().find(|line| line.starts_with("$ ")).unwrap_or_default();
            command.contains(sign) && rows(screen).len() > 1 && !screen.contains("  …\n")
        };
        tmux.until("the first view", |screen| screen.contains("$ heapdump") && rows(screen).len() > 1);
        for key in keys {
            // Every key changes the command or the place in the list; keys pressed before the list is there are lost.
            let line_of = |screen: &str| screen.lines().rev().find(|line| line.starts_with("$ ")).map(str::to_string);
            let before = line_of(&tmux.screen());
            tmux.keys(&[key]);
            let is_there = |screen: &str| line_of(screen) != before && !rows(screen).is_empty();
            tmux.until(&format!("what {key} does"), |screen| is_there(screen) && !screen.contains("  …\n"));
        }
        tmux.until(sign, is_there);
        tmux.keys(&["e"]);
        tmux.see("copied: heapdump");
        let command = tmux.ask(&["show-buffer"]);
        assert!(command.starts_with("heapdump ") && command.contains(sign), "{command}");
        let bin = env!("CARGO_BIN_EXE_heapdump");
        let line = command.trim_end().replacen("heapdump", bin, 1);
        let output = Command::new("sh")
            .args(["-c", &format!("{line} -q -f csv")])
            .env_remove("HEAPDUMP_FILE")
            .current_dir(project(""))
            .output()
            .expect("sh runs");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let table = String::from_utf8(output.stdout).expect("UTF-8");
        let names = names_in(&table, column);
        assert!(!names.is_empty(), "{command} prints no {column}:\n{table}");
        // What is said of one object is in an order of its own. Another order may still be on its way.
        let is_ordered = sign != "show";
        tmux.until(&format!("what {command} prints:\n{table}"), |screen| {
            let shown = rows(screen);
            let mut left = &shown[..];
            names.iter().take(20).filter(|name| !name.is_empty()).all(|name| {
                let is_it =
                    |row: &String| row.split_whitespace().any(|word| word == name) || row.contains(name.as_str());
                let at = left.iter().position(is_it);
                left = at.map_or(&[][..], |at| if is_ordered { &left[at + 1..] } else { &shown });
                at.is_some()
            })
        });
    }
}

/// The values of a column of CSV: of trees those of the lowest level, of objects without the one that was asked for.
fn names_in(table: &str, column: &str) -> Vec<String> {
    let mut rows = csv_rows(table);
    let titles = rows.next().expect("titles");
    let place = |column: &str| titles.iter().position(|title| title == column);
    let at = place(column).unwrap_or_else(|| panic!("no {column} in {titles:?}"));
    let rows: Vec<Vec<String>> = rows.collect();
    let level = |row: &Vec<String>| place("level").or(place("depth")).and_then(|level| row[level].parse::<u32>().ok());
    let lowest = rows.iter().map(level).max().flatten();
    let is_other = |row: &Vec<String>| place("relation").is_none_or(|relation| row[relation] != "object");
    let rows = rows.iter().filter(|row| level(row) == lowest && is_other(row));
    rows.map(|row| row[at].clone()).filter(|name| !["<self>", "<other>"].contains(&name.as_str())).collect()
}

/// Rows of CSV without line ends in fields.
fn csv_rows(table: &str) -> impl Iterator<Item = Vec<String>> {
    table.lines().map(|line| {
        let (mut fields, mut is_quoted) = (vec![String::new()], false);
        for ch in line.chars() {
            match ch {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(String::new()),
                ch => fields.last_mut().expect("a field").push(ch),
            }
        }
        fields
    })
}

/// A dump on standard input is read while keys come from the terminal.
#[test]
#[cfg(target_os = "linux")]
fn a_dump_from_a_pipe_leaves_the_keys() {
    let Some(tmux) = Tmux::start(100, 30, &format!("cat {GAME} | heapdump explore -; echo code $?; sleep 1000")) else {
        return;
    };
    tmux.see("1#1cadcb");
    tmux.keys(&["2"]);
    tmux.see("Texture2D");
    tmux.keys(&["q"]);
    tmux.see("code 0");
}

/// Reading is ended at once, by a key and by the end of the terminal; so is browsing.
#[test]
#[cfg(target_os = "linux")]
fn it_ends_while_it_reads_and_when_the_terminal_is_gone() {
    for (dump, sign) in [("slow", "reading"), (GAME, "1#1cadcb")] {
        for how in ["q", "gone"] {
            // A pipe that never ends is a dump that is read for ever.
            let line = format!(
                "D=$(dirname $(echo $TMUX | cut -d, -f1)); mkfifo $D/slow; (head -c 20000 {GAME}; exec sleep 1000) > $D/slow & \
                 cd $D; F={dump}; test $F = slow || F={}; heapdump explore $F; echo code $?; sleep 1000",
                project(GAME).display()
            );
            let Some(tmux) = Tmux::start(100, 30, &line) else { return };
            tmux.see(sign);
            if how == "q" {
                tmux.keys(&["q"]);
                tmux.see("code 0");
                continue;
            }
            let pids = std::fs::read_dir("/proc").expect("processes").filter_map(|entry| {
                let path = entry.ok()?.path();
                let words = std::fs::read(path.join("cmdline")).ok()?;
                let folder = std::fs::read_link(path.join("cwd")).ok()?;
                let is_ours = folder == tmux.folder.path() && String::from_utf8_lossy(&words).contains("explore");
                (is_ours && !words.starts_with(b"sh")).then(|| path.clone())
            });
            let pids: Vec<_> = pids.collect();
            assert!(!pids.is_empty());
            tmux.ask(&["kill-server"]);
            let begun = Instant::now();
            while pids.iter().any(|path| is_running(path)) {
                assert!(begun.elapsed() < PATIENCE, "{pids:?} lives on without a terminal");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// A process that nobody has waited for yet has ended all the same.
fn is_running(path: &Path) -> bool {
    let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

#[test]
#[cfg(target_os = "linux")]
fn it_is_suspended_resized_and_goes_on() {
    let line = format!(
        "export D=$(dirname $(echo $TMUX | cut -d, -f1)); bash --norc -i -c \
         'set -m; heapdump explore {GAME}; echo back > $D/back; fg; echo code $?; sleep 1000'"
    );
    let Some(tmux) = Tmux::start(100, 30, &line) else { return };
    tmux.see("1#1cadcb");
    tmux.keys(&["j", "j"]);
    tmux.see(" 3/98");
    for (columns, lines) in [("40", "30"), ("40", "8"), ("20", "4"), ("200", "50"), ("100", "30")] {
        tmux.ask(&["resize-window", "-x", columns, "-y", lines]);
        tmux.see(if columns == "20" { "needs 40 x 8" } else { "3/98" });
    }
    tmux.keys(&["C-z"]);
    tmux.until("the shell", |_| !tmux.kept("back").is_empty());
    tmux.see(" 3/98");
    tmux.keys(&["q"]);
    tmux.see("code 0");
}

/// An index that is cut while it is looked at ends the program (SIGBUS), after the terminal was put right.
#[test]
#[cfg(target_os = "linux")]
fn a_cut_index_leaves_the_terminal_as_it_was() {
    let line = format!(
        "D=$(dirname $(echo $TMUX | cut -d, -f1)); cp {GAME} $D/game.txt; heapdump index -q $D/game.txt; stty -g > $D/before; \
         heapdump explore $D/game.txt 2> $D/errors; echo code $?; stty -g > $D/after; echo ended; sleep 1000"
    );
    let Some(tmux) = Tmux::start(100, 30, &line) else { return };
    tmux.see("1#1cadcb");
    let index = std::fs::File::options().write(true).open(tmux.folder.path().join("game.txt.hdx"));
    index.expect("an index").set_len(4096).expect("cut");
    tmux.keys(&["2"]);
    let screen = tmux.see("ended");
    assert!(screen.contains("code 135"), "{screen}");
    assert_eq!(
        tmux.ask(&["display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"]).trim(),
        "0 0 1"
    );
    assert_eq!(tmux.kept("before"), tmux.kept("after"));
}

/// More keys than any buffer on the way holds: none is lost.
#[test]
#[cfg(target_os = "linux")]
fn many_keys_at_once_are_all_followed() {
    let Some(tmux) = Tmux::start(100, 30, &format!("heapdump explore {GAME}")) else { return };
    tmux.see("1#1cadcb");
    // Far from both ends: one key too few, and it is another row.
    tmux.ask(&["set-buffer", &"j".repeat(50)]);
    tmux.ask(&["paste-buffer"]);
    tmux.see(" 51/98");
    tmux.ask(&["set-buffer", &format!("{}j", "kj".repeat(1500))]);
    tmux.ask(&["paste-buffer"]);
    tmux.see(" 52/98");
}
