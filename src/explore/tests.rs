//! The browser without a terminal: keys in, screens out. Golden screens are in `tests/screens`;
//! `HEAPDUMP_UPDATE=1` writes them anew.

mod keys_tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use unicode_width::UnicodeWidthStr;

use super::draw::draw_screen;
use super::input_events::{KeyPress, Mouse};
use super::listing::RowTarget;
use super::load_progress::ReadProgress;
use super::screen_cells::{Rect, ScreenBuffer, ScreenCell};
use super::setup::{BrowsedDumps, ScreenLook};
use super::state::{BrowserMessage, BrowserState};
use super::tasks::{BrowserWorker, Task, TaskResult};
use super::view::{BrowserView, CommandContext, Tab};
use crate::dump::Phase;

const PAIR: [&str; 2] = ["fixtures/xna_cf/pair_before.txt", "fixtures/xna_cf/pair_after.txt"];
const GAME: [&str; 1] = ["fixtures/xna_cf/pair_after.txt"];
const ZOO: [&str; 1] = ["fixtures/hprof/zoo-jdk21-serial.hprof.zst"];
const NET: [&str; 1] = ["fixtures/gcdump/small-net9.gcdump.zst"];
const V8: [&str; 1] = ["fixtures/v8_snapshot/page156.heapsnapshot.zst"];
const TRACE: [&str; 1] = ["fixtures/memory_infra/chromium66-heaps.trace.gz"];
const COLORS: ScreenLook = ScreenLook { has_color: true, is_ascii_only: false };

/// A browser whose workers answer at once.
struct Driver {
    state: BrowserState,
    worker: BrowserWorker,
    answers: Arc<Mutex<Vec<TaskResult>>>,
    copied: Vec<String>,
    is_over: bool,
}

impl Driver {
    fn new(paths: &[&str], size: (u16, u16), look: ScreenLook) -> Self {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let open = |path: &PathBuf| -> &'static crate::OpenDump { Box::leak(Box::new(crate::open(path).unwrap())) };
        let mut dumps = paths.iter().map(open).rev();
        let dumps = BrowsedDumps { new: dumps.next().unwrap(), old: dumps.next() };
        let answers: Arc<Mutex<Vec<TaskResult>>> = Arc::default();
        let kept = Arc::clone(&answers);
        let worker = BrowserWorker::new(dumps, None, move |answer| kept.lock().unwrap().push(answer));
        let state = BrowserState::new(CommandContext::new(paths, Vec::new()), look, (None, None), size);
        let mut driver = Driver { state, worker, answers, copied: Vec::new(), is_over: false };
        driver.msg(BrowserMessage::Opened(dumps));
        driver
    }

    fn msg(&mut self, msg: BrowserMessage) {
        let mut msgs = vec![msg];
        while let Some(msg) = msgs.pop() {
            for ask in self.state.update(msg) {
                match ask {
                    Task::Quit => self.is_over = true,
                    Task::CopyText(text) => self.copied.push(text),
                    ask => self.worker.answer_task(ask),
                }
            }
            let answers = std::mem::take(&mut *self.answers.lock().unwrap());
            msgs.splice(0..0, answers.into_iter().rev().map(BrowserMessage::Answer));
        }
    }

    /// Words are keys by name, `^d`, or texts that are typed.
    fn keys(&mut self, script: &str) -> &mut Self {
        for word in script.split_whitespace() {
            let key = match word {
                "Enter" => KeyPress::Enter,
                "Esc" => KeyPress::Escape,
                "Back" => KeyPress::Backspace,
                "End" => KeyPress::End,
                "PgDn" => KeyPress::PageDown,
                _ => {
                    match word.strip_prefix('^').and_then(|rest| rest.chars().next()) {
                        Some(ch) => self.msg(BrowserMessage::Key(KeyPress::Ctrl(ch))),
                        None => word.chars().for_each(|ch| self.msg(BrowserMessage::Key(KeyPress::Char(ch)))),
                    }
                    continue;
                }
            };
            self.msg(BrowserMessage::Key(key));
        }
        self
    }

    fn buffer(&mut self) -> ScreenBuffer {
        let (width, height) = self.state.screen_size;
        let area = Rect { x: 0, y: 0, width, height };
        let mut buffer = ScreenBuffer::new(self.state.screen_size);
        draw_screen(&mut self.state, area, &mut buffer);
        buffer
    }

    /// The screen, without blanks at the ends of lines.
    fn screen(&mut self) -> String {
        let line = |cells: &[ScreenCell]| {
            format!("{}\n", cells.iter().flat_map(ScreenCell::chars).collect::<String>().trim_end())
        };
        self.buffer().lines().map(line).collect()
    }

