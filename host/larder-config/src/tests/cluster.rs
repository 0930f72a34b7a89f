//! Tests of `[cluster]`.

use super::*;

const KEY: &str = "[secret.k]\nfile = 'keys/cluster'\n";

#[test]
fn a_cluster_needs_only_a_server_and_a_key() {
    let folder = Folder::new();
    assert_eq!(folder.read("").cluster, None);
    let cluster = folder
        .read(&format!(
            "[cluster]\nnats = 'nats://127.0.0.1:4222'\nkey = ['k']\n{KEY}"
        ))
        .cluster
        .unwrap();
    assert_eq!(
        (cluster.prefix.as_str(), cluster.lease, cluster.copies),
        ("larder", Duration::from_secs(10), 1)
    );
    assert_eq!((cluster.keys.len(), cluster.replica), (1, None));
    assert_eq!((cluster.credentials, cluster.ca), (None, None));
    let several =
        "[cluster]\nnats = ['tls://a.example', 'nats://u:pa55word@b.example:1']\nkey = ['k']\n";
    let config = folder.read(&format!("{several}{KEY}"));
    let shown = format!("{config:?}");
    assert!(
        shown.contains("[tls://a.example:4222, nats://b.example:1]") && !shown.contains("pa55word"),
        "{shown}"
    );
    assert!(!shown.contains("0123456789abcdef"), "{shown}");
}

#[test]
fn what_cannot_work_is_an_error() {
    check(
        "[cluster]\nprefix = 'a'",
        expect![
            "larder.toml:2: cluster.prefix: has no effect without `cluster.nats`: add it, or remove [cluster]"
        ],
    );
    check(
        "[cluster]\nnats = 'nats://127.0.0.1'",
        expect![[
            r#"larder.toml:2: cluster.nats: requires `cluster.key`, such as key = ["cluster-key"] with [secret.cluster-key]: replicas seal their messages with it; create one with `openssl rand -base64 32`"#
        ]],
    );
    check(
        &format!("[cluster]\nnats = 'nats://a'\nkey = ['k']\nreplica = 'a.b'\n{KEY}"),
        expect![
            "larder.toml:4: cluster.replica: use 1 to 64 letters, digits or `-`, beginning with a letter or a digit"
        ],
    );
    check(
        &format!("[cluster]\nnats = 'http://a'\nkey = ['k']\n{KEY}"),
        expect![[r#"
            larder.toml:2: cluster.nats: must be the URL of a NATS server, such as "nats://127.0.0.1:4222" or "tls://nats.example.com"
            larder.toml:3: cluster.key: has no effect without `cluster.nats`: add it, or remove [cluster]"#]],
    );
    check(
        "[cluster]\nnats = 'nats://u:p@a'\nkey = ['s', 'gone']\nprefix = 'a.b'\nlease = '1ms'\ncopies = 7\n\
         credentials_file = 'keys/wiki'\nca = 'keys/wiki'\n[secret.s]\nfile = 'keys/wiki'\n",
        expect![[r#"
            larder.toml:2: cluster.nats: contains a user as well as `cluster.credentials_file`: remove one of the two
            larder.toml:3: cluster.key[1]: there is no secret `gone`: add [secret.gone]
            larder.toml:3: cluster.key[0]: the key has 9 bytes, and must have at least 32: create one with `openssl rand -base64 32`
            larder.toml:4: cluster.prefix: use 1 to 64 letters, digits, `_` or `-`
            larder.toml:5: cluster.lease: must be from "1s" to "10m"
            larder.toml:6: cluster.copies: NATS keeps at most 5 copies
            larder.toml:7: cluster.credentials_file: cannot use FOLDER/keys/wiki: no NATS credentials: a .creds file has a user JWT and an NKEY seed, as `nsc generate creds` writes it
            larder.toml:8: cluster.ca: FOLDER/keys/wiki contains no certificate in PEM"#]],
    );
}

#[test]
fn what_replicas_do_not_share_is_a_warning() {
    let folder = Folder::new();
    let text = format!(
        "[cluster]\nnats = 'nats://a'\nkey = ['k']\n{KEY}[provider.notes]\nkey_value = ['shared']\n"
    );
    let warnings = folder.read(&text).warnings;
    let shown: Vec<_> = warnings
        .iter()
        .map(|warning| warning.in_file(None))
        .collect();
    assert_eq!(shown.len(), 1);
    assert!(
        shown[0].contains("provider.notes.key_value") && shown[0].contains("each replica"),
        "{shown:?}"
    );
}

#[test]
fn a_client_on_stdio_has_no_replicas() {
    let folder = Folder::new();
    let text = format!("[cluster]\nnats = 'nats://a'\nkey = ['k']\n{KEY}");
    let config = folder.read(&text).over_stdio().unwrap();
    assert_eq!(config.cluster, None);
    assert!(
        config
            .warnings
            .iter()
            .any(|warning| warning.key == "cluster")
    );
    assert!(config.merge(folder.read(&text)).needs_restart.is_empty());
    let other = folder.read("").merge(folder.read(&text));
    assert_eq!(
        (other.needs_restart, other.config.cluster),
        (vec!["cluster".to_owned()], None)
    );
}
