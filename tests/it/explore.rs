//! The browser on a real terminal, which tmux is: what it shows against what its commands print, and what it leaves
//! behind. Nothing is waited for by the clock: each step waits for what it must see.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::cmd::{heapdump, project, run, run_with_input};
use crate::common::live::not_installed;
#[cfg(target_os = "linux")]
use crate::common::pty::Pty;

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
        if Command::new("tmux").arg("-V").output().is_err() {
            not_installed("tmux");
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

/// The browser with a dump of some hundred rows.
fn heapdump_on_terminal() -> Command {
    let mut command = heapdump(&["explore", GAME]);
    command.env("LC_ALL", "C.UTF-8");
    command
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
        line.starts_with("  ")
            && ["Retained", "Shallow", "Bytes", "Held", "Growth"].iter().any(|title| first.ends_with(title))
    };
    let lines = screen.lines().skip_while(|line| !is_title(line));
    lines
        .skip(1)
        .take_while(|line| !line.starts_with("$ "))
        .map(str::to_string)
        .filter(|line| !line.is_empty())
        .collect()
}

/// A view: the dumps, the keys that lead to it, what its command has then, and the columns of CSV that have the names
/// and the first figures of its rows; none where the names on the screen are put together.
struct Shown {
    dumps: &'static str,
    keys: &'static str,
    sign: &'static str,
    name: &'static str,
    figure: &'static str,
}

const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
const TRACE: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";
const MANY_HEAPS: &str = "fixtures/memory_infra/chromium120-heaps_v2.trace.gz";
const NET: &str = "fixtures/gcdump/small-net9.gcdump.zst";
const STACKS: &str = "fixtures/v8_snapshot/allocations.heapsnapshot";
const PAIR: &str = "fixtures/xna_cf/pair_before.txt fixtures/xna_cf/pair_after.txt";

