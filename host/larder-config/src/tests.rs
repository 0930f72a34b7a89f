use std::net::SocketAddr;

use expect_test::{Expect, expect};

use super::*;
use larder_mcp::ListenAddress;
use larder_mcp::auth::{Algorithm, Membership};
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{Access, ApprovalMode, Limits, Secret};
use larder_sandbox::CacheLocation;

mod addresses;
mod changes;
#[cfg(feature = "cluster")]
mod cluster;
mod credentials;
mod folder;
mod observability;
mod other_systems;
mod overrides;
mod own_files;
mod team;

use folder::Folder;

const EXAMPLE: &str = include_str!("../../../examples/larder.toml");

/// Returns the reconcile configuration of the only team.
fn only_team(config: &Config) -> &reconcile::Config {
    &config.teams[&TeamName::default_team()].reconcile
}

/// Checks the errors of a configuration text. `FOLDER` stands for the temporary folder.
fn check_with(text: &str, overrides: &Overrides, expected: Expect) {
    let folder = Folder::new();
    let shown = match folder.read_with(text, &[], overrides) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error
            .to_string()
            .replace(&folder.0.path().display().to_string(), "FOLDER"),
    };
    expected.assert_eq(&shown);
}

fn check(text: &str, expected: Expect) {
    check_with(text, &Overrides::default(), expected);
}

#[test]
fn the_example_contains_exactly_the_defaults() {
    let folder = Folder::new();
    assert_eq!(folder.shown(EXAMPLE), folder.shown(""));
    assert_eq!(
        only_team(&folder.read("")).default.grant.limits,
        Limits::default()
    );
}

#[test]
fn the_commented_keys_of_the_example_are_valid() {
    let code = |line: &str| match line.strip_prefix('#') {
        // Lines with two spaces are about teams, which cannot be combined with the other lines.
        Some(code) if !code.starts_with(' ') || code.starts_with("    ") => code.to_owned(),
        _ => line.to_owned(),
    };
    let text: Vec<_> = EXAMPLE.lines().map(code).collect();
    let config = Folder::new().read(&text.join("\n"));
    assert_eq!(config.endpoint.title.as_deref(), Some("Our documents"));
    assert_eq!(
        config.gateway.instructions.as_deref(),
        Some("Read docs://index first.")
    );
    let auth = &config.endpoint.auth;
    assert_eq!(auth.tokens[0].caller.subject.as_deref(), Some("ann"));
    let oauth = auth.oauth.as_ref().unwrap();
    assert_eq!(
        (oauth.issuer.as_str(), oauth.algorithms.as_slice()),
        ("https://id.example.com", &Algorithm::DEFAULT[..])
    );
    assert_eq!(
        (oauth.leeway, oauth.refresh),
        (Duration::from_secs(60), Duration::from_secs(300))
    );
    let terms = &only_team(&config).providers[&ProviderName::parse("wiki").unwrap()];
    let grant = &terms.grant;
    assert_eq!((terms.priority, grant.raw_values), (0, false));
    assert_eq!(
        grant.settings.values().cloned().collect::<Vec<_>>(),
        ["3", "ENG", ""]
    );
    assert_eq!(grant.env["HOME"], "/home/me");
    let dirs: Vec<_> = grant
        .dirs
        .iter()
        .map(|dir| (dir.guest.as_str(), dir.access))
        .collect();
    assert_eq!(
        dirs,
        [("/docs", Access::Read), ("/var/cache", Access::Write)]
    );
    assert!(grant.dirs[0].host.is_absolute() && grant.dirs[0].host.ends_with("docs"));
    let hosts: Vec<_> = grant
        .hosts
        .iter()
        .map(|rule| (rule.host.as_str(), rule.port, rule.private))
        .collect();
    let expected = [
        ("api.example.com", None, false),
        ("127.0.0.1", Some(8080), true),
        ("*.example.org", None, false),
        ("wiki.example.net", None, true),
        ("billing.example.com", None, false),
    ];
    assert_eq!(hosts, expected);
    let auth = grant.hosts[4].auth.as_ref().map(ToString::to_string);
    assert_eq!(auth.as_deref(), Some("bearer with secret billing-token"));
    let credentials = &config.credentials()[&TeamName::default_team()];
    let credential = &credentials["billing-token"];
    assert_eq!(credential.secret.reveal(), "hush-hush-hush");
    assert!(credential.hosts.include(&grant.hosts[4]));
    let tcp: Vec<_> = grant
        .tcp
        .iter()
        .map(|rule| (rule.to_string(), rule.private))
        .collect();
    assert_eq!(
        tcp,
        [
            ("db.example.com:5432".to_owned(), false),
            ("10.0.0.5:6379".to_owned(), true)
        ]
    );
    assert_eq!(
        grant.secrets.get("wiki-token").map(Secret::reveal),
        Some("/home/me")
    );
    assert_eq!(config.local_caller.subject.as_deref(), Some("me"));
    assert_eq!(grant.limits.memory, 256 << 20);
    assert_eq!(
        (grant.limits.timeout, grant.limits.cpu_time),
        (Duration::from_secs(30), Limits::default().cpu_time)
    );
}

