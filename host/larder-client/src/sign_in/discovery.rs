//! Where to sign in: the metadata of the MCP server (RFC 9728), then the metadata of its authorization server (RFC 8414,
//! OpenID Connect Discovery), in the order that MCP defines.

use larder_http::{metadata_urls, well_known};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::{Position, Url};

use super::challenge::BearerChallenge;
use super::error::{SignInError, shown};
use super::oauth_http::OauthHttp;

/// What an MCP server says about its tokens.
#[derive(Debug, Deserialize)]
pub(super) struct ResourceMetadata {
    /// The audience of the tokens.
    pub(super) resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
}

/// What an authorization server says about itself.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ServerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) device_authorization_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Vec<String>,
    /// The default is the value that RFC 8414 defines.
    #[serde(default = "default_auth_methods")]
    pub(super) token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
}

fn default_auth_methods() -> Vec<String> {
    vec!["client_secret_basic".into()]
}

impl ResourceMetadata {
    /// Fetches the metadata of an MCP server, from the URL in its challenge or from the well-known URLs.
    pub(super) async fn fetch(
        http: &OauthHttp,
        server: &Url,
        challenge: &BearerChallenge,
    ) -> Result<Self, SignInError> {
        let candidates = match &challenge.resource_metadata {
            Some(url) => vec![url.clone()],
            None => resource_metadata_urls(server),
        };
        let mut failures = Vec::new();
        for url in candidates {
            if let Some(metadata) = get_if_exists::<Self>(http, &url, &mut failures).await? {
                return metadata.for_server(&url, server);
            }
        }
        Err(SignInError::Discovery(format!(
            "{server} does not say where to sign in ({}): ask its operator for a token, and give it with LARDER_TOKEN",
            failures.join("; ")
        )))
    }

    fn for_server(self, url: &str, server: &Url) -> Result<Self, SignInError> {
        if Url::parse(&self.resource).is_ok_and(|resource| is_same_or_above(&resource, server)) {
            return Ok(self);
        }
        Err(SignInError::Discovery(format!(
            "{} is the metadata of `{}` instead of {server}: a token for it must not be sent to this server",
            shown(url),
            shown(&self.resource)
        )))
    }

    /// Returns the authorization server to use: the wanted one, or the first.
    pub(super) fn issuer(&self, wanted: Option<&str>) -> Result<&str, SignInError> {
        let mut servers = self.authorization_servers.iter();
        let found = servers.find(|issuer| wanted.is_none_or(|wanted| wanted == *issuer));
        found.map(String::as_str).ok_or_else(|| {
            SignInError::Discovery(format!(
                "the server does not accept tokens of `{}`, only of these: {}",
                wanted.unwrap_or("any authorization server"),
                shown(&self.authorization_servers.join(", "))
            ))
        })
    }
}

impl ServerMetadata {
    /// Fetches the metadata of an authorization server.
    pub(super) async fn fetch(http: &OauthHttp, issuer: &str) -> Result<Self, SignInError> {
        let base = http.policy.parse(issuer)?;
        let mut failures = Vec::new();
        for url in metadata_urls(&base[..Position::AfterPath]) {
            let Some(metadata) = get_if_exists::<Self>(http, &url, &mut failures).await? else {
                continue;
            };
            // Otherwise another authorization server could pretend to be this one.
            if metadata.issuer != issuer {
                return Err(SignInError::Discovery(format!(
                    "{url} is the metadata of the authorization server `{}` instead of `{}`",
                    shown(&metadata.issuer),
                    shown(issuer)
                )));
            }
            return Ok(metadata);
        }
        Err(SignInError::Discovery(format!(
            "the authorization server `{}` has no metadata ({})",
            shown(issuer),
            failures.join("; ")
        )))
    }

    /// Whether the authorization server supports the method `S256` of PKCE.
    pub(super) fn supports_pkce(&self) -> bool {
        let mut methods = self.code_challenge_methods_supported.iter();
        methods.any(|method| method == "S256")
    }

    pub(super) fn unsupported(&self, problem: &str) -> SignInError {
        let issuer = shown(&self.issuer);
        SignInError::Discovery(format!("the authorization server `{issuer}` {problem}"))
    }
}

/// Fetches a document. An error status means that the document is elsewhere.
async fn get_if_exists<T: DeserializeOwned>(
    http: &OauthHttp,
    url: &str,
    failures: &mut Vec<String>,
) -> Result<Option<T>, SignInError> {
    match http.get(url).await {
        Ok(document) => Ok(Some(document)),
        Err(error @ SignInError::Status { .. }) => {
            failures.push(error.to_string());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn resource_metadata_urls(server: &Url) -> Vec<String> {
    let name = "oauth-protected-resource";
    let origin = server.origin().ascii_serialization();
    let mut urls = vec![
        well_known(&format!("{origin}{}", server.path()), name),
        well_known(&origin, name),
    ];
    urls.dedup();
    urls
}

/// Whether a resource is the server itself, or contains the path of the server.
fn is_same_or_above(resource: &Url, server: &Url) -> bool {
    let above = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(above);
    resource.origin() == server.origin()
        && resource.fragment().is_none()
        && (resource.query().is_none() || resource.query() == server.query())
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn tries_the_urls_in_the_order_of_the_specification() {
        assert_eq!(
            resource_metadata_urls(&url("https://a.example/public/mcp")),
            [
                "https://a.example/.well-known/oauth-protected-resource/public/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            resource_metadata_urls(&url("https://a.example")),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
    }

    #[test]
    fn a_resource_is_the_server_or_contains_it() {
        let server = url("https://a.example/docs/mcp");
        for (resource, expected) in [
            ("https://a.example/docs/mcp", true),
            ("https://A.example:443/docs/mcp", true),
            ("https://a.example/docs/", true),
            ("https://a.example", true),
            ("https://a.example/doc", false),
            ("https://a.example/docs/mcp/x", false),
            ("https://a.example/docs/mcp?x", false),
            ("https://a.example/docs/mcp#x", false),
            ("http://a.example/docs/mcp", false),
            ("https://a.example:444/docs/mcp", false),
            ("https://b.example/docs/mcp", false),
        ] {
            assert_eq!(
                is_same_or_above(&url(resource), &server),
                expected,
                "{resource}"
            );
        }
    }
}
