//! Upper bounds for the grants of a team. The bounds also apply to approved grants.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Access, AppGrant, Dir, FunctionSettings, Grant, GrantRequest, HostRule, KeyValueGrant,
    SecretHosts, Secrets, TcpRule, ToolGrant, grant_lines,
};

/// The maximum of the grants of a team's providers, and the secrets that the providers may receive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ceiling {
    /// None if there are no teams: then only the operator's grants limit the providers.
    pub bounds: Option<Bounds>,
    /// The secrets that settings may contain, with their values.
    pub secrets: Secrets,
    /// The secrets that the host may add to requests, with the hosts to which they may be sent.
    pub credentials: BTreeMap<String, SecretHosts>,
}

/// The maximum of the grants of a team's providers. An empty list allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Folders with their whole content, by canonical path.
    pub dirs: Vec<Dir>,
    /// Rules for HTTP requests.
    pub hosts: Vec<HostRule>,
    /// Rules for TCP connections.
    pub tcp: Vec<TcpRule>,
    /// The buckets of the key-value store.
    pub key_value: KeyValueGrant,
    /// Environment variables.
    pub env: BTreeSet<String>,
    /// The tools that clients can call.
    pub tools: ToolGrant,
    /// Whether clients can get prompts.
    pub prompts: bool,
    /// Whether folders with a `SKILL.md` are offered as skills.
    pub skills: bool,
    /// What the pages of apps may use in a browser.
    pub apps: AppGrant,
}

/// The part of a grant or grant request that the ceiling allows, and the lines that it denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CappedGrant<T> {
    /// The part below the ceiling.
    pub allowed: T,
    /// The part above the ceiling, as lines.
    pub denied: BTreeSet<String>,
}

impl Ceiling {
    /// Restricts an operator's grant to this ceiling.
    pub fn cap(&self, grant: &Grant) -> CappedGrant<Grant> {
        let mut allowed = grant.clone();
        let mut dirs = Vec::new();
        if let Some(bounds) = &self.bounds {
            allowed.dirs.retain(|dir| {
                bounds
                    .canonical_dir(dir)
                    .map(|dir| dirs.push(dir))
                    .is_some()
            });
            allowed.hosts.retain(|rule| bounds.has_host(rule));
            allowed.tcp.retain(|rule| bounds.has_tcp(rule));
            allowed.env.retain(|name, _| bounds.env.contains(name));
            allowed.tools = allowed.tools.intersection(&bounds.tools);
            allowed.key_value = allowed.key_value.intersection(bounds.key_value);
            allowed.prompts &= bounds.prompts;
            allowed.skills &= bounds.skills;
            allowed.apps = allowed.apps.intersection(&bounds.apps);
            bounds.cap_resources(&mut allowed.functions);
        }
        allowed.hosts.retain(|rule| self.permits_auth(rule));
        let secrets = grant
            .secrets
            .iter()
            .filter_map(|(name, _)| Some((name, self.secrets.get(name)?)));
        allowed.secrets = secrets
            .map(|(name, secret)| (name.clone(), secret.clone()))
            .collect();
        let denied = &grant_lines(grant) - &grant_lines(&allowed);
        if self.bounds.is_some() {
            // The checked canonical path is the path that is opened, so a symbolic link that replaces the folder later
            // is not followed.
            allowed.dirs = dirs;
        }
        CappedGrant { allowed, denied }
    }

    /// Restricts a grant request to this ceiling, and adds the values of the secrets that it names.
    pub fn cap_request(&self, request: GrantRequest) -> CappedGrant<GrantRequest> {
        let all = request.lines();
        let mut allowed = request;
        if let Some(bounds) = &self.bounds {
            // These paths were canonical when they were read. If a path leads elsewhere now, it is denied here or fails
            // to open.
            allowed
                .dirs
                .retain(|dir| bounds.canonical_dir(dir).is_some());
            allowed.hosts.retain(|rule| bounds.has_host(rule));
            allowed.tcp.retain(|rule| bounds.has_tcp(rule));
            allowed.env.retain(|name, _| bounds.env.contains(name));
            allowed.tools = allowed.tools.intersection(&bounds.tools);
            allowed.key_value = allowed.key_value.intersection(bounds.key_value);
            allowed.prompts &= bounds.prompts;
            allowed.skills &= bounds.skills;
            allowed.apps = allowed.apps.intersection(&bounds.apps);
            bounds.cap_resources(&mut allowed.functions);
        }
        allowed.hosts.retain(|rule| self.permits_auth(rule));
        let named = std::mem::take(&mut allowed.secrets).into_keys();
        let known = named.filter_map(|name| Some((self.secrets.get(&name)?.clone(), name)));
        allowed.secrets = known
            .map(|(secret, name)| (name, Some(secret)))
            .collect::<BTreeMap<_, _>>();
        let denied = &all - &allowed.lines();
        CappedGrant { allowed, denied }
    }

