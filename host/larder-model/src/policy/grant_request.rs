//! What a component requests, compared with what its operator granted: as lines that people read and approve.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Access, Dir, Grant, HostRule, KeyValueGrant, Secret, TcpRule, ToolGrant};

/// Whether a component receives what it requests beyond its operator's grant.
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
        let dirs = grant.dirs.clone();
        let hosts = grant.hosts.clone();
        let tcp = grant.tcp.clone();
        let tools = grant.tools.clone();
        let prompts = grant.prompts;
        let settings = BTreeMap::new();
        let secrets = secrets.collect();
        let key_value = grant.key_value;
        Self {
            settings,
            dirs,
            hosts,
            tcp,
            key_value,
            env,
            secrets,
            tools,
            prompts,
        }
    }

    /// All requests as lines. Settings need no approval.
    pub fn lines(&self) -> BTreeSet<String> {
        self.lines_beyond(&Grant::default())
    }

    /// The requests beyond the operator's grant, as lines.
    pub fn lines_beyond(&self, operator: &Grant) -> BTreeSet<String> {
        let dirs = self
            .dirs
            .iter()
            .filter(|dir| !covers_dir(operator, dir))
            .map(dir_line);
        let hosts = self
            .hosts
            .iter()
            .filter(|rule| !covers_host(operator, rule))
            .map(host_line);
        let tcp = self
            .tcp
            .iter()
            .filter(|rule| !covers_tcp(operator, rule))
            .map(tcp_line);
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
            .chain(prompts_line(self.prompts && !operator.prompts));
        let secrets = secrets.map(|name| secret_line(name));
        let buckets = self.key_value.lines_beyond(operator.key_value);
        dirs.chain(hosts)
            .chain(tcp)
            .chain(buckets)
            .chain(env)
            .chain(secrets)
            .chain(offers)
            .collect()
    }

    /// Returns the grant of the provider once all requests are approved. The operator's own grant has
    /// precedence.
    pub fn merged_into(&self, operator: &Grant) -> Grant {
        let mut grant = operator.clone();
        for (name, value) in &self.settings {
            grant
                .settings
                .entry(name.clone())
                .or_insert_with(|| value.clone());
        }
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
        grant.dirs.extend(
            self.dirs
                .iter()
                .filter(|dir| !covers_dir(operator, dir))
                .cloned(),
        );
        grant.hosts.extend(
            self.hosts
                .iter()
                .filter(|rule| !covers_host(operator, rule))
                .cloned(),
        );
        grant.tcp.extend(
            self.tcp
                .iter()
                .filter(|rule| !covers_tcp(operator, rule))
                .cloned(),
        );
        grant.key_value = operator.key_value.union(self.key_value);
        grant.tools = operator.tools.union(&self.tools);
        grant.prompts |= self.prompts;
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
        .chain(prompts_line(grant.prompts));
    let tcp = grant.tcp.iter().map(tcp_line);
    let buckets = grant.key_value.lines_beyond(KeyValueGrant::default());
    dirs.chain(hosts)
        .chain(tcp)
        .chain(buckets)
        .chain(env)
        .chain(secrets)
        .chain(offers)
        .collect()
}

fn prompts_line(prompts: bool) -> Option<String> {
    prompts.then(|| "prompts".to_owned())
}

// The operator's folder has precedence over a requested one with the same guest path.
fn covers_dir(operator: &Grant, requested: &Dir) -> bool {
    operator.dirs.iter().any(|dir| dir.guest == requested.guest)
}

fn covers_host(operator: &Grant, requested: &HostRule) -> bool {
    operator.hosts.iter().any(|rule| rule.includes(requested))
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
    line += match &rule.methods {
        None => " GET,HEAD".to_owned(),
        Some(all) if all.is_empty() => " *".to_owned(),
        Some(some) => format!(
            " {}",
            some.iter()
                .cloned()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
                .join(",")
        ),
    }
    .as_str();
    if rule.private {
        line += ", private";
    }
    line
}

fn tcp_line(rule: &TcpRule) -> String {
    format!("tcp {rule}{}", if rule.private { ", private" } else { "" })
}

