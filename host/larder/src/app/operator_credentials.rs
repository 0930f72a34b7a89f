//! Lets the admin address use the credentials of the MCP endpoint.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use larder_admin::{CatalogJson, EndpointCredentials, IssuedToken, TokenError};
use larder_config::Config;
use larder_mcp::auth::{self, Authenticator, IssuedTokenError};
use larder_mcp::{ListenAddress, catalog_json};
use larder_model::resource::Caller;

/// Renders the catalog as MCP clients receive it.
pub(super) const CATALOG_JSON: CatalogJson = CatalogJson {
    entry: catalog_json::entry,
    template: catalog_json::template,
    tool: catalog_json::tool,
    prompt: catalog_json::prompt,
};

/// The credentials of the endpoint.
struct Credentials {
    authenticator: Authenticator,
    /// Whether each process on this machine can connect to the endpoint.
    is_over_tcp: bool,
}

/// A token of the issuer.
struct Token(auth::IssuedToken);

/// Returns the credentials of the endpoint that the admin address also accepts.
pub(super) fn operator_credentials(
    config: &Config,
    authenticator: &Authenticator,
) -> Arc<dyn EndpointCredentials> {
    Arc::new(Credentials {
        authenticator: authenticator.clone(),
        is_over_tcp: is_over_tcp(config),
    })
}

fn is_over_tcp(config: &Config) -> bool {
    let is_tcp = matches!(config.endpoint.listen, ListenAddress::Tcp(_));
    is_tcp && !config.is_over_stdio
}

impl EndpointCredentials for Credentials {
    fn verify<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn IssuedToken>, TokenError>> {
        async move {
            match self.authenticator.verify_issued(token).await {
                Ok(token) => Ok(Box::new(Token(token)) as Box<dyn IssuedToken>),
                Err(IssuedTokenError::NoIssuer) => Err(TokenError::Invalid(
                    "no issuer is configured (`auth.oauth`)".into(),
                )),
                Err(IssuedTokenError::Invalid(why)) => Err(TokenError::Invalid(why)),
                Err(IssuedTokenError::Unavailable(why)) => Err(TokenError::Unavailable(why)),
            }
        }
        .boxed()
    }

    fn anonymous_caller(&self) -> Option<Caller> {
        self.authenticator
            .anonymous_caller()
            .filter(|_| self.is_over_tcp)
    }
}

impl IssuedToken for Token {
    fn subject(&self) -> &str {
        self.0.subject()
    }

    fn issuer(&self) -> &str {
        self.0.issuer()
    }

    fn id(&self) -> Option<&str> {
        self.0.id().map(|id| &**id)
    }

    fn has_scope(&self, scope: &str) -> bool {
        self.0.has_scope(scope)
    }

    fn expires(&self) -> SystemTime {
        self.0.expires()
    }

    fn is_current(&self) -> bool {
        self.0.is_current()
    }
}
