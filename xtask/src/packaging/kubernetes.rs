//! The manifests for Kubernetes: they are valid by the schemas of the API and consistent with each other, and their
//! configuration is accepted by the server.

use std::fs;

use anyhow::{Context as _, Result};

use super::{deploy, larder_command, work_folder};
use crate::clients::copy_providers;
use crate::run::{Output, command, root, target};
use crate::step::Outcome;
use crate::tools;

/// The folders that can be applied. The other folders are parts of these.
const FOLDERS: [&str; 3] = ["base", "monitoring", "replicas"];

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let venv = target("packaging/venv");
    let sources = root().join("xtask/packaging");
    if let Outcome::Skipped(reason) =
        tools::venv(output, &venv, &sources.join("requirements.txt"), &[])?
    {
        return tools::missing(&reason);
    }
    let mut python = command(venv.join("bin/python"));
    python.arg("-B").arg(sources.join("kubernetes.py"));
    output.run(python.args(FOLDERS.map(|folder| deploy("kubernetes").join(folder))))?;
    let secrets = secrets()?;
    check_configuration(output, "base", &secrets)?;
    check_configuration(output, "replicas", &secrets)?;
    check_nats(output, &secrets)
}

/// The variables of all secrets.
fn secrets() -> Result<Vec<(String, String)>> {
    let mut variables = Vec::new();
    for file in ["common/secret.yaml", "replicas/secret.yaml"] {
        let text = fs::read_to_string(deploy("kubernetes").join(file))?;
        let (_, data) = text
            .split_once("stringData:\n")
            .with_context(|| format!("{file} has no data"))?;
        let entries = data.lines().filter_map(|line| line.trim().split_once(": "));
        variables.extend(entries.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    Ok(variables)
}

/// Has NATS check its configuration.
fn check_nats(output: &Output, secrets: &[(String, String)]) -> Result<Outcome> {
    if let Outcome::Skipped(reason) = tools::debian_package(output, "nats-server", "nats-server")? {
        return tools::missing(&reason);
    }
    let mut nats = command("nats-server");
    nats.arg("--config")
        .arg(deploy("kubernetes/nats/nats.conf"))
        .arg("-t")
        .env("POD_NAME", "nats-0");
    output.run(nats.envs(secrets.iter().cloned()))?;
    Ok(Outcome::Passed)
}

/// Checks the configuration of a folder with the variables of the secrets, and with folders of this machine.
fn check_configuration(output: &Output, name: &str, secrets: &[(String, String)]) -> Result<()> {
    let work = work_folder(&format!("kubernetes-{name}"))?;
    copy_providers(&work.join("plugins"), &["conformance"])?;
    let mut text = fs::read_to_string(deploy("kubernetes").join(name).join("larder.toml"))?;
    for folder in ["plugins", "state", "cache"] {
        text = text.replace(
            &format!("\"/{folder}\""),
            &format!("\"{}\"", work.join(folder).display()),
        );
    }
    let config = work.join("larder.toml");
    fs::write(&config, text)?;
    let mut check = larder_command(&["check", "--config"]);
    // Kubernetes sets the name of the pod.
    check.env("HOSTNAME", "larder-0");
    output.run(check.arg(&config).envs(secrets.iter().cloned()))
}
