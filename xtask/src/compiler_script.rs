//! Scripts that cargo's build scripts use as C compiler and archiver for another target.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::Result;

use crate::run::target;

/// Writes a script that runs a command without the option `--target`, because Zig does not support Rust's name of the
/// target. If the file already has this content, it is not written again, because build scripts depend on the file.
pub(crate) fn compiler_script(name: &str, command: &str) -> Result<PathBuf> {
    let path = target("tools").join(name);
    let text = format!(
        "#!/bin/sh\nfor argument do\n  shift\n  case $argument in --target=*) ;; *) set -- \"$@\" \"$argument\" ;; esac\n\
         done\nexec {command} \"$@\"\n"
    );
    if fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(path);
    }
    fs::create_dir_all(target("tools"))?;
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
    fs::rename(new, &path)?;
    Ok(path)
}