    /// Whether the secrets of a rule may be sent to the hosts of the rule.
    fn permits_auth(&self, rule: &HostRule) -> bool {
        let Some(auth) = &rule.auth else { return true };
        auth.secrets().all(|name| {
            let hosts = self.credentials.get(name);
            hosts.is_some_and(|hosts| hosts.include(rule))
        })
    }
}

impl Bounds {
    /// A function that is read as a resource is called like a tool.
    fn cap_resources(&self, functions: &mut FunctionSettings) {
        let resources = &mut functions.resources;
        resources.retain(|_, resource| self.tools.allows(&resource.function));
    }

    /// Returns the folder with its canonical path, if the bounds allow it. The canonical path decides, not the
    /// requested name.
    fn canonical_dir(&self, requested: &Dir) -> Option<Dir> {
        let real = requested.host.canonicalize().ok()?;
        let covers = |dir: &Dir| {
            let access_fits = dir.access == Access::Write || requested.access == Access::Read;
            access_fits && real.starts_with(&dir.host)
        };
        let is_allowed = self.dirs.iter().any(covers);
        is_allowed.then(|| Dir {
            host: real.clone(),
            is_canonical: true,
            ..requested.clone()
        })
    }

    fn has_host(&self, requested: &HostRule) -> bool {
        self.hosts.iter().any(|rule| rule.includes(requested))
    }

    fn has_tcp(&self, requested: &TcpRule) -> bool {
        self.tcp.iter().any(|rule| rule.includes(requested))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AppDomain, AppPermission, AppRight, CredentialPlacement, HostAuth, Secret};
    use super::*;

    fn rule(host: &str) -> HostRule {
        HostRule::of_host(host)
    }

    fn tcp(host: &str, private: bool) -> TcpRule {
        TcpRule {
            host: host.into(),
            port: 5432,
            private,
        }
    }

