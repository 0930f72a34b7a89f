//! To which address client commands connect, and with which token: `[client]`, or else the addresses on which the
//! server listens. Other parts of the file are not checked, because a client may not be allowed to read the server's
//! secrets and folders.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use http::Uri;
use toml::Spanned;

use super::error::require_no_errors;
use super::file::File;
use super::parser::{self, Source};
use super::value::{Listen, ServerUrl};
use super::{AdminAddress, ConfigError, DEFAULT_FILE, Diagnostic, Env, environment};
use larder_mcp::ListenAddress;

/// The part of the configuration file about connections to the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientConfig {
    /// The file. `None` if it does not exist.
    pub file: Option<PathBuf>,
    /// The URL of the endpoint.
    pub url: Option<ConfiguredAddress>,
    /// The URL of the admin address.
    pub admin: Option<ConfiguredAddress>,
    /// The file with the bearer token for the endpoint.
    pub token_file: Option<PathBuf>,
    /// The file with the token for the admin address.
    pub admin_token_file: Option<PathBuf>,
    /// The file with the certificates that are trusted in addition.
    pub ca_file: Option<PathBuf>,
}

/// An address, and the key that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredAddress {
    /// The URL.
    pub url: String,
    /// The key, such as `server.listen`.
    pub key: &'static str,
}

