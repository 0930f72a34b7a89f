//! What is seen from outside: the admin address and the audit log.

use super::*;

#[test]
fn who_looks_from_elsewhere_shows_a_token_unless_it_is_said_otherwise() {
    check(
        "[admin]\nlisten = '0.0.0.0:1'\ntoken = 'hunter2'",
        expect![[r#"
            larder.toml:2: admin.listen: 0.0.0.0:1 is reachable from outside this machine: set `admin.token` to the digest of a token, or `admin.unauthenticated = true`, since anyone who reaches it may see what is served and what went wrong
            larder.toml:3: admin.token: must be "sha256:" and the digest of the token in hexadecimal, as `printf %s TOKEN | sha256sum` gives it"#]],
    );
    check("[admin]\nlisten = '0.0.0.0:1'\nunauthenticated = true", expect!["no fault"]);
    let token = format!("[admin]\nlisten = '[::]:1'\ntoken = 'sha256:{}'", "0".repeat(64));
    check(&token, expect!["no fault"]);
    let listen = |text: &str| Folder::new().read(text).admin.listen.map(|listen| listen.to_string());
    assert_eq!(listen("").as_deref(), Some("127.0.0.1:7879"));
    assert_eq!(listen("admin.listen = 'off'"), None);
    let written = |text: &str| Folder::new().read(text).admin.is_written;
    assert!(
        !written("") && !written("admin.listen = '127.0.0.1:7879'") && written("admin.listen = '[::1]:1'")
    );
    for key in
        ["admin.hosts = ['x']", "admin.listen = '127.0.0.1:1'", "audit.on_full = 'drop'", "audit.file = '-'"]
    {
        let folder = Folder::new();
        assert_ne!(folder.shown(key), folder.shown(""), "{key}");
    }
}

#[test]
fn the_audit_log_needs_a_folder() {
    check(
        "audit.file = 'gone/audit.log'",
        expect!["larder.toml:1: audit.file: there is no folder FOLDER/gone: create it"],
    );
    check(
        "audit.file = 'docs'",
        expect!["larder.toml:1: audit.file: FOLDER/docs is a folder: name a file in it"],
    );
    check("audit.file = 'docs/audit.log'", expect!["no fault"]);
}