fn views() -> Vec<Shown> {
    let rows: &[[&'static str; 5]] = &[
        [GAME, "", "dominators -n 0", "id", "retained_bytes"],
        [GAME, "s", "dominators --sort shallow", "id", "retained_bytes"],
        [GAME, "s s", "dominators --sort objects", "id", "retained_bytes"],
        [GAME, "s S", "--reverse", "id", "retained_bytes"],
        [
            GAME,
            "/ List Enter",
            "list --sort retained -n 0 --type List --where 'dominator is null",
            "id",
            "retained_bytes",
        ],
        [GAME, "Enter", "dominators -n 0 1#1cadcb", "id", "retained_bytes"],
        [GAME, "j Enter Enter Enter / Screen Enter", "--where \"dominator = ", "id", "retained_bytes"],
        [GAME, "t", "breakdown --depth 1", "name", "bytes"],
        [GAME, "t s", "breakdown --depth 1 --min-bytes 0 --sort allocations", "name", "bytes"],
        [GAME, "t S", "breakdown --depth 1 --min-bytes 0 --reverse", "name", "bytes"],
        [GAME, "t / Component1 Enter", "stats --retained --sort retained", "type", "retained_bytes"],
        [GAME, "t Enter", "list --sort retained", "id", "retained_bytes"],
        [GAME, "j Enter t", "breakdown --depth 1 --min-bytes 0 -n 0 1#1c87d9", "name", "bytes"],
        [GAME, "1", "leaks", "id", "retained_bytes"],
        [GAME, "2", "stats --retained --sort retained", "type", "retained_bytes"],
        [GAME, "2 s", "stats --retained", "type", "retained_bytes"],
        [GAME, "2 s s S", "--sort objects --reverse", "type", "retained_bytes"],
        [GAME, "2 / /Screen$/ Enter", "--type '/Screen$/'", "type", "retained_bytes"],
        [GAME, "2 j Enter", "list --sort retained", "id", "retained_bytes"],
        [GAME, "2 j Enter s S", "list --reverse", "id", "retained_bytes"],
        [GAME, "2 Enter / Texture Enter", "--where", "id", "retained_bytes"],
        [GAME, "2 j p", "roots", "type", "retained_bytes"],
        [GAME, "4", "--by package", "group", "retained_bytes"],
        [GAME, "4 / Menu Enter", "--where \"package ~ ", "group", "retained_bytes"],
        [GAME, "4 Enter", "--where \"package = ", "type", "retained_bytes"],
        [NET, "4 j j Enter", "package is null and module = ", "type", "retained_bytes"],
        [GAME, "4 g", "--by domain", "group", "retained_bytes"],
        [GAME, "4 g j Enter", "--domain 2", "type", "retained_bytes"],
        [GAME, "j o", "show", "id", ""],
        [GAME, "j Enter p", "roots --paths 5", "id", ""],
        [ZOO, ": 0xfd5ff1c0 Enter p +", "roots --paths 10", "id", ""],
        [ZOO, "2", "stats --retained --sort retained", "type", "retained_bytes"],
        [ZOO, "2 Enter", "list --sort retained", "id", "retained_bytes"],
        [ZOO, "/ HashMap Enter", "list --sort retained", "id", "retained_bytes"],
        [PAIR, "", "diff --retained", "type", "shallow_bytes_delta"],
        [PAIR, "s", "diff --retained --sort retained", "type", "shallow_bytes_delta"],
        [PAIR, "/ Bubble Enter", "--type Bubble", "type", "shallow_bytes_delta"],
        [PAIR, "t", "diff --paths", "", "retained_bytes_delta"],
        [PAIR, "t t", "diff --roots", "", "held_bytes_delta"],
        [PAIR, "1", "leaks", "id", "retained_bytes"],
        [TRACE, "", "breakdown --depth 0", "", "bytes"],
        [TRACE, "j Enter", "breakdown --depth 1 -n 0 --dump 8 --process 4341", "name", "bytes"],
        [TRACE, "j Enter Enter", "--below '[Thread: subprocess]'", "name", "bytes"],
        [TRACE, "j Enter Enter Enter", "--below '[Thread: subprocess];MessageLoop::RunTask'", "name", "bytes"],
        [TRACE, "2", "stats", "type", "total_bytes"],
        [MANY_HEAPS, "", "breakdown --depth 0", "", "bytes"],
        [MANY_HEAPS, "Enter", "--process '24680 #1'", "name", "bytes"],
        [MANY_HEAPS, "j j Enter", "--process '24680 #4'", "name", "bytes"],
        [STACKS, "t", "stats --retained", "type", "retained_bytes"],
        [STACKS, "", "dominators -n 0", "id", "retained_bytes"],
    ];
    rows.iter().map(|&[dumps, keys, sign, name, figure]| Shown { dumps, keys, sign, name, figure }).collect()
}

/// Each view's command is run as it is copied, and names what the screen names, with its figures, in that order.
#[test]
#[cfg(target_os = "linux")]
fn commands_print_what_is_on_the_screen() {
    for view in views() {
        let Some(tmux) = Tmux::start(220, 40, &format!("heapdump explore {}", view.dumps)) else { return };
        tmux.until("the first view", |screen| screen.contains("$ heapdump") && rows(screen).len() > 1);
        // Sizes as bytes; and keys at once: those for a list that is not there yet wait for it.
        tmux.keys(&[&["m"], &view.keys.split_whitespace().collect::<Vec<_>>()[..]].concat());
        let what = format!("{} {}: {}", view.dumps, view.keys, view.sign);
        tmux.until(&what, |screen| {
            let command = screen.lines().rev().find(|line| line.starts_with("$ ")).unwrap_or_default();
            command.contains(view.sign) && !rows(screen).is_empty() && !screen.contains("  … going through")
        });
        tmux.keys(&["e"]);
        tmux.see("copied: heapdump");
        let command = tmux.ask(&["show-buffer"]);
        assert!(command.starts_with("heapdump ") && command.contains(view.sign), "{what}: {command}");
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
        let printed = printed(&table, &view);
        assert!(!printed.is_empty(), "{command} prints no {}:\n{table}", view.name);
        // What is said of one object is in an order of its own. Another order may still be on its way.
        let is_ordered = view.sign != "show";
        tmux.until(&format!("what {command} prints:\n{table}"), |screen| {
            let shown = rows(screen);
            let mut left = &shown[..];
            printed.iter().take(20).all(|printed| {
                let at = left.iter().position(|row| is_row(row, printed));
                left = at.map_or(&[][..], |at| if is_ordered { &left[at + 1..] } else { &shown });
                at.is_some()
            })
        });
    }
}

/// Is it on the screen as it is printed: the figure first, the name somewhere behind?
fn is_row(row: &str, (name, figure): &(String, String)) -> bool {
    let first = row.split_whitespace().next().unwrap_or_default().replace(',', "");
    let has_figure = figure.is_empty() || first.trim_start_matches('+') == figure;
    has_figure && (row.split_whitespace().any(|word| word == name) || row.contains(name.as_str()))
}

/// The names and figures of CSV: of trees those of the lowest level, of objects without the one that was asked for.
fn printed(table: &str, view: &Shown) -> Vec<(String, String)> {
    let mut rows = csv_rows(table);
    let titles = rows.next().expect("titles");
    let place = |column: &str| titles.iter().position(|title| title == column);
    let needed = |column: &str| match place(column) {
        None if !column.is_empty() => panic!("no {column} in {titles:?}"),
        place => place,
    };
    let (name, figure) = (needed(view.name), needed(view.figure));
    let rows: Vec<Vec<String>> = rows.collect();
    let is_merged = view.keys.ends_with(" p") && view.sign == "roots";
    let level = |row: &Vec<String>| place("level").or(place("depth")).and_then(|level| row[level].parse::<u32>().ok());
    let lowest = rows.iter().map(level).max().flatten();
    let is_other = |row: &Vec<String>| place("relation").is_none_or(|relation| row[relation] != "object");
    // From a loader to a class it is one step on the screen.
    let is_before_class = |at: usize| {
        place("path").zip(place("reference")).is_some_and(|(path, reference)| {
            let of_path = rows[at.saturating_sub(1)..].iter().filter(|row| row[path] == rows[at][path]);
            of_path.into_iter().any(|row| row[reference] == ".classes")
        })
    };
    let rows = rows.iter().enumerate().filter(|(at, _)| !is_before_class(*at)).map(|(_, row)| row);
    let rows = rows.filter(|row| (is_merged || level(row) == lowest) && is_other(row));
    let text = |row: &Vec<String>, at: Option<usize>| at.map_or(String::new(), |at| row[at].clone());
    // The root of a merged path has a line of its own.
    let own = |name: String| if is_merged { name.split(" <- ").next().unwrap_or_default().to_string() } else { name };
    let rows = rows.map(|row| (own(text(row, name)), text(row, figure)));
    let is_own = |name: &str| !["<self>", "<other>"].contains(&name);
    rows.filter(|(name, figure)| is_own(name) && !(name.is_empty() && figure.is_empty())).collect()
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
        // The window is drawn anew: a screen of before has fewer columns, or other lines.
        tmux.until("the new size", |screen| match columns {
            "20" => screen.starts_with("needs 40 x 8"),
            _ => {
                let lines: Vec<&str> = screen.lines().collect();
                let command = lines.iter().position(|line| line.starts_with("$ "));
                let place = command.map_or("", |at| lines[at]);
                let end = place.chars().count();
                command == lines.len().checked_sub(2)
                    && place.ends_with(" 3/98")
                    && end == columns.parse::<usize>().unwrap()
            }
        });
    }
    tmux.keys(&["C-z"]);
    tmux.until("the shell", |_| !tmux.kept("back").is_empty());
    tmux.see(" 3/98");
    tmux.keys(&["q"]);
    tmux.see("code 0");
}

