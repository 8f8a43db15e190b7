//! Profiles that mean harm: what a few bytes of them ask for is bounded. Profiles that are written: they are what was read.
//! Functions, lines, files, modules and labels: their figures against samples counted by hand.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::common::cmd::{project, run, run_with_input};

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn message(field: u64, content: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2), &varint(content.len() as u64), content].concat()
}

/// A profile of one stack: so many times one location, in which a function is inlined so many times.
fn profile(depth: usize, lines: usize, drop_frames: &str) -> Vec<u8> {
    let (line, mut location) = (message(4, &number(1, 1)), number(1, 1));
    location.extend(line.repeat(lines));
    let sample = [message(1, &vec![1; depth]), number(2, 1_000)].concat();
    let texts = ["", "space", "bytes", "f", drop_frames].map(|text| message(6, text.as_bytes())).concat();
    let kind = [number(1, 1), number(2, 2)].concat();
    let function = [number(1, 1), number(2, 3)].concat();
    [message(1, &kind), message(2, &sample), message(4, &location), message(5, &function), number(7, 4), texts].concat()
}

#[test]
fn hostile_profiles_take_bounded_memory() {
    let small = run_with_input(&["stats", "-f", "json", "-"], &profile(3, 2, "g")).expect_code(0).json();
    assert_eq!(small["totals"]["total_bytes"], 1_000);
    // A file of 300 KB that asks for 900 million frames.
    let deep = run_with_input(&["stats", "--max-memory", "100MiB", "-"], &profile(30_000, 30_000, "g")).expect_code(2);
    assert!(deep.stderr.contains("memory"), "{}", deep.stderr);
    for pattern in ["(a*)*".repeat(6_000), "(".into()] {
        let info = run_with_input(&["info", "-f", "json", "-"], &profile(3, 2, &pattern)).expect_code(0).json();
        assert_eq!(info["problems"][0]["code"], "bad-pattern");
    }
    // The function is all there is: it stays.
    let dropped = run_with_input(&["info", "-f", "json", "-"], &profile(1, 2, "f|g")).expect_code(0).json();
    assert_eq!((dropped["heaps"][0]["total_bytes"].as_u64(), &dropped["problems"]), (Some(1_000), &json!([])));
}

fn tree(file: &str) -> Vec<Value> {
    let words = ["breakdown", "--by", "backtrace", "--depth", "100", "--min-bytes", "0", "-f", "json", "-q", file];
    let answer = run(&words).expect_code(0).json();
    answer["heaps"].as_array().unwrap().iter().map(|heap| heap["tree"].clone()).collect()
}

/// What each path has itself; frames of one name that follow one another are one, as in folded stacks.
fn own_bytes(node: &Value, path: &str, own: &mut BTreeMap<String, u64>) {
    let below = node["children"].as_array().unwrap().iter().filter(|child| child["kind"] == "backtrace");
    let mut bytes = node["bytes"].as_u64().unwrap();
    for child in below {
        bytes -= child["bytes"].as_u64().unwrap();
        let name = child["name"].as_str().unwrap();
        let path = match path.rsplit(';').next() {
            Some(last) if last == name => path.to_string(),
            Some("") | None => name.to_string(),
            Some(_) => format!("{path};{name}"),
        };
        own_bytes(child, &path, own);
    }
    if bytes > 0 {
        *own.entry(path.to_string()).or_default() += bytes;
    }
}

