//! Manual pages: one for the program and one for each command, which tell what `--help` tells.

use std::process::Command;

use crate::common::cmd::run;

#[test]
fn a_page_has_examples_options_and_exit_codes() {
    let page = run(&["man", "stats"]).expect_code(0).stdout;
    for text in
        [".TH HEAPDUMP-STATS 1", ".SH SYNOPSIS", ".SH EXAMPLES", "heapdump stats dump.txt.gz", ".SH \"EXIT STATUS\""]
    {
        assert!(page.contains(text), "{text}:\n{page}");
    }
    // Options that -h leaves out are explained all the same.
    assert!(page.contains("Any problem in the input is an error"), "{page}");
    assert!(!page.contains("Example: "), "{page}");
    let program = run(&["man"]).expect_code(0).stdout;
    assert!(program.contains(".TH HEAPDUMP 1") && program.contains("HEAPDUMP_FILE"), "{program}");
    assert!(program.contains(".SH DESCRIPTION\nHeap dump analyzer: what fills a heap"), "{program}");
    assert!(run(&["man", "nope"]).expect_code(2).stderr.contains("there are: info, stats"));
    run(&["man", "stats", "-o", "x"]).expect_code(2);
}

#[test]
fn all_pages_are_written_to_a_folder() {
    let folder = std::env::temp_dir().join(format!("heapdump-man-{}", std::process::id()));
    run(&["man", "-o", &folder.display().to_string()]).expect_code(0);
    let mut names: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.contains(&"heapdump.1".into()) && names.contains(&"heapdump-diff.1".into()), "{names:?}");
    for name in &names {
        let path = folder.join(name);
        assert_ne!(std::fs::metadata(&path).unwrap().len(), 0, "{name}");
        // The formatter has nothing to say against it, where there is one.
        if let Ok(ran) = Command::new("groff").args(["-man", "-ww", "-Tascii", "-z"]).arg(&path).output() {
            assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{name}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
