//! Converts `[secret.*]`. Error messages contain the source of a secret, never its value.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;

use super::{Conversion, read_up_to};
use crate::file;
use crate::value::Host;
use larder_model::policy::{
    Credential, CredentialPlacement, HostAuth, HostRule, MIN_SECRET_LEN, Secret, SecretHosts,
    Secrets, TeamCredentials,
};
use larder_runtime::file_fingerprint::FileFingerprint;

/// The maximum size of a secret file.
const MAX_BYTES: u64 = 64 << 10;

/// The secrets of the file.
pub(super) struct ConfiguredSecrets {
    /// All secrets.
    pub(super) values: Secrets,
    /// The hosts of the secrets that only the host sends.
    pub(super) hosts: BTreeMap<String, SecretHosts>,
}

impl ConfiguredSecrets {
    /// The secrets that settings may contain.
    pub(super) fn for_settings(&self) -> Secrets {
        let all = self.values.iter();
        all.filter(|(name, _)| !self.hosts.contains_key(*name))
            .map(|(name, secret)| (name.clone(), secret.clone()))
            .collect()
    }

    /// The hosts of the secrets with these names, except of those that settings may contain.
    pub(super) fn hosts_of<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> BTreeMap<String, SecretHosts> {
        names
            .filter_map(|name| Some((name.to_owned(), self.hosts.get(name)?.clone())))
            .collect()
    }

    /// The secrets with these hosts.
    pub(super) fn credentials(&self, hosts: &BTreeMap<String, SecretHosts>) -> TeamCredentials {
        hosts
            .iter()
            .filter_map(|(name, hosts)| Some((name.clone(), self.credential(name, hosts)?)))
            .collect()
    }

    fn credential(&self, name: &str, hosts: &SecretHosts) -> Option<Credential> {
        Some(Credential {
            secret: self.values.get(name)?.clone(),
            hosts: hosts.clone(),
        })
    }
}

