//! The container: the file system that the Containerfile describes is sufficient to run the server as another user.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::{deploy, get, systemd::eventually, work_folder};
use crate::clients::copy_providers;
use crate::run::{Output, command, larder};
use crate::step::Outcome;
use crate::tools;

/// The user of the Containerfile.
const USER: u32 = 65532;
/// What stands for the architecture in the Containerfile.
const ARCHITECTURE: &str = "${TARGETARCH}";
/// The folder with the files of this machine.
const FOLDER: &str = "this-architecture";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let can_mount = "mount --rbind /proc /proc";
    if !tools::succeeds(command("unshare").args(["--mount", "sh", "-c", can_mount])) {
        return Ok(Outcome::Skipped(
            "this user may not mount file systems".into(),
        ));
    }
    let work = work_folder("container")?;
    let (context, root) = (work.join("context"), work.join("root"));
    prepare_context(output, &context)?;
    let containerfile = fs::read_to_string(deploy("container/Containerfile"))?;
    ensure!(
        containerfile.contains(&format!("USER {USER}:{USER}")),
        "the container runs as another user"
    );
    check_architectures(&containerfile)?;
    for (from, to) in copied_files(&containerfile)? {
        let from = from.replace(ARCHITECTURE, FOLDER);
        copy(&context.join(from), &root.join(to.trim_start_matches('/')))?;
    }
    add_libraries(&root)?;
    add_volumes(&root)?;
    run(output, &root, &containerfile)?;
    // The folder takes much space.
    fs::remove_dir_all(&work)?;
    Ok(Outcome::Passed)
}

/// The files that the Containerfile copies, with their paths in the image.
fn copied_files(containerfile: &str) -> Result<Vec<(&str, &str)>> {
    let lines = containerfile.lines();
    lines
        .filter_map(|line| line.strip_prefix("COPY "))
        .map(|line| line.split_once(' ').context("COPY has two paths"))
        .collect()
}

/// Each platform gets the files of its own folder, and a build cannot run programs of another platform.
fn check_architectures(containerfile: &str) -> Result<()> {
    let lines: Vec<_> = containerfile.lines().collect();
    ensure!(
        lines.contains(&"ARG TARGETARCH"),
        "the architecture is not declared"
    );
    ensure!(
        !lines.iter().any(|line| line.starts_with("RUN ")),
        "RUN needs an emulator for the other platform"
    );
    let program = copied_files(containerfile)?
        .into_iter()
        .find(|(_, to)| *to == "/larder")
        .context("the program is not copied")?;
    ensure!(
        program.0.starts_with(ARCHITECTURE),
        "each platform gets the same program"
    );
    Ok(())
}

/// The files in the archive of a release, with the debug build.
fn prepare_context(output: &Output, context: &Path) -> Result<()> {
    let folder = context.join(FOLDER);
    fs::create_dir_all(folder.join("bin"))?;
    // Without debug information, the file is much smaller.
    output.run(
        command("strip")
            .arg("-o")
            .arg(folder.join("bin/larder"))
            .arg(larder()),
    )?;
    let authorities = Path::new("/etc/ssl/certs/ca-certificates.crt");
    copy(authorities, &context.join("ca-certificates.crt"))?;
    for name in ["LICENSE", "THIRD-PARTY-LICENSES.txt"] {
        fs::write(folder.join(name), "")?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a folder")?)?;
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

/// The program of a release is static. The program of this build needs its libraries.
fn add_libraries(root: &Path) -> Result<()> {
    let list = command("ldd").arg(larder()).output().context("ldd")?;
    let text = String::from_utf8(list.stdout)?;
    for path in text.split_whitespace().filter(|word| word.starts_with('/')) {
        copy(Path::new(path), &root.join(path.trim_start_matches('/')))?;
    }
    Ok(())
}

/// The mounted folders. Only these can be written, as with a read-only root.
fn add_volumes(root: &Path) -> Result<()> {
    copy_providers(&root.join("plugins"), &["conformance"])?;
    fs::create_dir_all(root.join("config"))?;
    let config = "plugins = \"/plugins\"\n[server]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n";
    fs::write(root.join("config/larder.toml"), config)?;
    for folder in ["state", "cache", "tmp"] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder)?;
        chown(&folder, Some(USER), Some(USER))?;
    }
    fs::set_permissions(root.join("larder"), fs::Permissions::from_mode(0o755))?;
    // The server reads its own limits in this folder.
    fs::create_dir_all(root.join("proc"))?;
    Ok(())
}

/// A command in the container, with the variables of the Containerfile.
fn in_container(root: &Path, containerfile: &str) -> Command {
    let mut chroot = command("unshare");
    let enter = format!(
        "mount --rbind /proc '{root}/proc' && exec /usr/bin/env --ignore-environment {} \
         \"$(command -v chroot || echo /usr/sbin/chroot)\" --userspec={USER}:{USER} '{root}' /larder \"$@\"",
        variables(containerfile),
        root = root.display()
    );
    chroot.args(["--mount", "sh", "-c", &enter, "sh"]);
    chroot
}

/// The variables of the Containerfile in the form for `env`.
fn variables(containerfile: &str) -> String {
    let lines = containerfile
        .lines()
        .filter_map(|line| line.strip_prefix("ENV "));
    lines.collect::<Vec<_>>().join(" ")
}

fn run(output: &Output, root: &Path, containerfile: &str) -> Result<()> {
    let log: PathBuf = root.with_extension("log");
    let mut serve = in_container(root, containerfile);
    serve
        .args(["serve", "--config", "/config/larder.toml"])
        .stdout(Stdio::null());
    let mut server = serve
        .stderr(fs::File::create(&log)?)
        .spawn()
        .context("chroot")?;
    let admin = || super::monitoring::admin_url(&fs::read_to_string(&log)?);
    let result = eventually(|| get(&format!("{}/readyz", admin()?))).and_then(|_| {
        let mut health = in_container(root, containerfile);
        output.run(health.args(["health", "--admin", &admin()?]))
    });
    // Both calls fail only if the process has already ended.
    let _ = server.kill();
    let _ = server.wait();
    output.write_line(&fs::read_to_string(&log)?)?;
    result
}
