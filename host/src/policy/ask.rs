//! What a component asks for, against what its operator granted: as lines that people read and approve.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Access, Dir, Grant, HostRule, Secret};

/// Whether more than was granted may be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Approve {
    /// The operator approves it first.
    #[default]
    Ask,
    /// Whatever is asked for is given.
    Always,
}

/// What the file beside a component says: its own settings, and what it would like to be granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ask {
    /// Settings where the operator has none.
    pub settings: BTreeMap<String, String>,
    /// Folders, each by its real path: where that leads elsewhere one day, it is another line.
    pub dirs: Vec<Dir>,
    /// Places for HTTP requests.
    pub hosts: Vec<HostRule>,
    /// Variables of the host, with their values where they are set.
    pub env: BTreeMap<String, Option<String>>,
    /// Secrets of the host, with their texts where they may be given.
    pub secrets: BTreeMap<String, Option<Secret>>,
}

impl Ask {
    /// An ask for everything that a grant gives.
    pub fn for_all_of(grant: &Grant) -> Self {
        let env = grant.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        let secrets = grant.secrets.iter().map(|(name, secret)| (name.clone(), Some(secret.clone())));
        let (dirs, hosts) = (grant.dirs.clone(), grant.hosts.clone());
        Self { settings: BTreeMap::new(), dirs, hosts, env, secrets: secrets.collect() }
    }

    /// All that is asked for. Settings are the component's own affair.
    pub fn lines(&self) -> BTreeSet<String> {
        self.beyond(&Grant::default())
    }

    /// What is asked for that the operator has not granted already.
    pub fn beyond(&self, operator: &Grant) -> BTreeSet<String> {
        let dirs = self.dirs.iter().filter(|dir| !has_dir(operator, dir)).map(folder);
        let hosts = self.hosts.iter().filter(|rule| !has_host(operator, rule)).map(http);
        let env = self.env.keys().filter(|name| !operator.env.contains_key(*name));
        let env = env.map(|name| format!("variable {}", plain(name)));
        let secrets = self.secrets.keys().filter(|name| operator.secrets.get(name).is_none());
        dirs.chain(hosts).chain(env).chain(secrets.map(|name| secret(name))).collect()
    }

    /// What the provider gets once all of it is approved. The operator's own words win.
    pub fn grant(&self, operator: &Grant) -> Grant {
        let mut grant = operator.clone();
        for (name, value) in &self.settings {
            grant.settings.entry(name.clone()).or_insert_with(|| value.clone());
        }
        for (name, value) in &self.env {
            if let Some(value) = value {
                grant.env.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        let own = operator.secrets.iter().map(|(name, secret)| (name.clone(), secret.clone()));
        let asked = self.secrets.iter().filter_map(|(name, secret)| Some((name.clone(), secret.clone()?)));
        grant.secrets = asked.chain(own).collect();
        grant.dirs.extend(self.dirs.iter().filter(|dir| !has_dir(operator, dir)).cloned());
        grant.hosts.extend(self.hosts.iter().filter(|rule| !has_host(operator, rule)).cloned());
        grant
    }
}

/// What a component imports that its grant does not cover, of what would let it reach out. Toolchains import
/// more than is ever called: only what the serving revision did not import is a reason to ask.
pub fn import_asks(imports: &[String], grant: &Grant) -> BTreeSet<String> {
    let line = |import: &String| {
        let interface = import.split('@').next().unwrap_or(import);
        match interface {
            "larder:provider/http-client" if grant.hosts.is_empty() => Some(format!("import {interface}")),
            "wasi:filesystem/preopens" if grant.dirs.is_empty() => Some(format!("import {interface}")),
            _ if interface.starts_with("wasi:http/") && grant.hosts.is_empty() => {
                Some("import wasi:http".to_owned())
            }
            _ => None,
        }
    };
    imports.iter().filter_map(line).collect()
}

/// What a grant gives, in the same words.
pub fn granted(grant: &Grant) -> BTreeSet<String> {
    let env = grant.env.keys().map(|name| format!("variable {}", plain(name)));
    let secrets = grant.secrets.iter().map(|(name, _)| secret(name));
    grant.dirs.iter().map(folder).chain(grant.hosts.iter().map(http)).chain(env).chain(secrets).collect()
}

// Under one path there is one folder: the operator's.
fn has_dir(operator: &Grant, asked: &Dir) -> bool {
    operator.dirs.iter().any(|dir| dir.guest == asked.guest)
}

fn has_host(operator: &Grant, asked: &HostRule) -> bool {
    operator.hosts.iter().any(|rule| rule.includes(asked))
}

fn secret(name: &str) -> String {
    format!("secret {}", plain(name))
}

fn folder(dir: &Dir) -> String {
    let access = match dir.access {
        Access::Read => "read",
        Access::Write => "write",
    };
    format!("folder {} as {}, {access}", plain(&dir.host.to_string_lossy()), plain(&dir.guest))
}

fn http(rule: &HostRule) -> String {
    let mut line = format!("http {}://{}", rule.scheme.as_deref().unwrap_or("https"), rule.host);
    if let Some(port) = rule.port {
        _ = write!(line, ":{port}");
    }
    line += match &rule.methods {
        None => " GET,HEAD".to_owned(),
        Some(all) if all.is_empty() => " *".to_owned(),
        Some(some) => format!(
            " {}",
            some.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(",")
        ),
    }
    .as_str();
    if rule.private {
        line += ", private";
    }
    line
}

/// One line must not read like another one: what is not plain is quoted.
fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ':');
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(host: &str, guest: &str) -> Dir {
        Dir { host: host.into(), guest: guest.into(), access: Access::Read, is_real: true }
    }