/// Quotes text with special characters, so that no line can be mistaken for another.
fn quoted(text: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ':');
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("{text:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(host: &str, guest: &str) -> Dir {
        Dir {
            host: host.into(),
            guest: guest.into(),
            access: Access::Read,
            is_canonical: true,
        }
    }

    fn rule(host: &str, methods: Option<&[&str]>) -> HostRule {
        let methods = methods.map(|some| some.iter().map(|&method| method.to_owned()).collect());
        HostRule {
            scheme: None,
            host: host.into(),
            port: None,
            methods,
            private: false,
        }
    }

    fn request() -> GrantRequest {
        GrantRequest {
            settings: [("space", "ENG"), ("depth", "3")]
                .map(|(k, v)| (k.into(), v.into()))
                .into(),
            dirs: vec![
                dir("/srv/docs", "/docs"),
                Dir {
                    access: Access::Write,
                    ..dir("/srv/a b", "/cache")
                },
            ],
            hosts: vec![
                rule("api.example.com", None),
                HostRule {
                    port: Some(8443),
                    private: true,
                    ..rule("*.example.org", Some(&[]))
                },
                HostRule {
                    scheme: Some("http".into()),
                    ..rule("x.example", Some(&["POST", "GET"]))
                },
            ],
            env: [
                ("HOME".to_owned(), Some("/home/me".to_owned())),
                ("GONE".to_owned(), None),
            ]
            .into(),
            secrets: [("token".to_owned(), Some(Secret::new("hush-hush")))].into(),
            tcp: vec![
                TcpRule {
                    host: "db.internal".into(),
                    port: 5432,
                    private: false,
                },
                TcpRule {
                    host: "10.0.0.5".into(),
                    port: 6379,
                    private: true,
                },
            ],
            key_value: KeyValueGrant {
                shared: true,
                caller: true,
            },
            tools: ToolGrant::Names([String::from("b"), String::from("a")].into()),
            prompts: true,
        }
    }

    #[test]
    fn each_request_is_one_line() {
        let expected = [
            "folder \"/srv/a b\" as /cache, write",
            "folder /srv/docs as /docs, read",
            "http http://x.example GET,POST",
            "http https://*.example.org:8443 *, private",
            "http https://api.example.com GET,HEAD",
            "key-value caller",
            "key-value shared",
            "prompts",
            "secret token",
            "tcp 10.0.0.5:6379, private",
            "tcp db.internal:5432",
            "tool \"a\"",
            "tool \"b\"",
            "variable GONE",
            "variable HOME",
        ];
        assert_eq!(request().lines().into_iter().collect::<Vec<_>>(), expected);
        let everything = request().merged_into(&Grant::default());
        assert!(grant_lines(&everything).is_subset(&request().lines()));
        assert_eq!(
            request()
                .lines_beyond(&everything)
                .into_iter()
                .collect::<Vec<_>>(),
            ["variable GONE"]
        );
    }

    #[test]
    fn lines_are_unambiguous() {
        let tricky = dir_line(&dir("/a as /b", "/c"));
        assert_ne!(tricky, dir_line(&dir("/a", "/b as /c")));
        assert_eq!(dir_line(&dir("/a\nvariable HOME", "/")).lines().count(), 1);
        assert!(!dir_line(&dir("/a\u{202e}b", "/")).contains('\u{202e}'));
    }

    #[test]
    fn the_operators_grant_has_precedence() {
        let operator = Grant {
            settings: [("space".to_owned(), "OPS".to_owned())].into(),
            env: [("HOME".to_owned(), "/nowhere".to_owned())].into(),
            dirs: vec![dir("/other", "/docs")],
            hosts: vec![rule("*.example.com", None)],
            ..Grant::default()
        };
        let lines = request().lines_beyond(&operator);
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.contains("example.com") || line.contains("/docs"))
                .count(),
            0
        );
        let grant = request().merged_into(&operator);
        assert_eq!(
            (&*grant.settings["space"], &*grant.settings["depth"]),
            ("OPS", "3")
        );
        assert_eq!((&*grant.env["HOME"], grant.env.len()), ("/nowhere", 1));
        let docs: Vec<_> = grant
            .dirs
            .iter()
            .map(|dir| dir.host.to_str().unwrap())
            .collect();
        assert_eq!(docs, ["/other", "/srv/a b"]);
        assert_eq!(grant.hosts.len(), 3);
        assert_eq!(grant.limits, operator.limits);
    }

    #[test]
    fn reports_imports_that_no_grant_covers() {
        let imports = [
            "larder:provider/http-client@0.1.0",
            "wasi:http/types@0.2.6",
            "wasi:http/outgoing-handler@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
            "wasi:sockets/tcp@0.2.6",
            "wasi:cli/environment@0.2.6",
        ]
        .map(ToOwned::to_owned);
        let shown = |grant: &Grant| {
            ungranted_imports(&imports, grant)
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shown(&Grant::default()),
            [
                "import larder:provider/http-client",
                "import wasi:filesystem/preopens",
                "import wasi:http"
            ]
        );
        let hosts = Grant {
            hosts: vec![rule("x.example", None)],
            ..Grant::default()
        };
        assert_eq!(shown(&hosts), ["import wasi:filesystem/preopens"]);
        let all = Grant {
            dirs: vec![dir("/a", "/a")],
            ..hosts
        };
        assert!(shown(&all).is_empty());
    }

    #[test]
    fn a_rule_includes_narrower_rules() {
        let wide = rule("*.example.com", Some(&["GET", "HEAD", "POST"]));
        for narrow in [
            rule("a.example.com", None),
            rule("*.b.example.com", None),
            wide.clone(),
        ] {
            assert!(wide.includes(&narrow), "{narrow:?}");
        }
        let plain = rule("a.example.com", None);
        for wider in [
            rule("example.com", None),
            rule("*.com", None),
            rule("a.example.com", Some(&[])),
            rule("a.example.com", Some(&["DELETE"])),
            HostRule {
                private: true,
                ..plain.clone()
            },
            HostRule {
                port: Some(80),
                ..plain.clone()
            },
            HostRule {
                scheme: Some("http".into()),
                ..plain.clone()
            },
        ] {
            assert!(!wide.includes(&wider), "{wider:?}");
        }
        assert!(!plain.includes(&rule("*.a.example.com", None)));
        assert!(plain.includes(&HostRule {
            scheme: Some("https".into()),
            port: Some(443),
            ..plain.clone()
        }));
    }
}
