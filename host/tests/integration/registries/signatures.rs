//! The real binary: components in folders with valid, missing and wrong signatures, and keys that are removed while the
//! server runs.

use std::fs;

use serde_json::Value;

use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, component_path, eventually_within};
use crate::support::process::WorkDir;
use crate::support::revision::{NOW, revision, text};
use larder_signature::PrivateKey;
use larder_signature::testing::{Authority, Content, Recipe, Signer};

const ADMIN: &str = "[admin]\nlisten = '127.0.0.1:0'\n";
const SIGNED_BY: &str = "[trust]\nrequire = true\nkeys = ";

/// A folder with a key `NAME.pub` for each of these signers.
fn work_dir(guests: &str, keys: &[(&str, &Signer)], config: &str) -> WorkDir {
    let work_dir = WorkDir::with_guests(guests).file("larder.toml", &format!("{config}\n{ADMIN}"));
    for (name, signer) in keys {
        fs::write(work_dir.path(&format!("{name}.pub")), signer.public_key()).unwrap();
    }
    work_dir
}

/// Signs a component as `larder sign` and `cosign sign-blob` do.
fn sign(work_dir: &WorkDir, component: &str, signer: &Signer) {
    let content = fs::read(work_dir.path(component)).unwrap();
    let signature = PrivateKey::from_pem(&signer.private_key())
        .unwrap()
        .sign_blob(&content)
        .unwrap();
    fs::write(work_dir.path(&format!("{component}.sig")), signature).unwrap();
}

fn write_bundle(work_dir: &WorkDir, component: &str, bundle: &Value) {
    fs::write(
        work_dir.path(&format!("{component}.sigstore.json")),
        bundle.to_string(),
    )
    .unwrap();
}

