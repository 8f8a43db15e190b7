//! `strings --secrets`: planted secrets are found, and hardly anything else.

use serde_json::{Value, json};

use crate::common::cmd::{run, run_with_input};
use crate::common::fixtures::all;
use crate::common::synth_hprof::Writer;

/// Secrets of all kinds, put together here so that no scanner takes this file for a leak: kind, text.
fn planted() -> Vec<(&'static str, String)> {
    let (a, b) = ("A1b2C3d4E5f6G7h8I9j0", "K1l2M3n4O5p6Q7r8S9t0");
    let account_key = "Zz09+/".repeat(14) + "ab==";
    let texts: Vec<(&str, Vec<&str>)> = vec![
        ("private-key", vec!["-----BEGIN RSA PRIV", "ATE KEY-----\nMIIEpAIBAAKCAQEA"]),
        ("private-key", vec!["-----BEGIN OPENSSH PRIV", "ATE KEY-----"]),
        ("aws-access-key", vec!["AKI", "AIOSFODNN7EXAMPLE"]),
        ("aws-access-key", vec!["key ASI", "AIOSFODNN7EXAMPLE, region"]),
        ("aws-secret-key", vec!["aws_secret_access_key = ", a, b]),
        ("aws-secret-key", vec!["{\"awsSecretKey\": \"", b, a, "\"}"]),
        ("google-api-key", vec!["AIz", "aSyA-", a, "_1234567890"]),
        ("google-api-key", vec!["https://maps/x?key=AIz", "aSyB-", b, "_1234567890&v=1"]),
        ("google-oauth-token", vec!["ya2", "9.", a, b]),
        ("azure-account-key", vec!["AccountName=x;AccountKey=", &account_key]),
        ("azure-shared-access-signature", vec!["https://a.blob/x?sv=1&sig=", a, b, "abc%3D"]),
        ("github-token", vec!["gh", "p_", a, b]),
        ("github-token", vec!["token gh", "s_", b, a]),
        ("github-token", vec!["github_", "pat_", a, b]),
        ("gitlab-token", vec!["glp", "at-", a]),
        ("gitlab-token", vec!["PRIVATE-TOKEN: glp", "at-", b]),
        ("slack-token", vec!["xo", "xb-123456789012-", a]),
        ("slack-token", vec!["xo", "xp-210987654321-", b]),
        ("slack-webhook", vec!["https://hooks.slack.com/services/", "T0001/B0002/", a]),
        ("stripe-key", vec!["sk_", "live_", a]),
        ("stripe-key", vec!["rk_", "test_", b]),
        ("npm-token", vec!["np", "m_", "A1b2C3d4E5f6G7h8I9", "K1l2M3n4O5p6Q7r8S9"]),
        ("npm-token", vec!["//registry.npmjs.org/:_authToken=np", "m_", "K1l2M3n4O5p6Q7r8S9", "A1b2C3d4E5f6G7h8I9"]),
        ("sendgrid-key", vec!["S", "G.", a, "ab.", a, b, "abc"]),
        ("json-web-token", vec!["ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiIxMjM0In0.", a]),
        ("json-web-token", vec!["session=ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiI5OTk5In0.", b]),
        ("bearer-header", vec!["Authorization: Bearer ", a]),
        ("bearer-header", vec!["bearer ", b]),
        ("basic-header", vec!["Basic ", "dXNlcjpwYXNzd29yZA=="]),
        ("basic-header", vec!["Authorization: Basic ", "YWRtaW46aHVudGVyMg=="]),
        ("password-in-url", vec!["postgresql://user:s3cr3t@db.example/app"]),
        ("password-in-url", vec!["redis://:pa55w0rd@10.0.0.1:6379"]),
        ("password-in-url", vec!["see https://bot:hunter22@git.example/x.git"]),
        ("password-in-url", vec!["amqp://guest:gu3st9@mq:5672/vhost"]),
        ("password-in-oracle-url", vec!["jdbc:oracle:thin:scott/t1g3r@//db.example:1521/app"]),
        ("password-property", vec!["jdbc:mysql://db/app?user=me&password=s3cr3t!"]),
        ("password-property", vec!["javax.net.ssl.keyStorePassword=x;db.password=changeit1"]),
        ("password-property", vec!["spring.datasource.passwd=hunter2x"]),
        ("password-property", vec!["-Dpwd=letmein9"]),
        ("card-number", vec!["paid with 4111 1111", " 1111 1111."]),
        ("card-number", vec!["3782", "82246310005"]),
        ("card-number", vec!["5555-5555-", "5555-4444"]),
    ];
    texts.into_iter().map(|(kind, parts)| (kind, parts.concat())).collect()
}

