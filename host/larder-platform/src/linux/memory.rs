//! The memory of the machine and of this process.

use std::io;
use std::path::Path;

/// Returns the memory of this machine in bytes, if the system reports it.
pub fn physical_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace()
        .next()?
        .parse::<u64>()
        .ok()
        .map(|kib| kib << 10)
}

/// Returns the smallest memory limit of the control groups of this process, such as the limit of its container.
pub fn memory_of_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    limit_of_groups(&groups, Path::new("/sys/fs/cgroup"))
}

fn limit_of_groups(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| limits_of_group(line, root));
    // A group without a limit has the word "max".
    limits.filter_map(|limit| limit.trim().parse().ok()).min()
}

fn limits_of_group(line: &str, root: &Path) -> Vec<String> {
    let mut fields = line.splitn(3, ':').skip(1);
    let controllers = fields.next().unwrap_or_default();
    let path = fields.next().unwrap_or_default();
    match controllers {
        "" => limits_above(path, root, "memory.max"),
        "memory" => limits_above(path, &root.join("memory"), "memory.limit_in_bytes"),
        _ => Vec::new(),
    }
}

/// Reads the limits of a group and of the groups that contain it. In a container, the path may be a path on the host,
/// which is not visible. Then the root is the group of the container.
fn limits_above(path: &str, root: &Path, file: &str) -> Vec<String> {
    let path = root.join(path.trim_start_matches('/'));
    let folders = path.ancestors();
    folders
        .take_while(|folder| folder.starts_with(root))
        .filter_map(|folder| std::fs::read_to_string(folder.join(file)).ok())
        .collect()
}

/// Returns the resident memory of this process in bytes, if the system reports it.
pub fn resident_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    let page_size = u64::try_from(rustix::param::page_size()).ok()?;
    Some(pages * page_size)
}

/// Disables huge pages for all memory of this process that is allocated from now on, even if the system enables them
/// for all processes.
pub fn disable_huge_pages() -> io::Result<()> {
    Ok(rustix::thread::disable_transparent_huge_pages(true)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_smallest_limit_of_the_control_groups() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("a/memory.max", "2000\n");
        write("a/b/memory.max", "max\n");
        write("memory/c/memory.limit_in_bytes", "3000\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        let limit = |groups| limit_of_groups(groups, root.path());
        assert_eq!(limit("0::/a/b\n"), Some(2_000));
        assert_eq!(limit("4:memory:/c\n1:cpu:/\n0::/\n"), Some(3_000));
        assert_eq!(
            limit("4:memory:/not/visible\n"),
            Some(9_223_372_036_854_771_712)
        );
        assert_eq!((limit("0::/other\n"), limit("")), (None, None));
    }
}
