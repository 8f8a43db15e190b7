//! `heapdump collect` from outside of a container: a process with numbers, files, `/tmp`, network and, in one case, a user of
//! its own. Only root can make one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::collect_live::{Runtime, Target, names_in, runtime};
use crate::common::cmd::{finish, heapdump, project};
use crate::common::live::not_tested;

const OBJECTS: u64 = 100_000;

/// Makes the container: all of this machine's files, but a `/tmp` and a `/proc` of its own.
const CONTAINER: &str = r#"
set -e
root=$1; user=$2; project=$3; shift 3
mount --rbind / "$root"
mount --make-rprivate "$root"
mount -t tmpfs -o mode=1777 none "$root/tmp"
# Where the project is in /tmp it is there too.
case "$project" in /tmp/*) mkdir -p "$root$project"; mount --bind "$project" "$root$project";; esac
mount -t proc proc "$root/proc"
ip link set lo up
exec chroot "$root" setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
"#;

fn is_possible() -> bool {
    let mut command = Command::new("unshare");
    command.args(["-p", "-m", "-n", "--fork", "--mount-proc", "sh", "-c", "ip link set lo up && setpriv --version"]);
    if command.output().is_ok_and(|output| output.status.success()) {
        return true;
    }
    not_tested("containers: no namespaces can be made here (root, unshare, ip, setpriv)");
    false
}

/// Starts the program in a container.
fn start(runtime: &Runtime, options: &[&str], user: u32) -> Target {
    let inner = runtime.command(OBJECTS, options);
    let root = tempfile::Builder::new().prefix("heapdump-root").tempdir_in("/var/tmp").expect("a folder").keep();
    let mut command = Command::new("unshare");
    command.args(["-p", "-m", "-n", "--fork", "--kill-child", "sh", "-c", CONTAINER, "sh"]);
    command.arg(&root).arg(user.to_string()).arg(project("")).arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut target = runtime.start_command(command);
    // Nothing is mounted there outside of the container.
    std::fs::remove_dir(root).expect("empty");
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", target.pid)).expect("children");
    target.pid = children.trim().parse().expect("one child");
    target
}

/// Files in the container's `/tmp` but those that the runtime makes itself.
fn left_in(target: &Target) -> Vec<String> {
    let tmp = PathBuf::from(format!("/proc/{}/root/tmp", target.pid));
    let of_project =
        project("").strip_prefix("/tmp").ok().and_then(|path| path.iter().next().map(|name| name.to_owned()));
    let is_its_own = |name: &String| {
        of_project.as_ref().is_some_and(|own| own.to_string_lossy() == **name)
            || [".java_pid", "hsperfdata_", "dotnet-diagnostic-", "clr-debug-pipe-", ".dotnet"]
                .iter()
                .any(|own| name.starts_with(own))
    };
    names_in(&tmp).into_iter().filter(|name| !is_its_own(name)).collect()
}

fn is_dumped(name: &'static str, options: &[&str], asking: &[&str], user: u32) {
    let Some(runtime) = runtime(name) else { return };
    let mut target = start(&runtime, options, user);
    let status = std::fs::read_to_string(format!("/proc/{}/status", target.pid)).expect("alive");
    assert!(status.lines().any(|line| line.starts_with("NSpid:") && line.ends_with("\t1")), "{status}");
    assert!(left_in(&target).is_empty());
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..2 {
        let path = folder.path().join(format!("{number}.{}", runtime.extension));
        let answer = target.collect(&path, asking).expect_code(0).json();
        assert_eq!((&answer["complete"], &answer["pid"]), (&true.into(), &target.pid.into()));
        runtime.check(&path);
        let facts = path.metadata().expect("there");
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&facts), 0, "it is ours");
        assert!(target.process.is_alive(), "{:?}: {}", target.process.0.try_wait(), target.output());
    }
    let rows = finish(heapdump(&["collect", "--list", "-f", "json"])).expect_code(0).json();
    let row = rows["processes"].as_array().expect("rows").iter().find(|row| row["pid"] == target.pid).expect("listed");
    let expected = if asking.is_empty() { "yes" } else { "needs-open-inspector" };
    assert_eq!(row["can_dump"], expected, "{row}");
    // A run that is killed leaves what the next one removes. Version 3.1 does not always survive that.
    let waits: &[u64] = if name == "dotnet31" { &[] } else { &[20, 60, 120] };
    for &wait in waits {
        let mut child = target.collect_command(Path::new("/dev/null"), asking);
        let mut child = child.stdout(std::process::Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().expect("killed");
        child.wait().expect("ended");
        std::thread::sleep(Duration::from_millis(100));
        assert!(target.process.is_alive(), "{wait} {:?}: {}", target.process.0.try_wait(), target.output());
    }
    std::thread::sleep(Duration::from_millis(2500));
    let last = folder.path().join("last");
    target.collect(&last, asking).expect_code(0);
    runtime.check(&last);
    assert!(left_in(&target).is_empty(), "{:?}", left_in(&target));
    assert!(target.process.is_alive(), "{}", target.output());
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn java_in_a_container_is_dumped() {
    if is_possible() {
        is_dumped("java17", &[], &[], 0);
        is_dumped("java17", &["-XX:-UsePerfData"], &[], 65534);
        is_dumped("java25", &[], &[], 65534);
        is_dumped("java11", &[], &[], 0);
    }
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn dotnet_in_a_container_is_dumped() {
    if is_possible() {
        is_dumped("dotnet8", &[], &[], 65534);
        is_dumped("dotnet31", &[], &[], 0);
    }
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn node_in_a_container_is_dumped() {
    if is_possible() {
        is_dumped("node20", &["--inspect=0"], &[], 65534);
        is_dumped("node20", &[], &["--open-inspector"], 0);
    }
}