/// A dump of Java with these texts, every other one in two bytes a character, and one in a field that is named `apiToken`.
fn java(texts: &[String], named: &str) -> Vec<u8> {
    let mut writer = Writer::new("1.0.2", 8);
    let [object, string, client] = [0x1000u64, 0x1100, 0x1200];
    for (class, name) in [(object, "java.lang.Object"), (string, "java.lang.String"), (client, "app.Client")] {
        writer.class(class, name);
    }
    for (id, name) in [(0x2000u64, "value"), (0x2001, "coder"), (0x2003, "apiToken")] {
        let text = [writer.id(id), name.as_bytes().to_vec()].concat();
        writer.record(1, &text);
    }
    let mut dump = Vec::new();
    for (class, above, fields) in
        [(object, 0, &[][..]), (string, object, &[(0x2000u64, 2u8), (0x2001, 8)]), (client, object, &[(0x2003, 2)])]
    {
        dump.extend([vec![0x20], writer.id(class), vec![0; 4], writer.id(above), vec![0; 5 * 8 + 4 + 4]].concat());
        dump.extend((fields.len() as u16).to_be_bytes());
        fields.iter().for_each(|(name, kind)| dump.extend([writer.id(*name), vec![*kind]].concat()));
    }
    for (at, text) in texts.iter().map(String::as_str).chain([named]).enumerate() {
        let (id, array, is_wide) = (0x10_0000 + 0x40 * at as u64, 0x20_0000 + 0x400 * at as u64, at % 2 == 1);
        let bytes: Vec<u8> = match is_wide {
            true => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            false => text.bytes().collect(),
        };
        let head = [vec![0x23], writer.id(array), vec![0; 4], (bytes.len() as u32).to_be_bytes().to_vec()].concat();
        dump.extend([head, vec![8], bytes].concat());
        let values = [writer.id(array), vec![u8::from(is_wide)]].concat();
        dump.extend([vec![0x21], writer.id(id), vec![0; 4], writer.id(string), vec![0, 0, 0, 9], values].concat());
        dump.extend(writer.root(id));
    }
    let last = 0x10_0000 + 0x40 * texts.len() as u64;
    // Characters and bytes that no string has: of a key in two bytes a character, and of what a string has too.
    let key = ["-----BEGIN EC PRIV", "ATE KEY-----\n", &"MHcCAQEEIIrYSSNQFaA2Hwf1".repeat(3)].concat();
    let wide: Vec<u8> = key.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let copied = texts.join("; ").into_bytes();
    for (id, kind, elements, bytes) in [(0x40_0000u64, 5, wide.len() / 2, wide), (0x40_1000, 8, copied.len(), copied)] {
        let head = [vec![0x23], writer.id(id), vec![0; 4], (elements as u32).to_be_bytes().to_vec(), vec![kind]];
        dump.extend([head.concat(), bytes, writer.root(id)].concat());
    }
    dump.extend(writer.instance(0x30_0000, client, &[last]));
    dump.extend(writer.root(0x30_0000));
    writer.record(0x0C, &dump);
    writer.bytes
}

/// A snapshot of V8 with these texts, held by the root.
fn javascript(texts: &[String]) -> String {
    let mut strings = vec!["".to_string(), "(GC roots)".to_string(), "held".to_string()];
    let mut nodes = vec![json!(9), json!(0), json!(1), json!(0), json!(1)];
    nodes.extend([json!(9), json!(1), json!(3), json!(0), json!(texts.len())]);
    let mut edges = vec![json!(1), json!(1), json!(5)];
    for (at, text) in texts.iter().enumerate() {
        nodes.extend([2, strings.len(), 5 + 2 * at, 32, 0].map(|number| json!(number)));
        edges.extend([json!(1), json!(at), json!(10 + 5 * at)]);
        strings.push(text.clone());
    }
    let types = [
        "hidden",
        "array",
        "string",
        "object",
        "code",
        "closure",
        "regexp",
        "number",
        "native",
        "synthetic",
        "concatenated string",
        "sliced string",
    ];
    let kinds = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];
    json!({
        "snapshot": {
            "meta": {
                "node_fields": ["type", "name", "id", "self_size", "edge_count"],
                "node_types": [types, "string", "number", "number", "number"],
                "edge_fields": ["type", "name_or_index", "to_node"],
                "edge_types": [kinds, "string_or_number", "node"],
            },
            "node_count": texts.len() + 2, "edge_count": texts.len() + 1,
        },
        "nodes": nodes, "edges": edges, "strings": strings,
    })
    .to_string()
}

