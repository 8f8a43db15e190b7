//! Actions of keys and the mouse.

use super::*;
use crate::explore::listing::RowStyle;

#[test]
fn keys_lead_in_and_back() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    game.keys("j j Enter s j Enter");
    assert_eq!(game.way().len(), 3);
    game.keys("h");
    assert_eq!((game.way().len(), game.cursor()), (2, 1));
    assert_eq!(game.state.current_frame().unwrap().sort_order.column, Some(1));
    game.keys("h");
    assert_eq!((game.way(), game.cursor()), (vec!["everything".to_string()], 2));
    // At the beginning there is no further back, and Esc does not quit.
    game.keys("h Esc Esc");
    assert!(game.way().len() == 1 && !game.is_over);
    // Each view is where it was left; its own key once more leads to its beginning.
    game.keys("Enter 2 G 3");
    assert_eq!(game.way().len(), 2);
    game.keys("3");
    assert_eq!((game.way().len(), game.cursor()), (1, 2));
    game.keys("2");
    assert!(game.cursor() > 50);
    game.keys("q");
    assert!(game.is_over);
}

#[test]
fn a_find_narrows_while_it_is_typed() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    let all = game.keys("2").state.current_frame().unwrap().rows.row_count;
    game.keys("/ Screen[ Enter");
    let found = game.state.current_frame().unwrap().rows.row_count;
    assert!(0 < found && found < all);
    // An expression that is not whole yet leaves the rows as they are.
    game.keys("/ ^u /(x");
    assert_eq!(game.state.current_frame().unwrap().rows.row_count, all);
    assert!(game.keys("Enter").screen().contains("is not a regular expression"));
    game.keys("/ ^u /^BubbleGame Enter");
    assert!(game.state.current_frame().unwrap().rows.row_count > found, "{}", game.screen());
    game.keys("/");
    game.keys("Esc");
    assert_eq!((game.state.current_frame().unwrap().rows.row_count, game.way().len()), (all, 1));
    game.keys("/ Component1 Enter n");
    assert_eq!(game.cursor(), 1);
    game.keys("N N");
    assert_eq!(game.cursor(), game.state.current_frame().unwrap().rows.row_count - 1);
    game.keys("Esc");
    assert_eq!(game.state.current_frame().unwrap().rows.row_count, all);
    // And again what was looked for.
    game.keys("n");
    assert!(game.state.current_frame().unwrap().rows.row_count < all);
}

#[test]
fn ids_names_and_commands_are_copied() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    game.keys("y Y e");
    let list = "System.Collections.Generic.List`1[[System.EventHandler]]";
    assert_eq!(game.copied, ["1#1cadcb", list, "heapdump dominators -n 0 fixtures/xna_cf/pair_after.txt"]);
    game.keys("s");
    assert_eq!(game.command(), "heapdump dominators --sort shallow -n 0 fixtures/xna_cf/pair_after.txt");
    game.keys("S");
    assert_eq!(game.command(), "heapdump dominators --sort shallow --reverse -n 0 fixtures/xna_cf/pair_after.txt");
    game.keys("S s s 3 Enter t");
    assert_eq!(
        game.command(),
        "heapdump breakdown --depth 1 --min-bytes 0 -n 0 1#1cadcb fixtures/xna_cf/pair_after.txt"
    );
    game.keys("2 / System.String Enter");
    assert_eq!(
        game.command(),
        "heapdump stats --retained --sort retained --type System.String fixtures/xna_cf/pair_after.txt"
    );
    game.keys("Enter");
    assert!(game.command().starts_with("heapdump list --sort retained -n 0 --type "), "{}", game.command());
}

