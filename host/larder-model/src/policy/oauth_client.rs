//! A client of an authorization server, which gets access tokens with its own credential (the grant `client_credentials`
//! of OAuth).

use std::fmt;

use super::quoted::quoted;

/// A client of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthClient {
    /// Where the client gets its tokens.
    pub server: TokenServer,
    /// The id of the client at the server.
    pub client_id: String,
    /// What the secret of the client is.
    pub authentication: ClientAuthentication,
    /// The scopes to request; none for the default of the server.
    pub scopes: Vec<String>,
    /// The parameter `audience` of the request, which some servers need.
    pub audience: Option<String>,
    /// The parameter `resource` of the request (RFC 8707).
    pub resource: Option<String>,
}

/// Where a client gets its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenServer {
    /// The metadata of this issuer (RFC 8414) contains the URL.
    Issuer(String),
    /// This URL.
    Endpoint(String),
}

/// How a client authenticates itself at the authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// The secret is a password (`client_secret_basic`).
    Secret,
    /// The secret is a private key (`private_key_jwt`).
    PrivateKey {
        /// The id of the key at the server.
        key_id: Option<String>,
    },
    /// The secret is a token that another system has issued, such as a service account token of Kubernetes.
    Assertion,
}

impl TokenServer {
    /// The URL in the configuration.
    pub fn url(&self) -> &str {
        match self {
            Self::Issuer(url) | Self::Endpoint(url) => url,
        }
    }
}

impl fmt::Display for OauthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match &self.authentication {
            ClientAuthentication::Secret => "client_secret",
            ClientAuthentication::PrivateKey { .. } => "private_key",
            ClientAuthentication::Assertion => "assertion",
        };
        let url = quoted(self.server.url());
        let id = quoted(&self.client_id);
        write!(f, "client_credentials of {url} as {id} by {method}")?;
        if !self.scopes.is_empty() {
            write!(f, " for {}", quoted(&self.scopes.join(" ")))?;
        }
        for target in self.audience.iter().chain(&self.resource) {
            write!(f, " at {}", quoted(target))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_decides_about_the_tokens() {
        let client = OauthClient {
            server: TokenServer::Issuer("https://id.example".into()),
            client_id: "larder".into(),
            authentication: ClientAuthentication::Secret,
            scopes: vec!["read".into(), "list".into()],
            audience: None,
            resource: Some("https://api.example".into()),
        };
        assert_eq!(
            client.to_string(),
            "client_credentials of https://id.example as larder by client_secret for \"read list\" at https://api.example"
        );
    }
}
