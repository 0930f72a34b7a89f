//! The requests of a component, compared with the grants of its operator. Requests are lines that people read and
//! approve.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::functions::add_missing;
use super::quoted::quoted;
use super::{
    Access, AppGrant, Dir, FunctionSettings, Grant, HostRule, KeyValueGrant, Secret, TcpRule,
    ToolGrant,
};

/// Whether a component receives requested grants beyond its operator's grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalMode {
    /// After the operator approved it.
    #[default]
    Ask,
    /// At once.
    Always,
}

/// The content of the file beside a component: its own settings, and the grants that it requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrantRequest {
    /// Settings for which the operator sets no value.
    pub settings: BTreeMap<String, String>,
    /// Folders by canonical path. If a path leads elsewhere later, the request becomes another line.
    pub dirs: Vec<Dir>,
    /// Rules for HTTP requests.
    pub hosts: Vec<HostRule>,
    /// Rules for TCP connections.
    pub tcp: Vec<TcpRule>,
    /// The buckets of the key-value store.
    pub key_value: KeyValueGrant,
    /// Environment variables of the host, with their values where they are set.
    pub env: BTreeMap<String, Option<String>>,
    /// Secrets of the host, with their values where the component may receive them.
    pub secrets: BTreeMap<String, Option<Secret>>,
    /// The tools that clients can call.
    pub tools: ToolGrant,
    /// Whether clients can get its prompts.
    pub prompts: bool,
    /// Whether its folders with a `SKILL.md` are offered as skills.
    pub skills: bool,
    /// What the pages of its apps may use in a browser.
    pub apps: AppGrant,
    /// How its functions are offered. A function that is read as a resource needs an approval.
    pub functions: FunctionSettings,
}

impl GrantRequest {
    /// Requests everything that a grant contains.
    pub fn from_grant(grant: &Grant) -> Self {
        let env = grant
            .env
            .iter()
            .map(|(name, value)| (name.clone(), Some(value.clone())))
            .collect();
        let secrets = grant
            .secrets
            .iter()
            .map(|(name, secret)| (name.clone(), Some(secret.clone())));
        Self {
            settings: BTreeMap::new(),
            dirs: grant.dirs.clone(),
            hosts: grant.hosts.clone(),
            tcp: grant.tcp.clone(),
            key_value: grant.key_value,
            env,
            secrets: secrets.collect(),
            tools: grant.tools.clone(),
            prompts: grant.prompts,
            skills: grant.skills,
            apps: grant.apps.clone(),
            functions: grant.functions.clone(),
        }
    }

    /// All requests as lines. Settings need no approval.
    pub fn lines(&self) -> BTreeSet<String> {
        self.lines_beyond(&Grant::default())
    }

    /// The requests beyond the operator's grant, as lines.
    pub fn lines_beyond(&self, operator: &Grant) -> BTreeSet<String> {
        let dirs = self.dirs_beyond(operator).map(dir_line);
        let hosts = self.hosts_beyond(operator).map(host_line);
        let tcp = self.tcp_beyond(operator).map(tcp_line);
        let env = self
            .env
            .keys()
            .filter(|name| !operator.env.contains_key(*name));
        let env = env.map(|name| format!("variable {}", quoted(name)));
        let secrets = self
            .secrets
            .keys()
            .filter(|name| operator.secrets.get(name).is_none());
        let tools = self.tools.lines_beyond(&operator.tools);
        let offers = tools
            .into_iter()
            .chain(prompts_line(self.prompts && !operator.prompts))
            .chain(skills_line(self.skills && !operator.skills))
            .chain(self.apps.lines_beyond(&operator.apps));
        let secrets = secrets.map(|name| secret_line(name));
        let resources = resource_lines(&self.functions, &operator.functions);
        let buckets = self.key_value.lines_beyond(operator.key_value);
        dirs.chain(hosts)
            .chain(tcp)
            .chain(buckets)
            .chain(env)
            .chain(secrets)
            .chain(offers)
            .chain(resources)
            .collect()
    }

    fn dirs_beyond(&self, operator: &Grant) -> impl Iterator<Item = &Dir> {
        let dirs = self.dirs.iter();
        dirs.filter(move |dir| !covers_dir(operator, dir))
    }

    fn hosts_beyond(&self, operator: &Grant) -> impl Iterator<Item = &HostRule> {
        let hosts = self.hosts.iter();
        hosts.filter(move |rule| !covers_host(operator, rule))
    }

    fn tcp_beyond(&self, operator: &Grant) -> impl Iterator<Item = &TcpRule> {
        let tcp = self.tcp.iter();
        tcp.filter(move |rule| !covers_tcp(operator, rule))
    }

