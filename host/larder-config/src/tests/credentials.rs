//! Secrets that only the host sends.

use super::*;

fn name(team: &str) -> TeamName {
    TeamName::parse(team).unwrap()
}

#[test]
fn a_secret_is_for_settings_or_for_hosts() {
    let text = r#"
[secret.token]
file = "keys/wiki"
hosts = ["https://api.example.com"]
[secret.short]
env = "SHORT"
hosts = []
[secret.lines]
env = "LINES"
hosts = ["x.example"]
[secret.setting]
file = "keys/wiki"
[team.a]
plugins = "a"
[team.a.ceiling]
hosts = [{ host = "x.example", auth = { bearer = "token" } }]
secrets = ["token", "setting"]
[team.a.provider.p]
secrets = ["token", "setting"]
hosts = [
    { host = "api.example.com", auth = { bearer = "token" } },
    { host = "api.example.com", auth = { bearer = "setting" } },
    { host = "api.example.com", auth = { bearer = "none" } },
    { host = "http://api.example.com", auth = { bearer = "token" } },
]
"#;
    let env = [("SHORT", "hush"), ("LINES", "hush-hush\nhush-hush")];
    let errors = Folder::new().read_with(text, &env, &Overrides::default());
    expect![[r#"
        larder.toml:5: secret.short: a secret with `hosts` needs at least 8 bytes: a shorter one cannot be recognised in responses
        larder.toml:8: secret.lines: a secret with `hosts` becomes a part of a header or of a URL: remove line breaks, control characters, and spaces at its ends
        larder.toml:16: team.a.ceiling.hosts[0]: `auth` has no effect in a ceiling: remove it, and list the secret in `secrets`
        larder.toml:19: team.a.provider.p.secrets[0]: `token` has `hosts`, so no provider receives it: use it in `auth` of a host, or remove `hosts` from [secret.token]
        larder.toml:22: team.a.provider.p.hosts[1]: `setting` cannot be used in `auth`: set `hosts` in [secret.setting], the hosts to which it may be sent
        larder.toml:23: team.a.provider.p.hosts[2]: there is no secret `none`: add [secret.none] with `hosts`
        larder.toml:24: team.a.provider.p.hosts[3]: a credential is sent only over TLS: use https, or set `plain_http = true` if everybody on the way may see it"#]]
    .assert_eq(&errors.unwrap_err().to_string());
}

#[test]
fn a_team_has_the_credentials_of_its_ceiling() {
    let text = "[secret.s]\nfile = 'keys/wiki'\nhosts = ['a.example']\n\
        [secret.setting]\nfile = 'keys/wiki'\n\
        [team.a]\nplugins = 'a'\nceiling.secrets = ['s', 'setting']\n[team.b]\nplugins = 'b'\n";
    let config = Folder::new().read(text);
    let credentials = config.credentials();
    assert_eq!(credentials[&name("a")].keys().collect::<Vec<_>>(), ["s"]);
    assert!(credentials[&name("b")].is_empty());
    let ceiling = &config.teams[&name("a")].reconcile.ceiling;
    assert_eq!(ceiling.credentials.keys().collect::<Vec<_>>(), ["s"]);
    assert!(ceiling.secrets.get("s").is_none() && ceiling.secrets.get("setting").is_some());
}

#[test]
fn a_rotated_credential_changes_no_provider() {
    let folder = Folder::new();
    let text = "[secret.s]\nenv = 'S'\nhosts = ['a.example']\n\
        [provider.p]\nhosts = [{ host = 'a.example', auth = { bearer = 's' } }]\n";
    let read = |value| {
        let env = [("S", value)];
        folder.read_with(text, &env, &Overrides::default()).unwrap()
    };
    let before = read("first-secret");
    let after = read("second-secret");
    let team = TeamName::default_team();
    let reconcile = |config: &Config| config.teams[&team].reconcile.clone();
    assert_eq!(reconcile(&before).ceiling, reconcile(&after).ceiling);
    assert_eq!(reconcile(&before).providers, reconcile(&after).providers);
    assert_ne!(before.credentials(), after.credentials());
}

#[test]
fn a_host_that_is_revoked_prevents_no_reload() {
    let text = "[secret.s]\nfile = 'keys/wiki'\nhosts = []\n\
        [provider.p]\nhosts = [{ host = 'a.example', auth = { bearer = 's' } }]\n";
    let config = Folder::new().read(text);
    assert!(
        config.warnings[0]
            .to_string()
            .contains("requests to https://a.example are not granted")
    );
    let reconcile = only_team(&config);
    let grant = &reconcile.providers[&ProviderName::parse("p").unwrap()].grant;
    assert!(reconcile.ceiling.cap(grant).allowed.hosts.is_empty());
}

#[test]
fn warns_of_a_credential_without_tls() {
    let text = "[secret.s]\nfile = 'keys/wiki'\nhosts = ['http://a.example']\n\
        [provider.p]\nhosts = [{ host = 'http://a.example', auth = { bearer = 's' }, plain_http = true }]\n";
    let warnings = Folder::new().read(text).warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0]
            .to_string()
            .contains("`s` is sent to a.example without TLS")
    );
}

#[test]
fn warns_of_an_authorization_server_to_which_the_secret_may_not_be_sent() {
    let text = "[secret.s]\nfile = 'keys/wiki'\nhosts = ['a.example']\n\
        [provider.p]\nhosts = [{ host = 'a.example', \
        auth.client_credentials = { issuer = 'https://ID.example/tenant', client_id = 'c', client_secret = 's' } }]\n";
    let warnings = Folder::new().read(text).warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0]
            .to_string()
            .contains("requests to https://id.example are not granted: `s` may not be sent there")
    );
    let text = text.replace("['a.example']", "['a.example', 'id.example']");
    assert!(Folder::new().read(&text).warnings.is_empty());
}

#[test]
fn every_secret_of_a_credential_must_be_for_its_host() {
    let text = "[secret.key]\nenv = 'KEY'\nhosts = ['a.example']\n\
        [secret.certificate]\nfile = 'keys/wiki'\nhosts = []\n\
        [provider.p]\nhosts = [{ host = 'a.example', \
        auth.client_certificate = { key = 'key', certificate = 'certificate' } }]\n";
    // A key in the format PEM has several lines.
    let env = [(
        "KEY",
        "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n",
    )];
    let folder = Folder::new();
    let config = folder.read_with(text, &env, &Overrides::default()).unwrap();
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    let reconcile = only_team(&config);
    let grant = &reconcile.providers[&ProviderName::parse("p").unwrap()].grant;
    assert!(reconcile.ceiling.cap(grant).allowed.hosts.is_empty());
}