fn kinds(answer: &Value) -> Vec<String> {
    let rows = answer["secrets"].as_array().expect("rows").iter();
    let mut kinds: Vec<String> = rows.map(|row| row["kind"].as_str().expect("a kind").to_string()).collect();
    kinds.sort();
    kinds
}

#[test]
fn planted_secrets_are_found_and_masked() {
    let planted = planted();
    assert!(planted.len() > 40);
    let texts: Vec<String> = planted.iter().map(|(_, text)| text.clone()).collect();
    let mut expected: Vec<String> = planted.iter().map(|(kind, _)| kind.to_string()).collect();
    expected.sort();
    let named = "f81d4fae7dec11d0a76500a0c91e6bf6";
    let dump = java(&texts, named);
    let ran = run_with_input(&["strings", "-", "--secrets", "-f", "json"], &dump).expect_code(0);
    let mut with_named = expected.clone();
    with_named.extend(["named-field".to_string(), "private-key".to_string()]);
    with_named.sort();
    assert_eq!(kinds(&ran.json()), with_named);
    for secret in ["s3cr3t", "hunter22", "IOSFODNN7", "G7h8I9j0", named] {
        assert!(!ran.stdout.contains(secret), "{secret} is masked");
    }
    let row = ran.json()["secrets"].as_array().expect("rows").iter().find(|row| row["kind"] == "named-field").cloned();
    let row = row.expect("a row");
    assert_eq!((&row["holder"], &row["path"]), (&json!("app.Client.apiToken"), &json!("java.lang.String")));
    let shown = run_with_input(&["strings", "-", "--secrets", "--show"], &dump).expect_code(0).stdout;
    assert!(shown.contains(named) && shown.contains("hunter22"), "{shown}");
    let ran = run_with_input(&["strings", "-", "--secrets", "-f", "json"], javascript(&texts).as_bytes());
    assert_eq!(kinds(&ran.expect_code(0).json()), expected);
    // A gate.
    let (all, fewer) = (with_named.len().to_string(), (with_named.len() - 1).to_string());
    let over = run_with_input(&["strings", "-", "--secrets", "--fail-over", &fewer, "-q"], &dump).expect_code(1).stderr;
    assert!(over.contains(&format!("{all} secrets, more than --fail-over {fewer}")), "{over}");
    run_with_input(&["strings", "-", "--secrets", "--fail-over", &all], &dump).expect_code(0);
}

/// Programs that hold no secrets: hardly one is found.
#[test]
fn false_alarms_are_few() {
    let mut found = Vec::new();
    for fixture in
        all().into_iter().filter(|fixture| ["hprof", "v8-snapshot", "ruby-objspace"].contains(&&*fixture.format))
    {
        let ran = run(&[
            "strings",
            &fixture.path.display().to_string(),
            "--secrets",
            "--show",
            "-q",
            "-f",
            "csv",
            "--no-header",
        ]);
        found.extend(ran.stdout.lines().map(|line| format!("{}: {line}", fixture.name())));
    }
    assert!(found.len() <= 5, "{}", found.join("\n"));
}

#[test]
fn rules_are_added_by_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join("rules.txt");
    std::fs::write(&rules, "acme-key\n  word ACME\n  pattern ACME-([0-9]+)\n").expect("written");
    let rules = rules.display().to_string();
    let dump = java(&["the ACME-471147114711".to_string()], "x");
    let ran =
        run_with_input(&["strings", "-", "--secrets", "--rules-file", &rules, "-f", "json"], &dump).expect_code(0);
    assert_eq!(kinds(&ran.json()), ["acme-key", "private-key"]);
    std::fs::write(&rules, "acme-key\n  pattern (\n").expect("written");
    let wrong = run_with_input(&["strings", "-", "--secrets", "--rules-file", &rules], &dump).expect_code(2).stderr;
    assert!(wrong.contains("--rules-file") && wrong.contains("line 2"), "{wrong}");
    run(&["strings", "x", "--show"]).expect_code(2);
}
