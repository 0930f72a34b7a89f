//! Tests of `[team.*]` and `[secret.*]`.

use super::*;
use larder_model::policy::{Quota, grant_lines};

fn name(team: &str) -> TeamName {
    TeamName::parse(team).unwrap()
}

const TWO: &str = "[team.a]\nplugins = 'plugins'\n[team.b]\nplugins = 'cache'\n";

#[test]
fn the_team_keys_of_the_example_are_valid() {
    let code = |line: &'static str| {
        line.strip_prefix("#  ")
            .filter(|code| !code.starts_with("  "))
    };
    let text: Vec<_> = EXAMPLE.lines().filter_map(code).collect();
    let folder = Folder::new();
    let config = folder.read(&text.join("\n"));
    let team = &config.teams[&name("wiki")];
    assert_eq!(team.quota, Some(Quota::default()));
    let ceiling = &team.reconcile.ceiling;
    let terms = &team.reconcile.providers;
    let bounds = ceiling.bounds.as_ref().unwrap();
    assert_eq!(
        (
            bounds.dirs.len(),
            bounds.hosts.len(),
            bounds.tcp.len(),
            bounds.env.len()
        ),
        (2, 1, 1, 1)
    );
    assert_eq!(
        (bounds.dirs[0].access, bounds.dirs[1].access),
        (Access::Read, Access::Write)
    );
    let grant = &terms[&ProviderName::parse("pages").unwrap()].grant;
    assert_eq!((grant.dirs.len(), grant.limits.memory), (1, 64 << 20));
    assert_eq!(ceiling.secrets, grant.secrets);
    assert!(ceiling.cap(grant).denied.is_empty());
}

#[test]
fn a_file_without_teams_has_one_team_without_bounds_or_quota() {
    let config = Folder::new().read("");
    let team = &config.teams[&TeamName::default_team()];
    assert_eq!(
        (
            config.teams.len(),
            &team.quota,
            &team.reconcile.ceiling.bounds
        ),
        (1, &None, &None)
    );
    assert!(!config.gateway.private);
}

#[test]
fn the_team_quota_caps_component_sizes() {
    let text = "[team.a]\nplugins = 'plugins'\nquota.component = '2KiB'\n\
        [team.a.provider.large]\nlimits.component_size = '4KiB'\n[team.a.provider.small]\nlimits.component_size = '1KiB'\n";
    let reconcile = &Folder::new().read(text).teams[&name("a")].reconcile;
    let size = |provider: &str| {
        reconcile.providers[&ProviderName::parse(provider).unwrap()]
            .grant
            .limits
            .component_size
    };
    assert_eq!((size("large"), size("small")), (2 << 10, 1 << 10));
    assert_eq!(reconcile.default.grant.limits.component_size, 2 << 10);
}

#[test]
fn every_team_key_has_an_effect() {
    let folder = Folder::new();
    let secret = "[secret.s]\nfile = 'keys/wiki'\n";
    let with = |key: &str| folder.shown(&format!("{secret}[team.a]\nplugins = 'plugins'\n{key}"));
    let default = with("");
    for key in ["memory", "bytes", "component"] {
        assert_ne!(with(&format!("quota.{key} = '2KiB'")), default, "{key}");
    }
    for key in ["calls", "requests", "providers", "watchers", "connections"] {
        assert_ne!(with(&format!("quota.{key} = 2")), default, "{key}");
    }
    for key in [
        "quota.cpu = '1500ms'",
        "approve = 'always'",
        "limits.concurrency = 2",
        "provider.x.priority = 1",
        "ceiling.dirs = ['docs']",
        "ceiling.hosts = ['x']",
        "ceiling.tcp = ['x:1']",
        "ceiling.env = ['X']",
        "ceiling.secrets = ['s']",
    ] {
        assert_ne!(with(key), default, "{key}");
    }
}