/// Every key changes the configuration if it is set to another value: no key is parsed and ignored.
#[test]
fn every_key_has_an_effect() {
    let folder = Folder::new();
    let default = folder.shown("");
    for key in [
        "sessions = 2",
        "streams = 2",
        "connections = 2",
        "watched_uris = 2",
        "guests = 2",
        "page_size = 2",
    ] {
        assert_ne!(folder.shown(&format!("[server]\n{key}")), default, "{key}");
    }
    for key in [
        "session_idle_timeout = '2s'",
        "keep_alive = '2s'",
        "shutdown_grace = '2s'",
        "ready_timeout = '2s'",
        "body_limit = '2B'",
        "waiting_bytes = '2B'",
        "memory = '64MiB'",
        "hosts = ['x']",
        "extensions = ['resources-get']",
        "page_size = { resources = 2 }",
        "page_size.templates = 2",
    ] {
        assert_ne!(folder.shown(&format!("[server]\n{key}")), default, "{key}");
    }
    for key in [
        "origins = ['https://x']",
        "log.format = 'json'",
        "log.filter = 'warn'",
        "listen = '[::1]:1'",
        "title = 'x'",
        "resource_tools = true",
    ] {
        assert_ne!(folder.shown(&format!("[server]\n{key}")), default, "{key}");
    }
    for key in [
        "version_interval = '3s'",
        "read_interval = '3s'",
        "read_interval = 0",
        "read_interval = '0s'",
    ] {
        assert_ne!(folder.shown(&format!("[watch]\n{key}")), default, "{key}");
    }
    for key in [
        "memory",
        "cpu_time",
        "timeout",
        "queue_timeout",
        "result",
        "log",
        "component_size",
        "http_body",
        "tcp_bytes",
        "key_value_size",
        "key_value_bucket_size",
        "key_value_expiry",
    ] {
        let value = if ["cpu_time", "timeout", "queue_timeout", "key_value_expiry"].contains(&key) {
            "2ms"
        } else {
            "2KiB"
        };
        assert_ne!(
            folder.shown(&format!("limits.{key} = '{value}'")),
            default,
            "{key}"
        );
    }
    for key in [
        "table_elements",
        "instances",
        "concurrency",
        "queue_length",
        "page_entries",
        "catalog_entries",
        "notifications",
        "connections",
        "key_value_bucket_keys",
        "key_value_callers",
    ] {
        assert_ne!(folder.shown(&format!("limits.{key} = 2")), default, "{key}");
    }
    for key in ["memory", "code", "cache_size"] {
        assert_ne!(
            folder.shown(&format!("compiler.{key} = '2KiB'")),
            default,
            "{key}"
        );
    }
    for key in ["cpu_time", "timeout", "cache_age"] {
        assert_ne!(
            folder.shown(&format!("compiler.{key} = '2s'")),
            default,
            "{key}"
        );
    }
    assert_ne!(folder.shown("compiler.cache_dir = 'docs'"), default);
    for key in [
        "plugins = 'docs'",
        "state_dir = 'docs'",
        "approve = 'always'",
        "watch.scan_interval = '3s'",
    ] {
        assert_ne!(folder.shown(key), default, "{key}");
    }
}

#[test]
fn derives_connection_limits() {
    let limits = |keys: &str| {
        let endpoint = Folder::new().read(&format!("[server]\n{keys}")).endpoint;
        (endpoint.streams, endpoint.connections)
    };
    assert_eq!(limits(""), (1_000, 2_000));
    assert_eq!(limits("streams = 5000"), (5_000, 6_000));
    assert_eq!(limits("connections = 100"), (50, 100));
    assert_eq!(limits("connections = 9000"), (1_000, 9_000));
    assert_eq!(limits("streams = 3\nconnections = 4"), (3, 4));
    check(
        "[server]\nstreams = 10\nconnections = 10",
        expect![
            "larder.toml:3: server.connections: each of the 10 streams (`server.streams`) occupies a connection, so none is left for requests: allow more connections, or fewer streams"
        ],
    );
}

