//! `larder check FILE.wasm`: checks one component. The component is loaded as a server would load it. It is also
//! called, because some type mismatches with the contract are found only in calls.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::app::{App, Interfaces, Provider, ServingReport};
use crate::cli::error::CommandError;
use crate::cli::team::TeamArg;
use crate::cli::{Outcome, guest_stderr, log, out, sanitize, temp_plugins};
use larder_client::{Client, ClientError, Content, ReadResult};
use larder_config::{self as config, Config, ConfigError, Overrides};
use larder_functions::ComponentKind;
use larder_model::size;

/// The results, as printed with `--json`.
#[derive(Debug, Serialize)]
struct Findings {
    file: String,
    ok: bool,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
    /// The end of what the guest wrote to stderr, if the call failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stderr: Vec<String>,
}

impl Findings {
    fn new(file: &Path, checks: Vec<Check>) -> Self {
        Self {
            file: file.display().to_string(),
            ok: checks.iter().all(|check| check.ok),
            checks,
        }
    }

    fn print(&self, json: bool) -> io::Result<()> {
        if json {
            out::json(self)
        } else {
            out::text(&show(&self.checks))
        }
    }
}

impl Check {
    fn passed(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            name,
            ok: true,
            detail: detail.into(),
            stderr: Vec::new(),
        }
    }

    fn failed(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            name,
            ok: false,
            detail: detail.into(),
            stderr: Vec::new(),
        }
    }

    fn with_stderr(self, stderr: &str) -> Self {
        Self {
            stderr: guest_stderr::lines(stderr),
            ..self
        }
    }
}

pub(super) async fn check(
    file: &Path,
    config: Option<PathBuf>,
    team: TeamArg,
    json: bool,
) -> Result<Outcome, CommandError> {
    let component = temp_plugins::read(file)?;
    let folder = temp_plugins::create(file, &component)?;
    let overrides = team.overrides(config, Some(folder.path().to_owned()));
    let is_configured = overrides.config.is_some();
    let config = load_config(folder.path(), &overrides)?;
    log::start_quietly(&config.log);
    let app = App::build(config).await?;
    let kind = ComponentKind::of_component(&component);
    let checks = run_checks(&app, kind, is_configured).await;
    app.finish().await;
    let findings = Findings::new(file, checks);
    findings.print(json)?;
    Ok(Outcome::success_if(findings.ok))
}

fn load_config(plugins: &Path, overrides: &Overrides) -> Result<Config, ConfigError> {
    if overrides.config.is_some() {
        load_for_team(overrides)
    } else {
        config::without_file(plugins, overrides)
    }
}

/// Loads the configuration with the team that the component is checked for.
fn load_for_team(overrides: &Overrides) -> Result<Config, ConfigError> {
    let mut config = config::load(overrides)?;
    config
        .teams
        .retain(|name, _| overrides.team.as_ref().is_none_or(|team| team == name));
    config.over_stdio()
}

async fn run_checks(app: &App, kind: ComponentKind, is_configured: bool) -> Vec<Check> {
    let served = app.served();
    let mut checks = check_loading(&served);
    let Some(provider) = served.providers.first() else {
        return checks;
    };
    checks.extend(check_lists(provider, kind, &served.collisions));
    match provider.resources.first() {
        Some(uri) => checks.extend(check_read(app, uri).await),
        None => checks.push(Check::passed("read", nothing_to_read(provider))),
    }
    let interfaces = app.interfaces().await;
    let declares_settings = interfaces.settings.is_some();
    checks.extend(check_interfaces(app, interfaces));
    if !declares_settings {
        checks.extend(unchecked_settings(provider));
    }
    // Without a configuration, required settings would always be missing.
    if is_configured {
        checks.extend(check_settings(provider));
    }
    checks
}

fn check_loading(served: &ServingReport) -> Vec<Check> {
    let rejected = served.rejected.iter();
    let rejected =
        rejected.map(|each| Check::failed("load", &each.reason).with_stderr(&each.stderr));
    let pending = served.pending_approval.iter();
    let pending = pending.map(|reason| Check::failed("load", reason));
    rejected.chain(pending).collect()
}

/// Only one provider is loaded, so each of the collisions is within its own lists.
fn check_lists(provider: &Provider, kind: ComponentKind, collisions: &[String]) -> Vec<Check> {
    let mut checks = vec![
        Check::passed("load", served_as(kind)),
        Check::passed("describe", description(provider)),
        Check::passed("list", provider.counts()),
    ];
    let omitted = provider.omitted.iter();
    let omitted = omitted.map(|why| match kind {
        // A function that cannot be a tool is no mistake: the component may be made for another host.
        ComponentKind::Functions => Check::passed("list", format!("warning: omitted: {why}")),
        ComponentKind::Provider | ComponentKind::Unknown => {
            Check::failed("list", format!("omitted or changed: {why}"))
        }
    });
    let collisions = collisions.iter();
    checks.extend(omitted);
    checks.extend(collisions.map(|collision| Check::failed("list", collision)));
    checks
}

