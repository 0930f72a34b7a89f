//! The identity of this program at an authorization server: a client that the user registered, a client ID metadata
//! document, or a dynamic registration (RFC 7591).

use base64_simd::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::discovery::ServerMetadata;
use super::error::SignInError;
use super::oauth_http::OauthHttp;
use super::redirect::RedirectListener;

/// What the user knows about the identity of this program.
#[derive(Clone, Default)]
pub struct ClientIdentity {
    /// The id of a client that is registered already.
    pub id: Option<String>,
    /// The secret of that client.
    pub secret: Option<String>,
    /// The URL of a client ID metadata document.
    pub metadata_url: Option<String>,
}

/// A client of one authorization server. It is never used at another one.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct OauthClient {
    pub(super) issuer: String,
    id: String,
    secret: Option<String>,
    auth_method: AuthMethod,
    /// The port of the redirect URI with which this program registered itself: 0 for device codes, `None` for a client
    /// that was given.
    pub(super) registered_port: Option<u16>,
}

/// How a client authenticates itself at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

/// A form with the credentials of a client.
pub(super) struct AuthenticatedForm {
    pub(super) body: String,
    /// The value of the header `Authorization`, if the credentials are there.
    pub(super) authorization: Option<String>,
}

#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl OauthClient {
    /// Chooses the identity in the order that MCP defines. `previous` is the client of an earlier sign-in to the same
    /// MCP server. Without `redirect`, the client is for device codes.
    pub(super) async fn choose(
        http: &OauthHttp,
        server: &ServerMetadata,
        identity: &ClientIdentity,
        previous: Option<&Self>,
        redirect: Option<&RedirectListener>,
    ) -> Result<Self, SignInError> {
        if let Some(id) = &identity.id {
            let method = match &identity.secret {
                Some(_) => AuthMethod::with_secret(server)?,
                None => AuthMethod::None,
            };
            let secret = identity.secret.clone();
            return Ok(Self::new(server, id.clone(), secret, method));
        }
        let document = identity.metadata_url.clone();
        if let Some(url) = document.filter(|_| server.client_id_metadata_document_supported) {
            return Ok(Self::new(server, url, None, AuthMethod::None));
        }
        let port = redirect_port(redirect);
        match previous.filter(|previous| previous.is_usable(server, port)) {
            Some(previous) => Ok(previous.clone()),
            None => Self::register(http, server, redirect).await,
        }
    }

    fn is_usable(&self, server: &ServerMetadata, port: u16) -> bool {
        let has_port = self
            .registered_port
            .is_none_or(|registered| registered == port);
        self.issuer == server.issuer && has_port
    }

    /// Adds the credentials of the client to the parameters of a request.
    pub(super) fn authenticate(&self, parameters: &[(&str, &str)]) -> AuthenticatedForm {
        let mut form = Serializer::new(String::new());
        form.extend_pairs(parameters);
        let secret = self.secret.as_deref().unwrap_or_default();
        if self.auth_method != AuthMethod::ClientSecretBasic {
            form.append_pair("client_id", &self.id);
        }
        if self.auth_method == AuthMethod::ClientSecretPost {
            form.append_pair("client_secret", secret);
        }
        let is_basic = self.auth_method == AuthMethod::ClientSecretBasic;
        AuthenticatedForm {
            body: form.finish(),
            authorization: is_basic.then(|| self.basic_authorization(secret)),
        }
    }

    fn basic_authorization(&self, secret: &str) -> String {
        let credentials = format!("{}:{}", encode(&self.id), encode(secret));
        format!("Basic {}", STANDARD.encode_to_string(credentials))
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn new(
        server: &ServerMetadata,
        id: String,
        secret: Option<String>,
        auth_method: AuthMethod,
    ) -> Self {
        Self {
            issuer: server.issuer.clone(),
            id,
            secret,
            auth_method,
            registered_port: None,
        }
    }

    async fn register(
        http: &OauthHttp,
        server: &ServerMetadata,
        redirect: Option<&RedirectListener>,
    ) -> Result<Self, SignInError> {
        let Some(url) = &server.registration_endpoint else {
            return Err(server.unsupported(
                "does not register clients: register one there, and give it with --client-id",
            ));
        };
        let requested = AuthMethod::for_registration(server)?;
        let body = registration(requested, redirect).to_string();
        let response = http.post(url, "application/json", body, None).await?;
        if !response.status.is_success() {
            return Err(response.refusal(url, "the registration of this program"));
        }
        let client: RegistrationResponse = response.json(url)?;
        let method = client.auth_method(requested);
        let method = method.ok_or_else(|| AuthMethod::unsupported(server))?;
        Ok(Self {
            registered_port: Some(redirect_port(redirect)),
            ..Self::new(server, client.client_id, client.client_secret, method)
        })
    }
}

fn redirect_port(redirect: Option<&RedirectListener>) -> u16 {
    redirect.map_or(0, |redirect| redirect.port)
}

impl RegistrationResponse {
    fn auth_method(&self, requested: AuthMethod) -> Option<AuthMethod> {
        match self.token_endpoint_auth_method.as_deref() {
            Some(name) => AuthMethod::of_name(name),
            None => Some(requested),
        }
    }
}

impl AuthMethod {
    fn of_name(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }

    fn for_registration(server: &ServerMetadata) -> Result<Self, SignInError> {
        if Self::None.is_supported(server) {
            return Ok(Self::None);
        }
        Self::with_secret(server)
    }

    fn with_secret(server: &ServerMetadata) -> Result<Self, SignInError> {
        let methods = [Self::ClientSecretBasic, Self::ClientSecretPost];
        let mut supported = methods.into_iter().filter(|one| one.is_supported(server));
        supported.next().ok_or_else(|| Self::unsupported(server))
    }

    fn is_supported(self, server: &ServerMetadata) -> bool {
        let mut methods = server.token_endpoint_auth_methods_supported.iter();
        methods.any(|name| Self::of_name(name) == Some(self))
    }

    fn unsupported(server: &ServerMetadata) -> SignInError {
        server.unsupported("requires a way to authenticate clients that this program does not have")
    }
}

fn registration(method: AuthMethod, redirect: Option<&RedirectListener>) -> serde_json::Value {
    let grant = match redirect {
        Some(_) => "authorization_code",
        None => "urn:ietf:params:oauth:grant-type:device_code",
    };
    let response_types = redirect.map(|_| "code");
    json!({
        "client_name": "Larder",
        "application_type": "native",
        "token_endpoint_auth_method": method,
        "grant_types": [grant, "refresh_token"],
        "response_types": Vec::from_iter(response_types),
        "redirect_uris": Vec::from_iter(redirect.map(RedirectListener::uri)),
    })
}

/// RFC 6749 encodes both parts of Basic credentials as in a form.
fn encode(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}