    fn way(&self) -> Vec<String> {
        self.state.current_tab_frames().iter().map(|frame| frame.view.breadcrumb()).collect()
    }

    fn cursor(&self) -> usize {
        self.state.current_frame().unwrap().cursor
    }

    fn command(&self) -> String {
        self.state.print_command().unwrap()
    }
}

/// Compares a screen with the file of that name.
fn golden(name: &str, driver: &mut Driver) {
    let path = PathBuf::from("tests/screens").join(format!("{name}.txt"));
    let screen = driver.screen();
    if std::env::var_os("HEAPDUMP_UPDATE").is_some() {
        std::fs::create_dir_all("tests/screens").unwrap();
        std::fs::write(&path, &screen).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(screen == expected, "{name}: HEAPDUMP_UPDATE=1 writes it anew\n{screen}");
}

#[test]
fn every_view_looks_as_it_did() {
    let mut game = Driver::new(&GAME, (80, 24), COLORS);
    for (name, script) in [
        ("dominators", ""),
        ("dominators_below", "j Enter"),
        ("dominators_by_type", "t"),
        ("object", "b o"),
        ("paths", "j j p"),
        ("suspects", "1"),
        ("types", "2"),
        ("objects", "j Enter"),
        ("merged_paths", "b p"),
        ("find", "2 / Bubble*"),
        ("sorted", "Enter s"),
        ("packages", "4"),
        ("types_of_package", "j Enter"),
        ("help", "?"),
        ("help_below", "G"),
        ("go", "Esc j : 1#1cadbd Enter"),
    ] {
        golden(name, game.keys(script));
    }
    let mut pair = Driver::new(&PAIR, (100, 24), COLORS);
    for (name, script) in [
        ("growth", ""),
        ("growth_by_path", "t"),
        ("growth_by_root", "t"),
        ("suspects_since", "1"),
        ("grown_type", "5 t Enter"),
    ] {
        golden(name, pair.keys(script));
    }
    let mut zoo = Driver::new(&ZOO, (120, 30), COLORS);
    for (name, script) in [("java", ""), ("java_below", "Enter"), ("java_object", "o"), ("java_bytes", "3 m")] {
        golden(name, zoo.keys(script));
    }
    let mut trace = Driver::new(&TRACE, (80, 24), COLORS);
    for (name, script) in [("heaps", ""), ("heap", "Enter"), ("frames", "Enter"), ("allocated_types", "2")] {
        golden(name, trace.keys(script));
    }
}

/// Names of references and simple names of types are whole at every width, and nothing stands between their letters.
#[test]
fn names_are_whole_at_every_width() {
    let squeezed = |text: &str| text.chars().filter(|ch| !ch.is_whitespace()).collect::<String>();
    let mut seen = 0;
    // Names of C++ may be longer than the smallest screen has room for.
    let sizes: [((u16, u16), &[_]); 3] =
        [((80, 24), &[ZOO, NET, V8]), ((60, 24), &[ZOO, NET, V8]), ((40, 10), &[ZOO, NET])];
    for (size, dump) in sizes.into_iter().flat_map(|(size, dumps)| dumps.iter().map(move |dump| (size, *dump))) {
        let mut driver = Driver::new(&dump, size, COLORS);
        for script in ["", "Enter", "Enter", "o", "j j p", "2", "j Enter", "2 p", "1"] {
            let screen = driver.keys(script).screen();
            let frame = driver.state.current_frame().unwrap();
            let text = squeezed(&screen);
            for at in frame.first_shown_row..(frame.first_shown_row + frame.drawn_row_count).min(frame.rows.row_count) {
                let row = frame.row(at, driver.state.browser.as_ref()).unwrap();
                let reference = driver.state.current_frame().and_then(|frame| {
                    frame.view.holder_of_rows().and(frame.listing.as_ref()?.object_of_row(frame.rows.get(at)?))
                });
                let reference = reference.and_then(|node| driver.state.reference_names.of(node)).unwrap_or_default();
                seen += usize::from(!reference.is_empty() && reference != "…");
                for name in [row.reference.as_str(), reference, row.name.as_str()] {
                    let least = crate::names::fit_name(name, 0);
                    let mut words = least.split(|ch: char| !(ch.is_alphanumeric() || "_$".contains(ch)));
                    let missing = words.find(|word| !text.contains(word));
                    assert_eq!(missing, None, "{dump:?} {size:?} {script}: {name}\n{screen}");
                }
            }
            let body: Vec<&str> = screen.lines().skip(2).take(usize::from(size.1) - 4).collect();
            let cuts = body.iter().flat_map(|line| line.match_indices('…').map(|(at, _)| (*line, at)));
            let is_cut = |(line, at): (&str, usize)| line[..at].ends_with(|ch: char| ch.is_alphanumeric() || ch == '_');
            // Texts and addresses lose their middle.
            let cut = cuts.filter(|(line, _)| !line.contains('"') && !line.contains("://")).find(|cut| is_cut(*cut));
            assert_eq!(cut, None, "{dump:?} {size:?} {script}\n{screen}");
        }
    }
    assert!(seen > 10, "{seen} references");
}

#[test]
fn screens_of_every_size_and_kind() {
    for (name, size, look) in [
        ("narrow", (40, 10), COLORS),
        ("wide", (200, 50), COLORS),
        ("too_small", (39, 8), COLORS),
        ("ascii", (80, 24), ScreenLook { has_color: false, is_ascii_only: true }),
    ] {
        let mut game = Driver::new(&GAME, size, look);
        golden(name, game.keys("j Enter"));
        let buffer = game.buffer();
        let mut cells = buffer.lines().flatten();
        assert!(cells.any(|cell| cell.style.color.is_some()) == (look.has_color && name != "too_small"), "{name}");
        assert!(
            !look.is_ascii_only || buffer.lines().flatten().flat_map(ScreenCell::chars).all(|ch| ch.is_ascii()),
            "{name}"
        );
    }
}

#[test]
fn names_steer_no_terminal_and_columns_stay_straight() {
    for dump in ["tests/inputs/escape_xna.txt", "tests/inputs/escape_memory_infra.json"] {
        let mut hostile = Driver::new(&[dump], (400, 30), COLORS);
        let mut shown = String::new();
        for script in ["", "Enter", "o", "p", "1", "2", "Enter", "p", "3 t", "4", "Enter", "?", "? e", "Y"] {
            hostile.keys(script);
            shown += &hostile.screen();
            let buffer = hostile.buffer();
            let is_hostile = |ch: char| crate::escape::is_control_like(ch);
            let cell = buffer.lines().flatten().find(|cell| cell.chars().any(is_hostile));
            assert!(cell.is_none(), "{dump}, {script}: {cell:?}");
        }
        // They are not just left out: each stands there, escaped.
        for escaped in ["\\u{1b}", "\\u{202e}"] {
            assert!(shown.contains(escaped), "{dump}: no {escaped} in\n{shown}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.txt");
    let text = "a 1 App 1\nt 1 日本語のとても長い名前のクラス.日本語のとても長い名前のクラス日本\nt 2 Plain\no 10 1 20\no 20 2 10\nr 10 4 0 1\nr 20 4 0 1\n";
    std::fs::write(&path, text).unwrap();
    for width in 40..=110 {
        let mut wide = Driver::new(&[path.to_str().unwrap()], (width, 12), COLORS);
        let screen = wide.screen();
        // A long name takes more lines.
        let row = |number: usize, part: &str| screen.lines().skip(number).find(|line| line.contains(part)).unwrap();
        let rows = [row(3, "10"), row(4, "Plain")];
        let cells = |row: &str, end: &str| UnicodeWidthStr::width(&row[..row.find(end).unwrap()]);
        assert!(UnicodeWidthStr::width(rows[0]) <= width.into(), "{screen}");
        assert_eq!(cells(rows[0], "10"), cells(rows[1], "20"), "{screen}");
    }
}

#[test]
fn what_cannot_be_shown_is_said() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    assert!(game.keys("5").screen().contains("growth takes two dumps"));
    assert!(game.keys(": 12345 Enter").screen().contains("no object"));
    assert!(game.keys(": xyz Enter").screen().contains("is not an object id"));
    assert!(game.keys(": type").keys("^u Esc 2 r").screen().contains("would be freed with all of them"));
    let mut trace = Driver::new(&TRACE, (110, 30), COLORS);
    let mut state = BrowserState::new(trace.state.context.clone(), COLORS, (Some(Tab::Suspects), None), (110, 30));
    state.update(BrowserMessage::Opened(trace.state.dumps.unwrap()));
    assert!(state.status_note.is_some_and(|note| note.contains("these are the heaps")));
    assert!(trace.keys("3").screen().contains("dumps of allocation totals have no dominators"));
    let mut cut = Driver::new(&["fixtures/ibm_classic/seed-asprinted.txt"], (110, 30), COLORS);
    for script in ["", "1", "2", "4", "3"] {
        let screen = cut.keys(script).screen();
        assert!(screen.lines().nth(3).is_some_and(|line| !line.trim().is_empty()), "{script}: {screen}");
    }
    assert!(cut.screen().contains("inferred"));
}

#[test]
fn unreachable_objects_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lost.txt");
    std::fs::write(&path, "a 1 App 1\nt 1 A\nt 2 B\no 10 1 20\no 20 2 10 30\no 30 2 10\nr 10 4 0 1\n").unwrap();
    let mut lost = Driver::new(&[path.to_str().unwrap()], (110, 30), COLORS);
    let screen = lost.keys(": 20 Enter").screen();
    assert!(screen.contains("not reachable from any strong root") && screen.contains("Nothing holds it"), "{screen}");
    assert!(lost.keys("p").screen().contains("not reachable"), "{}", lost.screen());
}

/// While it is read, and before the dominator tree is there.
#[test]
fn waiting_is_shown() {
    let paths: Vec<PathBuf> = GAME.iter().map(PathBuf::from).collect();
    let mut state = BrowserState::new(CommandContext::new(paths, Vec::new()), COLORS, (None, None), (80, 24));
    let second = std::time::Duration::from_secs(1);
    let (phase, objects) = (Some(Phase::Reading), 12_345);
    let progress = ReadProgress {
        phase,
        elapsed: second,
        done_bytes: 1 << 20,
        total_bytes: 4 << 20,
        object_count: objects,
        file_number: 0,
    };
    assert!(state.update(BrowserMessage::ReadProgressed(progress)).is_empty());
    let mut buffer = ScreenBuffer::new((80, 24));
    draw_screen(&mut state, Rect { x: 0, y: 0, width: 80, height: 24 }, &mut buffer);
    let text: String = buffer.lines().flatten().flat_map(ScreenCell::chars).collect();
    let parts = ["1.0 MiB of 4.0 MiB", "pair_after.txt", "12,345 objects so far"];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    assert!(matches!(state.update(BrowserMessage::Key(KeyPress::Char('q')))[..], [Task::Quit]));
    // The first questions: the tree alone; the list that needs it waits, types do not.
    let dump: &'static crate::OpenDump = Box::leak(Box::new(crate::open(GAME[0]).unwrap()));
    let tasks = state.update(BrowserMessage::Opened(BrowsedDumps { new: dump, old: None }));
    assert!(matches!(tasks[..], [Task::ComputeDominators]), "{tasks:?}");
    let tasks = state.update(BrowserMessage::Key(KeyPress::Char('2')));
    assert!(matches!(tasks[..], [Task::MakeList(_, BrowserView::Types(None), _)]), "{tasks:?}");
}

#[test]
fn rows_are_written_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("rows.csv");
    let name = name.to_str().unwrap();
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    game.keys(&format!("x {name} Enter"));
    let text = std::fs::read_to_string(name).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("retained_bytes,shallow_bytes,objects,id,level,relation,name,details"));
    assert_eq!(
        lines.next(),
        Some("157244,24,517,1#1cadcb,,,System.Collections.Generic.List`1[[System.EventHandler]],")
    );
    assert_eq!(text.lines().count(), 1 + game.state.current_frame().unwrap().rows.row_count);
    // A name that is none is refused, whatever is there; what is there is replaced after a question alone.
    let other = folder.path().join("rows.txt");
    std::fs::write(&other, "mine").unwrap();
    let screen = game.keys(&format!("x {} Enter", other.display())).screen();
    assert!(screen.contains("the name ends with .csv or .json") && !screen.contains("replace it?"), "{screen}");
    std::fs::write(name, "mine").unwrap();
    assert!(game.keys(&format!("x {name} Enter")).screen().contains("replace it?"));
    game.keys("n");
    assert_eq!(std::fs::read_to_string(name).unwrap(), "mine");
    game.keys(&format!("x {name} Enter y"));
    assert_eq!(std::fs::read_to_string(name).unwrap(), text);
    let json = folder.path().join("rows.json");
    game.keys(&format!("2 x {} Enter", json.to_str().unwrap()));
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(value["schema"], "heapdump.explore/1");
    assert_eq!(value["rows"][0]["name"], "Microsoft.Xna.Framework.Graphics.Texture2D");
    // Of an object what holds it and what it refers to; not the titles between.
    let json = folder.path().join("object.json");
    game.keys(&format!(": 1#1c87d9 Enter x {} Enter", json.to_str().unwrap()));
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let rows = value["rows"].as_array().unwrap();
    assert!(game.screen().contains(&format!("wrote {} rows", rows.len())));
    let is_reference = |row: &serde_json::Value| row["relation"].as_str().is_some_and(|text| text.starts_with('→'));
    assert_eq!(rows.iter().filter(|row| is_reference(row)).count(), 2);
    assert!(rows.iter().all(|row| !row["name"].as_str().unwrap().contains("Who holds it")));
    // Paths have their roots and steps, suspects all of their lines, and nothing is said twice.
    let exported = |keys: &str, name: &str| {
        let json = folder.path().join(name);
        let mut game = Driver::new(&GAME, (110, 30), COLORS);
        game.keys(&format!("{keys} x {} Enter", json.to_str().unwrap()));
        let value: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        value["rows"].as_array().unwrap().clone()
    };
    let paths = exported("j o p", "paths.json");
    assert!(paths[0]["relation"] == "root" && paths[1]["level"] == 0 && paths[1]["id"].is_string(), "{paths:?}");
    let merged = exported("2 j p", "merged.json");
    assert!(merged.iter().any(|row| row["level"].as_u64() > Some(1)));
    let suspects = exported("1", "suspects.json");
    assert!(suspects[0]["relation"].is_null() && suspects[0]["details"][1].as_str().unwrap().starts_with("held by "));
    // Never over the dump, and not under a name that says nothing.
    assert!(game.keys("x fixtures/xna_cf/pair_after.txt Enter").screen().contains("ends with .csv or .json"));
    let screen = game.keys("x no/such/folder.csv Enter").screen();
    assert!(screen.contains("no/such/folder.csv cannot be written: "), "{screen}");
}

