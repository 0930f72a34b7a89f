//! Tests of `[admin]`, `[audit]` and `[telemetry]`.

use super::*;

#[test]
fn a_public_admin_address_needs_a_token_or_unauthenticated() {
    check(
        "[admin]\nlisten = '0.0.0.0:1'\ntoken = 'hunter2'",
        expect![[r#"
            larder.toml:2: admin.listen: 0.0.0.0:1 is reachable from outside this machine: set `admin.token` to the digest of a token, or `admin.scope` to a scope of the OAuth issuer, or `admin.unauthenticated = true`, since anyone who reaches it may see what is served and what went wrong
            larder.toml:3: admin.token: must be "sha256:" and the digest of the token in hexadecimal, as printed by `printf %s TOKEN | sha256sum`"#]],
    );
    check(
        "[admin]\nlisten = '0.0.0.0:1'\nunauthenticated = true",
        expect!["no error"],
    );
    let token = format!(
        "[admin]\nlisten = '[::]:1'\ntoken = 'sha256:{}'",
        "0".repeat(64)
    );
    check(&token, expect!["no error"]);
    let oauth = "[auth.oauth]\nissuer = 'https://id.example'\naudience = 'https://x.example/mcp'\n";
    let admin = "[admin]\nlisten = '[::]:1'\nscope = 'larder:admin'\n";
    check(&format!("{admin}{oauth}"), expect!["no error"]);
    check(
        &admin.replace("[::]", "127.0.0.1"),
        expect![
            "larder.toml:3: admin.scope: a scope is part of the tokens of an OAuth issuer: configure `[auth.oauth]`, or use `admin.token`"
        ],
    );
    check(
        &format!("{}{oauth}", admin.replace("larder:admin", "a b")),
        expect![[r#"larder.toml:3: admin.scope: write one scope, such as "larder:admin""#]],
    );
    let listen = |text: &str| {
        Folder::new()
            .read(text)
            .admin
            .listen
            .map(|listen| listen.to_string())
    };
    assert_eq!(listen("").as_deref(), Some("127.0.0.1:7879"));
    assert_eq!(listen("admin.listen = 'off'"), None);
    let raw = |text: &str| Folder::new().read(text).admin.is_explicit;
    assert!(!raw("") && !raw("admin.listen = '127.0.0.1:7879'") && raw("admin.listen = '[::1]:1'"));
    for key in [
        "admin.hosts = ['x']",
        "admin.listen = '127.0.0.1:1'",
        "admin.listen = 'unix:larder.sock'",
        "audit.on_full = 'drop'",
        "audit.file = '-'",
        "audit.sync = true",
        "server.log.requests = 'all'",
        "server.trusted_proxies = ['unix']",
        "telemetry.otlp = 'http://x'",
    ] {
        let folder = Folder::new();
        assert_ne!(folder.shown(key), folder.shown(""), "{key}");
    }
}

#[test]
fn rejects_an_audit_log_without_a_folder() {
    check(
        "audit.file = 'gone/audit.log'",
        expect!["larder.toml:1: audit.file: there is no folder FOLDER/gone: create it"],
    );
    check(
        "audit.file = 'docs'",
        expect!["larder.toml:1: audit.file: FOLDER/docs is a folder: name a file in it"],
    );
    check("audit.file = 'docs/audit.log'", expect!["no error"]);
    check(
        "[audit]\nfile = '-'\nsync = true",
        expect!["larder.toml:3: audit.sync: requires a file, not stderr"],
    );
}

#[test]
fn trusted_proxies_are_addresses_and_networks() {
    check(
        "server.trusted_proxies = ['10.0.0.0/8', '::1', 'unix']",
        expect!["no error"],
    );
    check(
        "server.trusted_proxies = ['10.0.0.0/33']",
        expect![[
            r#"larder.toml:1: server.trusted_proxies: must be an IP address, a network such as "10.0.0.0/8", or "unix""#
        ]],
    );
}

#[test]
fn converts_the_telemetry_section() {
    let url = |text: &str| {
        Folder::new()
            .read(text)
            .telemetry
            .map(|collector| collector.url)
    };
    assert_eq!(url(""), None);
    for (raw, root) in [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        (
            "https://otel.example/base/",
            "https://otel.example/base/v1/traces",
        ),
        ("http://[::1]:1/v1/traces", "http://[::1]:1/v1/traces"),
    ] {
        assert_eq!(
            url(&format!("telemetry.otlp = '{raw}'")).as_deref(),
            Some(root)
        );
    }
    for bad in [
        "collector:4318",
        "grpc://x:4317",
        "http://me:key@x",
        "http://x?key=1",
        "",
    ] {
        let at =
            "larder.toml:1: telemetry.otlp: must be the URL of an OTLP/HTTP collector, such as";
        let text = format!("telemetry.otlp = '{bad}'");
        let said = Folder::new()
            .read_with(&text, &[], &Overrides::default())
            .unwrap_err()
            .to_string();
        assert!(said.starts_with(at), "{bad}: {said}");
    }
    check(
        "[telemetry]\notlp = 'http://x'\nsample = 1.5\nheaders = { 'a b' = 'c', x = \"secret\\u0001\" }",
        expect![[r#"
            larder.toml:3: telemetry.sample: must be a fraction of all requests, from 0.0 to 1.0
            larder.toml:4: telemetry.headers.a b: is not a valid header name
            larder.toml:4: telemetry.headers.x: contains characters that are not allowed in a header"#]],
    );
    let text = "[telemetry]\notlp = 'http://x'\nheaders = { authorization = 'hunter2' }";
    assert!(
        !Folder::new().shown(text).contains("hunter2"),
        "a header value is shown"
    );
}
