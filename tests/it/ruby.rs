//! Ruby's heap dumps: figures that are known beforehand, lines of any length, the order of the readers.

use crate::common::cmd::{project, run, run_with_input};
use serde_json::Value;

fn ask(words: &[&str], file: &str) -> Value {
    let path = project(file).display().to_string();
    let words: Vec<&str> = words.iter().copied().chain(["-f", "json", "-q", &path]).collect();
    run(&words).expect_code(0).json()
}

/// Figures of the program, by hand: a cache of 100 orders of 463 bytes, its hash of 3,424, itself 40; and so on.
#[test]
fn the_known_program_retains_what_it_should() {
    let file = "fixtures/ruby_objspace/known.jsonl.zst";
    for (name, objects, shallow, retained) in [
        ("Cache", 1, 40, 53_764),
        ("Order", 100, 4_000, 50_300),
        ("Wide", 1, 40, 1_156),
        ("Pair", 1, 40, 131),
        ("Hidden", 1, 40, 2_081),
    ] {
        let rows = ask(&["stats", "--retained", "--type", &format!("={name}")], file);
        let row = &rows["types"][0];
        assert_eq!(row["objects"], objects, "{name}");
        assert_eq!(row["retained_bytes"], retained, "{name}");
        if name != "Wide" {
            assert_eq!(row["shallow_bytes"], shallow, "{name}");
        }
    }
    let cache = ask(&["dominators", "--type", "=Cache", "-n", "1"], file);
    assert_eq!(cache["nodes"][0]["dominated_objects"], 502);
    // The local of a method is held by the stack of its thread.
    let path = &ask(&["roots", "--type", "=Hidden"], file)["tree"][0];
    assert_eq!(path["root"]["kind"], "vm-internal");
    assert_eq!(path["children"][0]["type"], "Thread (VM/thread)");
    assert_eq!(path["children"][0]["children"][0]["type"], "Hidden");
}