/// Sizes that come and go while it draws leave nothing of theirs behind; nor does what others write to the terminal.
#[test]
#[cfg(target_os = "linux")]
fn what_is_left_of_other_sizes_goes() {
    let Some(tmux) = Tmux::start(100, 30, &format!("heapdump explore {GAME}")) else { return };
    tmux.see("1#1cadcb");
    let before = tmux.screen();
    for round in 0..10 {
        for (columns, lines) in
            [("40", "30"), ("8", "8"), ("200", "50"), ("100", "30"), ("40", "8"), ("30", "5"), ("100", "30")]
        {
            tmux.ask(&["resize-window", "-x", columns, "-y", lines]);
            std::thread::sleep(Duration::from_millis(7 * (round % 4)));
        }
        tmux.until("the screen of before", |screen| screen == before);
    }
    let tty = tmux.ask(&["display-message", "-p", "#{pane_tty}"]);
    std::fs::write(tty.trim(), "\x1b[5;5Hdirt\x1b[31m").expect("written");
    tmux.see("dirt");
    tmux.keys(&["C-l"]);
    tmux.until("the screen of before", |screen| screen == before);
}

/// A terminal that takes nothing more, with its other end still there: a signal ends the program all the same.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_that_takes_nothing_holds_nobody_up() {
    let mut pty = Pty::start(heapdump_on_terminal(), (200, 50)).expect("a terminal");
    let begun = Instant::now();
    while !String::from_utf8_lossy(&pty.drawn).contains("1#1cadcb") {
        assert!(begun.elapsed() < PATIENCE, "{}", String::from_utf8_lossy(&pty.drawn));
        pty.until_quiet(Instant::now(), Duration::from_millis(500)).expect("drawn");
    }
    // Each key draws the whole screen anew; nobody reads it. What a terminal keeps is 64 KiB and less.
    for _ in 0..400 {
        pty.type_keys(b"G").expect("typed");
        std::thread::sleep(Duration::from_millis(2));
        pty.type_keys(b"g").expect("typed");
        std::thread::sleep(Duration::from_millis(2));
    }
    let stat = Path::new("/proc").join(pty.child.id().to_string());
    assert!(is_running(&stat));
    let pid = pty.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().expect("kill runs").success());
    let begun = Instant::now();
    while pty.child.try_wait().expect("a state").is_none() {
        assert!(begun.elapsed() < PATIENCE, "it waits for a terminal that takes nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An index that is cut while it is looked at ends the program (SIGBUS), after the terminal was put right.
#[test]
#[cfg(target_os = "linux")]
fn a_cut_index_leaves_the_terminal_as_it_was() {
    let line = format!(
        "D=$(dirname $(echo $TMUX | cut -d, -f1)); cp {GAME} $D/game.txt; stty -g > $D/before; \
         heapdump explore $D/game.txt; heapdump explore $D/game.txt 2> $D/errors; echo code $?; stty -g > $D/after; echo ended; sleep 1000"
    );
    let Some(tmux) = Tmux::start(100, 30, &line) else { return };
    tmux.see("1#1cadcb");
    // Written on request, once; the browser after it reads it.
    tmux.keys(&["w"]);
    tmux.see("wrote ");
    tmux.keys(&["w"]);
    tmux.see("there is a fresh index already");
    tmux.keys(&["q"]);
    tmux.until("the browser after it", |screen| screen.contains("1#1cadcb") && !screen.contains("fresh index"));
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

/// The browser begins anew without an index that turns out damaged, and has all keys.
#[test]
fn a_damaged_index_is_left_for_the_dump() {
    // The dominator tree lies there, which is looked at when it is asked for.
    let line = format!(
        "D=$(dirname $(echo $TMUX | cut -d, -f1)); cp {ZOO} $D/zoo.zst; heapdump index -q $D/zoo.zst; \
         AT=$(($(wc -c < $D/zoo.zst.hdx) * 3 / 4)); \
         printf 'damage' | dd of=$D/zoo.zst.hdx bs=1 seek=$AT conv=notrunc 2> $D/dd; \
         heapdump explore $D/zoo.zst 2> $D/errors; echo ended; sleep 1000"
    );
    let Some(tmux) = Tmux::start(100, 30, &line) else { return };
    let path = tmux.folder.path().join("errors");
    tmux.until("a note", |_| std::fs::read_to_string(&path).is_ok_and(|note| note.contains("damaged")));
    tmux.see("0xfd5bf118");
    // None of them is another reader's.
    tmux.keys(&["2", "j", "j", "j"]);
    tmux.until("the fourth type", |screen| screen.contains("\ntypes\n") && screen.contains(" 4/"));
    tmux.keys(&["q"]);
    tmux.see("ended");
    assert_eq!(tmux.kept("errors").lines().count(), 1, "{}", tmux.kept("errors"));
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