#[test]
fn approval_mode_of_a_provider_overrides_the_global_one() {
    let config = Folder::new()
        .read("approve = 'always'\nprovider.a.approve = 'ask'\nprovider.b.priority = 1");
    let of = |name: &str| {
        only_team(&config).providers[&ProviderName::parse(name).unwrap()].approval_mode
    };
    assert_eq!(
        (of("a"), of("b")),
        (ApprovalMode::Ask, ApprovalMode::Always)
    );
    assert_eq!(
        only_team(&config).default.approval_mode,
        ApprovalMode::Always
    );
    assert_eq!(
        only_team(&Folder::new().read("")).default.approval_mode,
        ApprovalMode::Ask
    );
}

#[test]
fn rejects_a_state_folder_inside_the_plugins_folder() {
    check(
        "state_dir = 'plugins/state'",
        expect![
            "larder.toml:1: state_dir: FOLDER/plugins/state is inside a plugins folder, where the author of a component could change approvals: choose another folder"
        ],
    );
    let folder = Folder::new();
    let file = |text: &str, env: &[(&str, &str)]| {
        only_team(&folder.read_with(text, env, &Overrides::default()).unwrap())
            .approvals
            .file()
    };
    assert_eq!(
        file("", &[("HOME", "/h")]),
        Path::new("/h/.local/state/larder/approvals.json")
    );
    let all = [("HOME", "/h"), ("XDG_STATE_HOME", "/x")];
    assert_eq!(file("", &all), Path::new("/x/larder/approvals.json"));
    assert_eq!(
        file("state_dir = 'docs'", &all),
        folder.0.path().join("docs/approvals.json")
    );
}

#[test]
fn limits_of_a_provider_override_global_limits_and_defaults() {
    let config = Folder::new()
        .read("limits = { concurrency = 3, page_entries = 7 }\nprovider.a.limits.concurrency = 5");
    let limits = &only_team(&config).providers[&ProviderName::parse("a").unwrap()]
        .grant
        .limits;
    assert_eq!(
        (
            limits.concurrency,
            limits.page_entries,
            limits.catalog_entries
        ),
        (5, 7, Limits::default().catalog_entries)
    );
    assert_eq!(only_team(&config).default.grant.limits.concurrency, 3);
}

