//! The official conformance suites, run against `larder serve` with the `conformance` provider, and their authorization
//! scenarios for clients, with `larder` as the client. Every scored scenario must pass. The suites also run scenarios
//! that are not scored, for example the scenarios of the tasks extension, which Larder does not support.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::clients::{config, grant_interactions, node};
use crate::run::{Output, larder, target};
use crate::server::RunningServer;
use crate::step::Outcome;
use crate::tools::copy_sources;

pub(crate) fn first_2025(output: &Output) -> Result<Outcome> {
    let scope = ["--suite", "all", "--spec-version", "2025-11-25"];
    suite(output, "conformance-0.1", "0.1.16", &scope)
}

pub(crate) fn second_2025(output: &Output) -> Result<Outcome> {
    suite(
        output,
        "conformance-0.2",
        "0.2-2025-11-25",
        &["--requirements", "2025-11-25"],
    )
}

pub(crate) fn second_2026(output: &Output) -> Result<Outcome> {
    suite(
        output,
        "conformance-0.2",
        "0.2-2026-07-28",
        &["--requirements", "2026-07-28"],
    )
}

/// The scenarios of the skills extension. The suite does not require them of every server, so each is run by its name.
pub(crate) fn skills(output: &Output) -> Result<Outcome> {
    let file = skill_folder()?;
    for scenario in ["enumeration", "manifest", "directory"] {
        let name = format!("sep-2640-skills-{scenario}");
        // Scenarios of extensions are in no version of the specification.
        let scope = [
            "--scenario",
            &name,
            "--spec-version",
            "2026-07-28",
            "--force",
        ];
        run(
            output,
            &file,
            "conformance-0.2",
            &format!("0.2-{name}"),
            &scope,
        )?;
    }
    Ok(Outcome::Passed)
}

/// Configures the provider `files` with a skill that has a folder.
fn skill_folder() -> Result<PathBuf> {
    let folder = target("xtask").join("conformance-skills");
    let skill = folder.join("skills/pdf-processing");
    fs::create_dir_all(skill.join("references"))?;
    fs::write(
        skill.join("SKILL.md"),
        "---\nname: pdf-processing\ndescription: Extract, fill and assemble PDF documents\n\
         license: Apache-2.0\nmetadata: {version: 1.5, tags: [pdf, forms]}\n---\n# PDF processing\n",
    )?;
    fs::write(skill.join("references/FORMS.md"), "# Forms\n")?;
    let file = config(
        "conformance-skills",
        "",
        &[(&folder.join("skills"), "/skills")],
    )?;
    let granted = fs::read_to_string(&file)?
        .replace("[provider.files]\n", "[provider.files]\nskills = true\n");
    fs::write(&file, granted)?;
    Ok(file)
}

pub(crate) fn sign_in_2025(output: &Output) -> Result<Outcome> {
    sign_in(output, "2025-11-25")
}

pub(crate) fn sign_in_2026(output: &Output) -> Result<Outcome> {
    sign_in(output, "2026-07-28")
}

/// Runs each scored authorization scenario with `larder` as the client.
fn sign_in(output: &Output, revision: &str) -> Result<Outcome> {
    copy_sources()?;
    let results = results(&format!("sign-in-{revision}"))?;
    let scenarios = scored_scenarios(revision)?;
    for scenario in &scenarios {
        let mut suite = node("node_modules/conformance-0.2/dist/index.js");
        suite.args(["client", "--command", &client_command()]);
        suite.args(["--scenario", scenario, "--spec-version", revision]);
        output.run(suite.arg("-o").arg(&results))?;
    }
    Ok(Outcome::PassedWithNote(format!(
        "{} scenarios",
        scenarios.len()
    )))
}

/// Returns the authorization scenarios that a revision requires. The file has other scenarios in another form.
fn scored_scenarios(revision: &str) -> Result<Vec<String>> {
    let folder = target("clients/node/node_modules/conformance-0.2/requirements");
    let requirements = fs::read_to_string(folder.join(format!("{revision}.yaml")))?;
    let lines = requirements.lines().map(|line| line.trim_start());
    let names = lines.filter_map(|line| line.strip_prefix("- "));
    let scenarios: Vec<_> = names
        .filter(|name| name.starts_with("auth/"))
        .map(str::to_owned)
        .collect();
    ensure!(!scenarios.is_empty(), "no scenarios for {revision}");
    Ok(scenarios)
}

/// The command of the client. The suite appends the URL of its server.
fn client_command() -> String {
    let script = node("sign-in.mjs");
    let mut words: Vec<_> = vec![script.get_program()];
    words.extend(script.get_args());
    let words = words.join(OsStr::new(" "));
    format!("{} run {}", words.display(), larder().display())
}

/// Returns the empty folder for the results of a run.
fn results(run: &str) -> Result<PathBuf> {
    let results = target("xtask").join(format!("conformance-{run}"));
    // Otherwise the suite would mix results of an earlier run with those of this run.
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    Ok(results)
}

fn suite(output: &Output, package: &str, name: &str, scope: &[&str]) -> Result<Outcome> {
    run(output, &granted(name)?, package, name, scope)
}

fn run(
    output: &Output,
    config: &Path,
    package: &str,
    name: &str,
    scope: &[&str],
) -> Result<Outcome> {
    let results = results(name)?;
    let server = RunningServer::start(config, output)?;
    let mut suite = node(&format!("node_modules/{package}/dist/index.js"));
    suite.args(["server", "--url", &server.url]).args(scope);
    suite.arg("-o").arg(&results);
    let result = output.run(&mut suite);
    // The server is stopped in order, and this is logged, also if the suite failed.
    let stopped = server.stop();
    result.and(stopped)?;
    Ok(Outcome::Passed)
}

/// Configures the providers in a new folder, and grants the tools and prompts of `conformance`. Each run has a folder of
/// its own, because these steps run side by side.
fn granted(run: &str) -> Result<PathBuf> {
    let name = format!("conformance-server-{run}");
    let folder = target("xtask").join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let file = config(&name, "", &[])?;
    let state = folder.join("state");
    fs::create_dir_all(&state)?;
    grant_interactions(&file, &state)?;
    Ok(file)
}