/// Returns the names of the providers of a team, and the files that are rejected with the reasons.
async fn status(admin: &AdminClient, team: usize) -> (Vec<String>, Vec<String>) {
    let status: Value = serde_json::from_str(&admin.get("/status").await.1).unwrap();
    let items = |key: &str| {
        status["teams"][team][key]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names = items("providers")
        .iter()
        .map(|provider| text(&provider["name"]))
        .collect();
    let rejected = items("rejected");
    let reasons = rejected
        .iter()
        .map(|it| format!("{}: {}", text(&it["file"]), text(&it["reason"])));
    (names, reasons.collect())
}

async fn wait_for(admin: &AdminClient, providers: &[&str], rejected: &[&str]) {
    let mut last = Default::default();
    let is_so = async || {
        last = status(admin, 0).await;
        let (names, reasons) = &last;
        let is_like = |(reason, start): (&String, &&str)| reason.starts_with(*start);
        names == providers
            && reasons.len() == rejected.len()
            && reasons.iter().zip(rejected).all(is_like)
    };
    eventually_within(SLOW_WAIT, &format!("{providers:?} and {rejected:?}"), is_so).await;
}

fn reload(work_dir: &WorkDir, admin: &AdminClient, config: &str) {
    fs::write(work_dir.path("larder.toml"), format!("{config}\n{ADMIN}")).unwrap();
    let output = work_dir.larder(&format!("reload --admin http://{}", admin.address()));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

#[tokio::test]
async fn only_components_with_a_trusted_signature_are_served() {
    let (signer, stranger, authority) = (Signer::ecdsa(), Signer::ecdsa(), Authority::new());
    let config = format!(
        "{SIGNED_BY}['release.pub']\nroot = 'trusted_root.json'\n\
         identities = [{{ identity = 'release@example.com', issuer = 'https://issuer.example.com' }}]"
    );
    let names = "bundled@echo changed@echo expired@echo key@echo strange@echo unsigned@echo";
    let work_dir = work_dir(names, &[("release", &signer)], &config);
    fs::write(work_dir.path("trusted_root.json"), authority.trust_root()).unwrap();
    let echo = fs::read(component_path("echo")).unwrap();
    sign(&work_dir, "plugins/key.wasm", &signer);
    sign(&work_dir, "plugins/strange.wasm", &stranger);
    sign(&work_dir, "plugins/changed.wasm", &signer);
    fs::write(work_dir.path("plugins/changed.wasm"), revision(1)).unwrap();
    let recipe = Recipe {
        content: Content::Statement("https://slsa.dev/provenance/v1"),
        ..Recipe::default()
    };
    write_bundle(
        &work_dir,
        "plugins/bundled.wasm",
        &authority.sign(&echo, &recipe),
    );
    let late = Recipe {
        logged: recipe.valid.1 + 60,
        ..recipe
    };
    write_bundle(
        &work_dir,
        "plugins/expired.wasm",
        &authority.sign(&echo, &late),
    );

    let (admin, _) = AdminClient::open(&work_dir);
    let untrusted =
        "verification failed: [trust] requires a signature, and no signature is trusted: ";
    let expected = [
        format!("changed.wasm: {untrusted}changed.wasm.sig: it was not made with the key release"),
        format!("expired.wasm: {untrusted}expired.wasm.sigstore.json: certificate"),
        format!("strange.wasm: {untrusted}strange.wasm.sig: it was not made with the key release"),
        "unsigned.wasm: verification failed: it is not signed, and [trust] requires a signature"
            .into(),
    ];
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    wait_for(&admin, &["bundled", "key"], &expected).await;
    for (name, by) in [
        ("bundled", "release@example.com, confirmed by "),
        ("key", "key release ("),
    ] {
        let text = admin.get(&format!("/api/providers/{name}")).await.1;
        let provider: Value = serde_json::from_str(&text).unwrap();
        let signer = provider["signature"]["by"][0].as_str().unwrap_or_default();
        assert!(signer.starts_with(by), "{text}");
        assert_eq!(provider["origin"]["file"], format!("{name}.wasm"));
    }

    let check = work_dir.larder("check");
    assert_eq!(check.code, Some(1), "{}", check.stdout);
    for reason in expected {
        let (_, reason) = reason.split_once(": ").unwrap();
        let shown = check.stdout.clone() + &check.stderr;
        assert!(shown.contains(reason), "{reason}: {shown}");
    }
}

#[test]
fn inspect_shows_signers_and_statements() {
    let (signer, authority) = (Signer::ecdsa(), Authority::new());
    let work_dir = work_dir(
        "echo",
        &[("release", &signer)],
        &format!("{SIGNED_BY}['release.pub']"),
    );
    let inspect = |config: &str| {
        let output = work_dir.larder(&format!("inspect plugins/echo.wasm {config}"));
        (output.code, output.stdout)
    };
    let (code, text) = inspect("");
    assert!(code == Some(0) && !text.contains("signed"), "{text}");
    let (code, text) = inspect("--config larder.toml");
    assert!(
        code == Some(1) && text.contains("it is not signed, and [trust] requires a signature"),
        "{text}"
    );
    sign(&work_dir, "plugins/echo.wasm", &signer);
    let content = Content::Statement("https://spdx.dev/Document");
    let echo = fs::read(component_path("echo")).unwrap();
    let list = authority.sign(
        &echo,
        &Recipe {
            content,
            ..Recipe::default()
        },
    );
    write_bundle(&work_dir, "plugins/echo.wasm", &list);
    let (code, text) = inspect("--config larder.toml");
    for expected in [
        "key release (sha256:",
        "https://spdx.dev/Document",
        "not verified: it was made with a certificate",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn a_removed_key_stops_its_providers_at_once() {
    let (old, new) = (Signer::ecdsa(), Signer::ed25519());
    let keys = [("old", &old), ("new", &new)];
    let work_dir = work_dir(
        "first@revision second@echo",
        &keys,
        &format!("{SIGNED_BY}['old.pub', 'new.pub']"),
    );
    fs::write(work_dir.path("plugins/first.wasm"), revision(1)).unwrap();
    sign(&work_dir, "plugins/first.wasm", &old);
    sign(&work_dir, "plugins/second.wasm", &new);
    let (admin, url) = AdminClient::open(&work_dir);
    wait_for(&admin, &["first", "second"], &[]).await;
    let read = |uri: &str| work_dir.larder(&format!("read {uri} --url {url}"));
    assert_eq!(read(NOW).stdout, text(1));

    // An unsigned revision does not replace a signed one.
    fs::write(work_dir.path("plugins/first.wasm"), revision(2)).unwrap();
    let untrusted = "first.wasm: verification failed: [trust] requires a signature, and no signature is trusted: ";
    wait_for(&admin, &["first", "second"], &[untrusted]).await;
    assert_eq!(read(NOW).stdout, text(1));

    // The revision that is served is not signed with a trusted key any more.
    reload(&work_dir, &admin, &format!("{SIGNED_BY}['new.pub']"));
    wait_for(&admin, &["second"], &[untrusted]).await;
    assert_eq!(read(NOW).code, Some(1));
    assert_eq!(read("echo://hello").code, Some(0));

    sign(&work_dir, "plugins/first.wasm", &new);
    wait_for(&admin, &["first", "second"], &[]).await;
    assert_eq!(read(NOW).stdout, text(2));

    // The component does not change: only the key is another one.
    reload(&work_dir, &admin, &format!("{SIGNED_BY}['old.pub']"));
    wait_for(
        &admin,
        &[],
        &[untrusted, "second.wasm: verification failed: "],
    )
    .await;
    reload(
        &work_dir,
        &admin,
        &format!("{SIGNED_BY}['old.pub', 'new.pub']"),
    );
    wait_for(&admin, &["first", "second"], &[]).await;
    // Signatures that are not required any more have no effect.
    reload(&work_dir, &admin, "");
    fs::remove_file(work_dir.path("plugins/second.wasm.sig")).unwrap();
    wait_for(&admin, &["first", "second"], &[]).await;
    reload(&work_dir, &admin, &format!("{SIGNED_BY}['new.pub']"));
    wait_for(
        &admin,
        &["first"],
        &["second.wasm: verification failed: it is not signed"],
    )
    .await;
}

#[tokio::test]
async fn a_team_requires_signatures_for_itself() {
    let (company, team) = (Signer::ecdsa(), Signer::ecdsa());
    let keys = [("company", &company), ("team", &team)];
    let teams = "[team.a]\nplugins = 'plugins'\n[team.b]\nplugins = 'b'\n[server]\nteams = ['a', 'b']\nunauthenticated = true\n";
    let strict = "[team.b.trust]\nrequire = true\nkeys = ['team.pub']\n";
    let work_dir = work_dir("one@echo", &keys, &format!("{teams}{strict}"));
    fs::create_dir(work_dir.path("b")).unwrap();
    fs::copy(component_path("sleep"), work_dir.path("b/two.wasm")).unwrap();
    let (admin, _) = AdminClient::open(&work_dir);
    let unsigned = |rule: &str| {
        vec![format!(
            "two.wasm: verification failed: it is not signed, and {rule} requires a signature"
        )]
    };
    let is = |names: &[&str], reasons: Vec<String>| {
        (
            names.iter().map(|name| (*name).to_owned()).collect(),
            reasons,
        )
    };
    assert_eq!(status(&admin, 0).await, is(&["one"], vec![]));
    assert_eq!(status(&admin, 1).await, is(&[], unsigned("[team.b.trust]")));

    // The signature of the team is sufficient for the team, but not for the server.
    sign(&work_dir, "b/two.wasm", &team);
    eventually_within(SLOW_WAIT, "it is served", async || {
        status(&admin, 1).await == is(&["two"], vec![])
    })
    .await;
    reload(
        &work_dir,
        &admin,
        &format!("{SIGNED_BY}['company.pub']\n{teams}{strict}"),
    );
    eventually_within(SLOW_WAIT, "neither is served", async || {
        let (first, second) = (status(&admin, 0).await, status(&admin, 1).await);
        let is_by_server =
            |reasons: &[String]| reasons.len() == 1 && reasons[0].contains("[trust] requires");
        first.0.is_empty()
            && second.0.is_empty()
            && is_by_server(&first.1)
            && is_by_server(&second.1)
    })
    .await;
}

#[test]
fn mistakes_in_the_configuration_are_explained() {
    let private = Signer::ecdsa();
    let work_dir = work_dir("", &[], "");
    fs::write(work_dir.path("private.pub"), private.private_key()).unwrap();
    for (trust, expected) in [
        (
            "require = true",
            "no component could be loaded: set `keys` or `identities`",
        ),
        ("keys = ['missing.pub']", "missing.pub: No such file"),
        (
            "keys = ['private.pub']",
            "the private key belongs to the one who signs",
        ),
        (
            "keys = [{ pem = 'x' }]",
            "a key that is not in a file needs a `name`",
        ),
        ("keys = [{ name = 'x', pem = 'x' }]", "key x cannot be used"),
        (
            "keys = [{ name = 'x', file = 'y', pem = 'x' }]",
            "write either `file",
        ),
        (
            "identities = [{ identity = 'a@b', issuer = 'https://c' }]",
            "set `root = \"trusted_root.json\"`",
        ),
        (
            "identities = [{ identity = '*', issuer = 'https://c' }]",
            "would trust everybody",
        ),
        ("root = 'larder.toml'", "it is not a trust root of Sigstore"),
    ] {
        fs::write(work_dir.path("larder.toml"), format!("[trust]\n{trust}\n")).unwrap();
        let check = work_dir.larder("check");
        assert!(
            check.code != Some(0) && check.stderr.contains(expected),
            "{trust}: {}",
            check.stderr
        );
    }
}