/// Rows of groups lead to their own objects: as many as the row says, and the command says so too.
#[test]
fn groups_lead_to_their_own_objects() {
    for (paths, groups) in [(&GAME, "4 g"), (&GAME, "4"), (&ZOO, "4"), (&NET, "4"), (&NET, "4 g")] {
        let mut browser = Driver::new(paths, (110, 60), COLORS);
        browser.keys(groups);
        for at in 0..browser.state.current_frame().unwrap().rows.row_count.min(12) {
            let frame = browser.state.current_frame().unwrap();
            let row = frame.row(at, browser.state.browser.as_ref()).unwrap();
            if matches!(row.target, RowTarget::NoTarget) {
                continue;
            }
            let objects = row.figures[2].unwrap();
            browser.keys(&"j".repeat(at)).keys("Enter");
            let types = browser.state.current_frame().unwrap();
            let of_types: i64 =
                (0..types.rows.row_count).map(|at| types.row(at, None).unwrap().figures[2].unwrap()).sum();
            assert_eq!(of_types, objects, "{}: {}", row.name, browser.command());
            let first = types.row(0, None).unwrap().figures[2].unwrap();
            browser.keys("Enter");
            assert_eq!(browser.state.current_frame().unwrap().rows.row_count as i64, first, "{}", browser.command());
            browser.keys("h h");
            browser.state.current_frame_mut().unwrap().cursor = 0;
        }
    }
}

