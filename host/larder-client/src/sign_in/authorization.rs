//! One authorization: from the challenge of a server to its tokens.

use url::Url;

use super::SignIn;
use super::challenge::BearerChallenge;
use super::discovery::{ResourceMetadata, ServerMetadata};
use super::error::SignInError;
use super::oauth_client::OauthClient;
use super::oauth_http::OauthHttp;
use super::redirect::{RedirectListener, listener_error};
use super::token_grant::TokenGrant;
use super::token_request::{TokenEndpoint, Tokens};
use super::token_store::SignInRecord;
use super::user_prompt::UserPrompt;

const OFFLINE_ACCESS: &str = "offline_access";

/// What an authorization needs to know.
pub(super) struct Authorization<'a> {
    pub(super) sign_in: &'a SignIn,
    pub(super) prompt: &'a UserPrompt,
    pub(super) http: &'a OauthHttp,
    pub(super) server: &'a Url,
    pub(super) challenge: &'a BearerChallenge,
    /// The client of an earlier authorization.
    pub(super) previous_client: Option<&'a OauthClient>,
    /// The scopes of the token that the server refused.
    pub(super) previous_scopes: &'a [String],
}

/// What the servers say about themselves, and what is requested.
struct Request {
    resource: String,
    server: ServerMetadata,
    scopes: Vec<String>,
}

impl Authorization<'_> {
    /// Lets the user sign in.
    pub(super) async fn run(&self) -> Result<SignInRecord, SignInError> {
        let request = self.discover().await?;
        let redirect = if self.sign_in.with_device_code {
            None
        } else {
            Some(self.listen().await?)
        };
        let client = self.client(&request, redirect.as_ref()).await?;
        let grant = TokenGrant {
            server: &request.server,
            endpoint: TokenEndpoint {
                http: self.http,
                url: &request.server.token_endpoint,
                client: &client,
            },
            resource: &request.resource,
            scopes: &request.scopes,
        };
        let tokens = match redirect {
            Some(redirect) => grant.with_browser(redirect, self.prompt).await?,
            None => grant.with_device_code(self.prompt).await?,
        };
        Ok(record(self.server, request, client, tokens))
    }

    async fn discover(&self) -> Result<Request, SignInError> {
        let resource = ResourceMetadata::fetch(self.http, self.server, self.challenge).await?;
        let issuer = resource.issuer(self.sign_in.issuer.as_deref())?;
        let server = ServerMetadata::fetch(self.http, issuer).await?;
        let scopes = self.scopes(&resource, &server);
        Ok(Request {
            resource: resource.resource,
            server,
            scopes,
        })
    }

    /// Selects the scopes in the order that MCP defines: the scopes of the challenge, or else all scopes of the server.
    /// The scopes of an earlier token stay.
    fn scopes(&self, resource: &ResourceMetadata, server: &ServerMetadata) -> Vec<String> {
        let of_server = match self.challenge.scopes.as_slice() {
            [] => &resource.scopes_supported,
            scopes => scopes,
        };
        let all = [self.previous_scopes, of_server, &self.sign_in.scopes].concat();
        let mut scopes = without_duplicates(all);
        // A request without scopes means the default scopes. One with only this scope would not.
        let offline = server
            .scopes_supported
            .iter()
            .find(|one| *one == OFFLINE_ACCESS);
        if let Some(offline) = offline.filter(|one| !scopes.is_empty() && !scopes.contains(one)) {
            scopes.push(offline.clone());
        }
        scopes
    }

    /// Listens on the port of the user, or on the port of an earlier registration, or on any free port.
    async fn listen(&self) -> Result<RedirectListener, SignInError> {
        let earlier = self
            .previous_client
            .and_then(|client| client.registered_port);
        let ports = match self.sign_in.redirect_port {
            Some(port) => vec![port],
            None => earlier.into_iter().chain([0]).collect(),
        };
        RedirectListener::bind(&ports).await.map_err(listener_error)
    }

    async fn client(
        &self,
        request: &Request,
        redirect: Option<&RedirectListener>,
    ) -> Result<OauthClient, SignInError> {
        let identity = &self.sign_in.identity;
        let previous = self.previous_client;
        OauthClient::choose(self.http, &request.server, identity, previous, redirect).await
    }
}

fn without_duplicates(all: Vec<String>) -> Vec<String> {
    let mut scopes = Vec::new();
    for scope in all {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes
}

fn record(server: &Url, request: Request, client: OauthClient, tokens: Tokens) -> SignInRecord {
    SignInRecord {
        server: server.to_string(),
        resource: request.resource,
        token_endpoint: request.server.token_endpoint,
        revocation_endpoint: request.server.revocation_endpoint,
        client,
        scopes: request.scopes,
        access_token: tokens.access_token,
        refresh_token: tokens.refresh_token,
        renew_at: tokens.renew_at,
    }
}
