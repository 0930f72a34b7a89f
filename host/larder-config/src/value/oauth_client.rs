//! A client of an authorization server: `{ client_credentials = { issuer = "…", client_id = "…", … } }`.

use http::Uri;
use serde::Deserialize;

use larder_model::policy::{ClientAuthentication, OauthClient, TokenServer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientCredentials {
    issuer: Option<String>,
    token_endpoint: Option<String>,
    client_id: String,
    /// The name of the secret, like the next two.
    client_secret: Option<String>,
    private_key: Option<String>,
    assertion: Option<String>,
    key_id: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    audience: Option<String>,
    resource: Option<String>,
}

/// Returns the name of the secret, and the client that it belongs to.
pub(super) fn parse(raw: ClientCredentials) -> Result<(String, OauthClient), String> {
    let server = raw.server()?;
    if raw.client_id.is_empty() || raw.client_id.contains(char::is_control) {
        return Err("`client_id` is empty, or contains a control character".into());
    }
    raw.check_scopes()?;
    let secrets = [&raw.client_secret, &raw.private_key, &raw.assertion];
    if secrets.into_iter().flatten().count() != 1 {
        return Err(
            "write one of `client_secret`, `private_key` and `assertion`, with the name of a secret"
                .into(),
        );
    }
    raw.check_key_id()?;
    let (secret, authentication) = match (raw.client_secret, raw.private_key) {
        (Some(secret), _) => (Some(secret), ClientAuthentication::Secret),
        (None, Some(key)) => {
            let key_id = raw.key_id;
            (Some(key), ClientAuthentication::PrivateKey { key_id })
        }
        (None, None) => (raw.assertion, ClientAuthentication::Assertion),
    };
    let client = OauthClient {
        server,
        client_id: raw.client_id,
        authentication,
        scopes: raw.scopes,
        audience: raw.audience,
        resource: raw.resource,
    };
    Ok((secret.unwrap_or_default(), client))
}

impl ClientCredentials {
    fn server(&self) -> Result<TokenServer, String> {
        match (&self.issuer, &self.token_endpoint) {
            (Some(issuer), None) => parse_issuer(issuer),
            (None, Some(endpoint)) => parse_endpoint(endpoint),
            _ => Err("write either `issuer` or `token_endpoint`".into()),
        }
    }

    fn check_scopes(&self) -> Result<(), String> {
        match self.scopes.iter().find(|text| !is_scope(text)) {
            Some(scope) => Err(format!(
                "{scope:?} is not a scope: write one scope per text"
            )),
            None => Ok(()),
        }
    }

    fn check_key_id(&self) -> Result<(), String> {
        if self.key_id.is_some() && self.private_key.is_none() {
            return Err("`key_id` has no effect without `private_key`: remove it".into());
        }
        Ok(())
    }
}

fn parse_issuer(url: &str) -> Result<TokenServer, String> {
    check_url("issuer", url)?;
    if url.contains('?') {
        return Err("`issuer` has no query".into());
    }
    Ok(TokenServer::Issuer(url.to_owned()))
}

fn parse_endpoint(url: &str) -> Result<TokenServer, String> {
    check_url("token_endpoint", url)?;
    Ok(TokenServer::Endpoint(url.to_owned()))
}

fn check_url(name: &str, text: &str) -> Result<(), String> {
    if is_url(text) {
        return Ok(());
    }
    Err(format!(
        "`{name}` is not a URL such as \"https://id.example.com\", without a user and a fragment"
    ))
}

fn is_url(text: &str) -> bool {
    text.parse()
        .is_ok_and(|url| is_http(&url) && !has_user(&url) && !text.contains('#'))
}

fn is_http(url: &Uri) -> bool {
    matches!(url.scheme_str(), Some("https" | "http"))
}

/// Whether the URL has a user, or no host.
fn has_user(url: &Uri) -> bool {
    url.authority()
        .is_none_or(|authority| authority.as_str().contains('@'))
}

/// Whether the text has only the characters that RFC 6749 allows. Scopes are sent in a header, separated by spaces and
/// inside quotes.
pub(crate) fn is_scope(text: &str) -> bool {
    let is_allowed = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    !text.is_empty() && text.bytes().all(is_allowed)
}
