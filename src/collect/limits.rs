//! Memory that a process may still take: of the machine, and of the control groups that it is in.

use std::fs;
use std::path::Path;

use super::process::{Process, read_proc};

/// Bytes that are free to it, at most.
pub(super) fn free_memory(process: &Process) -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let machine = available.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).map(|kib| kib << 10);
    let groups = read_proc(process.pid, "cgroup").unwrap_or_default();
    let of_groups = free_in_groups(&String::from_utf8_lossy(&groups), Path::new("/sys/fs/cgroup"));
    [machine, of_groups].into_iter().flatten().min()
}

/// `0::/a/b` is a group of version 2, `5:memory:/a/b` one of version 1: each group up to the top has a limit of its own.
fn free_in_groups(groups: &str, root: &Path) -> Option<u64> {
    let free = |folder: &Path, limit: &str, used: &str| {
        let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        Some(number(limit)?.saturating_sub(number(used)?))
    };
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let is_memory = controllers.split(',').any(|name| name == "memory");
        let (top, limit, used) = match controllers {
            "" => (root.to_path_buf(), "memory.max", "memory.current"),
            _ if is_memory => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
            _ => continue,
        };
        let mut folder = Some(Path::new(path.trim_start_matches('/')));
        while let Some(below) = folder {
            let found = free(&top.join(below), limit, used);
            least = [least, found].into_iter().flatten().min();
            folder = below.parent();
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_group_counts() {
        let root = tempfile::tempdir().expect("a folder");
        let group = root.path().join("a/b");
        fs::create_dir_all(&group).expect("made");
        for (file, number) in [
            ("a/b/memory.max", "max"),
            ("a/b/memory.current", "5"),
            ("a/memory.max", "100"),
            ("a/memory.current", "30\n"),
        ] {
            fs::write(root.path().join(file), number).expect("written");
        }
        assert_eq!(free_in_groups("0::/a/b\n", root.path()), Some(70));
        assert_eq!(free_in_groups("0::/elsewhere\n1:cpu:/a\nnonsense", root.path()), None);
        fs::create_dir_all(root.path().join("memory/x")).expect("made");
        fs::write(root.path().join("memory/x/memory.limit_in_bytes"), "50").expect("written");
        fs::write(root.path().join("memory/x/memory.usage_in_bytes"), "60").expect("written");
        assert_eq!(free_in_groups("3:cpu,memory:/x\n0::/a/b", root.path()), Some(0));
    }

    #[test]
    fn this_process_has_some() {
        let process = Process::open(std::process::id()).expect("this process");
        assert!(free_memory(&process).is_some_and(|bytes| bytes > 0));
    }
}
