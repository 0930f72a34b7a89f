//! A client of an authorization server: `{ client_credentials = { issuer = "…", client_id = "…", … } }`.

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
    let server = server(raw.issuer, raw.token_endpoint)?;
    if raw.client_id.is_empty() || raw.client_id.contains(char::is_control) {
        return Err("`client_id` is empty, or contains a control character".into());
    }
    let is_scope = |scope: &String| {
        let mut bytes = scope.bytes();
        !scope.is_empty() && bytes.all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
    };
    if let Some(scope) = raw.scopes.iter().find(|scope| !is_scope(scope)) {
        return Err(format!(
            "{scope:?} is not a scope: write one scope per text"
        ));
    }
    let secrets = [&raw.client_secret, &raw.private_key, &raw.assertion];
    if secrets.into_iter().flatten().count() != 1 {
        return Err(
            "write one of `client_secret`, `private_key` and `assertion`, with the name of a secret"
                .into(),
        );
    }
    if raw.key_id.is_some() && raw.private_key.is_none() {
        return Err("`key_id` has no effect without `private_key`: remove it".into());
    }
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

fn server(issuer: Option<String>, endpoint: Option<String>) -> Result<TokenServer, String> {
    match (issuer, endpoint) {
        (Some(issuer), None) => {
            check_url("issuer", &issuer)?;
            if issuer.contains('?') {
                return Err("`issuer` has no query".into());
            }
            Ok(TokenServer::Issuer(issuer))
        }
        (None, Some(endpoint)) => {
            check_url("token_endpoint", &endpoint)?;
            Ok(TokenServer::Endpoint(endpoint))
        }
        _ => Err("write either `issuer` or `token_endpoint`".into()),
    }
}

fn check_url(name: &str, text: &str) -> Result<(), String> {
    let url = text.parse::<http::Uri>().ok();
    let is_valid = url.is_some_and(|url| {
        let is_http = matches!(url.scheme_str(), Some("https" | "http"));
        let has_user = url.authority().is_none_or(|it| it.as_str().contains('@'));
        is_http && !has_user && !text.contains('#')
    });
    if is_valid {
        return Ok(());
    }
    Err(format!(
        "`{name}` is not a URL such as \"https://id.example.com\", without a user and a fragment"
    ))
}
