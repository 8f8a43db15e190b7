//! Every reader against every fixture: exactly the right one recognises it.

use heapdump::input::{FormatMatch, READERS, ReadErrorKind, ReadOptions, Source, detect};

#[test]
fn exactly_one_reader_recognises_each_fixture() {
    for fixture in crate::common::fixtures::all() {
        let Ok(source) = Source::open(&fixture.path) else {
            assert!(fixture.expected["error"].is_string(), "{}", fixture.name());
            continue;
        };
        let certain: Vec<&str> = READERS
            .iter()
            .filter(|reader| reader.detect(source.start()) == FormatMatch::Yes)
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
        let mut source = Source::from_reader(std::io::Cursor::new(text.to_vec())).unwrap();
        let error = detect(&mut source, &ReadOptions::default()).err();
        let kind = error.as_ref().map(|error| error.kind());
        let is_nobodys = matches!(kind, Some(ReadErrorKind::UnknownFormat(_) | ReadErrorKind::NotSupported(_)));
        assert!(is_nobodys, "{}: {error:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn text_around_a_dump_leaves_it_recognisable() {
    let wrapped = b"<html><pre>\n// Version: J2RE 6.0\n0x00CB03A0 [16] OBJ a/B\n\t\n</pre>\n";
    let mut source = Source::from_reader(std::io::Cursor::new(wrapped.to_vec())).unwrap();
    assert_eq!(detect(&mut source, &ReadOptions::default()).unwrap().name(), "ibm-classic");
}

/// Files that users have at hand beside dumps: what each is, and what to do.
#[test]
fn files_that_are_no_dumps_are_called_by_their_names() {
    use std::io::Write;
    let mut tar = vec![0; 1024];
    tar[..10].copy_from_slice(b"dump.hprof");
    tar[257..265].copy_from_slice(b"ustar\x0000");
    let packed = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let core = [b"\x7fELF\x02\x01\x01", &[0; 9][..], &[4, 0], &[0; 40]].concat();
    for (bytes, what, advice) in [
        (packed(&tar), "a tar archive", "unpack it and name the dump in it"),
        (tar, "a tar archive", "unpack it and name the dump in it"),
        (b"PK\x03\x04\x14\0\0\0".to_vec(), "a zip archive", "unpack it and name the dump in it"),
        (core, "an ELF core dump", "jhsdb jmap"),
        (
            b"0SECTION       TITLE subcomponent dump routine\nNULL\n".to_vec(),
            "a Java core",
            "the heap dump is a file beside it",
        ),
        (b"\x0a\x03\x52\x01\x00".repeat(100), "a Perfetto trace", "ui.perfetto.dev"),
        (b"\xca\xfe\xba\xbe\0\0\0\x41\0\x10\x0a\0".to_vec(), "a Java class file", "name a heap dump"),
        (b"<!DOCTYPE html>\n<html><p>Sign in</p>\n".to_vec(), "an HTML page", "fetch the dump again"),
        (b"Dear all,\nthe dump is attached.\n".to_vec(), "plain text", "--input-format"),
    ] {
        for command in ["stats", "info"] {
            let ran = crate::common::cmd::run_with_input(&[command, "-"], &bytes).expect_code(2);
            assert!(ran.stderr.contains(what) && ran.stderr.contains(advice), "{what}: {}", ran.stderr);
        }
    }
    // What a page or JSON may still hold is looked for.
    let ran = crate::common::cmd::run_with_input(&["stats", "-"], b"{\"a\":1}").expect_code(2);
    assert!(ran.stderr.contains("there are no trace events"), "{}", ran.stderr);
}

#[test]
fn an_address_is_no_file() {
    for line in ["stats URL", "info URL", "stats --shallow URL", "roots 12 URL", "show URL", "leaks URL", "index URL"] {
        let words: Vec<&str> =
            line.split(' ').map(|word| if word == "URL" { "https://example.org/a.hprof" } else { word }).collect();
        let ran = crate::common::cmd::run(&words).expect_code(2);
        assert!(ran.stderr.contains("fetches nothing: curl -sS URL | heapdump"), "{line}: {}", ran.stderr);
    }
}
