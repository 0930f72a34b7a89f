//! A `docker-registry` process on a free port of the loopback interface, with an empty store of its own. It ends with
//! the test.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::process::{RunningProcess, WorkDir, http_client, path_arg};

/// The program, as Debian's package `docker-registry` names it.
const PROGRAM: &str = "docker-registry";
/// With this variable, a missing program fails a test instead of skipping it.
const REQUIRED: &str = "LARDER_TEST_REGISTRY_REQUIRED";
/// The path of `wkg`, which `cargo xtask test wkg` builds.
const WKG: &str = "LARDER_TEST_WKG";

/// The credentials that `Access::Password` requires.
pub(crate) const USER: &str = "larder";
pub(crate) const PASSWORD: &str = "registry-password";
/// The line of `htpasswd` for them.
const HTPASSWD: &str = "larder:$2b$05$abcdefghijklmnopqrstuux7DVfxfgfXTmp/9Tsk6HzX2QQGjxePG\n";

/// How clients may use a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Over plain HTTP, without credentials.
    Open,
    /// Over plain HTTP, with `USER` and `PASSWORD`.
    Password,
    /// Over TLS, without credentials. A private authority issued the certificate.
    Tls,
    /// Over TLS, with tokens that this address issues over plain HTTP.
    TokensAt(SocketAddr),
}

/// A running registry.
pub(crate) struct RegistryServer {
    address: String,
    /// The configuration and the store of the registry. Both are deleted with the registry.
    _folder: TempDir,
    /// A test may use the registry in several threads.
    _process: Mutex<RunningProcess>,
}

impl RegistryServer {
    /// Starts a registry, or prints why the test is skipped.
    pub(crate) fn start(access: Access) -> Option<Self> {
        let version = Command::new(PROGRAM)
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        if !version.is_ok_and(|status| status.success()) {
            skip(&format!(
                "{PROGRAM} is not installed: get the package docker-registry"
            ));
            return None;
        }
        let folder = TempDir::new().unwrap();
        let config = folder.path().join("config.json");
        std::fs::write(folder.path().join("htpasswd"), HTPASSWD).unwrap();
        std::fs::write(&config, configuration(folder.path(), access).to_string()).unwrap();
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg(&config).current_dir(folder.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = WorkDir::spawn(command);
        let line = process.wait_for_stderr("listening on ");
        let address = line.split("listening on ").nth(1).unwrap();
        let address = address.split([',', '"']).next().unwrap().to_owned();
        Some(Self {
            address,
            _folder: folder,
            _process: Mutex::new(process),
        })
    }

    /// The address of the registry, such as `127.0.0.1:5000`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The manifest of a tag or digest, and its digest. Only for `Access::Open`.
    pub(crate) async fn manifest(&self, repository: &str, version: &str) -> (Value, String) {
        let url = format!(
            "http://{}/v2/{repository}/manifests/{version}",
            self.address
        );
        let accept =
            "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";
        let response = http_client()
            .get(url)
            .header("accept", accept)
            .send()
            .await
            .unwrap();
        assert!(
            response.status().is_success(),
            "{repository}:{version}: {}",
            response.status()
        );
        let digest = response.headers()["docker-content-digest"]
            .to_str()
            .unwrap()
            .to_owned();
        (
            serde_json::from_slice(&response.bytes().await.unwrap()).unwrap(),
            digest,
        )
    }

    /// Makes a tag name the manifest of another tag or digest, like a user who moves a tag.
    pub(crate) async fn move_tag(&self, repository: &str, tag: &str, to: &str) {
        let (manifest, _) = self.manifest(repository, to).await;
        let kind = manifest["mediaType"]
            .as_str()
            .unwrap_or("application/vnd.oci.image.manifest.v1+json");
        let source = format!("http://{}/v2/{repository}/manifests/{to}", self.address);
        let bytes = http_client()
            .get(source)
            .header("accept", kind)
            .send()
            .await
            .unwrap();
        let bytes = bytes.bytes().await.unwrap();
        let url = format!("http://{}/v2/{repository}/manifests/{tag}", self.address);
        let response = http_client()
            .put(url)
            .header("content-type", kind)
            .body(bytes)
            .send()
            .await
            .unwrap();
        assert!(response.status().is_success(), "{}", response.status());
    }
}

/// A configuration file in YAML, of which JSON is a part.
fn configuration(folder: &Path, access: Access) -> Value {
    let mut config = json!({
        "version": "0.1",
        "log": { "level": "info", "accesslog": { "disabled": true } },
        "storage": { "filesystem": { "rootdirectory": folder.join("data") }, "delete": { "enabled": true } },
        // Locations of uploads are relative, so that a proxy can stand before it.
        "http": { "addr": "127.0.0.1:0", "relativeurls": true, "secret": "of a test" },
    });
    match access {
        Access::Open => {}
        Access::Password => {
            let path = folder.join("htpasswd");
            config["auth"] = json!({ "htpasswd": { "realm": "larder test", "path": path } });
        }
        Access::Tls => config["http"]["tls"] = tls(),
        Access::TokensAt(address) => {
            config["http"]["tls"] = tls();
            let realm = format!("http://{address}/token");
            let bundle = tls_file("ca-for-tests.pem");
            let names = json!({ "realm": realm, "service": "test", "issuer": "test", "rootcertbundle": bundle });
            config["auth"] = json!({ "token": names });
        }
    }
    config
}

fn tls() -> Value {
    json!({ "certificate": tls_file("cert-for-tests.pem"), "key": tls_file("key-for-tests.pem") })
}

/// The certificate of the authority that issued the certificate of a registry with `Access::Tls`.
pub(crate) fn authority() -> PathBuf {
    tls_file("ca-for-tests.pem")
}

fn tls_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/integration/registries/registry/tls")
        .join(name)
}

/// A command of `wkg` in this folder, or a line that says why the test is skipped.
#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
pub(crate) fn wkg(folder: &Path) -> Option<Command> {
    let Some(program) = std::env::var_os(WKG) else {
        eprintln!("skipped: wkg is not built: run `cargo xtask test wkg`");
        return None;
    };
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env_clear()
        .env("HOME", path_arg(folder));
    command.env("WKG_CACHE_DIR", folder.join("wkg-cache"));
    Some(command)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
fn skip(reason: &str) {
    assert!(std::env::var_os(REQUIRED).is_none(), "{reason}");
    eprintln!("skipped: {reason}");
}
