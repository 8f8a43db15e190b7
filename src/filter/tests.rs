//! Expressions that are understood and that are not, with the places of mistakes.

use super::*;

/// The message and the byte of the error in an expression.
fn error(text: &str) -> (String, usize) {
    let error = Filter::parse(&[text]).expect_err(text);
    (error.message, error.error_offset)
}

#[test]
fn what_is_understood() {
    for text in [
        "retained > 1MiB and type ~ 'Cache'",
        "RETAINED > 1".to_lowercase().as_str(),
        "shallow>=1.5kib AND NOT(reachable or !root)",
        "type in ('a', \"b\") || type not in ('it''s')",
        "references not between 1 and 5 && depth is not null",
        "type ~ /Session$/ and type !~ /a\\/b/",
        "shallow > 1 MiB and shallow < 2 %",
        "id = 7c79f or id = '2#7c79f' or id in (@12, 0x1F)",
        ".user.name ~ 'smith' and .count > -5 and .open and .\"a b\" is null",
        "reachable = false and root != yes",
        "((((type = 'a'))))",
        "between1 = 1".replace("between1", "depth").as_str(),
    ] {
        assert!(Filter::parse(&[text]).is_ok_and(|filter| filter.is_some()), "{text}");
    }
    assert!(Filter::parse::<&str>(&[]).unwrap().is_none());
}

#[test]
fn mistakes_and_their_places() {
    let nested = "(".repeat(300);
    for (text, message, at) in [
        ("", "a column is expected here, as in: retained > 1MiB", 0),
        ("retined > 1MiB", "no column \"retined\"; did you mean retained?", 0),
        ("shallow > 1 or Type = 'a'", "no column \"Type\"; did you mean type?", 15),
        ("retained > 1MX", "no unit \"MX\"; there are B, KB, MB, GB, KiB, MiB, GiB", 12),
        ("retained >", "something to compare with is expected here", 10),
        ("retained > 1 and", "a column is expected here, as in: retained > 1MiB", 16),
        ("type ~ Cache", "a pattern in quotes is expected behind ~: 'Cache', or /Cache/", 7),
        ("type > 5", "this is a text: compare it with one in quotes, such as '5'", 7),
        ("shallow = 'a'", "a size, such as 4096, 1MiB or 2% is expected here", 10),
        ("depth > 2%", "only shallow and retained have shares of the reachable bytes", 9),
        ("shallow ~ 'a'", "~ compares texts, and this is a number", 10),
        ("type ~ '/(/'", "\"(\" is not a regular expression: ", 7),
        ("(retained > 1", "this ( is not closed", 0),
        ("(retained > 1 retained", "`and`, `or` or ) is expected here", 14),
        ("retained > 1)", "no ( is open here", 12),
        ("type = 'a", "the ' is not closed", 7),
        ("type ~ /a", "the / is not closed", 7),
        ("retained = null", "nothing equals null; write `is null` or `is not null`", 11),
        ("retained is 5", "`null` or `not null` is expected behind `is`", 12),
        ("retained not 5", "`in` or `between` is expected behind `not`", 13),
        ("retained between 1 or 2", "`and` is expected: between A and B", 19),
        ("type in 'a'", "( is expected behind `in`: in ('a', 'b')", 8),
        ("type in ('a' 'b')", ", or ) is expected here", 13),
        ("retained", "a comparison is expected here: = != < <= > >= ~ !~ in between is", 8),
        ("reachable > true", "this is yes or no: compare it by = with true or false", 12),
        ("and", "a column is expected before `and`", 0),
        (".a. > 1", "the name of a field is missing", 3),
        ("retained > 1 2", "not understood from here: `and`, `or` or the end is expected", 13),
        (&nested, "parentheses and `not`s are nested more than 200 deep", 200),
        ("retained > 1.2.3", "not a number; write it as 4096 or 1.5", 11),
    ] {
        let (said, place) = error(text);
        assert!(said == message || message.ends_with(": ") && said.starts_with(message), "{text}: {said}");
        assert_eq!(place, at, "{text}");
    }
    let long = "reachable and ".repeat(8000);
    assert_eq!(error(&long), ("an expression has at most 65536 bytes".into(), 65536));
    // As many parts as fit take no stack.
    assert!(Filter::parse(&[format!("{}root", "root or ".repeat(8000))]).is_ok());
    assert!(error("café = 1").0.starts_with("no column \"café\"; there are type, instanceof, package"));
}
