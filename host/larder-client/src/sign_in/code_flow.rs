//! The authorization code flow with PKCE, in a browser.

use std::time::Duration;

use url::{Url, form_urlencoded};

use super::discovery::ServerMetadata;
use super::error::SignInError;
use super::random::{pkce_challenge, random_text};
use super::redirect::{RedirectListener, listener_error};
use super::token_grant::TokenGrant;
use super::token_request::Tokens;
use super::user_prompt::{UserAction, UserPrompt};

/// How long the user has to sign in.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The scope of refresh tokens. OpenID Connect issues them only after the consent of the user.
const OFFLINE_ACCESS: &str = "offline_access";

/// The values of one authorization request that its answer must match.
struct RequestSecrets {
    state: String,
    verifier: String,
}

impl RequestSecrets {
    fn random() -> Result<Self, SignInError> {
        Ok(Self {
            state: random_text()?,
            verifier: random_text()?,
        })
    }
}

impl TokenGrant<'_> {
    /// Lets the user sign in in a browser on this machine.
    pub(super) async fn with_browser(
        &self,
        redirect: RedirectListener,
        prompt: &UserPrompt,
    ) -> Result<Tokens, SignInError> {
        let secrets = RequestSecrets::random()?;
        let redirect_uri = redirect.uri();
        let url = self.authorization_url(&redirect_uri, &secrets)?;
        prompt(UserAction::OpenUrl(url.as_str()));
        let query = tokio::time::timeout(TIMEOUT, redirect.query())
            .await
            .map_err(|_| SignInError::Timeout)?
            .map_err(listener_error)?;
        let code = authorization_code(&query, self.server, &secrets.state)?;
        let parameters = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", redirect_uri.as_str()),
            ("code_verifier", secrets.verifier.as_str()),
            ("resource", self.resource),
        ];
        self.endpoint.request("the code", &parameters).await
    }

    fn authorization_url(
        &self,
        redirect_uri: &str,
        secrets: &RequestSecrets,
    ) -> Result<Url, SignInError> {
        let Some(endpoint) = &self.server.authorization_endpoint else {
            return Err(self
                .server
                .unsupported("has no page to sign in: use `larder login --device`"));
        };
        if !self.server.supports_pkce() {
            return Err(self
                .server
                .unsupported("does not support PKCE with S256, which MCP requires"));
        }
        let mut url = self.endpoint.http.policy.parse(endpoint)?;
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", self.endpoint.client.id())
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("state", &secrets.state)
            .append_pair("code_challenge", &pkce_challenge(&secrets.verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", self.resource);
        if !self.scopes.is_empty() {
            query.append_pair("scope", &self.scopes.join(" "));
        }
        if self.scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
            query.append_pair("prompt", "consent");
        }
        drop(query);
        Ok(url)
    }
}

/// Returns the code in the answer of an authorization server. Nothing in the answer is used, not even its error, before
/// it is known to come from this authorization server (RFC 9207).
fn authorization_code(
    query: &str,
    server: &ServerMetadata,
    state: &str,
) -> Result<String, SignInError> {
    let value = |name: &str| query_value(query, name);
    if value("state").as_deref() != Some(state) {
        let reason =
            "its `state` is not the one of this sign-in, so somebody else may have sent it";
        return Err(SignInError::Redirect(reason));
    }
    match value("iss") {
        Some(issuer) if issuer != server.issuer => {
            let reason = "it comes from another authorization server than the request went to";
            return Err(SignInError::Redirect(reason));
        }
        None if server.authorization_response_iss_parameter_supported => {
            let reason = "it does not name the authorization server (`iss`), which promised that";
            return Err(SignInError::Redirect(reason));
        }
        Some(_) | None => {}
    }
    if let Some(code) = value("error") {
        return Err(SignInError::Refusal {
            request: "the sign-in",
            code,
            description: value("error_description"),
        });
    }
    value("code").ok_or(SignInError::Redirect("it contains no code"))
}

fn query_value(query: &str, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let (_, value) = pairs.find(|(key, _)| key == name)?;
    Some(value.into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(names_itself: bool) -> ServerMetadata {
        serde_json::from_value(json!({
            "issuer": "https://as.example",
            "token_endpoint": "https://as.example/token",
            "authorization_response_iss_parameter_supported": names_itself,
        }))
        .unwrap()
    }

    fn check(query: &str, names_itself: bool, expected: Result<&str, &str>) {
        let code = authorization_code(query, &server(names_itself), "s");
        let code = code.map_err(|error| error.to_string());
        match expected {
            Ok(expected) => assert_eq!(code.as_deref(), Ok(expected), "{query}"),
            Err(expected) => {
                let error = code.unwrap_err();
                assert!(error.contains(expected), "{query}: {error}");
            }
        }
    }

    #[test]
    fn returns_the_code_of_this_request() {
        check("code=c&state=s", false, Ok("c"));
        check(
            "code=a%2Bb&state=s&iss=https://as.example",
            false,
            Ok("a+b"),
        );
        check("code=c&state=s&iss=https%3A%2F%2Fas.example", true, Ok("c"));
        check("state=s", false, Err("contains no code"));
    }

    #[test]
    fn rejects_answers_to_other_requests_and_from_other_servers() {
        for query in [
            "code=c",
            "code=c&state=",
            "code=c&state=S",
            "error=x&state=t",
        ] {
            check(query, false, Err("`state` is not the one"));
        }
        check(
            "code=c&state=s",
            true,
            Err("does not name the authorization server"),
        );
        for issuer in [
            "https://evil.example",
            "https://as.example/",
            "https://AS.example",
            "",
        ] {
            let query = format!("code=c&state=s&iss={issuer}");
            check(&query, true, Err("another authorization server"));
            check(&query, false, Err("another authorization server"));
        }
    }

    #[test]
    fn shows_an_error_only_if_it_is_from_this_server() {
        let refused = "error=access_denied&error_description=No+way%1b[2J&state=s";
        check(
            refused,
            false,
            Err(r"refused the sign-in: No way\u{1b}[2J (access_denied)"),
        );
        let other = format!("{refused}&iss=https://evil.example");
        let error = authorization_code(&other, &server(false), "s").unwrap_err();
        assert!(!error.to_string().contains("No way"), "{error}");
    }
}