#[test]
fn reports_all_errors_at_once() {
    check(
        r#"
plugins = "docs"
colour = "red"

[server]
listen = "example.com:80"
page_size = "many"
shutdown_grace = "soon"
body_limit = "0MiB"
sessions = 0
title = "${NO_SUCH}"
log = { format = "xml", filter = "a=b=c" }

[limits]
memory = "1.5GiB"
log = "1TB"

[provider."a b"]
[provider.wiki]
dirs = [3, "docs", "gone", { host = "docs", guest = "up/../", acess = "read" }, { guest = "/x" }]
hosts = ["*", { host = "x", methods = [] }, "ok.example.org/path"]
env = ["NO_SUCH"]
"#,
        expect![[r#"
            larder.toml:3: colour: unknown field `colour`, expected one of `plugins`, `state_dir`, `state_name`, `approve`, `trust`, `registries`, `server`, `auth`, `admin`, `audit`, `telemetry`, `cluster`, `cache`, `search`, `watch`, `limits`, `compiler`, `provider`, `team`, `secret`, `stdio`, `client`
            larder.toml:6: server.listen: `example.com:80` is not an address: write an IP address and a port, such as "127.0.0.1:7878", or a Unix socket, such as "unix:/run/larder.sock"
            larder.toml:7: server.page_size: invalid type: string, expected a whole number, or a table with `resources` and `templates`
            larder.toml:8: server.shutdown_grace: `soon` is not a duration: write a number and a unit, such as "10s", "250ms" or "1m 30s"
            larder.toml:9: server.body_limit: must be more than 0: there is no "unlimited"
            larder.toml:10: server.sessions: invalid value: integer, expected a whole number from 1 to 4294967295
            larder.toml:11: server.title: the environment variable NO_SUCH is not set; set it, or write `${NO_SUCH:-default}`
            larder.toml:12: server.log.format: unknown variant `xml`, expected `text` or `json`
            larder.toml:12: server.log.filter: not a filter: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5
            larder.toml:15: limits.memory: `1.5GiB` is not a size: write a whole number and a unit, such as "64MiB", "512KiB" or "1GB"
            larder.toml:16: limits.log: `1TB` is not a size: write a whole number and a unit, such as "64MiB", "512KiB" or "1GB"
            larder.toml:18: provider.a b: `a b` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit
            larder.toml:20: provider.wiki.dirs[0]: invalid type: integer, expected a path, or a table with `host`, `guest` and `access`
            larder.toml:20: provider.wiki.dirs[3].acess: unknown field `acess`, expected one of `host`, `guest`, `access`
            larder.toml:20: provider.wiki.dirs[4]: missing field `host`
            larder.toml:20: provider.wiki.dirs[2]: there is no folder FOLDER/gone: create it
            larder.toml:20: provider.wiki.dirs[3]: `up/../` is not a valid guest path: write an absolute path without `..`, such as "/docs"
            larder.toml:21: provider.wiki.hosts[0]: `*` is not a host: write a name, `*.` and a name, or an IP address
            larder.toml:21: provider.wiki.hosts[1]: `methods` is empty: list some, or write ["*"] for all
            larder.toml:21: provider.wiki.hosts[2]: `ok.example.org/path`: a grant names a host, without a path, a query or a user
            larder.toml:22: provider.wiki.env[0]: the environment variable NO_SUCH is not set; set it, or remove the name"#]],
    );
}

#[test]
fn reports_only_syntax_errors_if_there_are_any() {
    check(
        "plugins = \"x\n[server\nlisten = 1",
        expect![[r#"
            larder.toml:2: unclosed table, expected `]`
            larder.toml:1: invalid basic string, expected `"`"#]],
    );
    check(
        "plugins = 'plugins'\nplugins = 'docs'",
        expect!["larder.toml:2: duplicate key"],
    );
}

#[test]
fn a_public_address_needs_hosts_and_credentials_or_unauthenticated() {
    check(
        "[server]\nlisten = '0.0.0.0:80'",
        expect![
            "larder.toml:2: server.listen: 0.0.0.0:80 is reachable from outside this machine: set `server.hosts` with the names under which clients reach it, and credentials (`larder token new` creates a token), or `server.unauthenticated = true` if anyone who reaches it may read everything"
        ],
    );
    let said =
        "[server]\nlisten = '0.0.0.0:80'\nunauthenticated = true\nhosts = ['docs.example.org']";
    check(said, expect!["no error"]);
    let overrides = Overrides {
        listen: Some(SocketAddr::from(([192, 0, 2, 1], 80)).into()),
        ..Overrides::default()
    };
    check_with(
        "[server]\nhosts = ['docs.example.org']",
        &overrides,
        expect![
            "--listen: 192.0.2.1:80 is reachable from outside this machine: set credentials (`larder token new` creates a token), or `server.unauthenticated = true` if anyone who reaches it may read everything"
        ],
    );
}

const TOKEN: &str = "[[auth.tokens]]\nname = 'ann'\ndigest = \
     'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'\n";
const OAUTH: &str =
    "[auth.oauth]\nissuer = 'https://id.example.com'\naudience = 'https://docs.example.com/mcp'\n";

#[test]
fn the_cache_folder_follows_the_xdg_specification() {
    let folder = Folder::new();
    let location = |text: &str, env: &[(&str, &str)]| {
        let config = folder.read_with(text, env, &Overrides::default()).unwrap();
        config.sandbox.compiler.cache.location
    };
    let home = ("HOME", "/home/me");
    assert_eq!(location("", &[]), CacheLocation::Temporary);
    assert_eq!(
        location("", &[home]),
        CacheLocation::Default("/home/me/.cache/larder".into())
    );
    assert_eq!(
        location("", &[home, ("XDG_CACHE_HOME", "/c")]),
        CacheLocation::Default("/c/larder".into())
    );
    assert_eq!(
        location("", &[home, ("XDG_CACHE_HOME", "c")]),
        CacheLocation::Default("/home/me/.cache/larder".into())
    );
    let configured = location("compiler.cache_dir = 'kept'", &[home]);
    assert_eq!(
        configured,
        CacheLocation::Configured(folder.0.path().join("kept"))
    );
}

/// A secret may be entered under the wrong key by mistake.
#[test]
fn invalid_values_are_not_shown() {
    check(
        r#"
server = "hush-hush, expected 1"
[limits]
memory = ["hush-hush"]
[provider.x]
priority = "hush-hush`, `"
"#,
        expect![[r#"
            larder.toml:2: server: invalid type: string, expected struct Server
            larder.toml:4: limits.memory: invalid type: sequence, expected a string, a number or a boolean
            larder.toml:6: provider.x.priority: invalid type: string, expected a whole number from -2147483648 to 2147483647"#]],
    );
}