/// Of a profile, of traces whose figures include what is below, and of objects.
#[test]
fn exported_profiles_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let exported = folder.path().join("heap.pb.gz").display().to_string();
    let export = |args: &[&str]| {
        run(&[&["export", "--to", "pprof", "-q", "-o", &exported], args].concat()).expect_code(0);
    };
    for measure in ["inuse", "alloc"] {
        export(&["fixtures/pprof/go-heap.pb.gz", "--measure", measure]);
        let words = ["stats", "-f", "json", "-q", "--measure", measure];
        let rows = |file: &str| run(&[&words[..], &[file]].concat()).expect_code(0).json();
        let (mut before, mut after) = (rows("fixtures/pprof/go-heap.pb.gz"), rows(&exported));
        for rows in [&mut before, &mut after] {
            rows["heaps"][0]["process"].take();
        }
        assert_eq!(before, after);
    }
    export(&["fixtures/pprof/go-heap.pb.gz"]);
    assert_eq!(tree(&exported), tree("fixtures/pprof/go-heap.pb.gz"));
    let profile = std::fs::read(&exported).unwrap();
    assert_eq!(profile[..2], [0x1f, 0x8b], "packed");

    // Several heaps: each below its title, with all of its bytes and allocations.
    for trace in ["fixtures/memory_infra/seed-multi.trace", "fixtures/memory_infra/chromium66-heaps.trace.gz"] {
        export(&[trace, "--dump", "all"]);
        let heaps = run(&["info", "-f", "json", "-q", trace]).expect_code(0).json()["heaps"].clone();
        let (heaps, written) = (heaps.as_array().unwrap(), tree(&exported)[0].clone());
        for (figure, name) in [("bytes", "total_bytes"), ("allocations", "allocations")] {
            let whole = heaps.iter().filter_map(|heap| heap[name].as_u64()).reduce(|sum, more| sum + more);
            assert_eq!(written[figure], json!(whole), "{trace} {figure}");
        }
        assert!(heaps.len() > 1 && written["children"].as_array().unwrap().len() == heaps.len());
    }

    // Objects: retained sizes by path, as folded stacks have them.
    let dump = "fixtures/gcdump/small-net9.gcdump.zst";
    export(&[dump]);
    let mut own = BTreeMap::new();
    own_bytes(&tree(&exported)[0], "", &mut own);
    let folded = run(&["export", "--to", "folded", "--min-bytes", "0", "-q", dump]).expect_code(0).stdout;
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for (path, bytes) in folded.lines().map(|line| line.rsplit_once(' ').unwrap()) {
        *expected.entry(path.to_string()).or_default() += bytes.parse::<u64>().unwrap();
    }
    assert!(own == expected && own.len() > 100, "{own:#?}");
}

