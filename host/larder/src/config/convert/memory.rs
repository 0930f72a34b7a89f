//! Warns of memory limits that the machine cannot reach, and that therefore limit nothing.

use toml::Spanned;

use super::Conversion;
use crate::config::value::ByteSize;
use larder_model::size;

impl Conversion<'_> {
    pub(super) fn check_memory(&mut self, raw: Option<&Spanned<ByteSize<u64>>>) {
        let Some((raw, available)) = raw.zip(physical_memory()) else { return };
        let limit = raw.get_ref().0;
        if limit > available {
            let (limit, available) = (size::show(limit), size::show(available));
            let message = format!(
                "{limit} is more than the memory of this machine ({available}), so that it limits nothing: write less"
            );
            self.warn(&raw.span(), message);
        }
    }
}

/// Returns the memory of this machine in bytes, if the system reports it.
fn physical_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}
