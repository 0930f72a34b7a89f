//! A working directory with a configuration for a registry, in which commands run.

use std::path::PathBuf;

use serde_json::Value;

use super::server::{Access, RegistryServer};
use crate::support::harness::component_path;
use crate::support::process::{ProcessOutput, RunningProcess, WorkDir, path_arg};

/// A working directory, and a registry that it is permitted to access.
pub(crate) struct Workplace {
    pub(crate) work_dir: WorkDir,
    pub(crate) registry: RegistryServer,
    /// The variables of all commands.
    pub(crate) env: Vec<(String, String)>,
}

/// The beginning of every configuration of these tests.
pub(crate) const COMMENT: &str = "# Kept by all commands.\n";

impl Workplace {
    /// Starts a registry without credentials, or prints why the test is skipped.
    pub(crate) fn new() -> Option<Self> {
        Self::with_access(Access::Open)
    }

    pub(crate) fn with_access(access: Access) -> Option<Self> {
        let registry = RegistryServer::start(access)?;
        let work_dir = WorkDir::with_guests("");
        let workplace = Self {
            work_dir,
            registry,
            env: Vec::new(),
        };
        workplace.configure("");
        Some(workplace)
    }

    /// Writes a configuration that permits the registry, with more text at its end.
    pub(crate) fn configure(&self, more: &str) {
        self.configure_for(self.registry.address(), "plain_http = true", more);
    }

    /// Writes a configuration that permits a registry with these settings.
    pub(crate) fn configure_for(&self, address: &str, settings: &str, more: &str) {
        let text = format!("{COMMENT}[registries.permitted.\"{address}\"]\n{settings}\n\n{more}");
        std::fs::write(self.path("larder.toml"), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.work_dir.path(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A reference to an image in the registry.
    pub(crate) fn reference(&self, image: &str) -> String {
        format!("{}/{image}", self.registry.address())
    }

    /// Starts a command.
    pub(crate) fn start(&self, args: &str) -> RunningProcess {
        let env: Vec<_> = self
            .env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let mut process = self.work_dir.start_with(&env, args);
        process.stdin = None;
        process
    }

    /// Runs a command until it exits.
    pub(crate) fn run(&self, args: &str) -> ProcessOutput {
        self.start(args).wait()
    }

    /// Publishes a guest of these tests under a tag. Returns the digest of its manifest.
    pub(crate) fn push(&self, guest: &str, image: &str) -> String {
        let file = path_arg(&component_path(guest)).to_owned();
        let pushed = self.run(&format!("push {file} {} --json", self.reference(image)));
        digest(&pushed.json())
    }

    /// Adds an image as a provider.
    pub(crate) fn add(&self, image: &str) -> Value {
        let added = self.run(&format!("add {} --json", self.reference(image)));
        assert_eq!(added.code, Some(0), "{}{}", added.stdout, added.stderr);
        added.json()
    }

    /// Starts a server on a free port. Returns the URL of its endpoint.
    pub(crate) fn serve(&self, args: &str) -> (RunningProcess, String) {
        let mut server = self.start(&format!("serve --listen 127.0.0.1:0 --admin off {args}"));
        let line = server.wait_for_stderr("serves http://");
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .unwrap();
        (server, url.to_owned())
    }

    /// Reads a URI from a server.
    pub(crate) fn read(&self, uri: &str, url: &str) -> String {
        self.run(&format!("read {uri} --url {url}"))
            .expect_success()
    }
}

/// The member `digest` of an answer.
pub(crate) fn digest(answer: &Value) -> String {
    answer["digest"]
        .as_str()
        .unwrap_or_else(|| panic!("no digest: {answer}"))
        .to_owned()
}

/// A file with a key of these tests.
pub(crate) fn key_file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/integration/registries/registry/keys");
    folder.join(name)
}