/// The command prints what is on the screen, however far down that is.
#[test]
fn commands_reach_as_far_as_the_screen() {
    let mut zoo = Driver::new(&ZOO, (110, 30), COLORS);
    assert!(zoo.command().contains("dominators -n 1000 "), "{}", zoo.command());
    zoo.keys(&"PgDn ".repeat(50));
    assert!(zoo.cursor() > 1000 && zoo.command().contains("dominators -n 2000 "), "{}", zoo.command());
    zoo.keys("g");
    assert!(zoo.command().contains("dominators -n 1000 "), "{}", zoo.command());
    zoo.keys("G");
    let rows = zoo.state.current_frame().unwrap().rows.row_count;
    assert!(rows > 2000 && zoo.command().contains("dominators -n 0 "), "{}", zoo.command());
}

/// Of an object that is looked at its own paths, whatever row is chosen; its references are found by their names, too.
#[test]
fn an_object_is_what_its_view_is_about() {
    let mut zoo = Driver::new(&ZOO, (110, 30), COLORS);
    zoo.keys("Enter o");
    let own = zoo.way()[2].replace("object ", "");
    zoo.keys("j j p");
    assert_eq!(zoo.way()[3], format!("paths to {own}"));
    zoo.keys("h / .");
    let frame = zoo.state.current_frame().unwrap();
    let row = frame.row(zoo.cursor(), zoo.state.browser.as_ref()).unwrap();
    assert!(row.reference.contains('.') || row.name.contains('.'), "{row:?}");
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    game.keys("j Enter p");
    assert!(game.keys("+").screen().contains("these are all paths") && game.command().contains("--paths 5 "));
}

/// A row without an id gives that of the object that it is about; one that leads nowhere says so.
#[test]
fn rows_without_an_object_say_so() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    game.keys("j o g y");
    assert_eq!(game.copied, ["1#1c87d9"]);
    game.keys("2 y");
    assert!(game.copied.len() == 1 && game.screen().contains("no id here"));
    let mut zoo = Driver::new(&ZOO, (110, 30), COLORS);
    zoo.keys("Enter o G Enter");
    assert!(zoo.screen().contains("nothing is below this row"), "{}", zoo.screen());
}

#[test]
fn clicks_are_as_keys() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    _ = game.screen();
    // The third row: selected, then entered.
    game.msg(BrowserMessage::Mouse(Mouse::Click(50, 5)));
    assert_eq!((game.cursor(), game.way().len()), (2, 1));
    game.msg(BrowserMessage::Mouse(Mouse::Click(50, 5)));
    assert_eq!(game.way().len(), 2);
    _ = game.screen();
    game.msg(BrowserMessage::Mouse(Mouse::WheelDown));
    assert_eq!(game.cursor(), 1);
    // The first step of the way, then the second view.
    game.msg(BrowserMessage::Mouse(Mouse::Click(3, 1)));
    assert_eq!((game.cursor(), game.way().len()), (2, 1));
    game.msg(BrowserMessage::Mouse(Mouse::Click(16, 0)));
    assert_eq!(game.way(), ["types"]);
    // Beside everything.
    game.msg(BrowserMessage::Mouse(Mouse::Click(109, 29)));
    assert_eq!(game.way(), ["types"]);
}

#[test]
fn a_resize_keeps_the_cursor() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    game.keys("PgDn PgDn j");
    let cursor = game.cursor();
    for (width, height) in [(40, 30), (40, 8), (20, 4), (200, 60), (110, 30)] {
        game.msg(BrowserMessage::Resize(width, height));
        _ = game.screen();
        let (page, frame) = (game.state.rows_on_page(), game.state.current_frame().unwrap());
        assert!(
            frame.cursor == cursor && frame.first_shown_row <= cursor && cursor < frame.first_shown_row + page,
            "{width} x {height}"
        );
    }
}