/// Loads the file that `--config` names, or else `larder.toml` in the working directory, if it exists.
///
/// The `larder.toml` may be in a folder from somebody else. Therefore it may name only addresses on this machine:
/// otherwise a command in that folder could send its token to any server.
pub fn load_client(config: Option<&Path>) -> Result<ClientConfig, ConfigError> {
    let path = config.unwrap_or(Path::new(DEFAULT_FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && config.is_none() => {
            return Ok(ClientConfig::default());
        }
        Err(error) => return Err(ConfigError::unreadable(path, error)),
    };
    let client = match config {
        Some(_) => parse(&text, path, &environment()),
        None => parse_default_file(&text, path),
    };
    client.map_err(|diagnostics| ConfigError::in_file(path, diagnostics))
}

fn parse_default_file(text: &str, path: &Path) -> Result<ClientConfig, Vec<Diagnostic>> {
    parse(text, path, &environment())?.on_this_machine()
}

/// The value of `LARDER_URL` or `LARDER_ADMIN_URL`. An empty value counts as unset.
pub fn env_url(name: &str) -> Option<String> {
    environment()
        .remove(name)
        .filter(|url| !url.trim().is_empty())
}

fn parse(text: &str, path: &Path, env: &Env) -> Result<ClientConfig, Vec<Diagnostic>> {
    let (file, _, mut diagnostics): (File, Source<'_>, _) = parser::parse(text, Some(env))?;
    diagnostics.retain(is_about_clients);
    require_no_errors(diagnostics)?;
    Ok(convert(file, path))
}

/// A diagnostic without a key concerns the whole file.
fn is_about_clients(diagnostic: &Diagnostic) -> bool {
    let key = diagnostic.key.as_str();
    [
        "",
        "client",
        "server",
        "server.listen",
        "admin",
        "admin.listen",
    ]
    .contains(&key)
        || key.starts_with("client.")
}

fn convert(file: File, path: &Path) -> ClientConfig {
    let folder = path.parent().unwrap_or(Path::new(""));
    let raw = file.client;
    let at = |key| move |url| ConfiguredAddress { url, key };
    let url = client_url(raw.url, folder).map(at("client.url"));
    let admin = client_url(raw.admin, folder).map(at("client.admin"));
    let endpoint = endpoint_url(file.server.listen, folder).map(at("server.listen"));
    let admin_listen = admin_url(file.admin.listen, folder).map(at("admin.listen"));
    ClientConfig {
        file: Some(path.to_owned()),
        url: url.or(endpoint),
        admin: admin.or(admin_listen),
        token_file: raw.token_file.map(|file| folder.join(file)),
        admin_token_file: raw.admin_token_file.map(|file| folder.join(file)),
        ca_file: raw.ca_file.map(|file| folder.join(file)),
    }
}

fn client_url(url: Option<ServerUrl>, folder: &Path) -> Option<String> {
    Some(absolute_socket(url?.0, folder))
}

fn endpoint_url(listen: Option<Spanned<Listen>>, folder: &Path) -> Option<String> {
    url_of(listen?.into_inner().0, "/mcp", folder)
}

fn admin_url(listen: Option<Spanned<AdminAddress>>, folder: &Path) -> Option<String> {
    url_of(listen?.into_inner().0?, "", folder)
}

/// Returns the URL of a path of the server that listens on this address.
fn url_of(listen: ListenAddress, path: &str, folder: &Path) -> Option<String> {
    match listen {
        ListenAddress::Tcp(address) => {
            reachable(address).map(|address| ListenAddress::Tcp(address).url(path))
        }
        ListenAddress::Unix { path, .. } => Some(socket_url(&folder.join(path))),
    }
}

/// Returns the address with which a client on this machine reaches a listener. `None` with port 0, because only the
/// running server knows its port.
fn reachable(listen: SocketAddr) -> Option<SocketAddr> {
    let ip = reachable_ip(listen.ip());
    (listen.port() != 0).then(|| SocketAddr::new(ip, listen.port()))
}

fn reachable_ip(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

fn absolute_socket(url: String, folder: &Path) -> String {
    match url.strip_prefix("unix:") {
        Some(path) => socket_url(&folder.join(path)),
        None => url,
    }
}

/// The path must be absolute in a URL.
fn socket_url(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    format!("unix:{}", path.display())
}

impl ClientConfig {
    fn on_this_machine(self) -> Result<Self, Vec<Diagnostic>> {
        let Some(ConfiguredAddress { url, key }) = self.remote_address() else {
            return Ok(self);
        };
        let message = format!(
            "{url} is not on this machine: to use an address from a file in the working directory, confirm it with `--config {DEFAULT_FILE}`, or use `--url` or LARDER_URL"
        );
        Err(vec![Diagnostic::without_line(*key, message)])
    }

    fn remote_address(&self) -> Option<&ConfiguredAddress> {
        [&self.url, &self.admin]
            .into_iter()
            .flatten()
            .find(|address| !is_local(&address.url))
    }
}

fn is_local(url: &str) -> bool {
    if url.starts_with("unix:") {
        return true;
    }
    let uri = url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host);
    is_local_host(host.unwrap_or_default())
}

fn is_local_host(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        // A bind succeeds only with an address of this machine.
        Ok(ip) => ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok(),
        Err(_) => host == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let shown = match parse(text, Path::new("/etc/larder/larder.toml"), &Env::new()) {
            Ok(client) => {
                let show = |address: Option<ConfiguredAddress>| {
                    address.map_or_else(
                        || "none".into(),
                        |address| format!("{} ({})", address.url, address.key),
                    )
                };
                format!("{}, {}", show(client.url), show(client.admin))
            }
            Err(diagnostics) => diagnostics
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("; "),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn derives_addresses_from_those_of_the_server() {
        check("", expect!["none, none"]);
        check(
            "server.listen = '127.0.0.1:80'\nadmin.listen = '127.0.0.1:81'",
            expect!["http://127.0.0.1:80/mcp (server.listen), http://127.0.0.1:81 (admin.listen)"],
        );
        check(
            "server.listen = '0.0.0.0:80'\nadmin.listen = '[::]:81'",
            expect!["http://127.0.0.1:80/mcp (server.listen), http://[::1]:81 (admin.listen)"],
        );
        check(
            "server.listen = '127.0.0.1:0'\nadmin.listen = 'off'",
            expect!["none, none"],
        );
        check(
            "server.listen = 'unix:run/larder.sock'",
            expect!["unix:/etc/larder/run/larder.sock (server.listen), none"],
        );
        check(
            "admin.listen = 'unix:run/admin.sock'",
            expect!["none, unix:/etc/larder/run/admin.sock (admin.listen)"],
        );
        check(
            "client.admin = 'unix:admin.sock'",
            expect!["none, unix:/etc/larder/admin.sock (client.admin)"],
        );
        check(
            "server.listen = '0.0.0.0:80'\nclient = { url = 'https://x.example/mcp', admin = 'http://x.example:1' }",
            expect!["https://x.example/mcp (client.url), http://x.example:1 (client.admin)"],
        );
    }

    #[test]
    fn reports_only_errors_that_concern_clients() {
        check(
            "plugins = 'nowhere'\nsecret.a = { env = '${UNSET}' }\ncolour = 1\nserver.page_size = 'x'",
            expect!["none, none"],
        );
        check(
            "client.url = 'x.example'\nclient.colour = 1",
            expect![
                "client.url: `x.example` is not the URL of a server: write one such as \"http://127.0.0.1:7878/mcp\"; client.colour: unknown field `colour`, expected one of `url`, `admin`, `token_file`, `admin_token_file`, `ca_file`"
            ],
        );
        check(
            "server.listen = 7",
            expect![
                "server.listen: `7` is not an address: write an IP address and a port, such as \"127.0.0.1:7878\", or a Unix socket, such as \"unix:/run/larder.sock\""
            ],
        );
    }

    #[test]
    fn recognizes_addresses_of_this_machine() {
        for local in [
            "http://127.0.0.1:1/mcp",
            "http://localhost/mcp",
            "http://[::1]:1/mcp",
            "unix:/run/larder.sock",
        ] {
            assert!(is_local(local), "{local}");
        }
        for remote in [
            "https://docs.example.com/mcp",
            "http://192.0.2.1:1/mcp",
            "http://localhost.example.com/",
            "x",
        ] {
            assert!(!is_local(remote), "{remote}");
        }
    }
}