/// Folded lines are the stacks with their own bytes, as `breakdown` has them; what is small counts for its callers.
#[test]
fn stacks_are_folded_and_drawn() {
    let folded = |words: &[&str]| run(&[&["export", "--to", "folded", "-q"], words].concat()).expect_code(0).stdout;
    for file in ["fixtures/pprof/go-heap.pb.gz", "fixtures/heapprofile/node.heapprofile"] {
        let mut own = BTreeMap::new();
        let frames_of_one_name = |path: &str| {
            let mut names: Vec<&str> = path.split(';').collect();
            names.dedup();
            names.join(";")
        };
        own_bytes(&tree(file)[0], "", &mut own);
        let mut written: BTreeMap<String, u64> = BTreeMap::new();
        for line in folded(&["--min-bytes", "0", file]).lines() {
            let (path, bytes) = line.rsplit_once(' ').unwrap();
            *written.entry(frames_of_one_name(path)).or_default() += bytes.parse::<u64>().unwrap();
        }
        assert_eq!(written, own, "{file}");
    }
    let file = "fixtures/pprof/go-heap.pb.gz";
    let lines = folded(&["--min-bytes", "100KB", file]);
    let expected = "<smaller> 1312\nruntime.main 1248\nruntime.main;main.main 1089560\n";
    assert!(lines.starts_with(expected), "{lines}");
    assert_eq!(
        lines.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>(),
        1_508_120
    );
    // Of figures that include what is below, what is left of a frame; types and titles of several heaps are frames.
    let trace = folded(&["--min-bytes", "0", "--dump", "all", "fixtures/memory_infra/seed-multi.trace"]);
    let heaps = run(&["info", "-f", "json", "-q", "fixtures/memory_infra/seed-multi.trace"]).json()["heaps"].clone();
    let heaps = heaps.as_array().unwrap().iter().map(|heap| heap["total_bytes"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(trace.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>(), heaps);
    let drawing = run(&["export", "--to", "flamegraph", "-q", file]).expect_code(0).stdout;
    for words in ["Heap of go-heap.pb.gz: 1.4 MiB by stack", "main.makeLine (112,224 bytes"] {
        assert!(drawing.contains(words), "{words}");
    }
    for words in [&["--object", "1"][..], &["--where", "shallow > 1"]] {
        let ran = run(&[&["export", "--to", "folded", file], words].concat()).expect_code(2);
        assert!(ran.stderr.contains("no objects"), "{}", ran.stderr);
    }
}

/// Name, flat and cum of the rows.
fn flat_and_cum(words: &[&str]) -> Vec<(String, u64, u64)> {
    let answer = run(&[words, &["-f", "json", "-q"]].concat()).expect_code(0).json();
    let figure = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let row =
        |row: &Value| (row["group"].as_str().unwrap().to_string(), figure(row, "flat_bytes"), figure(row, "cum_bytes"));
    answer["groups"].as_array().unwrap().iter().map(row).collect()
}

/// The figures of the program that made the profile (its MANIFEST.md): 3,000 lines of 112 bytes, 1,000 orders of 80 by three
/// stacks in which one function is on it once, twice and three times, 1,089,560 bytes in `main` itself.
#[test]
fn a_recursive_stack_counts_once() {
    let file = "fixtures/pprof/go-heap.pb.gz";
    let rows = flat_and_cum(&["stats", "--by", "function", file]);
    let of = |rows: &[(String, u64, u64)], name: &str| {
        let (_, flat, cum) = rows.iter().find(|(own, ..)| own == name).unwrap_or_else(|| panic!("{name}: {rows:?}"));
        (*flat, *cum)
    };
    assert_eq!(of(&rows, "main.makeLine"), (336_000, 336_000));
    assert_eq!(of(&rows, "main.makeOrder"), (80_000, 416_000));
    assert_eq!(of(&rows, "main.fill"), (0, 416_000), "on 334, 333 and 333 stacks one, two and three times");
    assert_eq!(of(&rows, "main.main").0, 1_089_560);
    let whole: u64 = rows.iter().map(|(_, flat, _)| flat).sum();
    assert_eq!(whole, 1_508_120, "every byte is flat once");
    let counts =
        run(&["stats", "--by", "function", "--type", "=main.fill", "-f", "json", "-q", file]).expect_code(0).json();
    let counts = ["flat_allocations", "cum_allocations"].map(|key| counts["groups"][0][key].as_u64());
    assert_eq!(counts, [Some(0), Some(5_000)], "nothing itself, 5,000 with all it called");
    let sorted = flat_and_cum(&["stats", "--by", "function", "--sort", "cum", file]);
    assert!(sorted.is_sorted_by_key(|(.., cum)| std::cmp::Reverse(*cum)) && sorted.len() == rows.len());

    // By line no byte is lost, and a function's lines have what it has.
    let lines = flat_and_cum(&["stats", "--by", "line", file]);
    let of_orders = lines.iter().filter(|(line, ..)| line.starts_with("main.makeOrder "));
    assert_eq!(of_orders.map(|(_, flat, _)| flat).sum::<u64>(), 80_000);
    assert!(lines.iter().any(|(line, ..)| line.starts_with("main.makeLine ") && line.contains(".go:")), "{lines:?}");
    for by in ["line", "file", "module"] {
        let rows = flat_and_cum(&["stats", "--by", by, file]);
        assert_eq!(rows.iter().map(|(_, flat, _)| flat).sum::<u64>(), whole, "{by}");
        assert!(rows.iter().all(|(_, flat, cum)| flat <= cum && *cum <= whole), "{by}: {rows:?}");
    }
    // Trees by line have the paths of trees by function, one for each place of a call.
    let tree = run(&["breakdown", "--frames", "line", "--invert", "--depth", "1", "-q", file]).expect_code(0).stdout;
    assert!(tree.contains("main.makeLine ") && tree.contains(".go:"), "{tree}");

    // Types are size classes: 3,000 lines of 112 bytes.
    let sizes = run(&["stats", "--by", "size", "-f", "json", "-q", file]).expect_code(0).json();
    let size = |name: &str| {
        let row = sizes["types"].as_array().unwrap().iter().find(|row| row["type"] == name).cloned();
        row.unwrap_or_else(|| panic!("{sizes}"))
    };
    let expected = json!({"total_bytes": 336_000, "allocations": 3_000, "type": "112 bytes"});
    assert_eq!(size("112 bytes"), expected);
    let unknown = run(&["stats", "--by", "label=thread", file]).expect_code(2).stderr;
    assert!(unknown.contains("no sample has a label \"thread\"; there are: bytes"), "{unknown}");
    let no_profile = run(&["stats", "--type-label", "bytes", "fixtures/xna_cf/pair_after.txt"]).expect_code(2).stderr;
    assert!(no_profile.contains("--type-label acts in profiles alone (pprof"), "{no_profile}");
    let no_profile = run(&["breakdown", "--frames", "file", "fixtures/xna_cf/pair_after.txt"]).expect_code(2).stderr;
    assert!(no_profile.contains("--frames file: the dump is no profile"), "{no_profile}");
    let words = ["stats", "--by", "line", "--frames", "file", file];
    assert!(run(&words).expect_code(2).stderr.contains("leave --frames out"));
    // Modules of .NET are still those of types.
    run(&["stats", "--by", "module", "fixtures/gcdump/small-net9.gcdump.zst"]).expect_code(0);
}

#[test]
fn frames_that_are_left_out_can_be_asked_for() {
    let file = "fixtures/pprof/every-kind.pb";
    let names = |words: &[&str]| -> Vec<String> {
        flat_and_cum(&[&["stats", "--by", "function"], words].concat()).into_iter().map(|(name, ..)| name).collect()
    };
    let (left_out, all) = (names(&[file]), names(&["--all-frames", file]));
    assert!(
        !left_out.contains(&"sys_alloc".to_string()) && all.contains(&"sys_alloc".to_string()),
        "{left_out:?} {all:?}"
    );
}

/// A diff by function has flat and cum of both sides, and limits of cum.
#[test]
fn functions_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: u64| {
        let path = folder.path().join(name);
        // main > work > work, and main alone.
        let sample = |stack: &[u64], bytes: u64| {
            let stack: Vec<u8> = stack.iter().flat_map(|&id| varint(id)).collect();
            message(2, &[message(1, &stack), message(2, &[varint(1), varint(bytes)].concat())].concat())
        };
        let mut profile = Vec::new();
        for (kind, unit) in [(1, 2), (3, 4)] {
            profile.extend(message(1, &[number(1, kind), number(2, unit)].concat()));
        }
        profile.extend([sample(&[2, 2, 1], bytes), sample(&[1], 50)].concat());
        for id in [1, 2] {
            profile.extend(message(4, &[number(1, id), message(4, &number(1, id))].concat()));
            profile.extend(message(5, &[number(1, id), number(2, id + 4)].concat()));
        }
        for text in ["", "objects", "count", "space", "bytes", "main", "work"] {
            profile.extend(message(6, text.as_bytes()));
        }
        std::fs::write(&path, profile).unwrap();
        path.display().to_string()
    };
    let (old, new) = (write("old.pb", 100), write("new.pb", 300));
    let diff = run(&["diff", "--by", "function", "-f", "json", "-q", &old, &new]).expect_code(0).json();
    let row = |name: &str, flat: [i64; 3], cum: [i64; 3]| {
        json!({
            "group": name,
            "flat_bytes_old": flat[0], "flat_bytes_new": flat[1], "flat_bytes_delta": flat[2],
            "cum_bytes_old": cum[0], "cum_bytes_new": cum[1], "cum_bytes_delta": cum[2],
        })
    };
    let expected = [row("work", [100, 300, 200], [100, 300, 200]), row("main", [50, 50, 0], [150, 350, 200])];
    assert_eq!(diff["groups"], json!(expected));
    let limited = |limit: &str| run(&["diff", "--by", "function", "--fail-over", limit, "-q", &old, &new]);
    limited("=work=200").expect_code(0);
    assert!(limited("=work=199").expect_code(1).stderr.contains("work grew by"));
    // With all it called; of both together each stack once.
    limited("=main=200").expect_code(0);
    limited("=main=199").expect_code(1);
    limited("/main|work/=200").expect_code(0);
    limited("/main|work/=199").expect_code(1);
    let flat = |limit: &str| run(&["diff", "--fail-over", limit, "-q", &old, &new]);
    flat("=main=0").expect_code(0);
    let of_one = |limit: &str| run(&["stats", "--by", "function", "--fail-over", limit, "-q", &new]);
    of_one("/main|work/=350").expect_code(0);
    assert!(of_one("/main|work/=349").expect_code(1).stderr.contains("allocates 350 B (350 bytes)"));
    let types = |limit: &str| run(&["stats", "--fail-over", limit, "-q", &new]);
    types("/main|work/=350").expect_code(0);
    types("=main=49").expect_code(1);
    limited("199").expect_code(1);
}

/// What docs/coming-from.md says of pprof's and jeprof's questions can be asked, in the words that stand there.
#[test]
fn questions_of_pprof_have_the_commands_that_are_documented() {
    let text = std::fs::read_to_string(project("docs/coming-from.md")).unwrap();
    let (_, chapter) = text.split_once("## go tool pprof").unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut asked = 0;
    for line in chapter.split('`').filter(|span| span.starts_with("heapdump ")) {
        let words: Vec<String> = shlex::split(line).unwrap().into_iter().skip(1).collect();
        let of_line = |word: String| match word.as_str() {
            "heap.pb.gz" => "fixtures/pprof/go-heap.pb.gz".to_string(),
            "difference.pb.gz" => "fixtures/pprof/difference.pb".to_string(),
            "jeprof.heap" => "fixtures/jemalloc/sampled.heap".to_string(),
            "OLD" => "fixtures/gperftools/go-sampled.txt".to_string(),
            "NEW" => "fixtures/gperftools/go-exact.txt".to_string(),
            "page.html" | "copy.pb.gz" => folder.path().join(word).display().to_string(),
            "PATTERN" => "make".to_string(),
            _ => word.replace("KEY", "bytes"),
        };
        let words: Vec<String> = words.into_iter().map(of_line).collect();
        let ran = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
        asked += 1;
    }
    assert!(asked > 20, "{asked}");
}

/// A profile of kinds objects and space with these samples: a stack of main (1) and work (2), innermost first, and two values.
fn small_profile(samples: &[(&[u64], i64, i64)], time_ns: u64) -> Vec<u8> {
    let sample = |(stack, objects, bytes): &(&[u64], i64, i64)| {
        let stack: Vec<u8> = stack.iter().flat_map(|&id| varint(id)).collect();
        let values = [*objects, *bytes].map(|value| varint(value.cast_unsigned())).concat();
        message(2, &[message(1, &stack), message(2, &values)].concat())
    };
    let kinds = [(1, 2), (3, 4)].map(|(kind, unit)| message(1, &[number(1, kind), number(2, unit)].concat())).concat();
    let mut profile = [kinds, samples.iter().flat_map(sample).collect()].concat();
    for id in [1, 2] {
        profile.extend(message(4, &[number(1, id), message(4, &number(1, id))].concat()));
        profile.extend(message(5, &[number(1, id), number(2, id + 4)].concat()));
    }
    for text in ["", "objects", "count", "space", "bytes", "main", "work"] {
        profile.extend(message(6, text.as_bytes()));
    }
    [profile, number(9, time_ns)].concat()
}

/// What is less than 0 is taken away: one file has both sides of a diff, and its bytes and objects need not agree in sign.
#[test]
fn a_difference_of_profiles_is_two_dumps() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("difference.pb").display().to_string();
    let samples: [(&[u64], i64, i64); 4] = [(&[2, 1], -3, -300), (&[2, 1], 5, 700), (&[1], 1, -50), (&[2, 2, 1], 0, 9)];
    std::fs::write(&file, small_profile(&samples, 0)).unwrap();
    let info = run(&["info", "-f", "json", &file]).expect_code(0).json();
    let heap = |at: usize| {
        let heap = &info["heaps"][at];
        [&heap["dump"], &heap["total_bytes"], &heap["allocations"]].map(|figure| figure.as_u64().unwrap())
    };
    assert_eq!([heap(0), heap(1)], [[1, 350, 3], [2, 709, 6]]);
    assert_eq!(info["problems"][0]["code"], "difference");
    let answer = run(&["diff", "--by", "function", "-f", "json", "-q", &file]).expect_code(0).json();
    let row = |name: &str| {
        let row = answer["groups"].as_array().unwrap().iter().find(|row| row["group"] == name).unwrap();
        ["flat_bytes_old", "flat_bytes_new", "cum_bytes_delta"].map(|key| row[key].as_i64().unwrap())
    };
    assert_eq!((row("work"), row("main")), ([300, 709, 409], [50, 0, 359]));
    let limit = |limit: &str| run(&["diff", "--by", "function", "--fail-over", limit, "-q", &file]).code;
    assert_eq!((limit("=work=409"), limit("=work=408")), (0, 1));
    let whole = run(&["diff", "fixtures/pprof/go-heap.pb.gz"]).expect_code(2).stderr;
    assert!(whole.contains("name two files, or two dumps of one: --dump OLD,NEW"), "{whole}");
}