    /// Returns the grant of the provider once all requests are approved. The operator's own grant has
    /// precedence.
    pub fn merged_into(&self, operator: &Grant) -> Grant {
        let mut grant = operator.clone();
        add_missing(&mut grant.settings, &self.settings);
        for (name, value) in &self.env {
            if let Some(value) = value {
                grant
                    .env
                    .entry(name.clone())
                    .or_insert_with(|| value.clone());
            }
        }
        let own = operator
            .secrets
            .iter()
            .map(|(name, secret)| (name.clone(), secret.clone()));
        let requested = self.secrets.iter();
        let requested =
            requested.filter_map(|(name, secret)| Some((name.clone(), secret.clone()?)));
        grant.secrets = requested.chain(own).collect();
        grant.dirs.extend(self.dirs_beyond(operator).cloned());
        grant.hosts.extend(self.hosts_beyond(operator).cloned());
        grant.tcp.extend(self.tcp_beyond(operator).cloned());
        grant.key_value = operator.key_value.union(self.key_value);
        grant.tools = operator.tools.union(&self.tools);
        grant.prompts |= self.prompts;
        grant.skills |= self.skills;
        grant.apps = operator.apps.union(&self.apps);
        grant.functions.add_missing(&self.functions);
        grant
    }
}

/// The imports for network and file access that the grant does not cover, as lines. Toolchains import more
/// than they call, so only imports that the serving revision did not have need an approval.
pub fn ungranted_imports(imports: &[String], grant: &Grant) -> BTreeSet<String> {
    let line = |import: &String| {
        let interface = import.split('@').next().unwrap_or(import);
        match interface {
            "larder:provider/http-client" if grant.hosts.is_empty() => {
                Some(format!("import {interface}"))
            }
            "wasi:filesystem/preopens" if grant.dirs.is_empty() => {
                Some(format!("import {interface}"))
            }
            _ if interface.starts_with("wasi:http/") && grant.hosts.is_empty() => {
                Some("import wasi:http".to_owned())
            }
            _ => None,
        }
    };
    imports.iter().filter_map(line).collect()
}

/// The content of a grant, in the same lines.
pub fn grant_lines(grant: &Grant) -> BTreeSet<String> {
    let env = grant
        .env
        .keys()
        .map(|name| format!("variable {}", quoted(name)));
    let secrets = grant.secrets.iter().map(|(name, _)| secret_line(name));
    let dirs = grant.dirs.iter().map(dir_line);
    let hosts = grant.hosts.iter().map(host_line);
    let offers = grant
        .tools
        .lines_beyond(&ToolGrant::None)
        .into_iter()
        .chain(prompts_line(grant.prompts))
        .chain(skills_line(grant.skills))
        .chain(grant.apps.lines_beyond(&AppGrant::default()));
    let tcp = grant.tcp.iter().map(tcp_line);
    let buckets = grant.key_value.lines_beyond(KeyValueGrant::default());
    dirs.chain(hosts)
        .chain(tcp)
        .chain(buckets)
        .chain(env)
        .chain(secrets)
        .chain(offers)
        .chain(resource_lines(
            &grant.functions,
            &FunctionSettings::default(),
        ))
        .collect()
}

/// The functions that are read as resources, which is a way to call them.
fn resource_lines(functions: &FunctionSettings, operator: &FunctionSettings) -> Vec<String> {
    let resources = functions.resources_beyond(operator);
    resources
        .map(|(template, resource)| {
            let template = quoted(template);
            format!("resource {template} from {}", quoted(&resource.function))
        })
        .collect()
}

fn prompts_line(prompts: bool) -> Option<String> {
    prompts.then(|| "prompts".to_owned())
}

fn skills_line(skills: bool) -> Option<String> {
    skills.then(|| "skills".to_owned())
}

// The operator's folder takes precedence over a requested folder with the same guest path.
fn covers_dir(operator: &Grant, requested: &Dir) -> bool {
    operator.dirs.iter().any(|dir| dir.guest == requested.guest)
}

fn covers_host(operator: &Grant, requested: &HostRule) -> bool {
    operator.hosts.iter().any(|rule| rule.covers(requested))
}

fn covers_tcp(operator: &Grant, requested: &TcpRule) -> bool {
    operator.tcp.iter().any(|rule| rule.includes(requested))
}

fn secret_line(name: &str) -> String {
    format!("secret {}", quoted(name))
}

fn dir_line(dir: &Dir) -> String {
    let access = match dir.access {
        Access::Read => "read",
        Access::Write => "write",
    };
    format!(
        "folder {} as {}, {access}",
        quoted(&dir.host.to_string_lossy()),
        quoted(&dir.guest)
    )
}

fn host_line(rule: &HostRule) -> String {
    let mut line = format!(
        "http {}://{}",
        rule.scheme.as_deref().unwrap_or("https"),
        rule.host
    );
    if let Some(port) = rule.port {
        _ = write!(line, ":{port}");
    }
    _ = write!(line, " {}", methods(rule));
    if rule.private {
        line += ", private";
    }
    if let Some(auth) = &rule.auth {
        _ = write!(line, ", {auth}");
    }
    line
}

fn methods(rule: &HostRule) -> String {
    match &rule.methods {
        None => "GET,HEAD".to_owned(),
        Some(all) if all.is_empty() => "*".to_owned(),
        Some(some) => sorted(some).join(","),
    }
}

fn sorted(methods: &[String]) -> Vec<&str> {
    let methods: BTreeSet<&str> = methods.iter().map(String::as_str).collect();
    methods.into_iter().collect()
}

fn tcp_line(rule: &TcpRule) -> String {
    format!("tcp {rule}{}", if rule.private { ", private" } else { "" })
}

#[cfg(test)]
mod tests;
