//! Tests of a reload.

use super::*;

#[test]
fn reload_separates_immediate_changes_from_those_that_need_a_restart() {
    let folder = Folder::new();
    let reload = |before: &str, after: &str| folder.read(before).merge(folder.read(after));
    let same = reload("", "");
    assert!(same.needs_restart.is_empty());
    let grants = reload(
        "",
        "provider.a.dirs = ['docs']\nlimits.concurrency = 3\napprove = 'always'",
    );
    assert!(grants.needs_restart.is_empty());
    let team = only_team(&grants.config);
    assert_eq!(team.providers.len(), 1);
    assert_eq!(
        (
            team.default.grant.limits.concurrency,
            team.default.approval_mode
        ),
        (3, ApprovalMode::Always)
    );
    for (value, seconds) in [("'5s'", 5), ("0", 0)] {
        let grace = reload("", &format!("watch.missing_folder_grace = {value}"));
        assert!(grace.needs_restart.is_empty());
        assert_eq!(
            only_team(&grace.config).missing_source_grace,
            Duration::from_secs(seconds)
        );
    }
    let rest = reload(
        "",
        "plugins = 'docs'\nwatch.scan_interval = '9s'\nserver.guests = 3",
    );
    assert_eq!(rest.needs_restart, ["plugins", "server.guests", "watch"]);
    let credentials = reload("", TOKEN);
    assert!(credentials.needs_restart.is_empty());
    let now = only_team(&rest.config);
    assert!(now.relative_to.ends_with("plugins") && now.scan_interval == Duration::from_secs(2));
    for (text, key) in [
        ("state_dir = 'docs'", "state_dir"),
        ("state_name = 'docs'", "state_name"),
        ("watch.version_interval = '9s'", "watch"),
        ("watch.read_interval = '0'", "watch"),
        ("compiler.cpu_time = '9s'", "compiler"),
        ("search.max_bytes = '1MiB'", "search.max_bytes"),
        ("server.listen = '127.0.0.1:9'", "server.listen"),
        ("server.log.format = 'json'", "server.log.format"),
        ("server.sessions = 3", "server.sessions"),
        ("admin.listen = 'off'", "admin"),
        ("audit.file = '-'", "audit"),
    ] {
        let reloaded = reload("", text);
        assert_eq!(reloaded.needs_restart, [key], "{text}");
        let again = reloaded.config.merge(folder.read(text));
        assert_eq!(
            again.needs_restart,
            [key],
            "it is not in effect, so it is reported again: {text}"
        );
        let back = reloaded.config.merge(folder.read(""));
        assert!(back.needs_restart.is_empty(), "{text}");
    }
    let applied = reload(
        "",
        "cache.entries = 3\nsearch.timeout = '3s'\nserver.page_size = 3\nserver.hosts = ['a.example']",
    );
    assert!(applied.needs_restart.is_empty());
    assert_eq!(
        (
            applied.config.gateway.cache.entries,
            applied.config.gateway.search_timeout.as_secs(),
            applied.config.endpoint.hosts.len()
        ),
        (3, 3, 1)
    );
    let teams = "[team.a]\nplugins = 'docs'\n";
    let added = reload(teams, &format!("{teams}[team.b]\nplugins = 'plugins'\n"));
    assert!(added.needs_restart.is_empty() && added.config.teams.len() == 2);
    let quota = reload(teams, &format!("{teams}[team.a.quota]\ncalls = 3\n"));
    assert!(quota.needs_restart.is_empty());
    let team = quota.config.teams.into_values().next().unwrap();
    assert_eq!(team.quota.unwrap().calls, 3);
}

#[test]
fn a_server_that_requires_credentials_keeps_requiring_them() {
    let folder = Folder::new();
    let reloaded = folder.read(TOKEN).merge(folder.read(""));
    assert!(!reloaded.config.endpoint.auth.is_empty() && reloaded.config.gateway.private);
}