/// Many samples are read on several threads: with locations of many frames and unknown ones, frames left out, labels, and what
/// is taken away, first met by any of them.
#[test]
fn threads_do_not_change_what_a_profile_says() {
    let mut profile =
        [(1, 2), (3, 4)].map(|(kind, unit)| message(1, &[number(1, kind), number(2, unit)].concat())).concat();
    let mut random = 1_u64;
    for at in 0..200_000_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (bits, depth) = (random >> 16, random >> 60);
        // Locations 1 to 63; later samples know more of them.
        let id = |frame: u64| (bits.rotate_left(frame as u32 * 3) & 63).min(8 + at / 3_500) + 1;
        let stack: Vec<u8> = (0..depth).flat_map(|frame| varint(id(frame))).collect();
        let values =
            [1, bits % 100].map(|value| varint(if bits % 7 == 0 { value.wrapping_neg() } else { value })).concat();
        let label = message(3, &[number(1, 5), number(2, 5 + bits % 3 + at / 100_000)].concat());
        profile.extend(message(2, &[message(1, &stack), message(2, &values), label].concat()));
    }
    for id in 1..60 {
        let lines = message(4, &number(1, id / 2 + 1)).repeat(if id % 10 == 0 { 12 } else { 1 });
        profile.extend(message(4, &[number(1, id), lines].concat()));
        profile.extend(message(5, &[number(1, id), number(2, 5 + id % 20)].concat()));
    }
    let names = (0..20).map(|id| format!("f{id}"));
    let texts = ["", "objects", "count", "space", "bytes"].map(String::from).into_iter().chain(names);
    profile.extend(texts.flat_map(|text| message(6, text.as_bytes())));
    profile.extend(number(7, 12));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.pb").display().to_string();
    std::fs::write(&file, profile).unwrap();
    let questions: [&[&str]; 4] = [
        &["info", &file],
        &["stats", "--by", "function", "-n", "0", "-q", &file],
        &["breakdown", "--by", "backtrace", "--depth", "20", "--min-bytes", "0", "-q", &file],
        &["stats", "--by", "label=f0", "-n", "0", "-q", &file],
    ];
    for words in questions {
        let [alone, several] = ["1", "3"].map(|threads| {
            let words = [words, &["-f", "json", "--threads", threads]].concat();
            run(&words).expect_code(0).stdout
        });
        assert!(alone == several && alone.len() > 500, "{words:?}: {} and {} bytes", alone.len(), several.len());
    }
}

