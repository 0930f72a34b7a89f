//! The manifests for Kubernetes: valid by the schemas of the API, consistent with each other, and with a configuration
//! that the server accepts.

use std::fs;

use anyhow::{Context as _, Result};

use super::{deploy, larder_command, work_folder};
use crate::clients::copy_providers;
use crate::run::{Output, command, root, target};
use crate::step::Outcome;
use crate::tools;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let venv = target("packaging/venv");
    let sources = root().join("xtask/packaging");
    if let Outcome::Skipped(reason) = tools::venv(output, &venv, &sources.join("requirements.txt"), &[])? {
        return tools::missing(&reason);
    }
    for folder in ["base", "monitoring"] {
        let mut python = command(venv.join("bin/python"));
        python.arg("-B").arg(sources.join("kubernetes.py")).arg(deploy("kubernetes").join(folder));
        output.run(&mut python)?;
    }
    check_configuration(output)?;
    Ok(Outcome::Passed)
}

/// Checks the configuration with the variables of the secret, and with folders of this machine.
fn check_configuration(output: &Output) -> Result<()> {
    let work = work_folder("kubernetes")?;
    copy_providers(&work.join("plugins"), &["conformance"])?;
    let mut text = fs::read_to_string(deploy("kubernetes/base/larder.toml"))?;
    for folder in ["plugins", "state", "cache"] {
        text = text.replace(&format!("\"/{folder}\""), &format!("\"{}\"", work.join(folder).display()));
    }
    let config = work.join("larder.toml");
    fs::write(&config, text)?;
    let secret = fs::read_to_string(deploy("kubernetes/base/secret.yaml"))?;
    let mut check = larder_command(&["check", "--config"]);
    check.arg(&config);
    for name in ["TOKEN_DIGEST", "ADMIN_DIGEST"] {
        let value = secret.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        check.env(name, value.with_context(|| format!("the secret has no {name}"))?);
    }
    output.run(&mut check)
}