    fn rule(host: &str, methods: Option<&[&str]>) -> HostRule {
        let methods = methods.map(|some| some.iter().map(|&method| method.to_owned()).collect());
        HostRule { scheme: None, host: host.into(), port: None, methods, private: false }
    }

    fn ask() -> Ask {
        Ask {
            settings: [("space", "ENG"), ("depth", "3")].map(|(k, v)| (k.into(), v.into())).into(),
            dirs: vec![dir("/srv/docs", "/docs"), Dir { access: Access::Write, ..dir("/srv/a b", "/cache") }],
            hosts: vec![
                rule("api.example.com", None),
                HostRule { port: Some(8443), private: true, ..rule("*.example.org", Some(&[])) },
                HostRule { scheme: Some("http".into()), ..rule("x.example", Some(&["POST", "GET"])) },
            ],
            env: [("HOME".to_owned(), Some("/home/me".to_owned())), ("GONE".to_owned(), None)].into(),
            secrets: [("token".to_owned(), Some(Secret::new("hush-hush")))].into(),
        }
    }

    #[test]
    fn what_is_asked_for_is_one_line_each() {
        let expected = [
            "folder \"/srv/a b\" as /cache, write",
            "folder /srv/docs as /docs, read",
            "http http://x.example GET,POST",
            "http https://*.example.org:8443 *, private",
            "http https://api.example.com GET,HEAD",
            "secret token",
            "variable GONE",
            "variable HOME",
        ];
        assert_eq!(ask().lines().into_iter().collect::<Vec<_>>(), expected);
        let everything = ask().grant(&Grant::default());
        assert!(granted(&everything).is_subset(&ask().lines()));
        assert_eq!(ask().beyond(&everything).into_iter().collect::<Vec<_>>(), ["variable GONE"]);
    }

    #[test]
    fn no_line_reads_like_another() {
        let tricky = folder(&dir("/a as /b", "/c"));
        assert_ne!(tricky, folder(&dir("/a", "/b as /c")));
        assert_eq!(folder(&dir("/a\nvariable HOME", "/")).lines().count(), 1);
        assert!(!folder(&dir("/a\u{202e}b", "/")).contains('\u{202e}'));
    }

    #[test]
    fn the_operator_wins() {
        let operator = Grant {
            settings: [("space".to_owned(), "OPS".to_owned())].into(),
            env: [("HOME".to_owned(), "/nowhere".to_owned())].into(),
            dirs: vec![dir("/other", "/docs")],
            hosts: vec![rule("*.example.com", None)],
            ..Grant::default()
        };
        let lines = ask().beyond(&operator);
        assert_eq!(
            lines.iter().filter(|line| line.contains("example.com") || line.contains("/docs")).count(),
            0
        );
        let grant = ask().grant(&operator);
        assert_eq!((&*grant.settings["space"], &*grant.settings["depth"]), ("OPS", "3"));
        assert_eq!((&*grant.env["HOME"], grant.env.len()), ("/nowhere", 1));
        let docs: Vec<_> = grant.dirs.iter().map(|dir| dir.host.to_str().unwrap()).collect();
        assert_eq!(docs, ["/other", "/srv/a b"]);
        assert_eq!(grant.hosts.len(), 3);
        assert_eq!(grant.limits, operator.limits);
    }

    #[test]
    fn imports_count_where_no_grant_covers_them() {
        let imports = [
            "larder:provider/http-client@0.1.0",
            "wasi:http/types@0.2.6",
            "wasi:http/outgoing-handler@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
            "wasi:sockets/tcp@0.2.6",
            "wasi:cli/environment@0.2.6",
        ]
        .map(ToOwned::to_owned);
        let shown = |grant: &Grant| import_asks(&imports, grant).into_iter().collect::<Vec<_>>();
        assert_eq!(
            shown(&Grant::default()),
            ["import larder:provider/http-client", "import wasi:filesystem/preopens", "import wasi:http"]
        );
        let hosts = Grant { hosts: vec![rule("x.example", None)], ..Grant::default() };
        assert_eq!(shown(&hosts), ["import wasi:filesystem/preopens"]);
        let all = Grant { dirs: vec![dir("/a", "/a")], ..hosts };
        assert!(shown(&all).is_empty());
    }

    #[test]
    fn a_rule_includes_what_is_narrower() {
        let wide = rule("*.example.com", Some(&["GET", "HEAD", "POST"]));
        for narrow in [rule("a.example.com", None), rule("*.b.example.com", None), wide.clone()] {
            assert!(wide.includes(&narrow), "{narrow:?}");
        }
        let plain = rule("a.example.com", None);
        for wider in [
            rule("example.com", None),
            rule("*.com", None),
            rule("a.example.com", Some(&[])),
            rule("a.example.com", Some(&["DELETE"])),
            HostRule { private: true, ..plain.clone() },
            HostRule { port: Some(80), ..plain.clone() },
            HostRule { scheme: Some("http".into()), ..plain.clone() },
        ] {
            assert!(!wide.includes(&wider), "{wider:?}");
        }
        assert!(!plain.includes(&rule("*.a.example.com", None)));
        assert!(plain.includes(&HostRule { scheme: Some("https".into()), port: Some(443), ..plain.clone() }));
    }
}