/// Profiles one after another: types, and functions with flat or cum; at their times, an hour apart.
#[test]
fn a_trend_of_profiles() {
    let folder = tempfile::tempdir().unwrap();
    let write = |(number, &bytes): (usize, &i64)| {
        let path = folder.path().join(format!("{number}.pb"));
        let time_ns = 1_700_000_000_000_000_000 + number as u64 * 3_600_000_000_000;
        std::fs::write(&path, small_profile(&[(&[2, 2, 1], 2, bytes), (&[1], 1, 50)], time_ns)).unwrap();
        path.display().to_string()
    };
    let files: Vec<String> = [100, 200, 300, 500].iter().enumerate().map(write).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let trend =
        |words: &[&str]| run(&[&["trend", "--all", "-f", "json", "-q"], words, &files].concat()).expect_code(0).json();
    let row = |answer: &Value, key: &str, name: &str| {
        let rows = answer[key].as_array().unwrap();
        rows.iter().find(|row| row[key.trim_end_matches('s')] == name).unwrap_or_else(|| panic!("{answer}")).clone()
    };
    let types = trend(&[]);
    assert_eq!((&types["measure"], &types["by"]), (&json!("total_bytes"), &json!("type")));
    let figures = |row: &Value| json!([row["trend"], row["bytes"], row["objects"], row["bytes_per_hour"]]);
    assert_eq!(figures(&row(&types, "types", "work")), json!(["grows", [100, 200, 300, 500], [2, 2, 2, 2], 117]));
    assert_eq!(figures(&row(&types, "types", "main")), json!(["flat", [50, 50, 50, 50], [1, 1, 1, 1], 0]));
    let dump = &types["dumps"][3];
    assert_eq!((&dump["total_bytes"], &dump["allocations"], &dump["objects"]), (&json!(550), &json!(3), &Value::Null));
    assert_eq!(dump["taken_at"], "2023-11-15T01:13:20.000Z");
    assert_eq!((&types["total"]["first_bytes"], &types["total"]["last_bytes"]), (&json!(150), &json!(550)));
    let flat = trend(&["--by", "function"]);
    assert_eq!(
        (&flat["measure"], row(&flat, "groups", "main")["bytes"].clone()),
        (&json!("flat_bytes"), json!([50, 50, 50, 50]))
    );
    let cum = trend(&["--by", "function", "--cum"]);
    assert_eq!(
        (&cum["measure"], row(&cum, "groups", "main")["bytes"].clone()),
        (&json!("cum_bytes"), json!([150, 250, 350, 550]))
    );
    assert_eq!(row(&cum, "groups", "work")["bytes"], json!([100, 200, 300, 500]), "on a stack twice, counted once");
    let limited =
        |limit: &str| run(&[&["trend", "--by", "function", "--fail-over", limit, "-q"], &files[..]].concat()).code;
    assert_eq!((limited("=work=400"), limited("=work=399")), (0, 1));
    let refused = run(&[&["trend", "--retained"], &files[..]].concat()).expect_code(2).stderr;
    assert!(refused.contains("objects"), "{refused}");
}