    #[test]
    fn caps_grants_and_requests_in_the_same_way() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        for name in ["own/docs", "others"] {
            std::fs::create_dir_all(real.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("../others", real.join("own/link")).unwrap();
        let dir = |name: &str, access| Dir {
            host: real.join(name),
            guest: format!("/{name}"),
            access,
            is_canonical: false,
        };
        let secrets: Secrets = [("ours", "hush"), ("other", "hush")]
            .map(|(name, text)| (name.to_owned(), Secret::new(text)))
            .into_iter()
            .collect();
        let connect = AppRight::Connect(AppDomain::parse("https://a.example.com").unwrap());
        let all = AppDomain::parse("https://*.example.com").unwrap();
        let grant = Grant {
            env: ["HOME", "PATH"]
                .map(|name| (name.to_owned(), "x".to_owned()))
                .into(),
            dirs: ["own/docs", "own/link", "others", "own/gone"]
                .map(|name| dir(name, Access::Read))
                .into(),
            hosts: vec![rule("a.example.com"), rule("example.org")],
            tcp: vec![tcp("db.example.com", false), tcp("db.example.com", true)],
            key_value: KeyValueGrant {
                shared: true,
                caller: true,
            },
            secrets,
            apps: AppGrant::new([connect, AppRight::Permission(AppPermission::Camera)]),
            ..Grant::default()
        };
        let ceiling = Ceiling {
            bounds: Some(Bounds {
                dirs: vec![dir("own", Access::Read)],
                hosts: vec![rule("*.example.com")],
                tcp: vec![tcp("*.example.com", false)],
                env: ["HOME".to_owned()].into(),
                tools: ToolGrant::Names(["a".to_owned()].into()),
                key_value: KeyValueGrant {
                    shared: false,
                    caller: true,
                },
                prompts: false,
                skills: false,
                apps: AppGrant::new([AppRight::Connect(all)]),
            }),
            secrets: [("ours".to_owned(), Secret::new("hush"))]
                .into_iter()
                .collect(),
            credentials: BTreeMap::new(),
        };
        let request = ceiling.cap_request(GrantRequest::from_grant(&grant));
        let capped = ceiling.cap(&grant);
        assert_eq!(request.denied, capped.denied);
        assert_eq!(request.allowed.lines(), grant_lines(&capped.allowed));
        let words = |lines: &BTreeSet<String>| -> Vec<String> {
            let path = format!("{}/", real.display());
            lines
                .iter()
                .map(|line| line.replace(&path, "").replace(" as", "").replace('/', "-"))
                .collect()
        };
        let expected = [
            "app connects to https:--a.example.com",
            "folder own-docs -own-docs, read",
            "http https:--a.example.com GET,HEAD",
            "key-value caller",
            "secret ours",
            "tcp db.example.com:5432",
            "variable HOME",
        ];
        assert_eq!(words(&grant_lines(&capped.allowed)), expected);
        assert_eq!(capped.denied.len(), 9, "{:?}", capped.denied);
        let writes = Grant {
            dirs: vec![dir("own/docs", Access::Write)],
            ..Grant::default()
        };
        assert!(ceiling.cap(&writes).allowed.dirs.is_empty());
        let through = real.join("own/again");
        std::os::unix::fs::symlink("docs", &through).unwrap();
        let linked = Dir {
            host: through,
            ..dir("own/docs", Access::Read)
        };
        let allowed = ceiling
            .cap(&Grant {
                dirs: vec![linked],
                ..Grant::default()
            })
            .allowed
            .dirs;
        assert_eq!(
            allowed,
            [Dir {
                is_canonical: true,
                ..dir("own/docs", Access::Read)
            }],
            "the checked path is the one that is opened"
        );
    }

    #[test]
    fn without_bounds_only_unknown_secrets_are_denied() {
        let request = GrantRequest {
            hosts: vec![rule("a.example.com")],
            secrets: [("gone".to_owned(), None)].into(),
            ..GrantRequest::default()
        };
        let capped = Ceiling::default().cap_request(request);
        assert_eq!(capped.allowed.lines().len(), 1);
        assert_eq!(
            capped.denied.into_iter().collect::<Vec<_>>(),
            ["secret gone"]
        );
    }

    #[test]
    fn a_secret_is_sent_only_to_its_hosts_whoever_asks() {
        let with_auth = |host: &str, secret: &str| HostRule {
            auth: Some(HostAuth {
                secret: secret.into(),
                placement: CredentialPlacement::Bearer,
                certificate: None,
                plain_http: false,
            }),
            ..rule(host)
        };
        let own = with_auth("api.example.com", "own");
        let grant = Grant {
            hosts: vec![
                own.clone(),
                with_auth("evil.example", "own"),
                with_auth("api.example.com", "other"),
                with_auth("api.example.com", "setting"),
            ],
            ..Grant::default()
        };
        let hosts = SecretHosts::new([rule("*.example.com")]);
        let secrets = [("setting".to_owned(), Secret::new("hush"))];
        let unbounded = Ceiling {
            bounds: None,
            secrets: secrets.into_iter().collect(),
            credentials: [("own".to_owned(), hosts)].into(),
        };
        let bounded = Ceiling {
            bounds: Some(Bounds {
                hosts: vec![rule("*.example.com"), rule("evil.example")],
                ..Bounds::default()
            }),
            ..unbounded.clone()
        };
        for ceiling in [unbounded, bounded] {
            let capped = ceiling.cap(&grant);
            assert_eq!(capped.allowed.hosts, std::slice::from_ref(&own));
            assert_eq!(capped.denied.len(), 3, "{:?}", capped.denied);
            let request = ceiling.cap_request(GrantRequest::from_grant(&grant));
            assert_eq!(request.allowed.hosts, std::slice::from_ref(&own));
            assert_eq!(request.denied, capped.denied);
        }
    }
}