#[test]
fn tabs_have_their_numbers() {
    let numbers: Vec<usize> = Tab::WORDS.iter().map(|(_, tab)| tab.tab_number()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

/// Of two lists each gets its order, though both are asked for at once.
#[test]
fn every_list_gets_its_order() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    game.keys("2");
    let mut tasks = game.state.update(BrowserMessage::Key(KeyPress::Char('s')));
    game.keys("3");
    tasks.extend(game.state.update(BrowserMessage::Key(KeyPress::Char('S'))));
    tasks.extend(game.state.update(BrowserMessage::Key(KeyPress::Char('s'))));
    assert_eq!(tasks.len(), 3);
    game.worker.drop_superseded(&mut tasks);
    assert_eq!(tasks.len(), 2, "one of each list");
}

/// While the dump is read there is nothing else to do than to leave.
#[test]
fn keys_wait_for_the_dump() {
    let context = CommandContext::new(vec!["a".into()], Vec::new());
    let mut state = BrowserState::new(context, COLORS, (None, None), (110, 30));
    for key in ['2', ':', 'w', 'x', '?'] {
        assert!(state.update(BrowserMessage::Key(KeyPress::Char(key))).is_empty());
        assert!(state.status_note.is_none() && state.prompt.is_none() && state.first_help_line.is_none(), "{key}");
    }
    assert!(matches!(state.update(BrowserMessage::Key(KeyPress::Char('q')))[..], [Task::Quit]));
}

/// Keys for a list that is not there yet wait for it, those behind them too; `Esc` and another view forget them.
#[test]
fn keys_wait_for_their_list() {
    let mut slow = Driver::new(&GAME, (110, 30), COLORS);
    let mut quick = Driver::new(&GAME, (110, 30), COLORS);
    quick.keys("j Enter Enter Enter / Screen Enter j y");
    // What is asked for is answered at the end.
    let mut tasks = Vec::new();
    let script = "j\r\r\r/Screen\rjy";
    for ch in script.chars() {
        let key = if ch == '\r' { KeyPress::Enter } else { KeyPress::Char(ch) };
        tasks.extend(slow.state.update(BrowserMessage::Key(key)));
    }
    assert_eq!((tasks.len(), slow.way().len(), slow.state.typed_ahead.len()), (1, 2, script.len() - 2));
    for ask in tasks {
        slow.worker.answer_task(ask);
    }
    let answers = std::mem::take(&mut *slow.answers.lock().unwrap());
    answers.into_iter().for_each(|answer| slow.msg(BrowserMessage::Answer(answer)));
    assert_eq!((slow.way(), slow.cursor(), slow.command()), (quick.way(), quick.cursor(), quick.command()));
    assert!(!slow.copied.is_empty() && slow.copied == quick.copied && slow.state.typed_ahead.is_empty());
    for (forgets, way) in [(KeyPress::Escape, vec!["everything"]), (KeyPress::Char('2'), vec!["types"])] {
        let mut slow = Driver::new(&GAME, (110, 30), COLORS);
        for key in [KeyPress::Enter, KeyPress::Char('j'), KeyPress::Char('o'), forgets] {
            _ = slow.state.update(BrowserMessage::Key(key));
        }
        assert_eq!((slow.way(), slow.state.typed_ahead.len()), (way.iter().map(ToString::to_string).collect(), 0));
    }
    // Nothing holds up the end.
    for key in [KeyPress::Char('q'), KeyPress::Ctrl('c')] {
        let mut slow = Driver::new(&GAME, (110, 30), COLORS);
        for key in [KeyPress::Enter, KeyPress::Enter] {
            _ = slow.state.update(BrowserMessage::Key(key));
        }
        assert!(matches!(slow.state.update(BrowserMessage::Key(key))[..], [Task::Quit]));
    }
}

/// A find leads from row to row where the command has no option for it, and all rows stay.
#[test]
fn a_find_leads_through_rows_that_stay() {
    let mut game = Driver::new(&GAME, (110, 30), COLORS);
    game.keys(": 1#1c87d9 Enter");
    let all = game.state.current_frame().unwrap().rows.row_count;
    let command = game.command();
    game.keys("/ Screen");
    let places = |game: &Driver, text: &str| {
        let frame = game.state.current_frame().unwrap();
        let name = |at: usize| frame.row(at, game.state.browser.as_ref()).unwrap();
        let is_one = |at: &usize| name(*at).style != RowStyle::Title && name(*at).name.contains(text);
        (0..frame.rows.row_count).filter(is_one).collect::<Vec<usize>>()
    };
    let expected = places(&game, "Screen");
    assert!(expected.len() > 1 && expected.len() < all, "{}", game.screen());
    assert_eq!((game.cursor(), game.state.current_frame().unwrap().rows.row_count), (expected[0], all));
    assert!(game.keys("Enter").screen().contains(&format!("n N of {} (/Screen)", expected.len())), "{}", game.screen());
    for at in &expected[1..] {
        assert_eq!(game.keys("n").cursor(), *at);
    }
    assert_eq!(game.keys("n").cursor(), expected[0]);
    assert_eq!(game.keys("N").cursor(), expected[expected.len() - 1]);
    // From between two of them.
    game.keys("g");
    assert_eq!(game.keys("n").cursor(), expected[0]);
    assert_eq!(game.command(), command);
    game.keys("Esc");
    assert_eq!((game.way().len(), game.state.current_frame().unwrap().find_text.as_str()), (2, ""));
    // In another order they are in other places.
    let mut pair = Driver::new(&PAIR, (110, 30), COLORS);
    pair.keys("t / Level Enter S");
    let expected = places(&pair, "Level");
    pair.keys("g n");
    assert!(expected.contains(&pair.cursor()), "{expected:?} {} {:?}", pair.cursor(), pair.state.current_frame());
    let found: Vec<usize> = expected.iter().map(|_| pair.keys("n").cursor()).collect();
    assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>().len(), expected.len());
}