/// A page of a profile says where it is allocated: functions with flat and cum, as `stats` has them.
#[test]
fn the_page_has_functions() {
    let file = "fixtures/pprof/go-heap.pb.gz";
    let page = run(&["report", "-q", "-o", "-", file]).expect_code(0).stdout;
    assert!(page.contains("<h2>Flame graph: where it is allocated</h2>"));
    let start = page.split("<script type=\"application/json\" id=\"data\">").nth(1).unwrap();
    let data: Value = serde_json::from_str(start.split("</script>").next().unwrap()).unwrap();
    let table = &data["groups"][0];
    assert_eq!(table["noun"], "functions");
    let column = |key: &str| table[key].as_array().unwrap().clone();
    let on_page: Vec<(String, u64, u64)> = column("name")
        .iter()
        .zip(column("flat").iter().zip(&column("cum")))
        .map(|(name, (flat, cum))| (name.as_str().unwrap().into(), flat.as_u64().unwrap(), cum.as_u64().unwrap()))
        .collect();
    assert_eq!(on_page, flat_and_cum(&["stats", "--by", "function", file]));
}

/// Half a million frames that no two stacks share: memory is some bytes a frame.
#[test]
fn many_frames_take_some_bytes_each() {
    let mut profile = message(1, &[number(1, 1), number(2, 2)].concat());
    for at in 0..10_000u64 {
        // The two outermost frames say which sample it is.
        let ends = [at % 100 + 1, at / 100 + 101];
        let stack: Vec<u8> = (201..249).chain(ends).flat_map(varint).collect();
        profile.extend(message(2, &[message(1, &stack), number(2, 8)].concat()));
    }
    for id in 1..249 {
        profile.extend(message(4, &[number(1, id), message(4, &number(1, id))].concat()));
        profile.extend(message(5, &[number(1, id), number(2, id + 2)].concat()));
    }
    let names = (1..249).map(|id| format!("f{id}"));
    let texts = ["", "space", "bytes"].map(String::from).into_iter().chain(names);
    profile.extend(texts.flat_map(|text| message(6, text.as_bytes())));
    let words = ["stats", "--max-memory", "40MiB", "-f", "json", "-q", "-"];
    let answer = run_with_input(&words, &profile).expect_code(0).json();
    assert_eq!((&answer["totals"]["total_bytes"], &answer["types"][0]["type"]), (&json!(80_000), &json!("f201")));
}

