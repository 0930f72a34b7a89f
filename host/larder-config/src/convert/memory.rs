//! The memory budget, and warnings about memory limits above the memory of the machine, which have no effect.

use std::path::Path;

use toml::Spanned;

use super::Conversion;
use crate::value::ByteSize;
use larder_model::size;

/// The smallest memory budget. One guest with the default limits and its answer fit into twice this budget.
const MIN_BUDGET: u64 = 64 << 20;
/// The smallest default budget, which is also the default if the memory of the machine is unknown.
const MIN_DEFAULT_BUDGET: u64 = 256 << 20;

impl Conversion<'_> {
    pub(super) fn check_memory(&mut self, raw: Option<&Spanned<ByteSize<u64>>>) {
        let Some((raw, available)) = raw.zip(physical_memory()) else {
            return;
        };
        let limit = raw.get_ref().0;
        if limit > available {
            let limit = size::show(limit);
            let available = size::show(available);
            let message = format!(
                "{limit} is more than the memory of this machine ({available}), so that it limits nothing: write less"
            );
            self.warn(&raw.span(), message);
        }
    }

    /// Returns the memory budget of the server: by default half of the memory of this machine or container.
    pub(super) fn memory_budget(&mut self, raw: Option<&Spanned<ByteSize<u64>>>) -> u64 {
        self.check_memory(raw);
        match raw.map(|raw| (raw, raw.get_ref().0)) {
            None => default_budget(physical_memory().into_iter().chain(memory_of_group()).min()),
            Some((raw, budget)) => {
                if budget < MIN_BUDGET {
                    let message = format!(
                        "{} is too little: the server needs at least {}",
                        size::show(budget),
                        size::show(MIN_BUDGET)
                    );
                    self.error(&raw.span(), message);
                }
                budget
            }
        }
    }
}

fn default_budget(available: Option<u64>) -> u64 {
    available
        .map_or(0, |available| available / 2)
        .max(MIN_DEFAULT_BUDGET)
}

/// Returns the memory of this machine in bytes, if the system reports it.
fn physical_memory() -> Option<u64> {
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
fn memory_of_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    limit_of_groups(&groups, Path::new("/sys/fs/cgroup"))
}

fn limit_of_groups(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next().unwrap_or_default();
        let path = fields.next().unwrap_or_default();
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return Vec::new(),
        };
        // In a container, the path may be the path on the host, which is not visible. Then the root is the group of the
        // container.
        let path = root.join(path.trim_start_matches('/'));
        let folders = path
            .ancestors()
            .take_while(|folder| folder.starts_with(&root));
        folders
            .filter_map(|folder| std::fs::read_to_string(folder.join(file)).ok())
            .collect()
    });
    // A group without a limit has the word "max".
    limits.filter_map(|limit| limit.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_half_of_the_memory_and_not_too_little() {
        assert_eq!(default_budget(Some(8 << 30)), 4 << 30);
        assert_eq!(default_budget(Some(100 << 20)), MIN_DEFAULT_BUDGET);
        assert_eq!(default_budget(None), MIN_DEFAULT_BUDGET);
    }

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