/// All of the help can be seen, however low the terminal is; warnings are broken into lines, and name their file.
#[test]
fn help_is_seen_to_its_end() {
    let mut pair = Driver::new(&["fixtures/ibm_classic/seed-asprinted.txt", PAIR[1]], (60, 10), COLORS);
    pair.state.warnings.push(format!("old.txt: {} end", "a long warning".repeat(3).replace('g', "g ")));
    pair.keys("?");
    let first = pair.screen();
    assert!(!first.contains(" end") && first.contains("a row down"));
    assert!(first.trim_end().ends_with("any other key back"), "{first}");
    let last = pair.keys("G").screen();
    assert!(last.contains(" end") && last.lines().nth(7).is_some_and(|line| line.ends_with("end")), "{last}");
    let lines = pair.state.first_help_line.unwrap();
    assert!(lines > 10 && pair.keys("k").screen() != last && pair.state.first_help_line == Some(lines - 1));
    assert_eq!(pair.keys("PgDn PgDn").screen(), last);
    assert_eq!(pair.keys("g").screen(), first);
    assert!(pair.keys("x").state.first_help_line.is_none() && pair.state.prompt.is_none());
    assert!(pair.state.warnings.iter().any(|warning| warning.starts_with("fixtures/ibm_classic/seed-asprinted.txt: ")));
}

/// While rows are put in another order, the title says so.
#[test]
fn rows_that_are_not_in_the_new_order_yet_are_marked() {
    let mut pair = Driver::new(&PAIR, (110, 30), COLORS);
    pair.keys("2");
    let title = |driver: &mut Driver| driver.screen().lines().nth(2).unwrap().to_string();
    assert!(!title(&mut pair).contains('…'));
    let tasks = pair.state.update(BrowserMessage::Key(KeyPress::Char('s')));
    assert!(
        title(&mut pair).contains('…') && tasks.iter().any(|ask| matches!(ask, Task::ArrangeRows(..))),
        "{tasks:?}"
    );
    tasks.into_iter().for_each(|ask| pair.worker.answer_task(ask));
    let answers = std::mem::take(&mut *pair.answers.lock().unwrap());
    answers.into_iter().for_each(|answer| drop(pair.state.update(BrowserMessage::Answer(answer))));
    assert!(title(&mut pair).contains('↓') && !title(&mut pair).contains('…'), "{}", title(&mut pair));
}
