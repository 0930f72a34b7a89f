//! A running server with components from a registry, and functions of tests for it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::workplace::Workplace;
use crate::administration::metrics::{parse_samples, sample_value};
use crate::support::harness::{SLOW_WAIT, eventually_blocking};
use crate::support::process::{RunningProcess, WorkDir, path_arg};
use crate::support::revision::{NOW, revision, text};

/// A running server.
pub(super) struct Server<'a> {
    workplace: &'a Workplace,
    pub(super) process: RunningProcess,
    pub(super) url: String,
    admin: String,
}

impl<'a> Server<'a> {
    pub(super) fn start(workplace: &'a Workplace, args: &str) -> Self {
        let command = format!("serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 {args}");
        Self::attach(workplace, workplace.start(&command))
    }

    /// Waits until a process serves.
    pub(super) fn attach(workplace: &'a Workplace, mut process: RunningProcess) -> Self {
        let address = |line: String| {
            line.split("http://")
                .nth(1)
                .unwrap()
                .split(['/', ' ', '\n'])
                .next()
                .unwrap()
                .to_owned()
        };
        let admin = format!(
            "http://{}",
            address(process.wait_for_stderr("serving /livez"))
        );
        let url = format!(
            "http://{}/mcp",
            address(process.wait_for_stderr("serves http://"))
        );
        Self {
            workplace,
            process,
            url,
            admin,
        }
    }

    /// All data of the API about a provider.
    pub(super) fn provider(&self, name: &str) -> Value {
        let request = crate::support::process::http_client()
            .get(format!("{}/api/providers/{name}", self.admin));
        let text = async { request.send().await.unwrap().text().await.unwrap() };
        serde_json::from_str(&tokio::runtime::Runtime::new().unwrap().block_on(text)).unwrap()
    }

    pub(super) fn status(&self) -> Value {
        self.workplace
            .run(&format!("status --json --admin {}", self.admin))
            .json()
    }

    /// The number of components that cannot be checked at their registry.
    pub(super) fn failing_components(&self) -> f64 {
        let request = crate::support::process::http_client().get(format!("{}/metrics", self.admin));
        let text = async { request.send().await.unwrap().text().await.unwrap() };
        let text = tokio::runtime::Runtime::new().unwrap().block_on(text);
        let key = "larder_registry_failing_components{team=\"default\"}";
        sample_value(&parse_samples(&text), key)
    }

    /// The status in the form for people.
    pub(super) fn shown(&self) -> String {
        self.workplace
            .run(&format!("status --admin {}", self.admin))
            .expect_success()
    }

    pub(super) fn reload(&self) -> String {
        self.workplace
            .run(&format!("reload --admin {}", self.admin))
            .stdout
    }

    pub(super) fn read(&self, uri: &str) -> Option<String> {
        let output = self
            .workplace
            .run(&format!("read {uri} --url {}", self.url));
        (output.code == Some(0)).then_some(output.stdout)
    }

    pub(super) fn wait_for(&self, number: u32) {
        let expected = text(number);
        eventually_blocking(SLOW_WAIT, &expected, || {
            self.read(NOW).is_some_and(|text| text.contains(&expected))
        });
    }

    pub(super) fn wait_for_status(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let mut shown = String::new();
        eventually_blocking(SLOW_WAIT, what, || {
            shown = self.shown();
            holds(&shown)
        });
        shown
    }
}

impl Workplace {
    /// Publishes a revision under a tag. Returns the digest of its manifest.
    pub(super) fn push_revision(&self, number: u32, image: &str) -> String {
        let file = self.path("pushed.wasm");
        std::fs::write(&file, revision(number)).unwrap();
        let pushed = self
            .run(&format!(
                "push {} {} --json",
                path_arg(&file),
                self.reference(image)
            ))
            .json();
        super::workplace::digest(&pushed)
    }

    /// Writes a configuration with the provider `revision`, whose component is at this address.
    pub(super) fn follow(&self, address: &str, version: &str, settings: &str) {
        let mut text = "[registries]\ncheck_interval = '300ms'\nstall_timeout = '20s'\n".to_owned();
        // The registry itself is permitted too, to publish revisions.
        for permitted in BTreeSet::from([address, self.registry.address()]) {
            text += &format!("[registries.permitted.\"{permitted}\"]\nplain_http = true\n");
        }
        let component = format!("{address}/team/revision{version}");
        text += &format!("[provider.revision]\ncomponent = '{component}'\n{settings}\n");
        std::fs::write(self.path("larder.toml"), text).unwrap();
    }

    /// A folder that only this test uses as a store.
    pub(super) fn blobs(&self) -> PathBuf {
        self.path("state/larder/store/blobs/sha256")
    }
}

/// Starts `larder` in a mount namespace of its own, after these commands of a shell. If this user cannot create a
/// namespace, prints why the test is skipped.
pub(crate) fn in_mount_namespace(
    work_dir: &WorkDir,
    mounts: &str,
    args: &str,
) -> Option<RunningProcess> {
    let can_mount = Command::new("unshare")
        .args(["-rm", "sh", "-c", mounts])
        .status();
    if !can_mount.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this user cannot mount in a namespace of its own: {mounts}");
        return None;
    }
    let script = format!("{mounts} && exec {} {args}", env!("CARGO_BIN_EXE_larder"));
    let plain = work_dir.command(&[], "");
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", &script])
        .current_dir(work_dir.path(""));
    command.env_clear().envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Some(WorkDir::spawn(command))
}