impl Conversion<'_> {
    /// Loads all secrets of the file.
    pub(super) fn load_secrets(
        &mut self,
        raw: BTreeMap<Spanned<String>, file::Secret>,
    ) -> ConfiguredSecrets {
        let mut all = Vec::new();
        let mut hosts = BTreeMap::new();
        for (name, mut secret) in raw {
            let rules = secret.hosts.take();
            // A secret that cannot be loaded stays defined, so that references to the secret are not reported too.
            let secret = self.load_secret(&name, secret);
            let secret = secret.unwrap_or_else(|| Secret::new(""));
            if let Some(rules) = rules {
                self.check_credential(&name, &secret);
                let rules = rules.into_iter().map(|host| host.0);
                hosts.insert(name.get_ref().clone(), SecretHosts::new(rules));
            }
            all.push((name.into_inner(), secret));
        }
        ConfiguredSecrets {
            values: all.into_iter().collect(),
            hosts,
        }
    }

    /// Checks a secret that the host sends.
    fn check_credential(&mut self, name: &Spanned<String>, secret: &Secret) {
        let text = secret.reveal();
        if text.is_empty() {
            return;
        }
        if !secret.is_redacted() {
            self.error(&name.span(), format!(
                "a secret with `hosts` needs at least {MIN_SECRET_LEN} bytes: a shorter one cannot be recognised in responses"
            ));
        }
        // A private key is not sent, only what is signed with it.
        let is_pem = text.starts_with("-----BEGIN ");
        if !is_pem && (text.contains(char::is_control) || text.trim() != text) {
            let message = "a secret with `hosts` becomes a part of a header or of a URL: remove line breaks, control characters, and spaces at its ends";
            self.error(&name.span(), message);
        }
    }

    fn load_secret(&mut self, name: &Spanned<String>, raw: file::Secret) -> Option<Secret> {
        let (at, found) = match (raw.env, raw.file) {
            (Some(variable), None) => (variable.span(), self.secret_variable(variable.get_ref())),
            (None, Some(path)) => (path.span(), self.read_secret_file(path.get_ref())),
            _ => (
                name.span(),
                Err("write either `env = \"VARIABLE\"` or `file = \"PATH\"`".into()),
            ),
        };
        let text = self.ok_or_report(&at, found)?;
        let secret = Secret::new(&text);
        if !secret.is_redacted() {
            self.warn(&at, format!(
                "the secret has fewer than {MIN_SECRET_LEN} bytes, so it is not removed from logs and messages: use a longer one"
            ));
        }
        Some(secret)
    }

    fn secret_variable(&self, name: &str) -> Result<String, String> {
        let value = self.variable(name).cloned();
        value.ok_or_else(|| format!("the environment variable {name} is not set, or empty"))
    }

    fn read_secret_file(&mut self, path: &Path) -> Result<String, String> {
        let path = self.context.folder.join(path);
        let fingerprint = FileFingerprint::of_file(&path).ok().flatten();
        let text = read_secret_file(&path);
        self.secret_files.insert(path, fingerprint);
        text
    }

    /// Selects the secrets of a grant by name. They enter a guest through its settings.
    pub(super) fn secrets_for_settings(
        &mut self,
        all: &ConfiguredSecrets,
        names: &[Spanned<String>],
    ) -> Secrets {
        for name in names
            .iter()
            .filter(|name| all.hosts.contains_key(name.get_ref()))
        {
            let secret = name.get_ref();
            self.error(&name.span(), format!(
                "`{secret}` has `hosts`, so no provider receives it: use it in `auth` of a host, or remove `hosts` from [secret.{secret}]"
            ));
        }
        self.select_secrets(&all.values, names)
    }

    /// Checks that the secrets of a rule can be used in `auth`, and warns if they are not safe there.
    pub(super) fn check_auth(&mut self, host: &Spanned<Host>, secrets: &ConfiguredSecrets) {
        let at = host.span();
        let rule = &host.get_ref().0;
        let Some(auth) = &rule.auth else { return };
        for name in auth.secrets() {
            self.check_secret_of_auth(&at, rule, name, secrets);
        }
        if auth.plain_http {
            let names: Vec<_> = auth.secrets().map(|name| format!("`{name}`")).collect();
            self.warn(
                &at,
                format!(
                    "{} is sent to {} without TLS: everybody on the way can read it",
                    names.join(" with "),
                    rule.host
                ),
            );
        }
    }

    fn check_secret_of_auth(
        &mut self,
        at: &Range<usize>,
        rule: &HostRule,
        name: &str,
        secrets: &ConfiguredSecrets,
    ) {
        let Some(hosts) = secrets.hosts.get(name) else {
            let message = match secrets.values.get(name) {
                Some(_) => format!(
                    "`{name}` cannot be used in `auth`: set `hosts` in [secret.{name}], the hosts to which it may be sent"
                ),
                None => format!("there is no secret `{name}`: add [secret.{name}] with `hosts`"),
            };
            return self.error(at, message);
        };
        let token_server = rule.auth.as_ref().and_then(token_server_rule);
        for rule in token_server.iter().chain([rule]) {
            if !hosts.include(rule) {
                // This is no error: it must not prevent a reload that revokes a host. The ceiling refuses the rule.
                self.warn(at, format!(
                    "requests to {}://{} are not granted: `{name}` may not be sent there, add the host to `hosts` in [secret.{name}]",
                    rule.scheme(),
                    rule.host
                ));
            }
        }
    }

    /// Selects secrets by name.
    pub(super) fn select_secrets(&mut self, all: &Secrets, names: &[Spanned<String>]) -> Secrets {
        let mut some = Vec::new();
        for name in names {
            match all.get(name.get_ref()) {
                Some(secret) => some.push((name.get_ref().clone(), secret.clone())),
                None => {
                    let missing = name.get_ref();
                    self.error(
                        &name.span(),
                        format!("there is no secret `{missing}`: add [secret.{missing}]"),
                    );
                }
            }
        }
        some.into_iter().collect()
    }
}

/// The host to which the secret of a client is sent for a token.
fn token_server_rule(auth: &HostAuth) -> Option<HostRule> {
    let CredentialPlacement::ClientCredentials(client) = &auth.placement else {
        return None;
    };
    let url: http::Uri = client.server.url().parse().ok()?;
    Some(HostRule {
        scheme: url.scheme_str().map(str::to_owned),
        port: url.port_u16(),
        ..HostRule::of_host(url.host()?.to_ascii_lowercase())
    })
}

/// Reads a secret file. Removes the line break at its end, which editors add.
fn read_secret_file(path: &Path) -> Result<String, String> {
    let text = read_up_to(path, MAX_BYTES)?;
    if text.trim().is_empty() {
        return Err(format!("{} is empty", path.display()));
    }
    Ok(without_line_break(&text).to_owned())
}

fn without_line_break(text: &str) -> &str {
    match text.strip_suffix('\n') {
        Some(line) => line.strip_suffix('\r').unwrap_or(line),
        None => text,
    }
}
