//! Tests of addresses, and of the credentials that they need.

use super::*;

#[test]
fn credentials_allow_a_public_address_and_contradict_unauthenticated() {
    let public = "[server]\nlisten = '0.0.0.0:80'\nhosts = ['docs.example.org']\n";
    check(&format!("{public}{TOKEN}"), expect!["no error"]);
    check(&format!("{public}{OAUTH}"), expect!["no error"]);
    check(
        &format!("server.unauthenticated = true\n{TOKEN}"),
        expect![
            "larder.toml:1: server.unauthenticated: contradicts the credentials in `auth`: remove one of the two"
        ],
    );
    check(
        &format!("server.unauthenticated = false\n{TOKEN}"),
        expect!["no error"],
    );
}

#[test]
fn a_unix_socket_needs_no_credentials_and_its_path_is_absolute() {
    let folder = Folder::new();
    let listen = |text: &str, option: Option<&str>| {
        let listen = option.map(|text| parse_listen_address(text).unwrap());
        folder
            .read_with(
                text,
                &[],
                &Overrides {
                    listen,
                    ..Overrides::default()
                },
            )
            .unwrap()
            .endpoint
            .listen
    };
    let socket = |path: &str, mode| ListenAddress::Unix {
        path: folder.0.path().join(path),
        mode,
    };
    assert_eq!(
        listen("server.listen = 'unix:larder.sock'", None),
        socket("larder.sock", 0o600)
    );
    assert_eq!(
        listen("server.listen = 'unix:/run/larder.sock'", None),
        socket("/run/larder.sock", 0o600)
    );
    assert_eq!(
        listen("server.socket_mode = '0660'", Some("unix:x/y")),
        socket("x/y", 0o660)
    );
    check(
        "[server]\nlisten = 'unix:'\nsocket_mode = '0999'",
        expect![[r#"
            larder.toml:2: server.listen: the path of the Unix socket is missing: write "unix:/run/larder.sock"
            larder.toml:3: server.socket_mode: `0999` is not a file mode: write it in octal, such as "0660""#]],
    );
    let long = format!("server.listen = 'unix:/{}'", "x".repeat(200));
    let error = folder
        .read_with(&long, &[], &Overrides::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cannot be the path of a Unix socket"),
        "{error}"
    );
}

#[test]
fn the_admin_address_can_be_a_unix_socket() {
    let folder = Folder::new();
    let listen = |text: &str| folder.read(text).admin.listen.unwrap();
    let socket = |mode| ListenAddress::Unix {
        path: folder.0.path().join("admin.sock"),
        mode,
    };
    assert_eq!(listen("admin.listen = 'unix:admin.sock'"), socket(0o600));
    assert_eq!(
        listen("[admin]\nlisten = 'unix:admin.sock'\nsocket_mode = '0660'"),
        socket(0o660)
    );
    check(
        "admin.listen = 'unix:'",
        expect![[
            r#"larder.toml:1: admin.listen: the path of the Unix socket is missing: write "unix:/run/larder.sock", or "off""#
        ]],
    );
    let long = format!("admin.listen = 'unix:/{}'", "x".repeat(200));
    let error = folder
        .read_with(&long, &[], &Overrides::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("admin.listen: /x") && error.contains("cannot be the path"),
        "{error}"
    );
}

#[test]
fn every_credential_key_has_an_effect() {
    let folder = Folder::new();
    for (section, keys) in [
        (
            TOKEN,
            &[
                "scopes = ['a']",
                "expires = 2036-01-31",
                "teams = ['default']",
            ][..],
        ),
        (
            OAUTH,
            &[
                "jwks = 'https://id.example.com/k'",
                "algorithms = ['ES384']",
                "team_claim = 'g'\nteams = { x = 'default' }",
                "scopes = ['a']",
                "leeway = '2s'",
                "refresh = '2s'",
            ],
        ),
    ] {
        let plain = folder.shown(section);
        for key in keys {
            let shown = folder.shown(&format!("{section}{key}"));
            assert!(shown != plain || key.starts_with("teams"), "{key}");
        }
    }
    let timestamp = |text: &str| {
        let config = folder.read(&format!("{TOKEN}expires = {text}"));
        humantime::format_rfc3339(config.endpoint.auth.tokens[0].expires.unwrap()).to_string()
    };
    assert_eq!(timestamp("2036-01-31"), "2036-01-31T00:00:00Z");
    assert_eq!(timestamp("2036-01-31T12:00:00Z"), "2036-01-31T12:00:00Z");
    assert_eq!(
        timestamp("2036-01-31T12:00:00+02:00"),
        "2036-01-31T10:00:00Z"
    );
    assert_eq!(
        timestamp("2036-01-31 12:00:00-00:30"),
        "2036-01-31T12:30:00Z"
    );
    let teams = folder.read(OAUTH).endpoint.auth.oauth.unwrap().membership;
    assert_eq!(
        teams,
        Membership::All(larder_model::name::Teams::default_team())
    );
}

#[test]
fn reports_invalid_credentials() {
    check(
        r#"
[[auth.tokens]]
name = ""
digest = "sha256:12"
expires = 2036-01-31T12:00:00
[[auth.tokens]]
digest = "larder_1234"
token = "larder_1234"
[[auth.tokens]]
name = "ann"
digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
teams = []
scopes = ["two words"]
[[auth.tokens]]
name = "bob"
digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
teams = ["a b", "nobody"]
[auth.oauth]
issuer = "http://id.example.com"
audience = "docs"
jwks = "file:///keys"
algorithms = ["none", "HS256"]
team_claim = "groups"
leeway = "1h"
"#,
        expect![[r#"
            larder.toml:3: auth.tokens[0].name: is not a name: write 1 to 100 characters that identify the token holder
            larder.toml:4: auth.tokens[0].digest: not a digest: write "sha256:" and 64 hexadecimal digits
            larder.toml:5: auth.tokens[0].expires: `2036-01-31T12:00:00` is not a point in time: write a date, such as 2027-01-31, or a date and time with an offset, such as 2027-01-31T12:00:00Z
            larder.toml:6: auth.tokens[1]: missing field `name`
            larder.toml:8: auth.tokens[1].token: unknown field `token`, expected one of `name`, `digest`, `teams`, `scopes`, `expires`
            larder.toml:12: auth.tokens[2].teams: is empty: a caller without a team has no access
            larder.toml:13: auth.tokens[2].scopes[0]: is not a scope: write one word without quotes
            larder.toml:16: auth.tokens[3].digest: duplicate token: give each holder a different one
            larder.toml:17: auth.tokens[3].teams[0]: `a b` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit
            larder.toml:19: auth.oauth.issuer: `http://id.example.com` is not a URL that can be trusted: write one that begins with https:// (http:// only for this machine), without a query or a fragment
            larder.toml:20: auth.oauth.audience: `docs` is not the URL of an endpoint: write the one that clients use, such as "https://docs.example.com/mcp"
            larder.toml:21: auth.oauth.jwks: `file:///keys` is not a URL that can be trusted: write one that begins with https:// (http:// only for this machine), without a query or a fragment
            larder.toml:22: auth.oauth.algorithms[0]: `none` is not a supported signature algorithm: use RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA
            larder.toml:22: auth.oauth.algorithms[1]: `HS256` is not a supported signature algorithm: use RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA
            larder.toml:23: auth.oauth.team_claim: no value of this claim is mapped to a team: add a mapping, such as `teams = { staff = "default" }`
            larder.toml:24: auth.oauth.leeway: is too long for clock differences: the maximum is "5m""#]],
    );
    check(
        &format!("{OAUTH}algorithms = []\nteams = {{ a = 'default' }}"),
        expect![[r#"
        auth.oauth.teams: maps the values of a claim: name the claim with `team_claim`
        larder.toml:4: auth.oauth.algorithms: is empty, so no token would be valid: list some, or remove the key"#]],
    );
    check(
        "[auth.oauth]\nissuer = 'https://id.example.com'",
        expect!["larder.toml:1: auth.oauth: missing field `audience`"],
    );
    check(
        &format!("{OAUTH}refresh = '31m'"),
        expect![[
            r#"larder.toml:4: auth.oauth.refresh: is too long, since keys expire after an hour: the maximum is "30m""#
        ]],
    );
}
