//! Every reader against every fixture: exactly the right one recognises it.

use heapdump::input::{Detected, READERS, ReadOptions, Source, detect};

#[test]
fn exactly_one_reader_recognises_each_fixture() {
    for fixture in crate::common::fixtures::all() {
        let Ok(source) = Source::open(&fixture.path) else {
            assert!(fixture.expected["error"].is_string(), "{}", fixture.name());
            continue;
        };
        let certain: Vec<&str> = READERS
            .iter()
            .filter(|reader| reader.detect(source.start()) == Detected::Yes)
            .map(|reader| reader.name())
            .collect();
        let forced = fixture.arguments().iter().any(|argument| argument == "--input-format");
        // A format may be recognised only to be refused.
        let refused = fixture.expected["error"].is_string() && !fixture.expected["format"].is_string();
        let recognised = fixture.expected["recognised"].as_bool().unwrap_or(!refused);
        if !recognised || forced {
            assert!(certain.is_empty(), "{}: {certain:?}", fixture.name());
        } else {
            assert_eq!(certain, [fixture.format.as_str()], "{}", fixture.name());
        }
    }
}

#[test]
fn what_is_no_dump_is_nobodys() {
    for text in [
        &b"hello\n"[..],
        b"a dump\n",
        b"a 2\n",
        b"a 123 x\n",
        b"{\"snapshot\":{}}",
        b"{}",
        b"[]",
        b"[1,2]",
        b"<!DOCTYPE html>\n<p>hello</p>\n",
        b"\x7fELF\x02\x01\x01\0",
        b"a 0x2 y\n",
        b"0x12 is an address\n",
        b"// Copyright\nfn main() {}\n",
    ] {
        let source = Source::from_reader(std::io::Cursor::new(text.to_vec())).unwrap();
        assert!(detect(&source, &ReadOptions::default()).is_err(), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn text_around_a_dump_leaves_it_recognisable() {
    let wrapped = b"<html><pre>\n// Version: J2RE 6.0\n0x00CB03A0 [16] OBJ a/B\n\t\n</pre>\n";
    let source = Source::from_reader(std::io::Cursor::new(wrapped.to_vec())).unwrap();
    assert_eq!(detect(&source, &ReadOptions::default()).unwrap().name(), "ibm-classic");
}