#[test]
fn callers_belong_to_the_configured_else_the_default_else_the_only_team() {
    let folder = Folder::new();
    let teams = |caller: &Caller| {
        caller
            .teams
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let of = |text: &str| {
        let both = folder.read(text);
        (
            both.clone().over_http().map(|c| teams(&c.endpoint.caller)),
            both.over_stdio().map(|c| teams(&c.endpoint.caller)),
        )
    };
    let check = |text: &str, http: &str, stdio: &str| {
        let (over_http, over_stdio) = of(text);
        let shown =
            |said: Result<String, ConfigError>| said.unwrap_or_else(|error| error.to_string());
        assert_eq!(
            (shown(over_http).as_str(), shown(over_stdio).as_str()),
            (http, stdio),
            "{text}"
        );
    };
    check("", "default", "default");
    check("[team.a]\nplugins = 'plugins'", "a", "a");
    check(
        "[team.a]\nplugins = 'plugins'\n[team.default]\nplugins = 'cache'",
        "default",
        "default",
    );
    check(
        &format!("{TWO}[server]\nteams = ['b', 'a', 'b']\n[stdio]\nteams = ['b']"),
        "b a",
        "b",
    );
    check(
        &format!("{TWO}[server]\nteams = ['b', 'a']\nteam_order = ['a']"),
        "a b",
        "stdio.teams: there are several teams (a, b): specify to which of them this client belongs, or use `--team NAME`",
    );
    check(
        TWO,
        "server.teams: there are several teams (a, b): specify to which of them requests without credentials belong",
        "stdio.teams: there are several teams (a, b): specify to which of them this client belongs, or use `--team NAME`",
    );
    let overrides = Overrides {
        team: Some(name("b")),
        ..Overrides::default()
    };
    let named = folder
        .read_with(TWO, &[], &overrides)
        .unwrap()
        .over_stdio()
        .unwrap();
    assert_eq!(teams(&named.endpoint.caller), "b");
}

#[test]
fn the_order_in_the_file_decides_which_team_is_the_first() {
    let folder = Folder::new();
    let digest = |n: u8| format!("sha256:{}", format!("{n:02x}").repeat(32));
    let tokens = |order: &str| {
        let text = format!(
            "{TWO}[server]\n{order}\n\
             [[auth.tokens]]\nname = 'x'\ndigest = '{}'\nteams = ['b', 'a']\n\
             [auth.oauth]\nissuer = 'https://id.example'\naudience = 'https://x.example'\nteam_claim = 'g'\n\
             teams = {{ z = 'b', y = 'a', x = 'b' }}\n",
            digest(1)
        );
        let auth = folder.read(&text).endpoint.auth;
        let Membership::Claim { teams, .. } = auth.oauth.unwrap().membership else {
            panic!("no claim")
        };
        let claimed: Vec<_> = teams
            .iter()
            .map(|(value, team)| format!("{value}={team}"))
            .collect();
        let own: Vec<_> = auth.tokens[0]
            .caller
            .teams
            .iter()
            .map(ToString::to_string)
            .collect();
        (own.join(" "), claimed.join(" "))
    };
    assert_eq!(tokens(""), ("b a".into(), "z=b y=a x=b".into()));
    assert_eq!(
        tokens("team_order = ['a', 'b']"),
        ("a b".into(), "y=a z=b x=b".into())
    );
    let unknown = format!("{TWO}[server]\nteam_order = ['c']");
    let unknown = folder
        .read_with(&unknown, &[], &Overrides::default())
        .unwrap_err()
        .to_string();
    assert!(
        unknown.contains("server.team_order[0]: there is no team `c`"),
        "{unknown}"
    );
}

#[test]
fn rejects_overlapping_team_folders() {
    let error_of = |text: &str| {
        let folder = Folder::new();
        std::os::unix::fs::symlink("plugins", folder.0.path().join("link")).unwrap();
        let read = folder.read_with(text, &[], &Overrides::default());
        read.map_or_else(|error| error.to_string(), |_| "no error".into())
    };
    assert_eq!(error_of(TWO), "no error");
    for other in ["plugins", "link", "plugins/b", "link/not/there", "."] {
        let text = format!("[team.a]\nplugins = 'plugins'\n[team.b]\nplugins = '{other}'");
        let error = error_of(&text);
        assert!(
            error.starts_with("larder.toml:4: team.b.plugins: "),
            "{other}: {error}"
        );
        assert!(
            error.contains("overlaps with the folder of team a"),
            "{other}: {error}"
        );
    }
    let inside = error_of(&format!("state_dir = 'cache/state'\n{TWO}"));
    assert!(inside.contains("is inside a plugins folder"), "{inside}");
}

#[test]
fn the_team_option_selects_a_team() {
    let overrides = |plugins: Option<&str>, team: Option<&str>| Overrides {
        plugins: plugins.map(Into::into),
        team: team.map(name),
        ..Overrides::default()
    };
    check_with(
        TWO,
        &overrides(Some("docs"), None),
        expect![
            "--team: the configuration has teams: specify with `--team NAME` to which one the folder belongs"
        ],
    );
    for text in ["", TWO] {
        check_with(
            text,
            &overrides(None, Some("c")),
            expect!["--team: there is no team c: the configuration has no [team.c]"],
        );
    }
    let config = Folder::new()
        .read_with(TWO, &[], &overrides(Some("docs"), Some("b")))
        .unwrap();
    let ends = |team: &str| {
        config.teams[&name(team)]
            .plugins
            .file_name()
            .unwrap()
            .to_owned()
    };
    assert_eq!((ends("a"), ends("b")), ("plugins".into(), "docs".into()));
}

#[test]
fn reports_all_errors_of_teams_and_secrets_at_once() {
    check(
        r#"
plugins = "plugins"
provider.x.priority = 1
[server]
teams = []
[stdio]
teams = ["c"]
[team."a b"]
[team.a]
plugins = "plugins"
token = 1
ceiling = { dirs = ["gone", { host = "docs", guest = "/x" }], secrets = ["none"], color = 1 }
quota = { calls = 0 }
[team.a.provider.p]
secrets = ["key", "none", "lost"]
settings = { key = "x" }
[secret]
key = { file = "keys/wiki" }
lost = { file = "gone" }
unset = { env = "UNSET" }
both = { file = "keys/wiki", env = "UNSET" }
"#,
        expect![[r#"
            larder.toml:2: plugins: each team has its own plugins folder: set `plugins` in [team.NAME]
            larder.toml:3: provider.x: a provider belongs to a team: write [team.NAME.provider.x]
            larder.toml:5: server.teams: is empty: a caller without a team has no access
            larder.toml:7: stdio.teams[0]: there is no team `c`: the configuration has no [team.c]
            larder.toml:8: team.a b: `a b` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit
            larder.toml:11: team.a.token: unknown field `token`, expected one of `plugins`, `approve`, `trust`, `credentials`, `ceiling`, `limits`, `quota`, `provider`
            larder.toml:12: team.a.ceiling.color: unknown field `color`, expected one of `dirs`, `hosts`, `tcp`, `env`, `secrets`, `key_value`, `tools`, `prompts`, `skills`, `apps`
            larder.toml:12: team.a.ceiling.dirs[0]: there is no folder FOLDER/gone: create it
            larder.toml:12: team.a.ceiling.dirs[1]: `guest` has no effect in a ceiling: remove it
            larder.toml:12: team.a.ceiling.secrets[0]: there is no secret `none`: add [secret.none]
            larder.toml:13: team.a.quota.calls: invalid value: integer, expected a whole number from 1 to 4294967295
            larder.toml:15: team.a.provider.p.secrets[1]: there is no secret `none`: add [secret.none]
            larder.toml:15: team.a.provider.p.secrets[0]: `key` is also a setting: remove one of the two
            larder.toml:19: secret.lost.file: cannot read FOLDER/gone: No such file or directory (os error 2)
            larder.toml:20: secret.unset.env: the environment variable UNSET is not set, or empty
            larder.toml:21: secret.both: write either `env = "VARIABLE"` or `file = "PATH"`"#]],
    );
}

#[test]
fn debug_output_contains_no_secrets() {
    let folder = Folder::new();
    let text =
        "[secret.a]\nenv = 'A'\n[secret.b]\nfile = 'keys/wiki'\n[provider.p]\nsecrets = ['a', 'b']";
    let config = folder
        .read_with(text, &[("A", "from-the-variable")], &Overrides::default())
        .unwrap();
    let shown = format!("{config:#?}");
    assert!(
        !shown.contains("from-the-variable") && !shown.contains("hush-hush"),
        "{shown}"
    );
    let grant = &only_team(&config).providers[&ProviderName::parse("p").unwrap()].grant;
    let text = |name| grant.secrets.get(name).map(Secret::reveal);
    assert_eq!(
        (text("a"), text("b")),
        (Some("from-the-variable"), Some("hush-hush"))
    );
    assert_eq!(
        grant_lines(grant).into_iter().collect::<Vec<_>>(),
        ["secret a", "secret b"]
    );
}

#[test]
fn a_team_with_credentials_of_its_own_has_a_store_of_its_own() {
    let with = |credentials: &str| {
        format!(
            "secret.s.file = 'keys/wiki'\nregistries.permitted.'r.example' = {{}}\n{TWO}{credentials}"
        )
    };
    let own = with("[team.a.credentials.'r.example']\ntoken = 's'\n");
    let store = |config: &Config, team: &str| {
        let registry = &config.teams[&name(team)].registry;
        registry.store_in(&registry.store)
    };
    let folder = Folder::new();
    let config = folder.read(&own);
    assert_eq!(store(&config, "a"), config.registry_store.join("teams/a"));
    assert_eq!(store(&config, "b"), config.registry_store);
    // A reload of the configuration applies the change at once.
    let reloaded = folder.read(&with("")).merge(config).config;
    assert_eq!(
        store(&reloaded, "a"),
        reloaded.registry_store.join("teams/a")
    );
}

#[test]
fn a_reload_updates_adds_and_removes_teams() {
    let folder = Folder::new();
    let reload = |before: &str, after: &str| folder.read(before).merge(folder.read(after));
    let raised = reload(
        TWO,
        &format!("{TWO}ceiling.env = ['X']\nprovider.x.priority = 3"),
    );
    assert!(
        raised.needs_restart.is_empty(),
        "{:?}",
        raised.needs_restart
    );
    let team = |team: &str| &raised.config.teams[&name(team)].reconcile;
    assert_eq!(team("b").ceiling.bounds.as_ref().unwrap().env.len(), 1);
    assert_eq!(
        (team("a").providers.len(), team("b").providers.len()),
        (0, 1)
    );
    let gone = reload(
        TWO,
        "[team.a]\nplugins = 'plugins'\n[server]\nteams = ['a']",
    );
    assert!(gone.needs_restart.is_empty(), "{:?}", gone.needs_restart);
    assert_eq!(
        (
            gone.config.teams.len(),
            gone.config.endpoint.caller.teams.iter().count()
        ),
        (1, 1)
    );
    let two = TWO;
    let three = format!("{TWO}[team.c]\nplugins = 'docs'\n");
    let count = |before: &str, after: &str| {
        let reloaded = reload(before, after);
        (reloaded.config.teams.len(), reloaded.needs_restart)
    };
    assert_eq!(
        (count(two, &three), count(&three, two)),
        ((3, vec![]), (2, vec![]))
    );
    let moved = reload(
        TWO,
        "[team.a]\nplugins = 'docs'\nquota.calls = 3\n[team.b]\nplugins = 'cache'\n",
    );
    assert_eq!(moved.needs_restart, ["team.a.plugins"]);
    let quota = moved.config.teams[&name("a")].quota.unwrap();
    assert_eq!(quota.calls, 3);
}
