//! To which server a client command connects, and with which token. Both come from the options, from the configuration
//! file, from the environment, or from the default, in this order. `-v` prints both.

use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CommandError;
use super::{out, sign_in};
use larder_client::{Client, ClientBuilder};
use larder_config::{self as config, ClientConfig, ConfiguredAddress};

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerArgs {
    /// The file with the certificates (PEM) to trust besides those of the system
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The configuration file with the address of the server [default: larder.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Send the token to another machine even over plain HTTP, where anyone on the way can read it
    #[arg(long)]
    insecure: bool,
    /// Print to stderr which address and token are used, and where they come from
    #[arg(long, short)]
    verbose: bool,
}

/// The token options of a command.
pub(super) struct GivenToken {
    pub(super) token: Option<String>,
    pub(super) file: Option<PathBuf>,
}

/// An address in the configuration file: the address, the file with the token, and the key of that file.
type InFile<'a> = (
    &'a Option<ConfiguredAddress>,
    &'a Option<PathBuf>,
    &'static str,
);

/// One of the two addresses of a server.
pub(super) struct AddressKind {
    default: &'static str,
    url_variable: &'static str,
    token_variable: &'static str,
    in_file: fn(&ClientConfig) -> InFile<'_>,
}

/// The endpoint, for MCP.
pub(super) const ENDPOINT: AddressKind = AddressKind {
    default: "http://127.0.0.1:7878/mcp",
    url_variable: "LARDER_URL",
    token_variable: "LARDER_TOKEN",
    in_file: |client| (&client.url, &client.token_file, "client.token_file"),
};

/// The admin address.
pub(super) const ADMIN: AddressKind = AddressKind {
    default: "http://127.0.0.1:7879",
    url_variable: "LARDER_ADMIN_URL",
    token_variable: "LARDER_ADMIN_TOKEN",
    in_file: |client| {
        (
            &client.admin,
            &client.admin_token_file,
            "client.admin_token_file",
        )
    },
};

/// A URL, and how to connect to that URL.
pub(super) struct ServerAddress {
    pub(super) url: String,
    /// Where the URL comes from, such as "the command line".
    pub(super) source: String,
    pub(super) builder: ClientBuilder,
}

/// A value, and its source.
type SourcedValue<T> = (T, String);

impl ServerArgs {
    /// The address in a configuration file.
    pub(super) fn of_config(config: Option<PathBuf>) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Determines the address. `url` is the option of the command.
    pub(super) fn resolve(
        self,
        kind: &AddressKind,
        url: Option<String>,
        token: GivenToken,
    ) -> Result<ServerAddress, CommandError> {
        // The file in the working directory describes another server than `--url`.
        let client = match (&url, &self.config) {
            (Some(_), None) => ClientConfig::default(),
            (_, config) => config::load_client(config.as_deref())?,
        };
        let (configured, token_file, token_key) = (kind.in_file)(&client);
        let file = client.file.as_deref().unwrap_or(Path::new(""));
        let (url, url_source) = address(kind, url, configured.as_ref(), file);
        // A token in the file is for the server of the file.
        let is_of_file = self.config.is_some() || !url_source.starts_with(kind.url_variable);
        let token_file = token_file.as_deref().filter(|_| is_of_file);
        let token = find_token(
            kind,
            token,
            token_file.map(|path| (path, format!("{token_key} in {}", file.display()))),
        )?;
        let ca = self.ca.clone().or(client.ca_file.filter(|_| is_of_file));
        if self.verbose {
            let without = if is_signed_in(kind, &url) {
                "from `larder login`"
            } else {
                "no token"
            };
            let token = token
                .as_ref()
                .map_or(without, |(_, source)| source.as_str());
            out::note(&format!(
                "larder: server {url} (from {url_source}); token: {token}"
            ));
        }
        let mut builder = Self { ca, ..self }.builder()?;
        if let Some((token, _)) = token {
            builder = builder.token(token);
        }
        Ok(ServerAddress {
            url,
            source: url_source,
            builder,
        })
    }

    /// Returns how to connect, without a token.
    pub(super) fn builder(self) -> Result<ClientBuilder, CommandError> {
        let mut builder = Client::builder();
        if self.insecure {
            builder = builder.insecure();
        }
        if let Some(path) = self.ca {
            builder = builder.ca(std::fs::read(&path).map_err(CommandError::input(&path))?);
        }
        Ok(builder)
    }
}

/// Whether tokens of a sign-in are stored for this address.
fn is_signed_in(kind: &AddressKind, url: &str) -> bool {
    let is_endpoint = kind.token_variable == ENDPOINT.token_variable;
    is_endpoint && sign_in::stored().is_some_and(|sign_in| sign_in.store.contains(url))
}

fn address(
    kind: &AddressKind,
    option: Option<String>,
    configured: Option<&ConfiguredAddress>,
    file: &Path,
) -> SourcedValue<String> {
    if let Some(url) = option {
        return (url, "the command line".into());
    }
    if let Some(ConfiguredAddress { url, key }) = configured {
        return (url.clone(), format!("{key} in {}", file.display()));
    }
    match config::env_url(kind.url_variable) {
        Some(url) => (url, kind.url_variable.into()),
        None => (kind.default.into(), "the default".into()),
    }
}

fn find_token(
    kind: &AddressKind,
    given: GivenToken,
    configured: Option<SourcedValue<&Path>>,
) -> Result<Option<SourcedValue<String>>, CommandError> {
    if let Some(token) = given.token {
        return Ok(Some((token, "from the command line".into())));
    }
    if let Some(path) = given.file {
        return Ok(Some((
            read_token(&path)?,
            format!("from {}", path.display()),
        )));
    }
    if let Some((path, source)) = configured {
        return Ok(Some((read_token(path)?, format!("from {source}"))));
    }
    Ok(config::env_token(kind.token_variable)
        .map(|token| (token, format!("from {}", kind.token_variable))))
}

/// Reads a token file. Rejects an empty file: the token would not be sent, and the server's error would not name the
/// cause.
pub(super) fn read_token(path: &Path) -> Result<String, CommandError> {
    let text = std::fs::read_to_string(path).map_err(CommandError::input(path))?;
    match text.trim() {
        "" => Err(CommandError::NoToken(path.to_owned())),
        token => Ok(token.to_owned()),
    }
}