/// The longest bar is that of the largest row, whatever comes first.
#[test]
fn bars_are_drawn_by_the_largest_row() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    let largest = game.state.current_frame().unwrap().rows.largest_first_figure;
    for order in ["S", "S s", "S"] {
        game.keys(order);
        assert_eq!(game.state.current_frame().unwrap().rows.largest_first_figure, largest, "{}", game.command());
    }
    // `list` has no third order.
    game.keys("2 j Enter");
    let orders: Vec<String> = (0..3).map(|_| game.keys("s").command()).collect();
    assert!(orders[0] == orders[2] && orders[0] != orders[1], "{orders:?}");
}

/// Rows are written when all of them are there, in the order that is on the screen.
#[test]
fn rows_on_their_way_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    // The order is asked for, and has not come.
    let tasks = game.state.update(BrowserMessage::Key(KeyPress::Char('S')));
    assert!(matches!(tasks[..], [Task::ArrangeRows(..)]), "{tasks:?}");
    let name = format!("x {} Enter", file.display());
    game.keys(&name);
    assert!(game.screen().contains("nothing is written") && !file.exists());
    tasks.into_iter().for_each(|ask| game.worker.answer_task(ask));
    let answers = std::mem::take(&mut *game.answers.lock().unwrap());
    answers.into_iter().for_each(|answer| game.msg(BrowserMessage::Answer(answer)));
    game.keys(&name);
    let rows = game.state.current_frame().unwrap().rows.row_count;
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), rows + 1);
}