fn served_as(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Functions => "it exports functions, which are served as tools",
        ComponentKind::Provider | ComponentKind::Unknown => {
            "it exports larder:provider/resource-provider"
        }
    }
}

fn check_settings(provider: &Provider) -> impl Iterator<Item = Check> {
    let problems = provider.setting_problems.iter();
    let problems = problems.map(|problem| Check::failed("settings", problem));
    let warnings = provider.setting_warnings.iter();
    problems.chain(warnings.map(|why| Check::passed("settings", format!("warning: {why}"))))
}

/// Lists tools, prompts and settings.
fn check_interfaces(app: &App, interfaces: Interfaces) -> Vec<Check> {
    let Interfaces {
        tools,
        prompts,
        search,
        settings,
        interface_problems,
    } = interfaces;
    let passed = [
        tools.map(|all| Check::passed("tools", names(all.into_iter().map(|it| it.name)))),
        prompts.map(|all| Check::passed("prompts", names(all.into_iter().map(|it| it.name)))),
        search.then(|| Check::passed("search", "it exports larder:provider/search-provider")),
        settings.map(|all| Check::passed("settings", names(all.into_iter().map(|it| it.name)))),
    ];
    let failed = interface_problems
        .into_iter()
        .map(|problem| Check::failed("offers", problem));
    let mut checks: Vec<_> = passed.into_iter().flatten().chain(failed).collect();
    add_stderr(&mut checks, app);
    checks
}

fn names(names: impl Iterator<Item = String>) -> String {
    join_or(names, "none")
}

/// Returns the words with commas, or `none` without words.
fn join_or(words: impl Iterator<Item = String>, none: &str) -> String {
    let text = words.collect::<Vec<_>>().join(", ");
    if text.is_empty() {
        none.to_owned()
    } else {
        text
    }
}

/// Adds the stderr of the guest to the last check, if it failed.
fn add_stderr(checks: &mut [Check], app: &App) {
    if let Some(last) = checks.last_mut().filter(|last| !last.ok) {
        last.stderr = guest_stderr::lines(&app.take_last_stderr());
    }
}

/// Names the configured settings. It is unknown whether the provider has them.
fn unchecked_settings(provider: &Provider) -> Option<Check> {
    let names: Vec<_> = provider.grant.settings.keys().map(String::as_str).collect();
    let detail = format!(
        "it declares none, so that these are not checked: {}",
        names.join(", ")
    );
    (!names.is_empty()).then(|| Check::passed("settings", detail))
}

fn description(provider: &Provider) -> String {
    let words = [&provider.title, &provider.version, &provider.summary]
        .into_iter()
        .flatten()
        .cloned();
    join_or(words, "no title, version or summary")
}

/// Says why no resource was read: no resource is listed, and the URIs of templates and claims are not known here.
fn nothing_to_read(provider: &Provider) -> String {
    let pattern = provider.templates.first().or(provider.claims.first());
    match pattern {
        Some(pattern) => {
            format!(
                "no resource is listed; try a URI of {pattern} with `larder read URI --plugins DIR`"
            )
        }
        None => "no resources, templates or claimed prefixes: no URI leads to this provider".into(),
    }
}

async fn check_read(app: &App, uri: &str) -> Vec<Check> {
    // The notes about the lists were already reported.
    app.take_last_notes();
    let check = match read(app, uri).await {
        Ok(reading) => Check::passed("read", format!("{uri}: {}", summary(&reading.contents))),
        Err(error) => {
            Check::failed("read", format!("{uri}: {error}")).with_stderr(&app.take_last_stderr())
        }
    };
    let notes = app.take_last_notes().into_iter();
    let notes = notes.map(|why| Check::failed("read", format!("{uri}: omitted or changed: {why}")));
    std::iter::once(check).chain(notes).collect()
}

async fn read(app: &App, uri: &str) -> Result<ReadResult, ClientError> {
    let (input, output) = tokio::io::split(app.connect());
    let mut client = Client::lines(input, output).await?;
    let reading = client.read(uri).await;
    client.close().await;
    reading
}

fn summary(contents: &[Content]) -> String {
    let describe = |content: &Content| {
        let kind = content.mime_type.as_deref().unwrap_or("no type");
        content.bytes().map_or_else(
            |error| error.to_string(),
            |bytes| format!("{kind}, {}", size::show(bytes.len() as u64)),
        )
    };
    match contents {
        [] => "no content".into(),
        contents => contents.iter().map(describe).collect::<Vec<_>>().join("; "),
    }
}

// This is not a `Table`, because details must not be truncated.
fn show(checks: &[Check]) -> String {
    checks.iter().map(Check::show).collect()
}

impl Check {
    fn show(&self) -> String {
        let mut text = self.line();
        if !self.stderr.is_empty() {
            text += &format!("        {}\n", guest_stderr::HEADING);
        }
        for line in &self.stderr {
            text += &format!("          {line}\n");
        }
        text
    }

    fn line(&self) -> String {
        let outcome = if self.ok { "ok" } else { "FAILED" };
        let detail = sanitize::line(&self.detail);
        format!("{outcome:<7} {:<9} {detail}\n", self.name)
    }
}