/// The same allocations by other writers: in every command, by file and by size too.
#[test]
fn texts_of_allocators_are_profiles_too() {
    let known = "fixtures/gperftools/known.heap";
    // leaf_small and leaf_big, each called by two ways: the second through four levels of one function.
    let rows = flat_and_cum(&["stats", "--by", "function", known]);
    let mut flat: Vec<u64> = rows.iter().map(|(_, flat, _)| *flat).filter(|flat| *flat > 0).collect();
    flat.sort_unstable();
    assert_eq!(flat, [200_000, 20_971_520], "{rows:?}");
    let cum: Vec<u64> = rows.iter().filter(|(name, ..)| name.starts_with("known+")).map(|(.., cum)| *cum).collect();
    assert!(cum.iter().all(|cum| *cum <= 21_171_520) && cum.contains(&21_171_520), "{rows:?}");
    let modules = flat_and_cum(&["stats", "--by", "module", known]);
    assert!(modules.contains(&("/opt/known/known".into(), 21_171_520, 21_171_520)), "{modules:?}");
    let sizes = run(&["stats", "--by", "size", "-f", "json", "-q", known]).expect_code(0).json();
    let expected = json!([
        {"total_bytes": 20_971_520, "allocations": 20, "type": "1048576 bytes"},
        {"total_bytes": 200_000, "allocations": 2_000, "type": "100 bytes"},
    ]);
    assert_eq!(sizes["types"], expected);
    // Another allocator's size classes, and what was freed: 500 times 224.
    let jemalloc = "fixtures/jemalloc/exact.heap";
    let total = |words: &[&str]| {
        let answer = run(&[&["stats", "-f", "json", "-q"], words].concat()).expect_code(0).json();
        answer["totals"]["total_bytes"].as_u64().unwrap()
    };
    assert_eq!(total(&["--measure", "alloc", jemalloc]) - total(&[jemalloc]), 500 * 224);
    let all = flat_and_cum(&["stats", "--by", "module", "--all-frames", jemalloc]);
    let own = all.iter().find(|(name, ..)| name.contains("libjemalloc")).unwrap();
    assert_eq!(own.1, total(&[jemalloc]), "the allocator's own frames are innermost");
    let unknown = run(&["stats", "--measure", "alloc", "fixtures/jemalloc/sampled.heap"]).expect_code(2).stderr;
    assert!(unknown.contains("no measure \"alloc\"; there are: inuse"), "{unknown}");

    // Go's text and its protocol buffer are of one program: its own functions have the same.
    let orders = flat_and_cum(&["stats", "--by", "function", "fixtures/gperftools/go-exact.txt"]);
    let of = |name: &str| orders.iter().find(|(own, ..)| own == name).map(|(_, flat, cum)| (*flat, *cum));
    assert_eq!(of("main.makeLine"), Some((6_000 * 112, 6_000 * 112)));
    assert!(of("main.fill").is_some_and(|(flat, cum)| flat < cum && cum < 949_888), "{orders:?}");
    let lines = flat_and_cum(&["stats", "--by", "line", "fixtures/gperftools/go-exact.txt"]);
    assert!(lines.contains(&("main.makeLine ./known.go:18".into(), 672_000, 672_000)), "{lines:?}");

    // Nothing was allocated: no sum is wrong.
    let nothing = b"heap profile: 0: 0 [0: 0] @ heapprofile\n\nMAPPED_LIBRARIES:\n";
    let answer = run_with_input(&["info", "-f", "json", "-"], nothing).expect_code(0).json();
    assert_eq!((&answer["problems"], &answer["heaps"][0]["total_bytes"]), (&json!([]), &json!(0)));

    // V8's has no counts, and as many levels as it likes.
    let levels = 100_000;
    let node = r#"{"callFrame":{"functionName":"f","url":"a.js","lineNumber":0},"selfSize":1,"children":["#;
    let deep = format!(r#"{{"head":{}{}}}"#, node.repeat(levels), "]}".repeat(levels));
    let answer =
        run_with_input(&["stats", "--by", "function", "-f", "json", "-"], deep.as_bytes()).expect_code(0).json();
    let row = |bytes: usize, name: &str| {
        json!({
            "flat_bytes": bytes, "cum_bytes": bytes, "flat_allocations": null, "cum_allocations": null, "group": name
        })
    };
    let expected = json!([row(levels - 1, "f"), row(1, "(no stack)")]);
    assert_eq!(answer["groups"], expected, "the head is no function");
}