/// Class objects say which class they are; names are those of the dump.
#[test]
fn classes_have_their_names() {
    let file = "fixtures/ruby_objspace/every-kind.jsonl";
    let shown = ask(&["show", "0x7f0000001000"], file);
    assert_eq!(shown["object"]["type"], "Shop::Cache", "the nearest class with a name");
    let class = ask(&["show", "0x7f0000002168"], file);
    assert_eq!(class["object"]["class"], "Shop::Cache");
    let references: Vec<&str> =
        shown["references"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(references, ["0x7f0000001028", "0x7f0000002118"], "its class is the last one");
}

/// Texts, names of variables from shapes and of elements where each has a reference, and where it was allocated.
#[test]
fn lines_are_read_again_for_what_is_shown() {
    let file = "fixtures/ruby_objspace/every-kind.jsonl";
    let names = |id: &str| {
        let shown = ask(&["show", id], file);
        let rows = shown["references"].as_array().unwrap().clone();
        rows.into_iter().map(|row| row["reference"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("0x7f0000001000"), [serde_json::json!(".@orders"), "<class>".into()]);
    // Ten elements, one of them an object: which one it is cannot be told. Two references, no shape.
    assert_eq!(names("0x7f0000001078"), [Value::Null, "<class>".into()]);
    assert_eq!(names("0x7f0000001050"), [Value::Null, Value::Null, "<class>".into()]);
    assert_eq!(names("0x7f0000002168")[0], "<superclass>");
    assert_eq!(ask(&["show", "0x7f0000001140"], file)["object"]["value"], "x\"y\\z\n]}");
    assert_eq!(ask(&["show", "0x7f0000001258"], file)["object"]["value"], "never_held");
    assert_eq!(ask(&["show", "0x7f00000012a8"], file)["object"]["backtrace"][0], "new (/app/order.rb:12)");
    let texts = ask(&["strings", "--duplicates", "-n", "1"], "fixtures/ruby_objspace/known.jsonl.zst");
    assert_eq!(texts["strings"][0]["copies"], 104);
}

/// Shapes of Ruby 3.4, whose first one has a parent that is not there; a chain that breaks off elsewhere names nothing.
#[test]
fn shapes_end_where_ruby_ends_them() {
    let names = |first: &str| {
        let lines = format!(
            "{{\"address\":\"0x10\", \"type\":\"SHAPE\", \"id\":3, \"parent_id\":65535, \"depth\":1, \"shape_type\":\"T_OBJECT\"}}\n\
             {{\"address\":\"0x18\", \"type\":\"SHAPE\", \"id\":8, \"parent_id\":{first}, \"shape_type\":\"IVAR\",\"edge_name\":\"@a\"}}\n\
             {{\"address\":\"0x20\", \"type\":\"OBJECT\", \"shape_id\":8, \"ivars\":1, \"references\":[\"0x28\"], \"memsize\":20}}\n\
             {{\"address\":\"0x28\", \"type\":\"STRING\", \"value\":\"x\", \"memsize\":40}}\n"
        );
        let shown = run_with_input(&["show", "0x20", "-q", "-f", "json", "-"], lines.as_bytes()).expect_code(0).json();
        shown["references"][0]["reference"].clone()
    };
    assert_eq!(names("3"), ".@a");
    assert_eq!(names("9"), Value::Null);
}

/// An array of a million elements and a text of 5 MB are lines as any other; without a last line end nothing is lost.
#[test]
fn lines_may_be_long() {
    let elements: Vec<String> = (0..1_000_000).map(|_| "\"0x20\"".to_string()).collect();
    let text = "x".repeat(5_000_000);
    let lines = format!(
        "{{\"type\":\"ROOT\", \"root\":\"vm\", \"references\":[\"0x10\"]}}\n\
         {{\"address\":\"0x10\", \"type\":\"ARRAY\", \"length\":1000000, \"references\":[{}], \"memsize\":8000040}}\n\
         {{\"address\":\"0x20\", \"type\":\"STRING\", \"bytesize\":5000000, \"value\":\"{text}\", \"memsize\":5000041}}",
        elements.join(", ")
    );
    let stats = run_with_input(&["stats", "-f", "json", "-"], lines.as_bytes()).expect_code(0).json();
    assert_eq!(stats["totals"]["reachable_bytes"], 13_000_081);
    assert_eq!(stats["problems"], serde_json::json!([]));
    let info = run_with_input(&["info", "-f", "json", "-"], lines.as_bytes()).expect_code(0).json();
    assert_eq!(info["records"]["references"], 1_000_000);
}

/// Lines as Ruby 2.7 writes them: no `superclass`, which a class refers to last, behind the object that has the singleton class.
#[test]
fn a_singleton_class_of_ruby_2_7_is_named_by_its_superclass() {
    let lines = "{\"type\":\"ROOT\", \"root\":\"vm\", \"references\":[\"0x20\"]}\n\
        {\"address\":\"0x20\", \"type\":\"OBJECT\", \"class\":\"0x30\", \"ivars\":3, \"memsize\":40, \"flags\":{\"wb_protected\":true}}\n\
        {\"address\":\"0x30\", \"type\":\"CLASS\", \"class\":\"0x50\", \"references\":[\"0x40\", \"0x20\", \"0x60\"], \"memsize\":500}\n\
        {\"address\":\"0x40\", \"type\":\"IMEMO\", \"imemo_type\":\"ment\", \"references\":[\"0x30\"], \"memsize\":40}\n\
        {\"address\":\"0x50\", \"type\":\"CLASS\", \"name\":\"Class\", \"memsize\":600}\n\
        {\"address\":\"0x60\", \"type\":\"CLASS\", \"class\":\"0x50\", \"name\":\"Shop::Cart\", \"memsize\":700}\n\
        {\"address\":\"0x70\", \"type\":\"ZOMBIE\"}\n";
    let shown = run_with_input(&["show", "0x20", "-q", "-f", "json", "-"], lines.as_bytes()).expect_code(0).json();
    assert_eq!(shown["object"]["type"], "Shop::Cart");
    let stats = run_with_input(&["stats", "-q", "-f", "json", "-"], lines.as_bytes()).expect_code(0).json();
    assert_eq!(stats["totals"]["reachable_bytes"], 40 + 500 + 40 + 600 + 700);
}
